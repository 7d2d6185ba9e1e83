//! Subqueries in expressions, run: scalar subqueries, `EXISTS`, and comparisons with the rows.
//!
//! A subquery is called with values ([`Subquery::arguments`]) of the row around it, or of rows around that one. Its
//! answer is kept with these values, and computed again only when they change. A subquery without arguments is computed
//! once for a statement. Answers, and the rows of queries that `WITH` names, count against the statement's memory
//! limit.
//!
//! Source: SQL:2016, part 2, 7.19 (table value constructors and subqueries), 8.9 (quantified comparisons).

use super::draft::Draft;
use super::keyed_values::KeyedValues;
use super::semi_join::SemiJoin;
use super::tree::{SelectPlan, SharedQuery};
use crate::error::{SqlError, code};
use crate::expression::{
    Answer, Compared, Drafted, Environment, Expr, Found, InnerQuery, Kept, Question, Reading,
    Subquery, are_same,
};
use crate::hashing::{HashTable, hash_of_row};
use crate::memory::Memory;
use crate::rows::{InputRow, Table, Values};
use crate::source::Source;
use crate::types::TypeSpec;
use crate::values::arrays::{accumulated, made};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::condition::{compare, decided};
use std::any::Any;
use std::rc::Rc;
use std::sync::Arc;

impl Found {
    /// True if there is an equal row without nulls.
    fn has(&self, hash: u64, row: &[Value]) -> bool {
        let width = row.len();
        self.table.found(hash).any(|at| {
            let mut pairs = self.values[at * width..].iter().zip(row);
            pairs.all(|(there, value)| are_same(there.as_ref(), value.as_ref()))
        })
    }
}

/// The plan of a subquery's query.
#[derive(Debug)]
pub(crate) struct PlannedQuery {
    pub plan: SelectPlan,
    /// A semi-join that finds matching rows by a hash, if possible.
    pub semi_join: Option<SemiJoin>,
    /// A hash that finds the value, if possible.
    pub keyed_values: Option<KeyedValues>,
}

impl PlannedQuery {
    pub fn of(subquery: &Subquery) -> Option<&PlannedQuery> {
        let query: &dyn Any = &*subquery.query;
        query.downcast_ref()
    }

    fn asked<'s>(&'s self, subquery: &'s Subquery) -> Asking<'s> {
        Asking {
            query: self,
            subquery,
        }
    }
}

impl Drafted for Draft {
    fn columns(&self) -> Vec<TypeSpec> {
        self.items.iter().map(|item| item.typed.spec).collect()
    }

    fn planned(self: Box<Self>, question: &Question, asks: bool) -> Arc<dyn InnerQuery> {
        let mut draft = *self;
        // A subquery without arguments is run once for a statement.
        let (semi_join, keyed_values) = match asks {
            true => (
                SemiJoin::of(&draft, question),
                KeyedValues::of(&draft, question),
            ),
            false => (None, None),
        };
        if *question == Question::Exists {
            draft.only_exists();
        }
        let plan = draft.finish();
        // An index finds the few rows for the arguments.
        let has_few = plan.input.is_found_by_asking();
        Arc::new(PlannedQuery {
            plan,
            semi_join: semi_join.filter(|_| !has_few),
            keyed_values: keyed_values.filter(|_| !has_few),
        })
    }
}

impl InnerQuery for PlannedQuery {
    fn value(
        &self,
        subquery: &Subquery,
        row: &dyn InputRow,
        with: &Environment<'_>,
    ) -> Result<Value, SqlError> {
        self.asked(subquery).value(row, with)
    }

    fn equal_values(
        &self,
        subquery: &Subquery,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        self.asked(subquery).equal_values(with)
    }

    fn count_equal(&self, subquery: &Subquery, with: &Environment<'_>) -> Result<usize, SqlError> {
        self.asked(subquery).count_equal(with)
    }

    fn is_volatile(&self) -> bool {
        self.plan.output.expressions.iter().any(Expr::is_volatile)
    }
}

/// A subquery in one evaluation.
struct Asking<'s> {
    query: &'s PlannedQuery,
    subquery: &'s Subquery,
}

