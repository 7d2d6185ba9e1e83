//! Normal forms of Unicode, and names in texts.

use super::definition::*;
use crate::error::{SqlError, code};
use crate::values::arrays::written;
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    is_normalized(TEXT) -> BOOL, |a, _| is_normal(a.text(0), "NFC"), "`text IS NORMALIZED`: true if it is in the form NFC";
    is_normalized(TEXT, TEXT) -> BOOL, |a, _| is_normal(a.text(0), a.text(1)), "`text IS NFC NORMALIZED`: true if it is in a form: NFC, NFD, NFKC or NFKD";
    normalize(TEXT) -> TEXT, |a, _| normal(a.text(0), "NFC"), "text in Unicode's form NFC";
    normalize(TEXT, TEXT) -> TEXT, |a, _| normal(a.text(0), a.text(1)), "text in a form of Unicode: NFC, NFD, NFKC or NFKD";
    parse_ident(TEXT) -> TEXTS, |a, _| identifiers(a.text(0), true), "parts of a name, as SQL reads them";
    parse_ident(TEXT, BOOL) -> TEXTS, |a, _| identifiers(a.text(0), a.is_true(1)), "parts of a name; with `false`, the rest of the text is ignored";
};

enum Normalizer {
    Composing(ComposingNormalizerBorrowed<'static>),
    Decomposing(DecomposingNormalizerBorrowed<'static>),
}

fn normalizer(form: &str) -> Result<Normalizer, SqlError> {
    Ok(match form.to_ascii_uppercase().as_str() {
        "NFC" => Normalizer::Composing(ComposingNormalizerBorrowed::new_nfc()),
        "NFKC" => Normalizer::Composing(ComposingNormalizerBorrowed::new_nfkc()),
        "NFD" => Normalizer::Decomposing(DecomposingNormalizerBorrowed::new_nfd()),
        "NFKD" => Normalizer::Decomposing(DecomposingNormalizerBorrowed::new_nfkd()),
        _ => {
            let text = format!("invalid normalization form: {form}");
            return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        }
    })
}

fn normal(of: &str, form: &str) -> Answer {
    text(match normalizer(form)? {
        Normalizer::Composing(normalizer) => normalizer.normalize(of),
        Normalizer::Decomposing(normalizer) => normalizer.normalize(of),
    })
}

fn is_normal(of: &str, form: &str) -> Answer {
    Ok(Value::Bool(match normalizer(form)? {
        Normalizer::Composing(normalizer) => normalizer.is_normalized(of),
        Normalizer::Decomposing(normalizer) => normalizer.is_normalized(of),
    }))
}

/// The parts of a name between points. Blanks around them have no meaning.
fn identifiers(whole: &str, is_strict: bool) -> Answer {
    let wrong = |detail: &str| {
        let text = format!("string is not a valid identifier: \"{whole}\"");
        let error = SqlError::new(code::INVALID_PARAMETER_VALUE, text);
        match detail {
            "" => error,
            detail => error.detail(detail),
        }
    };
    let blanks = [' ', '\t', '\n', '\r', '\u{c}'];
    let starts = |c: char| c == '_' || c.is_ascii_alphabetic() || !c.is_ascii();
    let continues = |c: char| starts(c) || c.is_ascii_digit() || c == '$';
    let mut rest = whole.trim_start_matches(blanks);
    let mut parts = Vec::new();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (part, behind) =
                unquoted(quoted).ok_or_else(|| wrong("String has unclosed double quotes."))?;
            if part.is_empty() {
                return Err(wrong("Quoted identifier must not be empty."));
            }
            parts.push(Some(part));
            rest = behind;
        } else if rest.starts_with(starts) {
            let end = rest.find(|c| !continues(c)).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            parts.push(Some(part.to_ascii_lowercase()));
            rest = behind;
        } else {
            return Err(match (rest.starts_with('.'), parts.is_empty()) {
                (true, _) => wrong("No valid identifier before \".\"."),
                (false, false) => wrong("No valid identifier after \".\"."),
                (false, true) => wrong(""),
            });
        }
        rest = rest.trim_start_matches(blanks);
        rest = match rest.strip_prefix('.') {
            Some(behind) => behind.trim_start_matches(blanks),
            None if rest.is_empty() || !is_strict => break,
            None => return Err(wrong("")),
        };
    }
    text(written(parts.into_iter()))
}

/// A name until its closing quote, and the text behind that. Two quotes are one.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let (before, behind) = rest.split_once('"')?;
        part.push_str(before);
        match behind.strip_prefix('"') {
            Some(behind) => {
                part.push('"');
                rest = behind;
            }
            None => return Some((part, behind)),
        }
    }
}
