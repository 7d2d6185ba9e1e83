//! Rows of journals: appended, never changed, and read in the order in which they came.
//!
//! There are two kinds, as of records: structs of plain data ([`PlainJournalRow`]), whose rows are their bytes, and
//! structs with fields of any length, by `#[derive(Record)]` with `#[record(journal = "…")]`. A row of the latter is a
//! fingerprint of its fields' names and types, followed by a row of [`RowFormat`]. So a row of another type is
//! refused, and never read as something else.

use crate::error::TableError;
use crate::record::{FieldColumn, handles};
use crate::row::{OneRow, RowFormat, RowRef, RowWriter};
use crate::schema::{IntoSchema, Schema, SchemaError, Type, ValueRef};
use sardonyx_base::hash::Fnv1a;
use sardonyx_base::resident::Resident;
use sardonyx_storage::catalogue::{Definition, Kind};
use sardonyx_storage::log::record::RECORD_BYTES_MAX;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::OnceLock;

/// Bytes of the fingerprint before a row.
const FINGERPRINT_BYTES: usize = 8;

/// The column of rows of which no field can be a key; all have the same value there. No field has such a name, and it is
/// stored nowhere.
const NO_KEY: &str = "no key";

/// A struct that is a row of a journal: `#[derive(Record)]` with `#[record(journal = "…")]`, or, of plain data,
/// [`PlainJournalRow`].
///
/// Its undocumented items are for stores of rows.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no row of a journal of Sardonyx",
    note = "declare it with `#[derive(Record)]` and `#[record(journal = \"…\")]`, or, of plain data, with `record!`"
)]
pub trait JournalRow: Sized + 'static {
    /// The journal's name, unique in a database.
    const NAME: &'static str;
    /// Bytes of a row, if it is plain data.
    #[doc(hidden)]
    const PLAIN: Option<usize>;

    /// The row's bytes.
    ///
    /// # Errors
    /// [`TableError::JournalRowTooLong`].
    #[doc(hidden)]
    fn to_row(&self) -> Result<Cow<'_, [u8]>, TableError>;

    /// From a row's bytes.
    ///
    /// # Errors
    /// [`TableError::SchemaDiffers`] if it has other fields; [`TableError::DamagedTable`].
    #[doc(hidden)]
    fn from_row(bytes: &[u8]) -> Result<Self, TableError>;
}

/// A [`JournalRow`] of plain data: of a fixed size, appended as it is.
pub trait PlainJournalRow: Resident {
    /// The journal's name, unique in a database.
    const NAME: &'static str;
}

impl<J: PlainJournalRow> JournalRow for J {
    const NAME: &'static str = J::NAME;
    const PLAIN: Option<usize> = Some(size_of::<J>());

    #[inline(always)]
    fn to_row(&self) -> Result<Cow<'_, [u8]>, TableError> {
        Ok(Cow::Borrowed(self.as_bytes()))
    }

    #[inline]
    fn from_row(bytes: &[u8]) -> Result<Self, TableError> {
        J::read_from_bytes(bytes).ok_or_else(|| TableError::DamagedTable {
            table: J::NAME.to_string(),
            page: 0,
            offset: bytes.len(),
            reason: "a row of another length",
        })
    }
}

/// A row with fields of any length. Its format is made once.
#[doc(hidden)]
pub trait FormattedRow: JournalRow {
    /// The fields' columns in order.
    const FIELDS: &'static [FieldColumn];

    /// The place where it is kept once it was made.
    fn made() -> &'static OnceLock<JournalFormat>;

    /// The format of its rows.
    ///
    /// # Errors
    /// [`TableError::Schema`] if no row can have such fields.
    fn format() -> Result<&'static JournalFormat, TableError> {
        if let Some(made) = Self::made().get() {
            return Ok(made);
        }
        let format = JournalFormat::new(Self::NAME, Self::FIELDS)?;
        Ok(Self::made().get_or_init(|| format))
    }
}

/// The format of rows with fields of any length.
#[doc(hidden)]
#[derive(Debug)]
pub struct JournalFormat {
    fingerprint: u64,
    /// True if a field is the schema's key; else a column behind the fields is.
    has_key: bool,
    rows: RowFormat,
}

