//! Data definition: tables and indexes are created, altered, emptied and dropped in the engine's transactions.

mod alter;

mod alter_view;
mod built;
mod checks;
mod columns;
mod comment;
mod composite;
mod constraint;
mod create;
mod default;
mod dependents;
mod domains;
mod drop;
mod drop_column;
mod extension;
mod filled;
mod function;
mod generated;
mod granting;
mod identity;
mod index;
mod keys;
mod like;
mod listed_index;
mod made_of;
mod materialized;
mod naming;
mod numbered;
mod options;
mod procedure;
mod reference;
mod rename;
mod retype;
mod rewritten;
mod routines;
mod rule;
mod schema;
mod sequence;
mod sequences;
mod trigger;
mod type_names;
mod types;
mod unread;
mod validating;
mod validity;
mod view;

pub(crate) use built::{RowsWork, works_on_rows};
pub(crate) use create::check_new_name;
use create::new_name;
pub(crate) use drop::{drop_kept, empty};
use granting::Owners;
pub(crate) use index::IndexToMake;
pub(crate) use made_of::{
    Defined, begin as begin_with, computes_rows, fills_table, run as run_with,
};
pub(crate) use materialized::refreshed_table;
pub(crate) use rewritten::{NewRows, Rewritten};
pub(crate) use rule::Rule;
pub(crate) use schema::{check_name as check_schema_name, drop_schema};
pub(crate) use view::drop_broken;

use crate::database::Database;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::keyspace;
use crate::names::name_of;
use crate::path::beside;
use crate::plan::views::all_broken;
use crate::prepared::Prepared;
use crate::relation::{Relation, kind, object};
use crate::result::Complete;
use crate::rights::{Access, Rights};
use crate::search_path::SearchPath;
use crate::sequences::SequenceChanges;
use crate::source::Source;
use sqlparser::ast::{
    AlterTable, AlterTableOperation, ObjectName, ObjectNamePart, ObjectType, RenameTableNameKind,
    Statement,
};
use std::sync::Arc;

/// The tables that `TRUNCATE` names, as far as they are there.
pub(crate) fn emptied(source: &dyn Source, prepared: &Prepared) -> Vec<u16> {
    let Some(Statement::Truncate(truncate)) = prepared.statement() else {
        return Vec::new();
    };
    let rights = prepared.rights();
    let number_of = |name| {
        let name = rights.path().find(source, name).ok()?;
        let relation = Relation::named(source, &name).ok()?;
        Some(relation.number)
    };
    let tables = truncate.table_names.iter();
    tables.filter_map(|table| number_of(&table.name)).collect()
}

