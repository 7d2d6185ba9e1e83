//! `INSERT` run in a transaction: rows are completed, stored and returned.

use super::arbiters::Arbiters;
use super::changes::Changes;
use super::effects::{Effect, Gathered, Touched, apply_all};
use super::insert::{Conflict, InsertPlan, InsertRows, Target};
use super::output::Output;
use super::triggers::Event;
use super::write::{check_whole, insert_whole, whole_row, with_row};
use crate::claims::TableId;
use crate::error::{SqlError, Violation, code};
use crate::expression::{Environment, Expr, Kept};
use crate::indexed::ColumnValue;
use crate::memory::Memory;
use crate::rows::{InputRow, Table, Values};
use crate::source::Source;
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::cast;
use crate::values::equality_keys::key_of;
use crate::values::objects;
use crate::write_target::WriteTarget;
use sardonyx::schema::{PRIMARY, Value, ValueRef};
use std::collections::HashSet;

impl InsertPlan {
    /// Runs the statement. Returns the number of rows that it inserted or changed, and the rows of `RETURNING`.
    ///
    /// # Errors
    /// Evaluation, read and write errors.
    pub fn run(
        &self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        self.note(&*tx, with);
        if self.asks_beside_rows {
            return self.run_at_once(tx, with);
        }
        let mut inserting = Inserting::of(self, with);
        match &self.rows {
            InsertRows::Values(rows) if self.has_subqueries => {
                // Subqueries see none of the inserted rows.
                for row in self.made(&*tx, with)? {
                    inserting.insert(tx, row)?;
                }
            }
            InsertRows::Values(rows) => {
                for given in rows {
                    let row = self.values_of(given, &Values(&[]), with)?;
                    inserting.insert(tx, row)?;
                }
            }
            InsertRows::Query(select, places) => {
                let found = select.run(&*tx, with)?;
                let width = found.width.max(1);
                for given in found.values.chunks(width) {
                    let row = self.row_of(given, places, with)?;
                    inserting.insert(tx, row)?;
                }
            }
        }
        Ok((inserting.count, inserting.table))
    }

    /// Notes for `LOCK TABLE` that the transaction inserts rows, and reads the names of tables that they need.
    fn note(&self, source: &dyn Source, with: &Environment<'_>) {
        if self.names_tables {
            with.know_tables(source);
        }
        if let Some(claims) = &with.context.claims {
            claims.inserts(TableId::of(source.definitions(), self.number));
        }
    }

    /// Finds out all changes before the first is made.
    fn run_at_once(
        &self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
    ) -> Result<(u64, Table), SqlError> {
        let mut arbiters = Arbiters::of(std::iter::once(self), with.memory());
        let changed = (&mut arbiters, &mut Touched::of(&[]));
        let done = self.gather(tx, with, changed)?;
        apply_all(tx, &done.effects, with)?;
        Ok((done.count, done.table))
    }

    /// The rows, before any of them is inserted.
    fn made(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
    ) -> Result<Vec<Vec<Value>>, SqlError> {
        if self.names_tables {
            with.know_tables(source);
        }
        let mut memory = with.memory();
        let mut made = Vec::new();
        match &self.rows {
            InsertRows::Values(rows) => {
                let own = Kept::default();
                let reading = &with.over(source, with.kept(&own));
                for given in rows {
                    with.context.look_at_row()?;
                    let row = self.values_of(given, &Values(&[]), reading)?;
                    memory.take(&row)?;
                    made.push(row);
                }
            }
            InsertRows::Query(select, places) => {
                let found = select.run(source, with)?;
                let width = found.width.max(1);
                for given in found.values.chunks(width) {
                    with.context.look_at_row()?;
                    let row = self.row_of(given, places, with)?;
                    memory.take(&row)?;
                    made.push(row);
                }
            }
        }
        memory.keep();
        Ok(made)
    }

