//! `CREATE TYPE … AS (…)`: composite types.

use super::type_names::{check_new_name, free_oids};
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::path::shown;
use crate::result::{Complete, Tag};
use crate::search_path::SearchPath;
use crate::types::{CompositeType, TypeSpec, composite_depth};
use crate::user_types::{FieldDefinition, TypeNames, UserType, UserTypes};
use sqlparser::ast::{ObjectName, UserDefinedTypeCompositeAttributeDef as Attribute};

/// The most fields of a type, as of a table in PostgreSQL.
const FIELDS_MAX: usize = 1600;
/// The most composite types, and arrays of them, inside of each other. Each level doubles the quotes of the innermost text.
const DEPTH_MAX: usize = 8;

/// Creates a type.
///
/// # Errors
/// `42710` if the name is taken; `42701` for a name twice among the fields; `54011`, `54001` for too many fields or levels;
/// `0A000` for a field of a domain or with a collation; the errors of the fields' types.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    name: &ObjectName,
    attributes: &[Attribute],
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    let name = path.new_name(tx.view(), name, false)?;
    check_new_name(tx, &name)?;
    if attributes.len() > FIELDS_MAX {
        let text = format!("types can have at most {FIELDS_MAX} columns");
        return Err(SqlError::new("54011", text));
    }
    let names = TypeNames::of(tx.view(), path)?;
    let mut fields: Vec<FieldDefinition> = Vec::with_capacity(attributes.len());
    for attribute in attributes {
        let field = name_of(&attribute.name);
        if fields.iter().any(|there| there.name == field) {
            let text = format!("column \"{field}\" specified more than once");
            return Err(SqlError::new(code::DUPLICATE_COLUMN, text));
        }
        let spec = spec_of(attribute, &names)?;
        fields.push(FieldDefinition {
            name: field,
            kind: spec.kind.oid(),
            modifier: spec.modifier,
        });
    }
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    let made = UserType {
        oid: free_oids(tx, &types, 3)?,
        labels: Vec::new(),
        domain: None,
        fields: Some(fields),
        comment: None,
    };
    let known = types.fields_of(&made).unwrap_or_default();
    CompositeType::check_room(made.oid, &name, &known)?;
    types.change().insert(name, made);
    types.store(tx)?;
    Ok(Complete::of(Tag::plain("CREATE TYPE")))
}

fn spec_of(attribute: &Attribute, names: &TypeNames) -> Result<TypeSpec, SqlError> {
    let name = name_of(&attribute.name);
    if attribute.collation.is_some() {
        return Err(SqlError::unsupported(format!(
            "a collation of the field \"{name}\" of a type is not supported"
        )));
    }
    if names.domain(&attribute.data_type).is_some() {
        return Err(SqlError::unsupported(format!(
            "domains are not supported as types of fields: {}",
            attribute.data_type
        )));
    }
    let spec = TypeSpec::of_data_type(&attribute.data_type, names)?;
    let kind = spec.kind;
    if !kind.is_of_columns() {
        let text = format!("column \"{name}\" has pseudo-type {}", kind.name());
        return Err(SqlError::new(code::INVALID_TABLE_DEFINITION, text));
    }
    if kind.single().is_object() {
        return Err(SqlError::unsupported(format!(
            "the field \"{name}\" of type {} is not supported",
            kind.name()
        )));
    }
    if composite_depth(kind) >= DEPTH_MAX {
        let text = format!("composite types may be nested {DEPTH_MAX} deep");
        return Err(SqlError::new(code::TOO_COMPLEX, text));
    }
    Ok(spec)
}

/// Refuses a change of a type of which another one has fields.
///
/// # Errors
/// `2BP01` if there is one.
pub(super) fn check_no_fields(
    tx: &dyn DefineTarget,
    name: &str,
    word: &str,
) -> Result<(), SqlError> {
    let types = UserTypes::of(tx.view())?;
    let Some(there) = types.types.get(name) else {
        return Ok(());
    };
    for (other, definition) in &types.types {
        let fields = definition.fields.iter().flatten();
        let mut fields = fields.filter(|field| (there.oid..=there.oid + 1).contains(&field.kind));
        if let Some(field) = fields.next() {
            let name = shown(name);
            let text = format!("cannot {word} type {name} because other objects depend on it");
            let detail = format!(
                "column {} of composite type {} depends on type {name}",
                field.name,
                shown(other)
            );
            return Err(SqlError::new(code::DEPENDENT_OBJECTS, text)
                .detail(detail)
                .hint("Drop the other type first."));
        }
    }
    Ok(())
}
