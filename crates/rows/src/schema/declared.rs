//! Declarations of columns beside their types: the length of a text, the digits of a number or of a second's fraction,
//! a later NOT NULL, and computed defaults.
//!
//! A declared type is named as SQL names it, by its number and modifier in PostgreSQL's catalogue. [`Limit`] is its
//! effect on values, so that every program keeps it. A program that speaks SQL computes a default in SQL
//! ([`constraints`](crate::constraints)).

use super::{NonFinite, Schema, SchemaError, Type, Value, ValueRef};
use crate::networks::Network;
use crate::ranges::{Range, RangeOf};
use crate::zoned_times::ZonedTime;
use std::borrow::Cow;
use std::fmt;

/// The longest default in SQL, in bytes.
pub const DECLARED_BYTES_MAX: usize = 64 << 10;

/// Microseconds from 1970 to 2000, from which fractions of a second are rounded.
const EPOCH: i64 = 10_957 * 86_400_000_000;

/// Numbers of types in PostgreSQL's catalogue.
const CIDR: u32 = 650;
const INET: u32 = 869;
const CHAR: u32 = 1042;
const VARCHAR: u32 = 1043;
const TIME: u32 = 1083;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const TIMETZ: u32 = 1266;
const TIMETZ_ARRAY: u32 = 1270;
const BIT: u32 = 1560;
const VARBIT: u32 = 1562;
const NUMERIC: u32 = 1700;

/// The declaration of a column.
#[derive(Clone, PartialEq, Debug)]
pub struct Declared {
    /// The column's number.
    pub column: usize,
    /// The number of its type in PostgreSQL's catalogue; 0 if none was declared.
    pub kind: u32,
    /// The type's modifier; -1 for none.
    pub modifier: i32,
    /// It may not be null.
    pub not_null: bool,
    /// The default of new rows, in the place of the column's.
    pub default: Option<DeclaredDefault>,
}

/// The declared default of a column, for rows that are inserted without a value.
#[derive(Clone, PartialEq, Debug)]
pub enum DeclaredDefault {
    /// A value; rows that were there when it was declared may have the column's.
    Value(Value),
    /// An expression of SQL, computed for each row.
    Sql(String),
    /// One more than the largest number in the column, which is an ordered primary key.
    NextNumber,
    /// An expression of SQL on the row's other columns, as [`SqlCheck`](crate::condition::SqlCheck) writes it: the column always has its value.
    Generated(String),
}

/// The limit that a declared type sets to values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// No limit beyond the column's type.
    None,
    /// The most characters of a text: `varchar(n)`. Blanks beyond them are cut off.
    Characters(usize),
    /// A text without blanks at its end, of so many characters at most: `char(n)`.
    Padded(Option<usize>),
    /// The digits of a number, and those behind the point, to which it is rounded: `numeric(p, s)`.
    Digits(u8, u8),
    /// The digits of a second's fraction, to which a time is rounded: `time(n)`, `timestamp(n)`.
    Fraction(u32),
    /// Bytes of an address, as [`Network`] encodes it; true without a host, `cidr`, false with one, `inet`.
    Network(bool),
    /// Bytes of a range, as [`Range`] encodes it.
    Range(RangeOf),
    /// Bytes of a time of the day with a zone, as [`ZonedTime`] encodes it, with so many digits of a second's fraction: `timetz(n)`.
    /// A value with more digits is refused: SQL rounds before it stores.
    Zoned(u32),
    /// A text of `0` and `1`, of so many characters: `bit(n)`.
    Bits(Option<usize>),
    /// A text of `0` and `1`, of so many characters at most: `bit varying(n)`.
    BitsAtMost(Option<usize>),
}

