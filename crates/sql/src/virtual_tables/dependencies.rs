//! `pg_depend` and `pg_rewrite`. Programs find the sequence that numbers a table's rows there, and the order in which objects can
//! be created: the tables, views and functions that a view reads, and the functions, sequences and types of expressions.
//!
//! A view depends on others by its rule, as in PostgreSQL. Columns are not told apart, and objects of the catalogue itself,
//! which are always there, are left out.

use super::Contents::Rows;
use super::constraints::{constraints_of, sequence_names};
use super::domain_checks;
use super::information_schema::{default_text, relations};
use super::system::row_type_oid;
use super::views::view_numbers;
use super::{VirtualRows, VirtualTable, oid, text};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::index_names::shown_generated;
use crate::lexer::tokens;
use crate::path::{kept, local, name_in};
use crate::relation::{Relation, table_oid, trigger_number};
use crate::routines::{Returns, all};
use crate::source::Source;
use crate::types::SqlType::{Bool, Int4, Name, Oid, OneChar, Text};
use crate::user_types::{UserTypes, is_of_user};
use crate::views::views;
use sardonyx::schema::Value;
use sqlparser::tokenizer::Token;
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// The stored names of the tables and views that a query's text names itself.
type NamesIn = fn(&dyn Source, &str) -> Result<BTreeSet<String>, SqlError>;

/// The runner of plans gives it when a database is opened: the planner, which reads queries, is above this room.
pub(crate) static NAMES_IN: OnceLock<NamesIn> = OnceLock::new();

/// Numbers of the catalogue's tables.
const PG_TYPE: u32 = 1247;
const PG_PROC: u32 = 1255;
const PG_CLASS: u32 = 1259;
const PG_ATTRDEF: u32 = 2604;
const PG_CONSTRAINT: u32 = 2606;
const PG_REWRITE: u32 = 2618;
const PG_TRIGGER: u32 = 2620;
/// The first number of rules, each of which has the number of its view, higher by this.
const RULES: u32 = 1 << 29;

pub(super) const TABLES: &[VirtualTable] = &[
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_depend",
        oid: 2608,
        columns: &[
            ("classid", Oid),
            ("objid", Oid),
            ("objsubid", Int4),
            ("refclassid", Oid),
            ("refobjid", Oid),
            ("refobjsubid", Int4),
            ("deptype", OneChar),
        ],
        contents: Rows(dependencies),
    },
    VirtualTable {
        schema: "pg_catalog",
        name: "pg_rewrite",
        oid: PG_REWRITE,
        columns: &[
            ("oid", Oid),
            ("rulename", Name),
            ("ev_class", Oid),
            ("ev_type", OneChar),
            ("ev_enabled", OneChar),
            ("is_instead", Bool),
            ("ev_qual", Text),
            ("ev_action", Text),
        ],
        contents: Rows(rules),
    },
];

/// An object: its table of the catalogue, and its number there.
type Object = (u32, u32);

/// The views, materialized or not, with their names, numbers and queries.
fn all_views(source: &dyn Source) -> Result<Vec<(String, u32, String)>, SqlError> {
    let mut found = Vec::new();
    for ((name, view), (_, number)) in views(source)?.into_iter().zip(view_numbers(source)?) {
        found.push((name, number, view.query));
    }
    for relation in relations(source)? {
        if let Some(query) = &relation.notes.materialized {
            let number = table_oid(relation.number);
            found.push((relation.name.clone(), number, query.clone()));
        }
    }
    Ok(found)
}

/// The rule of each view.
fn rules(source: &dyn Source, _: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let views = all_views(source)?.into_iter();
    let rows = views.map(|(_, number, _)| {
        vec![
            oid(RULES + number),
            text("_RETURN"),
            oid(number),
            text("1"),
            text("O"),
            Value::Bool(true),
            Value::Null,
            Value::Null,
        ]
    });
    Ok(rows.collect())
}

