//! `FETCH FIRST (expression) ROWS ONLY`, as `LIMIT (expression)`: the parser knows it with a number only.

use super::words::is_one_of;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::HashSet;

/// The places of the tokens that say something, from one on.
fn said(tokens: &[TokenWithSpan], from: usize) -> impl Iterator<Item = usize> {
    let places = tokens.iter().enumerate().skip(from);
    places
        .filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)))
        .map(|(at, _)| at)
}

/// Of a `FETCH` at a place, the places of its first parenthesis and of its last word; none if it is another `FETCH`.
fn limit(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize, usize)> {
    let mut places = said(tokens, at + 1);
    let first = places.next()?;
    let opens = places.next()?;
    if !is_one_of(&tokens[first], &["first", "next"]) || tokens[opens].token != Token::LParen {
        return None;
    }
    let mut depth = 0_usize;
    let closes = (opens..tokens.len()).find(|&at| {
        match tokens[at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let mut places = said(tokens, closes + 1);
    let (rows, only) = (places.next()?, places.next()?);
    let is_whole =
        is_one_of(&tokens[rows], &["row", "rows"]) && is_one_of(&tokens[only], &["only"]);
    is_whole.then_some((opens, closes, only))
}

/// Writes them so.
pub(super) fn with_limits(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let has_any = tokens.iter().any(|token| is_one_of(token, &["fetch"]));
    if !has_any {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let mut left_out = HashSet::new();
    for (at, token) in tokens.iter().enumerate() {
        if left_out.contains(&at) {
            continue;
        }
        let found = is_one_of(token, &["fetch"]).then(|| limit(&tokens, at));
        match found.flatten() {
            Some((opens, closes, only)) => {
                let word = Token::make_keyword("LIMIT");
                written.push(TokenWithSpan::new(word, token.span));
                left_out.extend((at..opens).chain(closes + 1..=only));
            }
            None => written.push(token.clone()),
        }
    }
    written
}
