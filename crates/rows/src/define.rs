//! Changes of tables' definitions, in a transaction of any store. Each makes another schema of the present one, which
//! the store has from then on.

use crate::constraints::{ConstrainedRows, Due, HeldReference, check_added_condition, check_held};
use crate::error::{TableError, check_name, refused};
use crate::rows::Rows;
use crate::schema::{
    Column, Declared, ForeignKey, GeneratedColumn, IndexDefinition, IndexKind, IntoSchema, Schema,
    SchemaError, Type, Value,
};
use sardonyx_base::error::Error;

/// A store of rows whose schemas can be changed.
pub trait DefineRows: ConstrainedRows + Sized {
    /// Creates a table with this schema, if there is none. Returns its number.
    ///
    /// # Errors
    /// [`Error::Refused`] if no table can have it, the table has another one, there is something else of this name, or the name
    /// is one of the engine's own; [`Error::Limit`], [`Error::Full`]. Nothing has changed then.
    fn create_table(&mut self, name: &str, schema: impl IntoSchema) -> Result<u16, Error>;

    /// Drops a table with all its rows.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or another table refers to it; [`Error::Limit`], [`Error::Full`]. Nothing
    /// has changed then.
    fn drop_table(&mut self, name: &str) -> Result<(), Error>;

    /// Deletes all rows of a table at once.
    ///
    /// # Errors
    /// The errors of [`DefineRows::drop_table`].
    fn truncate(&mut self, name: &str) -> Result<(), Error>;

    /// Gives a table another name.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, something has the new name, or that is one of the engine's own;
    /// [`Error::Limit`]. Nothing has changed then.
    fn rename_table(&mut self, name: &str, to: &str) -> Result<(), Error>;

    /// Gives a table another schema, which its rows have already, and builds and drops its indexes. References that are new
    /// are checked.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or it cannot have the schema; [`Error::Duplicate`] if rows have one key
    /// in a unique index; [`Error::Limit`], [`Error::Full`]. Nothing has changed then.
    fn store_schema(&mut self, table: u16, schema: Schema) -> Result<(), Error>;

    /// Adds a table without rows to the catalogue, which has nothing of this name: its number. Its rows are those of a
    /// schema without references; `schema` makes the whole one, as soon as the number is known.
    ///
    /// # Errors
    /// The error of `schema`; [`Error::Refused`] if the store cannot have such a table; [`Error::Limit`], [`Error::Full`].
    /// The caller undoes the step then.
    #[doc(hidden)]
    fn add_table(
        &mut self,
        name: &str,
        rows: &Schema,
        schema: impl FnOnce(&Self, u16) -> Result<Schema, TableError>,
    ) -> Result<u16, TableError>;

    /// A declared schema as the store keeps it.
    ///
    /// # Errors
    /// The error of a schema that the store cannot keep.
    #[doc(hidden)]
    fn kept_schema(schema: Schema) -> Result<Schema, SchemaError> {
        Ok(schema)
    }

    /// Sets a column in those rows of a table whose shape does not have it. They move to the newest shape. `value`
    /// computes the column's value of a row's columns.
    ///
    /// # Errors
    /// The error that `value` returns; the errors of changing the rows.
    #[doc(hidden)]
    fn set_in_rows(
        &mut self,
        table: u16,
        column: usize,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), Error>;

    /// Gives a column of a table another type. `value` computes the new value from a row's columns.
    ///
    /// # Errors
    /// [`Error::Refused`] if an index, a reference or a condition names the column; the error that `value` returns;
    /// [`Error::Limit`] if the table has more rows than a transaction can rewrite. Nothing has changed then.
    fn retype_column(
        &mut self,
        table: u16,
        name: &str,
        to: Type,
        value: &mut dyn FnMut(&[Value]) -> Result<Value, TableError>,
    ) -> Result<(), Error> {
        let changed = self.whole(|store| {
            let changed =
                store.change_columns(table, |schema| schema.with_retyped_column(name, to));
            changed.map_err(TableError::of)?;
            let newest = store.described(table)?.0.columns.len() - 1;
            let set = store.set_in_rows(table, newest, value);
            set.map_err(TableError::of)?;
            let changed = store.change_columns(table, |schema| schema.with_changed_type(name));
            changed.map_err(TableError::of)
        });
        Ok(changed?)
    }

