//! `COMMENT ON`: comments are stored with their objects, and dropped with them.
//!
//! The parser supports neither constraints nor arguments of functions here, so the statement is parsed here.

use super::constraint::notes_of_column;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{COMMENT_OF_DATABASE, comment_name};
use crate::parse::comment::{Comment, Commented};
use crate::path::{local, unknown_schema};
use crate::plan::views::columns_of;
use crate::relation::{
    Relation, TableNotes, comment_of_schema, delete_object, kind, object, put_object,
};
use crate::result::{Complete, Tag};
use crate::rights::{Access, Rights};
use crate::schemas::has_schema;
use crate::views::view_named;
use sqlparser::ast::ObjectName;

/// Removes the comments of a dropped view or sequence.
pub(super) fn forget(
    tx: &mut dyn DefineTarget,
    of: &str,
    name: &str,
    columns: &[String],
) -> Result<(), SqlError> {
    let of_columns = columns
        .iter()
        .map(|column| comment_name(of, name, Some(column)));
    for name in of_columns.chain([comment_name(of, name, None)]) {
        delete_object(tx, kind::COMMENT, &name)?;
    }
    Ok(())
}

impl Comment {
    /// The table or view whose definition the comment changes.
    pub(super) fn relation(&self) -> Option<&ObjectName> {
        match &self.on {
            Commented::Table(name) | Commented::Column(name, _) | Commented::View(name) => {
                Some(name)
            }
            Commented::Constraint { table, .. } => Some(table),
            Commented::Index(_)
            | Commented::Sequence(_)
            | Commented::Schema(_)
            | Commented::Type(_)
            | Commented::Database => None,
        }
    }

    pub(super) fn is_of_index(&self) -> bool {
        matches!(self.on, Commented::Index(_))
    }
}

/// Stores a comment.
///
/// # Errors
/// `42P01`, `42703`, `42704` if there is no object of the name; `42809` if it is of another kind.
pub(super) fn run(
    tx: &mut dyn DefineTarget,
    comment: &Comment,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    let text = comment.text.clone();
    let find = |name: &ObjectName| rights.path().find(tx.view(), name);
    match &comment.on {
        Commented::Table(name) => {
            let relation = table_of(tx, &find(name)?)?;
            change(tx, &relation, |notes| notes.comment = text)?;
        }
        Commented::Column(name, column) => {
            let name = &find(name)?;
            if let Some(view) = view_named(tx.view(), name)? {
                let columns = columns_of(tx.view(), &view)?;
                if !columns.iter().any(|there| there.name == *column) {
                    return Err(unknown_column(name, column));
                }
                put(tx, &comment_name(kind::VIEW, name, Some(column)), text)?;
            } else {
                let relation = table_of(tx, name)?;
                let column = relation.column(column)?;
                change(tx, &relation, |notes| {
                    notes_of_column(notes, column).comment = text;
                })?;
            }
        }
        Commented::Constraint { name, table } => {
            let relation = table_of(tx, &find(table)?)?;
            if !relation.has_constraint(name) {
                return Err(SqlError::new(
                    code::UNKNOWN_OBJECT,
                    format!(
                        "constraint \"{name}\" for table \"{}\" does not exist",
                        relation.local()
                    ),
                ));
            }
            change(tx, &relation, |notes| {
                put_in(&mut notes.constraint_comments, name, text);
            })?;
        }
        Commented::Index(name) => {
            let source = tx.view();
            let name = find(name)?;
            let Some((number, _)) = crate::relation::index_named(source, &name) else {
                return Err(SqlError::unknown_table(&name));
            };
            let relation = Relation::numbered(source, number)?;
            rights.check(&relation.name, Access::Define)?;
            change(tx, &relation, |notes| {
                put_in(&mut notes.index_comments, local(&name), text);
            })?;
        }
        Commented::Type(name) => super::type_names::comment(tx, name, text, rights.path())?,
        Commented::View(name) => {
            let name = &find(name)?;
            if view_named(tx.view(), name)?.is_none() {
                return Err(other_kind(tx, name, "a view"));
            }
            put(tx, &comment_name(kind::VIEW, name, None), text)?;
        }
        Commented::Sequence(name) => {
            let name = &find(name)?;
            if object(tx.view(), kind::SEQUENCE, name)?.is_none() {
                return Err(other_kind(tx, name, "a sequence"));
            }
            put(tx, &comment_name(kind::SEQUENCE, name, None), text)?;
        }
        Commented::Schema(schema) => {
            rights.path().check_own_schema(schema)?;
            if !has_schema(tx.view(), schema)? {
                return Err(unknown_schema(schema));
            }
            put(tx, &comment_of_schema(schema), text)?;
        }
        Commented::Database => put(tx, COMMENT_OF_DATABASE, text)?,
    }
    Ok(Complete::of(Tag::plain("COMMENT")))
}

fn table_of(tx: &dyn DefineTarget, name: &str) -> Result<Relation, SqlError> {
    let source = tx.view();
    match view_named(source, name)? {
        Some(_) => Err(SqlError::new(
            code::WRONG_OBJECT_TYPE,
            format!("\"{}\" is not a table", local(name)),
        )),
        None => Relation::named(source, name),
    }
}

fn other_kind(tx: &dyn DefineTarget, name: &str, what: &str) -> SqlError {
    match tx.view().table_named(name) {
        Some(_) => {
            let text = format!("\"{}\" is not {what}", local(name));
            SqlError::new(code::WRONG_OBJECT_TYPE, text)
        }
        None => SqlError::unknown_table(name),
    }
}

fn unknown_column(table: &str, column: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_COLUMN,
        format!(
            "column \"{column}\" of relation \"{}\" does not exist",
            local(table)
        ),
    )
}

fn change(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    change: impl FnOnce(&mut TableNotes),
) -> Result<(), SqlError> {
    let mut notes = relation.notes.clone();
    notes.table.clone_from(&relation.name);
    change(&mut notes);
    put_notes(tx, relation.number, &notes)
}

fn put_in(
    comments: &mut std::collections::BTreeMap<String, String>,
    name: &str,
    text: Option<String>,
) {
    match text {
        Some(text) => comments.insert(name.to_string(), text),
        None => comments.remove(name),
    };
}

fn put(tx: &mut dyn DefineTarget, name: &str, text: Option<String>) -> Result<(), SqlError> {
    match text {
        Some(text) => put_object(tx, kind::COMMENT, name, &text),
        None => delete_object(tx, kind::COMMENT, name).map(drop),
    }
}
