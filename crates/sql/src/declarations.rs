//! A database's tables, sequences, views and procedures as SQL that creates them again, here or in PostgreSQL.
//!
//! The statements are in an order that can be run: sequences without a column, tables, their indexes, references (which
//! may form circles). Then functions, views behind those that they read, triggers, procedures, comments, and the positions of
//! sequences. Functions that give the rows of a materialized view come behind the views. A body may name functions and views
//! behind it, and tables that are dropped: bodies are not checked meanwhile.
//!
//! Invariant: a database that is created by this text declares itself by the same text.

mod comments;

use crate::define::check_schema_name;
use crate::error::SqlError;
use crate::index_names::shown_generated;
use crate::keyspace;
use crate::names::{name_of_sequence, quoted};
use crate::parse::ProcedureDefinition;
use crate::path::{beside, is_temporary, kept, local, schema_of, written};
use crate::plan::views::{names_read, query_width};
use crate::relation::{DefaultValue, Relation, RelationColumn, kind, objects, parsed};
use crate::routines::{self, OfPublic, Returns, RoutineDefinition, trigger_as_sql};
use crate::schemas::schemas;
use crate::sequences::{Sequence, options_of};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::user_types::UserTypes;
use crate::views::{ViewDefinition, views};
use crate::virtual_tables::{constraints_of, own_indexes, relations};
use sardonyx::rows::ReadRows;
use sardonyx::schema::{Type, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A part of a database's schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Declaration {
    /// `schema`, `type`, `table`, `index`, `reference`, `sequence`, `setting`, `function`, `view`, `trigger`, `procedure`, `comment`, or
    /// `position` (of a sequence).
    pub kind: &'static str,
    /// The name; for an index, a reference or a comment the table's.
    pub name: String,
    /// A statement that ends in `;`. The comment of the database, and a schema that SQL cannot create, is a remark
    /// instead.
    pub sql: String,
}

/// All statements that create a database's schema again, in their order.
///
/// # Errors
/// The engine's; `XX001` if an object in the database cannot be read.
pub fn declarations(state: &impl ReadRows) -> Result<Vec<Declaration>, SqlError> {
    let source: &dyn Source = state;
    let mut relations = relations(source)?;
    // Temporary tables are dropped with their sessions, and the server for Redis clients makes its tables.
    relations.retain(|relation| {
        !is_temporary(relation.schema_name()) && relation.schema_name() != keyspace::SCHEMA
    });
    let mut sequences = BTreeMap::new();
    for (name, body) in objects(source, kind::SEQUENCE)? {
        if !is_temporary(schema_of(&name)) {
            sequences.insert(name, parsed::<Sequence>(&body)?);
        }
    }
    let mut written = Writing {
        source,
        sequences,
        found: Vec::new(),
    };
    written.schemas()?;
    written.extensions()?;
    written.types()?;
    written.sequences(&relations);
    let is_table = |relation: &&Relation| relation.notes.materialized.is_none();
    for relation in relations.iter().filter(is_table) {
        written.table(relation)?;
    }
    written.owned_sequences(&relations);
    for relation in relations.iter().filter(is_table) {
        written.indexes(relation);
    }
    for relation in &relations {
        written.references(relation)?;
    }
    let (later, first) = written.functions(source, &relations)?;
    written.add_functions(&first)?;
    written.views(source, &relations)?;
    written.add_functions(&later)?;
    for relation in relations.iter().filter(is_table) {
        written.triggers(relation)?;
    }
    for relation in relations.iter().filter(|relation| !is_table(relation)) {
        written.indexes(relation);
    }
    for (_, body) in objects(source, kind::PROCEDURE)? {
        written.procedure(&parsed(&body)?);
    }
    written.comments(source, &relations)?;
    written.positions(&relations);
    Ok(written.found)
}

struct Writing<'a> {
    source: &'a dyn Source,
    sequences: BTreeMap<String, Sequence>,
    found: Vec<Declaration>,
}

