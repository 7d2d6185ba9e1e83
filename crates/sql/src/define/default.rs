//! Declared defaults of columns and domains.

use crate::error::SqlError;
use crate::expression::{Compiler, Expr, Scope, kept_expression};
use crate::types::TypeSpec;
use crate::user_types::TypeNames;
use crate::values::cast::{Coercion, stored};
use sardonyx::schema::Value;
use sqlparser::ast::Expr as Tree;

/// Compiles the default of a column: a value, or the text of an expression that is computed for each row. An operation, such as
/// `3 + 5`, keeps its text, which the catalogue shows as PostgreSQL does.
///
/// # Errors
/// Invalid SQL.
pub(super) fn default_of(
    tree: &Tree,
    spec: TypeSpec,
    names: &TypeNames,
) -> Result<(Value, Option<String>), SqlError> {
    let mut inner = tree;
    while let Tree::Nested(within) = inner {
        inner = within;
    }
    let is_operation = matches!(inner, Tree::BinaryOp { .. });
    match compiled(tree, spec, names)? {
        (Expr::Literal(value), _) if !is_operation => Ok((stored(value, spec)?, None)),
        (_, text) => Ok((Value::Null, Some(text))),
    }
}

/// A default, compiled, and its text, whose moments are those of the session that declares it.
///
/// # Errors
/// Invalid SQL.
pub(super) fn compiled(
    tree: &Tree,
    spec: TypeSpec,
    names: &TypeNames,
) -> Result<(Expr, String), SqlError> {
    let scope = Scope::default();
    kept_expression(tree, names, &mut |tree, parameters| {
        let mut compiler = Compiler::new(&scope, parameters);
        let typed = compiler.compile(tree)?;
        compiler.coerce(typed, spec, Coercion::Assignment)
    })
}
