//! `CREATE EXTENSION` and `DROP EXTENSION`: a note of an extension of PostgreSQL whose functions are built in.
//!
//! Programs create the extension before they call its functions, and check that it exists. Its functions are known with
//! and without it. An extension that is not built in is refused, as PostgreSQL refuses one that is not installed.

use super::options::skipped;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::extensions::{KNOWN, extension};
use crate::names::name_of;
use crate::path::{PUBLIC, written};
use crate::relation::{delete_object, kind, object, put_object};
use crate::result::{Complete, Notice, Tag};
use crate::types::SqlType;
use crate::user_types::UserTypes;
use crate::virtual_tables::relations;
use sqlparser::ast::{CreateExtension, DropExtension, ReferentialAction};

fn known_names() -> String {
    let names = KNOWN.iter().map(|known| known.name);
    names.collect::<Vec<_>>().join(", ")
}

/// Runs `CREATE EXTENSION`.
///
/// # Errors
/// `0A000` for an extension that is not built in, another version, or another schema than `public`, or
/// `pg_catalog` of `plpgsql`. `42710` if it exists, or if a type of a user has the name of its type.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    create: &CreateExtension,
) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE EXTENSION";
    let CreateExtension {
        name,
        if_not_exists,
        with_keyword: _,
        // An extension needs no other one.
        cascade: _,
        schema,
        version,
    } = create;
    let name = name_of(name);
    let Some(known) = extension(&name) else {
        return Err(
            SqlError::unsupported(format!("extension \"{name}\" is not available")).detail(
                format!("The extensions that are supported: {}.", known_names()),
            ),
        );
    };
    if object(tx.view(), kind::EXTENSION, &name)?.is_some() {
        let message = format!("extension \"{name}\" already exists");
        return match if_not_exists {
            true => Ok(skipped(
                WORD,
                code::DUPLICATE_OBJECT,
                message + ", skipping",
            )),
            false => Err(SqlError::new(code::DUPLICATE_OBJECT, message)),
        };
    }
    let schema = schema.as_ref().map(name_of);
    // PostgreSQL has this one in the catalogue, and dumps and libraries name it so.
    let is_own = |schema: &str| schema == PUBLIC || name == "plpgsql" && schema == "pg_catalog";
    if let Some(other) = schema.filter(|schema| !is_own(schema)) {
        return Err(SqlError::unsupported(format!(
            "CREATE EXTENSION in schema \"{other}\" is not supported"
        )));
    }
    let version = version.as_ref().map(|version| version.value.clone());
    if let Some(other) = version.filter(|version| version != known.version) {
        return Err(SqlError::unsupported(format!(
            "extension \"{name}\" has no version \"{other}\": it has {}",
            known.version
        )));
    }
    if name == HSTORE && UserTypes::of(tx.view())?.types.contains_key(HSTORE) {
        let message = format!("type \"{HSTORE}\" already exists");
        return Err(SqlError::new(code::DUPLICATE_OBJECT, message));
    }
    put_object(tx, kind::EXTENSION, &name, known.version)?;
    let lacks = known
        .lacks
        .map(|lacks| Notice::warning("01000", &format!("extension \"{name}\": {lacks}")));
    Ok(Complete::of(Tag::plain(WORD)).with_notice(lacks))
}

/// Runs `DROP EXTENSION`.
///
/// # Errors
/// `42704` if one is not created; `2BP01` if columns have its type, `0A000` if they are to be dropped with it.
pub(super) fn drop(tx: &mut dyn DefineTarget, drop: &DropExtension) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP EXTENSION";
    let DropExtension {
        names,
        if_exists,
        cascade_or_restrict,
    } = drop;
    if !matches!(
        cascade_or_restrict,
        None | Some(ReferentialAction::Cascade | ReferentialAction::Restrict)
    ) {
        return Err(SqlError::syntax("DROP EXTENSION takes CASCADE or RESTRICT"));
    }
    let mut complete = Complete::of(Tag::plain(WORD));
    for name in names {
        let name = name_of(name);
        if object(tx.view(), kind::EXTENSION, &name)?.is_some() {
            let cascades = matches!(cascade_or_restrict, Some(ReferentialAction::Cascade));
            check_unused(tx, &name, cascades)?;
            delete_object(tx, kind::EXTENSION, &name)?;
            continue;
        }
        let message = format!("extension \"{name}\" does not exist");
        match if_exists {
            true => complete = skipped(WORD, code::UNKNOWN_OBJECT, message + ", skipping"),
            false => return Err(SqlError::new(code::UNKNOWN_OBJECT, message)),
        }
    }
    Ok(complete)
}

/// The extension whose type columns can have, and its type.
const HSTORE: &str = "hstore";

/// Checks that no column has the type of an extension.
fn check_unused(tx: &dyn DefineTarget, name: &str, cascades: bool) -> Result<(), SqlError> {
    if name != HSTORE {
        return Ok(());
    }
    let mut depend = Vec::new();
    for relation in relations(tx.view())? {
        let is_of_it = |kind: SqlType| matches!(kind, SqlType::Hstore | SqlType::HstoreArray);
        for column in &relation.columns {
            if is_of_it(column.spec.kind) {
                let table = written(&relation.name);
                let column = &column.name;
                depend.push(format!(
                    "column {column} of table {table} depends on type {HSTORE}"
                ));
            }
        }
    }
    match (depend.is_empty(), cascades) {
        (true, _) => Ok(()),
        (_, true) => Err(SqlError::unsupported(format!(
            "DROP EXTENSION \"{name}\" CASCADE of columns is not supported"
        ))
        .detail(depend.join("\n"))
        .hint("Drop the columns first.")),
        _ => Err(SqlError::new(
            code::DEPENDENT_OBJECTS,
            format!("cannot drop extension {name} because other objects depend on it"),
        )
        .detail(depend.join("\n"))
        .hint("Drop the columns first.")),
    }
}