impl Limit {
    /// The limit of a type in PostgreSQL's catalogue.
    pub fn of(kind: u32, modifier: i32) -> Limit {
        let length = usize::try_from(modifier).ok();
        let length = length.and_then(|length| length.checked_sub(4));
        match kind {
            VARCHAR => length.map_or(Limit::None, Limit::Characters),
            CHAR => Limit::Padded(length),
            NUMERIC if modifier >= 4 => {
                let packed = modifier - 4;
                match packed >> 16 {
                    // Numbers have no more.
                    38.. => Limit::None,
                    precision => Limit::Digits(precision as u8, packed as u8),
                }
            }
            TIME | TIMESTAMP | TIMESTAMPTZ => match u32::try_from(modifier) {
                Ok(digits @ 0..6) => Limit::Fraction(digits),
                _ => Limit::None,
            },
            TIMETZ => match u32::try_from(modifier) {
                Ok(digits @ 0..6) => Limit::Zoned(digits),
                _ => Limit::Zoned(6),
            },
            BIT => Limit::Bits(usize::try_from(modifier).ok()),
            VARBIT => Limit::BitsAtMost(usize::try_from(modifier).ok()),
            CIDR => Limit::Network(true),
            INET => Limit::Network(false),
            kind => RangeOf::of_kind(kind).map_or(Limit::None, Limit::Range),
        }
    }

    /// A value as it is stored: without excess blanks, rounded. `None` if the type has no such value.
    #[inline]
    pub fn fit(self, value: ValueRef<'_>) -> Option<ValueRef<'_>> {
        match (self, value) {
            (Limit::None, value) => Some(value),
            (Limit::Characters(most), ValueRef::Text(text)) => {
                Some(ValueRef::Text(cut(text, most)?))
            }
            (Limit::Padded(most), ValueRef::Text(text)) => {
                let text = text.trim_end_matches(' ');
                Some(ValueRef::Text(match most {
                    Some(most) => cut(text, most)?,
                    None => text,
                }))
            }
            // A text that is given as its bytes.
            (Limit::Characters(_) | Limit::Padded(_), ValueRef::Bytes(bytes)) => {
                match std::str::from_utf8(bytes) {
                    Ok(text) => self.fit(ValueRef::Text(text)),
                    Err(_) => Some(value),
                }
            }
            (Limit::Digits(precision, scale), ValueRef::Decimal(units, from)) => {
                number(units, from, precision, scale)
            }
            (Limit::Digits(precision, scale), ValueRef::Int(units)) => {
                number(units, 0, precision, scale)
            }
            (Limit::Digits(precision, scale), ValueRef::U128(units)) => {
                number(i128::try_from(units).ok()?, 0, precision, scale)
            }
            // As in PostgreSQL: NaN has no digits, infinities are beyond all.
            (Limit::Digits(..), ValueRef::NonFinite(NonFinite::NaN)) => Some(value),
            (Limit::Digits(..), ValueRef::NonFinite(_)) => None,
            (Limit::Fraction(digits), ValueRef::Time(time)) => {
                Some(ValueRef::Time(rounded(time, digits)))
            }
            (Limit::Fraction(digits), ValueRef::Timestamp(time)) => {
                Some(ValueRef::Timestamp(match time.checked_sub(EPOCH) {
                    Some(since) => rounded(since, digits).saturating_add(EPOCH),
                    None => time,
                }))
            }
            (Limit::Network(is_cidr), ValueRef::Bytes(bytes)) => {
                let found = Network::decode(bytes)?;
                (!is_cidr || found.network() == found).then_some(value)
            }
            (Limit::Range(of), ValueRef::Bytes(bytes)) => {
                Range::decode(of, bytes).is_some().then_some(value)
            }
            (Limit::Zoned(digits), ValueRef::Bytes(bytes)) => ZonedTime::decode(bytes)?
                .has_digits(digits)
                .then_some(value),
            (Limit::Bits(count), ValueRef::Text(text)) => {
                let fits = count.is_none_or(|count| text.len() == count);
                (fits && is_of_bits(text)).then_some(value)
            }
            (Limit::BitsAtMost(most), ValueRef::Text(text)) => {
                let fits = most.is_none_or(|most| text.len() <= most);
                (fits && is_of_bits(text)).then_some(value)
            }
            // A value of another type: the column's own type checks it.
            (_, value) => Some(value),
        }
    }

    /// True if a column of a type may be declared so.
    fn is_of(self, kind: Type) -> bool {
        match (self, kind) {
            (Limit::None, _) => true,
            (Limit::Characters(_) | Limit::Padded(_), Type::Text) => true,
            (Limit::Bits(_) | Limit::BitsAtMost(_), Type::Text) => true,
            (Limit::Digits(precision, scale), Type::Decimal { scale: stored }) => {
                scale == stored && precision > 0
            }
            (Limit::Fraction(_), Type::Time | Type::Timestamp) => true,
            (Limit::Network(_) | Limit::Range(_) | Limit::Zoned(_), Type::Bytes) => true,
            _ => false,
        }
    }
}

fn is_of_bits(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0' | b'1'))
}

/// A text of so many characters at most; `None` if more than blanks would be cut off.
fn cut(text: &str, most: usize) -> Option<&str> {
    // A character has a byte at least.
    if text.len() <= most {
        return Some(text);
    }
    let Some((end, _)) = text.char_indices().nth(most) else {
        return Some(text);
    };
    let (kept, more) = text.split_at(end);
    more.bytes().all(|byte| byte == b' ').then_some(kept)
}

/// A number of so many digits, rounded to those behind the point; halves go away from zero.
fn number<'v>(units: i128, from: u8, precision: u8, scale: u8) -> Option<ValueRef<'v>> {
    let power = |digits: u8| 10_i128.checked_pow(digits.into());
    let units = match (power(scale.saturating_sub(from)), from.checked_sub(scale)) {
        (_, Some(more)) if more > 0 => match power(more) {
            Some(divisor) => {
                let (whole, rest) = (units / divisor, (units % divisor).unsigned_abs());
                let up = rest >= divisor.unsigned_abs() - rest;
                whole + i128::from(rest != 0 && up) * units.signum()
            }
            None => 0,
        },
        (factor, _) => units.checked_mul(factor?)?,
    };
    let is_within = units.unsigned_abs() < 10_u128.checked_pow(precision.into())?;
    is_within.then_some(ValueRef::Decimal(units, scale))
}

/// Microseconds with so many digits of a second's fraction; halves go away from zero.
fn rounded(micros: i64, digits: u32) -> i64 {
    let unit = 10_i64.pow(6_u32.saturating_sub(digits));
    let rest = micros % unit;
    let up = 2 * rest.abs() >= unit;
    let whole = micros - rest;
    match up {
        true => whole.saturating_add(unit * micros.signum()),
        false => whole,
    }
}

impl Declared {
    /// The expression of which the column always has the value, if there is one.
    pub fn generated(&self) -> Option<&str> {
        match &self.default {
            Some(DeclaredDefault::Generated(text)) => Some(text),
            _ => None,
        }
    }

