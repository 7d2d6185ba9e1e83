//! `CREATE SCHEMA`, `ALTER SCHEMA` and `DROP SCHEMA`.
//!
//! A schema is an object with a number; the names of its contents begin with its name and a point ([`crate::path`]). So
//! dropping a schema drops everything under its name, and renaming it renames each of these.

use super::comment::forget;
use super::drop::drop_all;
use super::granting::Owners;
use super::options::refuse;
use super::options::skipped;
use super::view::drop_one;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::name_of;
use crate::path::{
    PUBLIC, is_of_catalogue, is_temporary, kept, local, name_in, schema_name, schema_of,
    unknown_schema, written, written_whole,
};
use crate::relation::{
    OWN, Relation, TableNotes, comment_of_schema, delete_object, kind, object, objects, printed,
    put_object,
};
use crate::result::{Complete, Notice, Tag};
use crate::rights::{Access, Rights};
use crate::routines::{follow_schema, follow_table};
use crate::schemas::{SchemaObject, has_schema, schemas};
use crate::search_path::of_keyspace;
use crate::sequence_names::renamed;
use crate::views::views;
use crate::virtual_tables::relations;
use sqlparser::ast::{
    AlterSchema, AlterSchemaOperation, Ident, ObjectName, Owner, SchemaName, Statement,
};

/// The most bytes of a schema's name, since it is part of the names of its tables in the engine.
const NAME_BYTES_MAX: usize = 40;

/// Runs `CREATE SCHEMA`.
///
/// # Errors
/// `42P06` if the name is taken; `42939` for a reserved name; `42704` for another owner.
pub(super) fn create(
    tx: &mut dyn DefineTarget,
    statement: &Statement,
    user: Owners<'_>,
) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE SCHEMA";
    let Statement::CreateSchema {
        schema_name: named,
        or_replace,
        if_not_exists,
        with,
        options,
        default_collate_spec,
        clone,
    } = statement
    else {
        return Err(SqlError::syntax("CREATE SCHEMA was expected"));
    };
    let other = *or_replace
        || with.is_some()
        || options.is_some()
        || default_collate_spec.is_some()
        || clone.is_some();
    refuse(WORD, &[(other, "a clause of another database system")])?;
    let (name, owner) = match named {
        SchemaName::Simple(name) => (schema_name(name)?, None),
        SchemaName::UnnamedAuthorization(owner) => (name_of(owner), Some(owner)),
        SchemaName::NamedAuthorization(name, owner) => (schema_name(name)?, Some(owner)),
    };
    if let Some(owner) = owner {
        check_owner(owner, user)?;
    }
    if has_schema(tx.view(), &name)? || is_of_catalogue(&name) {
        let message = format!("schema \"{name}\" already exists");
        return match if_not_exists {
            true => {
                let message = message + ", skipping";
                Ok(skipped(WORD, code::DUPLICATE_SCHEMA, message))
            }
            false => Err(SqlError::new(code::DUPLICATE_SCHEMA, message)),
        };
    }
    check_name(&name)?;
    put(tx, &name)?;
    Ok(Complete::of(Tag::plain(WORD)))
}

/// Stores a schema, with a new number.
///
/// # Errors
/// The engine's errors.
pub(crate) fn put(tx: &mut dyn DefineTarget, name: &str) -> Result<(), SqlError> {
    let numbers = schemas(tx.view())?.into_iter();
    let last = numbers.filter_map(|(_, number)| number).max();
    let schema = SchemaObject {
        number: last.map_or(0, |last| last + 1),
    };
    put_object(tx, kind::SCHEMA, name, &printed(&schema)?)
}

/// Checks that the owner may define tables: schemas have no owners.
fn check_owner(owner: &Ident, owners: Owners<'_>) -> Result<(), SqlError> {
    let name = name_of(owner);
    let is_user = owner.quote_style.is_none()
        && ["current_user", "current_role", "session_user"].contains(&&*name);
    match is_user || owners.may_own(&name) {
        true => Ok(()),
        false => Err(owners.refused(&name, "Schemas")),
    }
}

