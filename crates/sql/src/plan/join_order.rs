//! The order of inner joins, and the resulting tree. Of two sides, the one with fewer rows is kept in a hash table, and
//! the other one is walked. If few rows are joined to a side, an index finds that side's rows instead.
//!
//! The order is searched by the tables' sizes ([`super::join_search`]). If all tables are small, the order is that of
//! the statement. Only items with few rows by a key, an index or a condition come first. The statement's order is also
//! used if the rows of the join are changed: of several matches, the first is used.

use super::draft::{FromNode, FromTable};
use super::expected::left_of;
use super::factoring::implied;
use super::join::{FEW, Lookup, equal_sides_of, is_within, keys_of, plan_node, take_within};
use super::join_classes::Classes;
use super::join_search::{Search, Sized, Stored};
use super::subquery::PlannedQuery;
use super::tree::{JoinKind, JoinNode, JoinStep};
use crate::expression::Expr;
use std::ops::Range;

/// Below this number of rows, sizes are not compared: processing them takes no time.
pub(super) const NO_ROWS: f64 = 100.0;
/// The rows of a join whose order was not searched.
const UNKNOWN: (f64, bool) = (NO_ROWS, false);

/// A joined item.
struct Factor {
    node: JoinNode,
    places: Range<usize>,
    is_lateral: bool,
    lookup: Option<Lookup>,
}

/// The join so far.
struct Joined {
    node: JoinNode,
    places: Vec<Range<usize>>,
}

/// The number of the first factor of those with the fewest rows.
fn by_rank(factors: &[Factor]) -> usize {
    let numbers = 0..factors.len();
    numbers
        .min_by_key(|at| factors[*at].node.rank())
        .unwrap_or(0)
}

/// Compiles inner joins of some factors, and takes the conditions that they test.
pub(super) fn plan_inner(factors: Vec<FromNode>, parts: &mut Vec<Expr>, by_size: bool) -> JoinNode {
    // A lateral item must come after the items that it reads.
    let is_movable = !factors.iter().any(FromNode::is_lateral);
    let mut classes = Classes::default();
    if by_size && is_movable {
        classes = Classes::take(&factors, parts);
        classes.spread(parts);
    }
    add_implied(&factors, parts);
    let (mut late, own): (Vec<Expr>, Vec<Expr>) =
        std::mem::take(parts).into_iter().partition(asks_an_index);
    *parts = own;
    let mut rest = Vec::with_capacity(factors.len());
    let mut sized = Vec::with_capacity(factors.len());
    for factor in factors {
        let (places, is_lateral) = (factor.places(), factor.is_lateral());
        let lookup = Lookup::of(&factor, parts);
        let stored = Stored::of(&factor);
        let node = plan_node(factor, parts, by_size);
        sized.push(Sized::new(places.clone(), &node, stored));
        rest.push(Factor {
            node,
            places,
            is_lateral,
            lookup,
        });
    }
    let by_size = by_size && is_movable && sized.iter().any(Sized::matters);
    let order = match by_size {
        true => Search::new(&sized, &classes, parts).order(),
        false => Vec::new(),
    };
    let mut order = order.into_iter();
    let first = match order.next() {
        Some((number, ..)) => number,
        None if is_movable => by_rank(&rest),
        None => 0,
    };
    // The numbers of the factors that are not joined yet.
    let mut numbers: Vec<usize> = (0..rest.len()).filter(|of| *of != first).collect();
    let first = rest.remove(first);
    let mut joined = Joined {
        node: first.node,
        places: vec![first.places],
    };
    while !rest.is_empty() {
        if rest.len() == 1 {
            // These conditions are tested after all joins.
            parts.append(&mut late);
        }
        let (next, expected) = match order.next() {
            Some((number, rows, is_counted)) => {
                let at = numbers.iter().position(|of| *of == number);
                (at.unwrap_or(0), (rows, is_counted))
            }
            None if is_movable => {
                let has_equal = |factor: &Factor| joined.has_equal(factor, &classes, parts);
                (rest.iter().position(has_equal).unwrap_or(0), UNKNOWN)
            }
            None => (0, UNKNOWN),
        };
        let sized = &sized[numbers.remove(next)];
        let factor = rest.remove(next);
        parts.splice(0..0, classes.between(&joined.places, &factor.places));
        joined = joined.with(factor, expected, by_size.then_some(sized), parts);
    }
    joined.node
}

