//! The expressions inside an expression of a syntax tree, without subqueries. Only the usual forms are walked: the
//! compiler refuses others.

use sqlparser::ast::{
    self, AccessExpr, Expr as Tree, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, InTarget, Subscript,
};

/// The parts of an expression, one level below it.
pub(crate) fn parts_of_tree(tree: &Tree) -> Vec<&Tree> {
    match tree {
        Tree::Function(function) => parts_of_function(function),
        Tree::BinaryOp { left, right, .. }
        | Tree::IsDistinctFrom(left, right)
        | Tree::IsNotDistinctFrom(left, right)
        | Tree::AnyOp { left, right, .. }
        | Tree::AllOp { left, right, .. } => vec![left, right],
        Tree::Nested(inner)
        | Tree::UnaryOp { expr: inner, .. }
        | Tree::Cast { expr: inner, .. }
        | Tree::IsNull(inner)
        | Tree::IsNotNull(inner)
        | Tree::Extract { expr: inner, .. }
        | Tree::Ceil { expr: inner, .. }
        | Tree::Floor { expr: inner, .. }
        | Tree::IsTrue(inner)
        | Tree::IsFalse(inner)
        | Tree::IsNotTrue(inner)
        | Tree::IsNotFalse(inner)
        | Tree::IsUnknown(inner)
        | Tree::IsNotUnknown(inner)
        | Tree::IsNormalized { expr: inner, .. }
        | Tree::Collate { expr: inner, .. } => vec![inner],
        Tree::CompoundFieldAccess { root, access_chain } => {
            let mut parts = vec![&**root];
            parts.extend(access_chain.iter().flat_map(subscripts));
            parts
        }
        Tree::Like { expr, pattern, .. } | Tree::ILike { expr, pattern, .. } => {
            vec![expr, pattern]
        }
        Tree::SimilarTo {
            expr,
            pattern,
            escape_char,
            ..
        } => {
            let mut parts = vec![&**expr, &**pattern];
            parts.extend(escape_char.as_deref());
            parts
        }
        Tree::Position { expr, r#in } => vec![expr, r#in],
        Tree::AtTimeZone {
            timestamp,
            time_zone,
        } => vec![timestamp, time_zone],
        Tree::Substring {
            expr,
            substring_from,
            substring_for,
            ..
        } => {
            let mut parts = vec![&**expr];
            parts.extend(substring_from.as_deref());
            parts.extend(substring_for.as_deref());
            parts
        }
        Tree::Overlay {
            expr,
            overlay_what: by,
            overlay_from: from,
            overlay_for: count,
        } => {
            let mut parts = vec![&**expr, &**by, &**from];
            parts.extend(count.as_deref());
            parts
        }
        Tree::Trim {
            expr,
            trim_what,
            trim_characters,
            ..
        } => {
            let mut parts = vec![&**expr];
            parts.extend(trim_what.as_deref());
            parts.extend(trim_characters.iter().flatten());
            parts
        }
        Tree::Tuple(parts) => parts.iter().collect(),
        Tree::Array(array) => array.elem.iter().collect(),
        Tree::In { expr, target, .. } => {
            let mut parts = vec![&**expr];
            if let InTarget::List(list) = target {
                parts.extend(list);
            }
            parts
        }
        Tree::Between {
            expr, low, high, ..
        } => vec![expr, low, high],
        Tree::Case {
            operand,
            conditions,
            else_result,
            ..
        } => {
            let whens = conditions.iter();
            let mut parts: Vec<&Tree> = whens
                .flat_map(|when| [&when.condition, &when.result])
                .collect();
            parts.extend(operand.as_deref());
            parts.extend(else_result.as_deref());
            parts
        }
        _ => Vec::new(),
    }
}

/// The expressions between brackets. The name of a field is none.
fn subscripts(access: &AccessExpr) -> Vec<&Tree> {
    match access {
        AccessExpr::Dot(_) => Vec::new(),
        AccessExpr::Subscript(Subscript::Index { index }) => vec![index],
        AccessExpr::Subscript(Subscript::Slice {
            lower_bound,
            upper_bound,
            stride,
        }) => [lower_bound, upper_bound, stride]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// The values of a row, `(a, b)` or `ROW(a, …)`; none of any other expression.
pub(crate) fn row_of(tree: &Tree) -> Option<Vec<&Tree>> {
    match tree {
        Tree::Tuple(parts) => Some(parts.iter().collect()),
        Tree::Nested(inner) => row_of(inner),
        Tree::Function(function) => {
            let name = match function.name.0.as_slice() {
                [name] => name.as_ident()?,
                _ => return None,
            };
            let is_row = name.quote_style.is_none() && name.value.eq_ignore_ascii_case("row");
            let FunctionArguments::List(list) = &function.args else {
                return None;
            };
            let parts = list.args.iter().map(|argument| match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(part)) => Some(part),
                _ => None,
            });
            parts.collect::<Option<Vec<&Tree>>>().filter(|_| is_row)
        }
        _ => None,
    }
}

/// The arguments of a function, its order and its filter, and the expressions of its window.
pub(super) fn parts_of_function(function: &ast::Function) -> Vec<&Tree> {
    let mut parts = Vec::new();
    if let FunctionArguments::List(list) = &function.args {
        for argument in &list.args {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(tree))
            | FunctionArg::Named {
                arg: FunctionArgExpr::Expr(tree),
                ..
            }
            | FunctionArg::ExprNamed {
                arg: FunctionArgExpr::Expr(tree),
                ..
            } = argument
            {
                parts.push(tree);
            }
        }
        for clause in &list.clauses {
            if let FunctionArgumentClause::OrderBy(keys) = clause {
                parts.extend(keys.iter().map(|key| &key.expr));
            }
        }
    }
    parts.extend(function.within_group.iter().map(|by| &by.expr));
    parts.extend(function.filter.as_deref());
    if let Some(ast::WindowType::WindowSpec(spec)) = &function.over {
        parts.extend(&spec.partition_by);
        parts.extend(spec.order_by.iter().map(|by| &by.expr));
    }
    parts
}