impl Writing<'_> {
    fn add(&mut self, kind: &'static str, name: &str, sql: String) {
        let name = name.to_string();
        self.found.push(Declaration { kind, name, sql });
    }

    fn schemas(&mut self) -> Result<(), SqlError> {
        for (name, _) in schemas(self.source)? {
            if is_temporary(&name) || name == keyspace::SCHEMA {
                continue;
            }
            let sql = match check_schema_name(&name) {
                Ok(()) => format!("CREATE SCHEMA {};", quoted(&name)),
                // The schema exists because a program named a table so.
                Err(error) => format!(
                    "-- Schema {} cannot be created by SQL: {}.",
                    quoted(&name).replace(['\n', '\r'], " "),
                    error.message.replace(['\n', '\r'], " ")
                ),
            };
            self.add("schema", &name, sql);
        }
        Ok(())
    }

    fn extensions(&mut self) -> Result<(), SqlError> {
        for (name, _) in objects(self.source, kind::EXTENSION)? {
            let sql = format!("CREATE EXTENSION IF NOT EXISTS {};", quoted(&name));
            self.add("extension", &name, sql);
        }
        Ok(())
    }

    fn types(&mut self) -> Result<(), SqlError> {
        let types = UserTypes::of(self.source)?;
        // A domain may be over an enum.
        let (domains, others): (Vec<_>, Vec<_>) = types
            .types
            .iter()
            .partition(|(_, there)| there.domain.is_some());
        let enums = others.iter().filter(|(_, there)| there.fields.is_none());
        for (name, there) in enums {
            let labels = there.labels.iter();
            let labels = labels.map(|label| format!("'{}'", label.name.replace('\'', "''")));
            let labels: Vec<_> = labels.collect();
            let sql = format!(
                "CREATE TYPE {} AS ENUM ({});",
                crate::path::written(name),
                labels.join(", ")
            );
            self.add("type", name, sql);
        }
        for (name, fields) in types.composites() {
            let fields = fields.iter();
            let fields =
                fields.map(|field| format!("{} {}", quoted(&field.name), field.spec.to_sql()));
            let fields = fields.collect::<Vec<_>>().join(", ");
            let sql = format!("CREATE TYPE {} AS ({fields});", crate::path::written(name));
            self.add("type", name, sql);
        }
        for (name, there) in domains {
            let Some(domain) = &there.domain else {
                continue;
            };
            let base = types.base_of(domain)?.to_sql();
            let mut sql = format!("CREATE DOMAIN {} AS {base}", crate::path::written(name));
            if let Some(text) = &domain.default {
                let _ = write!(sql, " DEFAULT {text}");
            }
            if domain.not_null {
                sql.push_str(" NOT NULL");
            }
            for check in &domain.checks {
                let _ = write!(
                    sql,
                    " CONSTRAINT {} CHECK ({})",
                    quoted(&check.name),
                    check.text
                );
            }
            self.add("type", name, sql + ";");
        }
        Ok(())
    }

    /// The sequences without a column.
    fn sequences(&mut self, relations: &[Relation]) {
        let owned = owners(relations, &self.sequences);
        let free = self.sequences.iter();
        let free = free.filter(|(name, _)| !owned.contains_key(name.as_str()));
        let free: Vec<_> = free
            .map(|(name, sequence)| {
                let kind = match sequence.kind() {
                    SqlType::Int8 => String::new(),
                    kind => format!(" AS {}", kind.name()),
                };
                let options = kind + &options_of(sequence);
                let sql = format!("CREATE SEQUENCE {}{options};", written(name));
                (name.clone(), sql)
            })
            .collect();
        for (name, sql) in free {
            self.add("sequence", &name, sql);
        }
    }

    /// The names of sequences that are made with a column and have another one, and the columns of the others.
    fn owned_sequences(&mut self, relations: &[Relation]) {
        let made = owners(relations, &self.sequences);
        let mut found = Vec::new();
        for relation in relations {
            for column in &relation.columns {
                let usual = usual_sequence(relation, column);
                for name in column.sequences() {
                    let sql = if !made.contains_key(name.as_str()) {
                        let (table, column) = (written(&relation.name), quoted(&column.name));
                        format!(
                            "ALTER SEQUENCE {} OWNED BY {table}.{column};",
                            written(name)
                        )
                    } else if *name != usual {
                        let (usual, name) = (written(&usual), quoted(local(name)));
                        format!("ALTER SEQUENCE {usual} RENAME TO {name};")
                    } else {
                        continue;
                    };
                    found.push((name.clone(), sql));
                }
            }
        }
        for (name, sql) in found {
            self.add("sequence", &name, sql);
        }
    }

    fn table(&mut self, relation: &Relation) -> Result<(), SqlError> {
        let mut parts: Vec<String> = Vec::new();
        for column in &relation.columns {
            parts.push(self.column(relation, column)?);
        }
        for constraint in constraints_of(self.source, relation)? {
            if constraint.letter != "f" && constraint.is_valid {
                let (name, definition) = (quoted(&constraint.name), &constraint.definition);
                parts.push(format!("CONSTRAINT {name} {definition}"));
            }
        }
        parts.extend(relation.columns.iter().filter_map(|column| {
            let name = quoted(&format!("{}_{}_check", relation.local(), column.name));
            let is_unsigned = matches!(
                column.stored,
                Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::U128
            );
            is_unsigned
                .then(|| format!("CONSTRAINT {name} CHECK (({} >= 0))", quoted(&column.name)))
        }));
        let (name, parts) = (written(&relation.name), parts.join(",\n  "));
        let sql = match parts.is_empty() {
            true => format!("CREATE TABLE {name} ();"),
            false => format!("CREATE TABLE {name} (\n  {parts}\n);"),
        };
        self.add("table", &relation.name, sql);
        if relation.notes.row_security {
            let sql = format!("ALTER TABLE {name} ENABLE ROW LEVEL SECURITY;");
            self.add("table", &relation.name, sql);
        }
        Ok(())
    }

    fn column(&self, relation: &Relation, column: &RelationColumn) -> Result<String, SqlError> {
        let written = Relation::written_type(self.source, column)?;
        let mut sql = format!("{} {written}", quoted(&column.name));
        let sequence = column.sequence.as_ref();
        let sequence = sequence.and_then(|name| self.sequences.get(name));
        if column.not_null {
            sql.push_str(" NOT NULL");
        }
        if let Some(expression) = shown_generated(relation, column.number) {
            let _ = write!(sql, " GENERATED ALWAYS AS ({expression}) STORED");
            return Ok(sql);
        }
        match (column.identity, sequence) {
            (Some(letter), sequence) => {
                let how = if letter == 'a' {
                    "ALWAYS"
                } else {
                    "BY DEFAULT"
                };
                let _ = write!(sql, " GENERATED {how} AS IDENTITY");
                let options = sequence.map_or_else(String::new, options_of);
                if !options.is_empty() {
                    let _ = write!(sql, " ({})", options.trim_start());
                }
            }
            (None, Some(sequence)) if is_serial(relation, column, sequence) => {
                let word = match column.spec.kind {
                    SqlType::Int2 => "smallserial",
                    SqlType::Int4 => "serial",
                    _ => "bigserial",
                };
                return Ok(format!("{} {word}", quoted(&column.name)));
            }
            (None, Some(_)) => {
                let name = column.sequence.as_deref().unwrap_or_default();
                let name = crate::path::written(name).replace('\'', "''");
                let _ = write!(sql, " DEFAULT nextval('{name}'::regclass)");
            }
            (None, None) => match &column.default {
                DefaultValue::Expression(text) => {
                    let _ = write!(sql, " DEFAULT {text}");
                }
                DefaultValue::Value(Value::Null) => {}
                DefaultValue::Value(value) => {
                    let _ = write!(sql, " DEFAULT {}", literal(value, column.spec.kind));
                }
            },
        }
        Ok(sql)
    }

    fn references(&mut self, relation: &Relation) -> Result<(), SqlError> {
        for constraint in constraints_of(self.source, relation)? {
            // Rows may violate a condition that is not valid.
            if constraint.letter == "f" || !constraint.is_valid {
                let sql = format!(
                    "ALTER TABLE {} ADD CONSTRAINT {} {};",
                    written(&relation.name),
                    quoted(&constraint.name),
                    constraint.whole_definition()
                );
                self.add("reference", &relation.name, sql);
            }
        }
        Ok(())
    }

    fn indexes(&mut self, relation: &Relation) {
        for sql in own_indexes(relation) {
            self.add("index", &relation.name, sql);
        }
    }

    /// The views, materialized or not, each behind those that it reads.
    fn views(&mut self, source: &dyn Source, relations: &[Relation]) -> Result<(), SqlError> {
        let mut left = views(source)?;
        let materialized = relations.iter().filter_map(|relation| {
            let query = relation.notes.materialized.clone()?;
            let columns = relation.columns.iter();
            let columns = columns.map(|column| (String::new(), column.name.clone()));
            let columns = columns.collect();
            Some((relation.name.clone(), ViewDefinition { columns, query }))
        });
        left.extend(materialized);
        left.retain(|(name, _)| !is_temporary(schema_of(name)));
        let mut names: BTreeSet<String> = left.iter().map(|(name, _)| name.clone()).collect();
        let mut read = BTreeMap::new();
        for (name, view) in &left {
            read.insert(name.clone(), names_read(source, view)?);
        }
        while !left.is_empty() {
            let is_ready = |(name, _): &(String, ViewDefinition)| {
                let read = read.get(name);
                read.is_none_or(|read| read.is_disjoint(&names))
            };
            // There are no circles.
            let next = left.iter().position(is_ready).unwrap_or(0);
            let (name, view) = left.remove(next);
            names.remove(&name);
            if let Some(relation) = relations.iter().find(|relation| relation.name == name) {
                let sql = materialized_sql(relation, &view);
                self.add("view", &name, sql);
                continue;
            }
            let sql = view_sql(source, &name, &view)?;
            self.add("view", &name, sql);
        }
        Ok(())
    }

    /// The functions of users: those that give the rows of a materialized view, and all others, which views may call.
    fn functions(
        &self,
        source: &dyn Source,
        relations: &[Relation],
    ) -> Result<(Vec<RoutineDefinition>, Vec<RoutineDefinition>), SqlError> {
        let mut functions = routines::all(source)?;
        functions.retain(|one| !is_temporary(&one.schema));
        functions.sort_by_key(|one| one.number);
        let gives_view = |one: &RoutineDefinition| {
            let mut views = relations
                .iter()
                .filter(|one| one.notes.materialized.is_some());
            matches!(&one.returns, Returns::RowsOf(of) | Returns::RowOf(of) if views.any(|view| view.name == *of))
        };
        Ok(functions.into_iter().partition(gives_view))
    }

    fn add_functions(&mut self, functions: &[RoutineDefinition]) -> Result<(), SqlError> {
        if functions.is_empty() {
            return Ok(());
        }
        let setting = "check_function_bodies";
        self.add("setting", setting, format!("SET {setting} = off;"));
        for function in functions {
            let sql = function.as_sql(&OfPublic(self.source))?;
            let sql = format!("{};", sql.trim_end());
            self.add("function", &kept(&function.schema, &function.name), sql);
        }
        self.add("setting", setting, format!("RESET {setting};"));
        Ok(())
    }

    fn triggers(&mut self, relation: &Relation) -> Result<(), SqlError> {
        for (name, notes) in &relation.notes.triggers {
            let sql = trigger_as_sql(self.source, relation, (name, notes), false)?;
            let Some(mut sql) = sql else { continue };
            sql.push(';');
            if notes.is_off {
                let table = written(&relation.name);
                let _ = write!(
                    sql,
                    " ALTER TABLE {table} DISABLE TRIGGER {};",
                    quoted(name)
                );
            }
            self.add("trigger", &relation.name, sql);
        }
        Ok(())
    }

    fn procedure(&mut self, procedure: &ProcedureDefinition) {
        let parameters = procedure.parameters.iter().map(|(name, oid, modifier)| {
            let spec = TypeSpec::new(SqlType::from_oid(*oid).unwrap_or(SqlType::Text), *modifier);
            format!("{} {}", quoted(name), spec.to_sql())
        });
        let parameters: Vec<String> = parameters.collect();
        let mut tag = String::new();
        while procedure.body.contains(&format!("${tag}$")) {
            tag.push('b');
        }
        let sql = format!(
            "CREATE PROCEDURE {} ({}) LANGUAGE SQL AS ${tag}${}${tag}$;",
            quoted(&procedure.name),
            parameters.join(", "),
            procedure.body
        );
        self.add("procedure", &procedure.name, sql);
    }

    /// Writes the positions of sequences from which numbers were drawn.
    fn positions(&mut self, relations: &[Relation]) {
        let owned = owners(relations, &self.sequences);
        let positions = self.sequences.iter().filter_map(|(name, sequence)| {
            let (next, is_called) = position_of(sequence)?;
            let text = |text: &str| format!("'{}'", text.replace('\'', "''"));
            let which = match owned.get(name.as_str()) {
                None => text(&written(name)),
                Some((table, column)) => format!(
                    "pg_get_serial_sequence({}, {})",
                    text(&written(table)),
                    text(column)
                ),
            };
            let sql = format!("SELECT setval({which}, {next}, {is_called});");
            Some((name.clone(), sql))
        });
        for (name, sql) in positions.collect::<Vec<_>>() {
            self.add("position", &name, sql);
        }
    }
}