/// Checks that the name of a new schema is allowed.
pub(crate) fn check_name(name: &str) -> Result<(), SqlError> {
    if name.starts_with("pg_") {
        return Err(SqlError::new(
            code::RESERVED_NAME,
            format!("unacceptable schema name \"{name}\""),
        )
        .detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    // Its tables would be stored as the database's own tables are.
    let is_own = OWN.trim_end_matches('.') == name || name == "sardonyx" || name.is_empty();
    if is_own {
        return Err(SqlError::new(
            code::RESERVED_NAME,
            format!("the name \"{name}\" is one of the database's own"),
        ));
    }
    if name.contains('.') {
        return Err(SqlError::unsupported(format!(
            "a schema's name with a point is not supported: \"{name}\""
        )));
    }
    match name.len() > NAME_BYTES_MAX {
        true => Err(SqlError::new(
            code::PROGRAM_LIMIT,
            format!("a schema's name has at most {NAME_BYTES_MAX} bytes"),
        )),
        false => Ok(()),
    }
}

/// The contents of a schema.
struct Contents {
    relations: Vec<Relation>,
    views: Vec<String>,
    /// The sequences that belong to no column of the schema's tables.
    sequences: Vec<String>,
    types: Vec<String>,
}

impl Contents {
    fn of(tx: &dyn DefineTarget, schema: &str) -> Result<Contents, SqlError> {
        let source = tx.view();
        let is_in = |name: &String| schema_of(name) == schema;
        let mut of_tables = relations(source)?;
        of_tables.retain(|relation| is_in(&relation.name));
        let is_owned = |name: &String| {
            let mut columns = of_tables.iter().flat_map(|relation| &relation.columns);
            columns.any(|column| column.sequences().any(|there| there == name))
        };
        let sequences = objects(source, kind::SEQUENCE)?.into_iter();
        let sequences = sequences.map(|(name, _)| name);
        Ok(Contents {
            sequences: sequences
                .filter(|name| is_in(name) && !is_owned(name))
                .collect(),
            views: views(source)?
                .into_iter()
                .map(|(name, _)| name)
                .filter(is_in)
                .collect(),
            relations: of_tables,
            types: super::type_names::in_schema(tx, schema)?,
        })
    }

    /// The objects that prevent dropping the schema: its contents, and the objects that depend on them.
    fn dependencies(&self, tx: &dyn DefineTarget, schema: &str) -> Result<Vec<String>, SqlError> {
        let others = relations(tx.view())?;
        let others = others.iter().filter(|other| other.schema_name() != schema);
        let keys = others.flat_map(|other| {
            let keys = other.schema.foreign_keys.iter();
            keys.map(move |key| (other, key))
        });
        let keys: Vec<_> = keys.collect();
        let mut depend = Vec::new();
        for (at, what) in self.shown().iter().enumerate() {
            depend.push(format!("{what} depends on schema {schema}"));
            let Some(relation) = self.relations.get(at) else {
                continue;
            };
            for (other, key) in keys.iter().filter(|(_, key)| key.table == relation.number) {
                depend.push(format!(
                    "constraint {} on table {} depends on table {}",
                    key.name,
                    written(&other.name),
                    written(&relation.name)
                ));
            }
        }
        Ok(depend)
    }

    /// The descriptions of the contents in errors and notices: the tables first.
    fn shown(&self) -> Vec<String> {
        let tables = self.relations.iter();
        let tables = tables.map(|relation| format!("table {}", written(&relation.name)));
        let sequences = self.sequences.iter();
        let sequences = sequences.map(|name| format!("sequence {}", written(name)));
        let views = self.views.iter();
        let views = views.map(|name| format!("view {}", written(name)));
        let types = self.types.iter();
        let types = types.map(|name| format!("type {}", written(name)));
        tables.chain(sequences).chain(views).chain(types).collect()
    }
}

/// Runs `DROP SCHEMA`.
///
/// # Errors
/// `3F000` if the schema does not exist; `2BP01` without `CASCADE` if it is not empty, and for `public`. `42501` if one
/// of its tables may not be dropped; `0A000` if it holds temporary tables of another session.
pub(super) fn drop(
    tx: &mut dyn DefineTarget,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    const WORD: &str = "DROP SCHEMA";
    let mut complete = Complete::of(Tag::plain(WORD));
    for name in names {
        let name = schema_name(name)?;
        if is_of_catalogue(&name) || name == PUBLIC {
            return Err(SqlError::new(
                code::DEPENDENT_OBJECTS,
                format!("cannot drop schema {name} because it is required by the database system"),
            ));
        }
        if name == crate::keyspace::SCHEMA {
            return Err(of_keyspace());
        }
        rights.path().check_own_schema(&name)?;
        if !has_schema(tx.view(), &name)? {
            if !if_exists {
                return Err(unknown_schema(&name));
            }
            let message = format!("schema \"{name}\" does not exist, skipping");
            complete
                .notices
                .extend(skipped(WORD, "00000", message).notices);
            continue;
        }
        complete
            .notices
            .extend(drop_schema(tx, &name, cascade, rights)?);
    }
    Ok(complete)
}

/// Drops a schema with its contents, if that is allowed. Returns the notice for the client.
///
/// # Errors
/// Errors of [`drop`].
pub(crate) fn drop_schema(
    tx: &mut dyn DefineTarget,
    name: &str,
    cascade: bool,
    rights: &Rights,
) -> Result<Option<Notice>, SqlError> {
    let contents = Contents::of(tx, name)?;
    let shown = contents.shown();
    if !shown.is_empty() && !cascade {
        let depend = contents.dependencies(tx, name)?;
        return Err(SqlError::new(
            code::DEPENDENT_OBJECTS,
            format!("cannot drop schema {name} because other objects depend on it"),
        )
        .detail(depend.join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too."));
    }
    super::function::drop_of_schema(tx, name, cascade)?;
    for relation in &contents.relations {
        rights.check(&relation.name, Access::Define)?;
    }
    for view in &contents.views {
        rights.check(view, Access::Define)?;
        drop_one(tx, view)?;
    }
    drop_all(tx, contents.relations, true)?;
    for sequence in &contents.sequences {
        forget(tx, kind::SEQUENCE, sequence, &[])?;
        delete_object(tx, kind::SEQUENCE, sequence)?;
    }
    super::types::drop_types(tx, contents.types, true, rights)?;
    delete_object(tx, kind::COMMENT, &comment_of_schema(name))?;
    delete_object(tx, kind::SCHEMA, name)?;
    Ok(match shown.as_slice() {
        [] => None,
        [one] => Some(Notice::note("00000", format!("drop cascades to {one}"))),
        several => {
            let text = format!("drop cascades to {} other objects", several.len());
            Some(Notice::note("00000", text))
        }
    })
}

/// Runs `ALTER SCHEMA`.
///
/// # Errors
/// `3F000` if the schema does not exist; `42P06` if the new name is taken; `42501` if a table in it may not be changed.
/// `0A000` for operations other than renaming, for `public`, and for a schema of temporary tables.
pub(super) fn alter(
    tx: &mut dyn DefineTarget,
    alter: &AlterSchema,
    user: Owners<'_>,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    const WORD: &str = "ALTER SCHEMA";
    let AlterSchema {
        name,
        if_exists,
        operations,
    } = alter;
    refuse(WORD, &[(*if_exists, "IF EXISTS")])?;
    let name = schema_name(name)?;
    if name == crate::keyspace::SCHEMA {
        return Err(of_keyspace());
    }
    if !has_schema(tx.view(), &name)? {
        return Err(unknown_schema(&name));
    }
    for operation in operations {
        match operation {
            AlterSchemaOperation::Rename { name: to } => {
                rename(tx, &name, &schema_name(to)?, rights)?;
            }
            AlterSchemaOperation::OwnerTo {
                owner: Owner::Ident(owner),
            } => check_owner(owner, user)?,
            // This is the session's user.
            AlterSchemaOperation::OwnerTo { .. } => {}
            other => {
                return Err(SqlError::unsupported(format!(
                    "{WORD} with {other} is not supported"
                )));
            }
        }
    }
    Ok(Complete::of(Tag::plain(WORD)))
}

fn rename(
    tx: &mut dyn DefineTarget,
    from: &str,
    to: &str,
    rights: &Rights,
) -> Result<(), SqlError> {
    if from == PUBLIC {
        return Err(SqlError::unsupported(
            "the schema public cannot be renamed: its tables are named without one",
        ));
    }
    if is_temporary(from) {
        return Err(SqlError::unsupported(
            "a schema of temporary tables cannot be renamed",
        ));
    }
    if has_schema(tx.view(), to)? || is_of_catalogue(to) {
        let message = format!("schema \"{to}\" already exists");
        return Err(SqlError::new(code::DUPLICATE_SCHEMA, message));
    }
    check_name(to)?;
    let moved = |name: &String| kept(to, local(name));
    let is_in = |name: &String| schema_of(name) == from;
    // The privileges are checked for the old name and for the new one, so that renaming does not circumvent them.
    let check = |name: &String| {
        rights.check(name, Access::Define)?;
        rights.check(&moved(name), Access::Define)
    };
    for relation in relations(tx.view())? {
        let mut notes: TableNotes = relation.notes.clone();
        if is_in(&relation.name) {
            check(&relation.name)?;
            tx.rename_table(&relation.name, &moved(&relation.name))?;
            follow_table(tx, &relation.name, &moved(&relation.name))?;
            notes.table = moved(&relation.name);
        }
        let columns = notes.columns.values_mut();
        for sequence in
            columns.flat_map(|column| column.sequence.iter_mut().chain(&mut column.owned))
        {
            if is_in(sequence) {
                *sequence = moved(sequence);
            }
        }
        for column in notes.columns.values_mut() {
            let Some(text) = &mut column.default else {
                continue;
            };
            *text = renamed(text, |name| {
                Ok(match name_in(name) {
                    Ok((Some(schema), name)) if schema == from => {
                        Some(written_whole(&kept(to, &name)))
                    }
                    _ => None,
                })
            })?;
        }
        if notes != relation.notes {
            put_notes(tx, relation.number, &notes)?;
        }
    }
    for of in [kind::SEQUENCE, kind::VIEW, kind::COMMENT] {
        for (name, body) in objects(tx.view(), of)? {
            let new = match of == kind::COMMENT {
                false if is_in(&name) => {
                    check(&name)?;
                    moved(&name)
                }
                false => continue,
                true => match moved_comment(&name, from, to) {
                    Some(new) => new,
                    None => continue,
                },
            };
            delete_object(tx, of, &name)?;
            put_object(tx, of, &new, &body)?;
        }
    }
    super::type_names::rename_schema(tx, from, to)?;
    follow_schema(tx, from, to)?;
    let body = object(tx.view(), kind::SCHEMA, from)?;
    delete_object(tx, kind::SCHEMA, from)?;
    match body {
        Some(body) => put_object(tx, kind::SCHEMA, to, &body),
        None => put(tx, to),
    }
}

/// The name of the comment of a schema, or of an object in it, after the schema is renamed.
fn moved_comment(name: &str, from: &str, to: &str) -> Option<String> {
    if *name == comment_of_schema(from) {
        return Some(comment_of_schema(to));
    }
    let (of, rest) = name.split_once('\0')?;
    let (subject, column) = match rest.split_once('\0') {
        Some((subject, column)) => (subject, Some(column)),
        None => (rest, None),
    };
    let is_in = of != kind::SCHEMA && schema_of(subject) == from;
    is_in.then(|| crate::names::comment_name(of, &kept(to, local(subject)), column))
}
