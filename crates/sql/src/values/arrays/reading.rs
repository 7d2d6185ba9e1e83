//! Array literals, read as PostgreSQL 15 reads them (`array_in`): bounds, braces, quotes, backslashes and nulls.

use super::Array;
use crate::error::{SqlError, code};
use std::iter::Peekable;
use std::str::Chars;

/// The most dimensions of an array.
pub(crate) const DIMENSIONS_MAX: usize = 6;

/// True for characters without meaning between elements.
pub(crate) fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

pub(crate) fn too_many_dimensions(count: usize) -> SqlError {
    SqlError::new(
        code::PROGRAM_LIMIT,
        format!(
            "number of array dimensions ({count}) exceeds the maximum allowed ({DIMENSIONS_MAX})"
        ),
    )
}

struct Reader<'t> {
    text: &'t str,
    rest: Peekable<Chars<'t>>,
    elements: Vec<Option<String>>,
    /// The number of parts of each level, once the first part of that level has ended.
    lengths: Vec<Option<usize>>,
    /// The level of the elements.
    deepest: Option<usize>,
}

impl Array {
    /// Reads an array.
    ///
    /// # Errors
    /// `22P02` if the text is none, `2202E` if a bound cannot be, `54000` with too many dimensions.
    pub fn read(text: &str) -> Result<Array, SqlError> {
        let mut reader = Reader {
            text,
            rest: text.chars().peekable(),
            elements: Vec::new(),
            lengths: Vec::new(),
            deepest: None,
        };
        let bounds = reader.bounds()?;
        reader.blanks();
        if reader.rest.peek() != Some(&'{') {
            return Err(reader.wrong(match bounds.is_empty() {
                true => "Array value must start with \"{\" or dimension information.".into(),
                false => "Array contents must start with \"{\".".into(),
            }));
        }
        reader.level(0)?;
        reader.blanks();
        if reader.rest.peek().is_some() {
            return Err(reader.wrong("Junk after closing right brace.".into()));
        }
        let found = reader.lengths.iter().map(|length| length.unwrap_or(0));
        let found: Vec<usize> = match reader.elements.is_empty() {
            true => Vec::new(),
            false => found.collect(),
        };
        let bounds = match bounds.is_empty() {
            true => found.iter().map(|length| (1, *length)).collect(),
            false if bounds.iter().map(|(_, length)| *length).eq(found) => bounds,
            false => {
                let detail = "Specified array dimensions do not match array contents.";
                return Err(reader.wrong(detail.into()));
            }
        };
        Ok(Array {
            bounds,
            elements: reader.elements,
        })
    }
}

