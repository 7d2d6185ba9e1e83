//! Tables declared and dropped in a transaction of any store: the rules, once for all of them. The stores have their own
//! catalogues, to which [`DefineRows::add_table`] adds a table.

use crate::define::DefineRows;
use crate::error::{TableError, refused};
use crate::read::ReadRows;
use crate::schema::{IntoSchema, Schema, differences, is_as_said};
use std::sync::Arc;

/// Creates a table with this schema, if there is none. Returns its number.
///
/// # Errors
/// [`TableError::Schema`] if no table can have it; [`TableError::SchemaDiffers`] if the table has another one, or there is
/// something else of this name; the errors of [`DefineRows::add_table`]. Nothing has changed then.
pub fn create_table<S: DefineRows>(
    store: &mut S,
    name: &str,
    schema: impl IntoSchema,
) -> Result<u16, TableError> {
    let rows = Arc::new(schema.rows().map_err(refused(name))?);
    if let Some(number) = store.definitions().named(name) {
        let schema = schema.into_schema(name, &|name| named(store, name));
        let schema = schema.and_then(S::kept_schema).map_err(refused(name))?;
        return check_same(store, number, &schema).map(|()| number);
    }
    store.whole(|store| {
        store.add_table(name, &rows, |store, number| {
            // A table may refer to itself.
            let schema = schema.into_schema(name, &|there| match there == name {
                true => Some((number, Arc::clone(&rows))),
                false => named(store, there),
            });
            schema.and_then(S::kept_schema).map_err(refused(name))
        })
    })
}

/// The number and the schema of the table of a name.
fn named<S: ReadRows>(store: &S, name: &str) -> Option<(u16, Arc<Schema>)> {
    let number = store.definitions().named(name)?;
    Some((number, Arc::clone(store.row_schema(number)?)))
}

/// Checks that something of a name is a table with this schema.
fn check_same<S: ReadRows>(store: &S, number: u16, schema: &Schema) -> Result<(), TableError> {
    let text = match store.row_schema(number) {
        None => "there is something else of this name".to_string(),
        Some(stored) if is_as_said(stored, schema) => return Ok(()),
        Some(stored) => {
            let found = differences(stored, schema, |number| store.name_of(number)).join("; ");
            format!(
                "{found}. Change one of them by a migration, or open the table as it is, by its name"
            )
        }
    };
    Err(TableError::SchemaDiffers {
        table: store.name_of(number),
        text,
    })
}

/// Checks that rows of no other table refer to those of a table, so that it can be dropped or emptied.
///
/// # Errors
/// [`TableError::TableReferenced`].
pub fn check_not_referenced<S: ReadRows>(store: &S, table: u16) -> Result<(), TableError> {
    for &other in store.relations().referring(table) {
        let schema = store.row_schema(other).into_iter();
        let mut keys = schema.flat_map(|schema| &schema.foreign_keys);
        let refers = keys.find(|key| key.table == table);
        if let Some(key) = refers.filter(|_| other != table) {
            return Err(TableError::TableReferenced {
                table: store.name_of(table),
                by: store.name_of(other),
                reference: key.name.clone(),
            });
        }
    }
    Ok(())
}
