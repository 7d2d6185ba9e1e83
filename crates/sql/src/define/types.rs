//! `CREATE TYPE`, `ALTER TYPE` and `DROP TYPE` of enum types.
//!
//! Values are stored by the labels' numbers, which never change ([`crate::types::EnumType`]), so adding or renaming a
//! label rewrites no rows. Labels cannot be removed, as in PostgreSQL.

use super::dependents::{Dependents, cascades_to};
use super::domains;
use super::drop_column::drop_column;
use super::granting::Owners;
use super::options::skipped;
use super::type_names::{check_new_name, columns_of_type, found, free_oids, moved};
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{name_of, quoted_literal};
use crate::parse::{TypeChange, TypeCommand};
use crate::path::{beside, local, schema_of, shown, written};
use crate::relation::Relation;
use crate::result::{Complete, Notice, Tag};
use crate::rights::{Access, Rights};
use crate::search_path::SearchPath;
use crate::types::{
    LABEL_BYTES_MAX, LABELS_MAX, Label, composite_depth, position_behind, position_between,
    unknown_type,
};
use crate::user_types::{UserType, UserTypes};
use sqlparser::ast::{
    AlterType, AlterTypeAddValue, AlterTypeAddValuePosition, AlterTypeOperation, Ident, ObjectName,
    UserDefinedTypeRepresentation,
};
use std::cmp::Reverse;

/// Runs `CREATE TYPE … AS ENUM`.
///
/// # Errors
/// `42710` if the name is taken; `22023`, `42622` for invalid labels; `0A000` for other kinds of types.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    name: &ObjectName,
    representation: Option<&UserDefinedTypeRepresentation>,
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    let labels = match representation {
        Some(UserDefinedTypeRepresentation::Enum { labels }) => labels,
        Some(UserDefinedTypeRepresentation::Composite { attributes }) => {
            return super::composite::create(tx, name, attributes, path);
        }
        Some(UserDefinedTypeRepresentation::Range { .. }) => {
            return Err(SqlError::unsupported(
                "CREATE TYPE … AS RANGE is not supported",
            ));
        }
        _ => {
            return Err(SqlError::unsupported(
                "CREATE TYPE is supported AS ENUM and AS (…) only",
            ));
        }
    };
    let name = path.new_name(tx.view(), name, false)?;
    check_new_name(tx, &name)?;
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    check_count(labels.len())?;
    let oid = free_oids(tx, &types, 2 + labels.len() as u32)?;
    let mut made: Vec<Label> = Vec::with_capacity(labels.len());
    for (at, label) in labels.iter().enumerate() {
        let label = label_of(label)?;
        if made.iter().any(|there| there.name == label) {
            return Err(SqlError::new(
                "23505",
                "duplicate key value violates unique constraint \"pg_enum_typid_label_index\"",
            )
            .detail(format!(
                "Key (enumtypid, enumlabel)=({oid}, {label}) already exists."
            )));
        }
        made.push(Label {
            name: label,
            oid: oid + 2 + at as u32,
            position: position_behind(made.last().map(|last| last.position))?,
        });
    }
    let made = UserType {
        oid,
        labels: made,
        comment: None,
        domain: None,
        fields: None,
    };
    made.check_room(&name)?;
    types.change().insert(name, made);
    types.store(tx)?;
    Ok(Complete::of(Tag::plain("CREATE TYPE")))
}

/// Returns the text of a label's literal.
fn label_of(word: &Ident) -> Result<String, SqlError> {
    if word.quote_style != Some('\'') {
        return Err(SqlError::syntax(format!(
            "syntax error at or near \"{}\": a label is a text in quotes",
            word.value
        )));
    }
    let label = word.value.clone();
    match label.len() > LABEL_BYTES_MAX {
        true => Err(
            SqlError::new("42602", format!("invalid enum label \"{label}\""))
                .detail(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")),
        ),
        false => Ok(label),
    }
}

fn check_count(count: usize) -> Result<(), SqlError> {
    match count > LABELS_MAX {
        true => Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!("an enum has at most {LABELS_MAX} labels"),
        )),
        false => Ok(()),
    }
}

