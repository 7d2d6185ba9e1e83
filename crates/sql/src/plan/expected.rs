//! Rough estimates of the numbers of rows of a query's parts. Their sources are the tables' row counts at planning
//! time, and rules of thumb for the selectivity of conditions. They only affect the order of joins.

use super::access::{Access, Path};
use super::join::FEW;
use super::join_order::NO_ROWS;
use super::tree::{Input, JoinNode, SelectPlan};
use crate::expression::{Comparison, Expr};
use sardonyx::schema::Value;

/// The estimate for a table whose size is unknown.
const UNKNOWN: f64 = 1_000.0;
/// The estimated number of rows that an index finds for one value.
pub(super) const FOUND: f64 = 20.0;

/// The estimated share of rows that meet a condition.
fn share_of(condition: &Expr) -> f64 {
    match condition {
        Expr::And(parts) => parts.iter().map(share_of).product(),
        Expr::Or(parts) => parts.iter().map(share_of).sum::<f64>().min(0.9),
        Expr::Not(part) => (1.0 - share_of(part)).max(0.05),
        Expr::Compare(Comparison::Equal, _) => 0.04,
        Expr::Compare(Comparison::Unequal, _) => 0.95,
        Expr::Compare(..) => 0.4,
        Expr::In(_, list) => (0.04 * list.count().unwrap_or(5) as f64).min(0.5),
        Expr::Like(_) => 0.08,
        Expr::IsNull(_) => 0.1,
        Expr::Literal(Value::Bool(true)) => 1.0,
        _ => 0.33,
    }
}

/// The estimated number of rows, of the given number, that meet a condition.
pub(super) fn left_of(rows: f64, condition: Option<&Expr>) -> f64 {
    rows * condition.map_or(1.0, share_of)
}

impl Access {
    fn expected(&self) -> f64 {
        let rows = self.rows.map_or(UNKNOWN, |rows| rows as f64);
        match &self.path {
            Path::Scan => rows,
            Path::Key(path) => {
                let counts = path.key.iter().map(|column| column.sought.count() as f64);
                counts.product::<f64>().min(rows)
            }
            Path::Range(path) => {
                let equal = path.equal.iter();
                let values: f64 = equal.map(|column| column.sought.count() as f64).product();
                let bounds = [&path.lower, &path.upper].into_iter().flatten();
                let rows = match path.equal.is_empty() {
                    true => rows,
                    false => rows.min(FOUND * values),
                };
                rows * 0.4_f64.powi(bounds.count() as i32)
            }
            Path::Union(_) => rows * 0.1,
        }
    }
}

impl Input {
    fn expected(&self) -> f64 {
        match self {
            Input::Nothing => 1.0,
            Input::Table(access) => access.expected(),
            Input::Join(join) => join.root.expected(),
            Input::Rows(rows) => rows.len() as f64,
            Input::Derived(plan) | Input::Lateral(plan, _) => plan.expected(),
            Input::Shared(shared) => {
                let plan = shared.plan.as_ref();
                plan.map_or(UNKNOWN, SelectPlan::expected)
            }
            Input::Sets(sets) => {
                let rest = sets.rest.iter().map(|(_, plan)| plan.expected());
                sets.first.expected() + rest.sum::<f64>()
            }
            Input::Windowed(windowed) => windowed.plan.expected(),
            Input::Expanded(expansion) => expansion.plan.expected() * 10.0,
            Input::Virtual(..) | Input::Series(_) | Input::Recursion(_) | Input::LastRound(_) => {
                UNKNOWN
            }
        }
    }
}

impl SelectPlan {
    fn expected(&self) -> f64 {
        let rows = left_of(self.input.expected(), self.filter.as_ref());
        let rows = match &self.grouping {
            Some(grouping) if grouping.keys.is_empty() => 1.0,
            Some(_) => left_of(rows * 0.2, self.having.as_ref()),
            None => rows,
        };
        match &self.limit {
            Some(Expr::Literal(Value::Int(most))) => rows.min(*most as f64),
            _ => rows,
        }
    }
}

impl JoinNode {
    /// The estimated number of rows.
    pub fn expected(&self) -> f64 {
        match self {
            JoinNode::Side(side) => {
                let rows = left_of(side.input.expected(), side.filter.as_ref());
                match self.rank() <= FEW {
                    true => rows.min(NO_ROWS),
                    false => rows,
                }
            }
            JoinNode::Join(step) => step.expected,
        }
    }
}
