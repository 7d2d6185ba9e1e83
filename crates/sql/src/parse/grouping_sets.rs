//! `GROUPING SETS` inside of another one, as a function [`NESTED_SETS`]: the parser knows the outer one only.

use super::words::{behind, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of such a function.
pub(crate) const NESTED_SETS: &str = "sql.grouping_sets";

/// Writes them so.
pub(super) fn with_nested_sets(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "grouping")) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    // For each parenthesis that is open, true if it is within grouping sets.
    let mut levels: Vec<bool> = Vec::new();
    let mut opens_sets = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let sets = match is_word(token, "grouping") {
            true => behind(&tokens, at, &["grouping", "sets"]),
            false => None,
        };
        if let Some(end) = sets {
            opens_sets = true;
            match levels.last() {
                Some(true) => written.push(TokenWithSpan::new(
                    Token::Word(Word {
                        value: NESTED_SETS.into(),
                        quote_style: Some('"'),
                        keyword: Keyword::NoKeyword,
                    }),
                    token.span,
                )),
                _ => written.extend_from_slice(&tokens[at..end]),
            }
            at = end;
            continue;
        }
        match &token.token {
            Token::Whitespace(_) => {}
            Token::LParen => {
                levels.push(opens_sets);
                opens_sets = false;
            }
            Token::RParen => {
                levels.pop();
            }
            _ => opens_sets = false,
        }
        written.push(token.clone());
        at += 1;
    }
    written
}
