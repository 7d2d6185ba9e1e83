//! The digits of `numeric(precision, scale)`.

use sardonyx::schema::Value;
use sardonyx_rows::decimals::rounded;

/// The most digits of a numeric with any precision.
pub(super) const DIGITS_MAX: u16 = 38;

/// The detail of an error: the range of a numeric with these digits.
pub(super) fn digits_detail(precision: u16, scale: impl Into<i32>) -> String {
    let scale = scale.into();
    if precision > DIGITS_MAX {
        return format!(
            "A field with precision {precision}, scale {scale} has {DIGITS_MAX} digits in all."
        );
    }
    let whole = i32::from(precision) - scale;
    let bound = if whole == 0 {
        "1".into()
    } else {
        format!("10^{whole}")
    };
    format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
    )
}

/// A number with a scale that is negative, or greater than the precision; none if it has more digits.
pub(super) fn of_other_scale(
    (units, from): (i128, u8),
    (precision, scale): (u16, i16),
) -> Option<Value> {
    // The places before the point that are zero.
    let zeros = u32::try_from(-i32::from(scale)).unwrap_or(0);
    let wanted = u8::try_from(scale.max(0)).ok()?;
    let units = match u8::try_from(u32::from(from) + zeros) {
        Ok(from) => rounded(units, from, wanted)?,
        // It is below a half.
        Err(_) => 0,
    };
    let bound = 10_u128.checked_pow(precision.into());
    if bound.is_some_and(|bound| units.unsigned_abs() >= bound) {
        return None;
    }
    match units {
        0 => Some(Value::Decimal(0, wanted)),
        units => {
            let units = units.checked_mul(10_i128.checked_pow(zeros)?)?;
            Some(Value::Decimal(units, wanted))
        }
    }
}
