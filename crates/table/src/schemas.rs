//! The store of schemas: a table of the engine's own, with the same rows, redo and undo as every table.
//!
//! Its records are pieces of encoded schemas, found by the number of the table that they describe and of the
//! piece. Pieces of one size need nothing that other tables do not have: a schema is read before anything is known of
//! any table's columns, this one's included. The table is declared when the first schema is stored; a table of which
//! none is stored has one made of its definition.
//!
//! Invariant: the schema in a [`TableState`](crate::table::TableState) is the one that the pages have, at every end of
//! a transaction: both change in [`Transaction::store_schema`], and are undone together.

use crate::hash::KeyHash;
use crate::places::{Damage, find_places};
use crate::space::TableSpace;
use crate::table::TableState;
use crate::transaction::Transaction;
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::constraints::check_added_references;
use sardonyx_rows::declare::create_table;
use sardonyx_rows::plain_at;
use sardonyx_rows::record::definition_of_table;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::schema::{IntoSchema, Schema, SchemaError};
use sardonyx_rows::{TableError, check_name, refused};
use sardonyx_storage::catalogue::{Catalogue, Definition, Kind};
use sardonyx_storage::page::Address;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most bytes of an encoded schema.
pub(crate) const SCHEMA_BYTES_MAX: usize = 1 << 20;

/// Bytes of a piece: eight in a page.
const PIECE_BYTES: usize = 480;

/// A part of an encoded schema.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub(crate) struct Piece {
    /// The number of the table whose schema it is, times 2^32; plus the number of the piece.
    key: u64,
    /// Bytes that are used: all, but of the last piece.
    used: u64,
    bytes: [u8; PIECE_BYTES],
}

sardonyx_rows::record!(Piece { table: "sardonyx.schemas", key: key: u64 });

/// A part of a schema, as a record of the table of schemas, for a way of running transactions that stores schemas by
/// itself.
#[derive(Clone, Copy, Debug)]
pub struct SchemaPiece(Piece);

impl SchemaPiece {
    /// The record's bytes, but for the number of the table that is described.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }

    /// The record's bytes, of the schema of this table.
    pub fn of_table(&self, table: u16) -> Vec<u8> {
        let mut piece = self.0;
        piece.key |= key(table, 0);
        piece.as_bytes().to_vec()
    }
}

/// The definition of the table of schemas.
pub fn definition_of_schemas() -> Definition {
    definition_of_table::<Piece>()
}

/// The parts of a schema of a table with this name.
///
/// # Errors
/// [`TableError::Schema`] if it is too long.
pub fn schema_pieces(name: &str, schema: &Schema) -> Result<Vec<SchemaPiece>, TableError> {
    let encoded = schema.encode();
    if encoded.len() > SCHEMA_BYTES_MAX {
        let (what, count) = ("the length of the schema in bytes", encoded.len());
        let limit = SCHEMA_BYTES_MAX;
        return Err(TableError::Schema {
            table: name.to_string(),
            source: Box::new(SchemaError::TooMany { what, count, limit }),
        });
    }
    let pieces = encoded
        .chunks(PIECE_BYTES)
        .enumerate()
        .map(|(piece, part)| {
            let mut bytes = [0; PIECE_BYTES];
            bytes[..part.len()].copy_from_slice(part);
            let (key, used) = (key(0, piece), part.len() as u64);
            SchemaPiece(Piece { key, used, bytes })
        });
    Ok(pieces.collect())
}

fn key(table: u16, piece: usize) -> u64 {
    u64::from(table) << 32 | piece as u64
}

/// The table of schemas, if it is declared.
#[inline]
fn table_of_schemas(space: &TableSpace) -> Result<Option<Table<Piece>>, TableError> {
    let number = space.catalogue.number_of(&definition_of_table::<Piece>())?;
    Ok(number.map(Table::new))
}

/// Reads all schemas that are stored, by the numbers of their tables.
///
/// # Errors
/// [`TableError::DamagedTable`] or [`TableError::Schema`] if they are not sound.
pub fn read_schemas(
    pages: &[u8],
    catalogue: &Catalogue,
) -> Result<BTreeMap<u16, Schema>, TableError> {
    let mut schemas = BTreeMap::new();
    let definition = definition_of_table::<Piece>();
    let Some(number) = catalogue.number_of(&definition)? else {
        return Ok(schemas);
    };
    // To find its records no hash is needed.
    let mut state = TableState::new(&definition, KeyHash::from_seed(0))?.expect("it is a table");
    state = state.in_life(catalogue.life(number));
    state.extents.extend(catalogue.extents_of(number));
    find_places(pages, number, &mut state).map_err(|Damage { at, reason }| damaged(at, reason))?;
    // In the order of their keys, and so of their tables, with their places.
    let records = state.records(pages);
    let mut pieces: Vec<(Address, &Piece)> = records
        .map(|at| (at, plain_at::<Piece>(pages, at)))
        .collect();
    pieces.sort_unstable_by_key(|(_, piece)| piece.key);
    let mut encoded: Vec<(u16, Address, Vec<u8>)> = Vec::new();
    for (at, piece) in pieces {
        let wrong = |reason| Err(damaged(at, reason));
        let (of, number) = (piece.key >> 32, piece.key as u32 as usize);
        let Ok(of) = u16::try_from(of) else {
            return wrong("a schema of an impossible table");
        };
        if encoded.last().is_none_or(|(last, ..)| *last != of) {
            encoded.push((of, at, Vec::new()));
        }
        let Some((_, _, bytes)) = encoded.last_mut() else {
            break;
        };
        // So the pieces before are whole and there.
        if bytes.len() != number * PIECE_BYTES || bytes.len() >= SCHEMA_BYTES_MAX {
            return wrong("a piece of a schema without the piece before");
        }
        match piece.bytes.get(..piece.used as usize) {
            Some(used) if !used.is_empty() => bytes.extend(used),
            _ => return wrong("a piece of a schema with an impossible length"),
        }
    }
    for (number, at, bytes) in encoded {
        let Some(definition) = catalogue.definitions.get(usize::from(number)) else {
            return Err(damaged(at, "a schema of no table"));
        };
        let schema = Schema::decode(&bytes).map_err(refused(&definition.name))?;
        if !fits(&schema, definition) {
            return Err(damaged(at, "a schema of other rows than its table has"));
        }
        schemas.insert(number, schema);
    }
    Ok(schemas)
}

