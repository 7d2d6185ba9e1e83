//! The order of values of any types: `None` if they have none.

use crate::schema::ValueRef;
use crate::value_text::short_power;
use std::cmp::Ordering;

/// Compares two values as conditions do; `None` if one is null or their types cannot be compared.
pub fn compare(left: ValueRef<'_>, right: ValueRef<'_>) -> Option<Ordering> {
    use ValueRef::{
        Bool, Bytes, Date, Decimal, Float, Int, NonFinite, Text, Time, Timestamp, U128, Uuid,
    };
    Some(match (left, right) {
        (Int(a), Int(b)) => a.cmp(&b),
        (Text(a), Text(b)) => a.cmp(b),
        (Bool(a), Bool(b)) => a.cmp(&b),
        (Bytes(a), Bytes(b)) => a.cmp(b),
        (Date(a), Date(b)) => a.cmp(&b),
        (Time(a), Time(b)) | (Timestamp(a), Timestamp(b)) => a.cmp(&b),
        (Uuid(a), Uuid(b)) => a.cmp(b),
        (U128(a), U128(b)) => a.cmp(&b),
        (U128(a), Int(b)) => u128::try_from(b).map_or(Ordering::Greater, |b| a.cmp(&b)),
        (Decimal(a, x), Decimal(b, y)) => decimals(a, x, b, y),
        (Decimal(a, x), Int(b)) => decimals(a, x, b, 0),
        (Decimal(a, x), U128(b)) => match i128::try_from(b) {
            Ok(b) => decimals(a, x, b, 0),
            Err(_) => Ordering::Less,
        },
        (Float(a), Float(b)) => floats(a, b),
        (Float(a), Int(b)) => float_and_integer(a, b),
        (Float(a), U128(b)) => match i128::try_from(b) {
            Ok(b) => float_and_integer(a, b),
            // From 2^127 on, where floats are integers.
            Err(_) if a.is_nan() => Ordering::Greater,
            Err(_) if a >= 2_f64.powi(128) => Ordering::Greater,
            Err(_) if a <= 0.0 => Ordering::Less,
            Err(_) => (a as u128).cmp(&b),
        },
        (Float(a), Decimal(b, y)) => floats(a, b as f64 / 10_f64.powi(y.into())),
        (NonFinite(a), NonFinite(b)) => a.cmp(&b),
        // A float may be the same; all other numbers lie between the infinities.
        (NonFinite(a), Float(b)) => floats(a.to_float(), b),
        (NonFinite(a), Int(_) | U128(_) | Decimal(..)) => floats(a.to_float(), 0.0),
        (Int(_), U128(_) | Decimal(..) | Float(_) | NonFinite(_))
        | (U128(_), Decimal(..) | Float(_) | NonFinite(_))
        | (Decimal(..), Float(_) | NonFinite(_))
        | (Float(_), NonFinite(_)) => compare(right, left)?.reverse(),
        _ => return None,
    })
}

/// NaN equals itself and is the largest.
fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn float_and_integer(a: f64, b: i128) -> Ordering {
    let limit = 2_f64.powi(127);
    if a.is_nan() || a >= limit {
        return Ordering::Greater;
    }
    if a < -limit {
        return Ordering::Less;
    }
    let whole = a.trunc();
    (whole as i128).cmp(&b).then_with(|| floats(a - whole, 0.0))
}

