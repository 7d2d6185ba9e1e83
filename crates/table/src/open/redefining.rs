//! A table of an open transaction under another schema: its rows and index entries are made anew where they differ.
//!
//! A table of others keeps its rows in the snapshot if no index is new. Otherwise all of them become the transaction's own,
//! so that each index has an entry for each row.

use super::changed::{Changed, Key, Own, entries_of};
use super::defining::RowsAfter;
use super::{Known, OpenRow, OpenRows, OpenScan, bytes_of_change};
use crate::hash::KeyHash;
use crate::schemas::{fits, schema_pieces};
use crate::secondary::{Secondary, wanted};
use crate::snapshot::{Defined, FrozenTable};
use crate::table::TableState;
use sardonyx_base::error::Error;
use sardonyx_rows::constraints::{
    ConstrainedRows, check_added_references, check_interruption, check_schema,
};
use sardonyx_rows::schema::{IntoSchema, Schema, Value, ValueRef};
use sardonyx_rows::{DefineRows, ReadRow, RowWriter, TableError, WriteRows, refused};
use std::sync::{Arc, OnceLock};

/// A row as one of a schema with more columns: these have their defaults.
struct Lengthened<'r> {
    row: OpenRow<'r>,
    columns: usize,
    schema: &'r Schema,
}

impl ReadRow for Lengthened<'_> {
    #[inline]
    fn value_at(&self, column: usize) -> Result<ValueRef<'_>, TableError> {
        match self.schema.columns.get(column) {
            Some(added) if column >= self.columns => Ok(added.default.as_ref()),
            _ => self.row.value_at(column),
        }
    }

    #[inline]
    fn value_of(&self, column: &str) -> Result<ValueRef<'_>, Error> {
        match self.schema.column(column) {
            Some(number) => Ok(self.value_at(number)?),
            None => self.row.value_of(column),
        }
    }
}

/// True if rows of their own have the same bytes under both schemas.
#[inline]
fn has_same_bytes(one: &Schema, other: &Schema) -> bool {
    (one.row_bytes, &one.earlier_shapes) == (other.row_bytes, &other.earlier_shapes)
}

/// True if both schemas have the same entries in the same indexes.
#[inline]
fn has_same_indexes(one: &Schema, other: &Schema) -> bool {
    let indexes = |schema: &Schema| {
        let indexes = schema.indexes.iter().cloned();
        let unnamed = indexes.map(|mut index| {
            index.name.clear();
            index
        });
        unnamed.collect::<Vec<_>>()
    };
    one.primary == other.primary && indexes(one) == indexes(other)
}

impl OpenRows {
    /// The own rows of a table under another schema. With `all`, the snapshot's rows are among them.
    #[inline]
    fn rows_under(
        &self,
        number: u16,
        before: &Known,
        after: &Known,
        all: bool,
    ) -> Result<(Changed, usize), TableError> {
        let mut rows = Changed::of(after.schema.indexes.len());
        let mut bytes = 0;
        let are_all = all || self.is_own(number);
        let built = self.put_all_under(number, (before, after), all, |key, own| {
            let entries = entries_of(&after.format, Some(&own))?;
            let more = bytes_of_change(&key, &own, &entries);
            self.take_bytes(more)?;
            bytes += more;
            match rows.insert(key, own, entries) {
                Ok(()) => Ok(()),
                Err((index, bytes)) => Err(after.format.duplicate_value(index, &bytes)),
            }
        });
        if let Err(error) = built {
            self.give_bytes(bytes);
            return Err(error);
        }
        rows.more = match (are_all, self.changed(number)) {
            (true, _) => rows.rows().len() as i64,
            (false, changed) => changed.map_or(0, |changed| changed.more),
        };
        Ok((rows, bytes))
    }

    fn put_all_under(
        &self,
        number: u16,
        (before, after): (&Known, &Known),
        all: bool,
        mut put: impl FnMut(Key, Own) -> Result<(), TableError>,
    ) -> Result<(), TableError> {
        let columns = before.schema.columns.len();
        let under = |row: OpenRow<'_>| {
            let row = Lengthened {
                row,
                columns,
                schema: &after.schema,
            };
            let bytes = after.format.copy_of(&row)?;
            after.format.check_index_keys(&bytes)?;
            let key = Key::from(after.format.key_of(&bytes)?);
            Ok::<_, TableError>((key, Own::Row(bytes.into())))
        };
        if all {
            let mut scan = OpenScan::of(self, number)?;
            let mut rows = 0;
            while let Some((_, row)) = scan.step(false)? {
                check_interruption(rows)?;
                rows += 1;
                let (key, own) = under(row)?;
                put(key, own)?;
            }
            return Ok(());
        }
        for (key, own) in self.changed(number).into_iter().flat_map(Changed::rows) {
            let (key, own) = match own {
                Own::Row(bytes) => under(OpenRow::own(before.format.row(bytes)?))?,
                // A table of the transaction's own has no rows in the snapshot that this would hide, and its keys may be
                // others from here on.
                Own::Gone if self.is_own(number) => continue,
                Own::Gone => (Arc::clone(key), Own::Gone),
            };
            put(key, own)?;
        }
        Ok(())
    }

    /// Calls `value` with each row, and sets the newest column.
    #[inline]
    fn set_newest(
        &mut self,
        table: u16,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), Error> {
        self.check_rows(table)?;
        let set = self.set_newest_in_all(table, value);
        Ok(self.note_refused(table, set)?)
    }

    #[inline]
    fn set_newest_in_all(
        &mut self,
        table: u16,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), TableError> {
        let columns = self.described(table)?.0.columns.len();
        let mut places: Vec<Key> = Vec::new();
        let mut bytes = 0;
        for at in self.places(table) {
            let at = at?;
            let more = size_of::<Key>() + at.len();
            self.take_bytes(more)?;
            bytes += more;
            places.push(at);
        }
        let set = self.set_newest_at(table, columns, places, value);
        self.give_bytes(bytes);
        set
    }

    fn set_newest_at(
        &mut self,
        table: u16,
        columns: usize,
        places: Vec<Key>,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), TableError> {
        for (number, at) in places.into_iter().enumerate() {
            check_interruption(number)?;
            let row = self.row_there(table, Arc::clone(&at))?;
            let values = (0..columns).map(|column| Ok(row.value_at(column)?.to_value()));
            let values = values.collect::<Result<Vec<Value>, TableError>>()?;
            drop(row);
            let value = value(&values)?;
            let mut change = RowWriter::new(columns);
            change.set(columns - 1, value.as_ref());
            self.update_row(table, at, &change)?;
        }
        Ok(())
    }
}

