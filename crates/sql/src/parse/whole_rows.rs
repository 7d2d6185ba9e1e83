//! `table.*` as a value before or behind an operator, `table.*::text`, and the fields of a row, `(row).*`. The parser knows the first
//! alone in a list and in calls, the second not. It reads a name or a field `*`, without quotes, which the compiler takes
//! for the whole row.

use super::words::is_word;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Writes them so.
pub(super) fn with_whole_rows(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_star = |pair: &[TokenWithSpan]| {
        pair.first().map(|token| &token.token) == Some(&Token::Period)
            && pair.last().map(|token| &token.token) == Some(&Token::Mul)
    };
    let stars = tokens.windows(2).enumerate();
    let stars = stars.filter(|(_, pair)| is_star(pair));
    let stars: Vec<usize> = stars.map(|(at, _)| at + 1).collect();
    for at in stars {
        let mut behind = tokens.iter().skip(at + 1);
        let next = behind.find(|token| !matches!(token.token, Token::Whitespace(_)));
        let is_of_row = at > 1 && tokens.get(at - 2).map(|of| &of.token) == Some(&Token::RParen);
        if (is_of_row || next.is_some_and(takes_value) || is_behind_operator(&tokens, at))
            && let Some(star) = tokens.get_mut(at)
        {
            star.token = Token::Word(Word {
                value: "*".into(),
                quote_style: None,
                keyword: Keyword::NoKeyword,
            });
        }
    }
    tokens
}

/// True if the name whose `*` is at a place is the value behind an operator.
fn is_behind_operator(tokens: &[TokenWithSpan], star: usize) -> bool {
    let mut at = star;
    while at >= 2
        && tokens.get(at - 1).map(|of| &of.token) == Some(&Token::Period)
        && matches!(tokens.get(at - 2).map(|of| &of.token), Some(Token::Word(_)))
    {
        at -= 2;
    }
    let mut before = tokens.iter().take(at).rev();
    let before = before.find(|token| !matches!(token.token, Token::Whitespace(_)));
    before.is_some_and(|token| takes_value(token) && !is_word(token, "is"))
}

/// True for an operator that has a value before it.
fn takes_value(token: &TokenWithSpan) -> bool {
    let is_operator = matches!(
        token.token,
        Token::DoubleColon
            | Token::Eq
            | Token::Neq
            | Token::Lt
            | Token::LtEq
            | Token::Gt
            | Token::GtEq
            | Token::StringConcat
    );
    is_operator || is_word(token, "is")
}