    /// True if a schema of version 2 can have it: its type is one that columns had before `json`, `jsonb`, `interval` and
    /// arrays.
    pub(super) fn is_of_version_2(&self) -> bool {
        const KINDS: [u32; 21] = [
            0, 16, 17, 18, 19, 20, 21, 23, 25, 26, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184,
            1700, 2205, 2950,
        ];
        KINDS.contains(&self.kind)
    }

    /// True if programs of version 5 would take its values, or their elements, for any bytes or texts.
    pub(super) fn is_of_ranges(&self) -> bool {
        matches!(self.limit(), Limit::Range(_)) || RangeOf::is_of_arrays(self.kind)
    }

    /// True if programs of version 6 would take its values, or their elements, for any texts: they are of `hstore`, `tsvector`
    /// or `tsquery`.
    pub(super) fn is_of_forms(&self) -> bool {
        const KINDS: [u32; 6] = [3614, 3615, 3643, 3645, 13_998, 13_999];
        KINDS.contains(&self.kind)
    }

    /// True if programs of version 7 would take its values for any bytes, or its elements for any texts.
    pub(super) fn is_of_zoned_times(&self) -> bool {
        matches!(self.kind, TIMETZ | TIMETZ_ARRAY)
    }

    /// True if programs of version 10 would take its values, or its elements, for any texts.
    pub(super) fn is_of_bits(&self) -> bool {
        (BIT..=VARBIT + 1).contains(&self.kind)
    }

    /// The declaration of a column, without content.
    pub fn of(column: usize) -> Declared {
        Declared {
            column,
            kind: 0,
            modifier: -1,
            not_null: false,
            default: None,
        }
    }

    /// The limit of the type.
    #[inline]
    pub fn limit(&self) -> Limit {
        Limit::of(self.kind, self.modifier)
    }

