//! `ALTER VIEW`, and `ALTER TABLE` of a view or a sequence, which PostgreSQL allows.

use super::create::check_new_name;
use super::drop::not_a_table;
use super::granting::Owners;
use super::options::{check_owner, refuse, skipped};
use super::sequences;
use crate::database::Database;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::comment_name;
use crate::parse::{SequenceChange, SequenceCommand};
use crate::path::{beside, local, schema_name, schema_of, shown};
use crate::relation::{Relation, delete_object, kind, object, put_object};
use crate::result::{Complete, Tag};
use crate::rights::{Access, Rights};
use crate::sequences::SequenceChanges;
use crate::views::view_named;
use sqlparser::ast::{
    AlterTable, AlterTableOperation, AlterView, AlterViewOperation, ObjectName, Owner,
    RenameTableNameKind,
};

/// A change of a view that is no change of its query.
enum Change {
    OwnerTo(Owner),
    RenameTo(String),
    SetSchema(String),
}

/// Runs `ALTER VIEW` and `ALTER MATERIALIZED VIEW`.
///
/// # Errors
/// `42P01` if there is no such view, `42809` for another kind of object; `42P07` if the new name is taken; `0A000` for
/// other changes.
pub(super) fn view(
    tx: &mut dyn DefineTarget,
    alter: &AlterView,
    (user, rights): (Owners<'_>, &Rights),
) -> Result<Complete, SqlError> {
    let AlterView {
        materialized,
        if_exists,
        name,
        operation,
    } = alter;
    let word = match materialized {
        true => "ALTER MATERIALIZED VIEW",
        false => "ALTER VIEW",
    };
    let change = match operation {
        AlterViewOperation::OwnerTo(owner) => Change::OwnerTo(owner.clone()),
        AlterViewOperation::RenameTo { new_name: to } => Change::RenameTo(unqualified(to)?),
        AlterViewOperation::SetSchema { schema_name: to } => Change::SetSchema(schema_name(to)?),
        other => {
            return Err(SqlError::unsupported(format!(
                "{word} {other} is not supported"
            )));
        }
    };
    let name = rights.path().find(tx.view(), name)?;
    let complete = Complete::of(Tag::plain(word));
    let table = Relation::named(tx.view(), &name);
    if view_named(tx.view(), &name)?.is_some() && !materialized {
        of_view(tx, &name, &change, (user, rights))?;
        return Ok(complete);
    }
    match table {
        Ok(relation) if relation.notes.materialized.is_some() && *materialized => {
            let Change::OwnerTo(owner) = change else {
                return refuse(word, &[(true, "another name or schema")]).map(|()| complete);
            };
            check_owner(&owner, user)?;
            Ok(complete)
        }
        Err(error) if error.code != code::UNKNOWN_TABLE => Err(error),
        Err(error) if object(tx.view(), kind::SEQUENCE, &name)?.is_none() => match if_exists {
            true => {
                let message = format!("relation \"{}\" does not exist, skipping", shown(&name));
                Ok(skipped(word, "00000", message))
            }
            false => Err(error),
        },
        _ => {
            let what = if *materialized {
                "materialized view"
            } else {
                "view"
            };
            let text = format!("\"{}\" is not a {what}", local(&name));
            Err(SqlError::new(code::WRONG_OBJECT_TYPE, text))
        }
    }
}

/// Runs an `ALTER TABLE` that names a view or a sequence. Returns `None` if it names neither.
///
/// # Errors
/// `42809` for changes that only tables have; `42P07` if a new name is taken.
pub(super) fn table(
    tx: &mut dyn DefineTarget,
    database: &Database,
    alter: &AlterTable,
    sequences: &mut SequenceChanges,
    (user, rights): (Owners<'_>, &Rights),
) -> Result<Option<Complete>, SqlError> {
    let name = rights.path().find(tx.view(), &alter.name)?;
    let is_view = view_named(tx.view(), &name)?.is_some();
    let materialized = match Relation::named(tx.view(), &name) {
        Ok(relation) => relation.notes.materialized.is_some().then_some(relation),
        Err(_) => None,
    };
    let is_sequence = object(tx.view(), kind::SEQUENCE, &name)?.is_some();
    if !is_view && !is_sequence && materialized.is_none() {
        return Ok(None);
    }
    for operation in &alter.operations {
        let change = match operation {
            AlterTableOperation::OwnerTo { new_owner } => Change::OwnerTo(new_owner.clone()),
            AlterTableOperation::RenameTable {
                table_name: RenameTableNameKind::As(to) | RenameTableNameKind::To(to),
            } => Change::RenameTo(unqualified(to)?),
            _ if materialized.is_some() => Change::RenameTo(String::new()),
            other => {
                let kind = if is_view { "views" } else { "sequences" };
                let text = format!(
                    "ALTER action {} cannot be performed on relation \"{}\"",
                    crate::position::excerpt(&other.to_string()),
                    local(&name)
                );
                return Err(SqlError::new(code::WRONG_OBJECT_TYPE, text)
                    .detail(format!("This operation is not supported for {kind}.")));
            }
        };
        match (change, &materialized) {
            (Change::OwnerTo(owner), Some(_)) => check_owner(&owner, user)?,
            (_, Some(relation)) => return Err(not_a_table(relation)),
            (change, None) if is_view => of_view(tx, &name, &change, (user, rights))?,
            (change, None) => {
                let command = SequenceCommand {
                    name: alter.name.clone(),
                    if_exists: false,
                    change: match change {
                        Change::OwnerTo(owner) => SequenceChange::OwnerTo(owner),
                        Change::RenameTo(to) => SequenceChange::RenameTo(to),
                        Change::SetSchema(to) => SequenceChange::SetSchema(to),
                    },
                };
                sequences::run(tx, database, &command, sequences, (user, rights))?;
            }
        }
    }
    Ok(Some(Complete::of(Tag::plain("ALTER TABLE"))))
}

/// Changes a view. Views that read one with another name cannot be planned any more, which the caller checks.
fn of_view(
    tx: &mut dyn DefineTarget,
    name: &str,
    change: &Change,
    (user, rights): (Owners<'_>, &Rights),
) -> Result<(), SqlError> {
    let to = match change {
        Change::OwnerTo(owner) => return check_owner(owner, user),
        Change::RenameTo(to) => beside(name, to),
        Change::SetSchema(schema) if schema == schema_of(name) => return Ok(()),
        Change::SetSchema(schema) => rights.path().moved_name(tx.view(), schema, local(name))?,
    };
    // The privileges are checked for both names, so that renaming does not circumvent them.
    rights.check(name, Access::Define)?;
    rights.check(&to, Access::Define)?;
    check_new_name(tx, &to)?;
    let columns = view_named(tx.view(), name)?.map_or_else(Vec::new, |view| view.columns);
    let columns = columns.iter().map(|(_, column)| Some(column.as_str()));
    let comments = columns.chain([None]).map(|column| {
        let of = |name| comment_name(kind::VIEW, name, column);
        (kind::COMMENT, of(name), of(&to))
    });
    let moved = comments.chain([(kind::VIEW, name.to_string(), to.clone())]);
    for (of, from, to) in moved.collect::<Vec<_>>() {
        if let Some(body) = object(tx.view(), of, &from)? {
            delete_object(tx, of, &from)?;
            put_object(tx, of, &to, &body)?;
        }
    }
    Ok(())
}

/// A new name, without a schema: the object stays in its schema.
fn unqualified(name: &ObjectName) -> Result<String, SqlError> {
    match name.0.len() {
        0 | 1 => schema_name(name),
        _ => Err(SqlError::syntax("syntax error at or near \".\"")),
    }
}
