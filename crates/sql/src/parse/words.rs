//! Words among the tokens of a text, for clauses that are rewritten before the parser reads them.

use crate::lexer::{self, placed};
use crate::names::quoted_literal;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The tokens of a text as they are written; `None` for one that cannot be read.
pub(super) fn plain_tokens(text: &str) -> Option<Vec<TokenWithSpan>> {
    lexer::tokens(text).ok()
}

/// The tokens of a text, each with its characters there; nothing of one that cannot be read.
pub(super) fn written_parts(text: &str) -> Option<Vec<(Token, String)>> {
    let parts = placed(text).ok()?.into_iter().map(|one| {
        let own = text.get(one.at).unwrap_or_default();
        (one.token, own.to_string())
    });
    Some(parts.collect())
}

/// A token as it is read again: tokens have their texts without the quotes that were doubled, and without escapes.
pub(super) fn text_of(token: &Token) -> String {
    use Token::{EscapedStringLiteral, SingleQuotedString, UnicodeStringLiteral};
    match token {
        SingleQuotedString(text) | EscapedStringLiteral(text) | UnicodeStringLiteral(text) => {
            quoted_literal(text)
        }
        Token::Word(word) if word.quote_style.is_some() => {
            format!("\"{}\"", word.value.replace('"', "\"\""))
        }
        other => other.to_string(),
    }
}

/// True if a token is one of these words, without quotes.
pub(super) fn is_one_of(token: &TokenWithSpan, words: &[&str]) -> bool {
    matches!(&token.token, Token::Word(word) if word.quote_style.is_none()
        && words.iter().any(|known| known.eq_ignore_ascii_case(&word.value)))
}

/// True if a token is this word, without quotes.
pub(super) fn is_word(token: &TokenWithSpan, known: &str) -> bool {
    is_one_of(token, &[known])
}

/// The place behind words that begin at a place.
pub(super) fn behind(tokens: &[TokenWithSpan], at: usize, words: &[&str]) -> Option<usize> {
    let mut wanted = words.iter();
    let mut next = wanted.next();
    for (at, token) in tokens.iter().enumerate().skip(at) {
        match (&token.token, next) {
            (Token::Whitespace(_), _) => {}
            (_, Some(word)) if is_word(token, word) => {
                next = wanted.next();
                if next.is_none() {
                    return Some(at + 1);
                }
            }
            _ => return None,
        }
    }
    None
}

/// The place behind `ALTER` or `ALTER COLUMN`, if this alters a column, and not a table.
pub(super) fn behind_alter_column(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let altered = behind(tokens, at, &["alter"])?;
    match behind(tokens, altered, &["table"]) {
        Some(_) => None,
        None => Some(behind(tokens, altered, &["column"]).unwrap_or(altered)),
    }
}

/// The place behind a name, with quotes or without, that is the next word.
pub(super) fn behind_name(tokens: &[TokenWithSpan], at: usize) -> Option<usize> {
    let mut rest = tokens.iter().enumerate().skip(at);
    let (at, token) = rest.find(|(_, token)| !matches!(token.token, Token::Whitespace(_)))?;
    matches!(token.token, Token::Word(_)).then_some(at + 1)
}
