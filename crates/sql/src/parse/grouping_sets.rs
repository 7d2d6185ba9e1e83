//! `GROUPING SETS` inside another one, as a function [`NESTED_SETS`]: the parser knows the outer one only. A part of
//! `ROLLUP`, `CUBE` and `GROUPING SETS` that begins with a parenthesis and does not end with it, `(a)::text`, gets others
//! around it: the parser takes the first one for those of a list of keys.

use super::words::{behind, is_word};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// The name of such a function.
pub(crate) const NESTED_SETS: &str = "sql.grouping_sets";

/// Writes them so.
pub(super) fn with_nested_sets(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    if !tokens.iter().any(|token| is_word(token, "grouping")) {
        return tokens;
    }
    let mut written = Vec::with_capacity(tokens.len());
    // For each parenthesis that is open, true if it is within grouping sets.
    let mut levels: Vec<bool> = Vec::new();
    let mut opens_sets = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let sets = match is_word(token, "grouping") {
            true => behind(&tokens, at, &["grouping", "sets"]),
            false => None,
        };
        if let Some(end) = sets {
            opens_sets = true;
            match levels.last() {
                Some(true) => written.push(TokenWithSpan::new(
                    Token::Word(Word {
                        value: NESTED_SETS.into(),
                        quote_style: Some('"'),
                        keyword: Keyword::NoKeyword,
                    }),
                    token.span,
                )),
                _ => written.extend_from_slice(&tokens[at..end]),
            }
            at = end;
            continue;
        }
        match &token.token {
            Token::Whitespace(_) => {}
            Token::LParen => {
                levels.push(opens_sets);
                opens_sets = false;
            }
            Token::RParen => {
                levels.pop();
            }
            _ => opens_sets = false,
        }
        written.push(token.clone());
        at += 1;
    }
    written
}

/// A parenthesis that is open.
#[derive(Default)]
struct Level {
    /// True within `ROLLUP`, `CUBE` and `GROUPING SETS`.
    has_parts: bool,
    /// The first token of a part, if it is a parenthesis; none at its beginning and in other parts.
    first: Option<usize>,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Begins,
    /// Behind the parenthesis that ends what the part's first one began.
    Closed,
    /// Behind anything else.
    Inside,
}

/// Writes parentheses around the parts that need them.
pub(super) fn with_whole_parts(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let begins_parts = |token: &TokenWithSpan| {
        ["rollup", "cube", "sets"]
            .iter()
            .any(|word| is_word(token, word))
            || matches!(&token.token, Token::Word(word) if word.value == NESTED_SETS)
    };
    if !tokens.iter().any(begins_parts) {
        return tokens;
    }
    let mut levels = vec![Level::default()];
    let (mut opens_parts, mut opened, mut closed) = (false, Vec::new(), Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        let has_parts = std::mem::replace(&mut opens_parts, begins_parts(token));
        let is_end = matches!(token.token, Token::RParen | Token::RBracket);
        if is_end && levels.len() > 1 {
            end_part(levels.pop(), at, &mut opened, &mut closed);
        }
        let Some(level) = levels.last_mut() else {
            continue;
        };
        match (&token.token, level.state) {
            (Token::Comma, _) => {
                let part = std::mem::take(level);
                level.has_parts = part.has_parts;
                end_part(Some(part), at, &mut opened, &mut closed);
            }
            (Token::LParen, State::Begins) => level.first = Some(at),
            (Token::RParen, State::Begins) => level.state = State::Closed,
            _ => level.state = State::Inside,
        }
        if matches!(token.token, Token::LParen | Token::LBracket) {
            levels.push(Level {
                has_parts,
                ..Level::default()
            });
        }
    }
    if opened.is_empty() {
        return tokens;
    }
    opened.sort_unstable();
    let (mut opened, mut closed) = (opened.into_iter().peekable(), closed.into_iter().peekable());
    let mut written = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.into_iter().enumerate() {
        let span = token.span;
        while opened.next_if_eq(&at).is_some() {
            written.push(TokenWithSpan::new(Token::LParen, span));
        }
        while closed.next_if_eq(&at).is_some() {
            written.push(TokenWithSpan::new(Token::RParen, span));
        }
        written.push(token);
    }
    written
}

/// Notes the parentheses of a part that ends before a token, if it needs some.
fn end_part(part: Option<Level>, at: usize, opened: &mut Vec<usize>, closed: &mut Vec<usize>) {
    if let Some(Level {
        has_parts: true,
        first: Some(first),
        state: State::Inside,
    }) = part
    {
        opened.push(first);
        closed.push(at);
    }
}
