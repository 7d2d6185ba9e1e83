//! Precedence of operators where the parser's is not PostgreSQL's: its trees are grouped anew before they are compiled. What
//! stands in parentheses is a tree of its own, and stays as it is.

use sqlparser::ast::{BinaryOperator, Expr as Tree, UnaryOperator};

/// An operation whose parts belong together otherwise than the parser has them; `None` if it is right.
///
/// A sum behind a prefix operator belongs to that: `~a + b` is `~(a + b)`. Operators of regular expressions group from the
/// left with those of their kind: `a ~ b || c` is `(a ~ b) || c`.
pub(super) fn regrouped(left: &Tree, operator: &BinaryOperator, right: &Tree) -> Option<Tree> {
    match operator {
        BinaryOperator::Plus | BinaryOperator::Minus => within_prefixed(left, operator, right),
        _ if pattern_operator(operator).is_some() => match right {
            Tree::BinaryOp {
                left: inner,
                op,
                right: last,
            } if is_other(op) => {
                let first = regrouped(left, operator, inner);
                let first = first
                    .unwrap_or_else(|| binary(left.clone(), operator.clone(), (**inner).clone()));
                Some(binary(first, op.clone(), (**last).clone()))
            }
            _ => None,
        },
        _ => None,
    }
}

/// A tree that ends with a prefix operation, which goes on with what follows; `None` of any other.
fn within_prefixed(tree: &Tree, operator: &BinaryOperator, right: &Tree) -> Option<Tree> {
    match tree {
        Tree::UnaryOp { op, expr } if is_prefix(*op) => {
            let longer = binary((**expr).clone(), operator.clone(), right.clone());
            Some(unary(*op, longer))
        }
        Tree::UnaryOp {
            op: sign @ (UnaryOperator::Minus | UnaryOperator::Plus),
            expr,
        } => Some(unary(*sign, within_prefixed(expr, operator, right)?)),
        Tree::BinaryOp {
            left,
            op,
            right: last,
        } => match regrouped(left, op, last) {
            Some(grouped) => within_prefixed(&grouped, operator, right),
            None => {
                let last = within_prefixed(last, operator, right)?;
                Some(binary((**left).clone(), op.clone(), last))
            }
        },
        _ => None,
    }
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

/// Of an operator of regular expressions: whether it ignores case, and whether it is negated.
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

/// True of a comparison, which cannot be compared without parentheses.
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

/// The powers behind a sign with the sign at the first of them, to which it belongs: `-a ^ b` is `(-a) ^ b`. The parser takes
/// the sign for the weaker operator. `None` if there are none.
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
