//! Functions of regular expressions. Matches are found and counted as PostgreSQL does it, also those of no length.
//!
//! Source: `replace_text_regexp` in PostgreSQL's `varlena.c`, `setup_regexp_matches` in `regexp.c`.

use super::definition::*;
use super::texts::check_length;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::expression::patterns::Options;
use crate::values::arrays::written;
use regex::{Captures, Regex};
use sardonyx::schema::Value;

pub(super) static TABLE: &[Definition] = functions! {
    regexp_count(TEXT, TEXT) -> INT4, count, "number of matches of a regular expression";
    regexp_like(TEXT, TEXT) -> BOOL, like, "true if a regular expression matches a part";
    regexp_like(TEXT, TEXT, TEXT) -> BOOL, like, "true if a regular expression with options matches a part";
    regexp_match(TEXT, TEXT) -> TEXTS, first, "groups of the first match, or all of it if there are none; null without a match";
    regexp_match(TEXT, TEXT, TEXT) -> TEXTS, first, "the same, of a regular expression with options";
    regexp_replace(TEXT, TEXT, TEXT) -> TEXT, replaced, "with the third text in the place of the first match";
    regexp_replace(TEXT, TEXT, TEXT, TEXT) -> TEXT, replaced, "the same, of a regular expression with options; `g` replaces all";
    regexp_split_to_array(TEXT, TEXT) -> TEXTS, |a, with| split(a, with, "regexp_split_to_array"), "parts between the matches";
    regexp_split_to_array(TEXT, TEXT, TEXT) -> TEXTS, |a, with| split(a, with, "regexp_split_to_array"), "the same, of a regular expression with options";
    regexp_split_to_table(TEXT, TEXT) -> TEXT, |a, with| split(a, with, "regexp_split_to_table"), "rows of the parts between the matches", rows;
    regexp_split_to_table(TEXT, TEXT, TEXT) -> TEXT, |a, with| split(a, with, "regexp_split_to_table"), "the same, of a regular expression with options", rows;
    regexp_substr(TEXT, TEXT) -> TEXT, substring, "the first match";
};

/// The pattern, compiled with the options behind it.
fn compiled(a: Arguments<'_>, options: Options, with: &Environment<'_>) -> Result<Regex, SqlError> {
    with.context.patterns.compiled(a.text(1), options)
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
    Ok(Value::Bool(compiled(a, options, with)?.is_match(a.text(0))))
}

fn substring(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let regex = compiled(a, Options::default(), with)?;
    let found = regex.find(a.text(0));
    Ok(found.map_or(Value::Null, |found| found.as_str().into()))
}

fn count(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let regex = compiled(a, Options::default(), with)?;
    let mut count = 0;
    for _ in Matches::of(&regex, a.text(0)) {
        with.context.look_at_row()?;
        count += 1;
    }
    int(count)
}

fn first(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let options = options(a, 2, "regexp_match").map_err(|error| {
        match error.code == code::INVALID_PARAMETER_VALUE {
            true => error.hint("Use the regexp_matches function instead."),
            false => error,
        }
    })?;
    let regex = compiled(a, options, with)?;
    let Some(captures) = regex.captures(a.text(0)) else {
        return Ok(Value::Null);
    };
    // Without groups, the whole match.
    let groups = captures.iter().skip(usize::from(captures.len() > 1));
    text(written(
        groups.map(|group| group.map(|group| group.as_str().to_string())),
    ))
}

fn replaced(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (options, is_global) = Options::read(a.text(3))?;
    let regex = compiled(a, options, with)?;
    let (whole, by) = (a.text(0), a.text(2));
    let mut result = String::with_capacity(whole.len());
    let mut behind = 0;
    let most = if is_global { usize::MAX } else { 1 };
    for found in Matches::of(&regex, whole).take(most) {
        with.context.look_at_row()?;
        let of_all = found.get(0).map_or(0..0, |all| all.range());
        result.push_str(whole.get(behind..of_all.start).unwrap_or_default());
        behind = of_all.end;
        put_replacement(by, &found, &mut result)?;
    }
    result.push_str(whole.get(behind..).unwrap_or_default());
    check_length(result.len())?;
    text(result)
}

/// Puts a replacement, in which `\1` to `\9` are groups and `\&` is the match.
///
/// # Errors
/// `54000` if the result is too long.
fn put_replacement(by: &str, found: &Captures<'_>, result: &mut String) -> Result<(), SqlError> {
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
    let regex = compiled(a, options(a, 2, function)?, with)?;
    let whole = a.text(0);
    let (mut parts, mut behind) = (Vec::new(), 0);
    for found in Matches::of(&regex, whole) {
        with.context.look_at_row()?;
        let of_all = found.get(0).map_or(0..0, |all| all.range());
        // One of no length at an end, or right behind another, divides nothing.
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

/// The matches of a pattern from the left, each searched behind the one before, or a character on if that has no length.
struct Matches<'r, 't> {
    regex: &'r Regex,
    text: &'t str,
    from: usize,
}

impl<'r, 't> Matches<'r, 't> {
    fn of(regex: &'r Regex, text: &'t str) -> Self {
        Matches {
            regex,
            text,
            from: 0,
        }
    }
}

impl<'t> Iterator for Matches<'_, 't> {
    type Item = Captures<'t>;

    fn next(&mut self) -> Option<Captures<'t>> {
        if self.from > self.text.len() {
            return None;
        }
        let found = self.regex.captures_at(self.text, self.from)?;
        let all = found.get(0)?;
        let rest = self.text.get(all.end()..).unwrap_or_default();
        let letter = rest.chars().next();
        self.from = match all.is_empty() {
            true => all.end() + letter.map_or(1, char::len_utf8),
            false => all.end(),
        };
        Some(found)
    }
}
