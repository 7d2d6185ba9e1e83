//! Queries of all columns of a table: `TABLE t`.

use super::words::is_one_of;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// `TABLE t`, where a query begins, as `SELECT * FROM t`: the parser gives its name no place.
pub(super) fn with_tables(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let (mut begins, mut is_behind_set) = (true, false);
    let mut written = Vec::with_capacity(tokens.len());
    for token in tokens {
        if begins && is_one_of(&token, &["table"]) {
            let words = [
                Token::make_keyword("SELECT"),
                Token::Mul,
                Token::make_keyword("FROM"),
            ];
            written.extend(words.map(|word| TokenWithSpan::new(word, token.span)));
            begins = false;
            continue;
        }
        match &token.token {
            Token::Whitespace(_) => {}
            Token::LParen | Token::SemiColon => (begins, is_behind_set) = (true, false),
            _ => {
                let is_set = is_one_of(&token, &["union", "intersect", "except"]);
                begins = is_set || is_behind_set && is_one_of(&token, &["all", "distinct"]);
                is_behind_set = is_set;
            }
        }
        written.push(token);
    }
    written
}
