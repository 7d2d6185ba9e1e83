//! Labels of columns without `AS`. The parser takes some words of PostgreSQL's grammar for labels that are none, and some labels
//! for clauses of other dialects. A lock of rows behind a list without `FROM` would be a label, too.
//!
//! Source: the labels `BARE_LABEL` and `AS_LABEL` of PostgreSQL's `kwlist.h`.

use super::words::{is_one_of, is_word};
use crate::error::SqlError;
use crate::names::is_of_column;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

/// Labels that the parser takes for clauses.
const TAKEN: [&str; 12] = [
    "analyze",
    "cluster",
    "distribute",
    "end",
    "exclude",
    "explain",
    "lateral",
    "minus",
    "sort",
    "top",
    "values",
    "view",
];
/// Words that need `AS`, and that the parser takes for labels without it.
const REFUSED: [&str; 22] = [
    "array",
    "char",
    "character",
    "create",
    "day",
    "filter",
    "for",
    "grant",
    "hour",
    "minute",
    "month",
    "on",
    "over",
    "overlaps",
    "precision",
    "second",
    "to",
    "varying",
    "window",
    "within",
    "without",
    "year",
];
/// Clauses behind the list of a query.
const CLAUSES: [&str; 12] = [
    "except",
    "fetch",
    "from",
    "group",
    "having",
    "intersect",
    "limit",
    "offset",
    "order",
    "union",
    "where",
    "window",
];

/// A word behind an operand in the list of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Label,
    NoLabel,
    /// `FOR UPDATE` and its brothers.
    Lock,
}

/// A part of a text between parentheses.
#[derive(Clone, Copy, Default)]
struct Level {
    is_list: bool,
    /// The number of `CASE` without their `END`.
    cases: usize,
    /// No operand: what `DISTINCT ON` compares, or the name of an `OPERATOR`.
    is_aside: bool,
}

/// Writes labels as names in quotes, and `WHERE true` before a lock without `FROM`.
pub(super) fn with_labels(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let may_have = |token: &TokenWithSpan| is_one_of(token, &TAKEN) || is_word(token, "for");
    if !tokens.iter().any(may_have) {
        return tokens;
    }
    let found = found(&tokens);
    let mut written = Vec::with_capacity(tokens.len() + 2 * found.len());
    let mut found = found.into_iter().peekable();
    for (at, mut token) in tokens.into_iter().enumerate() {
        match found.next_if(|(place, _)| *place == at) {
            Some((_, Found::Label)) => {
                if let Token::Word(word) = &mut token.token {
                    word.value = word.value.to_lowercase();
                    word.quote_style = Some('"');
                    word.keyword = Keyword::NoKeyword;
                }
            }
            Some((_, Found::Lock)) => {
                let words = ["WHERE", "TRUE"].map(Token::make_keyword);
                written.extend(words.map(|word| TokenWithSpan::new(word, token.span)));
            }
            Some((_, Found::NoLabel)) | None => {}
        }
        written.push(token);
    }
    written
}

/// Refuses words that are no labels.
///
/// # Errors
/// `42601`, and its place.
pub(super) fn check_labels(tokens: &[TokenWithSpan]) -> Result<(), (SqlError, Location)> {
    if !tokens.iter().any(|token| is_one_of(token, &REFUSED)) {
        return Ok(());
    }
    let refused = found(tokens).into_iter();
    let refused = refused.filter(|(_, found)| *found == Found::NoLabel);
    match refused.map(|(at, _)| &tokens[at]).next() {
        Some(token) => {
            let text = format!("syntax error at or near \"{}\"", token.token);
            Err((SqlError::syntax(text), token.span.start))
        }
        None => Ok(()),
    }
}

