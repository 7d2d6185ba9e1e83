//! `FETCH FIRST (expression) ROWS ONLY`, as `LIMIT (expression)`: the parser accepts only a number without a sign there. With
//! `WITH TIES` the expression is the argument of a function [`WITH_TIES`].

use super::words::is_one_of;
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use std::collections::HashSet;

/// The name of such a function.
const WITH_TIES: &str = "sql.with_ties";

/// The expression of a limit with `WITH TIES`.
pub(crate) fn count_with_ties(limit: &Expr) -> Option<&Expr> {
    let Expr::Function(function) = limit else {
        return None;
    };
    let name = function.name.0.last().and_then(|part| part.as_ident())?;
    match &function.args {
        FunctionArguments::List(list) if name.value == WITH_TIES => match list.args.as_slice() {
            [FunctionArg::Unnamed(FunctionArgExpr::Expr(count))] => Some(count),
            _ => None,
        },
        _ => None,
    }
}

/// The places of the tokens without blanks, from one on.
fn said(tokens: &[TokenWithSpan], from: usize) -> impl Iterator<Item = usize> {
    let places = tokens.iter().enumerate().skip(from);
    places
        .filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)))
        .map(|(at, _)| at)
}

/// The places of the ends of the expression and of the last word of a `FETCH` at a place, and true for `WITH TIES`. None if it is
/// another `FETCH`.
fn limit(tokens: &[TokenWithSpan], at: usize) -> Option<(usize, usize, usize, bool)> {
    let mut places = said(tokens, at + 1);
    let first = places.next()?;
    let opens = places.next()?;
    if !is_one_of(&tokens[first], &["first", "next"]) {
        return None;
    }
    let is_signed = matches!(tokens[opens].token, Token::Minus | Token::Plus);
    if is_signed {
        // A number with a sign: these two tokens are the expression.
        let number = places.next()?;
        let is_number = matches!(tokens[number].token, Token::Number(..));
        return is_number.then(|| behind(tokens, opens, number)).flatten();
    }
    if !matches!(tokens[opens].token, Token::LParen) {
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
    behind(tokens, opens, closes)
}

/// The same of an expression between two places.
fn behind(
    tokens: &[TokenWithSpan],
    opens: usize,
    closes: usize,
) -> Option<(usize, usize, usize, bool)> {
    let mut places = said(tokens, closes + 1);
    let (rows, only) = (places.next()?, places.next()?);
    if !is_one_of(&tokens[rows], &["row", "rows"]) {
        return None;
    }
    if is_one_of(&tokens[only], &["only"]) {
        return Some((opens, closes, only, false));
    }
    let ties = places.next()?;
    let has_ties = is_one_of(&tokens[only], &["with"]) && is_one_of(&tokens[ties], &["ties"]);
    has_ties.then_some((opens, closes, ties, true))
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
            Some((opens, closes, last, has_ties)) => {
                let word = Token::make_keyword("LIMIT");
                written.push(TokenWithSpan::new(word, token.span));
                if has_ties {
                    let name = Token::Word(Word {
                        value: WITH_TIES.into(),
                        quote_style: Some('"'),
                        keyword: Keyword::NoKeyword,
                    });
                    written.push(TokenWithSpan::new(name, token.span));
                }
                let is_signed = tokens[opens].token != Token::LParen;
                if has_ties && is_signed {
                    let open = TokenWithSpan::new(Token::LParen, token.span);
                    let close = TokenWithSpan::new(Token::RParen, token.span);
                    written.push(open);
                    written.extend_from_slice(&tokens[opens..=closes]);
                    written.push(close);
                    left_out.extend(opens..=closes);
                }
                left_out.extend((at..opens).chain(closes + 1..=last));
            }
            None => written.push(token.clone()),
        }
    }
    written
}
