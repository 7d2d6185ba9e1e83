//! The routines that `GRANT` and `REVOKE` name: functions of SQL and of users, procedures, and those that a program
//! registered. A call needs no right, or that to change rows: of a procedure, and of a function with the rights of its owner.

use super::function;
use crate::aggregate::Aggregate;
use crate::database::Database;
use crate::error::{SqlError, code};
use crate::expression::functions::all;
use crate::names::{of_public, qualified};
use crate::parse::{Privileges, ProcedureDefinition};
use crate::path::{PUBLIC, schema_name};
use crate::relation::{kind, object, objects, parsed};
use crate::rights::{Access, Rights};
use crate::routines::{self, RoutineDefinition};
use crate::source::Source;
use crate::types::{OwnTypes, TypeSpec};
use sqlparser::ast::{DataType, FunctionDesc, ObjectName, OperateFunctionArg};

/// The access that a call of a routine needs; `None` if everyone may call it.
type ForCalls = Option<Access>;

fn for_calls(function: &RoutineDefinition) -> ForCalls {
    function.is_definer.then_some(Access::Write)
}

/// The access that calls need of the routines that are named, with the types of their arguments or without.
///
/// # Errors
/// `42883` for an unknown one; `42725` for a name of several functions.
pub(super) fn named_routines(
    (source, database): (&dyn Source, &Database),
    (word, names): (&str, &[ObjectName]),
    asked: &Privileges,
    rights: &Rights,
) -> Result<Vec<ForCalls>, SqlError> {
    let mut found = Vec::with_capacity(names.len());
    for (at, name) in names.iter().enumerate() {
        let arguments = asked.arguments.get(at).and_then(Option::as_deref);
        found.push(named((source, database), (word, name), arguments, rights)?);
    }
    Ok(found)
}

fn named(
    (source, database): (&dyn Source, &Database),
    (word, name): (&str, &ObjectName),
    arguments: Option<&[DataType]>,
    rights: &Rights,
) -> Result<ForCalls, SqlError> {
    let plain = qualified(name)?.1;
    if word != "procedure" {
        let arguments = arguments.map(|types| {
            let types = types.iter().cloned();
            types.map(OperateFunctionArg::unnamed).collect()
        });
        let described = FunctionDesc {
            name: name.clone(),
            args: arguments,
        };
        match function::found(source, &described, rights) {
            Ok(function) => return Ok(for_calls(&function)),
            Err(error) if error.code == code::UNKNOWN_FUNCTION => {}
            Err(error) => return Err(error),
        }
        if all().any(|function| function.is(&plain)) || Aggregate::named(&plain).is_some() {
            return Ok(None);
        }
    }
    let types = arguments.map(types_of).transpose()?;
    if word != "function" && is_procedure(source, database, name, types.as_deref())? {
        return Ok(Some(Access::Write));
    }
    let text = match &types {
        None => format!("could not find a {word} named \"{plain}\""),
        Some(types) => {
            let word = if word == "routine" { "function" } else { word };
            let types: Vec<&str> = types.iter().map(|spec| spec.kind.name()).collect();
            format!("{word} {plain}({}) does not exist", types.join(", "))
        }
    };
    Err(SqlError::new(code::UNKNOWN_FUNCTION, text))
}

/// The access that calls need of all functions or procedures of schemas, or of both.
///
/// # Errors
/// An error of reading the tables.
pub(super) fn routines_in(
    source: &dyn Source,
    word: &str,
    schemas: &[ObjectName],
) -> Result<Vec<ForCalls>, SqlError> {
    let mut found = Vec::new();
    let functions = routines::all(source)?;
    for schema in schemas {
        let schema = schema_name(schema)?;
        if word != "procedure" {
            let functions = functions.iter().filter(|one| one.schema == schema);
            found.extend(functions.map(for_calls));
        }
        if word != "function" && schema == PUBLIC {
            let procedures = objects(source, kind::PROCEDURE)?;
            found.extend(procedures.iter().map(|_| Some(Access::Write)));
        }
    }
    Ok(found)
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
