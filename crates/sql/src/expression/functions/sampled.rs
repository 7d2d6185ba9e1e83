//! The condition of `TABLESAMPLE`: the same for a row each time that it is read with one seed, whatever the other rows.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::values::equality_keys::key_of;
use sardonyx::schema::{Value, ValueRef};
use std::hash::{DefaultHasher, Hasher};

/// The place of a sample with a seed.
pub(crate) const OF_SEED: i128 = -1;

/// The percentage of the rows, the seed of `REPEATABLE` or null, the sample's number in the statement or [`OF_SEED`], and the row's
/// key.
pub(crate) static SAMPLED: Definition = Definition::new(
    "sampled",
    &[FLOAT8, FLOAT8, INT4, ANY],
    BOOL,
    |a, with| is_in(a, with).map(Value::Bool),
    "",
)
.stable()
.on_null();

fn is_in(a: Arguments<'_>, with: &Environment<'_>) -> Result<bool, SqlError> {
    let percent = percentage(a.value(0))?;
    let mut hasher = DefaultHasher::new();
    match a.value(1) {
        ValueRef::Float(seed) => hasher.write_u64(seed.to_bits()),
        _ if a.value(2) == ValueRef::Int(OF_SEED) => {
            return Err(SqlError::new(
                code::INVALID_SAMPLE_SEED,
                "TABLESAMPLE REPEATABLE parameter cannot be null",
            ));
        }
        _ => {
            // Each run of a statement has another sample, and each place of it.
            hasher.write_u64(with.context.seed[0]);
            hasher.write_u64(with.context.seed[1]);
            hasher.write_i64(a.int(2));
        }
    }
    let mut key = Vec::new();
    for part in a.all().skip(3) {
        key_of(part, &mut key);
    }
    hasher.write(&key);
    let part = (hasher.finish() >> 11) as f64 / (1_u64 << 53) as f64;
    Ok(100.0 * part < percent)
}

/// The percentage of a sample.
///
/// # Errors
/// `2202H` for null, and for numbers that are no percentage.
pub(crate) fn percentage(value: ValueRef<'_>) -> Result<f64, SqlError> {
    match value {
        ValueRef::Float(percent) if (0.0..=100.0).contains(&percent) => Ok(percent),
        ValueRef::Float(_) => Err(SqlError::new(
            code::INVALID_SAMPLE,
            "sample percentage must be between 0 and 100",
        )),
        _ => Err(SqlError::new(
            code::INVALID_SAMPLE,
            "TABLESAMPLE parameter cannot be null",
        )),
    }
}
