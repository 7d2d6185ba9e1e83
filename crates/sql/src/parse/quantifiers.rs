//! `ANY` and `ALL` of an array behind operators with which the parser does not know them, such as `@>` and `LIKE`, as
//! functions [`ANY`] and [`ALL`].

use super::words::is_word;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The names of such functions.
pub(crate) const ANY: &str = "sql.any";
pub(crate) const ALL: &str = "sql.all";

/// Writes them so.
pub(super) fn with_quantifiers(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut before: Option<usize> = None;
    for at in 0..tokens.len() {
        let token = &tokens[at];
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        let is_all = is_word(token, "all");
        let is_one = is_all || is_word(token, "any") || is_word(token, "some");
        let operator = before.and_then(|at| tokens.get(at));
        if is_one && operator.is_some_and(is_operator) {
            let name = if is_all { ALL } else { ANY };
            let word = Word {
                value: name.into(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            };
            tokens[at].token = Token::Word(word);
        }
        before = Some(at);
    }
    tokens
}

/// True for an operator behind which the parser knows neither.
fn is_operator(token: &TokenWithSpan) -> bool {
    let is_known = matches!(
        token.token,
        Token::AtArrow | Token::ArrowAt | Token::Overlap | Token::Question
    );
    is_known || is_word(token, "like") || is_word(token, "ilike")
}
