//! The lists of tables and columns, read by statements on the catalogue, so that they work on a server, too.

use super::answer::{Answer, Rows};
use super::connection::{Connection, StatementError};
use super::text::Statement;

/// The tables and their numbers of indexes.
const TABLES: &str = "SELECT t.table_name AS \"table\", count(i.indexname) AS indexes \
    FROM information_schema.tables t LEFT JOIN pg_catalog.pg_indexes i ON i.tablename = t.table_name \
    WHERE t.table_schema = 'public' GROUP BY t.table_name ORDER BY 1";

/// The tables.
///
/// # Errors
/// The errors of [`Connection::run`].
pub fn tables(connection: &mut Connection) -> Result<Vec<Answer>, StatementError> {
    connection.run(&Statement::of(TABLES), None)
}

/// A table's columns, then its indexes; `None` if there is no table of this name.
///
/// # Errors
/// The errors of [`Connection::run`].
pub fn table(
    connection: &mut Connection,
    name: &str,
) -> Result<Option<Vec<Answer>>, StatementError> {
    let name = name.replace('\'', "''");
    let columns = format!(
        "SELECT column_name AS \"column\", data_type AS type, character_maximum_length AS length, \
         CASE is_nullable WHEN 'NO' THEN 'not null' ELSE '' END AS nullable, column_default AS \"default\" \
         FROM information_schema.columns WHERE table_schema = 'public' AND table_name = '{name}' \
         ORDER BY ordinal_position"
    );
    let columns = connection.run(&Statement::of(columns), None)?;
    if rows_of(&columns).is_none_or(|rows| rows.rows.is_empty()) {
        return Ok(None);
    }
    let indexes = format!(
        "SELECT indexname AS \"index\", indexdef AS definition FROM pg_catalog.pg_indexes \
         WHERE schemaname = 'public' AND tablename = '{name}' ORDER BY indexname"
    );
    let mut answers = columns;
    answers.extend(connection.run(&Statement::of(indexes), None)?);
    Ok(Some(answers))
}

/// The names of tables and columns, for completion.
///
/// # Errors
/// The errors of [`Connection::run`].
pub fn names(connection: &mut Connection) -> Result<Vec<String>, StatementError> {
    let mut names = Vec::new();
    for column in ["table_name", "column_name"] {
        let asked = format!(
            "SELECT DISTINCT {column} FROM information_schema.columns WHERE table_schema = 'public'"
        );
        let answers = connection.run(&Statement::of(asked), None)?;
        let rows = rows_of(&answers).map(|rows| rows.rows.iter().flatten());
        names.extend(rows.into_iter().flatten().flatten().cloned());
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

fn rows_of(answers: &[Answer]) -> Option<&Rows> {
    answers.iter().find_map(|answer| match answer {
        Answer::Rows(rows) => Some(rows),
        _ => None,
    })
}
