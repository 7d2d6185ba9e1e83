//! Numbers by a template: the picture that its patterns describe, and `to_char`.
//!
//! Source: `NUMDesc_prepare`, `int4_to_char` and its kin, of PostgreSQL's `formatting.c`.

use super::written::write;
use super::{Part, of_numbers};
use crate::error::{SqlError, code};
use crate::types::SqlType;
use crate::values::non_finite::no_integer;
use sardonyx::schema::NonFinite;
use sardonyx_rows::decimals::rounded;

/// The place of a sign of `S`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Anchor {
    #[default]
    None,
    Before,
    Behind,
}

/// A number's form, as the patterns of a template describe it.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    /// Digits before the point, and behind it.
    pub before: usize,
    pub behind: usize,
    /// Digits by which `V` shifts the number.
    pub shift: usize,
    pub anchor: Anchor,
    /// Digits before the point when `S` was met.
    digits_at_sign: usize,
    /// The first and the last place, from 1, at which a zero is written.
    pub zero_start: usize,
    pub zero_end: usize,
    pub has_zero: bool,
    pub has_point: bool,
    pub is_bare: bool,
    pub has_sign: bool,
    pub has_brackets: bool,
    pub has_minus: bool,
    pub has_plus: bool,
    pub is_roman: bool,
    pub is_shifted: bool,
    pub is_scientific: bool,
    is_blank: bool,
}

fn misused(message: &str) -> SqlError {
    SqlError::syntax(message.to_string())
}

impl Picture {
    /// The form of these parts.
    pub(super) fn of(parts: &[Part]) -> Result<Picture, SqlError> {
        let mut picture = Picture::default();
        for part in parts {
            if let Part::Pattern(pattern, _) = part {
                picture.take(pattern)?;
            }
        }
        Ok(picture)
    }

    fn take(&mut self, pattern: &str) -> Result<(), SqlError> {
        let upper = pattern.to_ascii_uppercase();
        if self.is_scientific && upper != "EEEE" {
            return Err(misused("\"EEEE\" must be the last pattern used"));
        }
        let has_other_sign = self.has_plus || self.has_minus || self.has_brackets;
        match upper.as_str() {
            "9" | "0" if self.has_brackets => {
                let text = format!("\"{upper}\" must be ahead of \"PR\"");
                return Err(SqlError::syntax(text));
            }
            "9" if self.is_shifted => self.shift += 1,
            "9" if self.has_point => self.behind += 1,
            "9" => self.before += 1,
            "0" => {
                if !self.has_zero && !self.has_point {
                    self.has_zero = true;
                    self.zero_start = self.before + 1;
                }
                match self.has_point {
                    true => self.behind += 1,
                    false => self.before += 1,
                }
                self.zero_end = self.before + self.behind;
            }
            "B" => self.is_blank |= self.before + self.behind == 0 && !self.has_zero,
            "D" | "." => {
                if self.has_point {
                    return Err(misused("multiple decimal points"));
                }
                if self.is_shifted {
                    return Err(misused("cannot use \"V\" and decimal point together"));
                }
                self.has_point = true;
            }
            "FM" => self.is_bare = true,
            "S" => {
                if self.has_sign {
                    return Err(misused("cannot use \"S\" twice"));
                }
                if has_other_sign {
                    return Err(misused(
                        "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together",
                    ));
                }
                self.has_sign = true;
                self.digits_at_sign = self.before;
                self.anchor = match self.has_point {
                    false => Anchor::Before,
                    true => Anchor::Behind,
                };
            }
            "MI" | "PL" | "SG" if self.has_sign => {
                let text = format!("cannot use \"S\" and \"{upper}\" together");
                return Err(SqlError::syntax(text));
            }
            "MI" => self.has_minus = true,
            "PL" => self.has_plus = true,
            "SG" => (self.has_minus, self.has_plus) = (true, true),
            "PR" => {
                if self.has_sign || self.has_plus || self.has_minus {
                    return Err(misused(
                        "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together",
                    ));
                }
                self.has_brackets = true;
            }
            "RN" => self.is_roman = true,
            "V" => {
                if self.has_point {
                    return Err(misused("cannot use \"V\" and decimal point together"));
                }
                self.is_shifted = true;
            }
            "EEEE" => {
                if self.is_scientific {
                    return Err(misused("cannot use \"EEEE\" twice"));
                }
                let has_others = self.is_blank || self.is_bare || self.has_sign || has_other_sign;
                if has_others || self.is_roman || self.is_shifted {
                    return Err(misused("\"EEEE\" is incompatible with other formats").detail(
                        "\"EEEE\" may only be used together with digit and decimal point patterns.",
                    ));
                }
                self.is_scientific = true;
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes patterns that Roman numbers do not have.
    pub fn as_roman(&mut self) {
        *self = Picture {
            is_bare: self.is_bare,
            is_roman: true,
            zero_start: self.zero_start,
            zero_end: self.zero_end,
            shift: self.shift,
            ..Picture::default()
        };
    }

    /// A sign before all digits is written with the last one, as in PostgreSQL.
    pub fn anchor_behind_digits(&mut self) {
        if self.anchor == Anchor::Before && self.before == self.digits_at_sign {
            self.anchor = Anchor::Behind;
        }
    }

    /// Signs for a number that does not fit, or is NaN.
    fn full(&self, point: usize, length: usize) -> String {
        let sign = |at| if at == point { '.' } else { '#' };
        (0..length).map(sign).collect()
    }
}

/// A number as a template's input.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Whole(i64, SqlType),
    Decimal(i128, u8),
    /// NaN or an infinity.
    NonFinite(NonFinite),
    /// A float, and the digits of its type.
    Float(f64, usize),
}

fn out_of_range(kind: SqlType) -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, format!("{} out of range", kind.name()))
}

