//! `ROWS FROM (f(…), g(…))`, which the parser does not know, as a call of a function with a [mark](ROWS_FROM) for its name.

use super::words::{behind, is_one_of, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of the function that means `ROWS FROM`. Functions of users have no such name.
pub(crate) const ROWS_FROM: &str = "\u{1}rows_from";

/// Words behind which `FROM` has ended, or has not begun.
const OUTSIDE: [&str; 14] = [
    "select",
    "where",
    "group",
    "having",
    "window",
    "order",
    "limit",
    "offset",
    "fetch",
    "for",
    "union",
    "intersect",
    "except",
    "returning",
];

/// The place in the clauses of a text. `rows` is a column's name, too: it is a mark only where `FROM` has a table.
#[derive(Default)]
struct Clauses<'t> {
    /// For each parenthesis that is open, and outside of them: true inside of `FROM`.
    are_from: Vec<bool>,
    /// The tokens before, without spaces.
    last: Option<&'t TokenWithSpan>,
    before_last: Option<&'t TokenWithSpan>,
}

impl<'t> Clauses<'t> {
    fn is_from(&self) -> bool {
        self.are_from.last().copied().unwrap_or_default()
    }

    /// True if a table may stand here.
    fn takes_table(&self) -> bool {
        let Some(last) = self.last else {
            return false;
        };
        match &last.token {
            Token::Comma | Token::LParen => self.is_from(),
            _ if is_word(last, "from") => !self.is_distinct(),
            _ => is_one_of(last, &["join", "lateral", "using"]),
        }
    }

    /// True behind `DISTINCT FROM`, which compares values.
    fn is_distinct(&self) -> bool {
        (self.before_last).is_some_and(|token| is_word(token, "distinct"))
    }

    fn pass(&mut self, token: &'t TokenWithSpan) {
        let is_from = match &token.token {
            Token::Whitespace(_) => return,
            Token::LParen => {
                // Behind a name it opens the arguments of a call.
                self.are_from.push(self.takes_table());
                None
            }
            Token::RParen => {
                self.are_from.pop();
                None
            }
            Token::SemiColon => Some(false),
            _ if is_one_of(token, &OUTSIDE) => Some(false),
            _ if is_word(token, "from") => {
                let is_distinct = self.last.is_some_and(|last| is_word(last, "distinct"));
                (!is_distinct).then_some(true)
            }
            _ => None,
        };
        if let Some(is_from) = is_from {
            match self.are_from.last_mut() {
                Some(there) => *there = is_from,
                None => self.are_from.push(is_from),
            }
        }
        self.before_last = self.last.replace(token);
    }
}

/// Writes it so.
pub(super) fn with_rows_from(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let place = |at: usize| {
        let end = behind(&tokens, at, &["rows", "from"])?;
        let mut rest = tokens.iter().skip(end);
        let next = rest.find(|token| !matches!(token.token, Token::Whitespace(_)))?;
        (next.token == Token::LParen).then_some(end)
    };
    let is_it = |token: &TokenWithSpan| is_word(token, "rows");
    if !tokens.iter().any(is_it) {
        return tokens;
    }
    let mut clauses = Clauses {
        are_from: vec![false],
        ..Clauses::default()
    };
    let mut written = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let is_mark = is_it(token) && clauses.takes_table();
        match is_mark.then(|| place(at)).flatten() {
            Some(end) => {
                let word = Word {
                    value: ROWS_FROM.into(),
                    quote_style: Some('"'),
                    keyword: Keyword::NoKeyword,
                };
                written.push(TokenWithSpan::new(Token::Word(word), token.span));
                at = end;
            }
            None => {
                written.push(token.clone());
                at += 1;
            }
        }
        clauses.pass(token);
    }
    written
}

/// A kept text with the words.
pub(super) fn shown_rows_from(text: String) -> String {
    let call = format!("\"{ROWS_FROM}\"(");
    match text.contains(&call) {
        true => text.replace(&call, "ROWS FROM("),
        false => text,
    }
}
