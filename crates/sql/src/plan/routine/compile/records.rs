//! Records: variables that get their columns from queries. Each set of columns that a record gets has places of its own, once:
//! two queries of the same columns fill the same places. The text behind a query reads the columns that the record has there.
//! After two branches that give it different sets, it has none: a text that reads it there is refused.

use super::super::code::{Place, Query, Step};
use super::Compiling;
use crate::error::{SqlError, code};
use crate::expression::{ScopeColumn, ScopeTable};
use crate::lexer::placed;
use crate::parse::{Target, Variable};
use crate::types::TypeSpec;
use sqlparser::tokenizer::Token;

/// A record of a block.
pub(super) struct Record {
    name: String,
    /// Its place among the scopes, and that of its table there.
    scope: usize,
    table: usize,
    /// The sets of columns that it gets.
    shapes: Vec<Vec<ScopeColumn>>,
    /// The columns that it has at this place of the text.
    now: Now,
    /// True for `%ROWTYPE`, whose columns are those of the table.
    is_fixed: bool,
    /// True if it had other columns than before, since a loop or a block with handlers began.
    is_changed: bool,
    /// False behind its block.
    is_open: bool,
}

/// The columns of a record at a place of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Now {
    /// It has got none.
    Empty,
    /// A set of its columns, if it has got a row at all.
    Of(usize),
    /// One set or another.
    Mixed,
}

/// The columns that the records have at a place of the text.
pub(super) type Shapes = Vec<Now>;

