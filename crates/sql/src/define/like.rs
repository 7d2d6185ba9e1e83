//! `CREATE TABLE t (LIKE s INCLUDING …)`: a table with the column declarations of another one.
//!
//! The parser reads `LIKE` as a column ([`LIKE`]). The included parts are written as SQL, and parsed as the columns and
//! constraints of the new table. Indexes without a constraint, and comments, are added after the table is created.

use super::index::index;
use crate::declared::put_notes;
use crate::define_target::DefineTarget;
use crate::error::{SqlError, code};
use crate::index_names::shown_generated;
use crate::names::quoted;
use crate::parse::{LIKE, parse_kept};
use crate::path::written_whole;
use crate::relation::{Relation, RelationColumn, kind, object, parsed};
use crate::rights::{Access, Rights};
use crate::search_path::SearchPath;
use crate::sequences::{Sequence, options_of};
use crate::virtual_tables::{constant_text, constraints_of, own_indexes_on};
use sqlparser::ast::{ColumnDef, CreateTable, DataType, Statement, TypeModifier};
use std::collections::BTreeSet;

/// A table whose columns are copied, and the parts to include.
pub(super) struct Model {
    relation: Relation,
    included: BTreeSet<String>,
}

impl Model {
    fn includes(&self, what: &str) -> bool {
        self.included.contains(what)
    }

    /// The model of a column that represents `LIKE`; `None` for other columns.
    fn of(
        tx: &dyn DefineTarget,
        column: &ColumnDef,
        rights: &Rights,
    ) -> Result<Option<Model>, SqlError> {
        let ColumnDef {
            name,
            data_type: DataType::Custom(table, options),
            options: rest,
        } = column
        else {
            return Ok(None);
        };
        if name.value != LIKE || !rest.is_empty() {
            return Ok(None);
        }
        let source = tx.view();
        let relation = Relation::named(source, &rights.path().find(source, table)?)?;
        crate::keyspace::check_right(source, rights, &relation.name, Access::Read)?;
        let mut included = BTreeSet::new();
        for option in options {
            let TypeModifier::String(option) = option else {
                continue;
            };
            let (how, what) = option.split_once(' ').unwrap_or_default();
            let all = [
                "comments",
                "constraints",
                "defaults",
                "generated",
                "identity",
                "indexes",
            ];
            let one = [what];
            let named = if what == "all" { &all[..] } else { &one[..] };
            for what in named {
                match how == "including" {
                    true => included.insert(what.to_string()),
                    false => included.remove(*what),
                };
            }
        }
        Ok(Some(Model { relation, included }))
    }

    /// Its columns and constraints, as a `CREATE TABLE`.
    fn declared(&self, tx: &dyn DefineTarget) -> Result<CreateTable, SqlError> {
        let mut parts = Vec::new();
        for column in &self.relation.columns {
            parts.push(self.column(tx, column)?);
        }
        for constraint in constraints_of(tx.view(), &self.relation)? {
            match constraint.letter {
                "c" if self.includes("constraints") => {
                    let name = quoted(&constraint.name);
                    parts.push(format!("constraint {name} {}", constraint.definition));
                }
                // They get new names.
                "p" | "u" if self.includes("indexes") => parts.push(constraint.definition),
                _ => {}
            }
        }
        let text = format!("create table made ({})", parts.join(", "));
        match parse_kept(&text)?.pop() {
            Some(Statement::CreateTable(create)) => Ok(create),
            _ => Err(SqlError::new(code::INTERNAL, "a CREATE TABLE was expected")),
        }
    }

    fn column(&self, tx: &dyn DefineTarget, column: &RelationColumn) -> Result<String, SqlError> {
        let written = Relation::written_type(tx.view(), column)?;
        let mut sql = format!("{} {written}", quoted(&column.name));
        if column.not_null {
            sql.push_str(" not null");
        }
        if column.is_generated {
            if self.includes("generated")
                && let Some(expression) = shown_generated(&self.relation, column.number)
            {
                sql.push_str(&format!(" generated always as ({expression}) stored"));
            }
            return Ok(sql);
        }
        match (column.identity, &column.sequence) {
            (Some(letter), sequence) if self.includes("identity") => {
                let how = if letter == 'a' {
                    "always"
                } else {
                    "by default"
                };
                let body = match sequence {
                    Some(name) => object(tx.view(), kind::SEQUENCE, name)?,
                    None => None,
                };
                let options = match body {
                    Some(body) => options_of(&parsed::<Sequence>(&body)?),
                    None => String::new(),
                };
                sql.push_str(&format!(" generated {how} as identity"));
                if !options.is_empty() {
                    sql.push_str(&format!(" ({})", options.trim_start()));
                }
            }
            (Some(_), _) => {}
            (None, Some(sequence)) if self.includes("defaults") => {
                let name = written_whole(sequence).replace('\'', "''");
                sql.push_str(&format!(" default nextval('{name}')"));
            }
            (None, None) if self.includes("defaults") => {
                if let Some(default) = constant_text(column) {
                    sql.push_str(&format!(" default {default}"));
                }
            }
            _ => {}
        }
        Ok(sql)
    }
}

/// A `CREATE TABLE` in which `LIKE` is replaced by the columns of the named tables, and these tables.
///
/// # Errors
/// `42P01` if there is no such table; `42501` if the session may not read it.
pub(super) fn with_columns(
    tx: &dyn DefineTarget,
    create: &CreateTable,
    rights: &Rights,
) -> Result<Option<(CreateTable, Vec<Model>)>, SqlError> {
    if !create
        .columns
        .iter()
        .any(|column| column.name.value == LIKE)
    {
        return Ok(None);
    }
    let (mut written, mut models) = (create.clone(), Vec::new());
    written.columns.clear();
    for column in &create.columns {
        let Some(model) = Model::of(tx, column, rights)? else {
            written.columns.push(column.clone());
            continue;
        };
        let CreateTable {
            columns,
            constraints,
            ..
        } = model.declared(tx)?;
        written.columns.extend(columns);
        written.constraints.extend(constraints);
        models.push(model);
    }
    Ok(Some((written, models)))
}

/// Gives a new table the indexes and comments of its models.
///
/// # Errors
/// The engine's errors.
pub(super) fn finish(
    tx: &mut dyn DefineTarget,
    number: u16,
    models: &[Model],
) -> Result<(), SqlError> {
    for model in models {
        let new = Relation::numbered(tx.view(), number)?;
        if model.includes("indexes") {
            for text in own_indexes_on(&model.relation, &new) {
                let Some(Statement::CreateIndex(create)) = parse_kept(&text)?.pop() else {
                    return Err(SqlError::new(code::INTERNAL, "a CREATE INDEX was expected"));
                };
                index(tx, &create, &SearchPath::default())?;
            }
        }
        if model.includes("comments") {
            let mut notes = Relation::numbered(tx.view(), number)?.notes;
            for column in &model.relation.columns {
                let noted = model.relation.notes.columns.get(&column.number);
                let place = new.columns.iter().find(|there| there.name == column.name);
                if let (Some(noted), Some(place)) = (noted, place) {
                    let of = super::constraint::notes_of_column(&mut notes, place);
                    of.comment.clone_from(&noted.comment);
                }
            }
            let constraints = model.relation.notes.constraint_comments.iter();
            for (name, comment) in constraints.filter(|(name, _)| new.has_constraint(name)) {
                let comments = &mut notes.constraint_comments;
                comments.insert(name.clone(), comment.clone());
            }
            put_notes(tx, number, &notes)?;
        }
    }
    Ok(())
}