    /// Finds out the rows as a part of a statement. With `ON CONFLICT` the result depends on the changes of the parts
    /// before, too.
    ///
    /// # Errors
    /// Evaluation and read errors.
    pub fn gather<'p>(
        &'p self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
        changed: (&mut Arbiters<'p, '_>, &mut Touched),
    ) -> Result<Gathered<'p>, SqlError> {
        let mut rows = self.made(&*tx, with)?;
        // Changes read nothing of the state before.
        let alone = &Environment {
            of_parts: None,
            ..*with
        };
        // Subqueries of `ON CONFLICT` and `RETURNING` do.
        let own = Kept::default();
        let kept = with.kept(&own);
        if self.conflict.is_some() && self.triggers.is_some() {
            return Err(SqlError::unsupported(
                "ON CONFLICT on a table with triggers is not supported in WITH, or beside subqueries in RETURNING and SET",
            ));
        }
        if self.conflict.is_some() {
            return self.decide(tx, (alone, kept), rows, changed);
        }
        let mut inserting = Inserting::of(self, alone);
        let mut kept_rows = Vec::with_capacity(rows.len());
        for mut row in std::mem::take(&mut rows) {
            with.context.look_at_row()?;
            if self.shows_rows {
                ColumnValue::fill(&self.generated, &mut row, with)?;
            }
            if !self.admits(&*tx, &mut row, with)? {
                continue;
            }
            inserting.inserted(&row, &alone.over(&*tx, kept))?;
            self.fire(&row, with)?;
            kept_rows.push(row);
        }
        rows = kept_rows;
        Ok(Gathered {
            count: inserting.count,
            table: inserting.table,
            effects: vec![Effect::Insert(self, rows)],
        })
    }

    /// Runs the triggers before a row is inserted, which may change it. Returns false if it is left out.
    fn admits(
        &self,
        source: &dyn Source,
        row: &mut Vec<Value>,
        with: &Environment<'_>,
    ) -> Result<bool, SqlError> {
        let Some(triggers) = &self.triggers else {
            return Ok(true);
        };
        let rows = (None, Some(&row[..]));
        let given = triggers.before(source, Event::Insert, rows, None, with)?;
        let is_admitted = given.is_some();
        *row = given.unwrap_or_default();
        Ok(is_admitted)
    }

    /// Notes a row for the triggers that run after it was inserted.
    fn fire(&self, row: &[Value], with: &Environment<'_>) -> Result<(), SqlError> {
        match &self.triggers {
            Some(triggers) => triggers.note(Event::Insert, (None, Some(row)), None, with),
            None => Ok(()),
        }
    }

    /// Stores whole rows, which get their hidden numbers.
    ///
    /// # Errors
    /// Write errors.
    pub fn store(
        &self,
        tx: &mut dyn WriteTarget,
        rows: &[Vec<Value>],
        with: &Environment<'_>,
    ) -> Result<(), SqlError> {
        self.note(&*tx, with);
        let mut inserting = Inserting::of(self, with);
        for row in rows {
            with.context.look_at_row()?;
            let mut row = row.clone();
            inserting.number(tx, &mut row)?;
            insert_whole(tx, self.number, &row).map_err(|error| inserting.failed(error, &row))?;
        }
        Ok(())
    }

    /// A row of given expressions over a row that is read, and of defaults.
    ///
    /// # Errors
    /// Evaluation errors; a value that does not fit its column.
    pub fn values_of(
        &self,
        given: &[Option<Expr>],
        read: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut row = vec![Value::Null; self.width];
        for ((column, default), given) in self.columns.iter().zip(given) {
            let given = given.as_ref().unwrap_or(default);
            let value = given.evaluate(read, with)?.into_value();
            row[column.number] = column.fit(value)?;
        }
        Ok(row)
    }

    fn row_of(
        &self,
        given: &[Value],
        places: &[(usize, SqlType)],
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut row = vec![Value::Null; self.width];
        for (place, (column, default)) in self.columns.iter().enumerate() {
            let at = places.iter().position(|(target, _)| *target == place);
            let value = match at {
                Some(at) => convert(given[at].as_ref(), places[at].1, column.spec)?,
                None => default.constant(with)?,
            };
            row[column.number] = column.fit(value)?;
        }
        Ok(row)
    }

    /// Completes a row from values of the columns at these places, each of its column's type: for `COPY`.
    ///
    /// # Errors
    /// Errors of [`InsertPlan::run`].
    pub fn complete(
        &self,
        given: Vec<(usize, Value)>,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut places: Vec<Option<Value>> = vec![None; self.columns.len()];
        for (place, value) in given {
            places[place] = Some(value);
        }
        let mut row = vec![Value::Null; self.width];
        for ((column, default), given) in self.columns.iter().zip(places) {
            let value = match given {
                Some(value) if column.beyond_sql().is_some() => value,
                Some(value) => convert(value.as_ref(), column.spec.kind, column.spec)
                    .map_err(|error| error.of_column(&column.name))?,
                None => default.constant(with)?,
            };
            row[column.number] = column.fit(value)?;
        }
        Ok(row)
    }

    /// Inserts whole rows. If a row cannot be stored, `failed` is called with its number and the error; the error that
    /// it returns ends the insertion.
    ///
    /// # Errors
    /// Errors of `failed`.
    pub fn insert_rows(
        &self,
        tx: &mut dyn WriteTarget,
        with: &Environment<'_>,
        rows: impl Iterator<Item = Result<Vec<Value>, SqlError>>,
        failed: &mut dyn FnMut(usize, SqlError) -> Result<(), SqlError>,
    ) -> Result<u64, SqlError> {
        self.note(&*tx, with);
        let mut inserting = Inserting::of(self, with);
        for (number, row) in rows.enumerate() {
            row.and_then(|row| inserting.insert(tx, row))
                .or_else(|error| failed(number, error))?;
        }
        Ok(inserting.count)
    }
}

