//! `CREATE VIEW` and `DROP VIEW`; the check of views when the tables that they read are changed.

use super::comment::forget;
use super::create::{check_length, exists, is_taken, new_name};
use super::drop::{drop_kept, in_schema};
use super::options::refuse;
use super::options::skipped;
use crate::changed_text::{changes_at, with_changes};
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::Parameters;
use crate::lexer::placed;
use crate::names::{name_of, quoted};
use crate::path::{is_temporary, local, schema_of, shown, written};
use crate::plan::planning::Planning;
use crate::plan::query::draft_query;
use crate::plan::views::{broken, columns_of, query_of};
use crate::position::location_of;
use crate::relation::{Relation, delete_object, kind, printed, put_object};
use crate::result::{Complete, Notice, Tag};
use crate::rights::Rights;
use crate::search_path::SearchPath;
use crate::source::Source;
use crate::values::bits;
use crate::views::{ViewDefinition, view_named, views};
use sardonyx::schema::Value;
use sqlparser::ast::{CreateTableOptions, CreateView, ObjectName, ViewColumnDef};
use sqlparser::tokenizer::{Span, Token};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Runs `CREATE [OR REPLACE] VIEW`.
///
/// # Errors
/// Invalid SQL in the query; `42501` if the user may not read its tables; `42P07` if the name is taken. `42P16` if the
/// replaced view has other columns; `0A000` for options that are not supported.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    create: &CreateView,
    rights: &Arc<Rights>,
) -> Result<Complete, SqlError> {
    check_clauses(create)?;
    let path = rights.path();
    path.check_order("CREATE VIEW")?;
    let (columns, query, reads_temporary) = planned(tx.view(), create, rights)?;
    let mut complete = Complete::of(Tag::plain("CREATE VIEW"));
    if reads_temporary && !create.temporary {
        let name = crate::names::qualified(&create.name)?.1;
        let message = format!("view \"{name}\" will be a temporary view");
        complete.notices.push(Notice::note("00000", message));
    }
    let name = new_name(tx, &create.name, path, create.temporary || reads_temporary)?;
    let before = view_named(tx.view(), &name)?;
    let is_taken = is_taken(tx, &name)?;
    match &before {
        Some(_) if create.if_not_exists => {
            let message = format!("relation \"{}\" already exists, skipping", local(&name));
            return Ok(skipped("CREATE VIEW", code::DUPLICATE_TABLE, message));
        }
        Some(_) if create.or_replace => {}
        _ if is_taken => return Err(exists(&name)),
        _ => check_length(&name)?,
    }
    let source = tx.view();
    let view = ViewDefinition { columns, query };
    // Compiles the stored text, as later reads will.
    let now = columns_of(source, &view)?;
    if let Some(before) = before {
        // One that cannot be planned any more is repaired so: the types of its columns are not known.
        let known = columns_of(source, &before).ok();
        let mut pairs = before.columns.iter().zip(&now).enumerate();
        let are_same = pairs.all(|(at, ((_, old), new))| {
            let spec = known.as_ref().map_or(new.spec, |known| known[at].spec);
            *old == new.name && spec == new.spec
        });
        if now.len() < before.columns.len() || !are_same {
            return Err(SqlError::new(
                code::INVALID_TABLE_DEFINITION,
                format!("view \"{}\" has other columns: they cannot be changed or dropped, only more can be added behind", local(&name)),
            )
            .hint("DROP VIEW it, and create it again."));
        }
    }
    put_object(tx, kind::VIEW, &name, &printed(&view)?)?;
    Ok(complete)
}

/// Rejects options that are not supported.
pub(super) fn check_clauses(create: &CreateView) -> Result<(), SqlError> {
    let CreateView {
        or_alter,
        or_replace: _,
        materialized,
        secure,
        name: _,
        name_before_not_exists,
        columns,
        query: _,
        options,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists: _,
        temporary: _,
        copy_grants,
        to,
        params,
    } = create;
    let typed = |column: &ViewColumnDef| {
        let ViewColumnDef {
            name: _,
            data_type,
            options,
        } = column;
        data_type.is_some() || options.is_some()
    };
    let other = *or_alter
        || *secure
        || *name_before_not_exists
        || !cluster_by.is_empty()
        || comment.is_some()
        || *with_no_schema_binding && !materialized
        || *copy_grants
        || to.is_some()
        || params.is_some()
        || columns.iter().any(typed);
    let asked = [
        (!matches!(options, CreateTableOptions::None), "WITH"),
        (other, "a clause of another database system"),
    ];
    refuse("CREATE VIEW", &asked)
}

/// The columns of a view, its text, and true if it reads a temporary table or view.
type PlannedView = (Vec<(String, String)>, String, bool);