impl Asking<'_> {
    /// The answer for a row.
    ///
    /// # Errors
    /// Evaluation errors; `21000` if a scalar subquery returns several rows.
    fn value(&self, row: &dyn InputRow, with: &Environment<'_>) -> Result<Value, SqlError> {
        let reading = self.reading(with)?;
        let mut arguments = Vec::with_capacity(self.subquery.arguments.len());
        for argument in &self.subquery.arguments {
            arguments.push(argument.evaluate(row, with)?.into_value());
        }
        let answer = match reading.kept.answer(self.subquery.number, &arguments) {
            Some(answer) => answer,
            None => {
                let inside = Environment {
                    outer: &arguments,
                    ..*with
                };
                if let Some(semi_join) = &self.query.semi_join
                    && let Some(rows) = semi_join.rows(self.subquery.number, &reading, with)?
                {
                    let left = self.left(row, with)?;
                    let truth = semi_join.truth(&rows, left, &inside)?;
                    return Ok(truth.map_or(Value::Null, Value::Bool));
                }
                if let Some(keyed_values) = &self.query.keyed_values
                    && let Some(value) =
                        keyed_values.value(self.subquery.number, &reading, &inside)?
                {
                    return Ok(value);
                }
                self.kept_answer(reading, arguments.clone(), with)?
            }
        };
        match (&*answer, &self.subquery.question) {
            (Answer::Value(value), _) => Ok(value.clone()),
            (Answer::Row(values), Question::Column(place)) => {
                Ok(values.get(*place).cloned().unwrap_or(Value::Null))
            }
            (Answer::Row(_), _) => Ok(Value::Null),
            (Answer::Rows(found), Question::Compared(compared)) => {
                let left = self.left(row, with)?;
                Ok(compared
                    .truth(&left, found)
                    .map_or(Value::Null, Value::Bool))
            }
            (Answer::Rows(found), _) => Ok(Value::Bool(found.count > 0)),
        }
    }

    fn reading<'e>(&self, with: &Environment<'e>) -> Result<Reading<'e>, SqlError> {
        with.reading.ok_or_else(|| {
            SqlError::unsupported("a subquery is not supported here: no table is read")
        })
    }

    /// Runs it with arguments, and keeps the answer for the next call with the same arguments.
    fn kept_answer(
        &self,
        reading: Reading<'_>,
        arguments: Vec<Value>,
        with: &Environment<'_>,
    ) -> Result<Rc<Answer>, SqlError> {
        let inside = Environment {
            outer: &arguments,
            ..*with
        };
        let answer = Rc::new(self.answer(reading, &inside)?);
        reading
            .kept
            .keep(self.subquery.number, arguments, answer.clone())?;
        Ok(answer)
    }

    /// The distinct values of its rows, if the question is equality with one of them.
    ///
    /// # Errors
    /// Evaluation errors.
    fn equal_values(&self, with: &Environment<'_>) -> Result<Vec<Value>, SqlError> {
        match &*self.constant_answer(with)? {
            Answer::Rows(found) => Ok(found.values.clone()),
            Answer::Value(_) | Answer::Row(_) => Ok(Vec::new()),
        }
    }

    /// The number of these values.
    ///
    /// # Errors
    /// Evaluation errors.
    fn count_equal(&self, with: &Environment<'_>) -> Result<usize, SqlError> {
        match &*self.constant_answer(with)? {
            Answer::Rows(found) => Ok(found.values.len()),
            Answer::Value(_) | Answer::Row(_) => Ok(0),
        }
    }

    fn constant_answer(&self, with: &Environment<'_>) -> Result<Rc<Answer>, SqlError> {
        let reading = self.reading(with)?;
        let mut arguments = Vec::with_capacity(self.subquery.arguments.len());
        for argument in &self.subquery.arguments {
            arguments.push(argument.constant(with)?);
        }
        match reading.kept.answer(self.subquery.number, &arguments) {
            Some(answer) => Ok(answer),
            None => self.kept_answer(reading, arguments, with),
        }
    }

    /// The left side of the comparison with the rows.
    fn left(&self, row: &dyn InputRow, with: &Environment<'_>) -> Result<Vec<Value>, SqlError> {
        let Question::Compared(compared) = &self.subquery.question else {
            return Ok(Vec::new());
        };
        let mut left = Vec::with_capacity(compared.left.len());
        for part in &compared.left {
            left.push(part.evaluate(row, with)?.into_value());
        }
        Ok(left)
    }

    /// The only row of the query; without values, if it has none.
    ///
    /// # Errors
    /// Evaluation errors; `21000` if it has several rows.
    fn only_row(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
    ) -> Result<Vec<Value>, SqlError> {
        let mut only = None;
        self.query.plan.rows(source, with, 2, &mut |row| {
            if only.is_some() {
                return Err(SqlError::new(
                    code::CARDINALITY_VIOLATION,
                    "more than one row returned by a subquery used as an expression",
                ));
            }
            only = Some(std::mem::take(row));
            Ok(true)
        })?;
        Ok(only.unwrap_or_default())
    }

    fn answer(&self, reading: Reading<'_>, with: &Environment<'_>) -> Result<Answer, SqlError> {
        let source = reading.source;
        match &self.subquery.question {
            Question::Value => {
                let row = self.only_row(source, with)?;
                Ok(Answer::Value(
                    row.into_iter().next_back().unwrap_or(Value::Null),
                ))
            }
            Question::Column(_) => Ok(Answer::Row(self.only_row(source, with)?)),
            Question::Exists => {
                let mut any = false;
                self.query.plan.rows(source, with, 1, &mut |_| {
                    any = true;
                    Ok(false)
                })?;
                Ok(Answer::Value(Value::Bool(any)))
            }
            Question::Array(kind) => {
                let mut values = Vec::new();
                let mut memory = with.memory();
                self.query.plan.rows(source, with, u64::MAX, &mut |row| {
                    memory.take(row)?;
                    values.append(row);
                    Ok(true)
                })?;
                let values = values.iter().map(Value::as_ref);
                let array = match kind.element() {
                    Some(_) => accumulated(values)?,
                    None => made(*kind, values)?,
                };
                Ok(Answer::Value(array))
            }
            Question::Compared(compared) => {
                let mut found = Found::default();
                let mut memory = with.memory();
                self.query.plan.rows(source, with, u64::MAX, &mut |row| {
                    compared.add(row, with, &mut found, &mut memory)?;
                    Ok(true)
                })?;
                found.bytes = memory.bytes();
                Ok(Answer::Rows(found))
            }
        }
    }
}

