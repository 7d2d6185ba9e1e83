//! `INSERT DEFAULT VALUES` of `MERGE`, which the parser does not know, as one value of the name [`DEFAULT_VALUES`].

use super::words::{behind, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of such a value.
pub(crate) const DEFAULT_VALUES: &str = "sql.default_values";

/// Writes them so.
pub(super) fn with_merged_defaults(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "merge")) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let end = match is_word(token, "then") {
            true => behind(&tokens, at, &["then", "insert", "default", "values"]),
            false => None,
        };
        let Some(end) = end else {
            written.push(token.clone());
            at += 1;
            continue;
        };
        // The words but DEFAULT, and a value.
        let words = tokens[at..end].iter();
        written.extend(words.filter(|token| !is_word(token, "default")).cloned());
        let name = Token::Word(Word {
            value: DEFAULT_VALUES.into(),
            quote_style: Some('"'),
            keyword: Keyword::NoKeyword,
        });
        for part in [Token::LParen, name, Token::RParen] {
            written.push(TokenWithSpan::new(part, token.span));
        }
        at = end;
    }
    written
}
