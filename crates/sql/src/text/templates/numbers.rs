//! Numbers by a template: the picture that its patterns give, what `to_char` is handed of a number, and `to_number`.
//!
//! Source: `NUMDesc_prepare`, `int4_to_char` and its kin, and `NUM_numpart_from_char` of PostgreSQL's `formatting.c`.

use super::written::write;
use super::{Part, of_numbers};
use crate::error::{SqlError, code};
use crate::text::decode_numeric;
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::cast;
use sardonyx::schema::Value;
use sardonyx_rows::decimals::rounded;

/// Where a sign of `S` is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Anchor {
    #[default]
    None,
    Before,
    Behind,
}

/// A number's form, as the patterns of a template give it.
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
    fn of(parts: &[Part]) -> Result<Picture, SqlError> {
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

    /// Without what a Roman number does not have.
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

    /// A sign before all digits is written with the last one, as there.
    pub fn anchor_behind_digits(&mut self) {
        if self.anchor == Anchor::Before && self.before == self.digits_at_sign {
            self.anchor = Anchor::Behind;
        }
    }

    /// Signs in the place of a number that has no room, or is none.
    fn full(&self, point: usize, length: usize) -> String {
        let sign = |at| if at == point { '.' } else { '#' };
        (0..length).map(sign).collect()
    }
}

/// A number as the template is given it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    /// A whole number of a type.
    Whole(i64, SqlType),
    Decimal(i128, u8),
    /// A float, and how many digits its type keeps.
    Float(f64, usize),
}

fn out_of_range(kind: SqlType) -> SqlError {
    SqlError::new(code::OUT_OF_RANGE, format!("{} out of range", kind.name()))
}

/// A number as a template says.
///
/// # Errors
/// `42601` for patterns that do not go together, `22003` if it is too large.
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
        // One that is none, or is too large, has no Roman number anyway.
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
        Number::Float(..) => {
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

/// No float has more digits that are not zero.
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

/// Digits are rounded half away from zero, as of all decimals.
fn decimal_scientific(units: i128, scale: u8, wanted: usize) -> String {
    let sign = if units < 0 { "-" } else { "" };
    let mut digits = units.unsigned_abs().to_string();
    let mut exponent = digits.len() as i32 - 1 - i32::from(scale);
    if units == 0 {
        (digits, exponent) = ("0".into(), 0);
    }
    if digits.len() > wanted + 1 {
        let up = digits
            .as_bytes()
            .get(wanted + 1)
            .is_some_and(|digit| *digit >= b'5');
        digits.truncate(wanted + 1);
        let kept = digits.parse::<u128>().unwrap_or(0) + u128::from(up);
        let length = digits.len();
        digits = kept.to_string();
        if digits.len() > length {
            digits.truncate(length);
            exponent += 1;
        }
    }
    let more = (wanted + 1).saturating_sub(digits.len());
    digits.extend(std::iter::repeat_n('0', more));
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    with_exponent(&format!("{sign}{first}{point}{rest}"), exponent)
}

/// The digits of a number as the picture asks for them.
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

/// Units of a scale, rounded to so many digits behind the point, or with zeros up to them.
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

/// Where a text is read, and what was read of it.
struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    sign: Option<u8>,
    digits: String,
    before: usize,
    behind: usize,
    has_point: bool,
}

impl Reader<'_> {
    fn here(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Passes over characters that are no part of a number.
    fn skip_others(&mut self, count: usize) {
        for _ in 0..count {
            match self.here() {
                Some(byte) if !b"0123456789.,+-".contains(&byte) => self.pass(),
                _ => break,
            }
        }
    }

    /// Passes over a character, of however many bytes.
    fn pass(&mut self) {
        self.at += 1;
        while self.here().is_some_and(|byte| byte & 0xc0 == 0x80) {
            self.at += 1;
        }
    }

    /// Reads a digit, the point or a sign.
    fn take(&mut self, pattern: &str, picture: &Picture) {
        if self.here() == Some(b' ') {
            self.at += 1;
        }
        let is_digit = matches!(pattern, "0" | "9");
        if self.sign.is_none() && is_digit && self.before + self.behind == 0 {
            let sign = match self.here() {
                Some(b'-') => Some(b'-'),
                Some(b'<') if picture.has_brackets => Some(b'-'),
                Some(b'+') => Some(b'+'),
                _ => None,
            };
            self.at += usize::from(sign.is_some());
            self.sign = sign;
        }
        let mut is_read = false;
        match self.here() {
            None => return,
            Some(digit @ b'0'..=b'9') => {
                if self.has_point && self.behind == picture.behind {
                    return;
                }
                self.digits.push(digit.into());
                match self.has_point {
                    true => self.behind += 1,
                    false => self.before += 1,
                }
                is_read = true;
            }
            Some(b'.') if picture.has_point && !self.has_point => {
                self.digits.push('.');
                self.has_point = true;
                is_read = true;
            }
            Some(_) => {}
        }
        if self.sign.is_some() || self.before + self.behind == 0 {
            return;
        }
        let next = self.text.get(self.at + 1).copied();
        match (is_read, next) {
            (true, Some(next)) if picture.has_sign && !next.is_ascii_digit() => {
                if matches!(next, b'+' | b'-') {
                    self.sign = Some(next);
                    self.at += 1;
                }
            }
            (false, _) if !picture.has_sign && (picture.has_plus || picture.has_minus) => {
                self.sign = self.here().filter(|byte| matches!(byte, b'+' | b'-'));
            }
            _ => {}
        }
    }

    /// Takes a sign of `MI`, `PL` and `SG`, which is the next character; false if it is none.
    fn take_sign(&mut self, signs: &[u8]) -> bool {
        let found = self.here().filter(|byte| signs.contains(byte));
        self.sign = found.or(self.sign);
        if found.is_none() {
            self.skip_others(1);
        }
        found.is_some()
    }
}

