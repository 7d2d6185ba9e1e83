//! Options of `COPY` that the parser does not know: truths as `on` and `off`, and `FORCE_QUOTE *`, whose star is a column of the
//! name [`ALL_COLUMNS`].

use super::words::{is_one_of, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name that stands for all columns. No column has it.
pub(crate) const ALL_COLUMNS: &str = "\u{1}all";

/// Writes them as the parser knows them.
pub(super) fn with_copy_options(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let is_space = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let first = tokens.iter().find(|token| !is_space(token));
    if !first.is_some_and(|token| is_word(token, "copy")) {
        return tokens;
    }
    let options = begin_of_options(&tokens);
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 2);
    for (at, mut token) in tokens.into_iter().enumerate() {
        if at < options || is_space(&token) {
            written.push(token);
            continue;
        }
        let mut before = written.iter().rev().filter(|token| !is_space(token));
        let last = before.next();
        let is_last = |word: &str| last.is_some_and(|last| is_word(last, word));
        let is_truth = last.is_some_and(|last| is_one_of(last, &["freeze", "header"]));
        let is_option = is_last("force_quote");
        let mut is_forced = || before.next().is_some_and(|token| is_word(token, "force"));
        if is_truth && is_word(&token, "on") {
            token.token = Token::make_keyword("TRUE");
        } else if is_truth && is_word(&token, "off") {
            token.token = Token::make_keyword("FALSE");
        } else if token.token == Token::Mul && (is_option || is_last("quote") && is_forced()) {
            let at = |token_of| TokenWithSpan::new(token_of, token.span);
            let all = at(Token::Word(Word {
                value: ALL_COLUMNS.into(),
                quote_style: Some('"'),
                keyword: Keyword::NoKeyword,
            }));
            match is_option {
                true => written.extend([at(Token::LParen), all, at(Token::RParen)]),
                false => written.push(all),
            }
            continue;
        }
        written.push(token);
    }
    written
}

/// The place behind the query that is copied, if it is one: the same words are names in it.
fn begin_of_options(tokens: &[TokenWithSpan]) -> usize {
    let said = tokens.iter().enumerate();
    let mut said = said.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let Some((begin, _)) = said
        .nth(1)
        .filter(|(_, token)| token.token == Token::LParen)
    else {
        return 0;
    };
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(begin) {
        match token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len()
}
