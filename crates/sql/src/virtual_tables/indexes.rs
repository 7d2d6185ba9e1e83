//! Tables of `pg_catalog` on indexes (`pg_index`, `pg_indexes`, `pg_am`, `pg_opclass`), and the indexes that other
//! tables of the catalogue show.

use super::Contents::Rows;
use super::information_schema::relations;
use super::{VirtualRows, VirtualTable, oid, text};
use crate::access_methods::{METHODS, Method};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::index_names::{
    key_name, listed_columns, listed_condition, seen_key, shown_condition, shown_expression,
};
use crate::operator_classes::OperatorClass;
use crate::path::beside;
use crate::relation::{ListedOf, ListedPart, Relation, table_oid};
use crate::source::Source;
use crate::types::SqlType::{Bool, Int2, Int2Vector, Name, Oid, OidVector, OneChar, Text};
use crate::types::{TypeSpec, functions};
use sardonyx::schema::{ForeignKey, Value};

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_index",
        oid: 2610,
        columns: &[
            ("indexrelid", Oid),
            ("indrelid", Oid),
            ("indnatts", Int2),
            ("indnkeyatts", Int2),
            ("indisunique", Bool),
            ("indnullsnotdistinct", Bool),
            ("indisprimary", Bool),
            ("indisexclusion", Bool),
            ("indimmediate", Bool),
            ("indisclustered", Bool),
            ("indisvalid", Bool),
            ("indcheckxmin", Bool),
            ("indisready", Bool),
            ("indislive", Bool),
            ("indisreplident", Bool),
            ("indkey", Int2Vector),
            ("indcollation", OidVector),
            ("indclass", OidVector),
            ("indoption", Int2Vector),
            ("indexprs", Text),
            ("indpred", Text),
        ],
        contents: Rows(indexes),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_indexes",
        oid: 12_000,
        columns: &[
            ("schemaname", Name),
            ("tablename", Name),
            ("indexname", Name),
            ("tablespace", Name),
            ("indexdef", Text),
        ],
        contents: Rows(index_definitions),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_am",
        oid: 2601,
        columns: &[
            ("oid", Oid),
            ("amname", Name),
            ("amhandler", Oid),
            ("amtype", OneChar),
        ],
        contents: Rows(access_methods),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_opclass",
        oid: 2616,
        columns: &[
            ("oid", Oid),
            ("opcmethod", Oid),
            ("opcname", Name),
            ("opcnamespace", Oid),
            ("opcowner", Oid),
            ("opcfamily", Oid),
            ("opcintype", Oid),
            ("opcdefault", Bool),
            ("opckeytype", Oid),
        ],
        contents: Rows(operator_classes),
    },
];

/// The number of `pg_catalog`, and that of the owner of all objects.
const CATALOGUE: u32 = 11;
const OWNER: u32 = 10;

fn operator_classes(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let rows = OperatorClass::all().map(|class| {
        vec![
            oid(class.oid),
            oid(class.method.numbers().0),
            text(class.name),
            oid(CATALOGUE),
            oid(OWNER),
            oid(class.family),
            oid(class.of),
            Value::Bool(class.is_default),
            oid(class.key),
        ]
    });
    Ok(rows.collect())
}

pub(super) const HEAP: u32 = 2;

fn access_methods(_: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = vec![vec![oid(HEAP), text("heap"), oid(3), text("t")]];
    rows.extend(METHODS.into_iter().map(|method| {
        let (number, handler) = method.numbers();
        vec![oid(number), text(method.name()), oid(handler), text("i")]
    }));
    Ok(rows)
}

/// The number of a table's index: the primary key's first. Those in the catalogue alone begin at the end.
pub(super) fn index_oid(table: u16, index: usize) -> u32 {
    (1 << 24) + u32::from(table) * INDEXES + index as u32
}

/// The table of an index's number.
pub(super) fn table_of_index(number: u32) -> Option<u16> {
    let table = number.checked_sub(index_oid(0, 0))? / INDEXES;
    u16::try_from(table).ok()
}

