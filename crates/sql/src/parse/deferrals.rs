//! `DEFERRABLE` and `INITIALLY` of a foreign key that are written twice, as ActiveRecord does. PostgreSQL takes them behind
//! `FOREIGN KEY`; the parser knows each once.

use super::words::{is_one_of, is_word};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Removes words that say again what was said of a foreign key. Others, and contradictions, stay for the parser.
pub(super) fn with_one_deferral(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens
        .iter()
        .any(|token| is_one_of(token, &["deferrable", "initially"]))
    {
        return tokens;
    }
    let is_space = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let seen: Vec<usize> = (0..tokens.len())
        .filter(|at| !is_space(&tokens[*at]))
        .collect();
    let is = |at: usize, words: &[&str]| {
        seen.get(at)
            .is_some_and(|at| is_one_of(&tokens[*at], words))
    };
    let mut removed = vec![false; tokens.len()];
    // Of each parenthesis, the outermost first: true behind FOREIGN, until a comma.
    let mut is_foreign = vec![false];
    // The beginnings of the clauses of the present constraint.
    let mut said: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < seen.len() {
        let token = &tokens[seen[at]];
        match token.token {
            Token::LParen => is_foreign.push(false),
            Token::RParen if is_foreign.len() > 1 => drop(is_foreign.pop()),
            Token::Comma | Token::SemiColon => {
                said.clear();
                if let Some(last) = is_foreign.last_mut() {
                    *last = false;
                }
            }
            _ if is_word(token, "foreign") => {
                said.clear();
                if let Some(last) = is_foreign.last_mut() {
                    *last = true;
                }
            }
            _ => {}
        }
        let words = match () {
            () if is(at, &["not"]) && is(at + 1, &["deferrable"]) => 2,
            () if is(at, &["initially"]) && is(at + 1, &["deferred", "immediate"]) => 2,
            () if is(at, &["deferrable"]) => 1,
            () => 0,
        };
        if words == 0 || !is_foreign.last().is_some_and(|is_so| *is_so) {
            at += 1;
            continue;
        }
        let text = |at: usize| tokens[seen[at]].token.to_string().to_ascii_lowercase();
        let same = |there: &usize| {
            (0..words).all(|word| *there + word < at && text(*there + word) == text(at + word))
        };
        match said.iter().any(same) {
            true => seen[at..at + words]
                .iter()
                .for_each(|at| removed[*at] = true),
            false => said.push(at),
        }
        at += words;
    }
    let mut place = removed.into_iter();
    tokens.retain(|_| !place.next().unwrap_or_default());
    tokens
}
