//! Semi-joins: `EXISTS` and `IN` of a correlated subquery. If the condition equates outer values with expressions over
//! the subquery's own rows, these rows are read once for the statement. A hash finds them for each outer row.
//!
//! The first evaluation runs the query itself, since a single evaluation ends at its first row. If the rows take too
//! much memory, all evaluations run the query itself.
//!
//! Source: hash semi-join and anti-join, as in every textbook; nulls: SQL:2016, part 2, 8.9 (quantified comparisons).

use super::access::{Access, Path};
use super::draft::{Draft, FromJoin, FromNode, FromTable};
use super::output::Item;
use super::tree::{Input, JoinNode, SelectPlan};
use crate::error::{SqlError, code};
use crate::expression::{
    Comparison, Environment, Expr, Kept, Progress, Question, Reading, SemiRows, Typed,
};
use crate::hashing::{HashTable, hash_of_row};
use crate::memory::bytes_of;
use crate::plan::choice::{all_of, parts_of};
use crate::plan::costs::tested;
use crate::rows::Values;
use crate::types::SqlType;
use sardonyx::schema::Value;
use sardonyx_rows::condition::compare;
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The number of evaluations that run the query itself, before its rows are kept.
const ASKED_BEFORE: u32 = 1;

/// A subquery whose rows are found by a hash.
#[derive(Debug)]
pub(crate) struct SemiJoin {
    /// Returns the keys, the compared values, and the values that the condition reads. It has no outer columns.
    pub plan: SelectPlan,
    /// The expressions over the subquery's arguments that equal the keys.
    pub keys: Vec<Expr>,
    /// The number of values after the keys, which are compared with the values before `IN`; 0 for `EXISTS`.
    pub compared: usize,
    /// The remaining condition on both.
    pub condition: Option<Expr>,
}

/// True if an expression reads an outer column.
pub(super) fn asks(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::Outer(_)))
}

fn reads(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::Column(_)))
}

fn is_volatile(expr: &Expr) -> bool {
    expr.any(&|part| matches!(part, Expr::Call(function, _) if function.is_volatile()))
}

/// The parts of a subquery's condition.
#[derive(Default)]
pub(super) struct Parts {
    /// Conditions on the query's own rows only.
    pub own: Vec<Expr>,
    /// Expressions over the query's own rows, with the outer expressions that they equal.
    pub keys: Vec<(Expr, Expr)>,
    pub both: Vec<Expr>,
}

impl Parts {
    pub fn of(condition: Option<&Expr>) -> Option<Parts> {
        let mut parts = Parts::default();
        for part in parts_of(condition.cloned()) {
            if is_volatile(&part) {
                return None;
            }
            if !asks(&part) {
                parts.own.push(part);
                continue;
            }
            if !part.is_plain() {
                return None;
            }
            match part {
                Expr::Compare(Comparison::Equal, sides) => {
                    let (left, right) = *sides;
                    match (reads(&left), asks(&left), reads(&right), asks(&right)) {
                        (true, false, false, true) => parts.keys.push((left, right)),
                        (false, true, true, false) => parts.keys.push((right, left)),
                        _ => {
                            let sides = Box::new((left, right));
                            parts.both.push(Expr::Compare(Comparison::Equal, sides));
                        }
                    }
                }
                other => parts.both.push(other),
            }
        }
        Some(parts)
    }
}

impl SemiJoin {
    /// The semi-join of a correlated subquery, if its rows can be found by a hash.
    pub fn of(draft: &Draft, question: &Question) -> Option<SemiJoin> {
        let compared = match question {
            Question::Exists => &[][..],
            Question::Compared(of) if of.comparison == Comparison::Equal && !of.is_all => &of.right,
            _ => return None,
        };
        // `LIMIT` keeps at least one row, if there are any.
        let is_cut = match &draft.limit {
            None => false,
            Some(Expr::Literal(Value::Int(1..))) => !compared.is_empty(),
            Some(_) => true,
        };
        let is_plain = draft.grouping.is_none()
            && draft.distinct_on.is_empty()
            && draft.locks.tables.is_empty();
        if is_cut || draft.offset.is_some() || !is_plain {
            return None;
        }
        let parts = Parts::of(draft.condition.as_ref())?;
        let mut items: Vec<Expr> = parts.keys.iter().map(|(own, _)| own.clone()).collect();
        for value in compared {
            let mut value = value.clone();
            value.replace_columns(&|place| match draft.items.get(place) {
                Some(item) => item.typed.expr.clone(),
                None => Expr::Column(place),
            });
            if asks(&value) || !value.is_plain() {
                return None;
            }
            items.push(value);
        }
        if items.is_empty() {
            return None;
        }
        let mut condition = tested(parts.both);
        let mut places = BTreeSet::new();
        if let Some(condition) = &mut condition {
            condition.walk(&mut |part| {
                if let Expr::Column(place) = part {
                    places.insert(*place);
                }
            });
            let first = items.len();
            let places: Vec<usize> = places.iter().copied().collect();
            condition.replace_columns(&|place| {
                Expr::Column(first + places.binary_search(&place).unwrap_or(0))
            });
        }
        items.extend(places.into_iter().map(Expr::Column));
        let plan = Draft {
            from: Some(draft.from.as_ref()?.by_itself()?),
            table: draft.table.clone(),
            scope: draft.scope.clone(),
            condition: all_of(parts.own),
            items: items.into_iter().map(unnamed).collect(),
            has_subqueries: draft.has_subqueries,
            ..Draft::default()
        };
        Some(SemiJoin {
            plan: plan.finish(),
            keys: parts.keys.into_iter().map(|(_, other)| other).collect(),
            compared: compared.len(),
            condition,
        })
    }

