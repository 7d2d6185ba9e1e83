//! [`Decimal`]: an exact number with a fixed count of digits behind the point.

use crate::columns::{ColumnType, RecordColumn};
use crate::decimals::{quotient_rounded, rounded};
use crate::schema::{NonFinite, Type, Value, ValueRef};
use crate::value_text::{ValueTextError, parse_value, rescale};
use sardonyx_base::resident::Resident;
use std::fmt;
use std::str::FromStr;

/// A decimal number: units of `10^-SCALE`, such as cents for a scale of 2. A scale is at most 38.
///
/// Sums are exact; products and quotients are rounded to the scale, halves away from zero. A result of more units than
/// an `i128` is `None`.
///
/// A column may also have [`NAN`](Decimal::NAN), [`INFINITY`](Decimal::INFINITY) and
/// [`NEGATIVE_INFINITY`](Decimal::NEGATIVE_INFINITY), which programs of SQL store. They stand in the places of three numbers
/// of units with 39 digits. They are compared and printed as in PostgreSQL; arithmetic with them is `None`.
/// [`non_finite`](Decimal::non_finite) tells them from numbers: test it before [`units`](Decimal::units).
///
/// ```
/// # use sardonyx_rows as sardonyx;
/// use sardonyx::types::Decimal;
/// let price: Decimal<2> = "19.99".parse()?;
/// let rate: Decimal<3> = "0.075".parse()?;
/// let tax = price.checked_mul(rate).unwrap(); // 1.49925
/// assert_eq!(tax.to_string(), "1.50");
/// assert_eq!(price.checked_add(tax), Some(Decimal::from_units(2149)));
/// assert!(price > Decimal::from(-5));
/// # Ok::<(), sardonyx_rows::value_text::ValueTextError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Resident)]
#[repr(transparent)]
pub struct Decimal<const SCALE: u8>([u64; 2]);

impl<const SCALE: u8> Decimal<SCALE> {
    /// Zero.
    pub const ZERO: Self = Self::from_units(0);

    /// No number: greater than all others, and equal to itself.
    pub const NAN: Self = Self::from_units(NonFinite::NaN.units());

    /// Greater than all numbers.
    pub const INFINITY: Self = Self::from_units(NonFinite::Infinity.units());

    /// Less than all numbers.
    pub const NEGATIVE_INFINITY: Self = Self::from_units(NonFinite::NegativeInfinity.units());

    /// So many units. The least `i128` and the two greatest are the values that are no numbers.
    pub const fn from_units(units: i128) -> Self {
        let bits = units as u128;
        Decimal([(bits as u64).to_le(), ((bits >> 64) as u64).to_le()])
    }

    /// The number of units; of a value that is no number, those that stand for it ([`NonFinite::units`]).
    pub const fn units(self) -> i128 {
        let [low, high] = self.0;
        (u64::from_le(high) as u128 as i128) << 64 | u64::from_le(low) as i128
    }

    /// The value that is no number, or infinite; `None` of a number.
    pub const fn non_finite(self) -> Option<NonFinite> {
        NonFinite::of_units(self.units())
    }

    /// The units of a number; `None` of a value that is none.
    fn finite_units(self) -> Option<i128> {
        match self.non_finite() {
            None => Some(self.units()),
            Some(_) => None,
        }
    }

    /// The number of so many units; `None` if there is no such number.
    fn of_number(units: i128) -> Option<Self> {
        let number = Self::from_units(units);
        number.non_finite().is_none().then_some(number)
    }

    /// The sum.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let sum = self.finite_units()?.checked_add(other.finite_units()?)?;
        Self::of_number(sum)
    }

    /// The difference.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        let difference = self.finite_units()?.checked_sub(other.finite_units()?)?;
        Self::of_number(difference)
    }

    /// The number with the other sign.
    pub fn checked_neg(self) -> Option<Self> {
        Self::of_number(self.finite_units()?.checked_neg()?)
    }

    /// The number without its sign.
    pub fn checked_abs(self) -> Option<Self> {
        Self::of_number(self.finite_units()?.checked_abs()?)
    }

    /// The product with a number of any scale, rounded to this one's scale.
    pub fn checked_mul<const OTHER: u8>(self, other: Decimal<OTHER>) -> Option<Self> {
        let power = 10_i128.checked_pow(OTHER.into())?;
        let product = quotient_rounded(self.finite_units()?, other.finite_units()?, power)?;
        Self::of_number(product)
    }

    /// The quotient by a number of any scale, rounded to this one's scale; `None` by zero, too.
    pub fn checked_div<const OTHER: u8>(self, other: Decimal<OTHER>) -> Option<Self> {
        let power = 10_i128.checked_pow(OTHER.into())?;
        let quotient = quotient_rounded(self.finite_units()?, power, other.finite_units()?)?;
        Self::of_number(quotient)
    }

    /// The same number with another scale: `None` if digits would be lost, or there are too many.
    pub fn rescale<const TO: u8>(self) -> Option<Decimal<TO>> {
        let units = rescale(self.finite_units()?, SCALE, TO).ok()?;
        Decimal::of_number(units)
    }

    /// The nearest number of another scale, halves away from zero: `None` if it has too many digits.
    pub fn round<const TO: u8>(self) -> Option<Decimal<TO>> {
        Decimal::of_number(rounded(self.finite_units()?, SCALE, TO)?)
    }
}

/// Whole numbers up to 64 bits fit into scales up to 19.
impl<const SCALE: u8> From<i32> for Decimal<SCALE> {
    fn from(whole: i32) -> Self {
        const {
            assert!(
                SCALE <= 28,
                "not all whole numbers of 32 bits fit into this scale"
            )
        };
        Self::from_units(i128::from(whole) * 10_i128.pow(SCALE.into()))
    }
}

