//! The names of columns whose expressions have no alias.
//!
//! Source: PostgreSQL 15, the visible results of `FigureColname`.

use crate::names::{name_of, parts_of};
use crate::types::{OwnTypes, TypeSpec};
use sqlparser::ast::{self, DataType, Expr as Tree, SelectItem};

/// The name of a column without an alias.
pub(crate) fn name_of_tree(tree: &Tree) -> String {
    found_name(tree).map_or("?column?".into(), |(name, _)| name)
}

/// The name that an expression gives its column, if any.
pub(crate) fn name_of_expression(tree: &Tree) -> Option<String> {
    found_name(tree).map(|(name, _)| name)
}

/// The name that an expression gives its column, and true if casts and `CASE` around it keep that name. The names of
/// columns and functions are kept, those of casts are not.
///
/// Source: PostgreSQL 15, the visible results of `FigureColname`.
fn found_name(tree: &Tree) -> Option<(String, bool)> {
    let kept = |name: &str| Some((name.to_string(), true));
    let around = |inner: Option<&Tree>, own: String| match inner.and_then(found_name) {
        Some((name, true)) => Some((name, true)),
        _ => Some((own, false)),
    };
    let type_name = |of: &DataType| {
        match (TypeSpec::of_cast(of, &OwnTypes), of) {
            (Ok(spec), _) => {
                // The name of an array type is that of its elements' type.
                let kind = spec.kind.element().unwrap_or(spec.kind);
                Some(kind.internal_name().to_string())
            }
            (Err(_), DataType::Custom(name, _)) => parts_of(name).ok()?.pop(),
            // An array of a user's type.
            (Err(_), DataType::Array(ast::ArrayElemTypeDef::SquareBracket(of, _))) => match &**of {
                DataType::Custom(name, _) => parts_of(name).ok()?.pop(),
                _ => None,
            },
            (Err(_), _) => None,
        }
    };
    match tree {
        Tree::Identifier(name) => kept(&name_of(name)),
        Tree::CompoundIdentifier(names) => kept(&names.last().map(name_of)?),
        Tree::Function(function) => kept(&parts_of(&function.name).ok()?.pop()?),
        Tree::Cast {
            expr, data_type, ..
        } => around(Some(expr), type_name(data_type)?),
        Tree::TypedString(typed) => around(None, type_name(&typed.data_type)?),
        Tree::Interval(_) => around(None, "interval".into()),
        Tree::Case { else_result, .. } => around(else_result.as_deref(), "case".into()),
        Tree::Nested(inner) => found_name(inner),
        Tree::Collate { expr, .. } => found_name(expr),
        Tree::Extract { .. } => kept("extract"),
        Tree::AtTimeZone { .. } => kept("timezone"),
        Tree::Substring {
            shorthand: true, ..
        } => kept("substr"),
        Tree::Substring { .. } => kept("substring"),
        Tree::Trim { trim_where, .. } => kept(match trim_where {
            Some(ast::TrimWhereField::Leading) => "ltrim",
            Some(ast::TrimWhereField::Trailing) => "rtrim",
            _ => "btrim",
        }),
        Tree::Position { .. } => kept("position"),
        Tree::IsNormalized { negated: false, .. } => kept("is_normalized"),
        Tree::Overlay { .. } => kept("overlay"),
        Tree::Ceil { .. } => kept("ceil"),
        Tree::Floor { .. } => kept("floor"),
        Tree::Array(_) => kept("array"),
        // A field's name counts, a subscript does not.
        Tree::CompoundFieldAccess { root, access_chain } => {
            let field = access_chain.iter().rev().find_map(|access| match access {
                ast::AccessExpr::Dot(Tree::Identifier(name)) => Some(name_of(name)),
                _ => None,
            });
            match field {
                Some(name) => kept(&name),
                None => found_name(root),
            }
        }
        Tree::Tuple(_) => kept("row"),
        Tree::BinaryOp {
            op: ast::BinaryOperator::Overlaps,
            ..
        } => kept("overlaps"),
        Tree::Exists { negated: false, .. } => kept("exists"),
        Tree::Subquery(query) => name_of_query(query),
        _ => None,
    }
}

/// The name of a query's only column, as in [`found_name`].
fn name_of_query(query: &ast::Query) -> Option<(String, bool)> {
    let mut body = &*query.body;
    while let ast::SetExpr::SetOperation { left, .. } = body {
        body = left;
    }
    match body {
        ast::SetExpr::Select(select) => match select.projection.first()? {
            SelectItem::UnnamedExpr(tree) => found_name(tree),
            SelectItem::ExprWithAlias { alias, .. } => Some((name_of(alias), true)),
            _ => None,
        },
        ast::SetExpr::Values(_) => Some(("column1".into(), true)),
        _ => None,
    }
}
