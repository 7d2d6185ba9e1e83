//! The changes of rows by `SET`: of `UPDATE`, of `ON CONFLICT DO UPDATE`, and of `MERGE`. Several rows are changed
//! together, so that they may exchange the values of a unique key.

use super::cascades::Cascade;
use super::planning::Planning;
use super::target::key_columns;
use super::triggers::{Event, RowTriggers};
use super::whole::{conditions_first, insert_whole, with_row};
use super::write::{columns_of, is_referenced, whole_row};
use crate::claims::TableId;
use crate::error::{SqlError, code};
use crate::expression::{Compiler, Environment, Expr, Scope, Typed, row_of};
use crate::index_names::changed_with;
use crate::indexed::ColumnValue;
use crate::lock_modes::RowMode;
use crate::memory::bytes_of;
use crate::names::parts_of;
use crate::parse::query_of;
use crate::relation::{Relation, RelationColumn, StoredColumn};
use crate::rows::InputRow;
use crate::source::Source;
use crate::values::cast::Coercion;
use crate::values::equality_keys::key_of_row;
use crate::write_target::WriteTarget;
use sardonyx::low_level::Address;
use sardonyx::rows::RowWriter;
use sardonyx::schema::Value;
use sqlparser::ast::{self, Assignment, AssignmentTarget, Expr as Tree};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns that are set, with facts about their table.
#[derive(Debug)]
pub(crate) struct Changes {
    pub number: u16,
    /// The number of columns of the engine's schema.
    pub width: usize,
    pub set: Vec<(StoredColumn, Expr)>,
    /// All visible columns.
    pub columns: Vec<StoredColumn>,
    /// The columns of the engine's primary key.
    pub key: Vec<usize>,
    /// True if a column of the primary key is set.
    pub moves: bool,
    /// True if a column of another unique index is set.
    pub may_collide: bool,
    /// True if a foreign key refers to a column that is set.
    pub is_referenced: bool,
    /// The foreign keys whose rows follow the columns that are set.
    pub cascades: Vec<Cascade>,
    pub generated: Vec<ColumnValue>,
    /// The columns that are set, and the generated columns computed from them.
    pub changing: BTreeSet<usize>,
    pub triggers: Option<Arc<RowTriggers>>,
    /// The columns of `SET`.
    pub named: BTreeSet<usize>,
}

/// Compiles the assignments of `SET`.
///
/// # Errors
/// Invalid SQL.
pub(crate) fn compile_changes(
    planning: &mut Planning<'_>,
    relation: &Relation,
    scope: &Scope,
    assignments: &[Assignment],
) -> Result<Changes, SqlError> {
    let mut set: Vec<(StoredColumn, Expr)> = Vec::with_capacity(assignments.len());
    let mut assign = |planning: &mut Planning<'_>, name: &ast::ObjectName, to: Assigned<'_>| {
        let parts = parts_of(name)?;
        // A name with a point before it is a part of a column; no type has parts.
        let name = parts.first().map_or("", String::as_str);
        let column = relation.column(name)?;
        if parts.len() > 1 {
            return Err(SqlError::unsupported(format!(
                "a part of column \"{name}\" cannot be set"
            )));
        }
        if set.iter().any(|(there, _)| there.number == column.number) {
            return Err(SqlError::syntax(format!(
                "multiple assignments to same column \"{name}\""
            )));
        }
        let expr = match to {
            // A generated column is computed in any case.
            Assigned::Tree(tree) if is_default(tree) && column.is_generated => return Ok(()),
            Assigned::Tree(tree) if is_default(tree) => {
                super::insert::default_of(planning, column)?
            }
            _ if column.is_generated => {
                let detail = format!("Column \"{}\" is a generated column.", column.name);
                return Err(only_to_default(&column.name, detail));
            }
            _ if column.identity == Some('a') => {
                let detail = format!(
                    "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                    column.name
                );
                return Err(only_to_default(&column.name, detail));
            }
            Assigned::Tree(tree) => compile_assigned(planning, scope, column, tree)?,
            Assigned::Typed(typed) => assigned(&mut planning.compiler(scope), column, typed)?,
        };
        set.push((StoredColumn::of(column), expr));
        Ok(())
    };
    for assignment in assignments {
        match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), tree) => {
                assign(planning, name, Assigned::Tree(tree))?;
            }
            (AssignmentTarget::Tuple(names), tree) => {
                if let Some(query) = query_of(tree) {
                    let columns = planning.compiler(scope).columns_of(query, names.len())?;
                    for (name, typed) in names.iter().zip(columns) {
                        assign(planning, name, Assigned::Typed(typed))?;
                    }
                    continue;
                }
                let Some(trees) = row_of(tree) else {
                    return Err(SqlError::unsupported(
                        "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression",
                    ));
                };
                if names.len() != trees.len() {
                    return Err(SqlError::syntax(
                        "number of columns does not match number of values",
                    ));
                }
                for (name, tree) in names.iter().zip(trees) {
                    assign(planning, name, Assigned::Tree(tree))?;
                }
            }
        }
    }
    let key = key_columns(relation);
    let triggers = RowTriggers::of(planning, relation)?;
    let named: BTreeSet<usize> = set.iter().map(|(column, _)| column.number).collect();
    // A trigger may change each column.
    let may_change_all = (triggers.as_ref()).is_some_and(|all| all.has(Event::Update, true));
    let numbers = match may_change_all {
        true => relation
            .columns
            .iter()
            .map(|column| column.number)
            .collect(),
        false => named.clone(),
    };
    let changing = changed_with(&relation.schema, numbers.iter().copied());
    let mut unique = relation.schema.indexes.iter().filter(|index| index.unique);
    let may_collide = unique.any(|index| {
        let mut key = index.key.iter();
        key.any(|part| changing.contains(&part.column))
    });
    let moves = numbers.iter().any(|number| key.contains(number));
    let cascades = Cascade::all(planning.source, relation, &changing)?;
    Ok(Changes {
        number: relation.number,
        width: relation.schema.columns.len(),
        is_referenced: !cascades.is_empty()
            || moves && is_referenced(planning.source, relation.number),
        cascades,
        columns: relation.columns.iter().map(StoredColumn::of).collect(),
        generated: ColumnValue::all(&relation.schema)?,
        changing,
        set,
        key,
        moves,
        may_collide,
        triggers,
        named,
    })
}

