//! The target of `ON CONFLICT`: the parser knows columns there, and no expressions. An expression stands as one name with
//! quotes that no text has, which is read when the statement is planned.

use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The quotes of a name that is an expression: no name of PostgreSQL's language has them.
const QUOTE: char = '`';

/// The text of an expression that stands as a name.
pub(crate) fn written_expression(name: &Ident) -> Option<&str> {
    (name.quote_style == Some(QUOTE)).then_some(&name.value)
}

/// The tokens with the expressions of conflict targets as names.
pub(super) fn with_conflict_targets(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_word = |token: &TokenWithSpan, known: &str| {
        matches!(&token.token, Token::Word(word)
            if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(known))
    };
    if !tokens.iter().any(|token| is_word(token, "conflict")) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter();
    while let Some(token) = tokens.next() {
        let begins = token.token == Token::LParen && {
            let mut before = written.iter().rev();
            let mut before = before.by_ref().filter(|token| !is_space(token));
            let (last, other) = (before.next(), before.next());
            last.is_some_and(|token| is_word(token, "conflict"))
                && other.is_some_and(|token| is_word(token, "on"))
        };
        written.push(token);
        if begins {
            add_target(&mut tokens, &mut written);
        }
    }
    written
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// Adds what stands between the parentheses of a target, and the last parenthesis.
fn add_target(tokens: &mut impl Iterator<Item = TokenWithSpan>, written: &mut Vec<TokenWithSpan>) {
    let (mut element, mut depth) = (Vec::new(), 0_usize);
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth > 0 => depth -= 1,
            Token::Comma | Token::RParen if depth == 0 => {
                let is_end = token.token == Token::RParen;
                add_element(std::mem::take(&mut element), written);
                written.push(token);
                if is_end {
                    return;
                }
                continue;
            }
            _ => {}
        }
        element.push(token);
    }
    written.append(&mut element);
}

/// Adds a column as it is written, and an expression as a name.
fn add_element(element: Vec<TokenWithSpan>, written: &mut Vec<TokenWithSpan>) {
    let mut parts = element.iter().filter(|token| !is_space(token));
    let first = parts.next();
    let is_name = matches!(first.map(|token| &token.token), Some(Token::Word(_)) | None);
    if is_name && parts.next().is_none() {
        written.extend(element);
        return;
    }
    let Some(span) = first.map(|token| token.span) else {
        return;
    };
    let text = element.iter().map(|token| token.token.to_string());
    let word = Word {
        value: text.collect::<String>().trim().to_string(),
        quote_style: Some(QUOTE),
        keyword: Keyword::NoKeyword,
    };
    written.push(TokenWithSpan::new(Token::Word(word), span));
}
