//! `pg_cast`: those of PostgreSQL 15's casts that expressions know.
//!
//! `casts.txt` has a line for each cast of PostgreSQL: its number, the numbers of the two types, its context and method.
//! Casts by functions have the number 0 for the function.

use super::Contents::Rows;
use super::{VirtualRows, VirtualTable, oid, text};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::source::Source;
use crate::types::SqlType::{self, Oid, OneChar};
use crate::values::cast::{Coercion, can_cast};
use sardonyx::schema::Value;

pub(super) const TABLES: &[VirtualTable] = &[VirtualTable {
    schema: "pg_catalog",
    name: "pg_cast",
    oid: 2605,
    columns: &[
        ("oid", Oid),
        ("castsource", Oid),
        ("casttarget", Oid),
        ("castfunc", Oid),
        ("castcontext", OneChar),
        ("castmethod", OneChar),
    ],
    contents: Rows(casts),
}];

static CASTS: &str = include_str!("casts.txt");

fn casts(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    Ok(CASTS.lines().filter_map(cast).collect())
}

fn cast(line: &str) -> Option<Vec<Value>> {
    let mut parts = line.split(' ');
    let mut number = || parts.next()?.parse::<u32>().ok();
    let (own, from, to) = (number()?, number()?, number()?);
    let (context, method) = (parts.next()?, parts.next()?);
    let (source, target) = (SqlType::from_oid(from)?, SqlType::from_oid(to)?);
    let how = match context {
        "i" => Coercion::Implicit,
        "a" => Coercion::Assignment,
        _ => Coercion::Explicit,
    };
    let numbers = [own, from, to, 0].map(oid);
    let words = [context, method].map(text);
    can_cast(source, target, how).then(|| numbers.into_iter().chain(words).collect())
}
