//! Names with their schemas in texts of the catalogue, if the session's path has not the schema `public`: the database keeps names of
//! `public` without a schema. `pg_dump` sets an empty path, and PostgreSQL shows each name so that the session finds it.
//!
//! The words of a text are looked up by their places in it: a type behind `::`, a function before a parenthesis, a relation behind
//! `FROM`, `JOIN` or `REFERENCES`, a name in a text that is cast to `regclass` or given to `nextval`.

use super::definition::Answer;
use super::{hstores, named, trigrams};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::lexer::written_tokens;
use crate::names::quoted;
use crate::path::{PUBLIC, split};
use crate::routines;
use crate::schemas::is_there;
use crate::source::Source;
use crate::types::SqlType;
use crate::user_types::UserTypes;
use sardonyx::schema::Value;
use sqlparser::tokenizer::{Token, Whitespace, Word};
use std::collections::BTreeSet;

/// Operator classes of extensions, which are in `public`.
const OPERATOR_CLASSES: [&str; 4] = [
    "gin_hstore_ops",
    "gin_trgm_ops",
    "gist_hstore_ops",
    "gist_trgm_ops",
];

/// A text of the catalogue, as the session can read it.
pub(super) fn whole(answer: Value, with: &Environment<'_>) -> Answer {
    shown(answer, with, false)
}

/// The same of parameters and results of functions, in which types follow names.
pub(super) fn whole_types(answer: Value, with: &Environment<'_>) -> Answer {
    shown(answer, with, true)
}

fn shown(answer: Value, with: &Environment<'_>, declares: bool) -> Answer {
    let (Value::Text(text), Some(reading)) = (&answer, with.reading) else {
        return Ok(answer);
    };
    if finds_public(with)? {
        return Ok(answer);
    }
    let whole = with_schemas(text, reading.source, declares)?;
    Ok(whole.map_or(answer, Value::Text))
}

/// True if names of `public` are found without their schema.
pub(super) fn finds_public(with: &Environment<'_>) -> Result<bool, SqlError> {
    let settings = with.context.settings.borrow();
    let Some(reading) = with.reading else {
        return Ok(true);
    };
    let path = settings.path().all(reading.source, false)?;
    Ok(path.iter().any(|schema| schema == PUBLIC))
}

/// The names of `public` that a text may have.
struct Known<'a> {
    source: &'a dyn Source,
    types: BTreeSet<String>,
    routines: BTreeSet<String>,
    /// Queries of `WITH` in the text.
    queries: BTreeSet<String>,
}

fn known<'a>(source: &'a dyn Source, tokens: &[&Token]) -> Result<Known<'a>, SqlError> {
    let mut types = BTreeSet::new();
    for name in UserTypes::of(source)?.types.keys() {
        let (schema, name) = split(name);
        if schema == PUBLIC {
            types.insert(name.to_string());
        }
    }
    let all = routines::all(source)?.into_iter();
    let own = all.filter(|one| one.schema == PUBLIC && named(&one.name).is_empty());
    let mut routines: BTreeSet<String> = own.map(|one| one.name).collect();
    types.insert(SqlType::Hstore.name().to_string());
    let of_extensions = hstores::TABLE.iter().chain(trigrams::TABLE);
    routines.extend(of_extensions.map(|one| one.name.to_string()));
    routines.insert("uuid_generate_v4".to_string());
    let with = tokens.windows(3).filter_map(|three| match three {
        [Token::Word(name), Token::Word(word), Token::LParen]
            if word.value.eq_ignore_ascii_case("as") =>
        {
            Some(folded(name))
        }
        _ => None,
    });
    Ok(Known {
        source,
        types,
        routines,
        queries: with.collect(),
    })
}

fn folded(word: &Word) -> String {
    match word.quote_style {
        Some(_) => word.value.clone(),
        None => word.value.to_lowercase(),
    }
}

/// True for a function that takes the name of a sequence.
fn is_sequence_call(token: &Token) -> bool {
    let names = ["nextval", "currval", "setval"];
    matches!(token, Token::Word(word) if names.contains(&folded(word).as_str()))
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_))
}

