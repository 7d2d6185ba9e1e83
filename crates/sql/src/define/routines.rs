//! The routines that `GRANT` and `REVOKE` name: functions of SQL, procedures, and those that a program registered.

use crate::aggregate::Aggregate;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::expression::functions::all;
use crate::names::{of_public, qualified};
use crate::parse::{Privileges, ProcedureDefinition};
use crate::relation::{kind, object, parsed};
use crate::source::Source;
use crate::types::{OwnTypes, TypeSpec};
use sqlparser::ast::{DataType, ObjectName};

/// Checks that the routines exist, which are named with the types of their arguments or without.
///
/// # Errors
/// `42883` for an unknown one.
pub(super) fn check_routines(
    source: &dyn Source,
    database: &Database,
    (word, names): (&str, &[ObjectName]),
    asked: &Privileges,
) -> Result<(), SqlError> {
    for (at, name) in names.iter().enumerate() {
        let plain = qualified(name)?.1;
        let arguments = asked.arguments.get(at).and_then(Option::as_deref);
        let types = arguments.map(types_of).transpose()?;
        let is_function =
            all().any(|function| function.is(&plain)) || Aggregate::named(&plain).is_some();
        let is_known = is_function && word != "procedure"
            || word != "function" && is_procedure(source, database, name, types.as_deref())?;
        if is_known {
            continue;
        }
        let text = match &types {
            None => format!("could not find a {word} named \"{plain}\""),
            Some(types) => {
                let word = if word == "routine" { "function" } else { word };
                let types: Vec<&str> = types.iter().map(|spec| spec.kind.name()).collect();
                format!("{word} {plain}({}) does not exist", types.join(", "))
            }
        };
        return Err(SqlError::new(code::UNKNOWN_FUNCTION, text));
    }
    Ok(())
}

fn types_of(arguments: &[DataType]) -> Result<Vec<TypeSpec>, SqlError> {
    let types = arguments.iter();
    types
        .map(|argument| TypeSpec::of_data_type(argument, &OwnTypes))
        .collect()
}

/// True if there is a procedure of a name. One of SQL has the arguments of these types, if they are named.
fn is_procedure(
    source: &dyn Source,
    database: &Database,
    name: &ObjectName,
    types: Option<&[TypeSpec]>,
) -> Result<bool, SqlError> {
    let Ok(name) = of_public(name) else {
        return Ok(false);
    };
    if database.registered(&name).is_some() {
        return Ok(true);
    }
    let (Some(body), types) = (object(source, kind::PROCEDURE, &name)?, types) else {
        return Ok(false);
    };
    let definition: ProcedureDefinition = parsed(&body)?;
    let own = definition.parameters.iter().map(|(_, oid, _)| *oid);
    Ok(types.is_none_or(|types| own.eq(types.iter().map(|spec| spec.kind.oid()))))
}
