//! Names of user-defined types: lookup, creation, renaming, and the columns of a type.

use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::qualified;
use crate::path::{PUBLIC, is_of_catalogue, is_temporary, kept, local, schema_of, unknown_schema};
use crate::relation::{Relation, is_own, kind, object};
use crate::routines::{RoutineDefinition, all};
use crate::schemas::has_schema;
use crate::search_path::SearchPath;
use crate::types::{CompositeType, unknown_type};
use crate::user_types::{TypeNames, UserTypes, is_of_user};
use crate::virtual_tables::relations;
use sqlparser::ast::ObjectName;

/// Checks that the name of a new type is allowed.
pub(super) fn check_new_name(tx: &dyn DefineTarget, name: &str) -> Result<(), SqlError> {
    if is_temporary(schema_of(name)) {
        return Err(SqlError::unsupported("temporary types are not supported"));
    }
    if is_own(name) || is_own(local(name)) {
        return Err(SqlError::new(
            code::INVALID_TABLE_DEFINITION,
            format!("the name \"{}\" is one of the database's own", local(name)),
        ));
    }
    let source = tx.view();
    let schema = schema_of(name);
    if !has_schema(source, schema)? {
        return Err(unknown_schema(schema));
    }
    // In PostgreSQL, a table has a type of its name, so tables and types share names.
    let is_taken = UserTypes::of(source)?.types.contains_key(name)
        || Relation::named(source, name).is_ok()
        || crate::views::view_named(source, name)?.is_some();
    let is_of_extension =
        local(name) == "hstore" && object(source, kind::EXTENSION, "hstore")?.is_some();
    match is_taken || is_of_extension {
        true => Err(SqlError::new(
            code::DUPLICATE_OBJECT,
            format!("type \"{}\" already exists", local(name)),
        )),
        false => Ok(()),
    }
}

/// The type that a statement names, and its stored name.
pub(super) fn found(
    tx: &dyn DefineTarget,
    name: &ObjectName,
    path: &SearchPath,
) -> Result<String, SqlError> {
    let names = TypeNames::of(tx.view(), path)?;
    let (schema, local) = qualified(name)?;
    if let Some(schema) = &schema
        && !is_of_catalogue(schema)
        && !has_schema(tx.view(), schema)?
    {
        return Err(unknown_schema(schema));
    }
    match names.find(schema.as_deref(), &local) {
        Some((kept, _)) => Ok(kept.to_string()),
        None => Err(unknown_type(schema.as_deref(), &local)),
    }
}

/// Free consecutive numbers for a new type. A number that something still names is not free: earlier versions dropped
/// types under domains and functions, which would be of the new type then.
///
/// # Errors
/// Read errors.
pub(super) fn free_oids(
    tx: &dyn DefineTarget,
    types: &UserTypes,
    count: u32,
) -> Result<u32, SqlError> {
    let functions = all(tx.view())?;
    let named = functions.iter().flat_map(RoutineDefinition::types);
    Ok(types.free_oids(count, named.filter(|number| is_of_user(*number))))
}

/// The columns of tables that have a type, or arrays of it.
pub(super) fn columns_of_type(
    tx: &dyn DefineTarget,
    name: &str,
) -> Result<Vec<(String, String)>, SqlError> {
    let types = UserTypes::of(tx.view())?;
    let Some(there) = types.types.get(name) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for relation in relations(tx.view())? {
        for column in &relation.columns {
            let kind = column.spec.kind.element().unwrap_or(column.spec.kind);
            if is_of_user(kind.oid()) && kind.oid() == there.oid || column.domain == Some(there.oid)
            {
                found.push((relation.name.clone(), column.name.clone()));
            }
        }
    }
    Ok(found)
}

/// The types of a schema, by their stored names.
///
/// # Errors
/// Read errors.
pub(super) fn in_schema(tx: &dyn DefineTarget, schema: &str) -> Result<Vec<String>, SqlError> {
    let types = UserTypes::of(tx.view())?;
    let names = types.types.keys();
    let is_in = |name: &&String| schema_of(name) == schema;
    Ok(names.filter(is_in).cloned().collect())
}

/// Runs `COMMENT ON TYPE`.
///
/// # Errors
/// `42704` if there is no such type.
pub(super) fn comment(
    tx: &mut dyn DefineTarget,
    name: &ObjectName,
    text: Option<String>,
    path: &SearchPath,
) -> Result<(), SqlError> {
    let name = found(tx, name, path)?;
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    if let Some(there) = types.change().get_mut(&name) {
        there.comment = text;
    }
    types.store(tx)
}

/// Renames a type.
pub(super) fn moved(types: &mut UserTypes, from: &str, to: &str) -> Result<(), SqlError> {
    if let Some(there) = types.change().remove(from) {
        match types.fields_of(&there) {
            Some(fields) => CompositeType::check_room(there.oid, to, &fields)?,
            None if there.domain.is_none() => there.check_room(to)?,
            None => {}
        }
        types.change().insert(to.to_string(), there);
    }
    Ok(())
}

/// Moves the types of a schema that is renamed.
///
/// # Errors
/// The engine's errors.
pub(super) fn rename_schema(
    tx: &mut dyn DefineTarget,
    from: &str,
    to: &str,
) -> Result<(), SqlError> {
    let names = in_schema(tx, from)?;
    if names.is_empty() || from == PUBLIC {
        return Ok(());
    }
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    for name in names {
        moved(&mut types, &name, &kept(to, local(&name)))?;
    }
    types.store(tx)
}
