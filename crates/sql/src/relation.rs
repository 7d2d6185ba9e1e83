//! Tables as SQL sees them: the engine's schema, and the properties that it does not have, in a table of SQL's own.
//!
//! Objects ([`objects`]) keep them as [`notes`]: lengths of `varchar`, the zone of a time, computed defaults, a hidden key,
//! and `NOT NULL` of columns that the engine declares with nulls.

mod notes;
mod objects;

pub(crate) use notes::{
    ColumnNotes, ListedIndex, ListedOf, ListedPart, ReferenceNotes, StatementEvents, TableNotes,
    TriggerNotes, UpdateAction,
};
pub(crate) use objects::{
    BODY, BY_KIND, OBJECTS, delete_object, kind, object, objects, parsed, printed, put_object,
};
use objects::{finds_kinds, objects_with};

use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::names::{COMMENT_OF_PUBLIC, NAME_BYTES_MAX, comment_name, name_of_primary};
use crate::path::{OF_KEYS, PUBLIC, beside, local, schema_of, split, written};
use crate::source::Source;
use crate::types::{Collation, EnumType, NamedCollation, SqlType, TypeSpec};
use crate::user_types::{UserTypes, is_of_user};
use crate::values::cast::stored;
use sardonyx::schema::{DeclaredDefault, Schema, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The prefix of the names of SQL's own tables.
pub(crate) const OWN: &str = "sql.";
/// The column that numbers the rows of a table without a primary key. SQL does not show it.
pub const ROW_NUMBER: &str = "sql.row";

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub number: u16,
    /// The name under which the engine keeps it ([`crate::path`]).
    pub name: String,
    pub schema: Arc<Schema>,
    pub columns: Vec<RelationColumn>,
    pub notes: TableNotes,
    /// The number of rows when the statement was planned, if it is known.
    pub rows: Option<u64>,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub(crate) struct RelationColumn {
    pub name: String,
    /// Its number in the engine's schema.
    pub number: usize,
    pub spec: TypeSpec,
    pub stored: Type,
    pub not_null: bool,
    pub default: DefaultValue,
    pub identity: Option<char>,
    pub sequence: Option<String>,
    /// Other sequences that belong to it.
    pub owned: Vec<String>,
    /// True if its value is computed from the row's other columns.
    pub is_generated: bool,
    pub domain: Option<u32>,
}

impl RelationColumn {
    /// The sequences that belong to it.
    pub fn sequences(&self) -> impl Iterator<Item = &String> {
        self.sequence.iter().chain(&self.owned)
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum DefaultValue {
    Value(Value),
    /// An expression of SQL.
    Expression(String),
}

impl Relation {
    /// The table of a name.
    ///
    /// # Errors
    /// `42P01` if there is none.
    pub fn named(source: &dyn Source, name: &str) -> Result<Relation, SqlError> {
        let number = source.table_named(name);
        let number = number.filter(|_| !is_own(name));
        match number {
            Some(number) => Relation::numbered(source, number),
            None => Err(SqlError::unknown_table(name)),
        }
    }

    /// The table of a number.
    ///
    /// # Errors
    /// `42P01` if there is none.
    pub fn numbered(source: &dyn Source, number: u16) -> Result<Relation, SqlError> {
        let definition = source.definitions().get(usize::from(number));
        let (Some(definition), Some(schema)) = (definition, source.schema(number)) else {
            return Err(SqlError::unknown_table(&format!("number {number}")));
        };
        let notes = notes_of(source, number, &definition.name)?;
        let mut kinds = notes.columns.values();
        let types = match kinds.any(|noted| is_of_user(noted.kind)) {
            true => UserTypes::of(source)?,
            false => Arc::default(),
        };
        Relation::of(number, &definition.name, schema, notes, &types)
    }

    /// The table of a schema and its notes.
    fn of(
        number: u16,
        name: &str,
        schema: Arc<Schema>,
        notes: TableNotes,
        types: &UserTypes,
    ) -> Result<Relation, SqlError> {
        let mut kinds = BTreeMap::new();
        for noted in notes.columns.values() {
            if let Some(kind) = types.numbered(noted.kind) {
                kinds.insert(noted.kind, kind);
            }
        }
        let kind_of = |oid: u32| kinds.get(&oid).copied().or_else(|| SqlType::from_oid(oid));
        let columns = schema.live_columns();
        let columns = columns.filter(|(place, _)| !is_hidden(&schema, *place));
        let columns = columns.map(|(place, column)| {
            let noted = notes.columns.get(&place);
            // A program without SQL declares columns and has no notes.
            let declared = match noted {
                Some(_) => None,
                None => schema.declared(place),
            };
            let own = declared.map(|declared| ColumnNotes {
                kind: declared.kind,
                modifier: declared.modifier,
                not_null: declared.not_null,
                ..ColumnNotes::default()
            });
            let spec = noted.or(own.as_ref()).and_then(|noted| {
                let kind = kind_of(noted.kind)?;
                let modifier = noted.modifier;
                let name = noted.collation.as_deref().and_then(NamedCollation::named);
                let collation = Collation::of_column(name.unwrap_or_default());
                Some(TypeSpec::new(kind, modifier).with_collation(collation))
            });
            let default = noted.and_then(|noted| noted.default.clone());
            RelationColumn {
                name: column.name.clone(),
                number: place,
                spec: spec.unwrap_or_else(|| SqlType::of_stored(column.kind)),
                stored: column.kind,
                not_null: !column.is_nullable()
                    || noted.or(own.as_ref()).is_some_and(|noted| noted.not_null),
                default: match (default, declared.and_then(|own| own.default.as_ref())) {
                    // Its default was dropped. Otherwise a column of a domain has that of the domain.
                    (Some(text), _)
                        if text == "null" && noted.is_none_or(|noted| noted.domain.is_none()) =>
                    {
                        DefaultValue::Value(Value::Null)
                    }
                    (Some(text), _) => DefaultValue::Expression(text),
                    (None, Some(DeclaredDefault::Sql(text))) => {
                        DefaultValue::Expression(text.clone())
                    }
                    (None, Some(DeclaredDefault::Value(value))) => {
                        DefaultValue::Value(value.clone())
                    }
                    (None, _) => DefaultValue::Value(column.default.clone()),
                },
                identity: noted.and_then(|noted| noted.identity),
                domain: noted.and_then(|noted| noted.domain),
                sequence: noted.and_then(|noted| noted.sequence.clone()),
                owned: noted.map_or_else(Vec::new, |noted| noted.owned.clone()),
                is_generated: (schema.declared(place))
                    .is_some_and(|declared| declared.generated().is_some()),
            }
        });
        let mut columns: Vec<RelationColumn> = columns.collect();
        let place = |column: &RelationColumn| {
            let noted = notes.columns.get(&column.number);
            noted.and_then(|noted| noted.place).unwrap_or(column.number)
        };
        columns.sort_by_key(place);
        Ok(Relation {
            number,
            name: name.to_string(),
            columns,
            notes,
            schema,
            rows: None,
        })
    }

    /// The type of a column as SQL writes it: its domain, if it has one.
    ///
    /// # Errors
    /// An error of reading the tables.
    pub fn written_type(source: &dyn Source, column: &RelationColumn) -> Result<String, SqlError> {
        if let Some(oid) = column.domain
            && let Some((name, _)) = UserTypes::of(source)?.with_oid(oid)
        {
            return Ok(written(name));
        }
        Ok(column.spec.declared())
    }

    /// The enum types of its columns.
    pub fn enums(&self) -> Vec<EnumType> {
        let columns = self.columns.iter();
        columns
            .filter_map(|column| column.spec.kind.enum_type())
            .collect()
    }

    /// Its name in its schema.
    pub fn local(&self) -> &str {
        local(&self.name)
    }

    pub fn schema_name(&self) -> &str {
        schema_of(&self.name)
    }

    /// The notes of a foreign key, beside the engine's schema.
    pub fn reference_notes(&self, name: &str) -> ReferenceNotes {
        let notes = self.notes.references.get(name);
        notes.copied().unwrap_or_default()
    }

    /// The column of a name.
    ///
    /// # Errors
    /// `42703` if there is none.
    pub fn column(&self, name: &str) -> Result<&RelationColumn, SqlError> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| {
            SqlError::new(
                code::UNKNOWN_COLUMN,
                format!(
                    "column \"{name}\" of relation \"{}\" does not exist",
                    self.local()
                ),
            )
        })
    }

    /// The column of a number in the engine's schema.
    pub fn numbered_column(&self, number: usize) -> Option<&RelationColumn> {
        self.columns.iter().find(|column| column.number == number)
    }

    pub fn has_constraint(&self, name: &str) -> bool {
        let mut keys = self.schema.foreign_keys.iter();
        let mut checks = self.schema.checks.iter();
        keys.any(|key| key.name == name)
            || checks.any(|(check, _)| check == name)
            || self.notes.constraints.iter().any(|there| there == name)
            || self.primary_constraint().as_deref() == Some(name)
    }

    /// The name of the primary key's constraint, if the key is not hidden.
    pub fn primary_constraint(&self) -> Option<String> {
        match (&self.notes.primary_index, self.notes.hidden_key) {
            (Some(index), _) => Some(index.clone()),
            (None, true) => None,
            (None, false) => Some(
                self.notes
                    .primary_name
                    .clone()
                    .unwrap_or_else(|| name_of_primary(self.local())),
            ),
        }
    }

    /// The numbers of the primary key's columns, if the key is not hidden.
    pub fn primary_columns(&self) -> Vec<usize> {
        let of = |key: &[sardonyx::schema::KeyPart]| key.iter().map(|part| part.column).collect();
        match (&self.notes.primary_index, self.notes.hidden_key) {
            (Some(name), _) => {
                let mut indexes = self.schema.indexes.iter();
                let index = indexes.find(|index| index.name == *name);
                index.map_or_else(Vec::new, |index| of(&index.key))
            }
            (None, true) => Vec::new(),
            (None, false) => of(&self.schema.primary.key),
        }
    }
}

/// True if SQL does not show a column of a table: it numbers rows, or is an index's own.
pub fn is_hidden(schema: &Schema, column: usize) -> bool {
    let name = schema.columns.get(column).map(|column| &*column.name);
    name == Some(ROW_NUMBER) || schema.is_index_column(column)
}

/// True if a table is SQL's own or the engine's.
pub(crate) fn is_own(name: &str) -> bool {
    name.starts_with(OWN) || name.starts_with("sardonyx.") || name.starts_with('.')
}

fn notes_of(source: &dyn Source, number: u16, table: &str) -> Result<TableNotes, SqlError> {
    let body = object(source, kind::TABLE, &number.to_string())?;
    let notes: Option<TableNotes> = match body {
        Some(body) => Some(parsed(&body)?),
        None => None,
    };
    // A server gives tables of keys their schema without a look at SQL's notes.
    Ok(notes
        .filter(|notes| notes.table == table || split(table) == (OF_KEYS, &*notes.table))
        .unwrap_or_default())
}

/// The materialized views. The notes of other tables are not parsed, since each definition reads these.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn materialized(source: &dyn Source) -> Result<Vec<Relation>, SqlError> {
    let mut found = Vec::new();
    let may_be = |body: &str| body.contains("\"materialized\"");
    let has_index = source
        .table_named(OBJECTS)
        .map(|number| finds_kinds(source, number));
    let numbers = match has_index {
        Some(true) => objects(source, kind::MATERIALIZED)?,
        _ => objects_with(source, kind::TABLE, &may_be)?,
    };
    for (number, _) in numbers {
        if let Ok(number) = number.parse()
            && let Ok(relation) = Relation::numbered(source, number)
            && relation.notes.materialized.is_some()
            && !is_own(&relation.name)
        {
            found.push(relation);
        }
    }
    found.sort_by_key(|relation| relation.number);
    Ok(found)
}