/// A number in the form of a template.
///
/// # Errors
/// `42601` for patterns that exclude each other, `22003` if it is too large.
pub(crate) fn to_char(number: Number, template: &str) -> Result<String, SqlError> {
    if template.is_empty() {
        return Ok(String::new());
    }
    let parts = of_numbers(template)?;
    let mut picture = Picture::of(&parts)?;
    if picture.is_roman {
        let roman = roman(whole_of(number)?);
        picture.as_roman();
        return write(&parts, picture, &roman, None, 0);
    }
    if picture.is_scientific {
        return Ok(scientific(number, &picture));
    }
    let digits = digits(number, &mut picture)?;
    let (is_negative, text) = match digits.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, digits.as_str()),
    };
    let before = text.find('.').unwrap_or(text.len());
    let spaces = picture.before.saturating_sub(before);
    let full = (before > picture.before)
        .then(|| picture.full(picture.before, picture.before + picture.behind + 1));
    let shown = full.as_deref().unwrap_or(text);
    write(&parts, picture, shown, Some(is_negative), spaces)
}

/// The nearest `integer`, for a Roman number.
fn whole_of(number: Number) -> Result<i64, SqlError> {
    let whole = match number {
        Number::Whole(value, _) => value,
        Number::Decimal(units, scale) => {
            let whole = rounded(units, scale, 0).and_then(|whole| i64::try_from(whole).ok());
            whole.ok_or_else(|| out_of_range(SqlType::Int4))?
        }
        Number::NonFinite(value) => return Err(no_integer(value, SqlType::Int4)),
        // NaN, and a number that is too large, have no Roman number anyway.
        Number::Float(value, _) => value.round_ties_even() as i64,
    };
    match (i32::try_from(whole), number) {
        (Ok(whole), _) => Ok(whole.into()),
        (Err(_), Number::Float(..)) => Ok(0),
        (Err(_), _) => Err(out_of_range(SqlType::Int4)),
    }
}

fn roman(number: i64) -> String {
    const PARTS: [(i64, &str); 13] = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    if !(1..=3999).contains(&number) {
        return "#".repeat(15);
    }
    let (mut rest, mut text) = (number, String::new());
    for (value, letters) in PARTS {
        while rest >= value {
            text.push_str(letters);
            rest -= value;
        }
    }
    text
}

/// `1.234e+05`, with a blank in the place of a plus.
fn scientific(number: Number, picture: &Picture) -> String {
    let scale = picture.behind;
    let text = match number {
        Number::Whole(value, SqlType::Int8) => decimal_scientific(value.into(), 0, scale),
        Number::Decimal(units, digits) => decimal_scientific(units, digits, scale),
        Number::Whole(value, _) => float_scientific(value as f64, scale),
        Number::Float(value, _) if value.is_finite() => float_scientific(value, scale),
        Number::Float(..) | Number::NonFinite(_) => {
            let mut text = picture.full(picture.before + 1, picture.before + scale + 6);
            text.replace_range(..1, " ");
            return text;
        }
    };
    match text.starts_with('-') {
        true => text,
        false => format!(" {text}"),
    }
}

