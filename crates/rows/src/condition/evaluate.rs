//! Evaluation of a condition on a row: true, false, or unknown.

use super::{Condition, Node, Operand, compare, decided, is_like};
use crate::schema::ValueRef;

impl Condition {
    /// Returns true if it is true of a row, as a search needs. `values` gives the values of the row's columns, by
    /// number.
    pub fn holds<'a>(&'a self, values: impl Fn(usize) -> ValueRef<'a>) -> bool {
        self.evaluate(values) == Some(true)
    }

    /// Returns true unless it is false of a row, as a CHECK needs. Nulls are allowed.
    pub fn allows<'a>(&'a self, values: impl Fn(usize) -> ValueRef<'a>) -> bool {
        self.evaluate(values) != Some(false)
    }

    /// True, false, or unknown (`None`), since values that it compares are null.
    pub fn evaluate<'a>(&'a self, values: impl Fn(usize) -> ValueRef<'a>) -> Option<bool> {
        self.root.evaluate(&values)
    }
}

impl Operand {
    fn value<'a>(&'a self, values: &impl Fn(usize) -> ValueRef<'a>) -> ValueRef<'a> {
        match self {
            Operand::Column(column) => values(*column),
            Operand::Literal(literal) => literal.as_ref(),
        }
    }
}

impl Node {
    fn evaluate<'a>(&'a self, values: &impl Fn(usize) -> ValueRef<'a>) -> Option<bool> {
        match self {
            Node::And(parts) => decided(false, parts.iter().map(|part| part.evaluate(values))),
            Node::Or(parts) => decided(true, parts.iter().map(|part| part.evaluate(values))),
            Node::Not(part) => part.evaluate(values).map(|truth| !truth),
            Node::Compare(left, comparison, right) => {
                let order = compare(left.value(values), right.value(values))?;
                Some(comparison.accepts(order))
            }
            Node::In(operand, list) => {
                let value = operand.value(values);
                let equal = |other: &'a Operand| Some(compare(value, other.value(values))?.is_eq());
                decided(true, list.iter().map(equal))
            }
            Node::Like(operand, pattern) => match operand.value(values) {
                ValueRef::Text(text) => Some(is_like(text, pattern, Some('\\'), false)),
                _ => None,
            },
            Node::IsNull(operand) => Some(matches!(operand.value(values), ValueRef::Null)),
            Node::Truth(operand) => match operand.value(values) {
                ValueRef::Bool(truth) => Some(truth),
                _ => None,
            },
        }
    }
}
