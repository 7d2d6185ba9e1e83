//! The syntax of JSON texts: they are checked, and strings get quotes and escapes.

use crate::error::{SqlError, code};

/// The most levels of nested arrays and objects: trees of them are walked by recursion.
pub(crate) const DEPTH_MAX: usize = 1000;

/// Checks that a text is JSON.
///
/// # Errors
/// `22P02`
pub(crate) fn check(text: &str) -> Result<(), SqlError> {
    match serde_json::from_str::<serde::de::IgnoredAny>(text) {
        Ok(_) => check_depth(text),
        Err(error) => Err(
            SqlError::new(code::INVALID_TEXT, "invalid input syntax for type json")
                .detail(error.to_string()),
        ),
    }
}

/// The error of a value deeper than [`DEPTH_MAX`].
pub(crate) fn too_deep() -> SqlError {
    SqlError::new(code::TOO_COMPLEX, "stack depth limit exceeded").detail(format!(
        "Arrays and objects of JSON are nested more than {DEPTH_MAX} deep."
    ))
}

/// Checks the depth of a text, without recursion.
fn check_depth(text: &str) -> Result<(), SqlError> {
    let (mut depth, mut is_quoted) = (0_usize, false);
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' if is_quoted => drop(bytes.next()),
            b'[' | b'{' if !is_quoted => depth += 1,
            b']' | b'}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
    }
    Ok(())
}

/// Checks that the escapes of a JSON text are valid characters of a text.
///
/// # Errors
/// `22P02` for half of a surrogate pair; `22P05` for the character zero.
pub(crate) fn check_escapes(text: &str) -> Result<(), SqlError> {
    let wrong = |detail: &str| {
        Err(SqlError::new(code::INVALID_TEXT, "invalid input syntax for type json").detail(detail))
    };
    const LOW: &str = "Unicode low surrogate must follow a high surrogate.";
    let (mut at, mut is_high) = (0, false);
    while at < text.len() {
        let escaped = match text.as_bytes().get(at..at + 2) {
            Some(b"\\u") => text.get(at + 2..at + 6),
            _ => None,
        };
        let unit = escaped.and_then(|digits| u16::from_str_radix(digits, 16).ok());
        match unit {
            Some(0xd800..=0xdbff) if is_high => {
                return wrong("Unicode high surrogate must not follow a high surrogate.");
            }
            Some(0xdc00..=0xdfff) if !is_high => return wrong(LOW),
            Some(0xdc00..=0xdfff) => is_high = false,
            _ if is_high => return wrong(LOW),
            Some(0) => {
                let message = "unsupported Unicode escape sequence";
                let error = SqlError::new("22P05", message);
                return Err(error.detail("\\u0000 cannot be converted to text."));
            }
            Some(unit) => is_high = matches!(unit, 0xd800..=0xdbff),
            None => {}
        }
        at += match (unit, text.as_bytes()[at]) {
            (Some(_), _) => 6,
            (None, b'\\') => 2,
            (None, _) => 1,
        };
    }
    Ok(())
}

pub(crate) fn push_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            low if low < ' ' => *out += &format!("\\u{:04x}", u32::from(low)),
            other => out.push(other),
        }
    }
    out.push('"');
}