fn dependencies(source: &dyn Source, with: &Environment<'_>) -> Result<VirtualRows, SqlError> {
    let relations = relations(source)?;
    let mut found = Found {
        rows: Vec::new(),
        relations: sequence_names(source)?.into_iter().collect(),
        routines: HashMap::new(),
        types: HashMap::new(),
    };
    found.relations.extend(view_numbers(source)?);
    let tables = relations.iter();
    let tables = tables.map(|relation| (relation.name.clone(), table_oid(relation.number)));
    found.relations.extend(tables);
    for routine in all(source)? {
        let named = found.routines.entry(routine.name).or_default();
        named.push(routine.number);
    }
    for (name, there) in &UserTypes::of(source)?.types {
        found.types.insert(local(name).to_string(), there.oid);
    }
    found.types(source)?;
    for relation in &relations {
        found.table(source, with, relation)?;
    }
    for (name, number, query) in all_views(source)? {
        found.view(source, (&name, number, &query))?;
    }
    found.functions(source)?;
    Ok(found.rows)
}

struct Found {
    rows: VirtualRows,
    /// Tables, views and sequences by their kept names.
    relations: HashMap<String, u32>,
    /// Functions of users by their names without a schema.
    routines: HashMap<String, Vec<u32>>,
    /// Types of users by their names without a schema.
    types: HashMap<String, u32>,
}

impl Found {
    fn add(&mut self, (of, column): (Object, u32), (on, on_column): (Object, u32), kind: &str) {
        self.rows.push(vec![
            oid(of.0),
            oid(of.1),
            Value::Int(column.into()),
            oid(on.0),
            oid(on.1),
            Value::Int(on_column.into()),
            text(kind),
        ]);
    }

