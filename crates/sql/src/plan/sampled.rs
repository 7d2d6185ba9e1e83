//! `TABLESAMPLE BERNOULLI (n)` and `SYSTEM (n)`, with `REPEATABLE (seed)`: a hash of a row's key decides. Both methods choose
//! single rows.

use super::planning::Planning;
use crate::error::{SqlError, code};
use crate::expression::functions::{OF_SEED, SAMPLED, percentage};
use crate::expression::{Expr, Function, Scope};
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::Coercion;
use sardonyx::schema::Value;
use sqlparser::ast::{self, TableSample, TableSampleKind, TableSampleMethod};

/// The condition of the rows of a sample, by the columns of the table's key. Each sample of a statement has another one.
///
/// # Errors
/// `42704` for other methods; `2202H` and `2202G` for wrong numbers.
pub(super) fn condition(
    planning: &mut Planning<'_>,
    sample: &TableSampleKind,
    key: impl Iterator<Item = usize>,
) -> Result<Expr, SqlError> {
    let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
        sample;
    let TableSample {
        modifier: _,
        name,
        quantity: Some(quantity),
        seed,
        bucket: None,
        offset: None,
    } = &**sample
    else {
        return Err(SqlError::syntax("TABLESAMPLE needs a method and a number"));
    };
    match name {
        Some(TableSampleMethod::Bernoulli | TableSampleMethod::System) => {}
        Some(other) => {
            let other = other.to_string().to_lowercase();
            let text = format!("tablesample method {other} does not exist");
            return Err(SqlError::new(code::UNKNOWN_OBJECT, text));
        }
        None => return Err(SqlError::syntax("TABLESAMPLE needs a method")),
    }
    if quantity.unit.is_some() || !quantity.parenthesized {
        return Err(SqlError::syntax("TABLESAMPLE has a number in parentheses"));
    }
    let percent = number(planning, &quantity.value)?;
    if let Expr::Literal(value) = &percent {
        percentage(value.as_ref())?;
    }
    let (seed, place) = match seed {
        None => {
            let samples = &mut planning.queries.samples;
            *samples += 1;
            (Expr::Literal(Value::Null), *samples as i128)
        }
        Some(seed) => {
            let seed = ast::Expr::Value(seed.value.clone());
            (number(planning, &seed)?, OF_SEED)
        }
    };
    let mut parts = vec![percent, seed, Expr::Literal(Value::Int(place))];
    parts.extend(key.map(Expr::Column));
    Ok(Expr::Call(Function(&SAMPLED), parts))
}

/// A number, of no column.
fn number(planning: &mut Planning<'_>, tree: &ast::Expr) -> Result<Expr, SqlError> {
    let scope = Scope::default();
    let mut compiler = planning.compiler(&scope);
    let typed = compiler.whole(tree)?;
    let spec = TypeSpec::plain(SqlType::Float8);
    let number = compiler.coerce(typed, spec, Coercion::Implicit)?;
    if number.is_volatile() {
        let text = "volatile functions are not supported in TABLESAMPLE";
        return Err(SqlError::unsupported(text));
    }
    Ok(number)
}
