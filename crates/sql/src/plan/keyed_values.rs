//! Values of correlated scalar subqueries, such as `(select avg(x) from t where t.k = outer.k)`. The subquery is run
//! once for the statement, grouped by the expressions that must equal the outer values. Its answers are found by a
//! hash, instead of reading its rows for each outer row.
//!
//! The first evaluations run the subquery itself. All evaluations do so if its answers take too much memory. The same
//! holds if an answer cannot be computed, since it may never be needed.
//!
//! Source: W. Kim, On Optimizing an SQL-like Nested Query, ACM TODS 7(3), 1982. That method is wrong for `count` of an
//! empty group, so the value of an empty group is computed here.

use super::choice::all_of;
use super::draft::Draft;
use super::semi_join::{Parts, asks, unnamed};
use super::tree::SelectPlan;
use crate::aggregate::{Accumulator, Aggregate, Grouping};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Expr, KeyedAnswers, Progress, Question, Reading};
use crate::hashing::{HashTable, hash_of_row};
use crate::memory::bytes_of;
use crate::rows::Values;
use sardonyx::schema::Value;
use sardonyx_rows::condition::compare;
use std::rc::Rc;

/// The number of evaluations that run the subquery itself before it is run for all values. Running it for all values
/// reads each row once, and takes several times as long as one evaluation.
const ASKED_BEFORE: u32 = 2;

/// A subquery whose answers are found by a hash.
#[derive(Debug)]
pub(crate) struct KeyedValues {
    /// Returns the keys and the value. It has no outer columns.
    plan: SelectPlan,
    /// The expressions over the subquery's arguments that equal the keys.
    keys: Vec<Expr>,
    aggregates: Vec<Aggregate>,
    /// The value, over the values of the aggregates.
    value: Expr,
}

impl KeyedValues {
    /// The keyed values of a scalar subquery, if it aggregates all of its rows, and these are found by equal values.
    pub fn of(draft: &Draft, question: &Question) -> Option<KeyedValues> {
        let (Question::Value, Some(grouping), [item]) =
            (question, &draft.grouping, draft.items.as_slice())
        else {
            return None;
        };
        let is_cut = draft.limit.is_some() || draft.offset.is_some() || draft.having.is_some();
        if is_cut || !grouping.keys.is_empty() || !draft.distinct_on.is_empty() {
            return None;
        }
        let aggregates = &grouping.aggregates;
        let parts = aggregates.iter().flat_map(Aggregate::parts);
        let value = &item.typed.expr;
        if parts
            .chain([value])
            .any(|part| asks(part) || !part.is_plain())
        {
            return None;
        }
        if !draft.locks.tables.is_empty() {
            return None;
        }
        let parts = Parts::of(draft.condition.as_ref())?;
        if parts.keys.is_empty() || !parts.both.is_empty() {
            return None;
        }
        let (own, keys): (Vec<Expr>, Vec<Expr>) = parts.keys.into_iter().unzip();
        let mut given: Vec<Expr> = (0..own.len()).map(Expr::Column).collect();
        let mut behind = value.clone();
        behind.replace_columns(&|place| Expr::Column(own.len() + place));
        given.push(behind);
        let plan = Draft {
            from: Some(draft.from.as_ref()?.by_itself()?),
            table: draft.table.clone(),
            scope: draft.scope.clone(),
            condition: all_of(parts.own),
            grouping: Some(Grouping::by_values(own, aggregates.clone())),
            items: given.into_iter().map(unnamed).collect(),
            has_subqueries: draft.has_subqueries,
            ..Draft::default()
        };
        Some(KeyedValues {
            plan: plan.finish(),
            keys,
            aggregates: aggregates.clone(),
            value: value.clone(),
        })
    }

    /// The value for the outer values, if it is to be found by a hash now.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn value(
        &self,
        number: usize,
        reading: &Reading<'_>,
        asked: &Environment<'_>,
    ) -> Result<Option<Value>, SqlError> {
        let Some(answers) = self.answers(number, reading, asked)? else {
            return Ok(None);
        };
        let mut sought = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            sought.push(key.constant(asked)?);
        }
        let Some(hash) = hash_of_row(&sought) else {
            return self.of_no_rows(asked).map(Some);
        };
        let mut found = answers.found(hash, &sought);
        match (found.next(), found.next()) {
            (Some(value), None) => Ok(Some(value.clone())),
            (None, _) => self.of_no_rows(asked).map(Some),
            // A float equals several decimals: the value would be that of all their rows.
            (Some(_), Some(_)) => Ok(None),
        }
    }

    fn of_no_rows(&self, with: &Environment<'_>) -> Result<Value, SqlError> {
        let mut values = Vec::with_capacity(self.aggregates.len());
        for of in &self.aggregates {
            values.push(Accumulator::new(of).finish(of, with)?);
        }
        Ok(self.value.evaluate(&Values(&values), with)?.into_value())
    }

    fn answers(
        &self,
        number: usize,
        reading: &Reading<'_>,
        with: &Environment<'_>,
    ) -> Result<Option<Rc<KeyedAnswers>>, SqlError> {
        let all = &reading.kept.keyed_values;
        let progress = all.borrow().get(&number).cloned();
        let asked = match progress {
            Some(Progress::Read(answers)) => return Ok(Some(answers)),
            Some(Progress::NotKept) => return Ok(None),
            Some(Progress::Asked(before)) => before,
            None => 0,
        };
        if asked < ASKED_BEFORE {
            all.borrow_mut().insert(number, Progress::Asked(asked + 1));
            return Ok(None);
        }
        let (progress, answers) = match self.read(reading, with) {
            Ok(answers) => {
                let answers = Rc::new(answers);
                (Progress::Read(answers.clone()), Some(answers))
            }
            Err(error) if error.code == code::OUT_OF_MEMORY || error.code.starts_with("22") => {
                (Progress::NotKept, None)
            }
            Err(error) => return Err(error),
        };
        all.borrow_mut().insert(number, progress);
        Ok(answers)
    }

    fn read(
        &self,
        reading: &Reading<'_>,
        with: &Environment<'_>,
    ) -> Result<KeyedAnswers, SqlError> {
        let mut answers = KeyedAnswers {
            width: self.plan.output.width(),
            ..KeyedAnswers::default()
        };
        let mut memory = with.memory();
        let alone = Environment {
            outer: &[],
            ..*with
        };
        let keys = self.keys.len();
        self.plan
            .rows(reading.source, &alone, u64::MAX, &mut |row| {
                // A null equals nothing.
                if let Some(hash) = hash_of_row(&row[..keys]) {
                    memory.take_bytes(bytes_of(row) + HashTable::PLACE_BYTES)?;
                    answers.table.push(hash);
                    answers.values.append(row);
                }
                row.clear();
                Ok(true)
            })?;
        memory.keep();
        Ok(answers)
    }
}

impl KeyedAnswers {
    /// The values whose keys equal these.
    fn found<'r>(&'r self, hash: u64, sought: &'r [Value]) -> impl Iterator<Item = &'r Value> + 'r {
        let rows = self.table.found(hash);
        let rows = rows.filter_map(|at| self.values[at * self.width..][..self.width].split_last());
        let rows = rows.filter(move |(_, keys)| {
            let mut pairs = keys.iter().zip(sought);
            pairs.all(|(there, sought)| {
                compare(there.as_ref(), sought.as_ref()).is_some_and(|order| order.is_eq())
            })
        });
        rows.map(|(value, _)| value)
    }
}
