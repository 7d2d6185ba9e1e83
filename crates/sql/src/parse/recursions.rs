//! `SEARCH` and `CYCLE` of recursive queries, which the parser does not know. They are written as one more name in the list
//! of the query's columns, which has a [mark](CLAUSES) and their words.
//!
//! Source: PostgreSQL 15, 7.8.2.1 "Search Order" and 7.8.2.2 "Cycle Detection".

use super::parse_expression;
use super::words::{is_one_of, is_word, text_of, written_parts};
use crate::error::SqlError;
use crate::names::{name_of, quoted};
use sqlparser::ast::{Cte, Expr, Ident};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};
use std::ops::Range;

/// The first character of the name that has the clauses. No column has such a name.
const CLAUSES: char = '\u{1}';
/// Behind each part of the clauses, and behind each name of a list.
const PART: char = '\u{2}';
const NAME: char = '\u{3}';

/// `SEARCH`: the column that orders the rows.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub is_depth: bool,
    pub by: Vec<String>,
    pub column: String,
}

/// `CYCLE`: the column that marks rows that have come before, and the one with the rows on the path.
#[derive(Clone, Debug)]
pub(crate) struct Cycle {
    pub of: Vec<String>,
    pub mark: String,
    /// The values of the mark: in a cycle, and outside. They are `true` and `false` without others.
    pub values: Option<Box<(Expr, Expr)>>,
    pub path: String,
}

/// The clauses of a recursive query.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clauses {
    pub search: Option<Search>,
    pub cycle: Option<Cycle>,
}

/// A reader of the tokens of a clause, without spaces.
struct Reader<'t> {
    tokens: &'t [(usize, &'t TokenWithSpan)],
    at: usize,
}

impl Reader<'_> {
    fn word(&mut self, known: &str) -> Option<()> {
        let (_, token) = self.tokens.get(self.at)?;
        is_word(token, known).then(|| self.at += 1)
    }

    fn name(&mut self) -> Option<String> {
        match &self.tokens.get(self.at)?.1.token {
            Token::Word(word) => {
                self.at += 1;
                let name = word.clone().into_ident(self.tokens[self.at - 1].1.span);
                without_marks(name_of(&name))
            }
            _ => None,
        }
    }

    fn names(&mut self) -> Option<String> {
        let mut names = self.name()?;
        names.push(NAME);
        while self.tokens.get(self.at)?.1.token == Token::Comma {
            self.at += 1;
            names.push_str(&self.name()?);
            names.push(NAME);
        }
        Some(names)
    }

    /// The text of the tokens before a word.
    fn text(&mut self, end: &str) -> Option<String> {
        let mut text = String::new();
        while !is_word(self.tokens.get(self.at)?.1, end) {
            text.push_str(&text_of(&self.tokens[self.at].1.token));
            text.push(' ');
            self.at += 1;
        }
        without_marks(text)
    }

    /// `SEARCH …`, as its parts.
    fn search(&mut self) -> Option<[String; 3]> {
        self.word("search")?;
        let is_depth = self.word("depth").is_some();
        if !is_depth {
            self.word("breadth")?;
        }
        self.word("first")?;
        self.word("by")?;
        let by = self.names()?;
        self.word("set")?;
        let how = if is_depth { "depth" } else { "breadth" };
        Some([how.to_string(), by, self.name()?])
    }

    /// `CYCLE …`, as its parts.
    fn cycle(&mut self) -> Option<[String; 5]> {
        self.word("cycle")?;
        let of = self.names()?;
        self.word("set")?;
        let mark = self.name()?;
        let (mut value, mut otherwise) = (String::new(), String::new());
        if self.word("to").is_some() {
            value = self.text("default")?;
            self.word("default")?;
            otherwise = self.text("using")?;
        }
        self.word("using")?;
        Some([of, mark, value, otherwise, self.name()?])
    }
}