/// The most numbers of a table's indexes.
const INDEXES: u32 = 64;

/// The index that a reference to a table's columns depends on: the first unique one of these columns.
pub(crate) fn index_referred(relation: &Relation, key: &ForeignKey) -> Option<SeenIndex> {
    let mut indexes = seen_indexes(relation).into_iter();
    indexes.find(|index| {
        let columns = index.columns.iter().map(|(column, _)| column);
        index.unique
            && index.immediate
            && index.condition.is_none()
            && columns.eq(key.referenced.iter())
    })
}

/// An index as clients see it.
pub(crate) struct SeenIndex {
    pub oid: u32,
    pub name: String,
    pub method: Method,
    /// Columns of the table, and those that stand for expressions.
    pub columns: Vec<(usize, bool)>,
    /// The operator classes of the columns that are not the usual ones.
    pub classes: Vec<Option<String>>,
    /// The columns of `INCLUDE`.
    pub included: Vec<usize>,
    /// The condition of a partial index, as SQL.
    pub condition: Option<String>,
    pub unique: bool,
    /// `NULLS NOT DISTINCT`.
    pub nulls_equal: bool,
    /// Its key is checked when a row is written.
    pub immediate: bool,
    pub primary: bool,
}

/// The numbers of the operator classes of an index's columns; 0 where the catalogue has none.
fn classes_of(relation: &Relation, index: &SeenIndex) -> Vec<String> {
    let method = index.method;
    let columns = index.columns.iter().zip(&index.classes);
    let columns = columns.map(|((column, _), class)| {
        let named = class.as_ref();
        let named = named.and_then(|name| OperatorClass::named(method, name));
        let usual = || OperatorClass::default_of(method, key_name(relation, *column)?.kind);
        let class = named.or_else(usual);
        class.map_or(0, |class| class.oid).to_string()
    });
    columns.collect()
}

pub(super) fn seen_indexes(relation: &Relation) -> Vec<SeenIndex> {
    let primary = relation.primary_constraint();
    let mut seen = Vec::new();
    let schema = &relation.schema;
    let columns = |index| -> Vec<(usize, bool)> {
        seen_key(schema, index)
            .map(|part| (part.column, part.descending))
            .collect()
    };
    if let (Some(name), false) = (&primary, relation.notes.hidden_key) {
        let columns = columns(&schema.primary);
        seen.push(SeenIndex {
            oid: index_oid(relation.number, 0),
            name: name.clone(),
            method: Method::Btree,
            classes: vec![None; columns.len()],
            columns,
            included: Vec::new(),
            condition: None,
            unique: true,
            nulls_equal: false,
            immediate: true,
            primary: true,
        });
    }
    for (at, index) in relation.schema.indexes.iter().enumerate() {
        let columns = columns(index);
        let noted = relation.notes.operator_classes.get(&index.name);
        let class = |(column, _): &(usize, bool)| noted?.get(column).cloned();
        seen.push(SeenIndex {
            oid: index_oid(relation.number, at + 1),
            name: index.name.clone(),
            method: relation
                .notes
                .methods
                .get(&index.name)
                .copied()
                .unwrap_or_default(),
            classes: columns.iter().map(class).collect(),
            columns,
            included: relation
                .notes
                .included
                .get(&index.name)
                .cloned()
                .unwrap_or_default(),
            condition: shown_condition(relation, index),
            unique: index.tells_apart(),
            nulls_equal: index.nulls_equal,
            immediate: !index.deferrable,
            primary: relation.notes.primary_index.as_ref() == Some(&index.name),
        });
    }
    seen.extend(listed_indexes(relation));
    seen
}