/// Plans a new view. Returns its columns (the names in the query, and those in the view), its text, and true if it
/// reads a temporary table or view. In the text, all table names are qualified by the schemas in which they were found.
pub(super) fn planned(
    source: &dyn Source,
    create: &CreateView,
    rights: &Arc<Rights>,
) -> Result<PlannedView, SqlError> {
    // Positions are relative to the stored text, so that text is parsed.
    let text = with_bits(create.query.to_string())?;
    let query = query_of(&text)?;
    let mut parameters = Parameters::default();
    let mut planning = Planning::new(source, &mut parameters, rights)?;
    let mut draft = draft_query(&mut planning, &query)?;
    draft.decide(&mut planning)?;
    let found = std::mem::take(&mut planning.queries.without_schema);
    let text = with_schemas(text, &found);
    let mut named = planning.queries.names.iter();
    let reads_temporary = named.any(|name| is_temporary(schema_of(name)));
    if !parameters.decided().is_empty() {
        return Err(SqlError::new(
            code::UNKNOWN_PARAMETER,
            "a view has no parameters",
        ));
    }
    let inner: Vec<String> = draft.items.iter().map(|item| item.name.clone()).collect();
    if create.columns.len() > inner.len() {
        return Err(SqlError::syntax(
            "CREATE VIEW specifies more column names than columns",
        ));
    }
    let named = create.columns.iter().map(|column| name_of(&column.name));
    let rest = inner.iter().skip(create.columns.len()).cloned();
    let columns: Vec<(String, String)> = inner.iter().cloned().zip(named.chain(rest)).collect();
    // Each column is found by its name in the query.
    check_different(columns.iter().map(|(inner, _)| inner))?;
    check_different(columns.iter().map(|(_, name)| name))?;
    Ok((columns, text, reads_temporary))
}

/// A text that is to be kept, with `X'1F'` as `B'00011111'`: kept texts of earlier versions mean bytes by the former.
///
/// # Errors
/// `42601`; `22P02` for digits that are none.
pub(super) fn with_bits(text: String) -> Result<String, SqlError> {
    let tokens = placed(&text).map_err(|error| SqlError::syntax(error.message))?;
    let mut changes = Vec::new();
    for token in tokens {
        if let Token::HexStringLiteral(digits) = &token.token
            && let Value::Text(bits) = bits::read(&format!("x{digits}"))?
        {
            changes.push((token.at, format!("B'{bits}'")));
        }
    }
    Ok(match changes.is_empty() {
        true => text,
        false => with_changes(&text, &changes),
    })
}

/// Inserts schemas into a text before the names at these positions.
fn with_schemas(text: String, found: &BTreeMap<usize, String>) -> String {
    let schemas = found.iter().filter_map(|(place, schema)| {
        let at = location_of(*place)?;
        Some((Span::new(at, at), format!("{}.", quoted(schema))))
    });
    let changes = changes_at(&text, schemas.collect());
    with_changes(&text, &changes)
}

fn check_different<'n>(names: impl Iterator<Item = &'n String>) -> Result<(), SqlError> {
    let mut seen = BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(SqlError::new(
                code::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            )
            .hint("Give the columns of the query different names, by AS."));
        }
    }
    Ok(())
}

/// Runs `DROP VIEW`.
///
/// # Errors
/// `42P01` if there is no such view.
pub(super) fn drop(
    tx: &mut dyn DefineTarget,
    names: &[ObjectName],
    if_exists: bool,
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP VIEW";
    let mut complete = Complete::of(Tag::plain(WORD));
    for name in names {
        let Some(name) = in_schema(tx, name, path, (WORD, if_exists), &mut complete)? else {
            continue;
        };
        if drop_one(tx, &name)? {
            continue;
        }
        if let Ok(relation) = Relation::named(tx.view(), &name) {
            let hint = match relation.notes.materialized {
                Some(_) => "Use DROP MATERIALIZED VIEW to remove a materialized view.",
                None => "Use DROP TABLE to remove a table.",
            };
            let text = format!("\"{}\" is not a view", local(&name));
            return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text).hint(hint));
        }
        let message = format!("view \"{}\" does not exist", shown(&name));
        if !if_exists {
            return Err(SqlError::new(code::UNKNOWN_TABLE, message));
        }
        let notices = skipped(WORD, "00000", message + ", skipping").notices;
        complete.notices.extend(notices);
    }
    Ok(complete)
}

/// Drops a view with its comments. Returns true if there was one.
pub(super) fn drop_one(tx: &mut dyn DefineTarget, name: &str) -> Result<bool, SqlError> {
    if let Some(view) = view_named(tx.view(), name)? {
        let columns = view.columns.into_iter().map(|(_, column)| column);
        forget(tx, kind::VIEW, name, &columns.collect::<Vec<_>>())?;
    }
    delete_object(tx, kind::VIEW, name)
}

/// Checks that every view can still be planned after a change. With `cascade`, those that cannot are dropped. Views that
/// could not be planned `before` are left: the change is not their fault.
///
/// # Errors
/// `2BP01` if a view can no longer be planned.
pub(super) fn keep_whole(
    tx: &mut dyn DefineTarget,
    (cascade, before): (bool, &BTreeSet<String>),
    complete: &mut Complete,
) -> Result<(), SqlError> {
    while let Some((name, error)) = broken(tx.view(), before)? {
        if !cascade {
            return Err(SqlError::new(
                code::DEPENDENT_OBJECTS,
                format!("view {} depends on what this would change", written(&name)),
            )
            .detail(format!("Then it could not be read: {}.", error.message))
            .hint("Drop the view first, or use CASCADE where something is dropped."));
        }
        let mut what = "view";
        if !drop_one(tx, &name)? {
            what = "materialized view";
            let relation = Relation::named(tx.view(), &name)?;
            drop_kept(tx, vec![relation])?;
        }
        let text = format!("drop cascades to {what} {}", written(&name));
        let dropped = Notice::note("00000", text);
        complete.notices.push(dropped);
    }
    Ok(())
}

/// Drops the views of a session's schema that can no longer be planned.
///
/// # Errors
/// The engine's errors.
pub(crate) fn drop_broken(tx: &mut dyn DefineTarget, schema: &str) -> Result<(), SqlError> {
    for (name, view) in views(tx.view())? {
        if schema_of(&name) == schema && columns_of(tx.view(), &view).is_err() {
            drop_one(tx, &name)?;
        }
    }
    Ok(())
}
