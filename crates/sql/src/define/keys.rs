//! Declared keys: the columns and expressions of indexes and unique constraints.

use crate::access_methods::Method;
use crate::error::{SqlError, code};
use crate::names::{collation_of, name_of, parts_of};
use crate::operator_classes::OperatorClass;
use crate::types::NamedCollation;
use sqlparser::ast::{self, Expr as Tree, IndexColumn, OrderByExpr};

/// One element of an index's order.
pub(super) struct KeyElement {
    pub by: KeyBy,
    pub descending: bool,
    /// True if nulls are said to come where the engine does not have them.
    pub has_other_nulls: bool,
    /// The collation that `COLLATE` names.
    pub collation: Option<NamedCollation>,
    /// The operator class, if one is named.
    pub class: Option<OperatorClass>,
}

/// The column or expression of an element.
pub(super) enum KeyBy {
    Column(String),
    Expression(Box<Tree>),
}

/// The columns of a key, with true for descending ones.
///
/// # Errors
/// `0A000` for expressions.
pub(super) fn key_columns(columns: &[IndexColumn]) -> Result<Vec<(String, bool)>, SqlError> {
    let elements = key_elements(columns, Method::Btree)?.into_iter();
    let names = elements.map(|element| match element.by {
        _ if element.has_other_nulls => Err(SqlError::unsupported(
            "a constraint has nulls last, and first where it is descending",
        )),
        KeyBy::Column(name) => Ok((name, element.descending)),
        KeyBy::Expression(_) => Err(SqlError::unsupported(
            "keys are of columns, not of expressions",
        )),
    });
    names.collect()
}

/// The columns and expressions of an index.
///
/// # Errors
/// `0A000` for unsupported operator classes of `btree`, and for orders that a method does not have; `42704` for unknown
/// classes of other methods.
pub(super) fn key_elements(
    columns: &[IndexColumn],
    method: Method,
) -> Result<Vec<KeyElement>, SqlError> {
    let mut elements = Vec::with_capacity(columns.len());
    for IndexColumn {
        column: order,
        operator_class,
    } in columns
    {
        let class = operators_of(operator_class.as_ref(), method)?;
        let OrderByExpr {
            expr,
            options: _,
            with_fill,
        } = order;
        let (expr, collation) = match expr {
            Tree::Collate { expr, collation } => (&**expr, Some(collation_of(collation)?)),
            expr => (expr, None),
        };
        if with_fill.is_some() {
            return Err(SqlError::unsupported("WITH FILL is not supported"));
        }
        let by = match expr {
            Tree::Identifier(name) => KeyBy::Column(name_of(name)),
            Tree::Nested(inner) => match &**inner {
                // Parentheses alone do not make an expression.
                Tree::Identifier(name) => KeyBy::Column(name_of(name)),
                other => KeyBy::Expression(Box::new(other.clone())),
            },
            other => KeyBy::Expression(Box::new(other.clone())),
        };
        let descending = crate::expression::is_descending(order)?;
        let nulls_first = order.options.nulls_first;
        if method != Method::Btree {
            check_unordered(order, method)?;
        }
        elements.push(KeyElement {
            by,
            descending,
            has_other_nulls: nulls_first.is_some_and(|first| first != descending),
            collation,
            class,
        });
    }
    Ok(elements)
}

/// Refuses an order of a method that has none.
fn check_unordered(order: &OrderByExpr, method: Method) -> Result<(), SqlError> {
    if order.options.sort.is_some() {
        return Err(method.lacks("ASC/DESC options"));
    }
    match order.options.nulls_first {
        Some(_) => Err(method.lacks("NULLS FIRST/LAST options")),
        None => Ok(()),
    }
}

/// The operator class that an element of an index names.
///
/// # Errors
/// `0A000` for an unknown one of `btree`, `42704` of another method.
fn operators_of(
    class: Option<&ast::ObjectName>,
    method: Method,
) -> Result<Option<OperatorClass>, SqlError> {
    let Some(class) = class else {
        return Ok(None);
    };
    let last = parts_of(class)?.pop().unwrap_or_default();
    match OperatorClass::named(method, &last) {
        Some(known) => Ok(Some(known)),
        None if method != Method::Btree => Err(SqlError::new(
            code::UNKNOWN_OBJECT,
            format!(
                "operator class \"{last}\" does not exist for access method \"{}\"",
                method.name()
            ),
        )),
        None => Err(SqlError::unsupported(format!(
            "the operator class {class} is not supported"
        ))),
    }
}
