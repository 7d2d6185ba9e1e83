//! Lines and fields of `COPY`: PostgreSQL's text format, with backslashes, and CSV, with quotes.

use super::options::Options;
use crate::error::{SqlError, code};
use std::borrow::Cow;

/// A field of a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Field<'t> {
    Null,
    Text(Cow<'t, str>),
}

impl<'t> Field<'t> {
    /// The field's text; `None` for a null.
    pub fn into_text(self) -> Option<Cow<'t, str>> {
        match self {
            Field::Null => None,
            Field::Text(text) => Some(text),
        }
    }
}

/// The lines of a text, as fields.
#[derive(Debug)]
pub(super) struct Records<'t, 'o> {
    rest: &'t str,
    options: &'o Options,
    ended: bool,
}

impl<'t, 'o> Records<'t, 'o> {
    pub fn new(text: &'t str, options: &'o Options) -> Self {
        Records {
            rest: text,
            options,
            ended: false,
        }
    }

    /// The next line without its line break.
    fn line(&mut self) -> Option<&'t str> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    fn csv(&mut self) -> Option<Result<Vec<Field<'t>>, SqlError>> {
        if self.rest.is_empty() {
            return None;
        }
        let (quote, escape) = (self.options.quote, self.options.escape);
        let mut fields = Vec::new();
        let mut field = String::new();
        let (mut quoted, mut was_quoted) = (false, false);
        let mut characters = self.rest.char_indices().peekable();
        let end = loop {
            let Some((at, character)) = characters.next() else {
                if quoted {
                    self.ended = true;
                    return Some(Err(bad("a quoted field has no end")));
                }
                break self.rest.len();
            };
            if quoted {
                let next = characters.peek().map(|(_, next)| *next);
                if character == escape && (next == Some(quote) || next == Some(escape)) {
                    field.extend(next);
                    characters.next();
                } else if character == quote {
                    quoted = false;
                } else {
                    field.push(character);
                }
                continue;
            }
            if character == quote {
                quoted = true;
                was_quoted = true;
            } else if character == self.options.delimiter {
                fields.push(self.csv_field(&mut field, &mut was_quoted));
            } else if character == '\n' {
                break at + 1;
            } else if character == '\r' && characters.peek().is_some_and(|(_, next)| *next == '\n')
            {
                // This is the first character of a line break of two.
            } else {
                field.push(character);
            }
        };
        self.rest = self.rest.get(end..).unwrap_or_default();
        if fields.is_empty() && field == "\\." && !was_quoted {
            self.ended = true;
            return None;
        }
        fields.push(self.csv_field(&mut field, &mut was_quoted));
        Some(Ok(fields))
    }

    fn csv_field(&self, field: &mut String, was_quoted: &mut bool) -> Field<'t> {
        let text = std::mem::take(field);
        let was_quoted = std::mem::take(was_quoted);
        match !was_quoted && text == self.options.null {
            true => Field::Null,
            false => Field::Text(text.into()),
        }
    }

    fn text_field(&self, field: &'t str) -> Result<Field<'t>, SqlError> {
        if field == self.options.null {
            return Ok(Field::Null);
        }
        if !field.contains('\\') {
            return Ok(Field::Text(field.into()));
        }
        unescaped(field).map(|text| Field::Text(text.into()))
    }
}

impl<'t> Iterator for Records<'t, '_> {
    type Item = Result<Vec<Field<'t>>, SqlError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        if self.options.is_csv() {
            return self.csv();
        }
        let line = self.line()?;
        if line == "\\." {
            self.ended = true;
            return None;
        }
        // A delimiter after a backslash belongs to the field.
        let mut fields = Vec::new();
        let mut start = 0;
        let mut escaped = false;
        for (at, character) in line.char_indices() {
            if escaped {
                escaped = false;
            } else if character == '\\' {
                escaped = true;
            } else if character == self.options.delimiter {
                fields.push(line.get(start..at).unwrap_or_default());
                start = at + character.len_utf8();
            }
        }
        fields.push(line.get(start..).unwrap_or_default());
        Some(
            fields
                .into_iter()
                .map(|field| self.text_field(field))
                .collect(),
        )
    }
}

fn bad(message: &str) -> SqlError {
    SqlError::new(code::BAD_COPY, message)
}

