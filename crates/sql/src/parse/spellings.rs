//! Words that the parser does not know, or takes for names, written as words that it knows.

use super::words::{is_one_of, is_word};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes `ISNULL` and `NOTNULL` as `IS NULL` and `IS NOT NULL`; leaves out `NATIONAL` of types, and `CONCURRENTLY` of
/// `DROP INDEX`, which takes no time here; writes `SET SCHEMA 'name'` as the setting that it is.
pub(super) fn with_spellings(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let known = ["isnull", "notnull", "national", "concurrently", "schema"];
    if !tokens.iter().any(|token| is_one_of(token, &known)) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 8);
    for (at, token) in tokens.iter().enumerate() {
        if !is_one_of(token, &known) {
            written.push(token.clone());
            continue;
        }
        let mut rest = tokens.iter().skip(at + 1);
        let next = rest.find(|token| !is_space(token));
        let mut before = written.iter().rev().filter(|token| !is_space(token));
        let (last, other) = (before.next(), before.next());
        let is_last = |word: &str| last.is_some_and(|last| is_word(last, word));
        let words: &[&str] = if is_one_of(token, &["isnull", "notnull"]) && is_test(last, next) {
            match is_word(token, "isnull") {
                true => &["IS", "NULL"],
                false => &["IS", "NOT", "NULL"],
            }
        } else if is_word(token, "schema")
            && is_last("set")
            && next.is_some_and(|next| matches!(next.token, Token::SingleQuotedString(_)))
        {
            &["search_path", "TO"]
        } else {
            let is_type = next.is_some_and(|next| is_one_of(next, &["character", "char"]));
            let is_drop = is_last("index") && other.is_some_and(|other| is_word(other, "drop"));
            let is_left_out =
                is_word(token, "national") && is_type || is_word(token, "concurrently") && is_drop;
            if !is_left_out {
                written.push(token.clone());
            }
            continue;
        };
        let words = words.iter().map(|word| Token::make_keyword(word));
        written.extend(words.map(|word| TokenWithSpan::new(word, token.span)));
    }
    written
}

/// True if `ISNULL` between these tokens tests the operand before it: it is no function, and no name behind `AS`.
fn is_test(last: Option<&TokenWithSpan>, next: Option<&TokenWithSpan>) -> bool {
    let is_call = next.is_some_and(|next| next.token == Token::LParen);
    let ends = last.is_some_and(|last| match &last.token {
        Token::Word(_) => !is_word(last, "as"),
        Token::RParen | Token::RBracket | Token::Number(..) | Token::Placeholder(_) => true,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => true,
        Token::DollarQuotedString(_) => true,
        _ => false,
    });
    ends && !is_call
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}