impl Reader<'_> {
    fn wrong(&self, detail: String) -> SqlError {
        let message = format!("malformed array literal: \"{}\"", self.text);
        SqlError::new(code::INVALID_TEXT, message).detail(detail)
    }

    fn unexpected(&mut self) -> SqlError {
        match self.rest.peek().copied() {
            Some(character) => self.wrong(format!("Unexpected \"{character}\" character.")),
            None => self.wrong("Unexpected end of input.".into()),
        }
    }

    fn blanks(&mut self) {
        while self.rest.next_if(|c| is_blank(*c)).is_some() {}
    }

    /// The bounds before `=`, if the text has them.
    fn bounds(&mut self) -> Result<Vec<(i64, usize)>, SqlError> {
        let mut bounds = Vec::new();
        loop {
            self.blanks();
            if self.rest.next_if_eq(&'[').is_none() {
                break;
            }
            if bounds.len() == DIMENSIONS_MAX {
                return Err(too_many_dimensions(bounds.len() + 1));
            }
            let one = self.number()?;
            let (first, last) = match self.rest.next_if_eq(&':') {
                Some(_) => (one, self.number()?),
                None => (1, one),
            };
            if self.rest.next_if_eq(&']').is_none() {
                return Err(self.wrong("Missing \"]\" after array dimensions.".into()));
            }
            if last < first {
                let text = "upper bound cannot be less than lower bound";
                return Err(SqlError::new("2202E", text));
            }
            bounds.push((first, (last - first + 1) as usize));
        }
        if !bounds.is_empty() && self.rest.next_if_eq(&'=').is_none() {
            return Err(self.wrong("Missing \"=\" after array dimensions.".into()));
        }
        Ok(bounds)
    }

    fn number(&mut self) -> Result<i64, SqlError> {
        let mut digits = String::new();
        digits.extend(self.rest.next_if(|c| matches!(c, '+' | '-')));
        while let Some(digit) = self.rest.next_if(char::is_ascii_digit) {
            digits.push(digit);
        }
        match digits.parse::<i32>() {
            Ok(number) => Ok(number.into()),
            Err(_) => Err(self.wrong("Missing array dimension value.".into())),
        }
    }

    /// Reads from one brace to the other.
    fn level(&mut self, level: usize) -> Result<(), SqlError> {
        self.rest.next();
        if level == DIMENSIONS_MAX {
            return Err(too_many_dimensions(level + 1));
        }
        if self.lengths.len() == level {
            self.lengths.push(None);
        }
        let mut count = 0;
        self.blanks();
        let is_empty = level == 0 && self.rest.next_if_eq(&'}').is_some();
        if !is_empty {
            loop {
                self.blanks();
                match self.rest.peek() {
                    Some('{') => {
                        if self.deepest.is_some_and(|deepest| deepest <= level) {
                            return Err(self.unexpected());
                        }
                        self.level(level + 1)?;
                    }
                    _ => self.element(level)?,
                }
                count += 1;
                self.blanks();
                match self.rest.peek() {
                    Some(',') => {
                        self.rest.next();
                    }
                    Some('}') => {
                        self.rest.next();
                        break;
                    }
                    _ => return Err(self.unexpected()),
                }
            }
        }
        if *self.lengths[level].get_or_insert(count) != count {
            let detail = "Multidimensional arrays must have sub-arrays with matching dimensions.";
            return Err(self.wrong(detail.into()));
        }
        Ok(())
    }

    fn element(&mut self, level: usize) -> Result<(), SqlError> {
        let element = match self.rest.next_if_eq(&'"') {
            Some(_) => Some(self.quoted()?),
            None => self.unquoted()?,
        };
        if *self.deepest.get_or_insert(level) != level || self.lengths.len() > level + 1 {
            return Err(self.wrong("Unexpected array element.".into()));
        }
        self.elements.push(element);
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, SqlError> {
        let mut element = String::new();
        loop {
            match self.rest.next() {
                Some('"') => return Ok(element),
                Some('\\') => match self.rest.next() {
                    Some(character) => element.push(character),
                    None => return Err(self.unexpected()),
                },
                Some(character) => element.push(character),
                None => return Err(self.unexpected()),
            }
        }
    }

    /// Blanks at its end do not belong to it, except those behind a backslash.
    fn unquoted(&mut self) -> Result<Option<String>, SqlError> {
        let (mut element, mut kept, mut is_escaped) = (String::new(), 0, false);
        loop {
            match self.rest.peek().copied() {
                None | Some('{' | '"') => return Err(self.unexpected()),
                Some(',' | '}') => break,
                Some('\\') => {
                    self.rest.next();
                    let Some(character) = self.rest.next() else {
                        return Err(self.unexpected());
                    };
                    element.push(character);
                    (kept, is_escaped) = (element.len(), true);
                }
                Some(character) => {
                    self.rest.next();
                    element.push(character);
                    if !is_blank(character) {
                        kept = element.len();
                    }
                }
            }
        }
        element.truncate(kept);
        if element.is_empty() && !is_escaped {
            return Err(self.unexpected());
        }
        let is_null = !is_escaped && element.eq_ignore_ascii_case("null");
        Ok((!is_null).then_some(element))
    }
}
