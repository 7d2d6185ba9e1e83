//! Names that begin with the name of the database: `bank.public.t`, `bank.public.t.c`.
//!
//! A session sees the database under the name by which it connected, and nothing that is kept in the database may
//! depend on that. So the name is taken out of a text before it is read: blanks replace it, and all places stay.
//!
//! A name of four parts has the database first. One of three may have a schema of the same name there instead, as in
//! `schema.table.column`: a column of another table would be meant without it. So the database is taken out of one of three
//! only where no schema has its name, or where the second part is a schema.

use super::words::{is_word, plain_tokens};
use crate::error::SqlError;
use crate::path::{OF_CATALOGUE, PUBLIC, TEMPORARY};
use crate::position::Lines;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

/// A text without the name of the database before other names. `schemas` are those of the database, without the usual
/// ones; it is called at most once, and only if the text depends on them.
/// A text that cannot be read stays as it is.
///
/// # Errors
/// The errors of `schemas`.
pub(crate) fn without_database<'t>(
    text: &'t str,
    database: &str,
    schemas: impl FnOnce() -> Result<BTreeSet<String>, SqlError>,
) -> Result<Cow<'t, str>, SqlError> {
    if !may_name(text, database) {
        return Ok(Cow::Borrowed(text));
    }
    // An error of reading is found again, with its place, when the text is parsed.
    let Some(tokens) = plain_tokens(text) else {
        return Ok(Cow::Borrowed(text));
    };
    let mut found = named(&Lines::of(text), &tokens, database);
    if found.iter().any(|name| name.asks.is_some()) {
        let schemas = schemas()?;
        let is_schema = schemas.contains(database);
        let is_kept = |name: &str| is_schema && !schemas.contains(name);
        found.retain(|name| !name.asks.as_deref().is_some_and(is_kept));
    }
    if found.is_empty() {
        return Ok(Cow::Borrowed(text));
    }
    let mut blanks = found.into_iter().map(|name| name.place).peekable();
    let characters = text.chars().enumerate().map(|(at, character)| {
        while blanks.next_if(|blank| blank.end <= at).is_some() {}
        match blanks.peek().is_some_and(|blank| blank.contains(&at)) {
            true if character != '\n' => ' ',
            _ => character,
        }
    });
    Ok(Cow::Owned(characters.collect()))
}

/// A name of the database before other names.
struct Named {
    /// Its characters with its point.
    place: Range<usize>,
    /// The part behind it, if it decides: the name is the database's only if that part is a schema.
    asks: Option<String>,
}

/// True if the database's name is in front of a point somewhere in a text, so that the text has to be looked at.
fn may_name(text: &str, database: &str) -> bool {
    text.match_indices('.').any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default().trim_end();
        let before = before.strip_suffix('"').unwrap_or(before);
        let start = before.len().checked_sub(database.len());
        let name = start.and_then(|start| before.get(start..));
        name.is_some_and(|name| name.to_lowercase() == database.to_lowercase())
    })
}

/// A chain of words with points between them, and the two words before it.
#[derive(Default)]
struct Chain<'t> {
    parts: Vec<(&'t TokenWithSpan, Option<&'t TokenWithSpan>)>,
    before: [Option<&'t TokenWithSpan>; 2],
}

/// The database's names, in their order.
fn named(lines: &Lines, tokens: &[TokenWithSpan], database: &str) -> Vec<Named> {
    let mut found = Vec::new();
    let mut chain = Chain::default();
    let mut before = [None; 2];
    let end = TokenWithSpan::wrap(Token::EOF);
    for token in tokens.iter().chain([&end]) {
        match &token.token {
            Token::Whitespace(_) => continue,
            Token::Period => match chain.parts.last_mut() {
                Some((_, point @ None)) => *point = Some(token),
                _ => chain.parts.clear(),
            },
            other => {
                let goes_on = chain.parts.last().is_some_and(|(_, point)| point.is_some());
                let is_word = matches!(other, Token::Word(_));
                if goes_on && (is_word || matches!(other, Token::Mul)) {
                    chain.parts.push((token, None));
                } else {
                    found.extend(chain.named(lines, database));
                    chain.parts.clear();
                    chain.before = before;
                    if is_word {
                        chain.parts.push((token, None));
                    }
                }
            }
        }
        before = [before[1], Some(token)];
    }
    found
}

