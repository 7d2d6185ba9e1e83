//! Functions of regular expressions. Matches are found and counted as PostgreSQL does it, also those of no length.
//!
//! Source: `replace_text_regexp` in PostgreSQL's `varlena.c`, `setup_regexp_matches` in `regexp.c`.

use super::definition::*;
use super::texts::check_length;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::expression::patterns::{Found, Options, Part, Searcher};
use crate::values::arrays::written;
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    regexp_count(TEXT, TEXT) -> INT4, count, "number of matches of a regular expression";
    regexp_count(TEXT, TEXT, INT4) -> INT4, count, "the same, from a character on";
    regexp_count(TEXT, TEXT, INT4, TEXT) -> INT4, count, "the same, of a regular expression with options";
    regexp_instr(TEXT, TEXT) -> INT4, place, "the character at which the first match begins, from 1; 0 without one";
    regexp_instr(TEXT, TEXT, INT4) -> INT4, place, "the same, searched from a character on";
    regexp_instr(TEXT, TEXT, INT4, INT4) -> INT4, place, "the same, of a match by its number";
    regexp_instr(TEXT, TEXT, INT4, INT4, INT4) -> INT4, place, "the same; 1 asks for the character behind the match";
    regexp_instr(TEXT, TEXT, INT4, INT4, INT4, TEXT) -> INT4, place, "the same, of a regular expression with options";
    regexp_instr(TEXT, TEXT, INT4, INT4, INT4, TEXT, INT4) -> INT4, place, "the same, of a group by its number";
    regexp_like(TEXT, TEXT) -> BOOL, like, "true if a regular expression matches a part";
    regexp_like(TEXT, TEXT, TEXT) -> BOOL, like, "true if a regular expression with options matches a part";
    regexp_match(TEXT, TEXT) -> TEXTS, first, "groups of the first match, or all of it if there are none; null without a match";
    regexp_match(TEXT, TEXT, TEXT) -> TEXTS, first, "the same, of a regular expression with options";
    regexp_matches(TEXT, TEXT) -> TEXTS, all, "a row of the groups of the first match", rows;
    regexp_matches(TEXT, TEXT, TEXT) -> TEXTS, all, "rows of the groups of the first match, or with `g` of all", rows;
    regexp_replace(TEXT, TEXT, TEXT, INT4) -> TEXT, |a, with| replaced_from(a, with, Some(1)), "the same, from a character on";
    regexp_replace(TEXT, TEXT, TEXT, INT4, INT4) -> TEXT, |a, with| replaced_from(a, with, None), "the same, of a match by its number, or with 0 of all";
    regexp_replace(TEXT, TEXT, TEXT, INT4, INT4, TEXT) -> TEXT, |a, with| replaced_from(a, with, None), "the same, of a regular expression with options";
    regexp_replace(TEXT, TEXT, TEXT) -> TEXT, replaced, "with the third text in the place of the first match";
    regexp_replace(TEXT, TEXT, TEXT, TEXT) -> TEXT, replaced, "the same, of a regular expression with options; `g` replaces all";
    regexp_split_to_array(TEXT, TEXT) -> TEXTS, |a, with| split(a, with, "regexp_split_to_array"), "parts between the matches";
    regexp_split_to_array(TEXT, TEXT, TEXT) -> TEXTS, |a, with| split(a, with, "regexp_split_to_array"), "the same, of a regular expression with options";
    regexp_split_to_table(TEXT, TEXT) -> TEXT, |a, with| split(a, with, "regexp_split_to_table"), "rows of the parts between the matches", rows;
    regexp_split_to_table(TEXT, TEXT, TEXT) -> TEXT, |a, with| split(a, with, "regexp_split_to_table"), "the same, of a regular expression with options", rows;
    regexp_substr(TEXT, TEXT) -> TEXT, substring, "the first match";
    regexp_substr(TEXT, TEXT, INT4) -> TEXT, substring, "the same, searched from a character on";
    regexp_substr(TEXT, TEXT, INT4, INT4) -> TEXT, substring, "the same, of a match by its number";
    regexp_substr(TEXT, TEXT, INT4, INT4, TEXT) -> TEXT, substring, "the same, of a regular expression with options";
    regexp_substr(TEXT, TEXT, INT4, INT4, TEXT, INT4) -> TEXT, substring, "the same, of a group by its number";
    substring(TEXT, TEXT) -> TEXT, |a, with| first_group(searcher(a, Options::default(), with)?, a.text(0)), "the first match of a regular expression, or its first group";
};

/// The pattern, compiled with the options behind it.
fn searcher(
    a: Arguments<'_>,
    options: Options,
    with: &Environment<'_>,
) -> Result<Searcher, SqlError> {
    with.context.patterns.searcher(a.text(1), options)
}

