//! The tables of keys as an older version had them, in `public`: they get the names of today when a database is opened.
//!
//! A program may have tables of its own with these names. Invariant: a table is taken for the keyspace's only if it has
//! all of the keyspace's columns, in their places and with their types, and its key. Later versions may have added to it.
//! Without such a table `kv` there are no older tables: no version served keys without it.
//!
//! Both kinds of tables are there if an older version opened the database after a newer one, and made its tables. Then
//! those without rows go. If both have rows, the keyspace is refused: it cannot say which keys are the true ones.

use super::table_names::{ELEMENTS, KEY_TABLES, PAIRS};
use super::tables::schema_of;
use sardonyx::rows::ReadRows;
use sardonyx::schema::Schema;
use sardonyx::{Error, Tables, Transaction};

/// The tables of elements that each version had.
const OF_ALL_VERSIONS: usize = 5;

/// The names under which a database has its keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Names {
    Newer,
    Older,
}

/// A table of keys: its name today, and its number.
type KeyTable = (&'static str, u16);

/// The name that a table had in an older version.
pub(crate) fn older_name(name: &str) -> &str {
    name.split_once('.').map_or(name, |(_, older)| older)
}

/// The names under which a database has its keys, or would have them.
///
/// # Errors
/// [`Error::Refused`] if there are keys under both; the engine's.
pub(super) fn names(state: &impl ReadRows) -> Result<Names, Error> {
    let older = older_tables(state);
    if older.is_empty() {
        return Ok(Names::Newer);
    }
    let newer = newer_tables(state);
    if newer.is_empty() {
        return Ok(Names::Older);
    }
    match (filled(state, &older)?, filled(state, &newer)?) {
        (None, _) => Ok(Names::Newer),
        (Some(_), None) => Ok(Names::Older),
        (Some(older), Some(newer)) => Err(both(older_name(older), newer)),
    }
}

/// Gives the tables of an older version the names that they have now, in one transaction. A table of one's own that has
/// such a name stays.
///
/// # Errors
/// [`Error::Refused`] if there are keys under both names, or a table of elements is none any more; the engine's.
pub(crate) fn give_names(tables: &Tables) -> Result<(), Error> {
    let are_there = tables.read(|view| Ok(!older_tables(view).is_empty()))?;
    match are_there {
        true => tables.run(rename),
        false => Ok(()),
    }
}

fn rename(tx: &mut Transaction<'_>) -> Result<(), Error> {
    let older = older_tables(&*tx);
    if names(&*tx)? == Names::Newer {
        // An older version made them, and no key was written.
        let mut unused = older.iter();
        return unused.try_for_each(|(name, _)| tx.drop_table(older_name(name)));
    }
    check_elements(&*tx, &older)?;
    for (name, _) in newer_tables(&*tx) {
        tx.drop_table(name)?;
    }
    let mut older = older.iter();
    older.try_for_each(|(name, _)| tx.rename_table(older_name(name), name))
}

/// Checks that no keys lose their elements, since the table of these was changed.
fn check_elements(state: &impl ReadRows, older: &[KeyTable]) -> Result<(), Error> {
    let of_all = ELEMENTS.iter().take(OF_ALL_VERSIONS);
    let is_other = |name: &&&'static str| {
        table_named(state, older_name(name)).is_some() && !older.iter().any(|one| one.0 == **name)
    };
    match (of_all.clone().find(is_other), filled(state, older)?) {
        (Some(name), Some(keys)) => Err(Error::Refused(
            format!(
                "table \"{}\" is no table of keys, and \"{}\" has some",
                older_name(name),
                older_name(keys)
            )
            .into(),
        )),
        _ => Ok(()),
    }
}

/// The keyspace's tables that have the names of an older version.
fn older_tables(state: &impl ReadRows) -> Vec<KeyTable> {
    let found = |name: &'static str| Some((name, like(state, name, older_name(name))?));
    match found(PAIRS[0][0]) {
        Some(_) => KEY_TABLES.into_iter().filter_map(found).collect(),
        None => Vec::new(),
    }
}

fn newer_tables(state: &impl ReadRows) -> Vec<KeyTable> {
    let found = |name: &'static str| Some((name, like(state, name, name)?));
    KEY_TABLES.into_iter().filter_map(found).collect()
}

/// The first of tables that has rows.
fn filled(state: &impl ReadRows, tables: &[KeyTable]) -> Result<Option<&'static str>, Error> {
    for (name, number) in tables {
        if state.count_rows(*number)? > 0 {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The number of the table with a name, if it is like the keyspace's table `model`.
fn like(state: &impl ReadRows, model: &str, name: &str) -> Option<u16> {
    let number = table_named(state, name)?;
    let there = state.row_schema(number)?;
    let wanted = schema_of(model).build().ok()?;
    begins_like(there, &wanted).then_some(number)
}

/// True if a table has these columns, perhaps with others behind them, and this key.
fn begins_like(there: &Schema, wanted: &Schema) -> bool {
    let mut both = there.columns.iter().zip(&wanted.columns);
    there.columns.len() >= wanted.columns.len()
        && both.all(|(a, b)| (&a.name, a.kind, a.dropped) == (&b.name, b.kind, b.dropped))
        && there.primary.key == wanted.primary.key
}

/// The number of a table. A view may have its name, and has no rows.
fn table_named(state: &impl ReadRows, name: &str) -> Option<u16> {
    let number = state.definitions().named(name)?;
    state.row_schema(number).map(|_| number)
}

#[cold]
fn both(older: &str, newer: &str) -> Error {
    let text = format!(
        "keys are in \"{older}\", as an older version had them, and in \"{newer}\": an older version opened the database \
         after a newer one; drop the tables of those keys that are not wanted"
    );
    Error::Refused(text.into())
}