impl Compared {
    fn add(
        &self,
        row: &[Value],
        with: &Environment<'_>,
        found: &mut Found,
        memory: &mut Memory<'_>,
    ) -> Result<(), SqlError> {
        found.count += 1;
        let mut values = Vec::with_capacity(self.right.len());
        for part in &self.right {
            values.push(part.evaluate(&Values(row), with)?.into_value());
        }
        if !self.has_keys() {
            memory.take(&values)?;
            found.values.append(&mut values);
            return Ok(());
        }
        let Some(hash) = hash_of_row(&values) else {
            found.has_null = true;
            if values.len() > 1 {
                memory.take(&values)?;
                found.with_nulls.append(&mut values);
            }
            return Ok(());
        };
        if !found.has(hash, &values) {
            memory.take(&values)?;
            memory.take_bytes(HashTable::PLACE_BYTES)?;
            found.table.push(hash);
            found.values.append(&mut values);
        }
        Ok(())
    }

    /// The result of the comparison for the values; `None` if it is null.
    fn truth(&self, left: &[Value], found: &Found) -> Option<bool> {
        if self.has_keys() {
            if found.count == 0 {
                return Some(false);
            }
            if let Some(hash) = hash_of_row(left) {
                if found.has(hash, left) {
                    return Some(true);
                }
                if !found.has_null {
                    return Some(false);
                }
            }
            if left.len() == 1 {
                return None;
            }
        }
        let width = left.len().max(1);
        let rows = found.values.chunks(width);
        let rows = rows.chain(found.with_nulls.chunks(width));
        decided(!self.is_all, rows.map(|row| self.compared(left, row)))
    }

