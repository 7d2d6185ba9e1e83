//! `@@@`, the older name of `@@`: the parser reads it as `@@` and the prefix operator `@`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes `@@` for it.
pub(super) fn with_plain_matches(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut is_behind = false;
    tokens.retain(|token| {
        let is_rest = is_behind && token.token == Token::AtSign;
        is_behind = token.token == Token::AtAt;
        !is_rest
    });
    tokens
}
