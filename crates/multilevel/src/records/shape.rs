//! The form of a table's rows, and the key by which locks and the index know each of them.

use super::memory::TableMemory;
use sardonyx_rows::fields::KeyOf;
use sardonyx_rows::key::KeyBytes;
use sardonyx_rows::layout::{PageLayout, word_at};
use sardonyx_rows::schema::Schema;
use sardonyx_rows::{Record, RowFormat, TableError};
use sardonyx_storage::catalogue::Definition;
use sardonyx_storage::page::Address;
use std::borrow::Cow;
use std::ops::Range;

/// The identity of a row, among locks and in the index.
#[derive(Clone, Debug)]
pub(super) enum KeyPlace {
    /// By bytes of its fixed part.
    Standing(Range<usize>),
    /// Its key as [`RowFormat`] encodes it: equal keys may have different bytes, or bytes in cells.
    Encoded,
}

/// The form of a table's rows.
#[derive(Clone, Debug)]
pub(crate) struct RowsOf {
    pub(super) layout: PageLayout,
    key: KeyPlace,
    format: RowFormat,
    has_values: bool,
}

impl RowsOf {
    /// The shape of a definition, and of its stored schema, if there is one.
    ///
    /// # Errors
    /// If no table can have such rows.
    pub fn new(definition: &Definition, schema: Option<&Schema>) -> Result<Self, TableError> {
        let schema = match schema {
            Some(schema) => schema.clone(),
            None => Schema::of_definition(definition),
        };
        let key = match schema.plain_key() {
            Some(place) => KeyPlace::Standing(place),
            None => KeyPlace::Encoded,
        };
        let layout = PageLayout::new(&definition.name, schema.row_bytes)?;
        let format = RowFormat::of_any(&definition.name, schema)?;
        Ok(RowsOf {
            layout,
            key,
            has_values: !format.is_fixed(),
            format,
        })
    }
}

impl TableMemory {
    /// The layout of its pages of rows.
    #[inline]
    pub fn layout(&self) -> PageLayout {
        self.rows.layout
    }

    #[inline]
    pub fn format(&self) -> &RowFormat {
        &self.rows.format
    }

    /// The identity of its rows.
    #[inline]
    pub(super) fn key(&self) -> &KeyPlace {
        &self.rows.key
    }

    /// True if it has columns of text or bytes, and so cells.
    #[inline]
    pub fn has_values(&self) -> bool {
        self.rows.has_values
    }

    /// True if it has records of this type.
    pub fn is_of<R: Record>(&self) -> bool {
        let RowsOf {
            layout,
            key,
            format,
            ..
        } = &*self.rows;
        match (R::PLAIN, key) {
            (Some(plain), KeyPlace::Standing(place)) => {
                !self.has_values() && layout.stride == plain.bytes && place == &plain.key()
            }
            (Some(_), KeyPlace::Encoded) => false,
            (None, _) => format.table() == R::TABLE,
        }
    }

    /// The identity of the row of a record's key.
    ///
    /// # Errors
    /// If it is no key of the table.
    #[inline]
    pub(super) fn key_of<'k, R: Record>(
        &self,
        key: &'k R::Key<'_>,
    ) -> Result<Cow<'k, [u8]>, TableError> {
        match R::PLAIN {
            Some(_) => Ok(Cow::Borrowed(R::plain_key(key))),
            None => (self.format().standing_key(&KeyOf::<R>(key))).map(Cow::Owned),
        }
    }

    /// The identity of a row as bytes of its own.
    ///
    /// # Errors
    /// If it is no row of the table; [`TableError::KeyTooLong`].
    #[inline]
    pub(super) fn key_of_row<'r>(&self, row: &'r [u8]) -> Result<Cow<'r, [u8]>, TableError> {
        match &self.rows.key {
            KeyPlace::Standing(place) => Ok(Cow::Borrowed(&row[place.clone()])),
            KeyPlace::Encoded => {
                let key = self.format().key_of(row)?;
                self.format().check_key_length(&key)?;
                Ok(Cow::Owned(key))
            }
        }
    }

    /// True if bytes are as long as a row's key may be.
    pub(super) fn may_be_key(&self, key: &[u8]) -> bool {
        match &self.rows.key {
            KeyPlace::Standing(place) => key.len() == place.len(),
            KeyPlace::Encoded => !key.is_empty(),
        }
    }

    /// The hash of the key of the row that was in a place. Any number, if there was none.
    #[inline]
    pub(super) fn hash_that_was(&self, place: &[u8]) -> u64 {
        match &self.rows.key {
            KeyPlace::Standing(key) => self.hash(&place[key.clone()]),
            // `take_out` has put it there.
            KeyPlace::Encoded => word_at(place, 0),
        }
    }

    /// The identity of the row at an address, of all pages when the database is opened.
    pub(super) fn key_in<'p>(
        &self,
        bytes: &'p [u8],
        at: Address,
    ) -> Result<Cow<'p, [u8]>, TableError> {
        match &self.rows.key {
            KeyPlace::Standing(place) => Ok(Cow::Borrowed(&bytes[at.0 as usize..][place.clone()])),
            KeyPlace::Encoded => {
                let mut key = KeyBytes::default();
                self.format().key_at(bytes, at, &mut key)?;
                Ok(Cow::Owned(key.to_vec()))
            }
        }
    }
}