impl<const SCALE: u8> From<i64> for Decimal<SCALE> {
    fn from(whole: i64) -> Self {
        const {
            assert!(
                SCALE <= 19,
                "not all whole numbers of 64 bits fit into this scale"
            )
        };
        Self::from_units(i128::from(whole) * 10_i128.pow(SCALE.into()))
    }
}

impl<const SCALE: u8> PartialOrd for Decimal<SCALE> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<const SCALE: u8> Ord for Decimal<SCALE> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.units().cmp(&other.units())
    }
}

impl<const SCALE: u8> fmt::Display for Decimal<SCALE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        ValueRef::decimal(self.units(), SCALE).fmt(f)
    }
}

impl<const SCALE: u8> fmt::Debug for Decimal<SCALE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<const SCALE: u8> FromStr for Decimal<SCALE> {
    type Err = ValueTextError;

    fn from_str(text: &str) -> Result<Self, ValueTextError> {
        match parse_value(text, Type::Decimal { scale: SCALE })? {
            Value::Decimal(units, _) => Ok(Self::from_units(units)),
            Value::NonFinite(value) => Ok(Self::from_units(value.units())),
            _ => Err(ValueTextError::of_another_type(Type::Decimal {
                scale: SCALE,
            })),
        }
    }
}

impl<const SCALE: u8> ColumnType for Decimal<SCALE> {
    fn columns(name: &str, offset: usize, into: &mut Vec<RecordColumn>) {
        let (name, kind) = (name.to_string(), Type::Decimal { scale: SCALE });
        into.push(RecordColumn { name, kind, offset });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_read_as_the_same(units: i128) {
            let number = Decimal::<5>::from_units(units);
            prop_assert_eq!(number.to_string().parse(), Ok(number));
        }

        /// Within 64 bits, arithmetic of 128 bits is exact: it gives the expected products and quotients.
        #[test]
        fn products_and_quotients_are_rounded(a: i64, b: i64) {
            let (x, y) = (Decimal::<3>::from_units(a.into()), Decimal::<2>::from_units(b.into()));
            let half_away = |a: i128, b: i128| {
                let twice = 2 * a.abs() + b.abs();
                twice / (2 * b.abs()) * a.signum() * b.signum()
            };
            let product = half_away(i128::from(a) * i128::from(b), 100);
            prop_assert_eq!(x.checked_mul(y).map(Decimal::units), Some(product));
            let quotient = (b != 0).then(|| half_away(i128::from(a) * 100, b.into()));
            prop_assert_eq!(x.checked_div(y).map(Decimal::units), quotient);
        }

        #[test]
        fn a_product_divided_by_its_factor_is_the_other(a: i128, b in 1..i128::MAX) {
            let (x, one) = (Decimal::<0>::from_units(a), Decimal::<0>::from_units(b));
            if let Some(product) = x.checked_mul(one) {
                prop_assert_eq!(product.checked_div(one), Some(x));
            }
        }
    }

    #[test]
    fn ends_are_none_and_never_another_number() {
        let (least, most) = (
            Decimal::<2>::from_units(i128::MIN + 1),
            Decimal::<2>::from_units(i128::MAX - 2),
        );
        assert_eq!(most.checked_add(Decimal::from_units(1)), None);
        assert_eq!(least.checked_sub(Decimal::from_units(1)), None);
        assert_eq!((least.checked_neg(), least.checked_abs()), (None, None));
        let negative = Decimal::from_units(2 - i128::MAX);
        assert_eq!(most.checked_neg(), Some(negative));
        assert_eq!(most.checked_mul(most), None);
        assert_eq!(most.checked_div(Decimal::<2>::ZERO), None);
        assert_eq!(least.checked_div(Decimal::<0>::from(-1)), None);
        assert_eq!(least.checked_div(Decimal::<0>::from(1)), Some(least));
        for other in [
            Decimal::<2>::NAN,
            Decimal::INFINITY,
            Decimal::NEGATIVE_INFINITY,
        ] {
            assert_eq!(other.checked_add(Decimal::ZERO), None);
            assert_eq!(Decimal::<2>::ZERO.checked_sub(other), None);
            assert_eq!(other.checked_mul(Decimal::<2>::ZERO), None);
            assert_eq!(most.checked_div(other), None);
            assert_eq!((other.checked_neg(), other.checked_abs()), (None, None));
            assert_eq!((other.rescale::<2>(), other.round::<0>()), (None, None));
            assert_eq!(other.to_string().parse(), Ok(other));
            assert!((other < least) == (other == Decimal::NEGATIVE_INFINITY));
            assert_ne!(other.partial_cmp(&most), Some(std::cmp::Ordering::Equal));
        }
        assert_eq!(Decimal::<2>::NAN.to_string(), "NaN");
        assert_eq!(
            most.checked_mul(Decimal::<38>::from_units(10_i128.pow(38))),
            Some(most)
        );
        assert_eq!(most.rescale::<3>(), None);
        assert_eq!(
            Decimal::<2>::from_units(150).rescale::<1>(),
            Some(Decimal::from_units(15))
        );
        assert_eq!(Decimal::<2>::from_units(155).rescale::<1>(), None);
        assert_eq!(
            Decimal::<2>::from_units(-155).round::<1>(),
            Some(Decimal::from_units(-16))
        );
        assert_eq!(Decimal::<3>::from(7_i64).to_string(), "7.000");
        assert_eq!(format!("{:?}", Decimal::<2>::from_units(-5)), "-0.05");
    }
}
