//! Numbers read from a text by a template: `to_number`.
//!
//! Source: `NUM_numpart_from_char` of PostgreSQL's `formatting.c`.

use super::numbers::Picture;
use super::{Part, of_numbers};
use crate::error::{SqlError, code};
use crate::text::decode_numeric;
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::cast;
use sardonyx::schema::Value;
use sardonyx_rows::decimals::rounded;

/// A position in a text, and the parts that were read.
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

    /// Skips characters that are no part of a number.
    fn skip_others(&mut self, count: usize) {
        for _ in 0..count {
            match self.here() {
                Some(byte) if !b"0123456789.,+-".contains(&byte) => self.pass(),
                _ => break,
            }
        }
    }

    /// Skips a character of any number of bytes.
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

    /// Takes the next character as the sign of `MI`, `PL` and `SG`; false if it is no sign.
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
/// `42601` for patterns that exclude each other, `22P02` for a text without digits. `0A000` for Roman and scientific
/// numbers, `22003` for a number longer than the template.
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
    if precision > 1000 || scale > 38 {
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

/// Divides by a power of ten, as `numeric` multiplies by `10 ^ -shift`, which has 16 digits behind the point.
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