fn convert(value: ValueRef<'_>, from: SqlType, to: TypeSpec) -> Result<Value, SqlError> {
    // The query's rows are in the form that clients see.
    if let ValueRef::Bytes(shown) = value
        && from.is_object()
        && !to.kind.is_text()
    {
        return convert(ValueRef::Int(objects::number(shown)), from, to);
    }
    match from == to.kind && to.modifier < 0 && from != SqlType::Char {
        true => Ok(value.to_value()),
        false => cast(value, from, to, false),
    }
}

/// Rows on their way into a table, and the rows of `RETURNING`.
pub(super) struct Inserting<'p, 'e> {
    plan: &'p InsertPlan,
    with: &'e Environment<'e>,
    /// The number of the next row, if the key is hidden.
    next_row: Option<i128>,
    pub count: u64,
    memory: Memory<'static>,
    /// The keys of the rows that the statement inserted or changed, if it may conflict with one of them.
    touched: HashSet<Vec<u8>>,
    pub table: Table,
}

impl<'p, 'e> Inserting<'p, 'e> {
    pub fn of(plan: &'p InsertPlan, with: &'e Environment<'e>) -> Self {
        Inserting {
            plan,
            with,
            next_row: None,
            count: 0,
            memory: Memory::default(),
            touched: HashSet::new(),
            table: Table {
                width: plan.returning.as_ref().map_or(0, Output::width),
                ..Table::default()
            },
        }
    }

    /// Gives the row its hidden number, if it has one.
    pub fn number(&mut self, tx: &dyn WriteTarget, row: &mut [Value]) -> Result<(), SqlError> {
        if let Some(column) = self.plan.hidden {
            let number = match self.next_row {
                Some(number) => number,
                None => next_row(tx, self.plan.number, column)?,
            };
            self.next_row = Some(number + 1);
            row[column] = Value::Int(number);
        }
        Ok(())
    }

    fn insert(&mut self, tx: &mut dyn WriteTarget, mut row: Vec<Value>) -> Result<(), SqlError> {
        self.with.context.look_at_row()?;
        self.number(&*tx, &mut row)?;
        if self.plan.shows_rows {
            ColumnValue::fill(&self.plan.generated, &mut row, self.with)?;
        }
        if !self.plan.admits(&*tx, &mut row, self.with)? {
            return Ok(());
        }
        if let Some(conflict) = &self.plan.conflict {
            let checked = check_whole(tx, self.plan.number, &row);
            checked.map_err(|error| self.failed(error, &row))?;
            if let Some((changes, condition)) = &conflict.update
                && let Some(target) = &conflict.target
                && let Some(there) = found(&*tx, self.plan, target, &row)?
            {
                return self.update(tx, there, &row, changes, condition.as_ref());
            }
            return match insert_whole(tx, self.plan.number, &row) {
                Ok(()) => {
                    self.plan.fire(&row, self.with)?;
                    self.inserted(&row, self.with)
                }
                Err(error) if conflict.takes(&error) => Ok(()),
                // The index that decides goes before others, in which the row may collide, too.
                Err(error)
                    if error.code == code::UNIQUE && self.is_decided(&*tx, conflict, &row)? =>
                {
                    Ok(())
                }
                Err(error) => Err(self.failed(error, &row)),
            };
        }
        insert_whole(tx, self.plan.number, &row).map_err(|error| self.failed(error, &row))?;
        self.plan.fire(&row, self.with)?;
        self.inserted(&row, self.with)
    }