    /// The kept rows, if they are to be found by a hash now.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn rows(
        &self,
        number: usize,
        reading: &Reading<'_>,
        with: &Environment<'_>,
    ) -> Result<Option<Rc<SemiRows>>, SqlError> {
        let kept = reading.kept;
        match kept.progress(number) {
            Progress::Read(rows) => return Ok(Some(rows)),
            Progress::NotKept => return Ok(None),
            Progress::Asked(before) if before < ASKED_BEFORE => {
                kept.set_progress(number, Progress::Asked(before + 1));
                return Ok(None);
            }
            Progress::Asked(_) => {}
        }
        match self.read(reading, with) {
            Ok(rows) => {
                let rows = Rc::new(rows);
                kept.set_progress(number, Progress::Read(rows.clone()));
                Ok(Some(rows))
            }
            Err(error) if error.code == code::OUT_OF_MEMORY => {
                kept.set_progress(number, Progress::NotKept);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn read(&self, reading: &Reading<'_>, with: &Environment<'_>) -> Result<SemiRows, SqlError> {
        let mut rows = SemiRows {
            values: Vec::new(),
            width: self.plan.output.width(),
            whole: Default::default(),
            with_nulls: Default::default(),
            all: OnceCell::new(),
        };
        let mut memory = with.memory();
        let alone = Environment {
            outer: &[],
            ..*with
        };
        self.plan
            .rows(reading.source, &alone, u64::MAX, &mut |row| {
                if let Some(bytes) = self.add(row, &mut rows) {
                    memory.take_bytes(bytes)?;
                }
                Ok(true)
            })?;
        memory.keep();
        Ok(rows)
    }

    /// Adds a row. Returns the number of bytes that it takes.
    fn add(&self, row: &mut Vec<Value>, rows: &mut SemiRows) -> Option<usize> {
        let keys = self.keys.len();
        let key = hash_of_row(&row[..keys])?;
        let place = rows.count();
        let sought = &row[..keys + self.compared];
        let places = match hash_of_row(sought) {
            Some(hash) => {
                // One of several equal rows is enough, if there is no further condition.
                if self.condition.is_none() && rows.whole(hash, sought).next().is_some() {
                    return None;
                }
                rows.whole.0.push(hash);
                &mut rows.whole.1
            }
            None => {
                rows.with_nulls.0.push(key);
                &mut rows.with_nulls.1
            }
        };
        places.push(place);
        let bytes = bytes_of(row);
        rows.values.append(row);
        Some(bytes + size_of::<usize>() + HashTable::PLACE_BYTES)
    }

    /// True if the row is in the subquery's rows; `None` if that is null. `left` are the values before `IN`; `asked`
    /// are the subquery's arguments.
    ///
    /// # Errors
    /// Evaluation errors.
    pub fn truth(
        &self,
        rows: &SemiRows,
        left: Vec<Value>,
        asked: &Environment<'_>,
    ) -> Result<Option<bool>, SqlError> {
        let keys = self.keys.len();
        let mut sought = Vec::with_capacity(keys + left.len());
        for key in &self.keys {
            sought.push(key.constant(asked)?);
        }
        let Some(key) = hash_of_row(&sought) else {
            return Ok(Some(false));
        };
        sought.extend(left);
        let meets = |place: usize| match &self.condition {
            Some(condition) => condition.holds(&Values(rows.row(place)), asked),
            None => Ok(true),
        };
        let Some(hash) = hash_of_row(&sought) else {
            // A null before `IN` equals no value, and is unequal to no value.
            let all = rows.all(keys);
            for place in all.found(key) {
                asked.context.look_at_row()?;
                if rows.may_equal(place, &sought) && meets(place)? {
                    return Ok(None);
                }
            }
            return Ok(Some(false));
        };
        for place in rows.whole(hash, &sought) {
            asked.context.look_at_row()?;
            if meets(place)? {
                return Ok(Some(true));
            }
        }
        for at in rows.with_nulls.0.found(key) {
            asked.context.look_at_row()?;
            let place = rows.with_nulls.1[at];
            if rows.may_equal(place, &sought) && meets(place)? {
                return Ok(None);
            }
        }
        Ok(Some(false))
    }
}

pub(super) fn unnamed(expr: Expr) -> Item {
    Item {
        // The type and the name are never used.
        typed: Typed::new(expr, SqlType::Void),
        name: String::new(),
        origin: None,
    }
}

fn is_equal(left: &Value, right: &Value) -> Option<bool> {
    compare(left.as_ref(), right.as_ref()).map(|order| order.is_eq())
}

impl SemiRows {
    fn count(&self) -> usize {
        self.whole.1.len() + self.with_nulls.1.len()
    }

    fn row(&self, place: usize) -> &[Value] {
        let from = place * self.width;
        self.values.get(from..from + self.width).unwrap_or_default()
    }

    /// The places of rows without nulls that begin with these values.
    fn whole<'r>(&'r self, hash: u64, sought: &'r [Value]) -> impl Iterator<Item = usize> + 'r {
        let places = self.whole.0.found(hash).map(|at| self.whole.1[at]);
        places.filter(move |place| {
            let mut pairs = self.row(*place).iter().zip(sought);
            pairs.all(|(there, sought)| is_equal(there, sought) == Some(true))
        })
    }

    /// True if no value of a row is known to be unequal.
    fn may_equal(&self, place: usize, sought: &[Value]) -> bool {
        let mut pairs = self.row(place).iter().zip(sought);
        pairs.all(|(there, sought)| is_equal(there, sought) != Some(false))
    }

    fn all(&self, keys: usize) -> &HashTable {
        self.all.get_or_init(|| {
            let mut table = HashTable::default();
            for place in 0..self.count() {
                // No row has a null among its keys.
                table.push(hash_of_row(&self.row(place)[..keys]).unwrap_or_default());
            }
            table
        })
    }
}

impl FromNode {
    /// Returns a copy, if it reads no outer columns.
    pub(super) fn by_itself(&self) -> Option<FromNode> {
        match self {
            FromNode::Leaf(table, places) => {
                Some(FromNode::Leaf(table.by_itself()?, places.clone()))
            }
            FromNode::Join(join) => {
                let is_free = |on: &Expr| !asks(on) && !is_volatile(on);
                if !join.on.as_ref().is_none_or(is_free) {
                    return None;
                }
                Some(FromNode::Join(Box::new(FromJoin {
                    left: join.left.by_itself()?,
                    right: join.right.by_itself()?,
                    kind: join.kind,
                    on: join.on.clone(),
                })))
            }
        }
    }
}

impl FromTable {
    fn by_itself(&self) -> Option<FromTable> {
        Some(match self {
            FromTable::Relation(relation) => FromTable::Relation(relation.clone()),
            FromTable::Virtual(name, rows) => FromTable::Virtual(name, *rows),
            FromTable::Shared(shared) => FromTable::Shared(shared.clone()),
            FromTable::Derived(draft) => FromTable::Derived(Box::new(draft.by_itself()?)),
            _ => return None,
        })
    }
}

impl Draft {
    /// A copy of a view's draft, or of a similar query's.
    fn by_itself(&self) -> Option<Draft> {
        let items = self.items.iter().map(|item| &item.typed.expr);
        let mut all = items.chain(&self.condition);
        if !self.takes_conditions() || all.any(|expr| asks(expr) || is_volatile(expr)) {
            return None;
        }
        Some(Draft {
            from: Some(self.from.as_ref()?.by_itself()?),
            table: self.table.clone(),
            scope: self.scope.clone(),
            condition: self.condition.clone(),
            items: self.items.clone(),
            has_subqueries: self.has_subqueries,
            ..Draft::default()
        })
    }
}

impl Input {
    /// True if an index finds its rows by outer values.
    pub fn is_found_by_asking(&self) -> bool {
        match self {
            Input::Table(access) => access.is_found_by_asking(),
            Input::Join(join) => join.root.is_found_by_asking(),
            Input::Derived(plan) => plan.input.is_found_by_asking(),
            _ => false,
        }
    }
}

impl JoinNode {
    fn is_found_by_asking(&self) -> bool {
        match self {
            JoinNode::Side(side) => side.input.is_found_by_asking(),
            JoinNode::Join(step) => {
                step.left.is_found_by_asking() || step.right.is_found_by_asking()
            }
        }
    }
}

impl Access {
    fn is_found_by_asking(&self) -> bool {
        if let Path::Union(path) = &self.path {
            return path.ways.iter().any(|(way, _)| way.is_found_by_asking());
        }
        let asks = |part: &Expr| matches!(part, Expr::Outer(_));
        let mut sought = self.sought().iter();
        sought.any(|column| column.sought.any(&asks))
    }
}

impl Kept {
    fn progress(&self, number: usize) -> Progress<SemiRows> {
        let progress = self.semi_joins.borrow();
        progress.get(&number).cloned().unwrap_or(Progress::Asked(0))
    }

    fn set_progress(&self, number: usize, progress: Progress<SemiRows>) {
        self.semi_joins.borrow_mut().insert(number, progress);
    }
}
