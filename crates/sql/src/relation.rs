//! Tables as SQL sees them: the engine's schema, and properties that it does not have, which are in a table of SQL's own.
//!
//! `objects` has that table; `notes` has its bodies about tables: lengths of `varchar`, time zones of times, computed
//! defaults, a hidden key, columns that may not be null although the engine's columns may.

mod notes;
mod objects;

pub(crate) use notes::{ColumnNotes, ReferenceNotes, TableNotes, UpdateAction, store_notes};
pub(crate) use objects::{
    BODY, OBJECTS, delete_object, kind, object, objects, parsed, printed, put_object,
};

use crate::error::{SqlError, code};
use crate::names::{COMMENT_OF_PUBLIC, comment_name, name_of_primary};
use crate::path::{PUBLIC, local, schema_of, split, written};
use crate::source::Source;
use crate::types::{Collation, NamedCollation, SqlType, TypeSpec};
use crate::user_types::{UserTypes, is_of_user};
use crate::values::cast::stored;
use notes::notes_of;
use objects::objects_with;
use sardonyx::schema::{DeclaredDefault, Schema, Type, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What names of SQL's own tables begin with.
pub(crate) const OWN: &str = "sql.";
/// The column that numbers the rows of a table without a primary key. SQL does not show it.
pub const ROW_NUMBER: &str = "sql.row";

/// A table.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub number: u16,
    /// Under which the engine keeps it, as [`crate::path`] says.
    pub name: String,
    pub schema: Arc<Schema>,
    pub columns: Vec<RelationColumn>,
    pub notes: TableNotes,
    /// How many rows it has as a statement is planned, where that is known.
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
    /// Other sequences that go with it.
    pub owned: Vec<String>,
    /// Its value is computed of the row's other columns.
    pub is_generated: bool,
    /// The number of its domain.
    pub domain: Option<u32>,
}

impl RelationColumn {
    /// The sequences that go with it.
    pub fn sequences(&self) -> impl Iterator<Item = &String> {
        self.sequence.iter().chain(&self.owned)
    }
}

/// What a column gets that is not given.
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

    /// The table of a schema, and of what is noted beside it.
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
            // A program without SQL declares columns and notes nothing.
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
                    // Its default was dropped. A column of a domain has that of the domain otherwise.
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

    /// Its name in its schema.
    pub fn local(&self) -> &str {
        local(&self.name)
    }

    /// Its schema.
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

    /// True if it has a constraint of a name.
    pub fn has_constraint(&self, name: &str) -> bool {
        let mut keys = self.schema.foreign_keys.iter();
        let mut checks = self.schema.checks.iter();
        keys.any(|key| key.name == name)
            || checks.any(|(check, _)| check == name)
            || self.notes.constraints.iter().any(|there| there == name)
            || self.primary_constraint().as_deref() == Some(name)
    }

    /// The name of the constraint that is the primary key, if it has one that is seen.
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

    /// The numbers of the primary key's columns, if it has one that is seen.
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

/// The materialized views. The notes of other tables are not parsed: each definition looks for these.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn materialized(source: &dyn Source) -> Result<Vec<Relation>, SqlError> {
    let mut found = Vec::new();
    let may_be = |body: &str| body.contains("\"materialized\"");
    for (number, _) in objects_with(source, kind::TABLE, &may_be)? {
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

/// The number that a table has in `pg_class`.
pub(crate) fn table_oid(number: u16) -> u32 {
    // Below are PostgreSQL's own.
    16_384 + u32::from(number)
}

/// A column that is stored into.
#[derive(Clone, Debug)]
pub(crate) struct StoredColumn {
    pub number: usize,
    pub name: String,
    pub spec: TypeSpec,
    /// What the engine has.
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

    /// A value as the engine stores it in this column. Whether it may be null is looked at when the row is whole.
    ///
    /// # Errors
    /// As [`stored`].
    pub fn fit(&self, value: Value) -> Result<Value, SqlError> {
        match (stored(value, self.spec)?, self.beyond_sql()) {
            // SQL's type for integers that none of its own has.
            (Value::Decimal(units, 0), Some(_)) => Ok(Value::Int(units)),
            (value, _) => Ok(value),
        }
    }

    /// The engine's type, where SQL has none with all of its values: those are told as they are.
    pub(crate) fn beyond_sql(&self) -> Option<Type> {
        matches!(self.stored, Type::U64 | Type::I128 | Type::U128).then_some(self.stored)
    }
}

/// The table that has an index of a name, and whether it is the primary key's.
pub(crate) fn index_named(source: &dyn Source, name: &str) -> Option<(u16, bool)> {
    let definitions = source.definitions().iter().enumerate();
    let (of, name) = split(name);
    let mut tables = definitions
        .filter(|(_, definition)| !is_own(&definition.name) && schema_of(&definition.name) == of);
    tables.find_map(|(number, definition)| {
        let schema = source.schema(number as u16)?;
        if schema.indexes.iter().any(|index| index.name == name) {
            return Some((number as u16, false));
        }
        if name != name_of_primary(local(&definition.name)) {
            return None;
        }
        let relation = Relation::numbered(source, number as u16).ok()?;
        let is_primary = relation.primary_constraint().as_deref() == Some(name);
        is_primary.then_some((number as u16, true))
    })
}

/// The name of the comment of a schema.
pub(crate) fn comment_of_schema(schema: &str) -> String {
    match schema == PUBLIC {
        true => COMMENT_OF_PUBLIC.to_string(),
        false => comment_name(kind::SCHEMA, schema, None),
    }
}