fn with_exponent(mantissa: &str, exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
}

/// No float has more nonzero digits.
const FLOAT_DIGITS_MAX: usize = 1100;

fn float_scientific(value: f64, scale: usize) -> String {
    // The library's own formatting takes 65,535 digits at most.
    let kept = scale.min(FLOAT_DIGITS_MAX);
    let text = format!("{value:.kept$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mut mantissa = mantissa.to_string();
    mantissa.extend(std::iter::repeat_n('0', scale - kept));
    with_exponent(&mantissa, exponent.parse().unwrap_or(0))
}

/// Digits are rounded half away from zero, as for all decimals.
fn decimal_scientific(units: i128, scale: u8, wanted: usize) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let mut digits = units.unsigned_abs().to_string();
    let mut exponent = digits.len() as i32 - 1 - i32::from(scale);
    if units == 0 {
        (digits, exponent) = ("0".into(), 0);
    }
    // PostgreSQL keeps the exponent of a mantissa that is rounded up to ten.
    let mut whole = 1;
    if digits.len() > wanted + 1 {
        let up = digits
            .as_bytes()
            .get(wanted + 1)
            .is_some_and(|digit| *digit >= b'5');
        digits.truncate(wanted + 1);
        let kept = digits.parse::<u128>().unwrap_or(0) + u128::from(up);
        let length = digits.len();
        digits = kept.to_string();
        whole += digits.len().saturating_sub(length);
    }
    let more = (wanted + whole).saturating_sub(digits.len());
    digits.extend(std::iter::repeat_n('0', more));
    let (first, rest) = digits.split_at(whole);
    let point = if rest.is_empty() { "" } else { "." };
    with_exponent(&format!("{sign}{first}{point}{rest}"), exponent)
}

fn digits(number: Number, picture: &mut Picture) -> Result<String, SqlError> {
    let shift = picture.is_shifted.then_some(picture.shift as u32);
    if let Some(shift) = shift {
        picture.before += shift as usize;
    }
    Ok(match number {
        Number::Whole(value, kind) => {
            let factor = shift.map_or(Some(1), |shift| 10_i128.checked_pow(shift));
            let shifted = factor.and_then(|factor| i128::from(value).checked_mul(factor));
            let range = kind.integer_range();
            let shifted = shifted
                .filter(|value| range.is_none_or(|(least, most)| (least..=most).contains(value)));
            let mut text = shifted.ok_or_else(|| out_of_range(kind))?.to_string();
            if picture.behind > 0 {
                text.push('.');
                text.extend(std::iter::repeat_n('0', picture.behind));
            }
            text
        }
        Number::Decimal(units, scale) => {
            let overflow = || SqlError::new(code::OUT_OF_RANGE, "value overflows numeric format");
            let factor = 10_i128.checked_pow(shift.unwrap_or(0));
            let units = factor.and_then(|factor| units.checked_mul(factor));
            decimal(units.ok_or_else(overflow)?, scale, picture.behind)
        }
        Number::NonFinite(value) => value.name().to_string(),
        Number::Float(value, kept) => {
            let value = match shift {
                Some(shift) => value * 10_f64.powi(shift as i32),
                None => value,
            };
            let text = float_text(value.abs(), 0);
            picture.behind = match text.len() {
                length if length >= kept => 0,
                length => picture.behind.min(kept - length),
            };
            float_text(value, picture.behind)
        }
    })
}

/// Units of a scale, rounded to the given digits behind the point, or with zeros up to them.
fn decimal(units: i128, scale: u8, behind: usize) -> String {
    let kept = (scale as usize).min(behind) as u8;
    let units = rounded(units, scale, kept).unwrap_or(units);
    let mut text = String::new();
    let value = sardonyx::schema::ValueRef::Decimal(units, kept);
    crate::text::encode_text(SqlType::Numeric, &value, &mut text);
    if behind > kept as usize {
        if kept == 0 {
            text.push('.');
        }
        text.extend(std::iter::repeat_n('0', behind - kept as usize));
    }
    text
}

fn float_text(value: f64, behind: usize) -> String {
    if value.is_nan() {
        return "NaN".into();
    }
    match value.is_infinite() {
        true => if value > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        false => format!("{value:.behind$}"),
    }
}