    /// Makes a column of a table nullable. Every row is rewritten.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table or column, or an index or a reference names it; [`Error::Limit`] if the
    /// table has more rows than a transaction can rewrite, or has had too many shapes. Nothing has changed then.
    fn allow_nulls(&mut self, table: &str, name: &str) -> Result<(), Error> {
        let number = number_of(self, table)?;
        let schema = self.described(number)?.0;
        let column = schema.column(name).map(|number| &schema.columns[number]);
        if column.is_some_and(Column::is_nullable) {
            return Ok(());
        }
        let changed = self.whole(|store| {
            let room = store.change_columns(number, |schema| schema.with_room_for_nulls(name));
            room.map_err(TableError::of)?;
            let newest = store.described(number)?.0.columns.len() - 1;
            let set = store.set_in_rows(number, newest, &mut |_| Ok(Value::Bool(false)));
            set.map_err(TableError::of)?;
            let nullable = store.change_columns(number, |schema| schema.with_nullable_column(name));
            nullable.map_err(TableError::of)
        });
        Ok(changed?)
    }

    /// Has the rows of a table found by a number from here on, which a new column of this name has; the columns of the
    /// primary key are a unique index then. Every row is rewritten. So the columns of the key can change, or the key can go.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or it has a column or an index of one of these names. So it is if the
    /// store keeps rows in the order of their first primary key. [`Error::Limit`] if the table has more rows than a
    /// transaction can rewrite, or has had too many shapes. Nothing has changed then.
    fn number_rows(&mut self, table: u16, column: &str, index: &str) -> Result<(), Error> {
        let changed = self.whole(|store| {
            let room = store.change_columns(table, |schema| {
                schema.with_column(column, Type::U64, true, Value::Null)
            });
            room.map_err(TableError::of)?;
            let newest = store.described(table)?.0.columns.len() - 1;
            let mut last = 0;
            let set = store.set_in_rows(table, newest, &mut |_| {
                last += 1;
                Ok(Value::Int(last))
            });
            set.map_err(TableError::of)?;
            let keyed =
                store.change_columns(table, |schema| schema.with_numbered_rows(column, index));
            keyed.map_err(TableError::of)
        });
        Ok(changed?)
    }

    /// Has all rows of a table in a shape that has a generated column, with its value.
    ///
    /// # Errors
    /// The errors of changing the rows.
    #[doc(hidden)]
    fn generate_in_old_rows(&mut self, table: u16, column: usize) -> Result<(), Error>;

    /// Adds columns to a table that are generated of others, and computes them in its rows.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, it has a column of one of these names, or one cannot be computed;
    /// [`Error::Limit`] if the table has more rows than a transaction can rewrite. Nothing has changed then.
    fn add_generated(&mut self, table: u16, columns: &[GeneratedColumn]) -> Result<(), Error> {
        let added = self.whole(|store| {
            store
                .declare_generated(table, columns)
                .map_err(TableError::of)?;
            let newest = store.described(table)?.0.columns.len() - 1;
            let done = store.generate_in_old_rows(table, newest);
            done.map_err(TableError::of)
        });
        Ok(added?)
    }

    /// The same for new rows. Existing ones get the columns when they change, or when an index needs them.
    ///
    /// # Errors
    /// The errors of [`DefineRows::store_schema`].
    #[doc(hidden)]
    fn declare_generated(&mut self, table: u16, columns: &[GeneratedColumn]) -> Result<(), Error> {
        self.change_columns(table, |schema| {
            let mut columns = columns.iter();
            columns.try_fold(schema.clone(), |schema, column| {
                schema.with_generated_column(column)
            })
        })
    }

    /// Has the rows of a table, whose primary key is ordered, found by a hash of it from here on.
    ///
    /// # Errors
    /// The errors of [`DefineRows::store_schema`].
    #[doc(hidden)]
    fn hash_primary_key(&mut self, table: u16) -> Result<(), Error> {
        let mut schema = schema_of(self, table)?;
        schema.primary.kind = IndexKind::Hash;
        self.store_schema(table, schema)
    }

    /// Gives a table another index, built of its rows.
    ///
    /// # Errors
    /// The errors of [`DefineRows::store_schema`].
    fn create_index(&mut self, table: u16, definition: IndexDefinition) -> Result<(), Error> {
        let mut schema = schema_of(self, table)?;
        schema.indexes.push(definition);
        self.store_schema(table, schema)
    }

