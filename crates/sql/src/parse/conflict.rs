//! The target of `ON CONFLICT`. The parser knows columns there, and no expressions. So an expression is written as one
//! name, with quotes that no text has. It is parsed when the statement is planned. Behind a list of values, the parser takes
//! `ON` for the name of the last one, so a clause that changes nothing ends the list.

use super::words::{is_one_of, is_word};
use crate::position::Places;
use sqlparser::ast::Ident;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The quotes of a name that is an expression: no name of PostgreSQL's language has them.
const QUOTE: char = '`';

/// The text of an expression that is written as a name.
pub(crate) fn written_expression(name: &Ident) -> Option<&str> {
    (name.quote_style == Some(QUOTE)).then_some(&name.value)
}

/// The tokens of a text with the expressions of conflict targets as names.
pub(super) fn with_conflict_targets(text: &str, tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "conflict")) {
        return tokens;
    }
    let mut written: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter();
    let mut reading = Places::of(text);
    let mut lists = Lists::default();
    while let Some(token) = tokens.next() {
        if lists.ends_before(&token)
            && tokens
                .as_slice()
                .iter()
                .find(|next| !is_space(next))
                .is_some_and(|next| is_word(next, "conflict"))
        {
            let words = ["WHERE", "TRUE"].map(Token::make_keyword);
            written.extend(words.map(|word| TokenWithSpan::new(word, token.span)));
        }
        let begins = token.token == Token::LParen && {
            let mut before = written.iter().rev();
            let mut before = before.by_ref().filter(|token| !is_space(token));
            let (last, other) = (before.next(), before.next());
            last.is_some_and(|token| is_word(token, "conflict"))
                && other.is_some_and(|token| is_word(token, "on"))
        };
        written.push(token);
        if begins {
            add_target(&mut tokens, &mut reading, &mut written);
        }
    }
    written
}

/// The lists of values of queries, by the levels of parentheses.
#[derive(Default)]
struct Lists {
    outer: Vec<bool>,
    /// True in the list of the query of this level: behind `SELECT`, and before another clause.
    is_in: bool,
    is_behind_distinct: bool,
}

impl Lists {
    /// Passes a token. True if it is `ON` behind a list of values.
    fn ends_before(&mut self, token: &TokenWithSpan) -> bool {
        const CLAUSES: [&str; 14] = [
            "from",
            "where",
            "group",
            "having",
            "window",
            "union",
            "intersect",
            "except",
            "order",
            "limit",
            "offset",
            "fetch",
            "for",
            "values",
        ];
        match &token.token {
            Token::Whitespace(_) => return false,
            Token::LParen => self.outer.push(std::mem::take(&mut self.is_in)),
            Token::RParen => self.is_in = self.outer.pop().unwrap_or_default(),
            Token::SemiColon => *self = Lists::default(),
            _ if is_word(token, "select") => self.is_in = true,
            _ if is_word(token, "on") && !self.is_behind_distinct => {
                return std::mem::take(&mut self.is_in);
            }
            _ if is_one_of(token, &CLAUSES) && !self.is_behind_distinct => self.is_in = false,
            _ => {}
        }
        self.is_behind_distinct = is_word(token, "distinct");
        false
    }
}

fn is_space(token: &TokenWithSpan) -> bool {
    matches!(token.token, Token::Whitespace(_))
}

/// Adds the elements between the parentheses of a target, and the last parenthesis.
fn add_target(
    tokens: &mut impl Iterator<Item = TokenWithSpan>,
    reading: &mut Places<'_>,
    written: &mut Vec<TokenWithSpan>,
) {
    let (mut element, mut depth) = (Vec::new(), 0_usize);
    for token in tokens {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen if depth > 0 => depth -= 1,
            Token::Comma | Token::RParen if depth == 0 => {
                let is_end = token.token == Token::RParen;
                add_element(std::mem::take(&mut element), reading, written);
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

/// Adds a column as it is written, or an expression as a name. The name is the expression's text with its quotes.
fn add_element(
    element: Vec<TokenWithSpan>,
    reading: &mut Places<'_>,
    written: &mut Vec<TokenWithSpan>,
) {
    let mut parts = element.iter().filter(|token| !is_space(token));
    let first = parts.next();
    let last = parts.next_back();
    let is_name = matches!(first.map(|token| &token.token), Some(Token::Word(_)) | None);
    let (Some(first), true) = (first, !is_name || last.is_some()) else {
        written.extend(element);
        return;
    };
    let (begins, ends) = (first.span, last.unwrap_or(first).span);
    let word = Word {
        value: reading.between(begins.start, ends.end).to_string(),
        quote_style: Some(QUOTE),
        keyword: Keyword::NoKeyword,
    };
    written.push(TokenWithSpan::new(Token::Word(word), begins));
}