/// A name or a value; `None` for one that has the characters between the parts.
fn without_marks(text: String) -> Option<String> {
    let has_one = text.contains([CLAUSES, PART, NAME]);
    (!has_one).then_some(text)
}

/// Writes the clauses so. What is none is left as it is.
pub(super) fn with_recursions(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let words = ["search", "cycle"];
    if !tokens.iter().any(|token| is_one_of(token, &words)) {
        return tokens;
    }
    let seen = tokens.iter().enumerate();
    let seen = seen.filter(|(_, token)| !matches!(token.token, Token::Whitespace(_)));
    let seen: Vec<(usize, &TokenWithSpan)> = seen.collect();
    // The tokens to leave out, and those to put before another one.
    let mut dropped: Vec<Range<usize>> = Vec::new();
    let mut added: Vec<(usize, Vec<Token>)> = Vec::new();
    let mut at = 1;
    while at < seen.len() {
        let begins = is_one_of(seen[at].1, &words) && seen[at - 1].1.token == Token::RParen;
        match begins.then(|| clauses(&seen, at)).flatten() {
            Some((end, written)) => {
                if let Some(place) = place_of(&seen, at - 1, &written) {
                    added.push(place);
                    dropped.push(seen[at].0..seen[end - 1].0 + 1);
                }
                at = end;
            }
            None => at += 1,
        }
    }
    let mut written = Vec::with_capacity(tokens.len());
    for (at, token) in tokens.iter().enumerate() {
        for (_, more) in added.iter().filter(|(place, _)| *place == at) {
            let more = more.iter().cloned();
            written.extend(more.map(|more| TokenWithSpan::new(more, token.span)));
        }
        if !dropped.iter().any(|range| range.contains(&at)) {
            written.push(token.clone());
        }
    }
    written
}

/// The clauses that begin at a place: the place behind them, and their words as one name.
fn clauses(seen: &[(usize, &TokenWithSpan)], at: usize) -> Option<(usize, String)> {
    let mut reader = Reader { tokens: seen, at };
    let mut written = String::from(CLAUSES);
    let mut add = |parts: &[String]| {
        for part in parts {
            written.push_str(part);
            written.push(PART);
        }
    };
    match reader.search() {
        Some(search) => add(&search),
        None => {
            reader.at = at;
            add(&[const { String::new() }; 3]);
        }
    }
    let before = reader.at;
    match reader.cycle() {
        Some(cycle) => add(&cycle),
        None => reader.at = before,
    }
    (reader.at > at).then_some((reader.at, written))
}