    /// Takes an index from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or a reference needs it; [`Error::Limit`]. Nothing has changed then.
    fn drop_index(&mut self, table: u16, name: &str) -> Result<(), Error> {
        let schema = self.without_index(table, name)?;
        self.store_schema(table, schema.without_unused_columns())
    }

    /// Takes an index from a table that gets it again: the columns that were generated for it stay.
    ///
    /// # Errors
    /// The errors of [`DefineRows::drop_index`].
    #[doc(hidden)]
    fn take_index(&mut self, table: u16, name: &str) -> Result<(), Error> {
        let schema = self.without_index(table, name)?;
        self.store_schema(table, schema)
    }

    /// The schema of a table without an index.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index.
    #[doc(hidden)]
    fn without_index(&self, table: u16, name: &str) -> Result<Schema, Error> {
        let mut schema = schema_of(self, table)?;
        let Some(at) = schema.indexes.iter().position(|index| index.name == name) else {
            return Err(TableError::UnknownIndex {
                table: self.described(table)?.1.to_string(),
                index: name.to_string(),
            }
            .into());
        };
        schema.indexes.remove(at);
        Ok(schema)
    }

    /// Drops the columns of a table that were generated for indexes, and that no index names any more.
    ///
    /// # Errors
    /// The errors of [`DefineRows::store_schema`].
    #[doc(hidden)]
    fn drop_unused_columns(&mut self, table: u16) -> Result<(), Error> {
        let schema = schema_of(self, table)?;
        let without = schema.clone().without_unused_columns();
        match without == schema {
            true => Ok(()),
            false => self.store_schema(table, without),
        }
    }

    /// Gives an index, a reference or a condition of a table another name. An index is built anew, and a reference checked
    /// again. A deferred key is checked first.
    ///
    /// # Errors
    /// [`TableError::DuplicateValue`] of a deferred key;
    /// [`Error::Refused`] if there is none of the name, or the new one is taken; [`Error::Limit`]. Nothing has changed then.
    fn rename_constraint(&mut self, table: u16, name: &str, new: &str) -> Result<(), Error> {
        // Notes of a deferred key are found by its name, so they are checked before it changes.
        let is_it =
            |held: &HeldReference| held.table == table && held.is_key && *held.name == *name;
        check_held(self, |held| Due {
            now: is_it(held),
            strict_delete: false,
            strict_update: false,
        })?;
        let mut schema = schema_of(self, table)?;
        let indexes = schema.indexes.iter_mut().map(|index| &mut index.name);
        let references = schema.foreign_keys.iter_mut().map(|key| &mut key.name);
        let conditions = schema.checks.iter_mut().map(|(name, _)| name);
        let mut names = indexes.chain(references).chain(conditions);
        let Some(there) = names.find(|there| **there == name) else {
            return Err(TableError::UnknownIndex {
                table: self.described(table)?.1.to_string(),
                index: name.to_string(),
            }
            .into());
        };
        *there = new.to_string();
        self.store_schema(table, schema)
    }

    /// Gives a table a reference to another, or to itself.
    ///
    /// # Errors
    /// [`Error::Refused`] if no unique index of the other table has just these columns, or a row refers to a row that is
    /// not there; [`Error::Limit`]. Nothing has changed then.
    fn add_reference(&mut self, table: u16, reference: ForeignKey) -> Result<(), Error> {
        let mut schema = schema_of(self, table)?;
        schema.foreign_keys.push(reference);
        self.store_schema(table, schema)
    }

    /// From now on, until it is another one or none, rows of a table are not looked at when it gets a constraint: they need
    /// not meet it. Rows that are inserted or changed later must.
    fn skip_rows(&mut self, table: Option<u16>) {
        self.held_mut().skip_rows(table);
    }

    /// Notes that only the stage can make the definitions of a table as they were made: their order to its rows counts.
    fn need_stage(&mut self, _: u16) {}

