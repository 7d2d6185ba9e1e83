//! `ROWS FROM (f(…), g(…))`, which the parser does not know, as a call of a function with a [mark](ROWS_FROM) for its name.

use super::words::{behind, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of the function that means `ROWS FROM`. Functions of users have no such name.
pub(crate) const ROWS_FROM: &str = "\u{1}rows_from";

/// Writes it so.
pub(super) fn with_rows_from(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let place = |at: usize| {
        let end = behind(&tokens, at, &["rows", "from"])?;
        let mut rest = tokens.iter().skip(end);
        let next = rest.find(|token| !matches!(token.token, Token::Whitespace(_)))?;
        (next.token == Token::LParen).then_some(end)
    };
    let is_it = |token: &TokenWithSpan| is_word(token, "rows");
    if !tokens.iter().any(is_it) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match is_it(token).then(|| place(at)).flatten() {
            Some(end) => {
                let word = Word {
                    value: ROWS_FROM.into(),
                    quote_style: Some('"'),
                    keyword: Keyword::NoKeyword,
                };
                written.push(TokenWithSpan {
                    token: Token::Word(word),
                    span: token.span,
                });
                at = end;
            }
            None => {
                written.push(token.clone());
                at += 1;
            }
        }
    }
    written
}
