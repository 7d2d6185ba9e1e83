//! The order of inner joins. It begins where the fewest rows are to be expected; what is joined next has equal values with
//! what is joined already, if there is any such, and gives the fewest rows. Of two sides the one with fewer rows is kept by
//! a hash, and the other one walked.
//!
//! Sizes that are as good as none say nothing: then it is the order in which the statement names the tables, those first
//! that a key, an index or a condition finds few rows of. So it is always where the rows of a join are changed: of several
//! rows that go with one, the first is used.
//!
//! Source: the greedy order of joins, as in every textbook.

use super::draft::{FromNode, FromTable};
use super::expected::left_of;
use super::factoring::implied;
use super::join::{FEW, Lookup, equal_sides_of, is_within, keys_of, plan_node, take_within};
use super::subquery::PlannedQuery;
use super::tree::{JoinKind, JoinNode, JoinStep};
use crate::expression::Expr;
use crate::relation::Relation;
use std::ops::Range;

/// Fewer rows are not told apart: what is done with them takes no time.
pub(super) const NO_ROWS: f64 = 100.0;

/// One of the things that are joined.
struct Factor {
    node: JoinNode,
    places: Range<usize>,
    is_lateral: bool,
    lookup: Option<Lookup>,
    stored: Option<Stored>,
}

/// What is known of a table.
struct Stored {
    rows: f64,
    /// The columns of its keys, of which no two rows have the same, by their places in the whole row.
    keys: Vec<Vec<usize>>,
}

impl Stored {
    fn of(factor: &FromNode) -> Option<Stored> {
        let FromNode::Leaf(FromTable::Relation(relation), places) = factor else {
            return None;
        };
        let schema = &relation.schema;
        let unique = schema.indexes.iter().filter(|index| index.unique);
        let keys = [&schema.primary].into_iter().chain(unique);
        let keys = keys.filter_map(|index| {
            let columns = index.key.iter();
            let columns = columns.map(|part| place_of(relation, part.column));
            let columns: Option<Vec<usize>> = columns.collect();
            Some(columns?.into_iter().map(|at| places.start + at).collect())
        });
        Some(Stored {
            rows: relation.rows? as f64,
            keys: keys.collect(),
        })
    }

    /// True if such columns have other values in each of its rows.
    fn is_found_by(&self, columns: &[&Expr]) -> bool {
        let has = |place: &usize| columns.iter().any(|of| **of == Expr::Column(*place));
        self.keys.iter().any(|key| key.iter().all(has))
    }
}

fn place_of(relation: &Relation, column: usize) -> Option<usize> {
    let mut columns = relation.columns.iter();
    columns.position(|there| there.number == column)
}

/// What is joined so far.
struct Joined {
    node: JoinNode,
    places: Vec<Range<usize>>,
    tables: Vec<Stored>,
}

impl Joined {
    /// How many rows a join with something else gives, and whether it has equal values with that.
    fn expected_with(&self, factor: &Factor, parts: &[Expr]) -> (f64, bool) {
        let own = std::slice::from_ref(&factor.places);
        let equal = parts.iter();
        let equal = equal.filter_map(|part| equal_sides_of(part, &self.places, own));
        let (left, right): (Vec<&Expr>, Vec<&Expr>) = equal.unzip();
        let (rows, more) = (self.node.expected(), factor.node.expected());
        let all = rows * more;
        if left.is_empty() {
            return (all, false);
        }
        let mut expected = all;
        let mut largest: f64 = 1.0;
        let sides = self.tables.iter().map(|table| (table, &left));
        let sides = sides.chain(factor.stored.iter().map(|table| (table, &right)));
        for (table, columns) in sides {
            largest = largest.max(table.rows);
            if table.is_found_by(columns) {
                // Each row of the other side finds one at most, of all that the table has.
                expected = expected.min(all / table.rows.max(1.0));
            }
        }
        // Without a key each value is in several rows.
        (expected.min(all / largest.sqrt().max(2.0)), true)
    }
}

/// What is expected, as far as it matters.
fn rounded(rows: f64, by_size: bool) -> f64 {
    match by_size {
        true => rows.max(NO_ROWS),
        false => NO_ROWS,
    }
}