/// The number that a text has by a template; `None` for an empty template.
///
/// # Errors
/// `42601` for patterns that do not go together, `22P02` for a text without digits, `0A000` for Roman and scientific
/// numbers, `22003` for one that the template has no room for.
pub(crate) fn to_number(text: &str, template: &str) -> Result<Option<Value>, SqlError> {
    if template.is_empty() {
        return Ok(None);
    }
    let parts = of_numbers(template)?;
    let picture = Picture::of(&parts)?;
    if picture.is_scientific || picture.is_roman {
        let pattern = if picture.is_scientific { "EEEE" } else { "RN" };
        return Err(SqlError::unsupported(format!(
            "\"{pattern}\" not supported for input"
        )));
    }
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        sign: None,
        digits: String::new(),
        before: 0,
        behind: 0,
        has_point: false,
    };
    for part in &parts {
        if reader.here().is_none() {
            break;
        }
        let Part::Pattern(pattern, _) = part else {
            reader.pass();
            continue;
        };
        let upper = pattern.to_ascii_uppercase();
        let passes = match upper.as_str() {
            "9" | "0" | "." | "D" => {
                reader.take(&upper, &picture);
                true
            }
            "," | "G" => !picture.is_bare && reader.here() == Some(b','),
            "L" => {
                reader.skip_others(1);
                false
            }
            "TH" => {
                reader.skip_others(2);
                false
            }
            "MI" => reader.take_sign(b"-"),
            "PL" => reader.take_sign(b"+"),
            "SG" => reader.take_sign(b"+-"),
            _ => false,
        };
        reader.at += usize::from(passes);
    }
    let sign = if reader.sign == Some(b'-') { "-" } else { "" };
    // The place of the sign, as PostgreSQL shows it.
    let place = reader.sign.map_or(' ', char::from);
    let digits = reader.digits.strip_suffix('.').unwrap_or(&reader.digits);
    let number = decode_numeric(&format!("{sign}{digits}"));
    let invalid = || {
        SqlError::new(
            code::INVALID_TEXT,
            format!("invalid input syntax for type numeric: \"{place}{digits}\""),
        )
    };
    let overflow = || SqlError::new(code::OUT_OF_RANGE, "numeric field overflow");
    let number = number.ok_or_else(invalid)?.map_err(|()| overflow())?;
    let precision = picture.before + picture.shift + reader.behind;
    let scale = reader.behind;
    if precision == 0 || precision > 1000 || scale > 38 {
        return Err(overflow());
    }
    let spec = TypeSpec::new(
        SqlType::Numeric,
        ((precision as i32) << 16 | scale as i32) + 4,
    );
    let number = cast(number.as_ref(), SqlType::Numeric, spec, false)?;
    Ok(Some(match picture.is_shifted {
        true => shifted_back(number, picture.shift)?,
        false => number,
    }))
}

/// Divided by a power of ten, as `numeric` multiplies it by `10 ^ -shift`, which has 16 digits behind the point.
fn shifted_back(number: Value, shift: usize) -> Result<Value, SqlError> {
    let by = format!("1e-{shift}");
    let by = decode_numeric(&by).and_then(Result::ok);
    let overflow = || SqlError::new(code::OUT_OF_RANGE, "value overflows numeric format");
    let Some(Value::Decimal(units, scale)) = by else {
        return Err(overflow());
    };
    let wanted = scale.max(16);
    let units = rounded(units, scale, wanted).ok_or_else(overflow)?;
    let by = Value::Decimal(units, wanted);
    crate::values::arithmetic::calculate(
        crate::values::arithmetic::Arithmetic::Multiply,
        SqlType::Numeric,
        number.as_ref(),
        by.as_ref(),
    )
}