/// The numbers of materialized views that [`kind::MATERIALIZED`] does not have: those of an earlier version.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn unnoted_materialized(source: &dyn Source) -> Result<Vec<String>, SqlError> {
    let may_be = |body: &str| body.contains("\"materialized\"");
    let mut unnoted = Vec::new();
    for (number, body) in objects_with(source, kind::TABLE, &may_be)? {
        let notes: TableNotes = parsed(&body)?;
        if notes.materialized.is_some() && object(source, kind::MATERIALIZED, &number)?.is_none() {
            unnoted.push(number);
        }
    }
    Ok(unnoted)
}

/// Stores the notes of a table.
///
/// # Errors
/// An error of the engine.
pub(crate) fn store_notes(
    tx: &mut dyn DefineTarget,
    number: u16,
    notes: &TableNotes,
) -> Result<(), SqlError> {
    let name = number.to_string();
    match notes.materialized.is_some() {
        true => put_object(tx, kind::MATERIALIZED, &name, "")?,
        false => {
            delete_object(tx, kind::MATERIALIZED, &name)?;
        }
    }
    put_object(tx, kind::TABLE, &name, &printed(notes)?)
}

/// The first number of triggers in the catalogue, and the numbers for each table.
const FIRST_TRIGGER: u32 = 11 << 24;
const TRIGGERS: u32 = 128;

