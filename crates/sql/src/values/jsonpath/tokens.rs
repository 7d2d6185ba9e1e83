//! The tokens of a path.

use super::too_complex;
use crate::error::{SqlError, code};

/// The most tokens of a path: more are never a path of few enough parts.
const TOKENS_MAX: usize = 25_000;

/// A token, with its text in the path.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Token<'t> {
    pub kind: Kind,
    pub text: &'t str,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    /// A name without quotes, or a keyword.
    Word(String),
    Text(String),
    Variable(String),
    Integer,
    Number,
    /// An operator or a mark.
    Mark,
    End,
}

/// The keywords. The last three are in lower case only.
const KEYWORDS: [&str; 22] = [
    "abs",
    "ceiling",
    "datetime",
    "double",
    "exists",
    "flag",
    "floor",
    "is",
    "keyvalue",
    "last",
    "lax",
    "like_regex",
    "size",
    "starts",
    "strict",
    "to",
    "type",
    "unknown",
    "with",
    "null",
    "true",
    "false",
];

impl Token<'_> {
    pub fn keyword(&self) -> Option<&'static str> {
        let Kind::Word(word) = &self.kind else {
            return None;
        };
        let found = KEYWORDS
            .iter()
            .find(|known| known.eq_ignore_ascii_case(word));
        let is_exact = |known: &&&str| word == **known;
        match found {
            Some(known) if ["null", "true", "false"].contains(known) => {
                Some(known).filter(is_exact).copied()
            }
            found => found.copied(),
        }
    }

    /// True for a mark of this text.
    pub fn is(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }
}

/// The marks of several characters, the longest first.
const MARKS: [&str; 9] = ["&&", "||", "**", "<=", ">=", "==", "<>", "!=", "$"];

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

fn is_special(c: char) -> bool {
    "?%$.[]{}()|&!=<>@#,*:-+/".contains(c)
}

/// True for a character of a name without quotes.
fn is_of_word(c: char) -> bool {
    !is_blank(c) && !is_special(c) && c != '"' && c != '\\'
}

/// The error of a path at a token.
#[cold]
pub(super) fn wrong(message: &str, at: &str) -> SqlError {
    SqlError::syntax(match at {
        "" => format!("{message} at end of jsonpath input"),
        at => format!("{message} at or near \"{at}\" of jsonpath input"),
    })
}

/// Reads the tokens of a path.
///
/// # Errors
/// `42601` for a text, a number or a comment that is none; `22P02` and `22P05` for escapes that are no characters.
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, SqlError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(is_blank);
        if let Some(comment) = rest.strip_prefix("/*") {
            let end = comment.find("*/");
            let end = end.ok_or_else(|| wrong("unexpected end of comment", ""))?;
            rest = from(comment, end + 2);
            continue;
        }
        let Some(first) = rest.chars().next() else {
            tokens.push(Token {
                kind: Kind::End,
                text: "",
            });
            return Ok(tokens);
        };
        let (kind, length) = token(rest, first)?;
        let (text, behind) = rest.split_at(length);
        tokens.push(Token { kind, text });
        if tokens.len() > TOKENS_MAX {
            return Err(too_complex());
        }
        rest = behind;
    }
}

/// The part from a place on; nothing if that is no begin of a character.
fn from(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// The part before a place.
fn until(text: &str, at: usize) -> &str {
    text.get(..at).unwrap_or(text)
}

fn token(rest: &str, first: char) -> Result<(Kind, usize), SqlError> {
    let behind = from(rest, first.len_utf8());
    if first == '"' {
        let (text, length) = quoted(rest)?;
        return Ok((Kind::Text(text), length));
    }
    if first == '$' && behind.starts_with('"') {
        let (name, length) = quoted(behind)?;
        return Ok((Kind::Variable(name), length + 1));
    }
    if first == '$' && behind.starts_with(|c| is_of_word(c) || c == '\\') {
        let (name, length) = word(behind)?;
        return Ok((Kind::Variable(name), length + 1));
    }
    let is_digit = |c: char| c.is_ascii_digit();
    if is_digit(first) || first == '.' && behind.starts_with(is_digit) {
        return number(rest);
    }
    if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
        return Ok((Kind::Mark, mark.len()));
    }
    if is_special(first) {
        return Ok((Kind::Mark, 1));
    }
    let (word, length) = word(rest)?;
    Ok((Kind::Word(word), length))
}

