//! `CREATE PROCEDURE` and `DROP PROCEDURE`.

use super::skipped;
use crate::error::{SqlError, code};
use crate::names::of_public;
use crate::procedures::{Compiled, ProcedureDefinition};
use crate::relation::{delete_object, kind, object, printed, put_object};
use crate::result::{Complete, Tag};
use crate::rights::Rights;
use crate::source::Source;
use sardonyx::Transaction;
use sqlparser::ast::FunctionDesc;
use std::sync::Arc;

/// Creates a procedure. Its body is compiled, so that it is one, with the rights of who creates it: whoever calls it later
/// does what its body does.
///
/// # Errors
/// What is wrong with its body; `42501` if who creates it may not do what it does; `42723` if there is one of the name.
pub(super) fn create(
    tx: &mut Transaction<'_>,
    definition: &ProcedureDefinition,
    rights: &Arc<Rights>,
) -> Result<Complete, SqlError> {
    let source = Source::Live(tx.view());
    let is_there = object(&source, kind::PROCEDURE, &definition.name)?.is_some();
    if is_there && !definition.replaces {
        return Err(SqlError::new(
            "42723",
            format!("procedure \"{}\" already exists", definition.name),
        ));
    }
    let compiled = Compiled::of(definition, rights)?;
    for statement in &compiled.statements {
        statement.planned(0, &source)?;
    }
    put_object(tx, kind::PROCEDURE, &definition.name, &printed(definition)?)?;
    Ok(Complete::of(Tag::plain("CREATE PROCEDURE")))
}

/// Drops procedures.
///
/// # Errors
/// `42883` if there is none of a name.
pub(super) fn drop(
    tx: &mut Transaction<'_>,
    descriptions: &[FunctionDesc],
    if_exists: bool,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP PROCEDURE";
    let mut complete = Complete::of(Tag::plain(WORD));
    for description in descriptions {
        let name = of_public(&description.name)?;
        if delete_object(tx, kind::PROCEDURE, &name)? {
            continue;
        }
        let message = format!("procedure {name} does not exist");
        if !if_exists {
            return Err(SqlError::new(code::UNKNOWN_FUNCTION, message));
        }
        let notices = skipped(WORD, "00000", message + ", skipping").notices;
        complete.notices.extend(notices);
    }
    Ok(complete)
}
