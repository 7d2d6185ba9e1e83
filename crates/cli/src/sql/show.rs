//! How answers are printed: aligned, as CSV, or as JSON.

use super::answer::{Answer, Column, ColumnKind, Rows};
use sardonyx_command::output::Output;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use std::io::Write;

/// In which form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// In columns, for people
    Aligned,
    /// Comma-separated values (RFC 4180), with a head; a null is an empty field, and an empty text is `""`
    Csv,
    /// An object in a line for each row
    Json,
}

/// Prints an answer; where `is_terse`, only rows: not how many, nor what was done.
///
/// # Errors
/// Standard output is gone.
pub fn show(
    output: &mut Output,
    answer: &Answer,
    format: Format,
    is_terse: bool,
) -> anyhow::Result<()> {
    match (answer, format) {
        (Answer::Rows(rows), Format::Aligned) => {
            write!(output, "{}", aligned(rows))?;
            if !is_terse {
                let count = rows.rows.len();
                let rows = if count == 1 { "row" } else { "rows" };
                writeln!(output, "({count} {rows})\n")?;
            }
        }
        (Answer::Rows(rows), Format::Csv) => {
            csv_line(
                output,
                rows.columns.iter().map(|column| Some(&*column.name)),
            )?;
            for row in &rows.rows {
                csv_line(output, row.iter().map(Option::as_deref))?;
            }
        }
        (Answer::Rows(rows), Format::Json) => {
            for row in &rows.rows {
                output.line(&Object(&rows.columns, row))?;
            }
        }
        (Answer::Done(what), Format::Aligned) if !is_terse => writeln!(output, "{what}")?,
        (Answer::Done(_), _) => {}
        (Answer::Copied(bytes), _) => output.write_all(bytes)?,
        (Answer::Notice(text), _) => output.note(text),
    }
    Ok(())
}

/// A row as an object: its columns in their order, numbers with all their digits. What JSON has no number for, as
/// infinity, is a text.
struct Object<'a>(&'a [Column], &'a [Option<String>]);

impl Serialize for Object<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, text) in self.0.iter().zip(self.1) {
            let raw = |text: &String| RawValue::from_string(text.clone()).ok();
            match (text, column.kind) {
                (Some(text), ColumnKind::Truth) => {
                    map.serialize_entry(&column.name, &(text == "t"))?
                }
                (Some(text), ColumnKind::Number | ColumnKind::Json) => match raw(text) {
                    Some(value) => map.serialize_entry(&column.name, &value)?,
                    None => map.serialize_entry(&column.name, text)?,
                },
                (text, _) => map.serialize_entry(&column.name, text)?,
            }
        }
        map.end()
    }
}

fn csv_line<'a>(
    output: &mut Output,
    fields: impl Iterator<Item = Option<&'a str>>,
) -> anyhow::Result<()> {
    for (at, field) in fields.enumerate() {
        if at > 0 {
            write!(output, ",")?;
        }
        match field {
            None => {}
            Some(text) if text.is_empty() || text.contains([',', '"', '\n', '\r']) => {
                write!(output, "\"{}\"", text.replace('"', "\"\""))?;
            }
            Some(text) => write!(output, "{text}")?,
        }
    }
    Ok(writeln!(output)?)
}

/// Columns as wide as their widest line; numbers stand right; a text of several lines takes several.
fn aligned(rows: &Rows) -> String {
    let cells: Vec<Vec<Vec<String>>> = rows
        .rows
        .iter()
        .map(|row| row.iter().map(|text| lines_of(text.as_deref())).collect())
        .collect();
    let width = |(at, column): (usize, &Column)| {
        let lines = cells.iter().filter_map(|row| row.get(at)).flatten();
        let widths = lines.map(|line| line.chars().count());
        let name = printable(&column.name).chars().count();
        widths.chain([name]).max().unwrap_or(name)
    };
    let widths: Vec<usize> = rows.columns.iter().enumerate().map(width).collect();
    let padded = |part: &str, at: usize, is_right: bool| {
        let blanks = " ".repeat(widths[at].saturating_sub(part.chars().count()));
        match is_right {
            true => format!(" {blanks}{part} "),
            false => format!(" {part}{blanks} "),
        }
    };
    let names = rows.columns.iter().enumerate();
    let names = names.map(|(at, column)| padded(&printable(&column.name), at, false));
    let rules = widths.iter().map(|width| "-".repeat(width + 2));
    let mut lines = vec![join(names, "|"), join(rules, "+")];
    for row in &cells {
        let height = row.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            let parts = row.iter().zip(&rows.columns).enumerate();
            let parts = parts.map(|(at, (cell, column))| {
                let part = cell.get(line).map_or("", String::as_str);
                padded(part, at, column.kind == ColumnKind::Number)
            });
            lines.push(join(parts, "|"));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn join(parts: impl Iterator<Item = String>, between: &str) -> String {
    let line = parts.collect::<Vec<_>>().join(between);
    line.trim_end().to_string()
}

/// The lines of a value, as a terminal may have them: what would move its cursor or change its state is written as it
/// would be in a program.
fn lines_of(text: Option<&str>) -> Vec<String> {
    let Some(text) = text else {
        return vec![String::new()];
    };
    text.split('\n').map(printable).collect()
}

fn printable(line: &str) -> String {
    let characters = line.chars().map(|one| match one.is_control() {
        true => one.escape_default().to_string(),
        false => one.to_string(),
    });
    characters.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_a_terminal_is_left_alone() {
        let column = |name: &str, kind| Column {
            name: name.into(),
            kind,
        };
        let rows = Rows {
            columns: vec![
                column("id", ColumnKind::Number),
                column("what", ColumnKind::Other),
            ],
            rows: vec![
                vec![Some("7".into()), Some("a\nlonger".into())],
                vec![Some("1000".into()), None],
                vec![None, Some("\x1b[2J".into())],
            ],
        };
        let expected = " id   | what\n\
                        ------+-----------\n\
                        \x20   7 | a\n\
                        \x20     | longer\n\
                        \x201000 |\n\
                        \x20     | \\u{1b}[2J\n";
        assert_eq!(aligned(&rows), expected);
    }

    #[test]
    fn json_has_numbers_truths_and_documents() {
        let column = |name: &str, kind| Column {
            name: name.into(),
            kind,
        };
        let columns = [
            column("n", ColumnKind::Number),
            column("t", ColumnKind::Truth),
            column("j", ColumnKind::Json),
            column("x", ColumnKind::Other),
            column("nan", ColumnKind::Number),
        ];
        let texts = ["1.50", "t", "{\"a\":[1]}", "1", "NaN"];
        let row = texts.map(|text| Some(text.to_string()));
        let json = serde_json::to_string(&Object(&columns, &row)).unwrap();
        assert_eq!(
            json,
            r#"{"n":1.50,"t":true,"j":{"a":[1]},"x":"1","nan":"NaN"}"#
        );
    }
}
