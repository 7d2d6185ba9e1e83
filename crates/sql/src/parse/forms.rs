//! `normalize(text, form)`: its form is a word, as in PostgreSQL's grammar, and no expression. `pg_catalog.normalize` is a
//! function like others.

use super::words::{is_one_of, is_word};
use crate::error::SqlError;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// The names of Unicode's forms.
pub(crate) const FORMS: [&str; 4] = ["NFC", "NFD", "NFKC", "NFKD"];

/// The part of a call that is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Parentheses of anything else.
    Other,
    Text,
    /// The comma was read.
    Comma,
    /// The form was read.
    Form,
}

/// Refuses other forms.
///
/// # Errors
/// `42601`, and its place.
pub(super) fn check_forms(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    if !tokens.iter().any(|token| is_word(token, "normalize")) {
        return Ok(());
    }
    let (mut levels, mut is_called, mut is_qualified) = (Vec::new(), false, false);
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        match levels.last_mut() {
            Some(part @ Part::Comma) if is_one_of(token, &FORMS) => {
                *part = Part::Form;
                continue;
            }
            Some(Part::Form) if token.token == Token::RParen => {}
            Some(Part::Comma | Part::Form) => {
                let text = match &token.token {
                    Token::EOF => "syntax error at end of input".to_string(),
                    found => format!("syntax error at or near \"{found}\""),
                };
                return Err((SqlError::syntax(text), token.span.start));
            }
            _ => {}
        }
        match &token.token {
            Token::LParen if is_called => levels.push(Part::Text),
            Token::LParen | Token::LBracket => levels.push(Part::Other),
            Token::RParen | Token::RBracket => drop(levels.pop()),
            Token::Comma => {
                if let Some(part @ Part::Text) = levels.last_mut() {
                    *part = Part::Comma;
                }
            }
            Token::SemiColon => levels.clear(),
            _ => {}
        }
        is_called = is_word(token, "normalize") && !is_qualified;
        is_qualified = token.token == Token::Period;
    }
    Ok(())
}