/// Runs `ALTER TYPE`.
///
/// # Errors
/// `42704` if there is no such type or label; `42710` if a label or name is taken; `54000` for too
/// many labels, or if no label number is free.
pub(super) fn alter(
    tx: &mut dyn DefineTarget,
    alter: &AlterType,
    path: &SearchPath,
) -> Result<Complete, SqlError> {
    const WORD: &str = "ALTER TYPE";
    let name = found(tx, &alter.name, path)?;
    let is_rename = matches!(alter.operation, AlterTypeOperation::Rename(_));
    if !is_rename && !is_enum(tx, &name)? {
        return Err(SqlError::new(
            code::WRONG_OBJECT_TYPE,
            format!("{} is not an enum", written(&name)),
        ));
    }
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    let mut renamed = None;
    match &alter.operation {
        AlterTypeOperation::Rename(rename) => {
            let to = beside(&name, &name_of(&rename.new_name));
            check_new_name(tx, &to)?;
            moved(&mut types, &name, &to)?;
        }
        AlterTypeOperation::AddValue(add) => {
            let is_there = |there: &UserType, label: &String| {
                there.labels.iter().any(|known| known.name == *label)
            };
            let label = label_of(&add.value)?;
            let oid = free_oids(tx, &types, 1)?;
            let Some(there) = types.change().get_mut(&name) else {
                return Err(unknown_type(None, &name));
            };
            if is_there(there, &label) {
                let message = format!("enum label \"{label}\" already exists");
                return match add.if_not_exists {
                    true => {
                        let message = message + ", skipping";
                        Ok(skipped(WORD, code::DUPLICATE_OBJECT, message))
                    }
                    false => Err(SqlError::new(code::DUPLICATE_OBJECT, message)),
                };
            }
            check_count(there.labels.len() + 1)?;
            add_label(there, add, label, oid)?;
            there.check_room(&name)?;
        }
        AlterTypeOperation::RenameValue(rename) => {
            let (from, to) = (label_of(&rename.from)?, label_of(&rename.to)?);
            let Some(there) = types.change().get_mut(&name) else {
                return Err(unknown_type(None, &name));
            };
            let place = place_of(there, &from)?;
            if there.labels.iter().any(|known| known.name == to) {
                return Err(SqlError::new(
                    code::DUPLICATE_OBJECT,
                    format!("enum label \"{to}\" already exists"),
                ));
            }
            check_no_arrays(tx, &name)?;
            super::composite::check_no_fields(tx, &name, "change")?;
            there.labels[place].name.clone_from(&to);
            there.check_room(&name)?;
            renamed = Some((from, to));
        }
    }
    // The columns are collected before the new labels are known.
    let columns = match renamed {
        Some(_) => columns_of_type(tx, &name)?,
        None => Vec::new(),
    };
    types.store(tx)?;
    for (table, column) in columns {
        if let Some((from, to)) = &renamed {
            rename_default(tx, &table, &column, from, to)?;
        }
    }
    Ok(Complete::of(Tag::plain(WORD)))
}

/// Refuses to rename a label of a type with array columns: arrays are stored as texts of the labels.
fn check_no_arrays(tx: &dyn DefineTarget, name: &str) -> Result<(), SqlError> {
    for (table, column) in columns_of_type(tx, name)? {
        let relation = Relation::named(tx.view(), &table)?;
        let spec = relation.column(&column)?.spec;
        if spec.kind.element().is_some() {
            return Err(SqlError::unsupported(format!(
                "RENAME VALUE is not supported while column {column} of table {} has arrays of type {}",
                written(&table),
                shown(name)
            )));
        }
    }
    Ok(())
}