/// Returns true if a schema agrees with the catalogue's entry: the size of rows in the first shape, and their key if
/// both know it.
pub(crate) fn fits(schema: &Schema, definition: &Definition) -> bool {
    let Kind::Table {
        key_offset,
        key_bytes,
    } = definition.kind
    else {
        return false;
    };
    let key = key_offset..key_offset + key_bytes;
    schema.row_bytes_of_shape(0) == Some(definition.record_bytes)
        && schema.plain_key().is_none_or(|plain| plain == key)
}

fn damaged(at: Address, reason: &'static str) -> TableError {
    TableError::DamagedTable {
        table: Piece::TABLE.to_string(),
        page: at.page().0,
        offset: at.offset_in_page(),
        reason,
    }
}

impl Transaction<'_> {
    /// Declares a table with this schema, where absent. Returns its number.
    ///
    /// # Errors
    /// [`Error::Refused`] if no table can have it, a table of this name has another, or the name is one of the
    /// engine's own; [`Error::Limit`], [`Error::Full`]. Nothing is changed then.
    pub fn create_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, Error> {
        check_name(name)?;
        self.create_any_table(name, schema)
    }

    /// The same of a table of the engine's own.
    ///
    /// # Errors
    /// The errors of [`Transaction::create_table`], but for the name's.
    #[doc(hidden)]
    pub fn create_any_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, Error> {
        Ok(create_table(self, name, schema)?)
    }

    /// Gives a table a schema, and stores it.
    ///
    /// # Errors
    /// [`TableError::Schema`] if no table, or not this one, can have it; [`TableError::UnknownHandle`] if there is no
    /// such table; those of declaring a table and of inserting records. Nothing is changed then.
    pub(crate) fn store_schema(&mut self, number: u16, schema: Schema) -> Result<(), Error> {
        let definition = self.space.catalogue.definitions.get(usize::from(number));
        let (Some(definition), Some(_)) = (definition, self.space.schema(number)) else {
            return Err(TableError::UnknownHandle { number }.into());
        };
        let name = &definition.name;
        schema.check().map_err(refused(name))?;
        if !fits(&schema, definition) {
            return Err(TableError::SchemaDiffers {
                table: name.clone(),
                text: format!("its rows are {}", definition.describe()),
            }
            .into());
        }
        let pieces = schema_pieces(name, &schema)?;
        self.whole(|tx| {
            // Programs of version 0.1 know no more than records.
            if schema.beyond_records().is_some() {
                tx.require_newer_catalogue(number)?;
            }
            let table = Table::<Piece>::new(tx.declare(definition_of_table::<Piece>())?);
            for SchemaPiece(piece) in &pieces {
                let key = key(number, 0) | piece.key;
                tx.put(table, &Piece { key, ..*piece })?;
            }
            tx.delete_pieces(table, number, pieces.len())?;
            let references_before = tx.state(number).schema.foreign_keys.clone();
            tx.set_schema(number, Arc::new(schema), true);
            tx.refresh_kept(number)?;
            tx.have_index_columns(number)?;
            tx.match_indexes(number)?;
            Ok(check_added_references(tx, number, &references_before)?)
        })
    }

    /// Removes the stored schema of a table, which goes in the same transaction.
    ///
    /// # Errors
    /// [`Error::Limit`] if the transaction is too large. Nothing is changed then.
    #[inline]
    pub(crate) fn forget_schema(&mut self, number: u16) -> Result<(), Error> {
        match table_of_schemas(self.space)? {
            Some(table) => self.whole(|tx| tx.delete_pieces(table, number, 0)),
            None => Ok(()),
        }
    }

    /// Deletes the pieces of a schema from this number on.
    fn delete_pieces(
        &mut self,
        table: Table<Piece>,
        of: u16,
        mut from: usize,
    ) -> Result<(), Error> {
        while self.delete(table, key(of, from))? {
            from += 1;
        }
        Ok(())
    }

    fn set_schema(&mut self, number: u16, schema: Arc<Schema>, stored: bool) {
        let before = self.parts(number).1.take_schema(schema, stored);
        self.space.undo.push_schema(number, before);
        self.space.tables.note_references(number);
        self.space.note_indexed(number);
    }
}