fn found(tokens: &[TokenWithSpan]) -> Vec<(usize, Found)> {
    let is_said = |token: &TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let said: Vec<usize> = (0..tokens.len())
        .filter(|at| is_said(&tokens[*at]))
        .collect();
    let mut levels = vec![Level::default()];
    let mut found = Vec::new();
    let mut is_behind_aside = false;
    for (place, &at) in said.iter().enumerate() {
        let token = &tokens[at];
        let before = place.checked_sub(1).map(|place| &tokens[said[place]]);
        let next = said.get(place + 1).map(|at| &tokens[*at]);
        let is_at = |back: usize, word: &str| {
            let place = place.checked_sub(back);
            place.is_some_and(|place| is_word(&tokens[said[place]], word))
        };
        // A window's name is behind `OVER`, and an operand behind `AT TIME ZONE`.
        let is_behind_words =
            is_at(1, "over") || is_at(1, "zone") && is_at(2, "time") && is_at(3, "at");
        let ends_before = before.is_some_and(ends_operand) && !is_behind_aside && !is_behind_words;
        is_behind_aside = false;
        match token.token {
            Token::LParen | Token::LBracket => levels.push(Level {
                is_aside: is_at(1, "operator") || is_at(1, "on") && is_at(2, "distinct"),
                ..Level::default()
            }),
            Token::RParen | Token::RBracket if levels.len() > 1 => {
                is_behind_aside = levels.pop().is_some_and(|level| level.is_aside);
            }
            Token::SemiColon => levels = vec![Level::default()],
            _ => {}
        }
        let Some(level) = levels.last_mut() else {
            continue;
        };
        let ends_case = is_word(token, "end") && level.cases > 0;
        if level.is_list
            && !ends_case
            && ends_before
            && let Some(kind) = kind_of(before, token, next)
        {
            found.push((at, kind));
        } else if is_word(token, "select") {
            level.is_list = true;
        } else if is_word(token, "case") {
            level.cases += 1;
        } else if ends_case {
            level.cases -= 1;
        } else if is_one_of(token, &CLAUSES) {
            level.is_list = false;
        }
    }
    found
}

/// The kind of a word behind an operand.
fn kind_of(
    before: Option<&TokenWithSpan>,
    token: &TokenWithSpan,
    next: Option<&TokenWithSpan>,
) -> Option<Found> {
    let begins_lock = |next| is_one_of(next, &["update", "share", "no", "key"]);
    if is_word(token, "for") && next.is_some_and(begins_lock) {
        return Some(Found::Lock);
    }
    let is_end = |next: &TokenWithSpan| {
        let ends = [Token::Comma, Token::RParen, Token::SemiColon, Token::EOF];
        // `WITHIN GROUP` belongs to the aggregate before it.
        let is_clause = is_one_of(next, &CLAUSES) && !is_word(token, "within");
        ends.contains(&next.token) || is_clause || is_word(next, "from")
    };
    if !next.is_none_or(is_end) {
        return None;
    }
    // The word belongs to a type, or to an interval.
    let is_behind = |words: &[&str]| before.is_some_and(|before| is_one_of(before, words));
    let is_part = is_word(token, "precision") && is_behind(&["double"])
        || is_word(token, "varying") && is_behind(&["bit", "char", "character", "nchar"])
        || is_one_of(token, &["char", "character"]) && is_behind(&["national"])
        || before.is_some_and(|before| {
            let is_text = matches!(before.token, Token::SingleQuotedString(_));
            is_text || is_word(before, "interval")
        }) && is_one_of(token, &["day", "hour", "minute", "month", "second", "year"]);
    match is_one_of(token, &TAKEN) {
        true => Some(Found::Label),
        false => (is_one_of(token, &REFUSED) && !is_part).then_some(Found::NoLabel),
    }
}

/// True if an operand may end with a token.
fn ends_operand(token: &TokenWithSpan) -> bool {
    let values = [
        "true",
        "false",
        "null",
        "end",
        "current_date",
        "current_timestamp",
        "current_user",
    ];
    match &token.token {
        Token::Word(word) if word.quote_style.is_none() => {
            let word = word.value.to_lowercase();
            values.contains(&word.as_str()) || is_of_column(&word)
        }
        Token::Word(_) | Token::Number(..) | Token::Placeholder(_) => true,
        Token::SingleQuotedString(_) | Token::EscapedStringLiteral(_) => true,
        Token::DollarQuotedString(_) | Token::RParen | Token::RBracket => true,
        _ => false,
    }
}
