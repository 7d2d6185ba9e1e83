//! The schema that a file's first rows suggest.
//!
//! Of CSV every field, of JSON every text, number, true or false is looked at: the narrowest type that has all
//! of a column's values is its type; text has all. Only the key's columns are without nulls, since rows that
//! were not looked at may have some.

use crate::csv::{Unfit, read_record};
use crate::{Format, InterchangeError};
use sardonyx_table::schema::{
    Column, IndexDefinition, KeyPart, NullBit, PRIMARY, Schema, Type, Value,
};
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

/// A column that was seen.
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

    fn kind(&self) -> Type {
        let found = TRIED.into_iter().zip(self.fits).find(|(_, fits)| *fits);
        match found {
            Some((kind, _)) if self.values > 0 => kind,
            _ => Type::Text,
        }
    }
}

/// The schema that the first 10,000 rows suggest. The key is these columns, or the first one if none is named.
///
/// # Errors
/// If the file cannot be read, has no columns, or not those of the key.
pub fn infer(
    format: Format,
    mut source: impl BufRead,
    key: &[String],
) -> Result<Schema, InterchangeError> {
    let seen = match format {
        Format::Csv => seen_in_csv(&mut source)?,
        Format::JsonLines => seen_in_json(&mut source)?,
    };
    let first = seen.first().ok_or(InterchangeError::NothingToInfer {
        reason: "there are none",
    })?;
    let key = if key.is_empty() {
        vec![first.name.clone()]
    } else {
        key.to_vec()
    };
    schema_of(&seen, &key)
}

fn seen_in_csv(source: &mut impl BufRead) -> Result<Vec<Seen>, InterchangeError> {
    let (mut buffer, mut fields, mut lines) = (Vec::new(), Vec::new(), 0);
    let mut seen: Vec<Seen> = Vec::new();
    for row in 0..=ROWS {
        let count = match read_record(source, &mut buffer, &mut fields, &mut lines) {
            None => break,
            Some(Err(Unfit::Io(error))) => return Err(error.into()),
            // It is told when it is imported.
            Some(Err(Unfit::Wrong(_))) => continue,
            Some(Ok(count)) => count,
        };
        if row == 0 {
            let names = fields.iter().take(count);
            seen = names
                .map(|field| Seen::new(field.text.trim_start_matches('\u{feff}').to_string()))
                .collect();
            continue;
        }
        for (seen, field) in seen.iter_mut().zip(fields.iter().take(count)) {
            if field.quoted || !field.text.is_empty() {
                seen.text(&field.text);
            }
        }
    }
    Ok(seen)
}

fn seen_in_json(source: &mut impl BufRead) -> Result<Vec<Seen>, InterchangeError> {
    let mut seen: Vec<Seen> = Vec::new();
    let mut line = Vec::new();
    for _ in 0..ROWS {
        line.clear();
        if source.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let Ok(object) = serde_json::from_slice::<serde_json::Map<_, _>>(&line) else {
            continue;
        };
        for (name, json) in &object {
            let place = seen.iter().position(|seen| seen.name == *name);
            let place = place.unwrap_or_else(|| {
                seen.push(Seen::new(name.clone()));
                seen.len() - 1
            });
            if let Some(seen) = seen.get_mut(place) {
                seen.json(json);
            }
        }
    }
    Ok(seen)
}

/// Places the columns: the widest first, so that none needs padding, then the bits of nulls.
fn schema_of(seen: &[Seen], key: &[String]) -> Result<Schema, InterchangeError> {
    let mut columns: Vec<Column> = (seen.iter())
        .map(|seen| Column {
            name: seen.name.clone(),
            kind: seen.kind(),
            default: Value::Null,
            offset: 0,
            null: None,
            dropped: false,
            since_shape: 0,
        })
        .collect();
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|&number| {
        std::cmp::Reverse(columns.get(number).map_or(0, |column| column.kind.align()))
    });
    let mut end = 0;
    for number in order {
        if let Some(column) = columns.get_mut(number) {
            column.offset = end;
            end += column.kind.bytes();
        }
    }
    let mut nulls = 0;
    for column in &mut columns {
        if !key.contains(&column.name) {
            column.null = Some(NullBit {
                byte: (end + nulls / 8) as u32,
                bit: (nulls % 8) as u8,
            });
            nulls += 1;
        }
    }
    let mut schema = Schema::default();
    schema.row_bytes = (end + nulls.div_ceil(8)).next_multiple_of(8).max(8);
    let number = |name: &String| columns.iter().position(|column| column.name == *name);
    let parts: Option<Vec<KeyPart>> = (key.iter())
        .map(|name| {
            Some(KeyPart {
                column: number(name)?,
                descending: false,
            })
        })
        .collect();
    schema.primary = IndexDefinition {
        name: PRIMARY.to_string(),
        unique: true,
        key: parts.ok_or(InterchangeError::NothingToInfer {
            reason: "the file has not the columns of the key",
        })?,
        ..IndexDefinition::default()
    };
    schema.columns = columns;
    Ok(schema)
}