/// The text with schemas; `None` if it needs none, or is not SQL.
fn with_schemas(
    text: &str,
    source: &dyn Source,
    declares: bool,
) -> Result<Option<String>, SqlError> {
    let Ok(tokens) = written_tokens(text) else {
        return Ok(None);
    };
    let tokens: Vec<&Token> = tokens.iter().map(|token| &token.token).collect();
    let mut places: Vec<usize> = (0..tokens.len()).collect();
    places.retain(|at| !is_blank(tokens[*at]));
    let dense: Vec<&Token> = places.iter().map(|at| tokens[*at]).collect();
    let known = known(source, &dense)?;
    let mut found: BTreeSet<usize> = BTreeSet::new();
    let mut lists = Vec::new();
    let mut is_list = false;
    for (at, token) in dense.iter().enumerate() {
        match token {
            Token::LParen => lists.push(std::mem::replace(&mut is_list, false)),
            Token::RParen => is_list = lists.pop().unwrap_or(false),
            Token::Word(word) if word.quote_style.is_none() => match folded(word).as_str() {
                "from" => is_list = true,
                "where" | "group" | "having" | "order" | "limit" | "offset" | "window"
                | "union" | "intersect" | "except" | "select" | "on" | "using" | "for"
                | "fetch" => {
                    is_list = false;
                }
                _ => {}
            },
            _ => {}
        }
        if known.needs_schema(&dense, at, is_list)? || declares && known.is_type(&dense, at) {
            found.insert(places[at]);
        }
    }
    if found.is_empty() {
        return Ok(None);
    }
    let mut whole = String::with_capacity(text.len() + found.len() * 8);
    for (at, token) in tokens.iter().enumerate() {
        match (found.contains(&at), token) {
            (true, Token::SingleQuotedString(name)) => {
                whole.push_str(&format!("'{PUBLIC}.{name}'"));
            }
            (true, token) => whole.push_str(&format!("{}.{token}", quoted(PUBLIC))),
            (false, Token::Whitespace(Whitespace::Newline)) => whole.push('\n'),
            (false, token) => whole.push_str(&token.to_string()),
        }
    }
    Ok(Some(whole))
}

impl Known<'_> {
    /// True if the word at a place means an object of `public`.
    fn needs_schema(&self, tokens: &[&Token], at: usize, is_list: bool) -> Result<bool, SqlError> {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let next = tokens.get(at + 1);
        if let Token::SingleQuotedString(name) = tokens[at] {
            let is_table = matches!(next, Some(Token::DoubleColon))
                && matches!(tokens.get(at + 2), Some(Token::Word(kind)) if kind.value == "regclass");
            let is_drawn = matches!(before, Some(Token::LParen))
                && at
                    .checked_sub(2)
                    .is_some_and(|at| is_sequence_call(tokens[at]));
            return Ok((is_table || is_drawn) && !name.contains('.') && self.is_relation(name)?);
        }
        let Token::Word(word) = tokens[at] else {
            return Ok(false);
        };
        if matches!(before, Some(Token::Period)) || matches!(next, Some(Token::Period)) {
            return Ok(false);
        }
        let name = folded(word);
        if OPERATOR_CLASSES.contains(&name.as_str()) {
            return Ok(true);
        }
        match before {
            Some(Token::DoubleColon) => return Ok(self.types.contains(&name)),
            Some(Token::Word(before)) if before.quote_style.is_none() => {
                let before = folded(before);
                if ["from", "join", "references", "only"].contains(&before.as_str())
                    && !matches!(next, Some(Token::LParen) if before != "references")
                {
                    return self.is_relation(&name);
                }
                if before == "as" && self.types.contains(&name) {
                    return Ok(matches!(next, Some(Token::RParen)));
                }
            }
            Some(Token::Comma) if is_list && !matches!(next, Some(Token::LParen)) => {
                return self.is_relation(&name);
            }
            _ => {}
        }
        Ok(matches!(next, Some(Token::LParen)) && self.routines.contains(&name))
    }

    /// True if a word at a place is a type of `public` at the end of a declaration.
    fn is_type(&self, tokens: &[&Token], at: usize) -> bool {
        let is_last = match tokens.get(at + 1) {
            None | Some(Token::Comma | Token::RParen | Token::LBracket) => true,
            Some(Token::Word(word)) => word.value.eq_ignore_ascii_case("default"),
            Some(_) => false,
        };
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let is_plain = !matches!(before, Some(Token::Period | Token::DoubleColon));
        match tokens[at] {
            Token::Word(word) if is_last && is_plain => {
                let name = folded(word);
                self.types.contains(&name)
                    || matches!(before, Some(Token::Word(word)) if word.value == "SETOF")
                        && is_there(self.source, &name).unwrap_or(false)
            }
            _ => false,
        }
    }

    fn is_relation(&self, name: &str) -> Result<bool, SqlError> {
        let name = name.trim_matches('"');
        Ok(!self.queries.contains(name) && is_there(self.source, name)?)
    }
}
