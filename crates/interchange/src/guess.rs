//! The type that the values of a column suggest, so that none of them is read as another one.
//!
//! | all values are | type |
//! | --- | --- |
//! | `true` or `false`, in any case | boolean |
//! | whole numbers of 64 bits | bigint |
//! | whole numbers of up to 38 digits | numeric(38,0) |
//! | numbers with a point, of up to 38 digits | numeric(38, the most digits behind a point) |
//! | numbers, some with an exponent, infinite or NaN, or with a point and more than 38 digits | double precision |
//! | dates | date |
//! | dates with times, all with a zone or none; dates among those without | timestamptz, timestamp |
//! | UUIDs, with their dashes | uuid |
//! | anything else, such as numbers with leading zeros or a `+` | text |

use sardonyx_rows::schema::Type;
use sardonyx_rows::value_text::parse_value;

/// Digits of a numeric.
const DIGITS_MAX: usize = 38;
/// Whole numbers to this one are all double-precision numbers.
const FLOAT_EXACT: i128 = 1 << 53;

/// The possible types of a text, as bits.
mod is {
    pub const BOOL: u16 = 1;
    pub const WHOLE: u16 = 2;
    pub const POINT: u16 = 4;
    pub const EXPONENT: u16 = 8;
    pub const NOT_FINITE: u16 = 16;
    pub const DATE: u16 = 32;
    pub const MOMENT: u16 = 64;
    pub const MOMENT_WITH_ZONE: u16 = 128;
    pub const UUID: u16 = 256;
    pub const TEXT: u16 = 512;
}

/// The values of a column that were looked at.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Guess {
    seen: u16,
    /// The most digits before and behind a point.
    before: usize,
    behind: usize,
    /// A whole number has more than 64 bits.
    is_wide: bool,
    /// A whole number cannot be double precision without loss.
    is_inexact: bool,
}

impl Guess {
    /// Looks at a value.
    pub fn see(&mut self, text: &str) {
        self.seen |= self.kind(text);
    }

    /// Takes a value that is a text.
    pub fn see_text(&mut self) {
        self.seen |= is::TEXT;
    }

    fn kind(&mut self, text: &str) -> u16 {
        if let Some(number) = self.number(text) {
            return number;
        }
        if ["true", "false"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word))
        {
            return is::BOOL;
        }
        let words = ["nan", "inf", "-inf", "infinity", "-infinity"];
        if words.iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return is::NOT_FINITE;
        }
        if let Some(moment) = moment(text) {
            return moment;
        }
        let has_dashes = text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4;
        match has_dashes && parse_value(text, Type::Uuid).is_ok() {
            true => is::UUID,
            false => is::TEXT,
        }
    }

    /// A number, unless it would be written otherwise again, as `007` would.
    fn number(&mut self, text: &str) -> Option<u16> {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, has_exponent) = match digits.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => {
                exponent.parse::<i16>().ok()?;
                (mantissa, true)
            }
            None => (digits, false),
        };
        let (before, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_whole = !mantissa.contains('.');
        let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let has_zeros = before.len() > 1 && before.starts_with('0');
        if !are_digits(before)
            || !are_digits(behind)
            || has_zeros
            || mantissa.len() <= usize::from(!is_whole)
        {
            return None;
        }
        if is_whole && text == "-0" {
            return None;
        }
        if has_exponent {
            return Some(is::EXPONENT);
        }
        self.before = self.before.max(before.len());
        self.behind = self.behind.max(behind.len());
        if !is_whole {
            return Some(is::POINT);
        }
        self.is_wide |= text.parse::<i64>().is_err();
        self.is_inexact |= (text.parse::<i128>()).is_err()
            || text.parse().is_ok_and(|n: i128| n.abs() > FLOAT_EXACT);
        Some(is::WHOLE)
    }

    /// The type of the column, and whether moments are without a zone.
    pub fn found(&self) -> (Type, bool) {
        use is::{DATE, EXPONENT, MOMENT, MOMENT_WITH_ZONE, NOT_FINITE, POINT, WHOLE};
        let numbers = WHOLE | POINT | EXPONENT;
        let within = |kinds: u16| self.seen & !kinds == 0;
        let fits = self.before + self.behind <= DIGITS_MAX;
        let scale = self.behind.min(DIGITS_MAX) as u8;
        let kind = match self.seen {
            0 => Type::Text,
            is::BOOL => Type::Bool,
            WHOLE if !self.is_wide => Type::I64,
            _ if within(WHOLE | POINT) && fits => Type::Decimal { scale },
            WHOLE => Type::Text,
            _ if within(numbers | NOT_FINITE) && self.seen & numbers != 0 && !self.is_inexact => {
                Type::F64
            }
            DATE => Type::Date,
            _ if within(DATE | MOMENT) => return (Type::Timestamp, true),
            MOMENT_WITH_ZONE => Type::Timestamp,
            is::UUID => Type::Uuid,
            _ => Type::Text,
        };
        (kind, false)
    }
}

