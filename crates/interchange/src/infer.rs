//! The schema that a file suggests.
//!
//! Parquet and Arrow files describe their columns. Of CSV every field, of JSON every text, number, true or false of
//! the first rows is read, by the rules of the module `guess`. Only the key's columns are without nulls then, since
//! later rows may have some.

use crate::columnar;
use crate::csv::read_header;
use crate::guess::Guess;
use crate::json::{Members, Token, read_line};
use crate::lines::Lines;
use crate::records::{Record, Records};
use crate::source::Source;
use crate::{Format, InterchangeError};
use sardonyx_rows::schema::{Schema, Type};
use std::io::BufRead;

/// Rows that are looked at.
const ROWS: usize = 10_000;

/// A column that a file has.
pub(crate) struct Found {
    pub name: String,
    pub kind: Type,
    pub nullable: bool,
    /// True if its moments are without a zone.
    pub without_zone: bool,
}

impl Found {
    fn guessed((name, guess): (String, Guess)) -> Found {
        let (kind, without_zone) = guess.found();
        Found {
            name,
            kind,
            nullable: true,
            without_zone,
        }
    }
}

/// The suggestion of a file.
#[derive(Debug)]
pub struct Inferred {
    /// The table's schema.
    pub schema: Schema,
    /// The numbers of the columns whose moments are without a zone.
    pub without_zone: Vec<usize>,
}

/// The schema that a file suggests: of CSV and JSON lines its first 10,000 rows, of Parquet and Arrow its own. The
/// key is these columns, or the first one if none is named. After it, the source is at its beginning again.
///
/// # Errors
/// If the file cannot be read, has no columns, or not those of the key; or if no table can have its columns.
pub fn infer(
    format: Format,
    source: &mut Source,
    key: &[String],
    delimiter: Option<u8>,
) -> Result<Inferred, InterchangeError> {
    let delimiter = delimiter.or(format.delimiter());
    let found = match format {
        Format::Csv | Format::Tsv => source.look_ahead(|source| found_in_csv(source, delimiter))?,
        Format::JsonLines => source.look_ahead(found_in_json)?,
        _ => columnar::columns(format, source)?,
    };
    let first = found.first().ok_or(InterchangeError::NothingToInfer {
        reason: "there are none",
    })?;
    let key: Vec<&str> = match key {
        [] => vec![&first.name],
        names => names.iter().map(String::as_str).collect(),
    };
    let is_there = |key: &&str| found.iter().any(|column| column.name == *key);
    if !key.iter().all(is_there) {
        return Err(InterchangeError::NothingToInfer {
            reason: "the file has not the columns of the key",
        });
    }
    let mut schema = Schema::new();
    for column in &found {
        schema = schema.column(&column.name, column.kind);
        if column.nullable && !key.contains(&&*column.name) {
            schema = schema.nullable();
        }
    }
    let columns = found.iter().enumerate();
    let without_zone = columns.filter(|(_, column)| column.without_zone);
    Ok(Inferred {
        schema: schema.primary_key(key).build()?,
        without_zone: without_zone.map(|(number, _)| number).collect(),
    })
}

fn found_in_csv(
    source: &mut dyn BufRead,
    delimiter: Option<u8>,
) -> Result<Vec<Found>, InterchangeError> {
    let mut records = Records::new(source, delimiter.unwrap_or(b','));
    let names = read_header(&mut records, delimiter.is_none())?;
    let mut seen: Vec<_> = names
        .into_iter()
        .map(|name| (name, Guess::default()))
        .collect();
    for _ in 0..ROWS {
        let count = match records.next()? {
            None => break,
            // Malformed lines are reported when they are imported.
            Some((_, Record::Blank | Record::Malformed(_))) => continue,
            Some((_, Record::Fields(count))) => count,
        };
        for ((_, guess), field) in seen.iter_mut().zip(records.fields.iter().take(count)) {
            if field.quoted || !field.text.is_empty() {
                guess.see(&field.text);
            }
        }
    }
    Ok(seen.into_iter().map(Found::guessed).collect())
}

fn found_in_json(source: &mut dyn BufRead) -> Result<Vec<Found>, InterchangeError> {
    let mut seen: Vec<(String, Guess)> = Vec::new();
    let (mut lines, mut line) = (Lines::new(source), Vec::new());
    for _ in 0..ROWS {
        if read_line(&mut lines, &mut line)?.is_none() {
            break;
        }
        // Lines without an object are reported when they are imported.
        let Ok(Members(members)) = serde_json::from_slice(&line) else {
            continue;
        };
        for (name, json) in members {
            let place = seen.iter().position(|(seen, _)| *seen == name);
            let place = place.unwrap_or_else(|| {
                seen.push((name.into_owned(), Guess::default()));
                seen.len() - 1
            });
            if let Some((_, guess)) = seen.get_mut(place) {
                see(guess, json.get());
            }
        }
    }
    Ok(seen.into_iter().map(Found::guessed).collect())
}

fn see(guess: &mut Guess, json: &str) {
    match Token::of(json) {
        Token::Null => {}
        Token::Number(word) | Token::Bool(word) => guess.see(word),
        Token::Text(text) => {
            let mut number = Guess::default();
            number.see(&text);
            match number.found() {
                // A text of digits is a text, or it would not have been quoted.
                (Type::I64 | Type::F64 | Type::Decimal { .. } | Type::Bool, _) => guess.see_text(),
                _ => guess.see(&text),
            }
        }
        Token::HalfPair | Token::List | Token::Object => guess.see_text(),
    }
}