/// The number that a trigger has in `pg_trigger`, by its place among those of its table.
pub(crate) fn trigger_number(table: u16, place: usize) -> u32 {
    FIRST_TRIGGER + u32::from(table) * TRIGGERS + place as u32
}

/// The table of a trigger of the catalogue, and its place there.
pub(crate) fn trigger_of_number(number: u32) -> Option<(u16, usize)> {
    let number = number.checked_sub(FIRST_TRIGGER)?;
    let table = u16::try_from(number / TRIGGERS).ok()?;
    Some((table, (number % TRIGGERS) as usize))
}

/// The number that a table has in `pg_class`.
pub(crate) fn table_oid(number: u16) -> u32 {
    // Below are PostgreSQL's own.
    16_384 + u32::from(number)
}

/// A column as a target of values.
#[derive(Clone, Debug)]
pub(crate) struct StoredColumn {
    pub number: usize,
    pub name: String,
    pub spec: TypeSpec,
    /// The engine's type.
    pub stored: Type,
    pub is_generated: bool,
}

impl StoredColumn {
    pub fn of(column: &RelationColumn) -> StoredColumn {
        StoredColumn {
            number: column.number,
            name: column.name.clone(),
            spec: column.spec,
            stored: column.stored,
            is_generated: column.is_generated,
        }
    }

