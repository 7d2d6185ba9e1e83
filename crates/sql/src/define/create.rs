//! `CREATE TABLE`.

use super::columns::{
    Constraint, Declared, Deferral, check, check_primary, check_unique, declared, foreign,
    name_sequences,
};
use super::generated::generated_column;
use super::keys::key_columns;
use super::naming::{chosen, only_column};
use super::options::check_table;
use super::options::{is_unsaid, logged_all_the_same, skipped};
use super::reference::add_foreign;
use super::unread::check_unread;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::expression::{NamedColumn, declared_check};
use crate::names::{NAME_BYTES_MAX, name_of, name_of_primary};
use crate::on_commit::OnCommit;
use crate::path::{PUBLIC, beside, is_temporary, local, schema_of, split};
use crate::relation::{ROW_NUMBER, Relation, TableNotes, is_own, kind, printed, put_object};
use crate::result::{Complete, Tag};
use crate::rights::Rights;
use crate::schemas::is_there;
use crate::search_path::SearchPath;
use crate::sequences::Sequence;
use crate::types::SqlType;
use crate::user_types::{TypeNames, UserTypes};
use crate::values::zones::SessionZone;
use sardonyx::Error;
use sardonyx::schema::{
    self, DeclaredDefault, IntoSchema, KeyPart, Schema, SchemaBuilder, Type, Value,
};
use sardonyx_rows::TableError;
use sqlparser::ast::{self, CreateTable, ObjectName, TableConstraint};

/// Returns the stored name of a new object.
///
/// # Errors
/// Errors of [`SearchPath::new_name`]; `42P16` for a reserved name, `42710` for that of a type.
pub(super) fn new_name(
    tx: &dyn DefineTarget,
    name: &ObjectName,
    path: &SearchPath,
    temporary: bool,
) -> Result<String, SqlError> {
    let name = path.new_name(tx.view(), name, temporary)?;
    check_not_own(&name)?;
    check_unread(tx.view(), &name)?;
    check_no_type(tx, &name).map_err(|error| {
        error.hint(
            "A relation has an associated type of the same name, so you must use a name that doesn't conflict with any existing type.",
        )
    })?;
    Ok(name)
}

/// Refuses a table's name that a user-defined type has. In PostgreSQL, a table has a type of its name.
fn check_no_type(tx: &dyn DefineTarget, name: &str) -> Result<(), SqlError> {
    match UserTypes::of(tx.view())?.types.contains_key(name) {
        true => Err(SqlError::new(
            code::DUPLICATE_OBJECT,
            format!("type \"{}\" already exists", local(name)),
        )),
        false => Ok(()),
    }
}

fn check_not_own(name: &str) -> Result<(), SqlError> {
    match is_own(name) || is_own(local(name)) {
        true => Err(SqlError::new(
            code::INVALID_TABLE_DEFINITION,
            format!("the name \"{}\" is one of the database's own", local(name)),
        )),
        false => Ok(()),
    }
}

/// True if a table, view, index or sequence is stored under a name. In `public`, a name with a point may be older than
/// schemas.
///
/// # Errors
/// Read errors.
pub(super) fn is_taken(tx: &dyn DefineTarget, name: &str) -> Result<bool, SqlError> {
    let source = tx.view();
    let is_old = |name: &str| match split(name) {
        (PUBLIC, local) if local != name => is_there(source, local),
        _ => Ok(false),
    };
    Ok(is_there(source, name)? || is_old(name)?)
}

/// Refuses a name that PostgreSQL cuts off.
pub(super) fn check_length(name: &str) -> Result<(), SqlError> {
    if local(name).len() > NAME_BYTES_MAX {
        return Err(SqlError::new(
            code::NAME_TOO_LONG,
            format!(
                "the name \"{}\" is longer than {NAME_BYTES_MAX} bytes",
                local(name)
            ),
        ));
    }
    Ok(())
}

