//! `SIMILAR TO` and `substring` with the regular expressions of the SQL standard, which are converted to usual ones.
//!
//! Source: `similar_escape_internal` of PostgreSQL's `regexp.c`.

use super::definition::*;
use super::regexes::first_group;
use crate::error::SqlError;
use crate::expression::patterns::Options;

pub(super) static TABLE: &[Definition] = functions! {
    similar_to_escape(TEXT) -> TEXT, |a, _| text(converted(a.text(0), Some('\\'))?), "a regular expression of the SQL standard as a usual one";
    similar_to_escape(TEXT, TEXT) -> TEXT, |a, _| text(converted(a.text(0), escape(a.text(1))?)?), "the same with another escape character, or without one";
    substring(TEXT, TEXT, TEXT) -> TEXT, part, "the part that matches a regular expression of the SQL standard, or what it has between `#\"` where `#` is the third text";
};

/// The character that escapes the next one.
pub(super) fn escape(text: &str) -> Result<Option<char>, SqlError> {
    let mut letters = text.chars();
    match (letters.next(), letters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(SqlError::new("22025", "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}

fn part(a: Arguments<'_>, with: &crate::expression::Environment<'_>) -> Answer {
    let pattern = converted(a.text(1), escape(a.text(2))?)?;
    let regex = with
        .context
        .patterns
        .searcher(&pattern, Options::default())?;
    first_group(regex, a.text(0))
}

/// Converts an expression of the standard to a usual one.
fn converted(pattern: &str, escape: Option<char>) -> Result<String, SqlError> {
    let mut out = String::with_capacity(pattern.len() + 8);
    out.push_str("^(?:");
    let (mut is_escaped, mut is_in_class, mut quotes) = (false, false, 0);
    for letter in pattern.chars() {
        match letter {
            '"' if is_escaped && !is_in_class => {
                match quotes {
                    // The text before the part matches as little as it can.
                    0 => out.push_str("){1,1}?("),
                    1 => out.push_str("){1,1}(?:"),
                    _ => {
                        return Err(SqlError::new(
                            "2200C",
                            "SQL regular expression may not contain more than two escape-double-quote separators",
                        ));
                    }
                }
                quotes += 1;
                is_escaped = false;
            }
            letter if is_escaped => {
                out.extend(['\\', letter]);
                is_escaped = false;
            }
            letter if escape == Some(letter) => is_escaped = true,
            letter if is_in_class => {
                if letter == '\\' {
                    out.push('\\');
                }
                out.push(letter);
                is_in_class = letter != ']';
            }
            '[' => {
                out.push('[');
                is_in_class = true;
            }
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '\\' | '.' | '^' | '$' => out.extend(['\\', letter]),
            letter => out.push(letter),
        }
    }
    out.push_str(")$");
    Ok(out)
}
