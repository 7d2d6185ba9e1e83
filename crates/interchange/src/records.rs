//! Records of CSV by RFC 4180, split into fields that know if they were quoted: that distinguishes an empty text from
//! a null.
//!
//! A quote opens a field at its beginning only. A record that is malformed over more than one line ends with its first
//! line: the lines behind it are read again, so that one missing quote costs one row.

use crate::LINE_BYTES_MAX;
use crate::lines::{Line, Lines};
use std::io::{self, BufRead};

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub text: String,
    pub quoted: bool,
}

/// A record, as it was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Record {
    Fields(usize),
    /// Nothing, or blanks.
    Blank,
    Malformed(&'static str),
}

const UNCLOSED: &str = "a closing quote is missing";
const TOO_LONG: &str = "the line is longer than lines may be";

/// A file of records, being read.
#[derive(Debug)]
pub(crate) struct Records<S> {
    pub lines: Lines<S>,
    pub delimiter: u8,
    buffer: Vec<u8>,
    /// The fields of the last record, and more that are used again.
    pub fields: Vec<Field>,
}

impl<S: BufRead> Records<S> {
    pub fn new(source: S, delimiter: u8) -> Self {
        Records {
            lines: Lines::new(source),
            delimiter,
            buffer: Vec::new(),
            fields: Vec::new(),
        }
    }

    /// The bytes of the last record.
    pub fn bytes(&self) -> &[u8] {
        &self.buffer
    }

    /// The next record, and the line in which it begins; `None` at the end.
    pub fn next(&mut self) -> io::Result<Option<(u64, Record)>> {
        self.buffer.clear();
        let line = self.lines.count + 1;
        let mut scan = Scan::Start;
        let mut first = None;
        let wrong = loop {
            let from = self.buffer.len();
            match self.lines.next(&mut self.buffer)? {
                Line::End if from == 0 => return Ok(None),
                Line::End => break Some(UNCLOSED),
                Line::TooLong => break Some(TOO_LONG),
                Line::Whole => {}
            }
            first = first.or(Some(self.buffer.len()));
            let read = self.buffer.get(from..).unwrap_or_default();
            scan = read
                .iter()
                .fold(scan, |scan, byte| scan.next(*byte, self.delimiter));
            match scan {
                Scan::Wrong(reason) => break Some(reason),
                Scan::Quoted if self.buffer.len() > LINE_BYTES_MAX => break Some(UNCLOSED),
                Scan::Quoted => {}
                _ => break None,
            }
        };
        if let Some(reason) = wrong {
            let rest = first.and_then(|first| self.buffer.get(first..));
            self.lines.give_back(rest.unwrap_or_default());
            return Ok(Some((line, Record::Malformed(reason))));
        }
        Ok(Some((line, self.split())))
    }

    fn split(&mut self) -> Record {
        let Ok(text) = std::str::from_utf8(&self.buffer) else {
            return Record::Malformed(match self.buffer.get(..2) {
                Some(b"\xff\xfe" | b"\xfe\xff") => "it is UTF-16, not UTF-8: convert the file",
                _ => "it is not UTF-8",
            });
        };
        let text = text.strip_suffix('\n').unwrap_or(text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        if text.bytes().all(|byte| byte == b' ') {
            return Record::Blank;
        }
        let delimiter = char::from(self.delimiter);
        let (mut rest, mut count) = (Some(text), 0);
        while let Some(text) = rest {
            if count == self.fields.len() {
                self.fields.push(Field {
                    text: String::new(),
                    quoted: false,
                });
            }
            let Some(field) = self.fields.get_mut(count) else {
                break;
            };
            count += 1;
            field.text.clear();
            field.quoted = text.starts_with('"');
            rest = match text.strip_prefix('"') {
                Some(quoted) => unquote(quoted, delimiter, &mut field.text),
                None => {
                    let (text, after) = match text.split_once(delimiter) {
                        Some((text, after)) => (text, Some(after)),
                        None => (text, None),
                    };
                    field.text.push_str(text);
                    after
                }
            };
        }
        Record::Fields(count)
    }
}

/// Reads a field behind its opening quote; returns the text behind the delimiter after it.
fn unquote<'t>(mut rest: &'t str, delimiter: char, field: &mut String) -> Option<&'t str> {
    loop {
        let (part, after) = rest.split_once('"')?;
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return after.strip_prefix(delimiter),
        }
    }
}