/// The value that a column gets.
enum Assigned<'t> {
    Tree(&'t Tree),
    /// A column of a query that gives values to several.
    Typed(Typed),
}

/// The error of a column that accepts only `DEFAULT`.
fn only_to_default(column: &str, detail: String) -> SqlError {
    SqlError::new(
        code::GENERATED_ALWAYS,
        format!("column \"{column}\" can only be updated to DEFAULT"),
    )
    .detail(detail)
}

/// True if `default` is written in place of a value.
pub(crate) fn is_default(tree: &Tree) -> bool {
    matches!(tree, Tree::Identifier(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"))
}

/// Compiles an expression whose value is stored into a column.
///
/// # Errors
/// Invalid SQL; `42804` if it is of another type.
pub(crate) fn compile_assigned(
    planning: &mut Planning<'_>,
    scope: &Scope,
    column: &RelationColumn,
    tree: &Tree,
) -> Result<Expr, SqlError> {
    let mut compiler = planning.compiler(scope);
    let typed = compiler.compile(tree)?;
    assigned(&mut compiler, column, typed)
}

/// A value, as one of the column into which it is stored.
fn assigned(
    compiler: &mut Compiler<'_>,
    column: &RelationColumn,
    typed: Typed,
) -> Result<Expr, SqlError> {
    let kind = typed.kind();
    let coerced = compiler.coerce(typed, column.spec, Coercion::Assignment);
    coerced.map_err(|error| match error.code {
        code::DATATYPE_MISMATCH => SqlError::new(
            code::DATATYPE_MISMATCH,
            format!(
                "column \"{}\" is of type {} but expression is of type {}",
                column.name,
                column.spec.kind.name(),
                kind.name()
            ),
        )
        .hint("You will need to rewrite or cast the expression."),
        _ => error,
    })
}

/// The way to find a row again that is to be changed.
#[derive(Debug)]
pub(crate) enum Found {
    /// By address: rows stay in place while others are changed.
    At(Address),
    /// By key: the row may get another key, or be taken out and put back.
    Key(Vec<Value>),
}

/// A change of one row.
#[derive(Debug)]
pub(crate) struct Change {
    pub found: Found,
    /// The new values, with the numbers of their columns.
    pub values: Vec<(usize, Value)>,
    /// All columns after the change, if they are needed.
    pub row: Vec<Value>,
    /// All columns before the change, if they are needed.
    pub before: Vec<Value>,
    /// True if a trigger has the row stay as it is.
    pub is_left_out: bool,
}

impl Change {
    /// The key by which its row is found; `None` if it is found by address.
    pub fn key(&self) -> Option<&[Value]> {
        match &self.found {
            Found::At(_) => None,
            Found::Key(key) => Some(key),
        }
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        let key = match &self.found {
            Found::At(_) => 0,
            Found::Key(key) => bytes_of(key),
        };
        let values = self.values.iter().map(|(_, value)| value);
        let values = values.map(|value| bytes_of(std::slice::from_ref(value)));
        size_of::<Change>()
            + key
            + values.sum::<usize>()
            + bytes_of(&self.row)
            + bytes_of(&self.before)
    }
}

/// The key by which a change's row is found, with the change; `None` if it is found by address.
fn keyed(change: &Change) -> Option<(&Vec<Value>, &Change)> {
    match &change.found {
        Found::Key(key) => Some((key, change)),
        Found::At(_) => None,
    }
}

impl Changes {
    /// The mode in which a row that is changed is claimed.
    pub fn row_mode(&self) -> RowMode {
        match self.moves || self.may_collide {
            true => RowMode::Update,
            false => RowMode::NoKeyUpdate,
        }
    }

    /// The change of a row. The first `kept` columns after the change are kept.
    ///
    /// # Errors
    /// Evaluation errors; a value that does not fit its column.
    pub fn of_row(
        &self,
        source: &dyn Source,
        row: &dyn InputRow,
        with: &Environment<'_>,
        found: Found,
        kept: usize,
    ) -> Result<Change, SqlError> {
        let mut change = self.computed(row, with, found, kept)?;
        if let Some(triggers) = &self.triggers {
            self.run_triggers(source, triggers, &mut change, with)?;
        }
        Ok(change)
    }

    /// The same without the triggers.
    fn computed(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
        found: Found,
        kept: usize,
    ) -> Result<Change, SqlError> {
        let mut values = Vec::with_capacity(self.set.len());
        for (column, expr) in &self.set {
            let value = expr.evaluate(row, with)?.into_value();
            values.push((column.number, column.fit(value)?));
        }
        let mut all = Vec::new();
        let mut before = Vec::new();
        let has_triggers = self.triggers.is_some();
        if kept > 0 || self.moves || has_triggers || !self.cascades.is_empty() {
            all = whole_row(row, kept.max(self.width))?;
            if has_triggers || !self.cascades.is_empty() {
                before.clone_from(&all);
            }
            for (number, value) in &values {
                all[*number] = value.clone();
            }
            ColumnValue::fill(&self.generated, &mut all, with)?;
        }
        Ok(Change {
            found,
            values,
            row: all,
            before,
            is_left_out: false,
        })
    }

    /// Runs the triggers before a change, which may change it, and notes it for those that run afterwards.
    fn run_triggers(
        &self,
        source: &dyn Source,
        triggers: &Arc<RowTriggers>,
        change: &mut Change,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let width = self.width;
        let old = change.before.get(..width).unwrap_or_default();
        let new = change.row.get(..width).unwrap_or_default();
        let set = Some(&self.named);
        let given = triggers.before(source, Event::Update, (Some(old), Some(new)), set, with)?;
        let Some(given) = given else {
            change.is_left_out = true;
            return Ok(());
        };
        for column in self.columns.iter().filter(|column| !column.is_generated) {
            let number = column.number;
            let (Some(value), Some(place)) = (given.get(number), change.row.get_mut(number)) else {
                continue;
            };
            if *value != *place {
                change.values.retain(|(there, _)| *there != number);
                change.values.push((number, value.clone()));
            }
        }
        for (place, value) in change.row.iter_mut().zip(given) {
            *place = value;
        }
        let old = change.before.get(..width).unwrap_or_default();
        let new = change.row.get(..width).unwrap_or_default();
        triggers.note(Event::Update, (Some(old), Some(new)), set, with)
    }

    /// Returns all columns of a row after the change.
    ///
    /// # Errors
    /// Evaluation errors; a value that does not fit its column.
    pub fn changed(
        &self,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        Ok(self
            .computed(row, with, Found::Key(Vec::new()), self.width)?
            .row)
    }

    /// The change of the row with a key, with all columns after it.
    ///
    /// # Errors
    /// Evaluation errors; a value that does not fit its column.
    pub fn of_given(
        &self,
        source: &dyn Source,
        row: &dyn InputRow,
        with: &Environment<'_>,
        key: Vec<Value>,
    ) -> Result<Change, SqlError> {
        if let Some(claims) = &with.context.claims {
            let table = TableId::of(source.definitions(), self.number);
            claims.changes(table, &key_of_row(&key), self.row_mode());
        }
        self.of_row(source, row, with, Found::Key(key), self.width)
    }

    /// Changes the given row. Returns the change, with all columns after it.
    ///
    /// # Errors
    /// Evaluation and write errors.
    pub fn apply_to(
        &self,
        tx: &mut dyn WriteTarget,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Change, SqlError> {
        let key = columns_of(row, &self.key)?;
        let change = self.of_given(&*tx, row, with, key)?;
        if change.is_left_out {
            return Ok(change);
        }
        self.apply(tx, std::slice::from_ref(&change), with)?;
        Ok(change)
    }

    /// Makes changes of several rows, and of those that follow them.
    ///
    /// # Errors
    /// Write errors.
    pub fn apply(
        &self,
        tx: &mut dyn WriteTarget,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        self.apply_before_others(tx, changes, with)?;
        self.follow(tx, changes, with)
    }

    /// Makes changes of several rows. Those that refer to them [follow](Changes::follow) later.
    ///
    /// # Errors
    /// Write errors.
    pub fn apply_before_others(
        &self,
        tx: &mut dyn WriteTarget,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        // Unique values can be exchanged only between several rows.
        let before = (self.may_collide && changes.len() > 1).then(|| tx.savepoint());
        let mut done = self.apply_in_place(tx, changes, with);
        if let Some(before) = before {
            if matches!(&done, Err(error) if error.code == code::UNIQUE) {
                tx.rollback_to(before)?;
                done = self.replace(tx, changes.iter().filter_map(keyed), with);
            }
            // Until the savepoint is released, the transaction keeps all changes to undo them.
            tx.release(before)?;
        }
        done
    }

    /// Changes the rows that refer to a changed key.
    ///
    /// # Errors
    /// As [`Cascade::follow`].
    pub fn follow(
        &self,
        tx: &mut dyn WriteTarget,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        for cascade in &self.cascades {
            let keys = changes.iter();
            let keys = keys.map(|change| (&*change.before, &*change.row));
            cascade.follow(tx, keys, with)?;
        }
        Ok(())
    }

    /// Changes the rows one by one, except those that get another primary key.
    fn apply_in_place(
        &self,
        tx: &mut dyn WriteTarget,
        changes: &[Change],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let mut moved = Vec::new();
        for change in changes {
            with.context.look_at_row()?;
            let mut new_key = self.key.iter().map(|column| change.row.get(*column));
            if let Found::Key(key) = &change.found
                && self.moves
                && !new_key.by_ref().eq(key.iter().map(Some))
            {
                moved.push((key, change));
                continue;
            }
            let mut writer = RowWriter::new(self.width);
            for (column, value) in &change.values {
                writer.set(*column, value.as_ref());
            }
            let updated = match &change.found {
                Found::At(address) => tx.update_at(self.number, *address, &writer),
                Found::Key(key) => tx.update(self.number, key, &writer).map(drop),
            };
            updated.map_err(|error| self.failed(tx, change, error.into(), with))?;
        }
        self.replace(tx, moved.into_iter(), with)
    }

    /// Takes all rows out before the first is put back changed, so that keys may be exchanged.
    fn replace<'c>(
        &self,
        tx: &mut dyn WriteTarget,
        changes: impl Iterator<Item = (&'c Vec<Value>, &'c Change)>,
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        let mut rows = Vec::new();
        for (key, change) in changes {
            with.context.look_at_row()?;
            rows.extend(self.changed_row(tx, change)?);
            tx.take(self.number, key)?;
        }
        for row in rows {
            with.context.look_at_row()?;
            insert_whole(tx, self.number, &row).map_err(|error| {
                let mut row = row;
                match ColumnValue::fill(&self.generated, &mut row, with) {
                    Ok(()) => with_row(error, self.columns.iter(), &row),
                    Err(_) => error,
                }
            })?;
        }
        Ok(())
    }

    /// All columns of a row after the change, by number.
    fn changed_row(
        &self,
        tx: &mut dyn WriteTarget,
        change: &Change,
    ) -> Result<Option<Vec<Value>>, SqlError> {
        let mut there = None;
        let mut each = |row: &dyn InputRow| {
            there = Some(whole_row(row, self.width)?);
            Ok(false)
        };
        match &change.found {
            Found::At(address) => tx.at(self.number, *address, &mut each)?,
            Found::Key(key) => tx.point(self.number, key, &mut each)?,
        }
        let Some(mut row) = there else {
            return Ok(None);
        };
        for (number, value) in &change.values {
            row[*number] = value.clone();
        }
        Ok(Some(row))
    }

    /// Adds the row that could not be stored to the error, for those errors in which PostgreSQL shows it.
    #[cold]
    fn failed(
        &self,
        tx: &mut dyn WriteTarget,
        change: &Change,
        error: SqlError,
        with: &Environment<'_>,
    ) -> SqlError {
        match self.changed_row(tx, change) {
            Ok(Some(mut row)) => {
                if ColumnValue::fill(&self.generated, &mut row, with).is_err() {
                    return error;
                }
                let error = conditions_first(tx, self.number, &row, error);
                with_row(error, self.columns.iter(), &row)
            }
            _ => error,
        }
    }
}
