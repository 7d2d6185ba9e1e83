//! `hstore`: texts by keys. A value is a text in PostgreSQL's form, with its pairs in PostgreSQL's order: shorter keys
//! first, then by their bytes.
//!
//! Invariant: equal values have equal texts, since each key occurs once and the order is fixed. So the text of a value
//! can be stored, compared for equality and sent unchanged.
//!
//! Source: PostgreSQL 15, `contrib/hstore`.

mod forms;
#[cfg(test)]
mod tests;

use super::search::damaged;
use crate::error::{SqlError, as_text, code};
use sardonyx::schema::Value;
use std::cmp::Ordering;

/// The pairs of a value, each key once, in PostgreSQL's order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Hstore {
    pairs: Vec<(String, Option<String>)>,
}

/// The order of keys.
fn order(one: &str, other: &str) -> Ordering {
    let lengths = one.len().cmp(&other.len());
    lengths.then_with(|| one.as_bytes().cmp(other.as_bytes()))
}

impl Hstore {
    /// The value of pairs. The first of equal keys is kept.
    pub fn of(mut pairs: Vec<(String, Option<String>)>) -> Hstore {
        pairs.sort_by(|(one, _), (other, _)| order(one, other));
        pairs.dedup_by(|(later, _), (first, _)| later == first);
        Hstore { pairs }
    }

    /// Reads a value from PostgreSQL's text form.
    ///
    /// # Errors
    /// `42601` with the place at which the text is wrong, as in PostgreSQL 16.
    pub fn read(text: &str) -> Result<Hstore, SqlError> {
        let pairs = Reader { text, at: 0 }.pairs();
        pairs.map(Hstore::of)
    }

    /// The value of a text that was written here.
    ///
    /// # Errors
    /// `XX001` if it is damaged, or not in the form in which it is written: it would be unequal to its own value.
    pub fn known(text: &str) -> Result<Hstore, SqlError> {
        let read = Hstore::read(text).map_err(|error| damaged("hstore", &error.message))?;
        match read.text() == text {
            true => Ok(read),
            false => Err(damaged("hstore", "it is not in the form that is written")),
        }
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for (at, (key, value)) in self.pairs.iter().enumerate() {
            if at > 0 {
                text.push_str(", ");
            }
            push_quoted(key, &mut text);
            text.push_str("=>");
            match value {
                Some(value) => push_quoted(value, &mut text),
                None => text.push_str("NULL"),
            }
        }
        text
    }

    pub fn value(&self) -> Value {
        Value::Text(self.text())
    }

    pub fn pairs(&self) -> &[(String, Option<String>)] {
        &self.pairs
    }

    /// The value of a key, which may be null; none without the key.
    pub fn get(&self, key: &str) -> Option<&Option<String>> {
        let found = self.pairs.binary_search_by(|(there, _)| order(there, key));
        found.ok().map(|at| &self.pairs[at].1)
    }

    /// The pairs of both; the other one's replace those of this.
    pub fn joined(&self, other: &Hstore) -> Hstore {
        Hstore::of([&other.pairs[..], &self.pairs[..]].concat())
    }

    /// True if it has all pairs of another one.
    pub fn contains(&self, other: &Hstore) -> bool {
        let mut pairs = other.pairs.iter();
        pairs.all(|(key, value)| self.get(key) == Some(value))
    }

    /// The pairs that meet a condition.
    pub fn filtered(self, keep: impl Fn(&str, &Option<String>) -> bool) -> Hstore {
        let pairs = self.pairs.into_iter();
        let pairs = pairs.filter(|(key, value)| keep(key, value)).collect();
        Hstore { pairs }
    }

    /// Bytes in the order of values: all keys and values in a row, then the number of pairs, then the ends of keys and
    /// values, and the nulls. An empty value is the first.
    pub fn key(&self) -> Vec<u8> {
        let mut key = Vec::new();
        if self.pairs.is_empty() {
            return key;
        }
        key.push(1);
        let parts = || {
            let pairs = self.pairs.iter();
            pairs.flat_map(|(key, value)| [Some(key.as_str()), value.as_deref()])
        };
        for part in parts().flatten() {
            // A text has no zero, so a zero ends it.
            key.extend(part.as_bytes());
        }
        key.push(0);
        key.extend((self.pairs.len() as u32).to_be_bytes());
        let mut end = 0_u32;
        for part in parts() {
            end = end.saturating_add(part.map_or(0, str::len) as u32);
            key.extend(end.to_be_bytes());
            key.push(part.is_none().into());
        }
        key
    }

