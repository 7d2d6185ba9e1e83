//! Tables made, changed and dropped in a transaction, as any other change of pages: it is atomic, durable, and seen by every
//! node in its next transaction.
//!
//! A column that is added touches no row, nor one that is dropped or renamed. An index is built, and a column widened,
//! in one transaction. So the most that a transaction may write bounds the size of such a table.

use super::super::super::NodeError;
use super::super::catalogue::{self, TableInfo, differs, unknown};
use super::super::change::checked_key;
use super::super::dropping;
use super::super::entries::{self, Keys};
use super::super::range::OwnedRow;
use super::super::space;
use super::super::view::View;
use super::NodeTables;
use sardonyx_base::error::Error;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_rows::constraints::{self as rules, ConstrainedRows, check_schema};
use sardonyx_rows::declare::{check_not_referenced, create_table};
use sardonyx_rows::define::DefineRows;
use sardonyx_rows::schema::{IndexDefinition, IntoSchema, Schema, SchemaError, Type, Value};
use sardonyx_rows::{ReadRow, RowFormat, RowWriter, TableError, WriteRows, check_name, refused};
use std::ops::Bound;
use std::sync::Arc;

/// The number of rows read at a time.
const PIECE: usize = 256;

/// True if two indexes have the same entries.
fn is_same_index(one: &IndexDefinition, other: &IndexDefinition) -> bool {
    let entries = |of: &IndexDefinition| (of.unique, of.nulls_equal);
    one.key == other.key && entries(one) == entries(other)
}

