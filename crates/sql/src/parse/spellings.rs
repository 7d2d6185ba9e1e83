//! Words that the parser does not know, or takes for names, written as words that it knows.

use super::words::{is_one_of, is_word};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Writes `ISNULL` and `NOTNULL` as `IS NULL` and `IS NOT NULL`, `NCHAR` with a length, or `VARYING`, as `CHARACTER`; leaves
/// out `NATIONAL` of types, and `CONCURRENTLY` of `DROP INDEX`, which takes no time here; writes `SET SCHEMA 'name'` as the setting that it is, and
/// labels between dollars as labels in quotes.
pub(super) fn with_spellings(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let known = [
        "isnull",
        "notnull",
        "national",
        "nchar",
        "concurrently",
        "schema",
        "enum",
    ];
    if !tokens.iter().any(|token| is_one_of(token, &known)) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len() + 8);
    let mut is_in_labels = false;
    for (at, token) in tokens.iter().enumerate() {
        if !is_one_of(token, &known) {
            is_in_labels &= token.token != Token::RParen;
            written.push(match &token.token {
                Token::DollarQuotedString(quoted) if is_in_labels => {
                    let label = Token::SingleQuotedString(quoted.value.clone());
                    TokenWithSpan::new(label, token.span)
                }
                _ => token.clone(),
            });
            continue;
        }
        let mut rest = tokens.iter().skip(at + 1).filter(|token| !is_space(token));
        let (next, behind) = (rest.next(), rest.next());
        let mut before = written.iter().rev().filter(|token| !is_space(token));
        let (last, other) = (before.next(), before.next());
        let is_last = |word: &str| last.is_some_and(|last| is_word(last, word));
        let words: &[&str] = if is_one_of(token, &["isnull", "notnull"]) && is_test(last, next) {
            match is_word(token, "isnull") {
                true => &["IS", "NULL"],
                false => &["IS", "NOT", "NULL"],
            }
        } else if is_word(token, "nchar") && is_type(next, behind) {
            &["CHARACTER"]
        } else if is_word(token, "schema")
            && is_last("set")
            && next.is_some_and(|next| matches!(next.token, Token::SingleQuotedString(_)))
        {
            &["search_path", "TO"]
        } else {
            let is_type = next.is_some_and(|next| is_one_of(next, &["character", "char"]));
            let is_drop = is_last("index") && other.is_some_and(|other| is_word(other, "drop"));
            is_in_labels |= is_word(token, "enum") && is_last("as");
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

/// True if a word before these tokens is a type, and not a name with a list of columns.
fn is_type(next: Option<&TokenWithSpan>, behind: Option<&TokenWithSpan>) -> bool {
    next.is_some_and(|next| match next.token {
        Token::LParen => behind.is_some_and(|token| matches!(token.token, Token::Number(..))),
        _ => is_word(next, "varying"),
    })
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}
