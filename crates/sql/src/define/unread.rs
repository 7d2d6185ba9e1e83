//! Names of tables of keys that views and procedures of an older version read without a schema.
//!
//! Such a name means the table of keys as long as `public` has none ([`crate::keyspace::older_name`]). A table of the name
//! would silently take its place in these texts, which nothing tells apart from newer ones. So the name stays free until
//! they name the schema.

use crate::error::{SqlError, code};
use crate::keyspace;
use crate::parse::ProcedureDefinition;
use crate::path::{PUBLIC, local, split, written};
use crate::plan::views::older_names;
use crate::procedures::Compiled;
use crate::relation::{kind, materialized, objects, parsed};
use crate::rights::Rights;
use crate::schemas::is_there;
use crate::source::Source;
use crate::views::views;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Checks that no view and no procedure would read a new table of a name in place of the keys.
///
/// # Errors
/// `42P07` if one would.
pub(super) fn check_unread(source: &dyn Source, name: &str) -> Result<(), SqlError> {
    let (schema, word) = split(name);
    if schema != PUBLIC || keyspace::older_name(source, word).is_none() || is_there(source, name)? {
        return Ok(());
    }
    match reader(source, word)? {
        None => Ok(()),
        Some(reader) => Err(SqlError::new(
            code::DUPLICATE_TABLE,
            format!("relation \"{}\" already exists", local(name)),
        )
        .detail(format!(
            "{reader} reads the keys of Redis' clients by this name, without the schema {}.",
            keyspace::SCHEMA
        ))
        .hint(format!(
            "Create it again with \"{}.{word}\" first.",
            keyspace::SCHEMA
        ))),
    }
}

/// A view or procedure that names a table of keys without its schema.
fn reader(source: &dyn Source, word: &str) -> Result<Option<String>, SqlError> {
    for (name, view) in views(source)? {
        if reads(older_names(source, &view.query), &view.query, word) {
            return Ok(Some(format!("View {}", written(&name))));
        }
    }
    for relation in materialized(source)? {
        if let Some(query) = &relation.notes.materialized
            && reads(older_names(source, query), query, word)
        {
            return Ok(Some(format!(
                "Materialized view {}",
                written(&relation.name)
            )));
        }
    }
    for (name, body) in objects(source, kind::PROCEDURE)? {
        let definition: ProcedureDefinition = parsed(&body)?;
        let compiled = Compiled::of(&definition, &Arc::new(Rights::default()), true);
        let names = compiled.and_then(|compiled| compiled.older_names(source));
        if reads(names, &definition.body, word) {
            return Ok(Some(format!("Procedure {name}")));
        }
    }
    Ok(None)
}

/// True if a text reads a name. One that cannot be planned now may read it later.
fn reads(names: Result<BTreeSet<String>, SqlError>, text: &str, word: &str) -> bool {
    names.map_or_else(|_| text.contains(word), |names| names.contains(word))
}