impl NodeTables<'_> {
    /// Makes a table with this schema, where absent: its number.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if no table can have the schema, there is something else of this name, or the name is one of the
    /// engine's own; [`NodeError::PagesFull`]; those of [`Transaction::read`](crate::node::Transaction::read).
    pub fn create_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, NodeError> {
        check_name(name)?;
        self.create_any_table(name, schema)
    }

    /// The same of a table of the engine's own.
    ///
    /// # Errors
    /// The errors of [`NodeTables::create_table`], except the name's.
    #[doc(hidden)]
    pub fn create_any_table(
        &mut self,
        name: &str,
        schema: impl IntoSchema,
    ) -> Result<u16, NodeError> {
        Ok(create_table(self, name, schema)?)
    }

    /// Drops a table with all its rows. The pages go back when the transaction is durable.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such table, or another one refers to it; [`NodeError::PagesFull`]; those of
    /// [`Transaction::read`](crate::node::Transaction::read).
    pub fn drop_table(&mut self, name: &str) -> Result<(), NodeError> {
        let number = self.number(name).ok_or_else(|| unknown(name))?;
        check_not_referenced(self, number)?;
        self.whole(|this| {
            let database = this.access.get_mut().database();
            this.change(|view| dropping::take_out(view, name, database).map(drop))?;
            this.access.get_mut().used().drops = true;
            this.changed()
        })
    }

    /// Deletes all rows of a table at once. The pages go back when the transaction is durable.
    ///
    /// # Errors
    /// The errors of [`NodeTables::drop_table`].
    pub fn truncate(&mut self, name: &str) -> Result<(), NodeError> {
        let info = self.table_named(name)?;
        check_not_referenced(self, info.number)?;
        self.whole(|this| {
            this.change(|view| {
                let mut dropped = vec![info.root];
                dropped.extend(&info.indexes);
                catalogue::drop_trees(view, info.number, &dropped)?;
                let root = space::make_tree(view)?;
                let indexes = info.indexes.iter();
                let indexes: Result<Vec<u32>, NodeError> =
                    indexes.map(|_| space::make_tree(view)).collect();
                catalogue::change_table(view, &with_trees(&info, root, indexes?))
            })?;
            this.access.get_mut().used().drops = true;
            this.changed()
        })
    }

    /// Gives a table another name. Handles of record types with the old name do not fit any more.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is no such table, something has the new name, or that is one of the engine's own; those of
    /// [`Transaction::read`](crate::node::Transaction::read).
    pub fn rename_table(&mut self, name: &str, to: &str) -> Result<(), NodeError> {
        check_name(to)?;
        let info = self.table_named(name)?;
        let definition = info.format.schema().definition(to);
        definition.check().map_err(TableError::from)?;
        self.whole(|this| {
            this.change(|view| catalogue::rename_table(view, &info, to))?;
            this.changed()
        })
    }

    /// Invalidates the definitions, and similar contents of tables, that sessions keep.
    ///
    /// # Errors
    /// The errors of [`Transaction::read`](crate::node::Transaction::read).
    #[doc(hidden)]
    pub fn raise_version(&mut self) -> Result<(), NodeError> {
        self.change(catalogue::raise_version)?;
        self.changed()
    }

    fn table_named(&self, name: &str) -> Result<Arc<TableInfo>, NodeError> {
        self.tables
            .named(name)
            .cloned()
            .ok_or_else(|| unknown(name))
    }

    /// Has an entry of an index for each row.
    fn build_index(&mut self, info: &TableInfo, number: usize) -> Result<(), NodeError> {
        let mut keys = Keys {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
        };
        loop {
            let found = self.look(|view| entries::scan(view, info.root, &keys, PIECE, false))?;
            let Some((last, _)) = found.last() else {
                return Ok(());
            };
            keys.lower = Bound::Excluded(last.clone());
            self.change(|view| {
                let mut found = found.iter();
                found.try_for_each(|(key, row)| index_row(view, info, number, key, row))
            })?;
        }
    }

    fn set_schema(&mut self, number: u16, schema: Schema) -> Result<(), NodeError> {
        let before = self.info(number)?.clone();
        let name = before.format.table().to_string();
        let there = before.format.schema();
        if schema.primary != there.primary
            || schema.row_bytes_of_shape(0) != there.row_bytes_of_shape(0)
        {
            return Err(differs(&name, "its primary key and its first rows stay"));
        }
        let schema = RowFormat::lengthened(schema).map_err(refused(&name))?;
        let wanted = schema.indexes.clone();
        let format = RowFormat::of_any(&name, schema)?;
        self.whole(|this| {
            let built = this.change(|view| {
                let indexes = there.indexes.iter().zip(&before.indexes);
                let mut left: Vec<_> = indexes.collect();
                let (mut trees, mut built) = (Vec::new(), Vec::new());
                for (number, index) in wanted.iter().enumerate() {
                    let same = left.iter().position(|(old, _)| is_same_index(old, index));
                    trees.push(match same {
                        Some(same) => *left.remove(same).1,
                        None => {
                            built.push(number);
                            space::make_tree(view)?
                        }
                    });
                }
                let dropped: Vec<u32> = left.into_iter().map(|(_, tree)| *tree).collect();
                if !dropped.is_empty() {
                    catalogue::drop_trees(view, number, &dropped)?;
                }
                let info = TableInfo {
                    format,
                    ..with_trees(&before, before.root, trees)
                };
                catalogue::change_table(view, &info)?;
                Ok((built, !dropped.is_empty()))
            })?;
            this.access.get_mut().used().drops |= built.1;
            this.changed()?;
            let info = this.info(number)?.clone();
            for index in built.0 {
                this.build_index(&info, index)?;
            }
            check_schema(this, number)?;
            Ok(rules::check_added_references(
                this,
                number,
                &there.foreign_keys,
            )?)
        })
    }

    /// Gives a column of the table of a name a type that has all its values and more. Every row is rewritten.
    ///
    /// # Errors
    /// The errors of [`DefineRows::rename_column`]; [`Error::Limit`] if the table has more rows than a transaction can
    /// rewrite.
    pub fn widen_column(&mut self, table: &str, name: &str, to: Type) -> Result<(), Error> {
        let number = self.table_named(table)?.number;
        NodeTables::whole(self, |this| {
            let mut from = 0;
            this.change_columns(number, |schema| {
                let (wider, column) = schema.with_wider_column(name, to)?;
                from = column;
                Ok(wider)
            })?;
            this.set_in_all_rows(number, |row| Ok(row.value_at(from)?.to_value()))?;
            this.change_columns(number, |schema| schema.with_widened_column(name))?;
            Ok::<_, Widened>(())
        })
        .map_err(|Widened(error)| error)
    }

    /// Has a column of the table of a name, that has always a value, be null, too. Every row is rewritten.
    ///
    /// # Errors
    /// The errors of [`DefineRows::rename_column`]; [`Error::Limit`] if the table has more rows than a transaction can
    /// rewrite.
    pub fn allow_nulls(&mut self, table: &str, name: &str) -> Result<(), Error> {
        DefineRows::allow_nulls(self, table, name)
    }

    /// Sets the newest column in all rows, so that they are of the newest shape.
    fn set_in_all_rows(
        &mut self,
        number: u16,
        mut value: impl FnMut(&OwnedRow) -> Result<Value, TableError>,
    ) -> Result<(), Widened> {
        let newest = self.described(number)?.0.columns.len() - 1;
        let mut piece = self.keys_behind(number, None)?;
        while let Some(last) = piece.last().cloned() {
            for at in piece {
                let row = self.row_there(number, at.clone())?;
                let value = value(&row)?;
                let mut change = RowWriter::new(newest + 1);
                change.set(newest, value.as_ref());
                self.update_row(number, at, &change)?;
            }
            piece = self.keys_behind(number, Some(last))?;
        }
        Ok(())
    }
}

