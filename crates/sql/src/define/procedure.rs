//! `CREATE PROCEDURE` and `DROP PROCEDURE`.

use super::function;
use super::granting::Owners;
use super::options::skipped;
use super::view::with_bits;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{name_of, of_public};
use crate::parse::ProcedureDefinition;
use crate::path::PUBLIC;
use crate::procedures::Compiled;
use crate::relation::{delete_object, kind, object, parsed, printed, put_object};
use crate::result::{Complete, Tag};
use crate::rights::Rights;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::types::{OwnTypes, TypeSpec};
use sqlparser::ast::{
    AlterFunction, AlterFunctionOperation, ArgMode, FunctionDesc, OperateFunctionArg, Owner,
};
use std::sync::Arc;

/// Creates a procedure. Its body is compiled as a check, with the privileges of its creator; callers need none for
/// the statements in it.
///
/// # Errors
/// Invalid SQL in the body; `42501` if the creator lacks a privilege for it; `42723` if the name is taken.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    definition: &ProcedureDefinition,
    rights: &Arc<Rights>,
) -> Result<Complete, SqlError> {
    rights.path().check_order("CREATE PROCEDURE")?;
    let source = tx.view();
    let is_there = object(source, kind::PROCEDURE, &definition.name)?.is_some();
    if is_there && !definition.replaces {
        return Err(SqlError::new(
            "42723",
            format!("procedure \"{}\" already exists", definition.name),
        ));
    }
    // Names are resolved at the call, independent of the session's search path, and never to temporary tables.
    let path = Arc::new(SearchPath::of(PUBLIC, "", None));
    let definition = &ProcedureDefinition {
        body: with_bits(definition.body.clone())?,
        ..definition.clone()
    };
    let compiled = Compiled::of(definition, &Arc::new(rights.looking_in(&path)), false)?;
    // A dump creates its procedures before their tables.
    if !rights.path().skips_bodies() {
        let data = compiled.statements.iter().filter(|one| !one.is_signal());
        for statement in data {
            statement.planned(0, source)?;
        }
    }
    put_object(tx, kind::PROCEDURE, &definition.name, &printed(definition)?)?;
    Ok(Complete::of(Tag::plain("CREATE PROCEDURE")))
}

/// `ALTER FUNCTION`, `ALTER PROCEDURE` and `ALTER ROUTINE`: `OWNER TO`. The rights of a function with `SECURITY DEFINER` are
/// its owner's; nothing depends on that of a procedure.
///
/// # Errors
/// `42883` if there is none; `42501` if the present owner or the new one has rights that the user lacks; `0A000` for an owner
/// that may define none, and for other changes.
pub(super) fn alter(
    tx: &mut dyn DefineTarget,
    alter: &AlterFunction,
    owners: Owners<'_>,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    let AlterFunctionOperation::OwnerTo(owner) = &alter.operation else {
        let text = crate::position::excerpt(&alter.to_string());
        return Err(SqlError::unsupported(format!("{text} is not supported")));
    };
    let source = tx.view();
    let owner = match owner {
        Owner::Ident(name) => name_of(name),
        _ => owners.user.to_string(),
    };
    let function = match function::found(source, &alter.function, rights) {
        Ok(function) => Some(function),
        Err(error) => {
            let name = of_public(&alter.function.name).map_err(|_: SqlError| error.clone())?;
            let is_there = object(source, kind::PROCEDURE, &name)?.is_some();
            if !is_there || !has_parameters(source, &name, &alter.function)? {
                return Err(error);
            }
            None
        }
    };
    if !owners.may_own(&owner) {
        return Err(owners.refused(&owner, "Functions"));
    }
    let Some(mut function) = function else {
        return Ok(Complete::of(Tag::plain("ALTER PROCEDURE")));
    };
    owners.check_owner_of(&function, rights)?;
    if !owners.may_act_for(&owner, rights) {
        let text = format!("must be member of role \"{owner}\"");
        return Err(SqlError::new(code::INSUFFICIENT_PRIVILEGE, text)
            .detail("The new owner has rights that the user lacks."));
    }
    if function.owner != owner {
        function.owner = owner;
        function.store(tx)?;
    }
    Ok(Complete::of(Tag::plain("ALTER FUNCTION")))
}

/// Drops procedures.
///
/// # Errors
/// `42883` if there is no procedure of a name.
pub(super) fn drop(
    tx: &mut dyn DefineTarget,
    descriptions: &[FunctionDesc],
    if_exists: bool,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP PROCEDURE";
    let mut complete = Complete::of(Tag::plain(WORD));
    for description in descriptions {
        let name = of_public(&description.name)?;
        let source = tx.view();
        if has_parameters(source, &name, description)? && delete_object(tx, kind::PROCEDURE, &name)?
        {
            continue;
        }
        let types = types_of(description.args.as_deref().unwrap_or_default())?;
        let types: Vec<String> = types.iter().map(|spec| spec.kind.name().into()).collect();
        let types = types.join(", ");
        if !if_exists {
            let message = match &description.args {
                None => format!("could not find a procedure named \"{name}\""),
                Some(_) => format!("procedure {name}({types}) does not exist"),
            };
            return Err(SqlError::new(code::UNKNOWN_FUNCTION, message));
        }
        let message = format!("procedure {name}({types}) does not exist, skipping");
        let notices = skipped(WORD, "00000", message).notices;
        complete.notices.extend(notices);
    }
    Ok(complete)
}

fn types_of(arguments: &[OperateFunctionArg]) -> Result<Vec<TypeSpec>, SqlError> {
    let types = arguments.iter().map(|argument| match argument.mode {
        None | Some(ArgMode::In) => TypeSpec::of_data_type(&argument.data_type, &OwnTypes),
        _ => Err(SqlError::unsupported("parameters of procedures are IN")),
    });
    types.collect()
}

/// True if the procedure of a name has the parameters of a description, if the description has any.
fn has_parameters(
    source: &dyn Source,
    name: &str,
    description: &FunctionDesc,
) -> Result<bool, SqlError> {
    let (Some(arguments), Some(body)) = (&description.args, object(source, kind::PROCEDURE, name)?)
    else {
        return Ok(true);
    };
    let definition: ProcedureDefinition = parsed(&body)?;
    let wanted = types_of(arguments)?;
    let own = definition.parameters.iter().map(|(_, oid, _)| *oid);
    Ok(own.eq(wanted.iter().map(|spec| spec.kind.oid())))
}