/// The place of a byte in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Scan {
    /// At a field's beginning.
    Start,
    Plain,
    Quoted,
    /// Behind a quote that may have closed the field.
    Closed,
    /// Behind a carriage return that is not quoted: the line ends.
    Return,
    Wrong(&'static str),
}

impl Scan {
    fn next(self, byte: u8, delimiter: u8) -> Scan {
        match (self, byte) {
            (Scan::Wrong(_), _) => self,
            (Scan::Return, b'\n') => Scan::Return,
            (Scan::Return, _) => {
                Scan::Wrong("a carriage return outside of quotes, without a line feed after it")
            }
            (Scan::Start | Scan::Closed, b'"') => Scan::Quoted,
            (Scan::Quoted, b'"') => Scan::Closed,
            (Scan::Quoted, _) => Scan::Quoted,
            (Scan::Start | Scan::Plain | Scan::Closed, _) if byte == delimiter => Scan::Start,
            (Scan::Start | Scan::Plain | Scan::Closed, b'\r') => Scan::Return,
            (Scan::Closed, b'\n') => Scan::Closed,
            (Scan::Closed, _) => Scan::Wrong("text between a closing quote and the next delimiter"),
            (Scan::Plain, b'"') => {
                Scan::Wrong("a quote is in a field that does not begin with one")
            }
            (Scan::Start | Scan::Plain, _) => Scan::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of a text, with the lines in which they begin; of malformed ones no fields.
    fn all(text: &str) -> Vec<(u64, Vec<String>)> {
        let mut records = Records::new(text.as_bytes(), b',');
        let mut found = Vec::new();
        while let Some((line, record)) = records.next().expect("memory is read") {
            let count = match record {
                Record::Fields(count) => count,
                Record::Blank | Record::Malformed(_) => 0,
            };
            let fields = records.fields.iter().take(count);
            found.push((line, fields.map(|field| field.text.clone()).collect()));
        }
        found
    }

    fn record(line: u64, fields: &[&str]) -> (u64, Vec<String>) {
        (
            line,
            fields.iter().map(|field| (*field).to_string()).collect(),
        )
    }

    #[test]
    fn a_missing_quote_costs_its_own_line() {
        let rest = [record(2, &["2", "b"]), record(3, &["3", "c"])];
        for wrong in [
            "1,\"a\n",
            "\"1,a\n",
            "1,\"a\"b\n",
            "1,a\"b\n",
            "1,\"a\"\"\n",
        ] {
            let found = all(&format!("{wrong}2,b\n3,\"c\"\n"));
            assert_eq!(found[0], record(1, &[]), "{wrong:?}");
            assert_eq!(found[1..], rest, "{wrong:?}");
        }
        assert_eq!(all("1,\"a"), [record(1, &[])]);
    }

    #[test]
    fn a_carriage_return_ends_a_line_with_a_line_feed_or_is_quoted() {
        for wrong in ["1,a\rb\n", "1\r,a\n", "\"1\"\r,a\n", "1,\r\r\n", "\r1,a\n"] {
            let found = all(&format!("{wrong}2,b\r\n3,\"c\rd\"\r\n4,\"e\"\r"));
            assert_eq!(found[0], record(1, &[]), "{wrong:?}");
            assert_eq!(found[1], record(2, &["2", "b"]), "{wrong:?}");
            assert_eq!(found[2], record(3, &["3", "c\rd"]), "{wrong:?}");
            assert_eq!(found[3], record(4, &["4", "e"]), "{wrong:?}");
        }
    }

    #[test]
    fn quotes_double_and_lines_break_inside_of_quotes() {
        let found = all("a,\"b \"\"q\"\"\r\nc\",\"\"\r\n\r\nd,,\n");
        assert_eq!(found[0], record(1, &["a", "b \"q\"\r\nc", ""]));
        assert_eq!(found[1..], [record(3, &[]), record(4, &["d", "", ""])]);
    }
}