fn materialized_sql(relation: &Relation, view: &ViewDefinition) -> String {
    let columns: Vec<String> = view.columns.iter().map(|(_, name)| quoted(name)).collect();
    format!(
        "CREATE MATERIALIZED VIEW {} ({}) AS {}{};",
        written(&relation.name),
        columns.join(", "),
        view.query,
        match relation.notes.unpopulated {
            true => " WITH NO DATA",
            false => "",
        }
    )
}

fn view_sql(source: &dyn Source, name: &str, view: &ViewDefinition) -> Result<String, SqlError> {
    let columns: Vec<String> = view.columns.iter().map(|(_, name)| quoted(name)).collect();
    let columns = columns.join(", ");
    let (kept, name, query) = (name, written(name), &view.query);
    // Its tables may have new columns, which do not belong to the view.
    if query_width(source, view)? == view.columns.len() {
        return Ok(format!("CREATE VIEW {name} ({columns}) AS {query};"));
    }
    let inner: Vec<String> = view.columns.iter().map(|(name, _)| quoted(name)).collect();
    let inner = inner.join(", ");
    Ok(format!(
        "CREATE VIEW {name} ({columns}) AS SELECT {inner} FROM ({query}) AS {};",
        quoted(local(kept))
    ))
}

/// True if `serial` makes the column and its sequence.
fn is_serial(relation: &Relation, column: &RelationColumn, sequence: &Sequence) -> bool {
    let usual = usual_sequence(relation, column);
    let range = Sequence::range_of(column.spec.kind);
    column.sequence == Some(usual)
        && column.identity.is_none()
        && column.not_null
        && range.is_some_and(|(_, highest)| {
            let usual = Sequence {
                maximum: highest,
                usable_to: sequence.usable_to,
                kind: sequence.kind,
                restarted: sequence.restarted,
                ..Sequence::new()
            };
            *sequence == usual && sequence.kind() == column.spec.kind
        })
}