    /// A value as the engine stores it in this column. Nulls are checked when the row is whole.
    ///
    /// # Errors
    /// As [`stored`].
    pub fn fit(&self, value: Value) -> Result<Value, SqlError> {
        match (stored(value, self.spec)?, self.beyond_sql()) {
            // SQL has no integer type with these values.
            (Value::Decimal(units, 0), Some(_)) => Ok(Value::Int(units)),
            (value, _) => Ok(value),
        }
    }

    /// The engine's type, if no type of SQL has all of its values: they are sent as they are.
    pub(crate) fn beyond_sql(&self) -> Option<Type> {
        matches!(self.stored, Type::U64 | Type::I128 | Type::U128).then_some(self.stored)
    }
}

/// The table of which a name is noted, if it still is there: the notes of tables are the truth.
fn noted_name(source: &dyn Source, kind: &str, name: &str) -> Option<u16> {
    let number = object(source, kind, name).ok()??.parse().ok()?;
    let definition = source.definitions().get(usize::from(number))?;
    let is_in = !is_own(&definition.name) && schema_of(&definition.name) == schema_of(name);
    is_in.then_some(number)
}

/// Notes the name that a primary key was given, so that it is found among the names of indexes. Notes of names that it
/// had before are removed by the next one of the name, and count for nothing.
///
/// # Errors
/// An error of the engine.
pub(crate) fn note_primary_name(
    tx: &mut dyn DefineTarget,
    number: u16,
    notes: &TableNotes,
) -> Result<(), SqlError> {
    let Some(name) = &notes.primary_name else {
        return Ok(());
    };
    let kept = beside(&notes.table, name);
    let body = number.to_string();
    match object(tx.view(), kind::PRIMARY, &kept)?.as_ref() == Some(&body) {
        true => Ok(()),
        false => put_object(tx, kind::PRIMARY, &kept, &body),
    }
}