/// A number at the beginning, and its length.
fn number(text: &str) -> Result<(Kind, usize), SqlError> {
    let digits = |at: usize| {
        let rest = from(text, at);
        rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len()
    };
    let starts = |at: usize, marks: &[char]| from(text, at).starts_with(marks);
    let mut kind = Kind::Integer;
    // A whole number begins with a zero only if it is one.
    let mut end = if starts(0, &['0']) { 1 } else { digits(0) };
    if starts(end, &['.']) {
        kind = Kind::Number;
        end += 1 + digits(end + 1);
    }
    if starts(end, &['e', 'E']) {
        let sign = usize::from(starts(end + 1, &['+', '-']));
        let length = digits(end + 1 + sign);
        if length > 0 {
            kind = Kind::Number;
            end += 1 + sign + length;
        } else if sign > 0 {
            return Err(wrong("invalid numeric literal", until(text, end + 2)));
        }
    }
    match from(text, end).chars().next() {
        Some(c) if is_of_word(c) => {
            let junk = until(text, end + c.len_utf8());
            Err(wrong("trailing junk after numeric literal", junk))
        }
        _ => Ok((kind, end)),
    }
}

/// A name without quotes, and its length.
fn word(text: &str) -> Result<(String, usize), SqlError> {
    let mut out = String::new();
    let mut at = 0;
    while let Some(c) = from(text, at).chars().next() {
        if c == '\\' {
            at += escape(from(text, at), &mut out)?;
        } else if is_of_word(c) {
            out.push(c);
            at += c.len_utf8();
        } else {
            break;
        }
    }
    Ok((out, at))
}

/// The text in quotes at the beginning, and its length with them.
fn quoted(text: &str) -> Result<(String, usize), SqlError> {
    let mut out = String::new();
    let mut at = 1;
    loop {
        match from(text, at).chars().next() {
            None => return Err(wrong("unterminated quoted string", "")),
            Some('"') => return Ok((out, at + 1)),
            Some('\\') => at += escape(from(text, at), &mut out)?,
            Some(c) => {
                out.push(c);
                at += c.len_utf8();
            }
        }
    }
}

/// Appends the character of an escape at the beginning. Returns the escape's length.
fn escape(text: &str, out: &mut String) -> Result<usize, SqlError> {
    let Some(letter) = from(text, 1).chars().next() else {
        return Err(wrong("unexpected end after backslash", ""));
    };
    let plain = match letter {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        'x' => {
            let wrong = || wrong("invalid hexadecimal character sequence", text);
            let digits = text.get(2..4).filter(|digits| is_hex(digits));
            let digits = digits.ok_or_else(wrong)?;
            let unit = u32::from_str_radix(digits, 16).map_err(|_| wrong())?;
            push(unit, out)?;
            return Ok(4);
        }
        'u' => {
            let (unit, length) = unit(text)?;
            if !(0xd800..0xe000).contains(&unit) {
                push(unit, out)?;
                return Ok(length);
            }
            let invalid = |detail: &str| {
                let text = "invalid input syntax for type jsonpath";
                SqlError::new(code::INVALID_TEXT, text).detail(detail)
            };
            let low = "Unicode low surrogate must follow a high surrogate.";
            if unit >= 0xdc00 || !from(text, length).starts_with("\\u") {
                return Err(invalid(low));
            }
            let (second, more) = self::unit(from(text, length))?;
            match second {
                0xdc00..=0xdfff => {
                    push(0x1_0000 + ((unit - 0xd800) << 10) + (second - 0xdc00), out)?;
                }
                0xd800..=0xdbff => {
                    return Err(invalid(
                        "Unicode high surrogate must not follow a high surrogate.",
                    ));
                }
                _ => return Err(invalid(low)),
            }
            return Ok(length + more);
        }
        other => other,
    };
    out.push(plain);
    Ok(1 + letter.len_utf8())
}

/// The number of `\uXXXX` or `\u{X}` at the beginning, and its length.
fn unit(text: &str) -> Result<(u32, usize), SqlError> {
    let wrong = || wrong("invalid Unicode escape sequence", text);
    let (digits, length) = match from(text, 2).strip_prefix('{') {
        Some(braced) => {
            let end = braced.find('}').filter(|end| (1..=6).contains(end));
            let end = end.ok_or_else(wrong)?;
            (until(braced, end), end + 4)
        }
        None => (text.get(2..6).ok_or_else(wrong)?, 6),
    };
    let unit = u32::from_str_radix(digits, 16).ok();
    let unit = unit.filter(|_| is_hex(digits));
    Ok((unit.ok_or_else(wrong)?, length))
}

fn is_hex(digits: &str) -> bool {
    digits.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn push(unit: u32, out: &mut String) -> Result<(), SqlError> {
    match char::from_u32(unit) {
        Some('\0') => {
            let error = SqlError::new("22P05", "unsupported Unicode escape sequence");
            Err(error.detail("\\u0000 cannot be converted to text."))
        }
        Some(c) => {
            out.push(c);
            Ok(())
        }
        None => Err(wrong("invalid Unicode escape sequence", "")),
    }
}
