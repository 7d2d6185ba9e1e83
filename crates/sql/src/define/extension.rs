//! `CREATE EXTENSION` and `DROP EXTENSION`: a note of the extensions of PostgreSQL whose functions are here.
//!
//! Programs create the extension before they call its functions, and look whether it is there. Its functions are known with
//! and without it. An extension whose functions are not here is refused, as PostgreSQL refuses one that is not installed.

use super::options::skipped;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::extensions::KNOWN;
use crate::names::name_of;
use crate::path::PUBLIC;
use crate::relation::{delete_object, kind, object, put_object};
use crate::result::{Complete, Tag};
use sqlparser::ast::{CreateExtension, DropExtension, ReferentialAction};

fn known_names() -> String {
    let names = KNOWN.iter().map(|(name, ..)| *name);
    names.collect::<Vec<_>>().join(", ")
}

/// Runs `CREATE EXTENSION`.
///
/// # Errors
/// `0A000` for an extension that is not here, another version or another schema than `public`; `42710` if it is created.
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
    let Some((_, known, _)) = KNOWN.iter().find(|(known, ..)| *known == name) else {
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
    if let Some(other) = schema.filter(|schema| schema != PUBLIC) {
        return Err(SqlError::unsupported(format!(
            "CREATE EXTENSION in schema \"{other}\" is not supported"
        )));
    }
    let version = version.as_ref().map(|version| version.value.clone());
    if let Some(other) = version.filter(|version| version != known) {
        return Err(SqlError::unsupported(format!(
            "extension \"{name}\" has no version \"{other}\": it has {known}"
        )));
    }
    put_object(tx, kind::EXTENSION, &name, known)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

/// Runs `DROP EXTENSION`.
///
/// # Errors
/// `42704` if one is not created.
pub(super) fn drop(tx: &mut dyn DefineTarget, drop: &DropExtension) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP EXTENSION";
    let DropExtension {
        names,
        if_exists,
        // Nothing depends on one.
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
        if delete_object(tx, kind::EXTENSION, &name)? {
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