/// The options at a place, for a function that finds one match or all by itself.
fn options(a: Arguments<'_>, at: usize, function: &str) -> Result<Options, SqlError> {
    let (options, is_global) = Options::read(a.text(at))?;
    match is_global {
        false => Ok(options),
        true => Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            format!("{function}() does not support the \"global\" option"),
        )),
    }
}

fn like(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let options = options(a, 2, "regexp_like")?;
    let regex = with.context.patterns.compiled(a.text(1), options)?;
    Ok(Value::Bool(regex.is_match(a.text(0))))
}

/// The first match of a pattern, or its first group if it has groups.
pub(super) fn first_group(regex: Searcher, text: &str) -> Answer {
    let found = regex.captures(text);
    let group = found.and_then(|found| found.get(usize::from(found.len() > 1)));
    Ok(group.map_or(Value::Null, |group| group.as_str().into()))
}

/// The error of an argument with an invalid value.
fn wrong_value(name: &str, value: i64) -> SqlError {
    SqlError::new(
        code::INVALID_PARAMETER_VALUE,
        format!("invalid value for parameter \"{name}\": {value}"),
    )
}

/// The place in the text of the character, from 1, at which the search begins.
fn search_from(a: Arguments<'_>, at: usize) -> Result<usize, SqlError> {
    let start = a.given_int(at).unwrap_or(1);
    if start <= 0 {
        return Err(wrong_value("start", start));
    }
    let skipped = usize::try_from(start - 1).unwrap_or(usize::MAX);
    let mut places = a.text(0).char_indices().map(|(place, _)| place);
    let length = a.text(0).chars().count();
    Ok(match skipped.cmp(&length) {
        std::cmp::Ordering::Less => places.nth(skipped).unwrap_or(0),
        std::cmp::Ordering::Equal => a.text(0).len(),
        // There is no match behind the end, not even an empty one.
        std::cmp::Ordering::Greater => a.text(0).len() + 1,
    })
}

/// The group of a match. The arguments are the text, the pattern, the first character of the search and the number of
/// the match. Options at a place and the number of the group follow.
fn found<'v>(
    a: Arguments<'v>,
    with: &Environment<'_>,
    options_at: usize,
    function: &str,
) -> Result<Option<Part<'v>>, SqlError> {
    let from = search_from(a, 2)?;
    let number = a.given_int(3).unwrap_or(1);
    if number <= 0 {
        return Err(wrong_value("n", number));
    }
    let group = a.given_int(options_at + 1).unwrap_or(0);
    if group < 0 {
        return Err(wrong_value("subexpr", group));
    }
    let regex = searcher(a, options(a, options_at, function)?, with)?;
    let mut matches = Matches::from(&regex, a.text(0), from);
    for _ in 1..number {
        with.context.look_at_row()?;
        if matches.next().is_none() {
            return Ok(None);
        }
    }
    let found = matches.next();
    Ok(found.and_then(|found| match group {
        // A pattern without groups has all of the match as its first one.
        1 if found.len() == 1 => found.get(0),
        group => found.get(usize::try_from(group).unwrap_or(usize::MAX)),
    }))
}

fn substring(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let found = found(a, with, 4, "regexp_substr")?;
    Ok(found.map_or(Value::Null, |found| found.as_str().into()))
}

fn place(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let end = a.given_int(4).unwrap_or(0);
    if !(0..=1).contains(&end) {
        return Err(wrong_value("endoption", end));
    }
    let Some(found) = found(a, with, 5, "regexp_instr")? else {
        return int(0);
    };
    let at = if end == 1 {
        found.range().end
    } else {
        found.range().start
    };
    let before = a.text(0).get(..at).unwrap_or_default();
    int(before.chars().count() + 1)
}

fn count(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let from = search_from(a, 2)?;
    let regex = searcher(a, options(a, 3, "regexp_count")?, with)?;
    let mut count = 0;
    for _ in Matches::from(&regex, a.text(0), from) {
        with.context.look_at_row()?;
        count += 1;
    }
    int(count)
}

/// The most bytes of matches, which are kept before their rows are given.
const MATCHES_BYTES_MAX: usize = 16 << 20;

fn all(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (options, is_global) = Options::read(a.text(2))?;
    let regex = searcher(a, options, with)?;
    let most = if is_global { usize::MAX } else { 1 };
    let (mut rows, mut bytes) = (Vec::new(), 0_usize);
    for captures in Matches::of(&regex, a.text(0)).take(most) {
        with.context.look_at_row()?;
        let row = groups_of(&captures);
        bytes = bytes.saturating_add(row.len() + 32);
        if bytes > MATCHES_BYTES_MAX {
            return Err(SqlError::new(
                code::OUT_OF_MEMORY,
                format!(
                    "the matches of a regular expression have more than {} MiB",
                    MATCHES_BYTES_MAX >> 20
                ),
            ));
        }
        rows.push(Some(row));
    }
    text(written(rows.into_iter()))
}