/// Checks that the name of a new table is allowed.
///
/// # Errors
/// `42P16` if it is reserved, `42P07` and `42710` if it is taken, `42622` if it is longer than PostgreSQL's.
pub(crate) fn check_new_name(tx: &dyn DefineTarget, name: &str) -> Result<(), SqlError> {
    check_length(name)?;
    match is_taken(tx, name)? {
        true => Err(exists(name)),
        false => {
            check_not_own(name)?;
            check_unread(tx.view(), name)?;
            check_no_type(tx, name)
        }
    }
}

/// The error of a name that is taken.
pub(super) fn exists(name: &str) -> SqlError {
    SqlError::new(
        code::DUPLICATE_TABLE,
        format!("relation \"{}\" already exists", local(name)),
    )
}

/// Runs `CREATE TABLE`.
///
/// # Errors
/// Invalid SQL; the engine's errors.
pub(super) fn table(
    tx: &mut dyn DefineTarget,
    create: &CreateTable,
    rights: &Rights,
) -> Result<Complete, SqlError> {
    const WORD: &str = "CREATE TABLE";
    check_table(create)?;
    let path = rights.path();
    let name = new_name(tx, &create.name, path, create.temporary)?;
    let on_commit = OnCommit::of(create.on_commit.as_ref());
    if create.on_commit.is_some() && !is_temporary(schema_of(&name)) {
        return Err(SqlError::new(
            code::INVALID_TABLE_DEFINITION,
            "ON COMMIT can only be used on temporary tables",
        ));
    }
    check_length(&name)?;
    if is_taken(tx, &name)? {
        return match create.if_not_exists {
            true => {
                let message = format!("relation \"{}\" already exists, skipping", local(&name));
                Ok(skipped(WORD, code::DUPLICATE_TABLE, message))
            }
            false => Err(exists(&name)),
        };
    }
    let like = super::like::with_columns(tx, create, rights)?;
    let (create, models) = match &like {
        Some((create, models)) => (create, models.as_slice()),
        None => (create, &[][..]),
    };
    let mut columns = Vec::with_capacity(create.columns.len());
    let names = TypeNames::of(tx.view(), path)?;
    for column in &create.columns {
        if is_unsaid(&column.data_type) {
            return Err(SqlError::syntax(format!(
                "column \"{}\" has no type",
                name_of(&column.name)
            )));
        }
        let mut column = declared(column, &names)?;
        name_sequences(tx.view(), path, &name, &mut column.notes.default)?;
        columns.push(column);
    }
    let mut constraints: Vec<Constraint> = Vec::new();
    for column in &mut columns {
        constraints.append(&mut column.constraints);
    }
    for constraint in &create.constraints {
        constraints.push(constraint_of(constraint)?);
    }
    super::checks::inline(tx.view(), path, (&mut columns, &mut constraints))?;
    let mut notes = TableNotes {
        table: name.clone(),
        on_commit,
        ..TableNotes::default()
    };
    let schema = engine_schema(
        tx,
        (&name, path.zone()),
        &mut columns,
        &constraints,
        &mut notes,
    )?;
    let schema = schema.into_schema(&name, &|_| None);
    let schema = schema.map_err(|source| {
        Error::from(TableError::Schema {
            table: name.clone(),
            source: Box::new(source),
        })
    })?;
    let number = tx.create_table(&name, schema)?;
    generate(tx, (number, &name), &mut columns, path.zone())?;
    for (place, column) in columns.iter_mut().enumerate() {
        add_sequence(tx, &name, column)?;
        notes.columns.insert(place, column.notes.clone());
    }
    let domains = columns.iter().enumerate();
    let domains = domains.filter_map(|(place, column)| Some((place, column.notes.domain?)));
    let domains: Vec<(usize, u32)> = domains.collect();
    put_notes(tx, number, &notes)?;
    for (place, domain) in domains {
        super::domains::apply(tx, number, place, domain)?;
    }
    for constraint in &constraints {
        if let Constraint::Foreign { .. } = constraint {
            add_foreign(tx, &name, (constraint, true), path)?;
        }
    }
    super::like::finish(tx, number, models)?;
    let notice = create.unlogged.then(logged_all_the_same);
    Ok(Complete::of(Tag::plain(WORD)).with_notice(notice))
}