    /// True if a row collides in an index that decides conflicts.
    #[cold]
    fn is_decided(
        &self,
        source: &dyn Source,
        conflict: &Conflict,
        row: &[Value],
    ) -> Result<bool, SqlError> {
        let mut row = row.to_vec();
        ColumnValue::fill(&self.plan.generated, &mut row, self.with)?;
        for target in &conflict.arbiters {
            if found(source, self.plan, target, &row)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The error of a row that is not stored, with the row if PostgreSQL shows it.
    #[cold]
    pub fn failed(&self, error: SqlError, row: &[Value]) -> SqlError {
        let mut row = row.to_vec();
        if ColumnValue::fill(&self.plan.generated, &mut row, self.with).is_err() {
            return error;
        }
        with_row(
            error,
            self.plan.columns.iter().map(|(column, _)| column),
            &row,
        )
    }

    fn update(
        &mut self,
        tx: &mut dyn WriteTarget,
        mut there: Vec<Value>,
        row: &[Value],
        changes: &'p Changes,
        condition: Option<&Expr>,
    ) -> Result<(), SqlError> {
        if self.touched.contains(&self.key_of(&there)) {
            return Err(twice());
        }
        there.extend_from_slice(row);
        if let Some(condition) = condition
            && !condition.holds(&Values(&there), self.with)?
        {
            return Ok(());
        }
        let changed = changes.apply_to(tx, &Values(&there), self.with)?;
        if changed.is_left_out {
            return Ok(());
        }
        self.inserted(&changed.row, self.with)
    }

    fn touch_row(&mut self, row: &[Value]) -> Result<(), SqlError> {
        let key = self.key_of(row);
        self.memory.take_bytes(key.len() + size_of::<Vec<u8>>())?;
        self.touched.insert(key);
        Ok(())
    }

    fn key_of(&self, row: &[Value]) -> Vec<u8> {
        let mut key = Vec::new();
        for column in &self.plan.key {
            key_of(row[*column].as_ref(), &mut key);
        }
        key
    }

    /// Counts a row that was inserted or changed, and takes it for `RETURNING`.
    pub fn inserted(&mut self, row: &[Value], with: &Environment<'_>) -> Result<(), SqlError> {
        self.count += 1;
        let changes = self.plan.conflict.as_ref().map(|of| of.update.is_some());
        if changes == Some(true) {
            self.touch_row(row)?;
        }
        if let Some(output) = &self.plan.returning {
            let from = self.table.values.len();
            output.push_shown(&Values(row), with, &mut self.table.values)?;
            self.memory.take(&self.table.values[from..])?;
            self.table.rows += 1;
        }
        Ok(())
    }
}

impl Conflict {
    /// True if an error is a conflict with the target.
    fn takes(&self, error: &SqlError) -> bool {
        let is_it = |target: &Target| {
            matches!(error.violation(), Some(Violation::Key { index, .. }) if match index.as_deref() {
                // The index of an ordered primary key has a name, too.
                None | Some(PRIMARY) => target.index.is_none(),
                index => target.index.as_deref() == index,
            })
        };
        self.update.is_none()
            && error.code == code::UNIQUE
            && self.target.as_ref().is_none_or(is_it)
    }
}

/// That a row is to be changed twice.
#[cold]
pub(super) fn twice() -> SqlError {
    SqlError::new(
        code::CARDINALITY_VIOLATION,
        "ON CONFLICT DO UPDATE command cannot affect row a second time",
    )
    .hint("Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")
}

/// The existing row with the key of a new one.
pub(super) fn found(
    source: &dyn Source,
    plan: &InsertPlan,
    target: &Target,
    row: &[Value],
) -> Result<Option<Vec<Value>>, SqlError> {
    let key: Vec<Value> = target
        .columns
        .iter()
        .map(|column| row[*column].clone())
        .collect();
    if !target.nulls_equal && key.contains(&Value::Null) {
        return Ok(None);
    }
    let mut there = None;
    let mut each = |row: &dyn crate::rows::InputRow| {
        there = Some(whole_row(row, plan.width)?);
        Ok(false)
    };
    match &target.index {
        None => source.point(plan.number, &key, &mut each)?,
        Some(index) => source.first(plan.number, index, &key, &mut each)?,
    }
    Ok(there)
}

/// The number after the last row's number.
fn next_row(tx: &dyn WriteTarget, number: u16, column: usize) -> Result<i128, SqlError> {
    let mut last = 0;
    let range = crate::source::KeyRange {
        lower: std::ops::Bound::Unbounded,
        upper: std::ops::Bound::Unbounded,
        backward: true,
    };
    tx.range(number, sardonyx::schema::PRIMARY, &range, &mut |row| {
        if let ValueRef::Int(value) = row.value(column)? {
            last = value;
        }
        Ok(false)
    })?;
    Ok(last + 1)
}
