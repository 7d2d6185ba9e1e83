//! Precedence of operators where the parser's is not PostgreSQL's: its trees are regrouped when they are compiled.
//! Parenthesised expressions are not regrouped.

use super::Typed;
use super::compile::Compiler;
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

/// The flags of an operator of regular expressions: it ignores case, and it is negated.
pub(super) fn pattern_operator(operator: &BinaryOperator) -> Option<(bool, bool)> {
    let word = match operator {
        BinaryOperator::PGRegexMatch => "~",
        BinaryOperator::PGRegexIMatch => "~*",
        BinaryOperator::PGRegexNotMatch => "!~",
        BinaryOperator::PGRegexNotIMatch => "!~*",
        BinaryOperator::PGCustomBinaryOperator(words) => words.last()?.as_str(),
        _ => return None,
    };
    match word {
        "~" => Some((false, false)),
        "~*" => Some((true, false)),
        "!~" => Some((false, true)),
        "!~*" => Some((true, true)),
        _ => None,
    }
}

/// The operator that `OPERATOR(schema.symbol)` names; `None` for one that is written so because of its name.
pub(super) fn named_operator(operator: &BinaryOperator) -> Option<BinaryOperator> {
    let BinaryOperator::PGCustomBinaryOperator(words) = operator else {
        return None;
    };
    let symbol = match words.as_slice() {
        [symbol] => symbol,
        [schema, symbol] if schema.eq_ignore_ascii_case("pg_catalog") => symbol,
        _ => return None,
    };
    // Words, such as AND, are no operators.
    if symbol.contains(|letter: char| !"+-*/<>=~!@#%^&|`?".contains(letter)) {
        return None;
    }
    match crate::parse::parse_expression(&format!("a {symbol} b")) {
        Ok(Tree::BinaryOp { op, .. }) => Some(op),
        _ => None,
    }
}

/// True for a comparison, which cannot be compared without parentheses.
pub(super) fn is_comparison(tree: &Tree) -> bool {
    use BinaryOperator::*;
    let Tree::BinaryOp { op, .. } = tree else {
        return false;
    };
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

fn binary(left: Tree, op: BinaryOperator, right: Tree) -> Tree {
    Tree::BinaryOp {
        left: Box::new(left),
        op,
        right: Box::new(right),
    }
}

fn unary(op: UnaryOperator, of: Tree) -> Tree {
    Tree::UnaryOp {
        op,
        expr: Box::new(of),
    }
}

/// The powers behind a sign, with the sign at the first of them: `-a ^ b` is `(-a) ^ b`. The parser takes the sign for
/// the weaker operator. `None` if there are none.
pub(super) fn signed_powers(sign: UnaryOperator, tree: &Tree) -> Option<Tree> {
    match tree {
        Tree::BinaryOp {
            op: BinaryOperator::PGExp,
            ..
        } => Some(with_sign(sign, tree)),
        Tree::UnaryOp {
            op: inner @ (UnaryOperator::Minus | UnaryOperator::Plus),
            expr,
        } => signed_powers(*inner, expr).map(|powers| with_sign(sign, &powers)),
        _ => None,
    }
}

fn with_sign(sign: UnaryOperator, tree: &Tree) -> Tree {
    match tree {
        Tree::BinaryOp {
            left,
            op: BinaryOperator::PGExp,
            right,
        } => power(with_sign(sign, left), (**right).clone()),
        other => unary(sign, other.clone()),
    }
}

fn power(left: Tree, right: Tree) -> Tree {
    binary(left, BinaryOperator::PGExp, right)
}

/// `a ^ -b ^ c` as `(a ^ -b) ^ c`, if a power is one whose exponent has a sign before powers.
pub(super) fn regrouped_power(tree: &Tree) -> Option<Tree> {
    let Tree::BinaryOp { left, right, .. } = tree else {
        return None;
    };
    let Tree::UnaryOp {
        op: op @ (UnaryOperator::Minus | UnaryOperator::Plus),
        expr,
    } = &**right
    else {
        return None;
    };
    let powers = signed_powers(*op, expr)?;
    let mut exponents = Vec::new();
    let mut rest = &powers;
    while let Tree::BinaryOp {
        left,
        op: BinaryOperator::PGExp,
        right,
    } = rest
    {
        exponents.push(&**right);
        rest = left;
    }
    let base = power((**left).clone(), rest.clone());
    let exponents = exponents.into_iter().rev();
    Some(exponents.fold(base, |base, exponent| power(base, exponent.clone())))
}