/// The number of the first one of which the least is to be expected.
fn least(expected: impl Iterator<Item = (usize, f64)>) -> Option<usize> {
    let least = expected.min_by(|(_, a), (_, b)| a.total_cmp(b));
    least.map(|(at, _)| at)
}

/// Compiles inner joins of some things, and takes those conditions that they test.
pub(super) fn plan_inner(factors: Vec<FromNode>, parts: &mut Vec<Expr>, by_size: bool) -> JoinNode {
    // What is asked for must stand before who asks.
    let is_movable = !factors.iter().any(FromNode::is_lateral);
    add_implied(&factors, parts);
    let (mut late, own): (Vec<Expr>, Vec<Expr>) =
        std::mem::take(parts).into_iter().partition(asks_an_index);
    *parts = own;
    let mut rest = Vec::with_capacity(factors.len());
    for factor in factors {
        let (places, is_lateral) = (factor.places(), factor.is_lateral());
        let (lookup, stored) = (Lookup::of(&factor, parts), Stored::of(&factor));
        rest.push(Factor {
            node: plan_node(factor, parts, by_size),
            places,
            is_lateral,
            lookup,
            stored,
        });
    }
    let first = match is_movable {
        true => (0..rest.len()).min_by(|a, b| {
            let of = |at: usize| {
                (
                    rounded(rest[at].node.expected(), by_size),
                    rest[at].node.rank(),
                )
            };
            let ((a, rank_of_a), (b, rank_of_b)) = (of(*a), of(*b));
            a.total_cmp(&b).then(rank_of_a.cmp(&rank_of_b))
        }),
        false => None,
    };
    let first = rest.remove(first.unwrap_or(0));
    let mut joined = Joined {
        node: first.node,
        places: vec![first.places],
        tables: first.stored.into_iter().collect(),
    };
    while !rest.is_empty() {
        if rest.len() == 1 {
            // They are asked of what all joins leave.
            parts.append(&mut late);
        }
        let expected: Vec<(f64, bool)> = rest
            .iter()
            .map(|factor| joined.expected_with(factor, parts))
            .collect();
        let next = match is_movable {
            true => {
                let has_equal = expected.iter().any(|(_, is_equal)| *is_equal);
                let each = expected.iter().enumerate();
                let each = each.filter(|(_, (_, is_equal))| *is_equal || !has_equal);
                least(each.map(|(at, (rows, _))| (at, rounded(*rows, by_size)))).unwrap_or(0)
            }
            false => 0,
        };
        let expected = expected[next].0;
        joined = joined.with(rest.remove(next), expected, (is_movable, by_size), parts);
    }
    joined.node
}

/// True of a condition that reads rows by an index for each row of which it is asked: that takes longer than to join it.
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
    /// With something else joined to it, of which so many rows are expected then.
    fn with(
        mut self,
        factor: Factor,
        expected: f64,
        (is_movable, by_size): (bool, bool),
        parts: &mut Vec<Expr>,
    ) -> Joined {
        let Factor {
            node: mut right,
            places,
            mut is_lateral,
            lookup,
            stored,
        } = factor;
        let own = std::slice::from_ref(&places);
        let both = [self.places.as_slice(), own].concat();
        let on = take_within(parts, &both);
        let (mut keys, condition) = keys_of(on, &self.places, own, is_lateral);
        // Few rows find theirs by an index, and the table is not read.
        if self.node.rank() <= FEW
            && let Some(side) = lookup.and_then(|lookup| lookup.side(&keys, &places))
        {
            right = JoinNode::Side(Box::new(side));
            keys.clear();
            is_lateral = true;
        }
        let mut left = self.node;
        let mut kept: Vec<usize> = places.collect();
        let mut other: Vec<usize> = self.places.iter().cloned().flatten().collect();
        let is_turned = is_movable
            && !keys.is_empty()
            && rounded(left.expected(), by_size) < rounded(right.expected(), by_size);
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
            kind: JoinKind::Inner,
            keys,
            expected: left_of(expected, condition.as_ref()),
            condition,
            is_lateral,
        }));
        self.tables.extend(stored);
        Joined {
            node,
            places: both,
            tables: self.tables,
        }
    }
}

/// Adds what follows for single tables from conditions of which one is to hold on several of them.
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