impl Chain<'_> {
    /// The first word of a name of three or four parts, if the word is the database's name.
    fn named(&self, lines: &Lines, database: &str) -> Option<Named> {
        let (first, point) = self.parts.first()?;
        let is_of_database = match &first.token {
            Token::Word(word) => match word.quote_style {
                Some(_) => word.value == database,
                None => word.value.to_lowercase() == database,
            },
            _ => false,
        };
        let asks = match self.parts.as_slice() {
            _ if !is_of_database => return None,
            [_, _, _, _] => None,
            [_, (second, _), (last, _)] if !self.is_of_column(last) => match &second.token {
                Token::Word(word) => asked(match word.quote_style {
                    Some(_) => word.value.clone(),
                    None => word.value.to_lowercase(),
                }),
                _ => None,
            },
            _ => return None,
        };
        let place = lines.before(first.span.start)?..lines.before((*point)?.span.end)?;
        Some(Named { place, asks })
    }

    /// True for the places of a name of three parts in which it is a column's, or all columns of a table.
    fn is_of_column(&self, last: &TokenWithSpan) -> bool {
        let is = |token: Option<&TokenWithSpan>, word| token.is_some_and(|of| is_word(of, word));
        let [second, first] = self.before;
        last.token == Token::Mul || is(first, "column") || is(first, "by") && is(second, "owned")
    }
}

/// A part behind the database's name that has to be a schema, unless it is one of every database.
fn asked(name: String) -> Option<String> {
    let is_usual = name == PUBLIC || name == TEMPORARY || OF_CATALOGUE.contains(&&*name);
    (!is_usual).then_some(name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    /// A text without a database's name, in which there are these schemas.
    fn without(text: &str, database: &str, schemas: &[&str]) -> String {
        let schemas: BTreeSet<_> = schemas.iter().map(ToString::to_string).collect();
        let without = super::without_database(text, database, || Ok(schemas));
        without.expect("the schemas are given").into_owned()
    }

    #[test]
    fn only_the_first_of_three_or_four_parts_is_the_database() {
        for (text, expected) in [
            (
                "select bank.public.t.a from bank.public.t",
                "select      public.t.a from      public.t",
            ),
            ("select bank.t, bank.t.*", "select bank.t, bank.t.*"),
            ("table \"bank\" . public\n.t", "table          public\n.t"),
            ("table BANK.public.t", "table      public.t"),
            ("table \"BANK\".public.t", "table \"BANK\".public.t"),
            ("select x.bank.public.t", "select x.bank.public.t"),
            (
                "select 'bank.public.t', 1.5, bank.a",
                "select 'bank.public.t', 1.5, bank.a",
            ),
            ("select bank.a.b.c.d", "select bank.a.b.c.d"),
            (
                "select 'ä', bank.public.ä(1)",
                "select 'ä',      public.ä(1)",
            ),
            (
                "select bank.public.t.* from t",
                "select      public.t.* from t",
            ),
            ("select 'bank.", "select 'bank."),
        ] {
            assert_eq!(without(text, "bank", &[]), expected);
        }
    }

    #[test]
    fn a_schema_of_the_databases_name_stays_before_its_tables() {
        for (text, expected) in [
            (
                "select bank.t.a from bank.t, public.t",
                "select bank.t.a from bank.t, public.t",
            ),
            (
                "select bank.bank.t.a from bank.bank.t, bank.app.t, bank.public.t, Bank.App.t",
                "select      bank.t.a from      bank.t,      app.t,      public.t,      App.t",
            ),
            (
                "comment on column bank.bank.a is 'x'",
                "comment on column bank.bank.a is 'x'",
            ),
            (
                "alter sequence bank.s owned by bank.bank.a",
                "alter sequence bank.s owned by bank.bank.a",
            ),
        ] {
            assert_eq!(without(text, "bank", &["app", "bank"]), expected);
        }
        let text = "comment on column bank.t.a is 'x'";
        assert_eq!(without(text, "bank", &[]), text);
    }

    /// A search from each name to the beginning or the end would take hours here.
    #[test]
    fn a_text_of_many_names_is_read_in_linear_time() {
        for (many, expected) in [("bank.a.b, ", "     a.b, "), ("bank.a.b\n", "     a.b\n")] {
            let text = many.repeat(80_000);
            assert_eq!(without(&text, "bank", &[]), expected.repeat(80_000));
        }
    }
}