/// Runs a data definition statement of a user. `with` is there if it computes values of rows ([`computes_rows`]).
///
/// # Errors
/// Invalid SQL; the engine's errors.
pub(crate) fn run(
    tx: &mut dyn DefineTarget,
    database: &Arc<Database>,
    prepared: &Prepared,
    sequences: &mut SequenceChanges,
    (user, with): (&str, Option<&Environment<'_>>),
) -> Result<Complete, SqlError> {
    let users = database.users();
    let user = Owners {
        user,
        users: &users,
    };
    check(tx.view(), prepared)?;
    check_keyspace(tx.view(), database, prepared)?;
    if let Some(definition) = prepared.definition() {
        return procedure::create(tx, definition, &prepared.rights());
    }
    if let Some(comment) = prepared.comment() {
        return comment::run(tx, comment, &prepared.rights());
    }
    let before = all_broken(tx.view())?;
    if let Some(command) = prepared.type_command() {
        let rights = prepared.rights();
        let mut complete = types::change(tx, command, user, &rights)?;
        view::keep_whole(tx, (command.cascades(), &before), &mut complete)?;
        return Ok(complete);
    }
    if let Some(command) = prepared.sequence_command() {
        let rights = prepared.rights();
        let mut complete = sequences::run(tx, database, command, sequences, (user, &rights))?;
        view::keep_whole(tx, (false, &before), &mut complete)?;
        sequences.note_stored(database.counters(), tx.view())?;
        return Ok(complete);
    }
    if let Some(command) = prepared.rights_command() {
        return granting::run(tx.view(), database, command, user, &prepared.rights());
    }
    let Some(statement) = prepared.statement() else {
        return Err(SqlError::syntax("there is nothing to define"));
    };
    let rights = prepared.rights();
    let path = rights.path();
    if prepared.makes_temporary() {
        check_temporary(tx, database, path)?;
    }
    let mut complete = match statement {
        Statement::DropProcedure {
            if_exists,
            proc_desc,
            ..
        } => procedure::drop(tx, proc_desc, *if_exists)?,
        Statement::CreateFunction(create) => function::create(tx, create, (user, &rights))?,
        Statement::AlterFunction(alter) => procedure::alter(tx, alter, user, &rights)?,
        Statement::DropFunction(drop) => function::drop_functions(tx, drop, user, &rights)?,
        Statement::CreateTrigger(create) => trigger::create(tx, create, &rights)?,
        Statement::DropTrigger(drop) => trigger::drop_trigger(tx, drop, &rights)?,
        Statement::CreateTable(create) => create::table(tx, create, &rights)?,
        Statement::CreateView(create) => view::create(tx, create, &rights)?,
        Statement::CreateIndex(create) => index::index(tx, create, path)?,
        Statement::CreateSequence {
            temporary,
            if_not_exists,
            name,
            sequence_options,
        } => {
            let name = new_name(tx, name, path, *temporary)?;
            sequences::create(tx, &name, *if_not_exists, sequence_options, &rights)?
        }
        Statement::AlterTable(alter) => {
            let by = (user, &*rights);
            match alter_view::table(tx, database, alter, sequences, by)? {
                Some(complete) => complete,
                None => alter::table(tx, alter, (user, path), with)?,
            }
        }
        Statement::AlterView(alter) => alter_view::view(tx, alter, (user, &rights))?,
        Statement::Truncate(truncate) => drop::truncate(tx, truncate, sequences, &rights)?,
        Statement::Drop {
            object_type,
            if_exists,
            names,
            cascade,
            ..
        } => match object_type {
            ObjectType::Table | ObjectType::MaterializedView => {
                let is_materialized = *object_type == ObjectType::MaterializedView;
                drop::tables(tx, names, (*if_exists, *cascade), is_materialized, path)?
            }
            ObjectType::Index => drop::indexes(tx, names, *if_exists, &rights)?,
            ObjectType::Sequence => drop::sequences(tx, names, (*if_exists, *cascade), path)?,
            ObjectType::View => view::drop(tx, names, *if_exists, path)?,
            ObjectType::Type => types::drop(tx, names, (*if_exists, *cascade), &rights)?,
            ObjectType::Schema => schema::drop(tx, names, *if_exists, *cascade, &rights)?,
            ObjectType::Database => return Err(one_database()),
            other => {
                return Err(SqlError::unsupported(format!(
                    "DROP {other} is not supported"
                )));
            }
        },
        Statement::CreateType {
            name,
            representation,
        } => types::create(tx, name, representation.as_ref(), path)?,
        Statement::AlterType(alter) => types::alter(tx, alter, path)?,
        Statement::AlterIndex { name, operation } => rename::index(tx, name, operation, &rights)?,
        Statement::CreateExtension(create) => extension::create(tx, create)?,
        Statement::DropExtension(drop) => extension::drop(tx, drop)?,
        Statement::CreateSchema { .. } => schema::create(tx, statement, user)?,
        Statement::AlterSchema(alter) => schema::alter(tx, alter, user, &rights)?,
        Statement::CreateDatabase { .. } => return Err(one_database()),
        // Alone in its text it is no definition.
        Statement::Vacuum(_) => {
            return Err(SqlError::new(
                code::ACTIVE_TRANSACTION,
                "VACUUM cannot run inside a transaction block",
            ));
        }
        _ => {
            return Err(SqlError::unsupported(format!(
                "{} is not supported",
                crate::position::excerpt(&statement.to_string())
            )));
        }
    };
    let cascade = matches!(statement, Statement::Drop { cascade: true, .. });
    view::keep_whole(tx, (cascade, &before), &mut complete)?;
    sequences.note_stored(database.counters(), tx.view())?;
    Ok(complete)
}

/// That a server has one database, and what to do for tests.
fn one_database() -> SqlError {
    SqlError::unsupported(
        "CREATE DATABASE and DROP DATABASE are not supported: a server has one database, under every name",
    )
    .hint(
        "For tests, start another server (sardonyx serve DIRECTORY), and let them use the database that is there \
         (Django: TEST = {\"NAME\": \"sardonyx\"}, and manage.py test --keepdb).",
    )
}

/// Checks that the session may change the tables and views that a statement names. A statement that names none needs
/// the privilege to define elsewhere (`Rights::elsewhere`).
///
/// # Errors
/// `42501` if it may not.
fn check(source: &dyn Source, prepared: &Prepared) -> Result<(), SqlError> {
    let rights = prepared.rights();
    if let Some(comment) = prepared.comment() {
        // The table of an index is checked when it is found.
        return match comment.relation() {
            Some(name) => rights.check(&rights.path().find(source, name)?, Access::Define),
            None if comment.is_of_index() || rights.elsewhere() >= Access::Define => Ok(()),
            None => Err(may_not_define()),
        };
    }
    if prepared.sequence_command().is_some() {
        // The rights are those for the table that has the sequence, which is found later.
        return Ok(());
    }
    let names: Vec<&ObjectName> = match prepared.statement() {
        Some(Statement::AlterTable(alter)) => {
            let table = rights.path().find(source, &alter.name)?;
            let mut new = renamed(alter, &table);
            new.try_for_each(|name| rights.check(&name, Access::Define))?;
            vec![&alter.name]
        }
        Some(Statement::CreateIndex(create)) => vec![&create.table_name],
        Some(Statement::CreateTrigger(create)) => vec![&create.table_name],
        Some(Statement::DropTrigger(drop)) => drop.table_name.iter().collect(),
        Some(Statement::AlterView(alter)) => vec![&alter.name],
        Some(Statement::Truncate(truncate)) => {
            let tables = truncate.table_names.iter();
            tables.map(|table| &table.name).collect()
        }
        Some(Statement::Drop {
            object_type: ObjectType::Table | ObjectType::View | ObjectType::MaterializedView,
            names,
            ..
        }) => names.iter().collect(),
        // Temporary objects belong to the session.
        Some(Statement::CreateTable(_) | Statement::CreateView(_))
            if prepared.makes_temporary() =>
        {
            return match rights.most() >= Access::Define {
                true => Ok(()),
                false => Err(may_not_define()),
            };
        }
        Some(Statement::CreateTable(create)) => return check_new(source, &rights, &create.name),
        Some(Statement::CreateView(create)) => return check_new(source, &rights, &create.name),
        // The tables of the indexes are checked when they are found.
        Some(
            Statement::Drop {
                object_type: ObjectType::Index,
                ..
            }
            | Statement::AlterIndex { .. },
        ) => Vec::new(),
        _ if rights.elsewhere() >= Access::Define => Vec::new(),
        _ => return Err(may_not_define()),
    };
    for name in names {
        let name = rights.path().find(source, name)?;
        keyspace::check_right(source, &rights, &name, Access::Define)?;
    }
    Ok(())
}

/// Creates the session's schema of temporary tables, if it does not exist.
///
/// # Errors
/// `0A000` on a node; the engine's errors.
fn check_temporary(
    tx: &mut dyn DefineTarget,
    database: &Database,
    path: &SearchPath,
) -> Result<(), SqlError> {
    database.tables_in_memory("temporary tables")?;
    let Some(schema) = path.temporary() else {
        return Err(SqlError::unsupported(
            "temporary tables are of sessions: there is none here",
        ));
    };
    match object(tx.view(), kind::SCHEMA, schema)? {
        Some(_) => Ok(()),
        None => schema::put(tx, schema),
    }
}

/// Checks that the session may create an object of a name.
fn check_new(source: &dyn Source, rights: &Rights, name: &ObjectName) -> Result<(), SqlError> {
    let name = rights.path().new_name(source, name, false)?;
    rights.check(&name, Access::Define)
}

fn may_not_define() -> SqlError {
    SqlError::new(
        code::INSUFFICIENT_PRIVILEGE,
        "permission denied: the user may not define this",
    )
}

/// Checks that the statement does not change, drop or create a table of the Redis keys.
///
/// # Errors
/// `42501` if it does.
fn check_keyspace(
    source: &dyn Source,
    database: &Database,
    prepared: &Prepared,
) -> Result<(), SqlError> {
    let rights = prepared.rights();
    let path = rights.path();
    let check = |name: &ObjectName| keyspace::check(source, &path.find(source, name)?);
    let check_new = |name: &ObjectName| {
        let name = path.new_name(source, name, false);
        name.map_or(Ok(()), |name| keyspace::check(source, &name))
    };
    match prepared.statement() {
        Some(Statement::AlterTable(alter)) => {
            let table = path.find(source, &alter.name)?;
            keyspace::check_alter(source, &table, &alter.operations)?;
            renamed(alter, &table).try_for_each(|name| keyspace::check(source, &name))
        }
        Some(Statement::CreateIndex(create)) => check(&create.table_name),
        Some(Statement::CreateTrigger(create)) => check(&create.table_name),
        Some(Statement::CreateTable(create)) if !create.if_not_exists => check_new(&create.name),
        Some(Statement::CreateView(create)) => check_new(&create.name),
        Some(Statement::Truncate(truncate)) => truncate
            .table_names
            .iter()
            .try_for_each(|table| check(&table.name)),
        // If the keyspace is not served, its tables may be dropped as a whole.
        Some(Statement::Drop {
            object_type: ObjectType::Table,
            names,
            ..
        }) if database.has_keyspace() => names.iter().try_for_each(check),
        _ => Ok(()),
    }
}

/// The stored names that `ALTER TABLE` gives its table: each in the table's schema.
fn renamed(alter: &AlterTable, table: &str) -> impl Iterator<Item = String> {
    let operations = alter.operations.iter();
    operations.filter_map(move |operation| match operation {
        AlterTableOperation::RenameTable {
            table_name: RenameTableNameKind::As(to) | RenameTableNameKind::To(to),
        } => match to.0.last() {
            Some(ObjectNamePart::Identifier(word)) => Some(beside(table, &name_of(word))),
            _ => None,
        },
        _ => None,
    })
}
