//! Joins, compiled: each row of one side is combined with the matching rows of the other. Conditions on one side alone
//! are tested where that side is read. Equalities between the sides become keys of a hash. All other conditions are
//! tested on the combined rows.
//!
//! All sides write into one row, each at its own places, so expressions are independent of the order of the joins.
//!
//! Source: outer joins: SQL:2016, part 2, 7.10. A condition above an outer join is pushed only into the side whose rows
//! are all kept. A condition of its `ON` is pushed only into the side whose rows may be missing.

use super::access::Path;
use super::choice::{all_of, choose, parts_of};
use super::costs::tested;
use super::draft::{FromJoin, FromNode, FromTable};
use super::join_order::plan_inner;
use super::tree::{Input, JoinKind, JoinNode, JoinPlan, JoinStep, SeriesOf, Side};
use crate::expression::{Comparison, Expr};
use crate::relation::Relation;
use sardonyx::schema::Value;
use std::ops::Range;

impl FromNode {
    /// The places of the item's columns in the whole row.
    pub fn places(&self) -> Range<usize> {
        match self {
            FromNode::Leaf(_, places) => places.clone(),
            // They are adjacent, in either order.
            FromNode::Join(join) => {
                let (left, right) = (join.left.places(), join.right.places());
                left.start.min(right.start)..left.end.max(right.end)
            }
        }
    }

    /// True if it reads values of rows before it.
    pub fn is_lateral(&self) -> bool {
        let asks = |expr: &Expr| !expr.is_constant();
        match self {
            FromNode::Leaf(FromTable::Lateral(_, arguments), _) => arguments.iter().any(asks),
            FromNode::Leaf(FromTable::Series(series), _) => series.parts().into_iter().any(asks),
            FromNode::Leaf(..) => false,
            // Its sides may refer to each other. It is assumed to refer to items before it, too.
            FromNode::Join(join) => join.left.is_lateral() || join.right.is_lateral(),
        }
    }
}

/// Places in the whole row.
pub(super) type Places = [Range<usize>];

/// True if an expression reads only columns at these places.
pub(super) fn is_within(expr: &Expr, places: &Places) -> bool {
    !expr.any(&|part| match part {
        Expr::Column(place) => !places.iter().any(|range| range.contains(place)),
        Expr::Call(function, _) => function.is_volatile(),
        _ => false,
    })
}

/// Removes and returns the parts that read only columns at these places.
pub(super) fn take_within(parts: &mut Vec<Expr>, places: &Places) -> Vec<Expr> {
    let (within, others) = std::mem::take(parts)
        .into_iter()
        .partition(|part| is_within(part, places));
    *parts = others;
    within
}

/// Compiles a join, in the order of the tables' sizes or as written. Returns the remaining condition on whole rows.
pub(crate) fn plan_join(
    node: FromNode,
    condition: Option<Expr>,
    by_size: bool,
) -> (JoinPlan, Option<Expr>) {
    let mut parts = parts_of(condition);
    let width = node.places().end;
    let root = plan_node(node, &mut parts, by_size);
    (JoinPlan { root, width }, tested(parts))
}

/// Compiles a part of `FROM`, and takes the conditions that this part tests.
pub(super) fn plan_node(node: FromNode, parts: &mut Vec<Expr>, by_size: bool) -> JoinNode {
    match node {
        FromNode::Leaf(table, places) => {
            let local = take_within(parts, std::slice::from_ref(&places));
            JoinNode::Side(Box::new(side_of(table, places, local)))
        }
        FromNode::Join(join) if join.kind == JoinKind::Inner => {
            let (mut factors, mut on) = (Vec::new(), Vec::new());
            flatten(FromNode::Join(join), &mut factors, &mut on);
            let (late, on): (Vec<Expr>, Vec<Expr>) = on.into_iter().partition(Expr::is_volatile);
            parts.extend(on);
            with_condition(plan_inner(factors, parts, by_size), late)
        }
        FromNode::Join(join) => JoinNode::Join(Box::new(plan_outer(*join, parts, by_size))),
    }
}

/// Adds the remaining conditions to a join. A volatile condition is tested at this join, not at an outer join around
/// it.
fn with_condition(mut node: JoinNode, late: Vec<Expr>) -> JoinNode {
    if let JoinNode::Join(step) = &mut node {
        let mut parts = parts_of(step.condition.take());
        parts.extend(late);
        step.condition = tested(parts);
    }
    node
}