impl JournalFormat {
    /// The format of rows with these fields.
    #[inline]
    fn new(journal: &str, fields: &[FieldColumn]) -> Result<Self, TableError> {
        let refused = |source: SchemaError| TableError::Schema {
            table: journal.to_string(),
            source: Box::new(source),
        };
        let mut fingerprint = Fnv1a::START;
        let mut schema = Schema::new();
        for (name, kind, nullable) in fields {
            schema = schema.column(name, *kind);
            if *nullable {
                schema = schema.nullable();
            }
            let text = format!("{name}:{kind}:{nullable};");
            fingerprint = text
                .bytes()
                .fold(fingerprint, |hash, byte| hash.with(byte.into()));
        }
        // No row is searched for, but every schema has a primary key.
        let may_be_key = |field: &&FieldColumn| !field.2 && !matches!(field.1, Type::Plain { .. });
        let key = fields.iter().find(may_be_key).map(|(name, ..)| *name);
        if key.is_none() {
            schema = schema.column(NO_KEY, Type::Bool);
        }
        let schema = schema.primary_key([key.unwrap_or(NO_KEY)]);
        let schema = IntoSchema::rows(&schema).map_err(refused)?;
        Ok(JournalFormat {
            fingerprint: fingerprint.0,
            has_key: key.is_some(),
            rows: RowFormat::of_any(journal, schema)?,
        })
    }

    /// A row of these values, of the fields by their places.
    ///
    /// # Errors
    /// [`TableError::JournalRowTooLong`]; [`TableError::Row`] if a value is too long for any row.
    #[inline]
    pub fn bytes(&self, row: &RowWriter<'_>) -> Result<Vec<u8>, TableError> {
        let columns = self.rows.schema().columns.len();
        let mut all = row.clone();
        if !self.has_key {
            all.set(columns - 1, ValueRef::Bool(false));
        }
        let row = self.rows.unconditional_row(&all)?;
        let bytes = FINGERPRINT_BYTES + row.len();
        if bytes > RECORD_BYTES_MAX {
            return Err(TableError::JournalRowTooLong {
                journal: self.rows.table().to_string(),
                bytes,
            });
        }
        let mut bytes = Vec::with_capacity(bytes);
        bytes.extend_from_slice(&self.fingerprint.to_le_bytes());
        bytes.extend_from_slice(&row);
        Ok(bytes)
    }

    /// The row that these bytes are.
    ///
    /// # Errors
    /// [`TableError::SchemaDiffers`] if it has other fields; [`TableError::DamagedTable`].
    #[inline]
    pub fn row<'r>(&'r self, bytes: &'r [u8]) -> Result<RowRef<'r, OneRow>, TableError> {
        match bytes.split_first_chunk() {
            Some((fingerprint, row)) if u64::from_le_bytes(*fingerprint) == self.fingerprint => {
                self.rows.row(row)
            }
            _ => Err(TableError::SchemaDiffers {
                table: self.rows.table().to_string(),
                text: "a row of the journal was appended by a type with other fields; read it by a type that has them"
                    .to_string(),
            }),
        }
    }
}

/// A handle of a journal; valid for the database that gave it.
pub struct Journal<R> {
    number: u16,
    of: PhantomData<fn() -> R>,
}

impl<R> Journal<R> {
    /// The journal with this number in the catalogue, for stores of rows, which know the catalogue.
    #[doc(hidden)]
    #[inline]
    pub fn new(number: u16) -> Self {
        Journal {
            number,
            of: PhantomData,
        }
    }

    /// Its number in the catalogue.
    #[inline]
    pub fn number(self) -> u16 {
        self.number
    }
}

handles!(Journal);

/// The definition that a row type declares. Rows of any length are rows of no bytes there.
pub fn definition_of_journal<J: JournalRow>() -> Definition {
    Definition {
        name: J::NAME.to_string(),
        record_bytes: J::PLAIN.unwrap_or(0),
        kind: Kind::Journal,
    }
}
