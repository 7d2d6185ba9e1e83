//! Declared defaults of columns and domains.

use crate::error::SqlError;
use crate::expression::{Compiler, Expr, Parameters, Scope};
use crate::types::TypeSpec;
use crate::user_types::TypeNames;
use crate::values::cast::{Coercion, stored};
use sardonyx::schema::Value;
use sqlparser::ast::Expr as Tree;

/// Compiles the default of a column: a value, or the text of an expression that is computed for each row.
///
/// # Errors
/// Invalid SQL.
pub(super) fn default_of(
    tree: &Tree,
    spec: TypeSpec,
    names: &TypeNames,
) -> Result<(Value, Option<String>), SqlError> {
    let scope = Scope::default();
    let mut parameters = Parameters::default().naming(names.clone());
    let mut compiler = Compiler::new(&scope, &mut parameters);
    let typed = compiler.compile(tree)?;
    match compiler.coerce(typed, spec, Coercion::Assignment)? {
        Expr::Literal(value) => Ok((stored(value, spec)?, None)),
        _ => Ok((Value::Null, Some(tree.to_string()))),
    }
}
