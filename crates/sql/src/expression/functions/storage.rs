//! The space that tables take on disk: the pages of their rows. Indexes are in memory only.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::names::DATABASE;
use crate::relation::table_oid;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    pg_database_size(NAME) -> INT8, size_of_named, "bytes of the pages of all tables; null on nodes", volatile;
    pg_database_size(OID) -> INT8, size_of_numbered, "bytes of the pages of all tables; null of another database, and on nodes", volatile;
    pg_indexes_size(REGCLASS) -> INT8, |_, _| int(0), "0: indexes are in memory only", volatile;
    pg_relation_size(REGCLASS) -> INT8, size_of, "bytes of a table's pages; 0 of an index, which is in memory only, and of a view; null on nodes", volatile;
    pg_relation_size(REGCLASS, TEXT) -> INT8, size_of_fork, "the same; 0 of the other forks than `main`", volatile;
    pg_table_size(REGCLASS) -> INT8, size_of, "bytes of a table's pages", volatile;
    pg_total_relation_size(REGCLASS) -> INT8, size_of, "bytes of a table's pages: its indexes are in memory only", volatile;
};

/// The forks of PostgreSQL's tables. Tables have pages for the first of them.
const FORKS: [&str; 4] = ["main", "fsm", "vm", "init"];

fn size_of(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (Some(number), Some(reading)) = (a.oid(0), with.reading) else {
        return Ok(Value::Null);
    };
    if number == 0 {
        return Ok(Value::Null);
    }
    let Some(table) = number.checked_sub(table_oid(0)) else {
        // A table of the catalogue, which is computed.
        return int(0);
    };
    match u16::try_from(table) {
        Ok(table) => Ok(shown(reading.source.bytes_about(table))),
        Err(_) => int(0),
    }
}

fn shown(bytes: Option<u64>) -> Value {
    bytes.map_or(Value::Null, |bytes| Value::Int(bytes.into()))
}

fn size_of_fork(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match FORKS.iter().position(|fork| *fork == a.text(1)) {
        Some(0) => size_of(a, with),
        Some(_) => int(0),
        None => Err(
            SqlError::new(code::INVALID_PARAMETER_VALUE, "invalid fork name")
                .hint("Valid fork names are \"main\", \"fsm\", \"vm\", and \"init\"."),
        ),
    }
}

fn size_of_named(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let name = a.text(0);
    match name == DATABASE || name == with.context.settings.borrow().database() {
        true => Ok(size_of_all(with)),
        false => Err(SqlError::new(
            "3D000",
            format!("database \"{name}\" does not exist"),
        )),
    }
}

/// The numbers are those of `pg_database`.
fn size_of_numbered(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match a.oid(0) {
        Some(5 | 6) => Ok(size_of_all(with)),
        _ => Ok(Value::Null),
    }
}

fn size_of_all(with: &Environment<'_>) -> Value {
    let Some(reading) = with.reading else {
        return Value::Null;
    };
    let numbers = 0..reading.source.definitions().len();
    let numbers = numbers.filter_map(|number| u16::try_from(number).ok());
    let bytes = numbers.filter_map(|number| reading.source.bytes_about(number));
    shown(bytes.fold(None, |all, bytes| Some(all.unwrap_or(0) + bytes)))
}