    /// The comparison of two rows: of their only values, or the equality of all values.
    fn compared(&self, left: &[Value], right: &[Value]) -> Option<bool> {
        if let ([left], [right]) = (left, right) {
            let order = compare(left.as_ref(), right.as_ref())?;
            return Some(self.comparison.accepts(order));
        }
        let pairs = left.iter().zip(right);
        let equal =
            pairs.map(|(left, right)| Some(compare(left.as_ref(), right.as_ref())?.is_eq()));
        decided(false, equal)
    }
}

impl Kept {
    fn answer(&self, number: usize, arguments: &[Value]) -> Option<Rc<Answer>> {
        let answers = self.answers.borrow();
        let (asked, answer) = answers.get(&number)?;
        let mut pairs = asked.iter().zip(arguments);
        let same = pairs.all(|(before, now)| is_same(before.as_ref(), now.as_ref()));
        same.then(|| answer.clone())
    }

    fn keep(
        &self,
        number: usize,
        arguments: Vec<Value>,
        answer: Rc<Answer>,
    ) -> Result<(), SqlError> {
        let bytes_of = |answer: &Answer| match answer {
            Answer::Value(_) => 0,
            Answer::Row(values) => crate::memory::bytes_of(values),
            Answer::Rows(found) => found.bytes,
        };
        let more = bytes_of(&answer);
        let before = self
            .answers
            .borrow_mut()
            .insert(number, (arguments, answer));
        let less = before.map_or(0, |(_, answer)| bytes_of(&answer));
        let bytes = (self.spent.bytes.get() + more).saturating_sub(less);
        self.spent.bytes.set(bytes);
        crate::memory::check_bytes(bytes)
    }

    /// Keeps the rows of a part that writes, for those that read them.
    pub fn keep_part(&self, number: usize, rows: Table) {
        self.tables.borrow_mut().insert(number, Rc::new(rows));
    }

    /// The rows of a named query, computed once.
    ///
    /// # Errors
    /// Evaluation errors; `53200` if they take too much memory.
    pub fn table(
        &self,
        shared: &SharedQuery,
        source: &dyn Source,
        with: &Environment<'_>,
    ) -> Result<Rc<Table>, SqlError> {
        if let Some(table) = self.tables.borrow().get(&shared.number) {
            return Ok(table.clone());
        }
        let Some(plan) = &shared.plan else {
            let text = format!("the part \"{}\" of the statement has not run", shared.name);
            return Err(SqlError::new(code::INTERNAL, text));
        };
        let mut memory = with.memory();
        let mut table = Table {
            width: plan.output.width(),
            ..Table::default()
        };
        // The query reads nothing of the rows around it.
        let alone = Environment {
            outer: &[],
            ..*with
        };
        plan.rows(source, &alone, u64::MAX, &mut |row| {
            memory.take(row)?;
            table.values.append(row);
            table.rows += 1;
            Ok(true)
        })?;
        memory.keep();
        let table = Rc::new(table);
        let mut tables = self.tables.borrow_mut();
        tables.insert(shared.number, table.clone());
        Ok(table)
    }
}

impl Kept {
    /// Sets the rows that the step of a recursive query reads next.
    pub fn set_last_round(&self, number: usize, rows: Table) {
        self.last_rounds.borrow_mut().insert(number, Rc::new(rows));
    }

    /// The rows that the step of a recursive query reads.
    pub fn last_round(&self, number: usize) -> Option<Rc<Table>> {
        self.last_rounds.borrow().get(&number).cloned()
    }

    /// Ends a recursive query.
    pub fn end_rounds(&self, number: usize) {
        self.last_rounds.borrow_mut().remove(&number);
    }
}

/// True if two arguments are indistinguishable to a subquery: numbers must have the same digits, too.
fn is_same(a: ValueRef<'_>, b: ValueRef<'_>) -> bool {
    match (a, b) {
        (ValueRef::Decimal(..) | ValueRef::NonFinite(_), _)
        | (_, ValueRef::Decimal(..) | ValueRef::NonFinite(_)) => a == b,
        _ => are_same(a, b),
    }
}