/// True if a condition reads rows by an index for each row on which it is tested. It is tested after the joins.
fn asks_an_index(part: &Expr) -> bool {
    let asked = match part {
        Expr::Not(inner) => inner,
        other => other,
    };
    let Expr::Subquery(subquery) = asked else {
        return false;
    };
    let is_of_rows = !subquery.arguments.iter().all(Expr::is_constant);
    is_of_rows && PlannedQuery::of(subquery).is_some_and(|query| query.semi_join.is_none())
}

impl Joined {
    /// True if a condition equates another expression with columns of this factor.
    fn has_equal(&self, factor: &Factor, classes: &Classes, parts: &[Expr]) -> bool {
        let own = std::slice::from_ref(&factor.places);
        let mut parts = parts.iter();
        classes.join(&self.places, &factor.places)
            || parts.any(|part| equal_sides_of(part, &self.places, own).is_some())
    }

    /// Joins another factor. `expected` is the estimated number of resulting rows, and true if it is based on unique
    /// columns. `sized` are the factor's estimates, if the sides may be exchanged.
    fn with(
        mut self,
        factor: Factor,
        (expected, is_counted): (f64, bool),
        sized: Option<&Sized>,
        parts: &mut Vec<Expr>,
    ) -> Joined {
        let Factor {
            node: mut right,
            places,
            mut is_lateral,
            lookup,
        } = factor;
        let own = std::slice::from_ref(&places);
        let both = [self.places.as_slice(), own].concat();
        let on = take_within(parts, &both);
        let (mut keys, condition) = keys_of(on, &self.places, own, is_lateral);
        let mut sought = match keys.is_empty() {
            true => None,
            false => lookup.and_then(|lookup| lookup.side(&keys, &places)),
        };
        // Few rows find their matches by an index, and the table is not read.
        if self.node.rank() <= FEW
            && let Some(side) = sought.take()
        {
            right = JoinNode::Side(Box::new(side));
            keys.clear();
            is_lateral = true;
        }
        let mut left = self.node;
        let mut kept: Vec<usize> = places.collect();
        let mut other: Vec<usize> = self.places.iter().cloned().flatten().collect();
        let is_turned = sized.is_some_and(|sized| {
            let is_sought = sought.is_some() && sized.is_sought(left.expected());
            let is_less = left.expected().max(NO_ROWS) < right.expected().max(NO_ROWS);
            !keys.is_empty() && (is_sought || is_less)
        });
        if is_turned {
            std::mem::swap(&mut left, &mut right);
            std::mem::swap(&mut kept, &mut other);
            keys = keys
                .into_iter()
                .map(|(left, right)| (right, left))
                .collect();
        }
        let node = JoinNode::Join(Box::new(JoinStep {
            left,
            right,
            kept,
            other: is_turned.then_some(other),
            sought: sought.filter(|_| is_turned).map(Box::new),
            kind: JoinKind::Inner,
            keys,
            expected: left_of(expected, condition.as_ref()),
            is_counted,
            condition,
            is_lateral,
        }));
        self.places = both;
        Joined { node, ..self }
    }
}

/// Adds conditions on single tables that follow from disjunctions over several tables.
fn add_implied(factors: &[FromNode], parts: &mut Vec<Expr>) {
    let leaves = factors.iter().filter_map(|factor| match factor {
        FromNode::Leaf(FromTable::Relation(_), places) => Some(std::slice::from_ref(places)),
        _ => None,
    });
    let mut more = Vec::new();
    for places in leaves {
        for part in parts.iter() {
            if let Expr::Or(conditions) = part
                && !is_within(part, places)
            {
                let is_of = |part: &Expr| is_within(part, places) && !part.is_constant();
                more.extend(implied(conditions, &is_of));
            }
        }
    }
    parts.append(&mut more);
}
