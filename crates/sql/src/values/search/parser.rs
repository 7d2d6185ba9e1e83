//! The words, numbers, addresses and paths of a text, as PostgreSQL's default parser has them.
//!
//! At each place the longest form is taken. Forms other than words and numbers are looked for in a bounded part of the
//! text, so a text takes time linear in its length.
//!
//! Source: PostgreSQL's documentation, 12.5; `src/backend/tsearch/wparser_def.c`.

use crate::error::SqlError;
use regex::Regex;
use std::sync::LazyLock;

/// The form of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Letters, also within a compound, and a compound of such words.
    Word,
    /// A word with digits.
    Mixed,
    /// A number, an address, a path.
    Other,
}

impl Kind {
    /// True if a language's dictionary takes it.
    pub fn is_word(self) -> bool {
        self == Kind::Word
    }
}

/// The bytes in which forms other than words and numbers are looked for.
const LOOKED_MAX: usize = 256;
/// The bytes between two checks for an end.
const BYTES_BETWEEN: usize = 1 << 13;

/// A form, by which a part of a text is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A tag, an entity, a protocol: no token.
    Skipped,
    Address,
    /// A host with a path.
    Url,
    Compound,
    Other,
}

static FORMS: LazyLock<Vec<(Form, Regex)>> = LazyLock::new(|| {
    let host = r"[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?)*\.[A-Za-z]{2}(?:[A-Za-z0-9-]*[A-Za-z0-9])?";
    let forms = [
        (
            Form::Skipped,
            r"</?[A-Za-z][^<>]*>|<!--.*?-->|<[?!][^<>]*>".to_string(),
        ),
        (
            Form::Skipped,
            r"&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+|#[xX][0-9A-Fa-f]+);".to_string(),
        ),
        (
            Form::Skipped,
            r"(?:https?|ftp|file|[A-Za-z]+)://".to_string(),
        ),
        (Form::Address, format!(r"[A-Za-z0-9][A-Za-z0-9._-]*@{host}")),
        (Form::Url, format!(r"{host}(?::[0-9]+)?/[^\s<>]+")),
        (Form::Other, format!(r"{host}(?::[0-9]+)?")),
        (
            Form::Other,
            r"(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)+/?".to_string(),
        ),
        (
            Form::Other,
            r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)+/?".to_string(),
        ),
        (
            Form::Other,
            r"[A-Za-z][A-Za-z0-9]*(?:\.[A-Za-z0-9]+)+".to_string(),
        ),
        (Form::Other, r"[0-9]+(?:\.[0-9]+){2,}".to_string()),
        (
            Form::Other,
            r"[+-]?[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+".to_string(),
        ),
        (Form::Other, r"[+-]?[0-9]+\.[0-9]+".to_string()),
        (
            Form::Compound,
            r"\p{L}[\p{L}\p{M}\p{N}]*(?:-\p{N}*\p{L}[\p{L}\p{M}\p{N}]*)+".to_string(),
        ),
    ];
    let forms = forms
        .into_iter()
        .filter_map(|(form, text)| Some((form, Regex::new(&format!("^(?:{text})")).ok()?)));
    forms.collect()
});

fn is_part(character: char) -> bool {
    character.is_alphanumeric()
}

/// The length of a plain word or number at the beginning of a text.
fn plain(text: &str) -> usize {
    let signed = text.strip_prefix(['+', '-']);
    let sign = signed.filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let rest = sign.unwrap_or(text);
    let end = match sign {
        Some(rest) => rest.find(|c: char| !c.is_ascii_digit()),
        None => rest.find(|c: char| !is_part(c)),
    };
    let length = end.unwrap_or(rest.len());
    match length {
        0 => 0,
        _ => text.len() - rest.len() + length,
    }
}

fn kind_of(word: &str) -> Kind {
    let is_number = word.trim_start_matches(['+', '-']).bytes();
    if is_number.clone().all(|byte| byte.is_ascii_digit()) {
        return Kind::Other;
    }
    match word.chars().any(char::is_numeric) {
        true => Kind::Mixed,
        false => Kind::Word,
    }
}

/// The longest form at the beginning of a text.
fn longest(text: &str) -> Option<(Form, usize)> {
    let end = text.floor_char_boundary(LOOKED_MAX);
    let part = text.get(..end).unwrap_or_default();
    let mut found: Option<(Form, usize)> = None;
    for (form, regex) in &*FORMS {
        let length = regex.find(part).map_or(0, |one| one.end());
        if length > found.map_or(0, |(_, length)| length) {
            found = Some((*form, length));
        }
    }
    found
}

/// Gives each token of a text.
///
/// # Errors
/// The error of `look`, which is called from time to time; those of `take`.
pub(super) fn tokens(
    text: &str,
    look: &dyn Fn() -> Result<(), SqlError>,
    take: &mut dyn FnMut(Kind, &str) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let mut rest = text;
    let mut looked_at = text.len();
    while let Some(first) = rest.chars().next() {
        if looked_at - rest.len() > BYTES_BETWEEN {
            looked_at = rest.len();
            look()?;
        }
        let begins = is_part(first) || matches!(first, '<' | '&' | '/' | '~' | '.' | '+' | '-');
        let word = if begins { plain(rest) } else { 0 };
        let form = if begins { longest(rest) } else { None };
        let form = form.filter(|(_, length)| *length > word);
        let length = match (form, word) {
            (Some((_, length)), _) => length,
            (None, 0) => first.len_utf8(),
            (None, word) => word,
        };
        let (token, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        match form {
            None if word > 0 => take(kind_of(token), token)?,
            None | Some((Form::Skipped, _)) => {}
            Some((Form::Address | Form::Other, _)) => take(Kind::Other, token)?,
            Some((Form::Url, _)) => {
                take(Kind::Other, token)?;
                if let Some(at) = token.find('/') {
                    let (host, path) = token.split_at(at);
                    take(Kind::Other, host)?;
                    take(Kind::Other, path)?;
                }
            }
            Some((Form::Compound, _)) => {
                take(kind_of(token), token)?;
                for part in token.split('-') {
                    take(kind_of(part), part)?;
                }
            }
        }
        rest = behind;
    }
    Ok(())
}
