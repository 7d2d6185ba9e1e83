//! Precedence of operators where the parser's is not PostgreSQL's: its trees are regrouped when they are compiled.
//! Parenthesised expressions are not regrouped.

use super::Typed;
use super::compile::Compiler;
use super::operator_trees::pattern_operator;
use crate::error::SqlError;
use sqlparser::ast::{BinaryOperator, Expr as Tree, UnaryOperator};

impl Compiler<'_> {
    /// Regroups an operation whose parts the parser groups in another way than PostgreSQL; `None` if it is right.
    ///
    /// A sum behind a prefix operator belongs to it: `~a + b` is `~(a + b)`. Operators of regular expressions group
    /// from the left with those of their kind: `a ~ b || c` is `(a ~ b) || c`. Nothing is copied, since trees may be
    /// deep, and there is no recursion along a chain.
    pub(super) fn regrouped(
        &mut self,
        left: &Tree,
        operator: &BinaryOperator,
        right: &Tree,
    ) -> Result<Option<Typed>, SqlError> {
        if is_sum(operator) {
            let (first, mut parts) = chain(left, is_sum);
            parts.push((operator, right));
            return match has_prefix(first, &parts) {
                true => self.sum(first, &parts).map(Some),
                false => Ok(None),
            };
        }
        if pattern_operator(operator).is_some() {
            let (first, parts) = chain(right, is_other);
            if !parts.is_empty() {
                // Each of them is a level above the left side.
                let matched = self.deeper(2 * parts.len(), |compiler| {
                    compiler.matches(left, operator, first)
                })?;
                return self.joined(matched, &parts).map(Some);
            }
        }
        Ok(None)
    }

    /// A sum whose later operands belong to its first prefix operator.
    fn sum(&mut self, first: &Tree, parts: &[Part<'_>]) -> Result<Typed, SqlError> {
        if ends_with_prefix(first) {
            return self.longer(first, parts);
        }
        let place = parts.iter().position(|(_, part)| ends_with_prefix(part));
        let first = self.compile(first)?;
        let Some((before, [(operator, part), behind @ ..])) =
            place.and_then(|place| parts.split_at_checked(place))
        else {
            return self.joined(first, parts);
        };
        let before = self.joined(first, before)?;
        let longer = self.longer(part, behind)?;
        self.combined(before, operator, longer)
    }

    fn joined(&mut self, first: Typed, parts: &[Part<'_>]) -> Result<Typed, SqlError> {
        self.deeper(parts.len(), |compiler| {
            let mut joined = first;
            for (operator, part) in parts {
                let part = compiler.compile(part)?;
                joined = compiler.combined(joined, operator, part)?;
            }
            Ok(joined)
        })
    }

    /// A tree that ends with a prefix operator, whose operand continues with these parts.
    fn longer(&mut self, tree: &Tree, parts: &[Part<'_>]) -> Result<Typed, SqlError> {
        match tree {
            _ if parts.is_empty() => self.compile(tree),
            Tree::UnaryOp { op, expr } if is_prefix(*op) => {
                let operand = self.deeper(1, |compiler| compiler.sum(expr, parts))?;
                self.prefixed(*op, operand)
            }
            Tree::UnaryOp { op, expr } => {
                let operand = self.deeper(1, |compiler| compiler.longer(expr, parts))?;
                self.prefixed(*op, operand)
            }
            Tree::BinaryOp { left, op, right } => {
                let left = self.compile(left)?;
                let right = self.deeper(1, |compiler| compiler.longer(right, parts))?;
                self.combined(left, op, right)
            }
            _ => self.sum(tree, parts),
        }
    }
}

/// An operator, and its right operand.
type Part<'t> = (&'t BinaryOperator, &'t Tree);

/// The first operand of a chain of operators, and the others.
fn chain(tree: &Tree, is_of: fn(&BinaryOperator) -> bool) -> (&Tree, Vec<Part<'_>>) {
    let (mut first, mut parts) = (tree, Vec::new());
    while let Tree::BinaryOp { left, op, right } = first
        && is_of(op)
    {
        parts.push((op, &**right));
        first = left;
    }
    parts.reverse();
    (first, parts)
}

/// True if other operands follow a prefix operator.
fn has_prefix(first: &Tree, parts: &[Part<'_>]) -> bool {
    let operands = std::iter::once(first).chain(parts.iter().map(|(_, part)| *part));
    operands.take(parts.len()).any(ends_with_prefix)
}

/// True if later operands belong to a prefix operator in it.
fn ends_with_prefix(mut tree: &Tree) -> bool {
    loop {
        tree = match tree {
            Tree::UnaryOp { op, .. } if is_prefix(*op) => return true,
            Tree::UnaryOp { op, expr } if is_sign(*op) => expr,
            Tree::BinaryOp { right, .. } => right,
            _ => return false,
        };
    }
}

fn is_sum(operator: &BinaryOperator) -> bool {
    matches!(operator, BinaryOperator::Plus | BinaryOperator::Minus)
}

fn is_sign(operator: UnaryOperator) -> bool {
    matches!(operator, UnaryOperator::Plus | UnaryOperator::Minus)
}

fn is_prefix(operator: UnaryOperator) -> bool {
    use UnaryOperator::{BitwiseNot, PGAbs, PGCubeRoot, PGSquareRoot};
    matches!(operator, BitwiseNot | PGAbs | PGCubeRoot | PGSquareRoot)
}

/// Operators without a precedence of their own.
fn is_other(operator: &BinaryOperator) -> bool {
    use BinaryOperator::*;
    matches!(
        operator,
        StringConcat
            | BitwiseAnd
            | BitwiseOr
            | PGBitwiseXor
            | PGBitwiseShiftLeft
            | PGBitwiseShiftRight
    )
}