/// Declares the generated columns of a new table.
fn generate(
    tx: &mut dyn DefineTarget,
    (number, table): (u16, &str),
    columns: &mut [Declared],
    zone: Option<&SessionZone>,
) -> Result<(), SqlError> {
    let mut generated = Vec::new();
    let named = columns.iter().enumerate();
    let named: Vec<NamedColumn<'_>> = named
        .map(|(number, column)| NamedColumn {
            number,
            name: &column.name,
            spec: column.spec,
        })
        .collect();
    let is_generated = |column: usize| columns[column].generated.is_some();
    for (place, column) in columns.iter().enumerate() {
        let Some(expression) = &column.generated else {
            continue;
        };
        let made = generated_column(table, &named, column, expression, &is_generated, zone)?;
        generated.push(schema::Declared {
            kind: made.declared,
            modifier: made.modifier,
            default: Some(DeclaredDefault::Generated(made.expression)),
            ..schema::Declared::of(place)
        });
    }
    if generated.is_empty() {
        return Ok(());
    }
    drop(named);
    for column in columns {
        column.notes.not_null |= column.not_null && column.generated.is_some();
    }
    Ok(tx.declare_columns(number, generated)?)
}

/// Creates the sequence of a column, if it has one.
pub(super) fn add_sequence(
    tx: &mut dyn DefineTarget,
    table: &str,
    column: &mut Declared,
) -> Result<(), SqlError> {
    if let Some(sequence) = &column.sequence {
        column.notes.sequence = Some(match &column.notes.sequence {
            Some(name) => super::identity::add_named(tx, table, name, sequence)?,
            None => add_sequence_of(tx, table, &column.name, sequence)?,
        });
    }
    Ok(())
}

/// Creates a sequence for a column. Returns its name.
pub(super) fn add_sequence_of(
    tx: &mut dyn DefineTarget,
    table: &str,
    column: &str,
    sequence: &Sequence,
) -> Result<String, SqlError> {
    tx.check_sequences()?;
    let name = free_name(tx, table, &[column], "seq", &[])?;
    let name = beside(table, &name);
    put_object(tx, kind::SEQUENCE, &name, &printed(sequence)?)?;
    Ok(name)
}

/// A name made of a table and its columns that is not taken in the table's schema.
pub(super) fn free_name(
    tx: &dyn DefineTarget,
    table: &str,
    columns: &[&str],
    suffix: &str,
    taken: &[String],
) -> Result<String, SqlError> {
    let mut failed = None;
    let name = chosen(None, local(table), columns, suffix, |name| {
        taken.iter().any(|there| there == name)
            || is_taken(tx, &beside(table, name)).unwrap_or_else(|error| {
                failed = Some(error);
                false
            })
    });
    failed.map_or(Ok(name), Err)
}

/// The name of an index that a constraint has: the given one, or one that is not taken.
///
/// # Errors
/// `42P07` if the given one is taken; read errors.
pub(super) fn name_of_key(
    tx: &dyn DefineTarget,
    table: &str,
    given: Option<&String>,
    (columns, suffix): (&[&str], &str),
    taken: &[String],
) -> Result<String, SqlError> {
    let Some(given) = given else {
        return free_name(tx, table, columns, suffix, taken);
    };
    let name = beside(table, given);
    match name == table || taken.contains(given) || is_taken(tx, &name)? {
        true => Err(exists(&name)),
        false => Ok(given.clone()),
    }
}