impl DefineRows for OpenRows {
    fn create_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, Error> {
        OpenRows::create_table(self, name, schema)
    }

    #[inline]
    fn drop_table(&mut self, name: &str) -> Result<(), Error> {
        OpenRows::drop_table(self, name)
    }

    #[inline]
    fn truncate(&mut self, name: &str) -> Result<(), Error> {
        OpenRows::truncate(self, name)
    }

    #[inline]
    fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error> {
        OpenRows::rename_table(self, name, to)
    }

    #[inline]
    fn add_table(
        &mut self,
        name: &str,
        rows: &Schema,
        schema: impl FnOnce(&Self, u16) -> Result<Schema, TableError>,
    ) -> Result<u16, TableError> {
        self.add_table_of_rows(name, rows, schema)
    }

    #[inline]
    fn store_schema(&mut self, number: u16, schema: Schema) -> Result<(), Error> {
        self.check_defines()?;
        let before = Arc::clone(self.known(number)?);
        let name = Arc::clone(&before.name);
        let definition = self.snapshot.definitions().get(usize::from(number));
        let definition = definition.ok_or(TableError::UnknownHandle { number })?;
        schema.check().map_err(refused(&name))?;
        if !fits(&schema, definition) {
            return Err(TableError::SchemaDiffers {
                table: name.to_string(),
                text: format!("its rows are {}", definition.describe()),
            }
            .into());
        }
        // They are stored at the end.
        schema_pieces(&name, &schema)?;
        let unknown = TableError::UnknownHandle { number };
        let state = TableState::new(definition, KeyHash::from_seed(0))?;
        let mut state = state.ok_or(unknown)?;
        let schema = Arc::new(schema);
        state.take_schema(Arc::clone(&schema), true);
        state.note_hashed();
        let there = self.snapshot.frozen(number)?.state;
        let mut has_all = before.schema.primary == schema.primary;
        let secondary = wanted(&schema, state.is_hashed).into_iter().map(|what| {
            let is_same = |there: &&Secondary| {
                let of = &there.what.definition;
                (&of.key, of.unique) == (&what.definition.key, what.definition.unique)
                    && there.what.shape == what.shape
            };
            let tree = there.secondary.iter().find(is_same).map(|there| there.tree);
            has_all &= tree.is_some();
            Secondary {
                tree: tree.unwrap_or_default(),
                what: Arc::new(what),
            }
        });
        let after = Arc::new(Known::of(&name, &schema)?);
        let mut table = FrozenTable {
            secondary: secondary.collect(),
            known: Arc::new(OnceLock::from(Arc::clone(&after))),
            schema: Arc::clone(&schema),
            schema_is_stored: true,
            fingerprint: state.fingerprint,
            hashed_key: state.hashed_key.clone(),
            layout: state.layout,
            ..there.clone()
        };
        let copies = !has_all && !self.is_own(number);
        if copies {
            self.check_rows(number)?;
            table = table.emptied();
        }
        let is_same =
            has_same_bytes(&before.schema, &schema) && has_same_indexes(&before.schema, &schema);
        let rows = match (copies, self.changed(number).is_some()) {
            (false, false) if !self.is_own(number) => RowsAfter::Same,
            (false, _) if is_same => RowsAfter::Same,
            _ => {
                let rows = self.rows_under(number, &before, &after, copies);
                let (rows, bytes) = self.note_refused(number, rows)?;
                RowsAfter::Other {
                    rows: Some(rows),
                    bytes,
                    are_all: copies || self.is_own(number),
                }
            }
        };
        let now = Defined {
            catalogue: Arc::clone(self.snapshot.catalogue()),
            table: Some(Arc::new(table)),
        };
        let stored = ConstrainedRows::whole(self, |this| {
            this.set_definition(number, now, rows)?;
            check_schema(this, number)?;
            check_added_references(this, number, &before.schema.foreign_keys)
        });
        Ok(stored?)
    }

    #[inline]
    fn skip_rows(&mut self, table: Option<u16>) {
        self.held.skip_rows(table);
        if let Some(number) = table {
            self.need_stage(number);
        }
    }

    /// A table that it created gets its rows in the stage when it has its constraints: the statements run again there.
    #[inline]
    fn need_stage(&mut self, table: u16) {
        self.note_changed(table);
    }

    #[inline]
    fn set_in_rows(
        &mut self,
        table: u16,
        _: usize,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), Error> {
        self.set_newest(table, value)
    }

    #[inline]
    fn generate_in_old_rows(&mut self, table: u16, _: usize) -> Result<(), Error> {
        // A generated column gets its own value, not the one set here.
        self.set_newest(table, &mut |_| Ok(Value::Null))
    }
}