/// The groups of a match, or all of it if there are none, as an array.
fn groups_of(captures: &Found<'_>) -> String {
    let groups = usize::from(captures.len() > 1)..captures.len();
    let groups = groups.map(|group| captures.get(group));
    written(groups.map(|group| group.map(|group| group.as_str().to_string())))
}

fn first(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let options = options(a, 2, "regexp_match").map_err(|error| {
        match error.code == code::INVALID_PARAMETER_VALUE {
            true => error.hint("Use the regexp_matches function instead."),
            false => error,
        }
    })?;
    let regex = searcher(a, options, with)?;
    let Some(captures) = regex.captures(a.text(0)) else {
        return Ok(Value::Null);
    };
    text(groups_of(&captures))
}

fn replaced(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (options, is_global) = Options::read(a.text(3))?;
    replace(a, with, options, 0, if is_global { 0 } else { 1 })
}

/// Replaces from a character on. The number of the match is given, or the fifth argument.
fn replaced_from(a: Arguments<'_>, with: &Environment<'_>, number: Option<i64>) -> Answer {
    let from = search_from(a, 3)?;
    let number = number.unwrap_or(a.int(4));
    if number < 0 {
        return Err(wrong_value("n", number));
    }
    let (options, _) = Options::read(a.text(5))?;
    replace(a, with, options, from, number)
}

/// Replaces the match of a number from a place on, or all of them.
fn replace(
    a: Arguments<'_>,
    with: &Environment<'_>,
    options: Options,
    from: usize,
    number: i64,
) -> Answer {
    let regex = searcher(a, options, with)?;
    let (whole, by) = (a.text(0), a.text(2));
    let mut result = String::with_capacity(whole.len());
    let mut behind = 0;
    for (at, found) in Matches::from(&regex, whole, from).enumerate() {
        with.context.look_at_row()?;
        let at = at as i64 + 1;
        if number != 0 && at < number {
            continue;
        }
        let of_all = found.get(0).map_or(0..0, |all| all.range());
        result.push_str(whole.get(behind..of_all.start).unwrap_or_default());
        behind = of_all.end;
        put_replacement(by, &found, &mut result)?;
        if at == number {
            break;
        }
    }
    result.push_str(whole.get(behind..).unwrap_or_default());
    check_length(result.len())?;
    text(result)
}

/// Appends a replacement, in which `\1` to `\9` are groups and `\&` is the match.
///
/// # Errors
/// `54000` if the result is too long.
fn put_replacement(by: &str, found: &Found<'_>, result: &mut String) -> Result<(), SqlError> {
    let mut letters = by.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            result.push(letter);
            continue;
        }
        let group = match letters.clone().next() {
            Some('&') => Some(0),
            Some(digit @ '1'..='9') => digit.to_digit(10).map(|digit| digit as usize),
            Some('\\') => None,
            _ => {
                result.push('\\');
                continue;
            }
        };
        letters.next();
        match group {
            Some(group) => {
                let part = found.get(group).map_or("", |group| group.as_str());
                check_length(result.len().saturating_add(part.len()))?;
                result.push_str(part);
            }
            None => result.push('\\'),
        }
    }
    check_length(result.len())
}

fn split(a: Arguments<'_>, with: &Environment<'_>, function: &str) -> Answer {
    let regex = searcher(a, options(a, 2, function)?, with)?;
    let whole = a.text(0);
    let (mut parts, mut behind) = (Vec::new(), 0);
    for found in Matches::of(&regex, whole) {
        with.context.look_at_row()?;
        let of_all = found.get(0).map_or(0..0, |all| all.range());
        // An empty match at an end, or right behind another, divides nothing.
        if of_all.start < whole.len() && of_all.end > behind {
            let part = whole.get(behind..of_all.start);
            parts.push(Some(part.unwrap_or_default().to_string()));
            behind = of_all.end;
        }
    }
    let rest = whole.get(behind..).unwrap_or_default();
    parts.push(Some(rest.to_string()));
    text(written(parts.into_iter()))
}

/// The matches of a pattern from the left. Each is searched behind the one before, a character further if that is
/// empty.
struct Matches<'r, 't> {
    regex: &'r Searcher,
    text: &'t str,
    from: usize,
}

impl<'r, 't> Matches<'r, 't> {
    fn of(regex: &'r Searcher, text: &'t str) -> Self {
        Matches::from(regex, text, 0)
    }

    fn from(regex: &'r Searcher, text: &'t str, from: usize) -> Self {
        Matches { regex, text, from }
    }
}

impl<'t> Iterator for Matches<'_, 't> {
    type Item = Found<'t>;

    fn next(&mut self) -> Option<Found<'t>> {
        if self.from > self.text.len() {
            return None;
        }
        let found = self.regex.captures_at(self.text, self.from)?;
        let all = found.get(0)?.range();
        let rest = self.text.get(all.end..).unwrap_or_default();
        let letter = rest.chars().next();
        self.from = match all.is_empty() {
            true => all.end + letter.map_or(1, char::len_utf8),
            false => all.end,
        };
        Some(found)
    }
}
