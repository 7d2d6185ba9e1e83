//! `FOR UPDATE OF a, b`, which the parser takes with one name, as a clause for each name.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Rewrites tokens so that each lock of rows names one table at most.
pub(super) fn with_locks(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_word = |token: &TokenWithSpan, known: &str| {
        matches!(&token.token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
    };
    if !tokens.iter().any(|token| is_word(token, "of")) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    // The words of the clause so far: FOR, UPDATE or SHARE, OF. Its names follow the last one.
    let mut clause: Vec<TokenWithSpan> = Vec::with_capacity(3);
    for token in tokens {
        match (&token.token, clause.len()) {
            (Token::Whitespace(_), _) => {}
            (_, 0..=2) if is_word(&token, "for") => clause = vec![token.clone()],
            (_, 1) if is_word(&token, "update") || is_word(&token, "share") => {
                clause.push(token.clone());
            }
            (_, 2) if is_word(&token, "of") => clause.push(token.clone()),
            (Token::Comma, 3) => {
                written.extend(clause.iter().cloned());
                continue;
            }
            (Token::Word(_), 3) if is_word(&token, "for") => clause = vec![token.clone()],
            (Token::Word(_) | Token::Period, 3) => {}
            _ => clause.clear(),
        }
        written.push(token);
    }
    written
}