    /// The objects whose names are in an expression or a query. A name that means something else adds a dependency
    /// that is not there: it decides the order of objects only.
    fn of_text(&mut self, of: Object, expression: &str) {
        let Ok(tokens) = tokens(expression) else {
            return;
        };
        let mut on: Vec<Object> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let word = match &token.token {
                Token::Word(word) => word,
                // The sequence of `nextval`.
                Token::SingleQuotedString(name) => {
                    let name = name_in(name).ok();
                    let name = name.map(|(schema, name)| match schema {
                        Some(schema) => kept(&schema, &name),
                        None => name,
                    });
                    let number = name.and_then(|name| self.relations.get(&name));
                    on.extend(number.map(|number| (PG_CLASS, *number)));
                    continue;
                }
                _ => continue,
            };
            let name = match word.quote_style {
                Some(_) => word.value.clone(),
                None => word.value.to_lowercase(),
            };
            let next = tokens.get(at + 1).map(|token| &token.token);
            if let (Some(numbers), Some(Token::LParen)) = (self.routines.get(&name), next) {
                on.extend(numbers.iter().map(|number| (PG_PROC, *number)));
            } else if let Some(number) = self.types.get(&name) {
                on.push((PG_TYPE, *number));
            }
        }
        on.sort_unstable();
        on.dedup();
        for object in on {
            self.add((of, 0), (object, 0), "n");
        }
    }

    /// Types depend on those of their fields, domains on the type below them, and arrays on that of their elements. The
    /// fields are columns of a relation, which is a part of its type.
    fn types(&mut self, source: &dyn Source) -> Result<(), SqlError> {
        for there in UserTypes::of(source)?.types.values() {
            let own = (PG_TYPE, there.oid);
            if let Some(domain) = &there.domain {
                self.on_type((own, 0), domain.base);
                continue;
            }
            self.add(((PG_TYPE, there.oid + 1), 0), (own, 0), "i");
            let Some(fields) = &there.fields else {
                continue;
            };
            let class = (PG_CLASS, there.class_oid());
            self.add((class, 0), (own, 0), "i");
            for (at, field) in fields.iter().enumerate() {
                self.on_type((class, at as u32 + 1), field.kind);
            }
        }
        for check in domain_checks::all(source)? {
            let of = (PG_CONSTRAINT, check.number);
            self.add((of, 0), ((PG_TYPE, check.domain), 0), "a");
            self.of_text(of, &check.definition);
        }
        Ok(())
    }

    /// A dependency on a type, if a user made it.
    fn on_type(&mut self, of: (Object, u32), kind: u32) {
        if is_of_user(kind) {
            self.add(of, ((PG_TYPE, kind), 0), "n");
        }
    }

    fn table(
        &mut self,
        source: &dyn Source,
        with: &Environment<'_>,
        relation: &Relation,
    ) -> Result<(), SqlError> {
        let table = (PG_CLASS, table_oid(relation.number));
        let row_type = (PG_TYPE, row_type_oid(table.1));
        self.add((row_type, 0), (table, 0), "i");
        for (at, column) in relation.columns.iter().enumerate() {
            let place = at as u32 + 1;
            for sequence in column.sequences() {
                let Some(number) = self.relations.get(sequence) else {
                    continue;
                };
                // An identity's sequence is a part of the column.
                let is_identity =
                    column.identity.is_some() && column.sequence.as_ref() == Some(sequence);
                let kind = if is_identity { "i" } else { "a" };
                let sequence = (PG_CLASS, *number);
                self.add((sequence, 0), (table, place), kind);
            }
            let default = (PG_ATTRDEF, table.1 * 1024 + at as u32);
            let expression = match column.is_generated {
                true => shown_generated(relation, column.number),
                false if column.identity.is_some() => None,
                false => default_text(source, with, column)?,
            };
            if let Some(expression) = expression {
                self.add((default, 0), (table, place), "a");
                self.of_text(default, &expression);
            }
            let sequence = column.sequence.as_ref();
            let sequence = sequence.filter(|_| column.identity.is_none());
            if let Some(number) = sequence.and_then(|name| self.relations.get(name)) {
                let sequence = (PG_CLASS, *number);
                self.add((default, 0), (sequence, 0), "n");
            }
            let kind = column.domain.unwrap_or(column.spec.kind.oid());
            self.on_type((table, place), kind);
        }
        for constraint in constraints_of(source, relation)? {
            let of = (PG_CONSTRAINT, constraint.oid);
            self.add((of, 0), (table, 0), "a");
            match constraint.letter {
                "c" => self.of_text(of, &constraint.definition),
                "f" => {
                    let other = (PG_CLASS, table_oid(constraint.referenced));
                    self.add((of, 0), (other, 0), "n");
                }
                _ => {}
            }
        }
        for (place, (_, notes)) in relation.notes.triggers.iter().enumerate() {
            let trigger = (PG_TRIGGER, trigger_number(relation.number, place));
            self.add((trigger, 0), (table, 0), "a");
            self.add((trigger, 0), ((PG_PROC, notes.function), 0), "n");
        }
        Ok(())
    }

    fn view(
        &mut self,
        source: &dyn Source,
        (name, number, query): (&str, u32, &str),
    ) -> Result<(), SqlError> {
        let rule = (PG_REWRITE, RULES + number);
        let view = (PG_CLASS, number);
        self.add((rule, 0), (view, 0), "i");
        self.add((rule, 0), (view, 0), "n");
        let names_in = NAMES_IN
            .get()
            .ok_or_else(|| SqlError::new(code::INTERNAL, "queries of views have no reader"))?;
        for read in names_in(source, query)? {
            if let Some(number) = self.relations.get(&read)
                && read != name
            {
                let object = (PG_CLASS, *number);
                self.add((rule, 0), (object, 0), "n");
            }
        }
        self.of_text(rule, query);
        Ok(())
    }

    /// Functions depend on the tables whose rows they give, and on types of users.
    fn functions(&mut self, source: &dyn Source) -> Result<(), SqlError> {
        let types: Vec<u32> = self.types.values().copied().collect();
        for routine in all(source)? {
            let of = (PG_PROC, routine.number);
            let mut kinds: Vec<u32> = routine.parameters.iter().map(|one| one.kind).collect();
            match &routine.returns {
                Returns::Value(kind)
                | Returns::Rows(kind)
                | Returns::RowOfType(kind)
                | Returns::RowsOfType(kind) => kinds.push(*kind),
                Returns::Table(columns) | Returns::Row(columns) => {
                    kinds.extend(columns.iter().map(|(_, kind)| kind))
                }
                Returns::RowsOf(table) | Returns::RowOf(table) => {
                    if let Some(number) = self.relations.get(table) {
                        kinds.push(row_type_oid(*number));
                        let row_type = (PG_TYPE, row_type_oid(*number));
                        self.add((of, 0), (row_type, 0), "n");
                    }
                }
                Returns::Void | Returns::Trigger => {}
            }
            kinds.retain(|kind| types.contains(kind));
            kinds.sort_unstable();
            kinds.dedup();
            for kind in kinds {
                self.add((of, 0), ((PG_TYPE, kind), 0), "n");
            }
            for default in routine
                .parameters
                .iter()
                .filter_map(|one| one.default.as_deref())
            {
                self.of_text(of, default);
            }
        }
        Ok(())
    }
}
