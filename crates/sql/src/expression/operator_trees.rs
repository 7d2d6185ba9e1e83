//! Operators in syntax trees, before they are compiled: their names and kinds, and powers that the parser groups in another
//! way than PostgreSQL.

use super::trees::row_of;
use crate::parse::{ALL, ANY, parse_expression};
use sqlparser::ast::{
    BinaryOperator, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectNamePart,
    UnaryOperator,
};

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
    match parse_expression(&format!("a {symbol} b")) {
        Ok(Tree::BinaryOp { op, .. }) => Some(op),
        _ => None,
    }
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

/// True for a comparison, which cannot be compared without parentheses.
pub(super) fn is_comparison(tree: &Tree) -> bool {
    use BinaryOperator::*;
    let Tree::BinaryOp { op, .. } = tree else {
        return false;
    };
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// The array of `ANY` or `ALL`, as the parser's text has it behind such operators, and true for `ALL`.
pub(super) fn quantified(tree: &Tree) -> Option<(&Tree, bool)> {
    let Tree::Function(function) = tree else {
        return None;
    };
    let [ObjectNamePart::Identifier(name)] = &function.name.0[..] else {
        return None;
    };
    let is_all = match name.value.as_str() {
        ANY => false,
        ALL => true,
        _ => return None,
    };
    match &function.args {
        FunctionArguments::List(list) => match &list.args[..] {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] => Some((array, is_all)),
            _ => None,
        },
        _ => None,
    }
}

/// The items of `ARRAY[…]` with which a value is compared, if neither they nor the value are arrays or rows.
pub(super) fn plain_items<'t>(value: &Tree, array: &'t Tree) -> Option<&'t [Tree]> {
    let Tree::Array(array) = array else {
        return None;
    };
    if row_of(value).is_some() {
        return None;
    }
    let is_nested = array.elem.iter().any(|item| matches!(item, Tree::Array(_)));
    (!is_nested).then_some(&*array.elem)
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

fn power(left: Tree, right: Tree) -> Tree {
    binary(left, BinaryOperator::PGExp, right)
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
