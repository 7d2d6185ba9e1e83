//! `TABLESPACE pg_default` of tables and indexes, which the parser does not know. There is no other tablespace.

use super::words::{is_one_of, is_word};
use crate::error::{SqlError, code};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The one tablespace.
const DEFAULT: &str = "pg_default";

/// Removes the clause, behind the parentheses of `CREATE TABLE` and `CREATE INDEX`.
///
/// # Errors
/// `42704` for another tablespace.
pub(super) fn without_tablespaces(
    mut tokens: Vec<TokenWithSpan>,
) -> Result<Vec<TokenWithSpan>, SqlError> {
    if !tokens.iter().any(|token| is_word(token, "tablespace")) {
        return Ok(tokens);
    }
    let seen: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_)))
        .collect();
    let mut removed = vec![false; tokens.len()];
    // The place in `seen` where the statement begins, and how deep the parentheses are.
    let (mut begin, mut depth) = (0, 0_usize);
    // True behind AS: the query of a table has columns of any name.
    let mut in_query = false;
    for at in 0..seen.len() {
        let token = &tokens[seen[at]];
        match token.token {
            Token::SemiColon => (begin, depth, in_query) = (at + 1, 0, false),
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        in_query |= depth == 0 && is_word(token, "as");
        if depth > 0 || in_query || !is_word(token, "tablespace") || at == begin {
            continue;
        }
        let first = &tokens[seen[begin]];
        let is_behind = tokens[seen[at - 1]].token == Token::RParen;
        let name = seen.get(at + 1).map(|name| &tokens[*name]);
        let (true, true, Some(name)) = (is_word(first, "create"), is_behind, name) else {
            continue;
        };
        let has_kind = seen[begin + 1..at].iter().take(4);
        let mut has_kind = has_kind.map(|word| &tokens[*word]);
        if !has_kind.any(|word| is_one_of(word, &["table", "index"])) {
            continue;
        }
        let Token::Word(word) = &name.token else {
            continue;
        };
        let named = match word.quote_style {
            Some(_) => word.value.clone(),
            None => word.value.to_lowercase(),
        };
        if named != DEFAULT {
            return Err(SqlError::new(
                code::UNKNOWN_OBJECT,
                format!("tablespace \"{named}\" does not exist"),
            ));
        }
        removed[seen[at]] = true;
        removed[seen[at + 1]] = true;
    }
    let mut removed = removed.into_iter();
    tokens.retain(|_| removed.next() != Some(true));
    Ok(tokens)
}
