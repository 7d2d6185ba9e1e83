//! `EXPLAIN (SELECT …) UNION …`: the parser takes the parenthesis for that of options. It is written with an option that is the
//! usual one before it: `EXPLAIN (ANALYZE FALSE) (SELECT …) UNION …`.

use super::words::{is_one_of, is_word};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes them so.
pub(super) fn with_explained_queries(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let seen: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
        .collect();
    let token_at = |at: usize| seen.get(at).map(|place| &tokens[*place]);
    let is_query = |token: &TokenWithSpan| {
        token.token == Token::LParen || is_one_of(token, &["select", "with", "values", "table"])
    };
    let explains = |at: usize| {
        let begins = at
            .checked_sub(1)
            .and_then(token_at)
            .is_none_or(|before| before.token == Token::SemiColon);
        begins
            && token_at(at).is_some_and(|token| is_word(token, "explain"))
            && token_at(at + 1).is_some_and(|token| token.token == Token::LParen)
            && token_at(at + 2).is_some_and(is_query)
    };
    let found: Vec<usize> = (0..seen.len())
        .filter(|at| explains(*at))
        .map(|at| seen[at])
        .collect();
    if found.is_empty() {
        return tokens;
    }
    let mut found = found.into_iter().peekable();
    let mut written = Vec::with_capacity(tokens.len() + 4);
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        written.push(token);
        if found.next_if_eq(&at).is_some() {
            let option = [
                Token::LParen,
                Token::make_keyword("ANALYZE"),
                Token::make_keyword("FALSE"),
                Token::RParen,
            ];
            written.extend(option.map(|token| TokenWithSpan::new(token, span)));
        }
    }
    written
}
