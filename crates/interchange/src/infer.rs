//! The schema that a file suggests.
//!
//! Parquet and Arrow files say what their columns are. Of CSV every field, of JSON every text, number, true or
//! false of the first rows is looked at: the narrowest type that has all of a column's values is its type; text
//! has all. Only the key's columns are without nulls then, since rows that were not looked at may have some.

use crate::columnar;
use crate::csv::{Unfit, read_header, read_record};
use crate::json::{Members, read_line};
use crate::source::Source;
use crate::{Format, InterchangeError};
use sardonyx_table::schema::{Schema, Type};
use sardonyx_table::value_text::parse_value;
use std::io::BufRead;

/// Rows that are looked at.
const ROWS: usize = 10_000;

/// Types that are tried, in this order.
const TRIED: [Type; 6] = [
    Type::I64,
    Type::F64,
    Type::Date,
    Type::Timestamp,
    Type::Uuid,
    Type::Bool,
];

/// A column that a file has.
pub(crate) struct Found {
    pub name: String,
    pub kind: Type,
    pub nullable: bool,
}

/// A column whose values were looked at.
struct Seen {
    name: String,
    /// Of `TRIED`, which have all values so far.
    fits: [bool; TRIED.len()],
    values: u64,
}

impl Seen {
    fn new(name: String) -> Self {
        Seen {
            name,
            fits: [true; TRIED.len()],
            values: 0,
        }
    }

    fn text(&mut self, text: &str) {
        self.values += 1;
        for (fits, kind) in self.fits.iter_mut().zip(TRIED) {
            // Digits are numbers, whatever else they could be.
            *fits = *fits
                && (kind != Type::Bool || !matches!(text, "0" | "1" | "t" | "f"))
                && parse_value(text, kind).is_ok();
        }
    }

    fn json(&mut self, json: &serde_json::Value) {
        use serde_json::Value::{Array, Bool, Null, Number, Object, String};
        match json {
            Null => {}
            String(text) if parse_value(text, Type::F64).is_ok() => {
                // A text of digits is a text, or nobody would have quoted it.
                self.values += 1;
                self.fits = [false; TRIED.len()];
            }
            String(text) => self.text(text),
            Number(number) => self.text(&number.to_string()),
            Bool(value) => self.text(if *value { "true" } else { "false" }),
            Array(_) | Object(_) => self.fits = [false; TRIED.len()],
        }
    }

    fn found(self) -> Found {
        let found = TRIED.into_iter().zip(self.fits).find(|(_, fits)| *fits);
        let kind = match found {
            Some((kind, _)) if self.values > 0 => kind,
            _ => Type::Text,
        };
        Found {
            name: self.name,
            kind,
            nullable: true,
        }
    }
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
) -> Result<Schema, InterchangeError> {
    let found = match format {
        Format::Csv => source.look_ahead(found_in_csv)?,
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
    Ok(schema.primary_key(key).build()?)
}

fn found_in_csv(source: &mut dyn BufRead) -> Result<Vec<Found>, InterchangeError> {
    let (mut buffer, mut fields, mut lines) = (Vec::new(), Vec::new(), 0);
    let names = read_header(source, &mut buffer, &mut fields, &mut lines)?;
    let mut seen: Vec<Seen> = names.into_iter().map(Seen::new).collect();
    for _ in 0..ROWS {
        let count = match read_record(source, &mut buffer, &mut fields, &mut lines) {
            None => break,
            Some(Err(Unfit::Io(error))) => return Err(error.into()),
            // It is told when it is imported.
            Some(Err(Unfit::Wrong(_))) => continue,
            Some(Ok(count)) => count,
        };
        for (seen, field) in seen.iter_mut().zip(fields.iter().take(count)) {
            if field.quoted || !field.text.is_empty() {
                seen.text(&field.text);
            }
        }
    }
    Ok(seen.into_iter().map(Seen::found).collect())
}

fn found_in_json(source: &mut dyn BufRead) -> Result<Vec<Found>, InterchangeError> {
    let mut seen: Vec<Seen> = Vec::new();
    let (mut line, mut lines) = (Vec::new(), 0);
    for _ in 0..ROWS {
        if !read_line(source, &mut line, &mut lines)? {
            break;
        }
        // What is none is told when it is imported.
        let Ok(Members(members)) = serde_json::from_slice(&line) else {
            continue;
        };
        for (name, json) in members {
            let place = seen.iter().position(|seen| seen.name == name);
            let place = place.unwrap_or_else(|| {
                seen.push(Seen::new(name));
                seen.len() - 1
            });
            if let Some(seen) = seen.get_mut(place) {
                seen.json(&json);
            }
        }
    }
    Ok(seen.into_iter().map(Seen::found).collect())
}