    /// From now on, references do not check the changes of a table's rows, or check them again. Existing rows are not checked.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`]. Nothing has changed then.
    fn check_changes(&mut self, table: u16, checks: bool) -> Result<(), Error> {
        let mut tables = self.referring(table);
        if !tables.contains(&table) {
            tables.push(table);
        }
        // The rows between the two were checked by neither.
        self.need_stage(table);
        let switched = self.whole(|store| {
            for number in tables {
                let before = schema_of(store, number)?;
                let mut schema = before.clone();
                for key in &mut schema.foreign_keys {
                    if number == table {
                        key.unchecked.rows = !checks;
                    }
                    if key.table == table {
                        key.unchecked.referenced = !checks;
                    }
                }
                if schema != before {
                    let stored = store.store_schema(number, schema);
                    stored.map_err(TableError::of)?;
                }
            }
            Ok(())
        });
        Ok(switched?)
    }

    /// Takes a reference from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`]. Nothing has changed then.
    fn drop_reference(&mut self, table: u16, name: &str) -> Result<(), Error> {
        let mut schema = schema_of(self, table)?;
        schema
            .foreign_keys
            .retain(|reference| reference.name != name);
        self.store_schema(table, schema)
    }

    /// Gives a table another condition, in the language of [`condition`](crate::condition).
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the name is taken, or the text is no condition on its rows;
    /// [`Error::Refused`] if a row does not meet it ([`RowError::Check`](crate::RowError::Check)); [`Error::Limit`].
    /// Nothing has changed then.
    fn add_check(&mut self, table: u16, name: &str, condition: &str) -> Result<(), Error> {
        let added = self.whole(|store| {
            let mut schema = schema_of(store, table)?;
            schema
                .checks
                .push((name.to_string(), condition.to_string()));
            let stored = store.store_schema(table, schema);
            stored.map_err(TableError::of)?;
            check_added_condition(store, table)
        });
        Ok(added?)
    }

    /// Takes a condition from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table; [`Error::Limit`]. Nothing has changed then.
    fn drop_check(&mut self, table: u16, name: &str) -> Result<(), Error> {
        let mut schema = schema_of(self, table)?;
        schema.checks.retain(|(there, _)| there != name);
        self.store_schema(table, schema)
    }

    /// Replaces the declarations of a table's columns beside their types. Existing rows are not checked.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or a column cannot be declared so; [`Error::Limit`]. Nothing has changed
    /// then.
    fn declare_columns(&mut self, table: u16, declared: Vec<Declared>) -> Result<(), Error> {
        let mut schema = schema_of(self, table)?;
        schema.declared = declared;
        self.store_schema(table, schema)
    }

    /// Adds a column to the table of a name: existing rows have the default, or are null.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, the name is taken, or the column is neither nullable nor has a
    /// default of its type; [`Error::Limit`] if the row would be too long, or the table has had too many shapes.
    /// Nothing has changed then.
    fn add_column(
        &mut self,
        table: &str,
        name: &str,
        kind: Type,
        nullable: bool,
        default: Value,
    ) -> Result<(), Error> {
        let number = number_of(self, table)?;
        self.change_columns(number, |schema| {
            schema.with_column(name, kind, nullable, default)
        })
    }

    /// Drops a column of the table of a name. Its bytes stay in the rows, unused.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table or column, or an index, a reference or a condition names it.
    /// Nothing has changed then.
    fn drop_column(&mut self, table: &str, name: &str) -> Result<(), Error> {
        let number = number_of(self, table)?;
        self.change_columns(number, |schema| schema.without_column(name))
    }

    /// Gives a column of the table of a name another name, in the table's conditions, too.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table or column, or there is one of the new name. Nothing has changed
    /// then.
    fn rename_column(&mut self, table: &str, name: &str, new: &str) -> Result<(), Error> {
        let number = number_of(self, table)?;
        self.change_columns(number, |schema| schema.with_renamed_column(name, new))
    }

    /// Changes the columns of a table.
    ///
    /// # Errors
    /// The error that `change` returns; the errors of [`DefineRows::store_schema`].
    #[doc(hidden)]
    fn change_columns(
        &mut self,
        table: u16,
        change: impl FnOnce(&Schema) -> Result<Schema, SchemaError>,
    ) -> Result<(), Error> {
        let (schema, name) = self.described(table)?;
        let schema = change(&schema).map_err(refused(&name))?;
        self.store_schema(table, schema)
    }
}

fn schema_of<S: ConstrainedRows>(store: &S, table: u16) -> Result<Schema, TableError> {
    Ok((*store.described(table)?.0).clone())
}

fn number_of<S: ConstrainedRows>(store: &mut S, table: &str) -> Result<u16, Error> {
    check_name(table)?;
    Ok(Rows::named(&mut *store, table)?.number())
}