    /// True if it adds something to the column.
    #[inline]
    pub fn says_something(&self) -> bool {
        self.not_null || self.default.is_some() || self.limit() != Limit::None
    }

    /// The declared type as SQL writes it.
    pub fn type_name(&self) -> Cow<'static, str> {
        let name = match self.kind {
            TIME => "time",
            TIMESTAMP => "timestamp",
            TIMESTAMPTZ => "timestamptz",
            TIMETZ => "timetz",
            _ => "",
        };
        match self.limit() {
            Limit::Characters(most) => format!("character varying({most})").into(),
            Limit::Padded(Some(most)) => format!("character({most})").into(),
            Limit::Padded(None) => "character".into(),
            Limit::Digits(precision, scale) => format!("numeric({precision},{scale})").into(),
            Limit::Fraction(digits) | Limit::Zoned(digits @ 0..6) => {
                format!("{name}({digits})").into()
            }
            Limit::Bits(Some(count)) => format!("bit({count})").into(),
            Limit::Bits(None) => "bit".into(),
            Limit::BitsAtMost(Some(most)) => format!("bit varying({most})").into(),
            Limit::BitsAtMost(None) => "bit varying".into(),
            Limit::Network(true) => "cidr".into(),
            Limit::Network(false) => "inet".into(),
            Limit::Range(of) => of.name().into(),
            Limit::None | Limit::Zoned(_) => name.into(),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::None | Limit::Padded(None) => f.write_str("no limit"),
            Limit::Characters(most) | Limit::Padded(Some(most)) => {
                write!(f, "at most {most} characters")
            }
            Limit::Digits(precision, scale) => {
                let whole = precision.saturating_sub(*scale);
                write!(
                    f,
                    "at most {whole} digits before the point, and {scale} behind it"
                )
            }
            Limit::Fraction(digits) => write!(f, "{digits} digits of a second's fraction"),
            Limit::Bits(Some(count)) => write!(f, "{count} bits"),
            Limit::BitsAtMost(Some(most)) => write!(f, "at most {most} bits"),
            Limit::Bits(None) | Limit::BitsAtMost(None) => f.write_str("a string of bits"),
            Limit::Network(true) => f.write_str("the address of a network"),
            Limit::Network(false) => f.write_str("the address of a host or a network"),
            Limit::Range(of) => write!(f, "a range as {} has it", of.name()),
            Limit::Zoned(6..) => f.write_str("a time of the day with a zone"),
            Limit::Zoned(digits) => write!(
                f,
                "a time of the day with a zone, and {digits} digits of a second's fraction"
            ),
        }
    }
}

impl Schema {
    /// `None` if the column was declared by its type alone.
    pub fn declared(&self, column: usize) -> Option<&Declared> {
        self.declared.iter().find(|there| there.column == column)
    }

