//! Arithmetic of decimals' units that programs' [`Decimal`](crate::types::Decimal) and SQL's `numeric` have in common.

use crate::value_text::rescale;

/// Divides, halves away from zero. The least number by -1 is the greatest. The divisor is not zero.
#[inline]
pub fn divide_rounded(a: i128, b: i128) -> i128 {
    // The least number by -1 is beyond the greatest.
    let (quotient, rest) = (a.saturating_div(b), a.wrapping_rem(b));
    let up = rest.unsigned_abs() >= b.unsigned_abs() - rest.unsigned_abs();
    match (rest != 0 && up, (a < 0) == (b < 0)) {
        (false, _) => quotient,
        (true, true) => quotient + 1,
        (true, false) => quotient - 1,
    }
}

/// A decimal with so many digits behind the point, rounded: `None` if there are too many digits.
#[inline]
pub fn rounded(units: i128, from: u8, to: u8) -> Option<i128> {
    match from <= to {
        true => rescale(units, from, to).ok(),
        false => match 10_i128.checked_pow(u32::from(from - to)) {
            Some(power) => Some(divide_rounded(units, power)),
            None => Some(0),
        },
    }
}

/// `a * b / divisor`, halves away from zero, by a product of 256 bits: `None` by zero, and if it does not fit.
#[inline]
pub fn quotient_rounded(a: i128, b: i128, divisor: i128) -> Option<i128> {
    let negative = (a < 0) != (b < 0) && a != 0 && b != 0;
    let negative = negative != (divisor < 0);
    let divisor = divisor.unsigned_abs();
    let (high, low) = product(a.unsigned_abs(), b.unsigned_abs());
    let (quotient, rest) = divide(high, low, divisor)?;
    let up = rest >= divisor - rest;
    let magnitude = quotient.checked_add(u128::from(up))?;
    match negative {
        true => 0_i128.checked_sub_unsigned(magnitude),
        false => i128::try_from(magnitude).ok(),
    }
}

/// The rest of `a * b` by a divisor, with the product's sign: `None` by zero.
#[inline]
pub fn rest_of_product(a: i128, b: i128, divisor: i128) -> Option<i128> {
    let by = divisor.unsigned_abs();
    let (high, low) = product(a.unsigned_abs(), b.unsigned_abs());
    let (_, rest) = divide(high.checked_rem(by)?, low, by)?;
    // Below a divisor of an `i128`.
    let rest = rest as i128;
    Some(if (a < 0) != (b < 0) { -rest } else { rest })
}

/// The upper and the lower half of a product.
fn product(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a_high, a_low, b_high, b_low) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a_low * b_low;
    let middle = a_high * b_low + (low >> 64);
    let other = a_low * b_high + (middle & HALF);
    let high = a_high * b_high + (middle >> 64) + (other >> 64);
    (high, other << 64 | (low & HALF))
}

/// The quotient of a number of two halves, and the rest: `None` by zero, and if it has more than 128 bits.
#[inline]
fn divide(high: u128, low: u128, divisor: u128) -> Option<(u128, u128)> {
    if high == 0 {
        return Some((low.checked_div(divisor)?, low % divisor));
    }
    if high >= divisor {
        return None;
    }
    // A bit at a time, as by hand; the rest is below the divisor, and doubled it may have a bit more.
    let (mut rest, mut quotient) = (high, 0_u128);
    for bit in (0..128).rev() {
        let carry = rest >> 127 == 1;
        rest = rest << 1 | (low >> bit & 1);
        quotient <<= 1;
        if carry || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    Some((quotient, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (units, expected) in [(25, 3), (24, 2), (-25, -3), (-24, -2), (5, 1), (-5, -1)] {
            assert_eq!(rounded(units, 1, 0), Some(expected), "{units}");
            assert_eq!(quotient_rounded(units, 1, 10), Some(expected), "{units}");
            assert_eq!(quotient_rounded(units, -1, -10), Some(expected), "{units}");
        }
    }

    proptest! {
        #[test]
        fn rests_are_those_of_whole_numbers(a: i64, b: i64, divisor: i64) {
            let [a, b, divisor] = [a, b, divisor].map(i128::from);
            prop_assert_eq!(rest_of_product(a, b, divisor), (a * b).checked_rem(divisor));
        }

        /// Checked by multiplying: `quotient * divisor + rest` is the number again.
        #[test]
        fn a_quotient_times_its_divisor_is_the_number(a: u128, b: u128, divisor in 1..u128::MAX) {
            let (high, low) = product(a, b);
            match divide(high, low, divisor) {
                None => prop_assert!(high >= divisor),
                Some((quotient, rest)) => {
                    prop_assert!(rest < divisor);
                    let (above, below) = product(quotient, divisor);
                    let (sum, carry) = below.overflowing_add(rest);
                    prop_assert_eq!((above + u128::from(carry), sum), (high, low));
                }
            }
        }
    }
}