/// A date, or a date with a time.
fn moment(text: &str) -> Option<u16> {
    const DAY_LENGTH: usize = "2026-01-31".len();
    let (day, rest) = text.split_at_checked(DAY_LENGTH)?;
    if !day.starts_with(|c: char| c.is_ascii_digit()) || parse_value(day, Type::Date).is_err() {
        return None;
    }
    if rest.is_empty() {
        return Some(is::DATE);
    }
    let rest = rest.strip_prefix([' ', 'T'])?;
    let end = rest.find(['Z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at_checked(end)?;
    let seconds = time.split_once('.').map_or("", |(_, digits)| digits);
    let whole = match time.len() {
        5 => format!("{time}:00"),
        _ => time.to_string(),
    };
    if seconds.len() > 6 || parse_value(&whole, Type::Time).is_err() {
        return None;
    }
    match zone {
        "" => Some(is::MOMENT),
        "Z" => Some(is::MOMENT_WITH_ZONE),
        shift => {
            let digits = shift.get(1..)?.replace(':', "");
            let is_shift =
                matches!(digits.len(), 2 | 4) && digits.bytes().all(|byte| byte.is_ascii_digit());
            is_shift.then_some(is::MOMENT_WITH_ZONE)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(texts: &[&str]) -> (Type, bool) {
        let mut guess = Guess::default();
        texts.iter().for_each(|text| guess.see(text));
        guess.found()
    }

    #[test]
    fn no_value_is_read_as_another_one() {
        let decimal = |scale| Type::Decimal { scale };
        for (texts, kind) in [
            (&[][..], Type::Text),
            (&["1", "-20", "0"], Type::I64),
            (&["9223372036854775807"], Type::I64),
            (&["9223372036854775808"], decimal(0)),
            (&["12345678901234567890", "1"], decimal(0)),
            (&["123456789012345678901234567890123456789"], Type::Text),
            (&["12.30", "7", "-0.125"], decimal(3)),
            (&["0.1", ".5", "5."], decimal(1)),
            (&["01234", "5"], Type::Text),
            (&["+49301234"], Type::Text),
            (&["00.5"], Type::Text),
            (&["-0"], Type::Text),
            (&["1e3", "2"], Type::F64),
            (&["1e3", "12345678901234567890"], Type::Text),
            (&["inf", "NaN", "1.5"], Type::F64),
            (&["NaN"], Type::Text),
            (&["12345678901234567890.123456789012345678901"], Type::F64),
            (&["1,234"], Type::Text),
            (&[" 1"], Type::Text),
            (&["."], Type::Text),
            (&["-"], Type::Text),
            (&["true", "False"], Type::Bool),
            (&["t", "f"], Type::Text),
            (&["1", "true"], Type::Text),
            (&["2026-01-31"], Type::Date),
            (&["2026-02-30"], Type::Text),
            (
                &["2026-01-31 10:00:00+02", "2026-01-31T10:00Z"],
                Type::Timestamp,
            ),
            (&["2026-01-31 10:00:00+02", "2026-01-31 10:00"], Type::Text),
            (&["2026-01-31 10:00:00.1234567"], Type::Text),
            (&["67e55044-10b1-426f-9247-bb680e5fe0c8"], Type::Uuid),
            (&["67e5504410b1426f9247bb680e5fe0c8"], Type::Text),
        ] {
            assert_eq!(found(texts), (kind, false), "{texts:?}");
        }
        let without_zone = found(&["2026-01-31 10:00:00.5", "2026-01-31"]);
        assert_eq!(without_zone, (Type::Timestamp, true));
    }
}