/// Converts a constraint from its syntax.
///
/// # Errors
/// `0A000` for options that are not supported.
pub(super) fn constraint_of(constraint: &TableConstraint) -> Result<Constraint, SqlError> {
    let name = |name: &Option<ast::Ident>| name.as_ref().map(name_of);
    Ok(match constraint {
        TableConstraint::PrimaryKey(key) => {
            let deferral = check_primary(key)?;
            Constraint::Primary {
                deferral,
                name: name(&key.name),
                columns: key_columns(&key.columns)?,
            }
        }
        TableConstraint::Unique(key) => {
            let deferral = check_unique(key)?;
            Constraint::Unique {
                deferral,
                name: name(&key.name),
                columns: key_columns(&key.columns)?,
            }
        }
        TableConstraint::ForeignKey(key) => {
            foreign(key, None, key.columns.iter().map(name_of).collect())?
        }
        TableConstraint::Check(condition) => check(condition, None)?,
        other => {
            return Err(SqlError::unsupported(format!(
                "the constraint {other} is not supported"
            )));
        }
    })
}

/// The engine's schema of a table.
fn engine_schema(
    tx: &dyn DefineTarget,
    (table, zone): (&str, Option<&SessionZone>),
    columns: &mut [Declared],
    constraints: &[Constraint],
    notes: &mut TableNotes,
) -> Result<SchemaBuilder, SqlError> {
    let mut primary = None;
    for constraint in constraints {
        if let Constraint::Primary {
            name,
            columns: key,
            deferral,
        } = constraint
        {
            if primary.replace((key, *deferral)).is_some() {
                return Err(SqlError::new(
                    code::INVALID_TABLE_DEFINITION,
                    format!(
                        "multiple primary keys for table \"{}\" are not allowed",
                        local(table)
                    ),
                ));
            }
            if !deferral.deferrable {
                let name = name_of_key(tx, table, name.as_ref(), (&[], "pkey"), &[])?;
                // A name that is not noted is this one.
                let is_usual = name == name_of_primary(local(table));
                notes.primary_name = (!is_usual).then_some(name);
            }
        }
    }
    for (name, _) in primary.into_iter().flat_map(|(key, _)| key) {
        let column = columns.iter_mut().find(|column| column.name == *name);
        let column = column.ok_or_else(|| unknown_in_key(name))?;
        check_in_key(name, column.spec.kind)?;
        if column.generated.is_some() {
            return Err(SqlError::unsupported(
                "a primary key with a generated column is not supported: make it UNIQUE and NOT NULL",
            ));
        }
        column.not_null = true;
    }
    let mut schema = Schema::new();
    for column in columns.iter() {
        if column.name == ROW_NUMBER {
            return Err(SqlError::new(
                code::INVALID_TABLE_DEFINITION,
                format!("the name \"{ROW_NUMBER}\" is one of the database's own"),
            ));
        }
        schema = schema.column(&column.name, column.spec.stored());
        // A generated column is null until the row is complete.
        if !column.not_null || column.generated.is_some() {
            schema = schema.nullable();
        }
        if column.default != Value::Null {
            schema = schema.default_value(column.default.clone());
        }
    }
    match primary.filter(|(_, deferral)| !deferral.deferrable) {
        Some((key, _)) => {
            let key: Vec<String> = key.iter().map(key_text).collect();
            schema = schema.primary_key(key.iter().map(String::as_str)).ordered();
        }
        None => {
            notes.hidden_key = true;
            schema = schema
                .column(ROW_NUMBER, Type::U64)
                .primary_key([ROW_NUMBER])
                .ordered();
        }
    }
    let mut taken: Vec<String> = notes.primary_name.iter().cloned().collect();
    let primaries = primary.into_iter().map(|(key, _)| (key, false));
    let mut keys: Vec<(&Vec<(String, bool)>, bool)> = primaries.collect();
    for constraint in constraints {
        match constraint {
            // An unnamed constraint that duplicates another one.
            Constraint::Unique {
                name: None,
                columns,
                deferral,
            } if keys.contains(&(columns, deferral.nulls_equal)) => {}
            // The table's key is a number that is hidden.
            Constraint::Primary {
                name,
                columns: key,
                deferral,
            } if deferral.deferrable => {
                tx.check_deferrable_keys()?;
                let name = name_of_key(tx, table, name.as_ref(), (&[], "pkey"), &taken)?;
                taken.push(name.clone());
                schema = with_key(schema, &name, key, *deferral);
                notes.references.insert(name.clone(), deferral.notes());
                notes.primary_index = Some(name);
            }
            Constraint::Unique {
                name,
                columns: key,
                deferral,
            } => {
                keys.push((key, deferral.nulls_equal));
                for (name, _) in key {
                    let column = columns.iter().find(|column| column.name == *name);
                    let column = column.ok_or_else(|| unknown_in_key(name))?;
                    check_in_key(name, column.spec.kind)?;
                }
                let parts: Vec<&str> = key.iter().map(|(name, _)| name.as_str()).collect();
                let name = name_of_key(tx, table, name.as_ref(), (&parts, "key"), &taken)?;
                taken.push(name.clone());
                schema = with_key(schema, &name, key, *deferral);
                if deferral.deferrable {
                    tx.check_deferrable_keys()?;
                    notes.references.insert(name.clone(), deferral.notes());
                }
                notes.constraints.push(name);
            }
            Constraint::Check { name, condition } => {
                let known: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
                let column = only_column(&condition.to_string(), &known);
                let of = local(table);
                let name = chosen(name.as_ref(), of, column.as_slice(), "check", |name| {
                    taken.iter().any(|there| there == name)
                });
                taken.push(name.clone());
                let named = columns
                    .iter()
                    .enumerate()
                    .map(|(number, column)| NamedColumn {
                        number,
                        name: &column.name,
                        spec: column.spec,
                    });
                let named: Vec<_> = named.collect();
                // Other errors are reported when the table is created.
                let rows = schema.clone().build().unwrap_or_default();
                let condition = declared_check(condition, table, &named, &rows, zone)?;
                schema = schema.check(&name, &condition);
            }
            Constraint::Primary { .. } | Constraint::Foreign { .. } => {}
        }
    }
    Ok(schema)
}