/// The indexes that are in the catalogue alone.
fn listed_indexes(relation: &Relation) -> impl Iterator<Item = SeenIndex> {
    let listed = relation.notes.listed.iter().enumerate();
    // A program without SQL may have dropped a column of one.
    let is_there = |part: &ListedPart| match &part.of {
        ListedOf::Column(number) => relation.numbered_column(*number).is_some(),
        ListedOf::Expression(..) => true,
    };
    let listed = listed.filter(move |(_, (_, index))| index.parts.iter().all(is_there));
    listed.map(|(at, (name, index))| {
        let columns = listed_columns(relation, name).into_iter();
        SeenIndex {
            oid: index_oid(relation.number + 1, 0) - 1 - at as u32,
            name: name.clone(),
            method: index.method,
            columns: columns.map(|column| (column, false)).collect(),
            classes: index.parts.iter().map(|part| part.class.clone()).collect(),
            included: index.included.clone(),
            condition: listed_condition(relation, index),
            unique: false,
            nulls_equal: false,
            immediate: true,
            primary: false,
        }
    })
}

/// The names under which all indexes would be kept, and their numbers.
///
/// # Errors
/// An error of reading the tables.
pub(crate) fn index_names(source: &dyn Source) -> Result<Vec<(String, u32)>, SqlError> {
    let relations = relations(source)?;
    let indexes = relations.iter().flat_map(|relation| {
        let indexes = seen_indexes(relation).into_iter();
        indexes.map(|index| (beside(&relation.name, &index.name), index.oid))
    });
    Ok(indexes.collect())
}

fn indexes(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for index in seen_indexes(&relation) {
            let included = index.included.iter();
            let keys = index.columns.iter().map(|(column, _)| column);
            let places = keys.chain(included).map(|column| {
                let mut columns = relation.columns.iter();
                let at = columns.position(|there| there.number == *column);
                at.map_or(0, |at| at + 1).to_string()
            });
            let (yes, no) = (Value::Bool(true), Value::Bool(false));
            let count = index.columns.len();
            let vector = |words: &mut dyn Iterator<Item = &'static str>| {
                Value::Text(words.collect::<Vec<_>>().join(" "))
            };
            let all = count + index.included.len();
            let expressions = index.columns.iter();
            let expressions: Vec<String> = expressions
                .filter_map(|(column, _)| shown_expression(&relation, *column))
                .collect();
            let other = relation.notes.other_nulls.get(&index.name);
            let order = |(column, descending): &(usize, bool)| match (
                descending,
                other.is_some_and(|other| other.contains(column)),
            ) {
                (false, false) => "0",
                (true, true) => "1",
                (false, true) => "2",
                (true, false) => "3",
            };
            let collations = index.columns.iter().map(|(column, _)| {
                let own = relation.numbered_column(*column).map(|column| column.spec);
                let name = || key_name(&relation, *column);
                let spec = own.or_else(|| Some(TypeSpec::plain(name()?.kind)));
                spec.map_or(0, functions::collation).to_string()
            });
            rows.push(vec![
                oid(index.oid),
                oid(table_oid(relation.number)),
                Value::Int(all as i128),
                Value::Int(count as i128),
                Value::Bool(index.unique),
                Value::Bool(index.nulls_equal),
                Value::Bool(index.primary),
                no.clone(),
                Value::Bool(index.immediate),
                no.clone(),
                yes.clone(),
                no.clone(),
                yes.clone(),
                yes,
                no,
                Value::Text(places.collect::<Vec<_>>().join(" ")),
                Value::Text(collations.collect::<Vec<_>>().join(" ")),
                Value::Text(classes_of(&relation, &index).join(" ")),
                vector(&mut index.columns.iter().map(order)),
                match expressions.is_empty() {
                    true => Value::Null,
                    false => Value::Text(expressions.join(", ")),
                },
                match index.condition {
                    Some(text) => Value::Text(format!("({text})")),
                    None => Value::Null,
                },
            ]);
        }
    }
    Ok(rows)
}

fn index_definitions(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let mut rows = Vec::new();
    for relation in relations(source)? {
        for index in seen_indexes(&relation) {
            rows.push(vec![
                text(relation.schema_name()),
                text(relation.local()),
                text(&index.name),
                Value::Null,
                Value::Text(super::constraints::definition_of(&relation, &index)),
            ]);
        }
    }
    Ok(rows)
}