/// Replaces the old name of a label in the default of a column.
fn rename_default(
    tx: &mut dyn DefineTarget,
    table: &str,
    column: &str,
    from: &str,
    to: &str,
) -> Result<(), SqlError> {
    let relation = Relation::named(tx.view(), table)?;
    let number = relation.column(column)?.number;
    let mut notes = relation.notes.clone();
    if let Some(noted) = notes.columns.get_mut(&number)
        && noted.default.as_deref() == Some(&quoted_literal(from))
    {
        noted.default = Some(quoted_literal(to));
        put_notes(tx, relation.number, &notes)?;
    }
    Ok(())
}

fn is_enum(tx: &dyn DefineTarget, name: &str) -> Result<bool, SqlError> {
    let types = UserTypes::of(tx.view())?;
    Ok(types
        .types
        .get(name)
        .is_some_and(|there| there.domain.is_none() && there.fields.is_none()))
}

/// The position of a label among those of its type.
fn place_of(there: &UserType, label: &str) -> Result<usize, SqlError> {
    let place = there.labels.iter().position(|known| known.name == label);
    place.ok_or_else(|| {
        SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("\"{label}\" is not an existing enum label"),
        )
    })
}

/// Adds a label at its position.
fn add_label(
    there: &mut UserType,
    add: &AlterTypeAddValue,
    name: String,
    oid: u32,
) -> Result<(), SqlError> {
    let place = match &add.position {
        None => there.labels.len(),
        Some(AlterTypeAddValuePosition::Before(of)) => place_of(there, &label_of(of)?)?,
        Some(AlterTypeAddValuePosition::After(of)) => place_of(there, &label_of(of)?)? + 1,
    };
    let before = place.checked_sub(1).and_then(|at| there.labels.get(at));
    let before = before.map(|label| label.position);
    let position = match there.labels.get(place) {
        None => position_behind(before)?,
        Some(next) => position_between(before, next.position)?,
    };
    there.labels.insert(
        place,
        Label {
            name,
            oid,
            position,
        },
    );
    Ok(())
}

/// Runs `ALTER TYPE … OWNER TO` and `SET SCHEMA`.
///
/// # Errors
/// `42704` if there is no such type, or the owner is not the session's user; `3F000` if there is no such schema.
pub(super) fn change(
    tx: &mut dyn DefineTarget,
    command: &TypeCommand,
    user: Owners<'_>,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    let path = rights.path();
    let word = if command.is_domain {
        "ALTER DOMAIN"
    } else {
        "ALTER TYPE"
    };
    match &command.change {
        TypeChange::Create { base, options } => {
            return domains::create(tx, &command.name, base, options, path);
        }
        TypeChange::Drop {
            others,
            if_exists,
            cascade,
        } => {
            let names: Vec<ObjectName> =
                [&command.name].into_iter().chain(others).cloned().collect();
            for name in &names {
                let kept = found(tx, name, path);
                if let Ok(kept) = kept
                    && UserTypes::of(tx.view())?
                        .types
                        .get(&kept)
                        .is_some_and(|there| there.domain.is_none())
                {
                    return Err(SqlError::new(
                        code::WRONG_OBJECT_TYPE,
                        format!("{} is not a domain", written(&kept)),
                    ));
                }
            }
            return drop_all(tx, "DROP DOMAIN", &names, (*if_exists, *cascade), rights);
        }
        _ => {}
    }
    let name = found(tx, &command.name, path)?;
    match &command.change {
        TypeChange::OwnerTo(owner) => {
            let own = ["current_user", "current_role", "session_user"];
            if !user.may_own(owner) && !own.contains(&owner.as_str()) {
                return Err(user.refused(owner, "Types"));
            }
        }
        TypeChange::RenameTo(to) => {
            let to = beside(&name, to);
            check_new_name(tx, &to)?;
            let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
            moved(&mut types, &name, &to)?;
            types.store(tx)?;
        }
        TypeChange::SetSchema(schema) => {
            if schema != schema_of(&name) {
                let to = path.moved_name(tx.view(), schema, local(&name))?;
                check_new_name(tx, &to)?;
                let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
                moved(&mut types, &name, &to)?;
                types.store(tx)?;
            }
        }
        TypeChange::Attribute(word) => {
            let text = format!("ALTER TYPE … {word} ATTRIBUTE is not supported");
            return Err(SqlError::unsupported(text).hint(
                "Create another type with the wanted fields, and change the columns' type to it.",
            ));
        }
        change => return domains::alter(tx, &name, change, path),
    }
    Ok(Complete::of(Tag::plain(word)))
}

