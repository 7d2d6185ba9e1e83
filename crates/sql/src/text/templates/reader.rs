//! A text read by the parts of a template: names, numbers and blanks from a place on.
//!
//! Source: `from_char_parse_int_len` and `from_char_seq_search` of PostgreSQL's `formatting.c`, in the locale C.

use super::is_space;
use crate::error::{SqlError, code};

/// The error of a text of another form than its template.
pub(super) fn bad(message: String) -> SqlError {
    SqlError::new(code::INVALID_DATETIME, message)
}

/// A text, and the position in it.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    /// Reads a text from its beginning.
    pub(super) fn new(text: &'t str) -> Self {
        Reader { text, at: 0 }
    }

    /// The text before this place.
    pub(super) fn before(&self) -> &'t str {
        self.text.get(..self.at).unwrap_or_default()
    }

    /// The text from this place on.
    pub(super) fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The next character.
    pub(super) fn here(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Passes over a character.
    pub(super) fn pass(&mut self) {
        self.at += self.here().map_or(0, char::len_utf8);
    }

    /// Skips blanks, and returns their number.
    pub(super) fn blanks(&mut self) -> i32 {
        let from = self.at;
        while self.here().is_some_and(is_space) {
            self.at += 1;
        }
        (self.at - from) as i32
    }

    /// The number of the name at this place, among these.
    pub(super) fn name(&mut self, names: &[&str], pattern: &str) -> Result<i32, SqlError> {
        let rest = self.rest().as_bytes();
        let found = names.iter().position(|name| {
            let start = rest.get(..name.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
        });
        let Some(found) = found else {
            let word = self.rest().split(is_space).next().unwrap_or_default();
            return Err(
                bad(format!("invalid value \"{word}\" for \"{pattern}\"")).detail(
                    "The given value did not match any of the allowed values for this field.",
                ),
            );
        };
        self.at += names[found].len();
        Ok(found as i32)
    }

    /// A whole number of the given characters, or of any number of them; and its length.
    pub(super) fn number(
        &mut self,
        width: usize,
        is_free: bool,
        pattern: &str,
    ) -> Result<(i32, usize), SqlError> {
        let from = self.at;
        self.blanks();
        let copy: String = self.rest().chars().take(width).collect();
        const HINT: &str =
            "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let source = if is_free { self.rest() } else { &copy };
        let used = number_end(source);
        if !is_free {
            let count = copy.chars().count();
            if count < width {
                let text = format!("source string too short for \"{pattern}\" formatting field");
                let detail = format!("Field requires {width} characters, but only {count} remain.");
                return Err(bad(text).detail(detail).hint(HINT));
            }
            if used > 0 && used < copy.len() {
                let text = format!("invalid value \"{copy}\" for \"{pattern}\"");
                let detail =
                    format!("Field requires {width} characters, but only {used} could be parsed.");
                return Err(bad(text).detail(detail).hint(HINT));
            }
        }
        let digits = source.get(..used).unwrap_or_default();
        self.at += used;
        if used == 0 && (is_free || self.at == from) {
            let text = format!("invalid value \"{copy}\" for \"{pattern}\"");
            return Err(bad(text).detail("Value must be an integer."));
        }
        let value = match digits.trim_start_matches(is_space) {
            "" => Ok(0),
            digits => digits.parse::<i32>(),
        };
        let value = value.map_err(|_| {
            SqlError::new(
                code::DATETIME_OVERFLOW,
                format!("value for \"{pattern}\" in source string is out of range"),
            )
            .detail("Value must be in the range -2147483648 to 2147483647.")
        })?;
        Ok((value, self.at - from))
    }

    /// A year with a comma behind its thousands.
    pub(super) fn thousands(&mut self) -> Option<i32> {
        let end = number_end(self.rest());
        let rest = self.rest();
        let first: i32 = rest.get(..end)?.trim_start_matches(is_space).parse().ok()?;
        let behind = rest.get(end..)?.strip_prefix(',')?;
        let start = behind.get(..behind.len().min(3))?;
        let digits = number_end(start);
        let last: i32 = start
            .get(..digits)?
            .trim_start_matches(is_space)
            .parse()
            .ok()?;
        self.at += end + 1 + digits;
        first.checked_mul(1000)?.checked_add(last)
    }
}

/// The end of the number at the beginning of a text: behind blanks, a sign and digits; 0 if there is none.
fn number_end(text: &str) -> usize {
    let blanks = text.len() - text.trim_start_matches(is_space).len();
    let rest = text.get(blanks..).unwrap_or_default();
    let sign = usize::from(rest.starts_with(['+', '-']));
    let digits = rest
        .bytes()
        .skip(sign)
        .take_while(u8::is_ascii_digit)
        .count();
    match digits {
        0 => 0,
        digits => blanks + sign + digits,
    }
}