/// Collects the factors of nested inner joins in their order, with their conditions.
fn flatten(node: FromNode, factors: &mut Vec<FromNode>, parts: &mut Vec<Expr>) {
    match node {
        FromNode::Join(join) if join.kind == JoinKind::Inner => {
            flatten(join.left, factors, parts);
            flatten(join.right, factors, parts);
            parts.extend(parts_of(join.on));
        }
        other => factors.push(other),
    }
}

/// The highest rank of items with few rows, found by a key or by equal values of an index.
pub(super) const FEW: usize = 1;

/// A table whose rows may be found by an index for each row to which it is joined.
pub(super) struct Lookup {
    relation: Box<Relation>,
    /// The conditions on its rows alone.
    local: Vec<Expr>,
}

impl Lookup {
    /// The lookup of a factor that is a table, with the conditions on that table alone.
    pub fn of(factor: &FromNode, parts: &[Expr]) -> Option<Lookup> {
        let FromNode::Leaf(FromTable::Relation(relation), places) = factor else {
            return None;
        };
        let own = parts
            .iter()
            .filter(|part| is_within(part, std::slice::from_ref(places)));
        Some(Lookup {
            relation: relation.clone(),
            local: own.cloned().collect(),
        })
    }

    /// The access to its rows by equal values of the row before, if an index supports it.
    pub fn side(self, keys: &[(Expr, Expr)], places: &Range<usize>) -> Option<Side> {
        let mut parts = self.local;
        let presence = presence_of(&self.relation, places);
        let local = |part: &mut Expr| make_local(part, places.start, presence);
        parts.iter_mut().for_each(local);
        for (left, right) in keys {
            let (mut left, mut right) = (left.clone(), right.clone());
            if !left.is_plain() || !right.is_plain() {
                return None;
            }
            left.replace_columns(&Expr::Before);
            local(&mut right);
            parts.push(Expr::Compare(Comparison::Equal, Box::new((right, left))));
        }
        let choice = choose(&self.relation, all_of(parts), None, false);
        let asks = |part: &Expr| matches!(part, Expr::Before(_));
        let mut sought = choice.access.sought().iter();
        let is_found = sought.any(|column| column.sought.any(&asks));
        is_found.then(|| Side {
            input: Input::Table(choice.access),
            filter: choice.filter,
            columns: (0..places.len()).collect(),
            places: places.clone(),
            presence,
        })
    }
}

/// The most rows of `VALUES`, or of a query with `LIMIT`, that count as few.
const FEW_ROWS: usize = 1_000;

impl Input {
    /// True if it is not a table, and few rows are expected.
    fn has_few(&self) -> bool {
        match self {
            Input::Rows(rows) => rows.len() <= FEW_ROWS,
            // An array given as a parameter.
            Input::Series(series) => {
                let mut of = series.of.iter();
                !of.any(|of| matches!(of, SeriesOf::Numbers { .. }))
            }
            Input::Derived(plan) => {
                let limit = plan.limit.as_ref();
                let is_cut = limit.is_some_and(|limit| match limit {
                    Expr::Literal(Value::Int(most)) => *most <= FEW_ROWS as i128,
                    _ => false,
                });
                is_cut || plan.input.has_few()
            }
            _ => false,
        }
    }
}

impl JoinNode {
    /// A rough estimate of the number of rows: the lower the rank, the fewer rows.
    pub fn rank(&self) -> usize {
        match self {
            JoinNode::Side(side) => match &side.input {
                input if input.has_few() => FEW,
                Input::Table(access) if access.is_point() => 0,
                Input::Table(access) => match (&access.path, &side.filter) {
                    (Path::Key(_) | Path::Union(_), _) => 1,
                    (Path::Range(path), _) if !path.equal.is_empty() => 1,
                    (Path::Range(_), _) => 2,
                    (_, Some(_)) => 3,
                    (_, None) => 4,
                },
                _ => 3,
            },
            // As many as the rows before, if each row finds its own matches.
            JoinNode::Join(step) if step.is_lateral => step.left.rank(),
            JoinNode::Join(_) => 5,
        }
    }
}