/// Notes the names of indexes that are in the catalogue alone, as [`note_primary_name`] does.
///
/// # Errors
/// An error of the engine.
pub(crate) fn note_listed_names(
    tx: &mut dyn DefineTarget,
    number: u16,
    notes: &TableNotes,
) -> Result<(), SqlError> {
    let body = number.to_string();
    for name in notes.listed.keys() {
        let kept = beside(&notes.table, name);
        if object(tx.view(), kind::LISTED, &kept)?.as_ref() != Some(&body) {
            put_object(tx, kind::LISTED, &kept, &body)?;
        }
    }
    Ok(())
}

/// Deletes the note of a listed index's name, so that ever new names take no more space.
///
/// # Errors
/// An error of the engine.
pub(crate) fn forget_listed_name(
    tx: &mut dyn DefineTarget,
    relation: &Relation,
    name: &str,
) -> Result<(), SqlError> {
    delete_object(tx, kind::LISTED, &beside(&relation.name, name)).map(|_| ())
}

/// The table that has a listed index of a name.
fn listed_named(source: &dyn Source, name: &str) -> Option<u16> {
    let number = noted_name(source, kind::LISTED, name)?;
    let relation = Relation::numbered(source, number).ok()?;
    (relation.notes.listed.contains_key(local(name))).then_some(number)
}

/// The table that has an index of a name, and true if it is the primary key's.
pub(crate) fn index_named(source: &dyn Source, name: &str) -> Option<(u16, bool)> {
    let (of, local_name) = split(name);
    let is_in = |number: &u16| {
        let definition = source.definitions().get(usize::from(*number));
        definition.is_some_and(|definition| {
            !is_own(&definition.name) && schema_of(&definition.name) == of
        })
    };
    let has_it = |number: &u16| {
        let schema = source.schema(*number);
        schema.is_some_and(|schema| schema.indexes.iter().any(|index| index.name == local_name))
    };
    let mut indexed = source.indexed(local_name).into_iter().filter(is_in);
    if let Some(number) = indexed.find(has_it) {
        return Some((number, false));
    }
    let is_primary = |number: &u16| {
        let definition = source.definitions().get(usize::from(*number));
        let table = definition.map(|definition| local(&definition.name));
        table.is_some_and(|table| name_of_primary(table) == local_name)
            && Relation::numbered(source, *number)
                .is_ok_and(|of| of.primary_constraint().as_deref() == Some(local_name))
    };
    if let Some(number) = listed_named(source, name) {
        return Some((number, false));
    }
    if let Some(number) = noted_name(source, kind::PRIMARY, name)
        && Relation::numbered(source, number)
            .is_ok_and(|of| of.primary_constraint().as_deref() == Some(local_name))
    {
        return Some((number, true));
    }
    // The table's name is in that of its key, unless that was truncated.
    let mut tables = match local_name.strip_suffix("_pkey") {
        None => return None,
        Some(table) if local_name.len() < NAME_BYTES_MAX => {
            let named = source.table_named(&beside(name, table));
            named.into_iter().collect::<Vec<u16>>()
        }
        Some(_) => (0..source.definitions().len() as u16).collect(),
    }
    .into_iter()
    .filter(is_in);
    tables.find(is_primary).map(|number| (number, true))
}

/// The name of the comment of a schema.
pub(crate) fn comment_of_schema(schema: &str) -> String {
    match schema == PUBLIC {
        true => COMMENT_OF_PUBLIC.to_string(),
        false => comment_name(kind::SCHEMA, schema, None),
    }
}