/// Runs `DROP TYPE`.
///
/// # Errors
/// `42704` if there is no such type; `2BP01` without `CASCADE` if a domain, a column or a function needs the type; `42501`
/// if that column's table may not be changed.
pub(super) fn drop(
    tx: &mut dyn DefineTarget,
    names: &[ObjectName],
    (if_exists, cascade): (bool, bool),
    rights: &Rights,
) -> Result<Complete, SqlError> {
    drop_all(tx, "DROP TYPE", names, (if_exists, cascade), rights)
}

fn drop_all(
    tx: &mut dyn DefineTarget,
    word: &'static str,
    names: &[ObjectName],
    (if_exists, cascade): (bool, bool),
    rights: &Rights,
) -> Result<Complete, SqlError> {
    let mut complete = Complete::of(Tag::plain(word));
    let mut kept: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        match found(tx, name, rights.path()) {
            Ok(name) if kept.contains(&name) => {}
            Ok(name) => kept.push(name),
            Err(error) if if_exists && error.code != code::DATA_CORRUPTED => {
                let message = format!("{}, skipping", error.message);
                let notices = skipped(word, "00000", message).notices;
                complete.notices.extend(notices);
            }
            Err(error) => return Err(error),
        }
    }
    let notices = drop_types(tx, kept, cascade, rights)?;
    complete.notices.extend(notices);
    Ok(complete)
}

/// Drops types, each before those that it is made of.
///
/// # Errors
/// Errors of [`drop`].
pub(super) fn drop_types(
    tx: &mut dyn DefineTarget,
    mut names: Vec<String>,
    cascade: bool,
    rights: &Rights,
) -> Result<Vec<Notice>, SqlError> {
    let types = UserTypes::of(tx.view())?;
    names.sort_by_key(|name| {
        let there = types.types.get(name);
        let depth = there.map_or(0, |there| match there.domain {
            Some(_) => usize::MAX,
            None => composite_depth(types.kind_of(name, there)),
        });
        Reverse(depth)
    });
    let mut notices = Vec::new();
    for name in &names {
        notices.extend(drop_one(tx, name, cascade, rights)?);
    }
    Ok(notices)
}

/// Drops a type, and with `cascade` the domains over it, the columns of the type, and the functions with it.
///
/// # Errors
/// Errors of [`drop`].
fn drop_one(
    tx: &mut dyn DefineTarget,
    name: &str,
    cascade: bool,
    rights: &Rights,
) -> Result<Option<Notice>, SqlError> {
    super::composite::check_no_fields(tx, name, "drop")?;
    let mut found = Dependents::default();
    found.add(tx, name)?;
    if !found.shown.is_empty() && !cascade {
        let depend = found.shown.iter();
        let depend = depend.map(|(what, on)| format!("{what} depends on type {}", shown(on)));
        return Err(SqlError::new(
            code::DEPENDENT_OBJECTS,
            format!(
                "cannot drop type {} because other objects depend on it",
                shown(name)
            ),
        )
        .detail(depend.collect::<Vec<_>>().join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    for (table, column) in &found.columns {
        rights.check(table, Access::Define)?;
        let relation = Relation::named(tx.view(), table)?;
        drop_column(tx, &relation, column, true)?;
    }
    for function in found.functions {
        function.remove(tx)?;
    }
    let mut types = UserTypes::clone(&*UserTypes::of(tx.view())?);
    for domain in &found.domains {
        types.change().remove(domain);
    }
    types.change().remove(name);
    types.store(tx)?;
    let dropped: Vec<String> = found.shown.into_iter().map(|(what, _)| what).collect();
    Ok(cascades_to(&dropped))
}
