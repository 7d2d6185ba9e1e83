//! `ANY` and `ALL` of an array behind operators with which the parser does not know them, such as `@>` and `LIKE`, as
//! functions [`ANY`] and [`ALL`].

use super::words::{is_one_of, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace, Word};
use std::collections::BTreeSet;

/// The names of such functions.
pub(crate) const ANY: &str = "sql.any";
pub(crate) const ALL: &str = "sql.all";

/// Writes them so.
pub(super) fn with_quantifiers(mut tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut before: Option<usize> = None;
    let mut doubled = BTreeSet::new();
    for at in 0..tokens.len() {
        let token = &tokens[at];
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        let is_all = is_word(token, "all");
        let is_one = is_all || is_word(token, "any") || is_word(token, "some");
        if is_one
            && let Some((around, operator)) = before.and_then(|at| named_operator(&tokens, at))
        {
            for part in around {
                tokens[part].token = Token::Whitespace(Whitespace::Space);
            }
            before = Some(operator);
        }
        let operator = before.and_then(|at| tokens.get(at));
        if is_one && operator.is_some_and(is_operator) {
            let name = if is_all { ALL } else { ANY };
            let word = Word {
                value: name.into(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            };
            tokens[at].token = Token::Word(word);
            doubled.extend(query_behind(&tokens, at).into_iter().flatten());
        }
        before = Some(at);
    }
    if doubled.is_empty() {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len() + doubled.len());
    for (at, token) in tokens.into_iter().enumerate() {
        if doubled.contains(&at) {
            written.push(token.clone());
        }
        written.push(token);
    }
    written
}

/// The places of the words around an operator that ends at a place as `OPERATOR(pg_catalog.=)`, and of the operator: the
/// parser does not know `ANY` behind one, as `pg_dump -t` asks.
fn named_operator(tokens: &[TokenWithSpan], last: usize) -> Option<([usize; 5], usize)> {
    let before = tokens.iter().enumerate().take(last + 1).rev();
    let mut before = before.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let (close, token) = before.next()?;
    if token.token != Token::RParen {
        return None;
    }
    let (operator, _) = before.next()?;
    let (point, token) = before.next()?;
    if token.token != Token::Period {
        return None;
    }
    let (schema, token) = before.next()?;
    if !is_word(token, "pg_catalog") {
        return None;
    }
    let (open, token) = before.next()?;
    if token.token != Token::LParen {
        return None;
    }
    let (word, token) = before.next()?;
    is_word(token, "operator").then_some(([word, open, schema, point, close], operator))
}

/// The places of the parentheses around a query behind a place. A function takes a query in parentheses of its own.
fn query_behind(tokens: &[TokenWithSpan], at: usize) -> Option<[usize; 2]> {
    let rest = tokens.iter().enumerate().skip(at + 1);
    let mut rest = rest.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let (open, first) = rest.next()?;
    if first.token != Token::LParen {
        return None;
    }
    let (_, word) = rest.next()?;
    if !is_one_of(word, &["select", "with", "values", "table"]) {
        return None;
    }
    let mut depth = 1;
    for (at, token) in rest {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some([open, at]);
        }
    }
    None
}

/// True for an operator behind which the parser knows neither.
fn is_operator(token: &TokenWithSpan) -> bool {
    let is_known = matches!(
        token.token,
        Token::AtArrow | Token::ArrowAt | Token::Overlap | Token::Question
    );
    is_known || is_word(token, "like") || is_word(token, "ilike")
}