    /// Checks that declarations are of existing columns, each once and in order, and fit their types.
    pub(super) fn check_declared(&self) -> Result<(), SchemaError> {
        let mut before = None;
        for declared in &self.declared {
            let column = match self.columns.get(declared.column) {
                Some(column) if !column.dropped => column,
                _ => {
                    let name = format!("number {}", declared.column);
                    return Err(self.unknown_column(&name, "a declaration"));
                }
            };
            let wrong = |reason: &'static str| SchemaError::Declared {
                column: column.name.clone(),
                reason,
            };
            if before.is_some_and(|before| before >= declared.column) {
                return Err(wrong("is there twice, or out of order"));
            }
            before = Some(declared.column);
            let limit = declared.limit();
            if !limit.is_of(column.kind) {
                return Err(wrong("is of a type that the column does not have"));
            }
            match &declared.default {
                None => {}
                Some(DeclaredDefault::Value(value)) => {
                    let fits = limit.fit(value.as_ref()) == Some(value.as_ref());
                    if !column.accepts(value) || !fits {
                        return Err(wrong("has a default that its type cannot have"));
                    }
                }
                Some(DeclaredDefault::Sql(text)) => {
                    let (count, limit) = (text.len(), DECLARED_BYTES_MAX);
                    if count > limit {
                        let what = "the length of a default in bytes";
                        return Err(SchemaError::TooMany { what, count, limit });
                    }
                }
                Some(DeclaredDefault::NextNumber) => {
                    let key = &self.primary;
                    let is_key = key.kind == super::IndexKind::Ordered
                        && matches!(key.key.as_slice(), [part] if part.column == declared.column && !part.descending);
                    if !is_key {
                        return Err(wrong("is numbered, and no ordered primary key"));
                    }
                }
                Some(DeclaredDefault::Generated(text)) => {
                    self.check_generated(declared.column, text)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(limit: Limit, value: &str) -> Option<String> {
        match limit.fit(ValueRef::Text(value)) {
            Some(ValueRef::Text(text)) => Some(text.to_string()),
            _ => None,
        }
    }

    #[test]
    fn texts_have_so_many_characters_but_for_blanks() {
        let three = Limit::of(VARCHAR, 7);
        assert_eq!(text(three, "äöü").as_deref(), Some("äöü"));
        assert_eq!(text(three, "ab   ").as_deref(), Some("ab "));
        assert_eq!(text(three, "abcd"), None);
        assert_eq!(text(three, "ab  c"), None);
        let padded = Limit::of(CHAR, 6);
        assert_eq!(text(padded, "a   ").as_deref(), Some("a"));
        assert_eq!(text(padded, "abc"), None);
        assert_eq!(text(Limit::of(CHAR, -1), "abc  ").as_deref(), Some("abc"));
        assert_eq!(Limit::of(VARCHAR, -1), Limit::None);
        let bytes = three.fit(ValueRef::Bytes(b"abcd"));
        assert_eq!(bytes, None, "a text as its bytes");
    }

    #[test]
    fn numbers_are_rounded_and_bounded() {
        let money = Limit::of(NUMERIC, (5 << 16 | 2) + 4);
        let fit = |units, scale| money.fit(ValueRef::Decimal(units, scale));
        assert_eq!(fit(1005, 3), Some(ValueRef::Decimal(101, 2)));
        assert_eq!(fit(-1005, 3), Some(ValueRef::Decimal(-101, 2)));
        assert_eq!(fit(1004, 3), Some(ValueRef::Decimal(100, 2)));
        assert_eq!(fit(99_999, 2), Some(ValueRef::Decimal(99_999, 2)));
        assert_eq!(fit(999_995, 3), None);
        assert_eq!(
            money.fit(ValueRef::Int(999)),
            Some(ValueRef::Decimal(99_900, 2))
        );
        assert_eq!(money.fit(ValueRef::Int(1000)), None);
        assert_eq!(fit(i128::MAX, 38), Some(ValueRef::Decimal(170, 2)));
        assert_eq!(Limit::of(NUMERIC, (38 << 16 | 2) + 4), Limit::None);
        let nan = ValueRef::NonFinite(NonFinite::NaN);
        assert_eq!(money.fit(nan), Some(nan));
        for infinite in [NonFinite::Infinity, NonFinite::NegativeInfinity] {
            assert_eq!(money.fit(ValueRef::NonFinite(infinite)), None);
        }
    }

    #[test]
    fn fractions_are_rounded_from_2000() {
        let seconds = Limit::of(TIMESTAMP, 0);
        let at = |micros| seconds.fit(ValueRef::Timestamp(EPOCH + micros));
        assert_eq!(at(500_000), Some(ValueRef::Timestamp(EPOCH + 1_000_000)));
        assert_eq!(at(-500_000), Some(ValueRef::Timestamp(EPOCH - 1_000_000)));
        assert_eq!(at(499_999), Some(ValueRef::Timestamp(EPOCH)));
        let tenths = Limit::of(TIME, 1).fit(ValueRef::Time(1_250_000));
        assert_eq!(tenths, Some(ValueRef::Time(1_300_000)));
        assert_eq!(Limit::of(TIME, 6), Limit::None);
    }

    #[test]
    fn bytes_of_addresses_are_theirs_alone() {
        let (inet, cidr) = (Limit::of(INET, -1), Limit::of(CIDR, -1));
        let of = |text, is_cidr| Network::parse(text, is_cidr).expect("an address").encode();
        let (host, network) = (of("10.1.2.3/8", false), of("10.0.0.0/8", true));
        let fits = |limit: Limit, bytes: &[u8]| limit.fit(ValueRef::Bytes(bytes)).is_some();
        assert!(fits(inet, &host) && fits(inet, &network) && fits(cidr, &network));
        assert!(!fits(cidr, &host));
        for bytes in [
            &b""[..],
            b"10.1.2.3",
            &host[1..],
            &[4, 10, 1, 2, 3, 8, 10, 1, 2, 3],
        ] {
            assert!(!fits(inet, bytes), "{bytes:?}");
        }
        assert!(inet.is_of(Type::Bytes) && !inet.is_of(Type::Text));
    }

    #[test]
    fn bytes_of_ranges_are_theirs_alone() {
        const INT4RANGE: u32 = 3904;
        const INT8RANGE: u32 = 3926;
        let fits = |kind: u32, bytes: &[u8]| {
            let fit = Limit::of(kind, -1).fit(ValueRef::Bytes(bytes));
            fit.is_some()
        };
        let range = [2, 0x80, 0, 0, 1, 0, 1, 0x80, 0, 0, 5, 0];
        assert!(fits(INT4RANGE, &range) && fits(INT4RANGE, &[0]) && fits(INT4RANGE, &[1, 2]));
        assert!(!fits(INT8RANGE, &range));
        let turned = [2, 0x80, 0, 0, 5, 0, 1, 0x80, 0, 0, 1, 0];
        for bytes in [&b""[..], b"[1,5)", &range[..11], &[0, 0], &turned] {
            assert!(!fits(INT4RANGE, bytes), "{bytes:?}");
        }
        let limit = Limit::of(INT4RANGE, -1);
        assert!(limit.is_of(Type::Bytes) && !limit.is_of(Type::Text));
    }

    #[test]
    fn bytes_of_zoned_times_are_theirs_alone() {
        let of = |micros| ZonedTime::new(micros, -7200).expect("a time").encode();
        let fits = |modifier: i32, bytes: &[u8]| {
            let fit = Limit::of(TIMETZ, modifier).fit(ValueRef::Bytes(bytes));
            fit.is_some()
        };
        assert!(fits(-1, &of(1)) && fits(6, &of(1)) && fits(1, &of(1_300_000)));
        assert!(!fits(5, &of(1)) && !fits(0, &of(1_300_000)));
        for bytes in [&b""[..], b"10:00:00+02", &of(1)[..11]] {
            assert!(!fits(-1, bytes), "{bytes:?}");
        }
        let limit = Limit::of(TIMETZ, 2);
        assert!(limit.is_of(Type::Bytes) && !limit.is_of(Type::Time));
        let named = Declared {
            kind: TIMETZ,
            modifier: 2,
            ..Declared::of(0)
        };
        assert_eq!(named.type_name(), "timetz(2)");
    }

    #[test]
    fn texts_of_bits_have_no_other_characters() {
        let (three, most) = (Limit::of(BIT, 3), Limit::of(VARBIT, 3));
        assert_eq!(text(three, "101").as_deref(), Some("101"));
        for other in ["", "10", "1010", "102", "10 "] {
            assert_eq!(text(three, other), None, "{other}");
        }
        assert_eq!(text(most, "10").as_deref(), Some("10"));
        assert_eq!(text(most, "").as_deref(), Some(""));
        assert_eq!(text(most, "1010").or(text(most, "a")), None);
        assert_eq!(text(Limit::of(VARBIT, -1), "b1"), None);
        assert!(three.is_of(Type::Text) && !three.is_of(Type::Bytes));
    }

    proptest! {
        #[test]
        fn what_fits_stays_as_it_is(
            kind in prop::sample::select(vec![CHAR, VARCHAR, TIME, TIMESTAMP, NUMERIC, BIT, VARBIT]),
            modifier in -1..(12 << 16),
            text in ".{0,8}", units in any::<i128>(), scale in 0_u8..40, micros in any::<i64>(),
        ) {
            let limit = Limit::of(kind, modifier);
            for value in [
                ValueRef::Text(&text), ValueRef::Decimal(units, scale), ValueRef::Time(micros),
                ValueRef::Timestamp(micros), ValueRef::Null,
            ] {
                if let Some(fits) = limit.fit(value) {
                    prop_assert_eq!(limit.fit(fits), Some(fits), "{:?} of {:?}", limit, value);
                }
            }
        }
    }
}