/// Compares the whole parts, then the fractions.
fn decimals(a: i128, x: u8, b: i128, y: u8) -> Ordering {
    if x == y {
        return a.cmp(&b);
    }
    if let (Ok(a), Ok(b), Some(power)) = (
        i64::try_from(a),
        i64::try_from(b),
        short_power(x.abs_diff(y)),
    ) {
        // No product of two such is too large.
        let [a, b, power] = [a, b, power].map(i128::from);
        return match x < y {
            true => (a * power).cmp(&b),
            false => a.cmp(&(b * power)),
        };
    }
    let parts = |units: i128, scale: u8| match 10_i128.checked_pow(scale.into()) {
        Some(power) => (units.div_euclid(power), units.rem_euclid(power)),
        None => (if units < 0 { -1 } else { 0 }, 0),
    };
    let ((whole_a, fraction_a), (whole_b, fraction_b)) = (parts(a, x), parts(b, y));
    let digits = x.max(y);
    // A fraction has as many digits as its scale, so that none is lost here.
    let scaled = |fraction: i128, scale: u8| {
        fraction.saturating_mul(10_i128.saturating_pow((digits - scale).into()))
    };
    whole_a
        .cmp(&whole_b)
        .then_with(|| scaled(fraction_a, x).cmp(&scaled(fraction_b, y)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::NonFinite;
    use proptest::prelude::*;

    fn numbers() -> impl Strategy<Value = ValueRef<'static>> {
        prop_oneof![
            (-3..4_i128).prop_map(ValueRef::Int),
            any::<i128>().prop_map(ValueRef::Int),
            (0..4_u128).prop_map(ValueRef::U128),
            any::<u128>().prop_map(ValueRef::U128),
            (-300..300_i128, 0..3_u8).prop_map(|(units, scale)| ValueRef::Decimal(units, scale)),
            (any::<i128>(), 0..=38_u8).prop_map(|(units, scale)| ValueRef::Decimal(units, scale)),
            prop::sample::select(vec![
                NonFinite::NegativeInfinity,
                NonFinite::Infinity,
                NonFinite::NaN,
            ])
            .prop_map(ValueRef::NonFinite),
            prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY])
                .prop_map(ValueRef::Float),
        ]
    }

    proptest! {
        #[test]
        fn exact_numbers_have_one_order(a in numbers(), b in numbers(), c in numbers()) {
            let order = |a, b| compare(a, b).expect("numbers compare");
            prop_assert_eq!(order(a, b), order(b, a).reverse());
            prop_assert_eq!(order(a, a), Ordering::Equal);
            if order(a, b).is_le() && order(b, c).is_le() {
                prop_assert!(order(a, c).is_le(), "{:?} {:?} {:?}", a, b, c);
            }
        }

        #[test]
        fn floats_and_integers_compare_exactly(a: i64, b: i64, tenths in -40..40_i32) {
            let float = b as f64;
            let expected = i128::from(a).cmp(&(float as i128));
            prop_assert_eq!(compare(ValueRef::Int(a.into()), ValueRef::Float(float)), Some(expected));
            let small = f64::from(tenths) / 10.0;
            let expected = f64::from((a % 5) as i32).partial_cmp(&small);
            prop_assert_eq!(compare(ValueRef::Int((a % 5).into()), ValueRef::Float(small)), expected);
        }
    }

    #[test]
    fn edges() {
        use ValueRef::{Decimal, Float, Int, Null, Text, U128};
        assert_eq!(
            compare(Float(f64::NAN), Float(f64::INFINITY)),
            Some(Ordering::Greater)
        );
        assert_eq!(
            compare(Float(f64::NAN), Float(f64::NAN)),
            Some(Ordering::Equal)
        );
        assert_eq!(
            compare(Int(i128::MAX), Float(f64::NAN)),
            Some(Ordering::Less)
        );
        assert_eq!(
            compare(Float(2_f64.powi(127)), U128(1 << 127)),
            Some(Ordering::Equal)
        );
        assert_eq!(compare(Float(-0.0), Int(0)), Some(Ordering::Equal));
        assert_eq!(
            compare(Decimal(150, 2), Decimal(15, 1)),
            Some(Ordering::Equal)
        );
        assert_eq!(compare(Decimal(-15, 1), Int(-1)), Some(Ordering::Less));
        let all = [
            ValueRef::NonFinite(NonFinite::NegativeInfinity),
            Decimal(i128::MIN + 1, 0),
            Int(0),
            U128(u128::MAX),
            ValueRef::NonFinite(NonFinite::Infinity),
            ValueRef::NonFinite(NonFinite::NaN),
        ];
        for (a, x) in all.iter().enumerate() {
            for (b, y) in all.iter().enumerate() {
                assert_eq!(compare(*x, *y), Some(a.cmp(&b)), "{x:?} {y:?}");
            }
        }
        let (nan, infinity) = (Float(f64::NAN), Float(f64::INFINITY));
        assert_eq!(compare(all[5], nan), Some(Ordering::Equal));
        assert_eq!(compare(infinity, all[4]), Some(Ordering::Equal));
        assert_eq!(compare(Float(f64::MAX), all[4]), Some(Ordering::Less));
        assert_eq!(compare(Null, Null), None);
        assert_eq!(compare(Text("1"), Int(1)), None);
    }
}
