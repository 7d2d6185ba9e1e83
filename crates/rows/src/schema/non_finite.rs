//! [`NonFinite`]: the values of decimals that are no numbers: NaN and the infinities.
//!
//! A column of decimals stores each in the place of a number of units that has 39 digits, so the order of the units is that
//! of the values: `-Infinity`, all numbers, `Infinity`, `NaN`. In values ([`Value`](super::Value)) they are a variant of their
//! own, so that no program takes them for these numbers.

use std::fmt;

/// A value of a decimal that is no number, or is infinite, in the order of the values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NonFinite {
    /// Below all numbers.
    NegativeInfinity,
    /// Above all numbers.
    Infinity,
    /// No number: above all others, and equal to itself, as in PostgreSQL.
    NaN,
}

impl NonFinite {
    /// The units that stand for it in a column.
    #[inline]
    pub const fn units(self) -> i128 {
        match self {
            NonFinite::NegativeInfinity => i128::MIN,
            NonFinite::Infinity => i128::MAX - 1,
            NonFinite::NaN => i128::MAX,
        }
    }

    /// The value for which units of a column stand; `None` if they are those of a number.
    #[inline]
    pub const fn of_units(units: i128) -> Option<NonFinite> {
        // The three are neighbours if the numbers wrap around.
        if (units as u128).wrapping_sub(NonFinite::Infinity.units() as u128) > 2 {
            return None;
        }
        Some(match units {
            i128::MIN => NonFinite::NegativeInfinity,
            i128::MAX => NonFinite::NaN,
            _ => NonFinite::Infinity,
        })
    }

    /// The value of a text: `NaN`, or `Infinity` or `inf`, perhaps with a sign, in letters of any case.
    pub fn parse(text: &str) -> Option<NonFinite> {
        let (is_negative, word) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ if text.eq_ignore_ascii_case("nan") => return Some(NonFinite::NaN),
            _ => (false, text),
        };
        let is_word = word.eq_ignore_ascii_case("infinity") || word.eq_ignore_ascii_case("inf");
        is_word.then_some(match is_negative {
            true => NonFinite::NegativeInfinity,
            false => NonFinite::Infinity,
        })
    }

    /// The value of a float that is no number or infinite; `None` of a number.
    pub const fn of_float(float: f64) -> Option<NonFinite> {
        match float {
            _ if float.is_nan() => Some(NonFinite::NaN),
            f64::INFINITY => Some(NonFinite::Infinity),
            f64::NEG_INFINITY => Some(NonFinite::NegativeInfinity),
            _ => None,
        }
    }

    /// The same as a float.
    pub const fn to_float(self) -> f64 {
        match self {
            NonFinite::NegativeInfinity => f64::NEG_INFINITY,
            NonFinite::Infinity => f64::INFINITY,
            NonFinite::NaN => f64::NAN,
        }
    }

    /// Its text, as PostgreSQL writes it.
    pub const fn name(self) -> &'static str {
        match self {
            NonFinite::NegativeInfinity => "-Infinity",
            NonFinite::Infinity => "Infinity",
            NonFinite::NaN => "NaN",
        }
    }
}

impl fmt::Display for NonFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [NonFinite; 3] = [
        NonFinite::NegativeInfinity,
        NonFinite::Infinity,
        NonFinite::NaN,
    ];

    #[test]
    fn units_floats_and_texts_are_read_as_the_same() {
        for value in ALL {
            assert_eq!(NonFinite::of_units(value.units()), Some(value));
            assert_eq!(NonFinite::of_float(value.to_float()), Some(value));
            assert_eq!(NonFinite::parse(value.name()), Some(value));
        }
        assert_eq!(NonFinite::parse("-INF"), Some(NonFinite::NegativeInfinity));
        assert_eq!(NonFinite::parse("+inf"), Some(NonFinite::Infinity));
        for text in ["", "-", "-nan", "+NaN", "infinit", "infinityy", "1"] {
            assert_eq!(NonFinite::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn numbers_lie_between_the_infinities() {
        for units in [i128::MIN + 1, -1, 0, 1, i128::MAX - 2] {
            assert_eq!(NonFinite::of_units(units), None, "{units}");
        }
        assert!(ALL.is_sorted());
        assert!(ALL.map(NonFinite::units).is_sorted());
        assert_eq!(NonFinite::of_float(f64::MAX), None);
    }
}