/// Decodes the backslashes of a field.
fn unescaped(field: &str) -> Result<String, SqlError> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    let digit = |byte: u8, radix| char::from(byte).to_digit(radix).map(|digit| digit as u8);
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let Some((&named, behind)) = rest.split_first() else {
            return Err(bad("a line ends with a backslash"));
        };
        rest = behind;
        match named {
            b'b' => bytes.push(8),
            b'f' => bytes.push(12),
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'v' => bytes.push(11),
            b'x' if rest.first().is_some_and(|byte| digit(*byte, 16).is_some()) => {
                let mut value = 0_u8;
                for _ in 0..2 {
                    if let Some((&byte, behind)) = rest.split_first()
                        && let Some(digit) = digit(byte, 16)
                    {
                        value = value << 4 | digit;
                        rest = behind;
                    }
                }
                bytes.push(value);
            }
            b'0'..=b'7' => {
                let mut value = named - b'0';
                for _ in 0..2 {
                    if let Some((&byte, behind)) = rest.split_first()
                        && let Some(digit) = digit(byte, 8)
                    {
                        value = value.wrapping_shl(3) | digit;
                        rest = behind;
                    }
                }
                bytes.push(value);
            }
            other => bytes.push(other),
        }
    }
    String::from_utf8(bytes).map_err(|_| bad("a field is not UTF-8"))
}

/// Writes a field; `None` is a null. A field that is alone in its line may need quotes; one that is to be quoted has them.
pub(super) fn write_field(
    field: Option<&str>,
    (is_alone, is_quoted): (bool, bool),
    options: &Options,
    out: &mut String,
) {
    let Some(text) = field else {
        out.push_str(&options.null);
        return;
    };
    if !options.is_csv() {
        for character in text.chars() {
            match character {
                '\\' => out.push_str("\\\\"),
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                '\u{8}' => out.push_str("\\b"),
                '\u{c}' => out.push_str("\\f"),
                '\u{b}' => out.push_str("\\v"),
                other => {
                    if other == options.delimiter {
                        out.push('\\');
                    }
                    out.push(other);
                }
            }
        }
        return;
    }
    let (quote, escape) = (options.quote, options.escape);
    let special = |c: char| c == options.delimiter || c == quote || c == '\n' || c == '\r';
    let needs =
        is_quoted || text == options.null || is_alone && text == "\\." || text.chars().any(special);
    if !needs {
        out.push_str(text);
        return;
    }
    out.push(quote);
    for character in text.chars() {
        if character == quote || character == escape {
            out.push(escape);
        }
        out.push(character);
    }
    out.push(quote);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::options::CopyFormat;

    fn text() -> Options {
        Options::of(&[], &[]).expect("no options are options")
    }

    fn csv() -> Options {
        Options {
            format: CopyFormat::Csv,
            delimiter: ',',
            null: String::new(),
            ..text()
        }
    }

    fn all(text: &str, options: &Options) -> Vec<Vec<Option<String>>> {
        let records = Records::new(text, options);
        let field = |field| match field {
            Field::Null => None,
            Field::Text(text) => Some(text.into_owned()),
        };
        let records = records.map(|record| record.expect("it can be read"));
        records
            .map(|record| record.into_iter().map(field).collect())
            .collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_string())).collect()
    }

    #[test]
    fn lines_of_text() {
        let found = all("1\ta\\tb\n2\t\\N\r\n\\.\n3\tx\n", &text());
        assert_eq!(found[0], some(&["1", "a\tb"]));
        assert_eq!(found[1], [Some("2".to_string()), None]);
        assert_eq!(found.len(), 2, "nothing behind the end is read");
        assert!(
            Records::new("a\\", &text())
                .next()
                .is_some_and(|r| r.is_err())
        );
    }

    #[test]
    fn lines_of_csv() {
        let found = all("1,\"a,\"\"b\"\"\nc\",\n2,,\"\"\r\n", &csv());
        assert_eq!(found[0][..2], some(&["1", "a,\"b\"\nc"])[..]);
        assert_eq!(found[0][2], None);
        assert_eq!(found[1], [Some("2".into()), None, Some(String::new())]);
        assert!(
            Records::new("\"a", &csv())
                .next()
                .is_some_and(|r| r.is_err())
        );
    }

    #[test]
    fn what_is_written_is_read() {
        for options in [text(), csv()] {
            for field in ["", "a", "a\tb,c", "\\N", "\"q\"", "x\ny\r", "\\.", "ä\\"] {
                let mut out = String::new();
                write_field(Some(field), (false, false), &options, &mut out);
                out.push(options.delimiter);
                write_field(None, (false, false), &options, &mut out);
                out.push('\n');
                assert_eq!(
                    all(&out, &options),
                    [[Some(field.to_string()), None]],
                    "{out:?}"
                );
            }
        }
    }
}
