//! Classes of equal columns, as `c_nationkey = s_nationkey and s_nationkey = n_nationkey` makes of three tables. Any
//! two of the tables may be joined by the class, even if the statement does not compare these two. A comparison of one
//! column with a constant applies to all of them.
//!
//! Only columns whose values compare exactly take part: equality of floats and decimals is not transitive.
//!
//! Invariant: when all tables are joined, every equation that was taken out has been tested exactly once.
//!
//! Source: equivalence classes, as in PostgreSQL's planner (optimizer/README).

use super::draft::{FromNode, FromTable};
use crate::expression::Expr;
use crate::values::Comparison;
use sardonyx::schema::Type;
use std::ops::Range;

/// A class of equal columns.
#[derive(Debug)]
pub(super) struct Class {
    /// The numbers of their tables among the joined items, and the columns' places in the whole row.
    pub members: Vec<(usize, usize)>,
    /// A number for each member; members that were tested to be equal have the same number.
    tested: Vec<usize>,
}

/// All classes of an inner join.
#[derive(Debug, Default)]
pub(super) struct Classes(pub Vec<Class>);

/// The number of the table that has an exactly comparable column at a place.
fn table_of(factors: &[FromNode], place: usize) -> Option<usize> {
    let mut numbered = factors.iter().enumerate();
    numbered.find_map(|(number, factor)| match factor {
        FromNode::Leaf(FromTable::Relation(relation), places) if places.contains(&place) => {
            let column = relation.columns.get(place - places.start)?;
            let kind = relation.schema.columns.get(column.number)?.kind;
            (!matches!(kind, Type::F32 | Type::F64)).then_some(number)
        }
        _ => None,
    })
}

/// The two columns that a part equates, if they belong to two tables.
fn equation(part: &Expr, factors: &[FromNode]) -> Option<[(usize, usize); 2]> {
    let Expr::Compare(Comparison::Equal, sides) = part else {
        return None;
    };
    let (Expr::Column(a), Expr::Column(b)) = (&sides.0, &sides.1) else {
        return None;
    };
    let (of_a, of_b) = (table_of(factors, *a)?, table_of(factors, *b)?);
    (of_a != of_b).then_some([(of_a, *a), (of_b, *b)])
}

impl Classes {
    /// Takes the equations between columns of two tables out of the conditions.
    pub fn take(factors: &[FromNode], parts: &mut Vec<Expr>) -> Classes {
        let mut classes: Vec<Vec<(usize, usize)>> = Vec::new();
        parts.retain(|part| {
            let Some(pair) = equation(part, factors) else {
                return true;
            };
            let (with, mut others): (Vec<_>, Vec<_>) = std::mem::take(&mut classes)
                .into_iter()
                .partition(|class| pair.iter().any(|member| class.contains(member)));
            let mut class: Vec<_> = with.into_iter().flatten().collect();
            for member in pair {
                if !class.contains(&member) {
                    class.push(member);
                }
            }
            others.push(class);
            classes = others;
            false
        });
        let class = |members: Vec<_>| Class {
            tested: (0..members.len()).collect(),
            members,
        };
        Classes(classes.into_iter().map(class).collect())
    }

    /// Copies comparisons of a column with constants to the columns that are equal to it.
    pub fn spread(&self, parts: &mut Vec<Expr>) {
        let mut more: Vec<Expr> = Vec::new();
        for part in parts.iter() {
            let Some(column) = compared_column(part) else {
                continue;
            };
            let class = self.0.iter().map(|class| &class.members);
            let class = class.filter(|class| class.iter().any(|(_, place)| *place == column));
            for (_, place) in class.flatten().filter(|(_, place)| *place != column) {
                let mut same = part.clone();
                same.replace_columns(&|_| Expr::Column(*place));
                if !parts.contains(&same) && !more.contains(&same) {
                    more.push(same);
                }
            }
        }
        parts.append(&mut more);
    }

    /// True if a table at some places has a column that equals a column of the joined tables.
    pub fn join(&self, joined: &[Range<usize>], own: &Range<usize>) -> bool {
        let is_joined = |place: usize| joined.iter().any(|range| range.contains(&place));
        self.0.iter().any(|class| {
            let has =
                |is_of: &dyn Fn(usize) -> bool| class.members.iter().any(|(_, at)| is_of(*at));
            has(&is_joined) && has(&|at| own.contains(&at))
        })
    }

    /// The conditions to test when a table at some places is joined to others.
    pub fn between(&mut self, joined: &[Range<usize>], own: &Range<usize>) -> Vec<Expr> {
        let is_joined = |place: usize| joined.iter().any(|range| range.contains(&place));
        let mut parts = Vec::new();
        for Class { members, tested } in &mut self.0 {
            for (one, (_, there)) in members.iter().enumerate() {
                if !is_joined(*there) {
                    continue;
                }
                for (other, (_, here)) in members.iter().enumerate() {
                    let (a, b) = (tested[one], tested[other]);
                    if !own.contains(here) || a == b {
                        continue;
                    }
                    let sides = (Expr::Column(*there), Expr::Column(*here));
                    parts.push(Expr::Compare(Comparison::Equal, Box::new(sides)));
                    tested
                        .iter_mut()
                        .filter(|of| **of == b)
                        .for_each(|of| *of = a);
                }
            }
        }
        parts
    }
}

/// The column that a part compares with constants, if the comparison cannot fail.
fn compared_column(part: &Expr) -> Option<usize> {
    let is_simple =
        |expr: &Expr| matches!(expr, Expr::Literal(_) | Expr::Parameter(_) | Expr::Outer(_));
    match part {
        Expr::Compare(_, sides) => match (&sides.0, &sides.1) {
            (Expr::Column(column), value) | (value, Expr::Column(column)) if is_simple(value) => {
                Some(*column)
            }
            _ => None,
        },
        Expr::In(of, list) => match &**of {
            Expr::Column(column) if list.parts().iter().all(is_simple) => Some(*column),
            _ => None,
        },
        _ => None,
    }
}