fn plan_outer(join: FromJoin, parts: &mut Vec<Expr>, by_size: bool) -> JoinStep {
    let (left_places, right_places) = ([join.left.places()], [join.right.places()]);
    let is_lateral = join.right.is_lateral();
    let mut on = parts_of(join.on);
    let lookup = Lookup::of(&join.right, &on);
    let mut none = Vec::new();
    let (left, right) = match join.kind {
        JoinKind::Left => (
            plan_node(join.left, parts, by_size),
            plan_node(join.right, &mut on, by_size),
        ),
        JoinKind::Right => {
            let left = plan_node(join.left, &mut on, by_size);
            (left, plan_node(join.right, parts, by_size))
        }
        JoinKind::Inner | JoinKind::Full => (
            plan_node(join.left, &mut none, by_size),
            plan_node(join.right, &mut none, by_size),
        ),
    };
    let (mut keys, condition) = keys_of(on, &left_places, &right_places, is_lateral);
    let (mut right, mut is_lateral) = (right, is_lateral);
    if join.kind == JoinKind::Left
        && left.rank() <= FEW
        && let Some(side) = lookup.and_then(|lookup| lookup.side(&keys, &right_places[0]))
    {
        right = JoinNode::Side(Box::new(side));
        keys.clear();
        is_lateral = true;
    }
    let expected = left.expected().max(right.expected());
    JoinStep {
        left,
        right,
        kept: right_places[0].clone().collect(),
        other: None,
        sought: None,
        kind: join.kind,
        keys,
        condition,
        is_lateral,
        expected,
        is_counted: false,
    }
}

/// The equalities between two sides among conditions, and the remaining condition on both.
pub(super) fn keys_of(
    on: Vec<Expr>,
    left: &Places,
    right: &Places,
    is_lateral: bool,
) -> (Vec<(Expr, Expr)>, Option<Expr>) {
    let mut keys = Vec::new();
    let mut others = Vec::new();
    for part in on {
        // A side that is read for each row needs no hash.
        match is_lateral {
            true => others.push(part),
            false => match equal_sides(part, left, right) {
                Ok(key) => keys.push(key),
                Err(part) => others.push(part),
            },
        }
    }
    (keys, tested(others))
}

/// The sides of an equation between columns of the two sides, in the order of the sides.
pub(super) fn equal_sides_of<'e>(
    part: &'e Expr,
    left: &Places,
    right: &Places,
) -> Option<(&'e Expr, &'e Expr)> {
    let Expr::Compare(Comparison::Equal, sides) = part else {
        return None;
    };
    let (a, b) = (&sides.0, &sides.1);
    if a.is_constant() || b.is_constant() {
        return None;
    }
    match () {
        () if is_within(a, left) && is_within(b, right) => Some((a, b)),
        () if is_within(b, left) && is_within(a, right) => Some((b, a)),
        () => None,
    }
}

/// The sides of an equation between rows of the two sides, in the order of the sides.
fn equal_sides(
    part: Expr,
    left_places: &Places,
    right_places: &Places,
) -> Result<(Expr, Expr), Expr> {
    let Expr::Compare(Comparison::Equal, sides) = part else {
        return Err(part);
    };
    let (left, right) = *sides;
    if is_within(&left, left_places) && is_within(&right, right_places) {
        return Ok((left, right));
    }
    if is_within(&right, left_places) && is_within(&left, right_places) {
        return Ok((right, left));
    }
    Err(Expr::Compare(Comparison::Equal, Box::new((left, right))))
}

fn side_of(table: FromTable, places: Range<usize>, mut local: Vec<Expr>) -> Side {
    let presence = match &table {
        FromTable::Relation(relation) => presence_of(relation, &places),
        _ => None,
    };
    let parts = local.iter_mut();
    parts.for_each(|part| make_local(part, places.start, presence));
    let chosen = table.input(all_of(local), None, false);
    Side {
        input: chosen.input,
        filter: chosen.filter,
        columns: (0..places.len()).collect(),
        places,
        presence,
    }
}

/// The number behind the columns of a table at places that have one more.
fn presence_of(relation: &Relation, places: &Range<usize>) -> Option<usize> {
    let width = relation.schema.columns.len();
    (places.len() > width).then_some(width)
}

/// Makes an expression over the whole row one over the rows of an item, all of which are present.
fn make_local(part: &mut Expr, start: usize, presence: Option<usize>) {
    part.replace_columns(&|place| match place - start {
        own if Some(own) == presence => Expr::Literal(Value::Bool(true)),
        own => Expr::Column(own),
    });
}