/// An error of widening a column, of whichever step.
struct Widened(Error);

impl<E: Into<Error>> From<E> for Widened {
    fn from(error: E) -> Self {
        Widened(error.into())
    }
}

/// The same table with other trees.
fn with_trees(info: &TableInfo, root: u32, indexes: Vec<u32>) -> TableInfo {
    TableInfo {
        number: info.number,
        root,
        indexes,
        format: info.format.clone(),
        database: info.database,
        checked: Mutex::default(),
    }
}

fn index_row(
    view: &mut View<'_>,
    info: &TableInfo,
    number: usize,
    key: &[u8],
    row: &[u8],
) -> Result<(), NodeError> {
    let own = info.format.index_key(number, row)?;
    let own = checked_key(info, own)?;
    match entries::insert(view, info.tree(Some(number)), &own, key)? {
        true => Ok(()),
        false => Err(info.format.duplicate_value(number, row).into()),
    }
}

impl DefineRows for NodeTables<'_> {
    fn create_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, Error> {
        Ok(NodeTables::create_table(self, name, schema)?)
    }

    fn drop_table(&mut self, name: &str) -> Result<(), Error> {
        Ok(NodeTables::drop_table(self, name)?)
    }

    fn truncate(&mut self, name: &str) -> Result<(), Error> {
        Ok(NodeTables::truncate(self, name)?)
    }

    fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error> {
        Ok(NodeTables::rename_table(self, name, to)?)
    }

    fn add_table(
        &mut self,
        name: &str,
        _: &Schema,
        schema: impl FnOnce(&Self, u16) -> Result<Schema, TableError>,
    ) -> Result<u16, TableError> {
        let number = self.change(catalogue::take_number)?;
        let format = RowFormat::of_any(name, schema(self, number)?)?;
        let database = self.access.get_mut().database();
        self.change(|view| {
            catalogue::make_table_numbered(view, number, format, database).map(drop)
        })?;
        self.changed()?;
        check_schema(self, number)?;
        Ok(number)
    }

    fn kept_schema(schema: Schema) -> Result<Schema, SchemaError> {
        RowFormat::lengthened(schema)
    }

    fn store_schema(&mut self, table: u16, schema: Schema) -> Result<(), Error> {
        Ok(self.set_schema(table, schema)?)
    }

    fn set_in_rows(
        &mut self,
        table: u16,
        _: usize,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), Error> {
        let columns = self.described(table)?.0.columns.len();
        let set = self.set_in_all_rows(table, |row| {
            let values = (0..columns).map(|column| Ok(row.value_at(column)?.to_value()));
            value(&values.collect::<Result<Vec<Value>, TableError>>()?)
        });
        set.map_err(|Widened(error)| error)
    }

    fn generate_in_old_rows(&mut self, table: u16, _: usize) -> Result<(), Error> {
        // Any value set is replaced: a generated column gets its own.
        let set = self.set_in_all_rows(table, |_| Ok(Value::Null));
        set.map_err(|Widened(error)| error)
    }
}
