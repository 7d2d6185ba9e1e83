//! Declared keys: the columns and expressions of indexes and unique constraints.

use crate::error::SqlError;
use crate::names::{check_collation, name_of, parts_of};
use sqlparser::ast::{self, Expr as Tree, IndexColumn, OrderByExpr};

/// One element of an index's order.
pub(super) struct KeyElement {
    pub by: KeyBy,
    pub descending: bool,
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
    let elements = key_elements(columns)?.into_iter();
    let names = elements.map(|element| match element.by {
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
/// `0A000` for another order of nulls, or unsupported operator classes.
pub(super) fn key_elements(columns: &[IndexColumn]) -> Result<Vec<KeyElement>, SqlError> {
    let mut elements = Vec::with_capacity(columns.len());
    for IndexColumn {
        column: order,
        operator_class,
    } in columns
    {
        check_operators(operator_class.as_ref())?;
        let OrderByExpr {
            expr,
            options: _,
            with_fill,
        } = order;
        let expr = match expr {
            Tree::Collate { expr, collation } => {
                check_collation(collation)?;
                expr
            }
            expr => expr,
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
        if order
            .options
            .nulls_first
            .is_some_and(|first| first != descending)
        {
            return Err(SqlError::unsupported(
                "an index has nulls last, and first where it is descending",
            ));
        }
        elements.push(KeyElement { by, descending });
    }
    Ok(elements)
}

/// Checks the operator class of an index: all indexes order values as `<` does, and texts by their bytes.
fn check_operators(class: Option<&ast::ObjectName>) -> Result<(), SqlError> {
    const KNOWN: [&str; 24] = [
        "bool_ops",
        "bpchar_ops",
        "bpchar_pattern_ops",
        "bytea_ops",
        "char_ops",
        "cidr_ops",
        "date_ops",
        "float4_ops",
        "float8_ops",
        "inet_ops",
        "int2_ops",
        "int4_ops",
        "int8_ops",
        "name_ops",
        "numeric_ops",
        "oid_ops",
        "text_ops",
        "text_pattern_ops",
        "time_ops",
        "timestamp_ops",
        "timestamptz_ops",
        "uuid_ops",
        "varchar_ops",
        "varchar_pattern_ops",
    ];
    let Some(class) = class else {
        return Ok(());
    };
    let last = parts_of(class)?.pop().unwrap_or_default();
    match KNOWN.contains(&last.as_str()) {
        true => Ok(()),
        false => Err(SqlError::unsupported(format!(
            "the operator class {class} is not supported"
        ))),
    }
}