/// The place in the list of columns of the query that ends at a place, and the tokens to put there.
fn place_of(
    seen: &[(usize, &TokenWithSpan)],
    close: usize,
    written: &str,
) -> Option<(usize, Vec<Token>)> {
    let name = Token::Word(Word {
        value: written.to_string(),
        quote_style: Some('"'),
        keyword: Keyword::NoKeyword,
    });
    let mut depth = 0_usize;
    let mut at = close;
    loop {
        match seen.get(at)?.1.token {
            Token::RParen => depth += 1,
            Token::LParen => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        at = at.checked_sub(1)?;
    }
    at = at.checked_sub(1)?;
    while is_one_of(seen.get(at)?.1, &["materialized", "not"]) {
        at = at.checked_sub(1)?;
    }
    is_word(seen.get(at)?.1, "as").then_some(())?;
    let before = seen.get(at.checked_sub(1)?)?;
    Some(match before.1.token {
        Token::RParen => (before.0, vec![Token::Comma, name]),
        _ => (
            seen.get(at)?.0,
            vec![
                Token::LParen,
                name,
                Token::RParen,
                // Words do not touch.
                Token::Whitespace(sqlparser::tokenizer::Whitespace::Space),
            ],
        ),
    })
}

/// The parts of the clauses' name, in their order.
struct Parts {
    how: String,
    by: Vec<String>,
    column: String,
    of: Vec<String>,
    mark: String,
    value: String,
    otherwise: String,
    path: String,
}

impl Parts {
    fn of(written: &str) -> Parts {
        let mut parts = written.trim_start_matches(CLAUSES).split(PART);
        let mut next = || parts.next().unwrap_or_default().to_string();
        let names = |text: String| -> Vec<String> {
            let names = text.split_terminator(NAME);
            names.map(String::from).collect()
        };
        Parts {
            how: next(),
            by: names(next()),
            column: next(),
            of: names(next()),
            mark: next(),
            value: next(),
            otherwise: next(),
            path: next(),
        }
    }

    /// The clauses as a person writes them, each behind a space.
    fn shown(&self) -> String {
        let list = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
            names.join(", ")
        };
        let mut shown = String::new();
        if !self.how.is_empty() {
            shown.push_str(&format!(
                " SEARCH {} FIRST BY {} SET {}",
                self.how.to_uppercase(),
                list(&self.by),
                quoted(&self.column)
            ));
        }
        if !self.mark.is_empty() {
            shown.push_str(&format!(
                " CYCLE {} SET {}",
                list(&self.of),
                quoted(&self.mark)
            ));
            if !self.value.is_empty() {
                let (value, otherwise) = (self.value.trim(), self.otherwise.trim());
                shown.push_str(&format!(" TO {value} DEFAULT {otherwise}"));
            }
            shown.push_str(&format!(" USING {}", quoted(&self.path)));
        }
        shown
    }
}

/// A kept text with the clauses behind their queries, and without their names among the columns.
pub(super) fn shown_recursions(text: String) -> String {
    if !text.contains(CLAUSES) {
        return text;
    }
    let Some(parts) = written_parts(&text) else {
        return text;
    };
    let mut written = String::with_capacity(text.len());
    // For each parenthesis that is open: the clauses behind it.
    let mut open: Vec<String> = Vec::new();
    let mut clauses = String::new();
    let mut is_alone = false;
    for (token, own) in &parts {
        match token {
            Token::Word(word) if word.value.starts_with(CLAUSES) && word.value.contains(PART) => {
                clauses = Parts::of(&word.value).shown();
                written.truncate(written.trim_end().len());
                // It is the last one of a list of columns, or the only one.
                is_alone = written.ends_with('(');
                written.pop();
                if is_alone {
                    written.truncate(written.trim_end().len());
                }
                continue;
            }
            Token::LParen => open.push(std::mem::take(&mut clauses)),
            Token::RParen => {
                let behind = open.pop().unwrap_or_default();
                if !std::mem::take(&mut is_alone) {
                    written.push_str(own);
                }
                written.push_str(&behind);
                continue;
            }
            _ => {}
        }
        written.push_str(own);
    }
    written
}

/// Takes the clauses out of the columns of a query of `WITH`, if it has some.
///
/// # Errors
/// Invalid values of a mark.
pub(crate) fn take_clauses(named: &mut Cte) -> Result<Option<Clauses>, SqlError> {
    let columns = &mut named.alias.columns;
    let is_it = |name: &Ident| name.value.starts_with(CLAUSES);
    let Some(at) = columns.iter().position(|column| is_it(&column.name)) else {
        return Ok(None);
    };
    let parts = Parts::of(&columns.remove(at).name.value);
    let search = (!parts.how.is_empty()).then(|| Search {
        is_depth: parts.how == "depth",
        by: parts.by,
        column: parts.column,
    });
    let values = match parts.value.is_empty() {
        true => None,
        false => Some(Box::new((
            parse_expression(&parts.value)?,
            parse_expression(&parts.otherwise)?,
        ))),
    };
    let cycle = (!parts.mark.is_empty()).then_some(Cycle {
        of: parts.of,
        mark: parts.mark,
        values,
        path: parts.path,
    });
    Ok(Some(Clauses { search, cycle }))
}