/// A schema with the index of a unique key.
fn with_key(
    schema: SchemaBuilder,
    name: &str,
    key: &[(String, bool)],
    deferral: Deferral,
) -> SchemaBuilder {
    let key: Vec<String> = key.iter().map(key_text).collect();
    let schema = schema.index(name, key.iter().map(String::as_str)).ordered();
    let schema = match deferral.deferrable {
        true => schema.deferrable(),
        false => schema.unique(),
    };
    match deferral.nulls_equal {
        true => schema.nulls_equal(),
        false => schema,
    }
}

/// Checks that columns of a type can be found by an index. Arrays, JSON and intervals are texts in the engine, which
/// would order them as texts.
pub(super) fn check_in_key(name: &str, kind: SqlType) -> Result<(), SqlError> {
    match kind.has_keys() || kind == SqlType::Json {
        true => Err(SqlError::unsupported(format!(
            "an index or key with column \"{name}\" of type {} is not supported",
            kind.name()
        ))),
        false => Ok(()),
    }
}

fn unknown_in_key(name: &str) -> SqlError {
    SqlError::new(
        code::UNKNOWN_COLUMN,
        format!("column \"{name}\" named in key does not exist"),
    )
}

/// A column of a key, in the syntax of the engine's schemas.
fn key_text((name, descending): &(String, bool)) -> String {
    match descending {
        true => format!("{name} desc"),
        false => name.clone(),
    }
}

/// The key parts of columns, given by name.
pub(super) fn key_parts(
    relation: &Relation,
    columns: &[(String, bool)],
) -> Result<Vec<KeyPart>, SqlError> {
    let mut key = Vec::with_capacity(columns.len());
    for (name, descending) in columns {
        let column = relation.column(name)?;
        check_in_key(name, column.spec.kind)?;
        key.push(KeyPart {
            column: column.number,
            descending: *descending,
        });
    }
    Ok(key)
}

/// The error of a constraint name that is taken.
pub(super) fn constraint_exists(name: &str, table: &str) -> SqlError {
    SqlError::new(
        code::DUPLICATE_OBJECT,
        format!(
            "constraint \"{name}\" for relation \"{}\" already exists",
            local(table)
        ),
    )
}
