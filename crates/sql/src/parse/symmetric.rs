//! `BETWEEN SYMMETRIC`, which the parser does not know, as `BETWEEN` whose first bound is in a call of [`SYMMETRIC`]. It is
//! read where the condition is compiled.

use super::words::{is_one_of, is_word, written_parts};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of the call.
const SYMMETRIC: &str = "sql.symmetric";
/// The most tokens of a first bound: a text of many is read in linear time.
const BOUND_TOKENS_MAX: usize = 4096;

/// Writes the bounds so.
pub(super) fn with_symmetric(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "symmetric")) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 3);
    // Places before which a parenthesis closes.
    let mut closes: Vec<usize> = Vec::new();
    let mut is_between = false;
    for (at, token) in tokens.iter().enumerate() {
        while closes.last() == Some(&at) {
            closes.pop();
            written.push(TokenWithSpan::new(Token::RParen, token.span));
        }
        if is_between
            && is_word(token, "symmetric")
            && let Some(and) = and_behind(&tokens, at + 1)
        {
            let name = Token::Word(Word {
                value: SYMMETRIC.into(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            });
            written.extend([name, Token::LParen].map(|one| TokenWithSpan::new(one, token.span)));
            closes.push(and);
            is_between = false;
            continue;
        }
        if !matches!(token.token, Token::Whitespace(_)) {
            is_between = is_word(token, "between");
        }
        written.push(token.clone());
    }
    written
}

/// The place of the `AND` that ends a bound: outside of parentheses and of `CASE`.
fn and_behind(tokens: &[TokenWithSpan], from: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(from).take(BOUND_TOKENS_MAX) {
        match &token.token {
            Token::LParen | Token::LBracket => depth += 1,
            Token::RParen | Token::RBracket => depth = depth.checked_sub(1)?,
            Token::SemiColon => return None,
            _ if is_one_of(token, &["case"]) => depth += 1,
            _ if is_one_of(token, &["end"]) => depth = depth.checked_sub(1)?,
            _ if depth == 0 && is_word(token, "and") => return Some(at),
            _ => {}
        }
    }
    None
}

/// A kept text as a person writes it: with the words that the parser does not know.
pub(super) fn shown_symmetric(text: String) -> String {
    let call = format!("\"{SYMMETRIC}\"");
    if !text.contains(&call) {
        return text;
    }
    let Some(parts) = written_parts(&text) else {
        return text;
    };
    let mut written = String::with_capacity(text.len());
    // For each parenthesis that is open: true if it is that of a call.
    let mut calls: Vec<bool> = Vec::new();
    let mut begins = false;
    for (token, own) in &parts {
        match token {
            Token::Word(word) if word.value == SYMMETRIC => {
                written.push_str("SYMMETRIC ");
                begins = true;
                continue;
            }
            Token::LParen => {
                calls.push(begins);
                if !begins {
                    written.push_str(own);
                }
            }
            Token::RParen if calls.pop() == Some(true) => {}
            _ => written.push_str(own),
        }
        begins = false;
    }
    written
}

/// The first bound of `BETWEEN SYMMETRIC`; nothing of another one.
pub(crate) fn symmetric_bound(bound: &Expr) -> Option<&Expr> {
    let Expr::Function(function) = bound else {
        return None;
    };
    let name = function.name.0.last().and_then(|part| part.as_ident())?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(bound))] if name.value == SYMMETRIC => {
            Some(bound)
        }
        _ => None,
    }
}