    /// Appends PostgreSQL's binary form: the number of pairs, and each key and value behind its length; -1 for a null.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend((self.pairs.len() as u32).to_be_bytes());
        for (key, value) in &self.pairs {
            out.extend((key.len() as u32).to_be_bytes());
            out.extend(key.as_bytes());
            match value {
                Some(value) => {
                    out.extend((value.len() as u32).to_be_bytes());
                    out.extend(value.as_bytes());
                }
                None => out.extend((-1_i32).to_be_bytes()),
            }
        }
    }

    /// Reads PostgreSQL's binary form.
    ///
    /// # Errors
    /// `22P03`, `22021` for a text that is not UTF-8 or has a zero, `22004` for a key that is null.
    pub fn receive(bytes: &[u8]) -> Result<Hstore, SqlError> {
        let ended = || SqlError::new(code::INVALID_BINARY, "insufficient data left in message");
        let mut rest = bytes;
        let number = |rest: &mut &[u8]| {
            let (first, more) = rest.split_first_chunk::<4>().ok_or_else(ended)?;
            *rest = more;
            Ok::<i32, SqlError>(i32::from_be_bytes(*first))
        };
        let count = number(&mut rest)?;
        let mut pairs = Vec::new();
        for _ in 0..count {
            let mut part = || {
                let Ok(length) = usize::try_from(number(&mut rest)?) else {
                    return Ok(None);
                };
                let (part, more) = rest.split_at_checked(length).ok_or_else(ended)?;
                rest = more;
                Ok::<_, SqlError>(Some(received(part)?))
            };
            pairs.push((part()?.ok_or_else(null_key)?, part()?));
        }
        match rest {
            [] if count >= 0 => Ok(Hstore::of(pairs)),
            _ => Err(SqlError::new(
                code::INVALID_BINARY,
                "this is no hstore in binary form",
            )),
        }
    }
}

/// A text of the binary form.
fn received(bytes: &[u8]) -> Result<String, SqlError> {
    match as_text(bytes)? {
        text if text.contains('\0') => {
            let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
            Err(SqlError::new(code::INVALID_BYTES, message))
        }
        text => Ok(text.to_string()),
    }
}

fn null_key() -> SqlError {
    SqlError::new("22004", "null value not allowed for hstore key")
}

fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out.push('"');
}

/// A text that is being read.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

/// A key or a value, and true if a part of it was in quotes.
type Word = (String, bool);

impl Reader<'_> {
    fn next(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn step(&mut self) {
        self.at += self.next().map_or(0, char::len_utf8);
    }

    fn skip_blanks(&mut self) {
        while self.next().is_some_and(is_blank) {
            self.step();
        }
    }

    /// The error of an unexpected character.
    fn wrong(&self) -> SqlError {
        let message = match self.next() {
            Some(character) => format!(
                "syntax error in hstore, near \"{character}\" at position {}",
                self.at
            ),
            None => "syntax error in hstore: unexpected end of string".to_string(),
        };
        SqlError::syntax(message)
    }

    fn pairs(&mut self) -> Result<Vec<(String, Option<String>)>, SqlError> {
        let mut pairs = Vec::new();
        while let Some((key, _)) = self.word(true)? {
            self.skip_blanks();
            for expected in ['=', '>'] {
                if self.next() != Some(expected) {
                    return Err(self.wrong());
                }
                self.step();
            }
            let (value, is_quoted) = self.word(false)?.ok_or_else(|| self.wrong())?;
            let is_null = !is_quoted && value.eq_ignore_ascii_case("null");
            pairs.push((key, (!is_null).then_some(value)));
            self.skip_blanks();
            match self.next() {
                None => break,
                Some(',') => self.step(),
                Some(_) => return Err(self.wrong()),
            }
        }
        Ok(pairs)
    }

    /// A word: in quotes, or up to a blank, the `=` behind a key or the comma behind a value; none at the end.
    fn word(&mut self, is_key: bool) -> Result<Option<Word>, SqlError> {
        self.skip_blanks();
        let mut word = String::new();
        match self.next() {
            None => return Ok(None),
            Some('"') => {
                self.step();
                loop {
                    match self.next() {
                        None => return Err(self.wrong()),
                        Some('"') => break,
                        Some(_) => self.push(&mut word)?,
                    }
                }
                self.step();
                return Ok(Some((word, true)));
            }
            Some('=') if is_key => return Err(self.wrong()),
            // The first character of a value may be a comma or anything else.
            Some(_) => self.push(&mut word)?,
        }
        let end = if is_key { '=' } else { ',' };
        while self
            .next()
            .is_some_and(|next| next != end && !is_blank(next))
        {
            self.push(&mut word)?;
        }
        Ok(Some((word, false)))
    }

    /// Takes a character, or an escaped one.
    fn push(&mut self, word: &mut String) -> Result<(), SqlError> {
        if self.next() == Some('\\') {
            self.step();
        }
        word.push(self.next().ok_or_else(|| self.wrong())?);
        self.step();
        Ok(())
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t'..='\r')
}
