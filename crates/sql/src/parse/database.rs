//! Names that begin with the name of the database: `bank.public.t`, `bank.public.t.c`.
//!
//! A session sees the database under the name by which it connected, and nothing that is kept in the database may
//! depend on that. So the name is taken out of a text before it is read: blanks replace it, and all places stay.
//!
//! A name of four parts has the database first. One of three has it as well, unless it is a column of a table in a schema
//! of the same name (`schema.table.column`); without its schema, it means the same column.

use super::words::plain_tokens;
use crate::position::Lines;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::borrow::Cow;
use std::ops::Range;

/// A text without the name of the database before other names.
/// A text that cannot be read stays as it is.
pub(crate) fn without_database<'t>(text: &'t str, database: &str) -> Cow<'t, str> {
    if !may_name(text, database) {
        return Cow::Borrowed(text);
    }
    // An error of reading is found again, with its place, when the text is parsed.
    let Some(tokens) = plain_tokens(text) else {
        return Cow::Borrowed(text);
    };
    let blanks = named(&Lines::of(text), &tokens, database);
    if blanks.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut blanks = blanks.into_iter().peekable();
    let characters = text.chars().enumerate().map(|(at, character)| {
        while blanks.next_if(|blank| blank.end <= at).is_some() {}
        match blanks.peek().is_some_and(|blank| blank.contains(&at)) {
            true if character != '\n' => ' ',
            _ => character,
        }
    });
    Cow::Owned(characters.collect())
}

/// True if the database's name is in front of a point somewhere in a text, so that the text has to be looked at.
fn may_name(text: &str, database: &str) -> bool {
    let mut before = text.match_indices('.').map(|(at, _)| text[..at].trim_end());
    before.any(|before| {
        let before = before.strip_suffix('"').unwrap_or(before);
        let start = before.len().checked_sub(database.len());
        let name = start.and_then(|start| before.get(start..));
        name.is_some_and(|name| name.to_lowercase() == database.to_lowercase())
    })
}

/// The ranges of characters of the database's names, each with its point, in their order.
fn named(lines: &Lines, tokens: &[TokenWithSpan], database: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // The present chain of words with points between them.
    let mut chain: Vec<(&TokenWithSpan, Option<&TokenWithSpan>)> = Vec::new();
    let end = TokenWithSpan::wrap(Token::EOF);
    for token in tokens.iter().chain([&end]) {
        match &token.token {
            Token::Whitespace(_) => {}
            Token::Period => match chain.last_mut() {
                Some((_, point @ None)) => *point = Some(token),
                _ => chain.clear(),
            },
            other => {
                let goes_on = chain.last().is_some_and(|(_, point)| point.is_some());
                let is_word = matches!(other, Token::Word(_));
                if goes_on && (is_word || matches!(other, Token::Mul)) {
                    chain.push((token, None));
                    continue;
                }
                found.extend(range_of(lines, &chain, database));
                chain.clear();
                if is_word {
                    chain.push((token, None));
                }
            }
        }
    }
    found
}

/// The range of the first word of a name of three or four parts with its point, if the word is the database's name.
fn range_of(
    lines: &Lines,
    chain: &[(&TokenWithSpan, Option<&TokenWithSpan>)],
    database: &str,
) -> Option<Range<usize>> {
    let (first, point) = chain.first()?;
    let is_of_database = match &first.token {
        Token::Word(word) => match word.quote_style {
            Some(_) => word.value == database,
            None => word.value.to_lowercase() == database,
        },
        _ => false,
    };
    match is_of_database && matches!(chain.len(), 3 | 4) {
        true => Some(lines.before(first.span.start)?..lines.before((*point)?.span.end)?),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::without_database;

    #[test]
    fn only_the_first_of_three_or_four_parts_is_the_database() {
        for (text, without) in [
            (
                "select bank.public.t.a from bank.public.t",
                "select      public.t.a from      public.t",
            ),
            ("select bank.t, bank.t.*", "select bank.t,      t.*"),
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
            assert_eq!(without_database(text, "bank"), without);
        }
    }

    /// A search from each name to the beginning or the end would take hours here.
    #[test]
    fn a_text_of_many_names_is_read_in_linear_time() {
        for (many, without) in [("bank.a.b, ", "     a.b, "), ("bank.a.b\n", "     a.b\n")] {
            let text = many.repeat(200_000);
            assert_eq!(without_database(&text, "bank"), without.repeat(200_000));
        }
    }
}