/// The name of the sequence that is made with a column.
fn usual_sequence(relation: &Relation, column: &RelationColumn) -> String {
    let name = name_of_sequence(relation.local(), &column.name);
    beside(&relation.name, &name)
}

/// The table and the column of each sequence that is made with a column.
fn owners<'r>(
    relations: &'r [Relation],
    sequences: &BTreeMap<String, Sequence>,
) -> BTreeMap<&'r str, (&'r str, &'r str)> {
    let mut owners = BTreeMap::new();
    for relation in relations {
        for column in &relation.columns {
            let is_made = column.identity.is_some()
                || column
                    .sequence
                    .as_ref()
                    .and_then(|name| sequences.get(name))
                    .is_some_and(|sequence| is_serial(relation, column, sequence));
            if let Some(sequence) = column.sequence.as_ref().filter(|_| is_made) {
                owners.insert(&**sequence, (&*relation.name, &*column.name));
            }
        }
    }
    owners
}

/// A sequence's next number, and true if it was drawn already; `None` if none was drawn.
fn position_of(sequence: &Sequence) -> Option<(i64, bool)> {
    if sequence.usable_to == i128::from(sequence.start) {
        return None;
    }
    let next = i64::try_from(sequence.usable_to).ok();
    let next = next.filter(|next| (sequence.minimum..=sequence.maximum).contains(next));
    let last = match sequence.increment > 0 {
        true => sequence.maximum,
        false => sequence.minimum,
    };
    Some(next.map_or((last, true), |next| (next, false)))
}

/// A value as a literal of its column's type.
fn literal(value: &Value, kind: SqlType) -> String {
    let mut text = String::new();
    crate::text::encode_text(kind, &value.as_ref(), &mut text);
    match value {
        Value::Bool(value) => value.to_string(),
        Value::Int(_) | Value::U128(_) | Value::Decimal(..) if kind.is_number() => text,
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}
