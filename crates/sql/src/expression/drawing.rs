//! The right to draw numbers from sequences: expressions that draw name them.

use super::Expr;
use crate::error::{SqlError, code};
use crate::path::local;
use crate::relation::{Relation, kind, object};
use crate::rights::{Access, Rights};
use crate::source::Source;
use sardonyx::schema::Value;

/// Checks that a session may change the sequences that an expression draws from, or sets. It needs the right to change
/// the rows of the table that owns the sequence. A sequence without a table has a right under its own name.
///
/// # Errors
/// `42501` without the right, or if an expression names the sequences only when it runs.
pub(crate) fn check_rights(
    expression: &Expr,
    source: &dyn Source,
    rights: &Rights,
) -> Result<(), SqlError> {
    if rights.least() >= Access::Write {
        return Ok(());
    }
    let mut result = Ok(());
    expression.walk(&mut |part| {
        if let Expr::Call(function, arguments) = part
            && (function.is("nextval") || function.is("setval"))
            && result.is_ok()
        {
            result = check_right(arguments.first(), source, rights);
        }
    });
    result
}

fn check_right(name: Option<&Expr>, source: &dyn Source, rights: &Rights) -> Result<(), SqlError> {
    let Some(Expr::Literal(Value::Text(text))) = name else {
        return Err(SqlError::new(
            code::INSUFFICIENT_PRIVILEGE,
            "permission denied: the user may not change every table, so a sequence is to be named by a literal",
        ));
    };
    let is_there = |name: &str| object(source, kind::SEQUENCE, name).is_ok_and(|it| it.is_some());
    let name = rights.path().find_in(text, is_there)?;
    let name = name.ok_or_else(|| SqlError::unknown_table(text))?;
    rights.path().check_own(&name)?;
    rights.check(&name_of_right(source, name), Access::Write)
}

/// Checks that a session may read the numbers of a sequence: it may read the table that has the sequence.
///
/// # Errors
/// `42501` if it may not.
pub(crate) fn check_numbers_read(
    source: &dyn Source,
    rights: &Rights,
    sequence: &str,
) -> Result<(), SqlError> {
    match may_read_numbers(source, rights, sequence) {
        true => Ok(()),
        false => Err(SqlError::new(
            code::INSUFFICIENT_PRIVILEGE,
            format!("permission denied for sequence {}", local(sequence)),
        )),
    }
}

/// True if a session may read the numbers of a sequence.
pub(crate) fn may_read_numbers(source: &dyn Source, rights: &Rights, sequence: &str) -> bool {
    rights.least() >= Access::Read
        || rights.on(&name_of_right(source, sequence.to_string())) >= Access::Read
}

/// The name by which rights with a sequence are given: that of the table that has it.
pub(crate) fn name_of_right(source: &dyn Source, sequence: String) -> String {
    let numbers = 0..source.definitions().len() as u16;
    let mut relations = numbers.filter_map(|number| Relation::numbered(source, number).ok());
    let owner = relations.find(|relation| {
        let mut columns = relation.columns.iter();
        columns.any(|column| column.sequences().any(|there| *there == sequence))
    });
    owner.map_or(sequence, |owner| owner.name)
}
