//! An error of a statement in the shell's form: the error, the line with the place, and a hint.

use std::fmt::Write;

/// The parts of an error.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The statement, and the number of its first line.
    pub text: &'a str,
    pub line: usize,
    /// SQLSTATE.
    pub code: &'a str,
    pub message: &'a str,
    pub detail: Option<&'a str>,
    pub hint: Option<&'a str>,
    /// The part of the statement that the error is about.
    pub context: Option<&'a str>,
    /// The character in the statement, from 1.
    pub position: Option<usize>,
}

/// The error over several lines.
pub fn message(parts: &Parts<'_>) -> String {
    let mut shown = format!("{}: {}", parts.code, parts.message);
    if let Some((number, line, column)) = parts.position.and_then(|at| line_of(parts.text, at)) {
        let head = format!("line {}: ", parts.line + number);
        let blanks = " ".repeat(head.chars().count() + column);
        let _ = write!(shown, "\n{head}{line}\n{blanks}^");
    }
    for (what, text) in [
        ("detail", parts.detail),
        ("hint", parts.hint),
        ("context", parts.context),
    ] {
        if let Some(text) = text {
            let _ = write!(shown, "\n{what}: {text}");
        }
    }
    shown
}

/// The line with a character, its number from 0, and the number of its characters before that one.
fn line_of(text: &str, position: usize) -> Option<(usize, &str, usize)> {
    let mut before = position.checked_sub(1)?;
    for (number, line) in text.split('\n').enumerate() {
        let length = line.chars().count();
        if before <= length {
            return Some((number, line, before));
        }
        before -= length + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_pointed_at() {
        let parts = Parts {
            text: "select\n ä, b from t",
            line: 7,
            code: "42703",
            message: "column \"b\" does not exist",
            detail: None,
            hint: Some("Look at \\d t."),
            context: None,
            position: Some(12),
        };
        let expected = "42703: column \"b\" does not exist\n\
                        line 8:  ä, b from t\n\
                        \x20           ^\n\
                        hint: Look at \\d t.";
        assert_eq!(message(&parts), expected);
    }
}