impl Compiling<'_> {
    /// A variable that is a record, or a row of a table.
    pub(super) fn declare_record(
        &mut self,
        variable: &Variable,
        table: Option<&str>,
    ) -> Result<Option<Step>, SqlError> {
        if variable.value.is_some() || variable.is_constant || variable.is_not_null {
            return Err(SqlError::unsupported(format!(
                "the record \"{}\" has no first value, CONSTANT or NOT NULL here",
                variable.name
            )));
        }
        let rows = match table {
            Some(table) => Some(self.query(&format!("SELECT * FROM {table} LIMIT 0"))?),
            None => None,
        };
        let scope = self.scopes.len().saturating_sub(1);
        let Some(tables) = self.scopes.last_mut().map(|scope| &mut scope.tables) else {
            return Ok(None);
        };
        tables.push(ScopeTable {
            alias: variable.name.clone(),
            is_aside: true,
            may_be_missing: true,
            ..ScopeTable::default()
        });
        self.records.push(Record {
            name: variable.name.clone(),
            scope,
            table: tables.len() - 1,
            shapes: Vec::new(),
            now: Now::Empty,
            is_fixed: table.is_some(),
            is_changed: false,
            is_open: true,
        });
        if let Some(rows) = rows {
            self.record(&variable.name, &rows)?;
        }
        Ok(None)
    }

    /// Gives a record the columns of a query. Returns their places.
    ///
    /// # Errors
    /// `42601` if there is no such record.
    pub(super) fn record(&mut self, name: &str, query: &Query) -> Result<Vec<Place>, SqlError> {
        let mut records = self.records.iter();
        let Some(number) = records.rposition(|one| one.is_open && one.name == name) else {
            return Err(SqlError::syntax(format!(
                "\"{name}\" is not a known variable"
            )));
        };
        let shape = match self.records.get(number).map(|one| (one.is_fixed, one.now)) {
            Some((true, Now::Of(shape))) => shape,
            _ => self.shape_of(number, query),
        };
        self.fill(number, shape);
        let shapes = self.records.get(number).map(|one| &one.shapes);
        let columns = shapes.and_then(|shapes| shapes.get(shape));
        let places = columns.into_iter().flatten().map(|column| Place {
            at: column.place,
            spec: column.spec,
            not_null: None,
        });
        Ok(places.collect())
    }

    /// The number of a record's set of columns that a query has.
    fn shape_of(&mut self, number: usize, query: &Query) -> usize {
        let columns = query.plan.columns();
        let columns = columns.iter().flat_map(|columns| columns.iter());
        let Some(record) = self.records.get_mut(number) else {
            return 0;
        };
        let (first, is_fixed) = (self.width, record.is_fixed);
        let wanted = columns.zip(first..).map(|(column, at)| {
            let spec = column.spec;
            let modifier = if is_fixed { spec.modifier } else { -1 };
            ScopeColumn::new(&column.name, TypeSpec { modifier, ..spec }, at)
        });
        let wanted: Vec<ScopeColumn> = wanted.collect();
        let is_it = |shape: &Vec<ScopeColumn>| {
            let mut pairs = shape.iter().zip(&wanted);
            shape.len() == wanted.len()
                && pairs.all(|(one, other)| one.name == other.name && one.spec == other.spec)
        };
        if let Some(there) = record.shapes.iter().position(is_it) {
            return there;
        }
        self.width += wanted.len();
        record.shapes.push(wanted);
        record.shapes.len() - 1
    }

    /// Sets the columns that the text behind this place reads.
    fn set_shape(&mut self, number: usize, now: Now) {
        let Some(record) = self.records.get_mut(number).filter(|one| one.is_open) else {
            return;
        };
        record.now = now;
        let columns = match now {
            Now::Of(shape) => record.shapes.get(shape).cloned(),
            Now::Empty | Now::Mixed => None,
        };
        let scope = self.scopes.get_mut(record.scope);
        if let Some(table) = scope.and_then(|scope| scope.tables.get_mut(record.table)) {
            table.columns = columns.unwrap_or_default();
        }
    }

    /// A row goes into a record.
    fn fill(&mut self, number: usize, shape: usize) {
        if let Some(record) = self.records.get_mut(number) {
            record.is_changed |= ![Now::Empty, Now::Of(shape)].contains(&record.now);
        }
        self.set_shape(number, Now::Of(shape));
    }

    pub(super) fn shapes(&self) -> Shapes {
        self.records.iter().map(|record| record.now).collect()
    }

    /// Goes back to the columns that the records had where branches begin.
    pub(super) fn set_shapes(&mut self, shapes: &[Now]) {
        for (number, now) in shapes.iter().enumerate() {
            self.set_shape(number, *now);
        }
    }

    /// The columns behind branches, of which another one ends so.
    pub(super) fn join_shapes(&mut self, other: &[Now]) {
        for (number, other) in other.iter().enumerate() {
            let Some(record) = self.records.get(number) else {
                continue;
            };
            match (record.now, *other) {
                (one, other) if one == other => {}
                (_, Now::Empty) => {}
                (Now::Empty, other) => self.set_shape(number, other),
                _ => self.set_shape(number, Now::Mixed),
            }
        }
    }

    /// Compiles lines that may end, or be left, anywhere: those of a loop, which begin again, and those of a block with
    /// handlers.
    ///
    /// # Errors
    /// The errors of the lines; `0A000` if a loop begins again with other columns of a record than at first.
    pub(super) fn anywhere<R>(
        &mut self,
        begins_again: bool,
        lines: impl FnOnce(&mut Self) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let before = self.shapes();
        let records = self.records.iter_mut();
        let around: Vec<bool> = records
            .map(|record| std::mem::take(&mut record.is_changed))
            .collect();
        let made = lines(self)?;
        for number in 0..self.records.len() {
            let Some(record) = self.records.get(number).filter(|one| one.is_open) else {
                continue;
            };
            let is_changed = record.is_changed;
            let had_columns = matches!(before.get(number), Some(Now::Of(_)));
            if is_changed && begins_again && had_columns {
                return Err(refused(&record.name));
            }
            if is_changed {
                self.set_shape(number, Now::Mixed);
            }
            let was_changed = around.get(number).is_some_and(|is_changed| *is_changed);
            if let Some(record) = self.records.get_mut(number) {
                record.is_changed = is_changed || was_changed;
            }
        }
        Ok(made)
    }

    /// Ends the records of the innermost block. Returns the places that it sets to null when it begins again.
    pub(super) fn end_records(&mut self) -> Vec<Place> {
        let scope = self.scopes.len().saturating_sub(1);
        let mut places = Vec::new();
        let records = self.records.iter_mut();
        for record in records.filter(|one| one.is_open && one.scope == scope) {
            record.is_open = false;
            places.extend(record.shapes.iter().flatten().map(|column| Place {
                at: column.place,
                spec: column.spec,
                not_null: None,
            }));
        }
        places
    }

    /// An error of a text that reads a record which may have one set of columns or another, or has none yet.
    pub(super) fn of_mixed(&self, error: SqlError, text: &str) -> SqlError {
        let is_unknown = [code::UNKNOWN_COLUMN, code::UNKNOWN_TABLE].contains(&error.code);
        if !is_unknown {
            return error;
        }
        let mut records = self.records.iter();
        let record = records.find(|record| {
            record.is_open
                && !matches!(record.now, Now::Of(_))
                && is_named(&error.message, &record.name)
                && is_read(text, &record.name)
        });
        match record {
            Some(record) if record.now == Now::Empty => unassigned(&record.name),
            Some(record) => refused(&record.name),
            None => error,
        }
    }

    /// The places into which a row goes: variables, or the columns of a record.
    pub(super) fn places(
        &mut self,
        targets: &[Target],
        query: &Query,
    ) -> Result<Vec<Place>, SqlError> {
        if let [Target { name, field: None }] = targets
            && self.is_record(name)
        {
            if matches!(name.as_str(), "new" | "old") && self.trigger.is_some() {
                return Err(SqlError::unsupported(
                    "NEW and OLD get values by their columns: NEW.column := value",
                ));
            }
            return self.record(name, query);
        }
        targets.iter().map(|target| self.target(target)).collect()
    }

    /// True if no variable of a name is of a block inside of the record's.
    fn is_record(&self, name: &str) -> bool {
        let variable = self.scopes.iter().rposition(|scope| {
            let mut tables = scope.tables.iter().filter(|table| !table.is_aside);
            tables.any(|table| table.columns.iter().any(|column| column.name == name))
        });
        let mut records = self.records.iter().rev();
        let record = records.find(|one| one.is_open && one.name == name);
        match (variable, record) {
            (Some(variable), Some(record)) => record.scope > variable,
            (variable, _) => variable.is_none(),
        }
    }
}

/// True if the error of an unknown name is about a record, or a column of it.
fn is_named(message: &str, record: &str) -> bool {
    let mut words = message.split_whitespace();
    words.any(|word| match word.strip_prefix(record) {
        Some(rest) => rest.starts_with('.'),
        None => word.trim_matches('"') == record,
    })
}

/// True if a text reads a column of a record.
fn is_read(text: &str, record: &str) -> bool {
    let tokens = placed(text).unwrap_or_default();
    tokens
        .windows(2)
        .any(|pair| pair[1].token == Token::Period && pair[0].word().as_deref() == Some(record))
}

#[cold]
fn unassigned(name: &str) -> SqlError {
    let text = format!("record \"{name}\" is not assigned yet");
    let error = SqlError::new(code::NOT_IN_PREREQUISITE_STATE, text);
    error.detail("The tuple structure of a not-yet-assigned record is indeterminate.")
}

#[cold]
fn refused(name: &str) -> SqlError {
    SqlError::unsupported(format!(
        "the record \"{name}\" has rows of different columns there, by the way on which the function comes"
    ))
    .hint("Use a record for each form of rows.")
}
