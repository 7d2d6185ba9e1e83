//! Printing answers: aligned, as CSV, or as JSON.

use super::answer::{Answer, Column, ColumnKind, Rows};
use sardonyx_command::output::Output;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use std::io::Write;

/// A format.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Format {
    /// In columns, for people
    Aligned,
    /// Each row as a record, with a line for each column
    Expanded,
    /// Comma-separated values (RFC 4180), with a head; a null is an empty field, and an empty text is `""`
    Csv,
    /// An object in a line for each row
    Json,
}

impl Format {
    /// True for a format for people, in which a statement without rows prints its tag.
    fn is_for_people(self) -> bool {
        matches!(self, Format::Aligned | Format::Expanded)
    }
}

/// Prints an answer; with `is_terse` only its rows, without their number and without tags.
///
/// # Errors
/// Standard output is closed.
pub fn show(
    output: &mut Output,
    answer: &Answer,
    format: Format,
    is_terse: bool,
) -> anyhow::Result<()> {
    match answer {
        Answer::Rows(rows) => write_rows(output, rows, format, is_terse)?,
        Answer::Done(what) if format.is_for_people() && !is_terse => writeln!(output, "{what}")?,
        Answer::Done(_) => {}
        Answer::Copied(bytes) => output.write_all(bytes)?,
        Answer::Notice(text) => output.note(text),
    }
    Ok(())
}

/// Writes rows in this format.
///
/// # Errors
/// The writer's.
pub fn write_rows(
    out: &mut dyn Write,
    rows: &Rows,
    format: Format,
    is_terse: bool,
) -> anyhow::Result<()> {
    match format {
        Format::Aligned => {
            write!(out, "{}", aligned(rows))?;
            if !is_terse {
                let count = rows.rows.len();
                let rows = if count == 1 { "row" } else { "rows" };
                writeln!(out, "({count} {rows})\n")?;
            }
        }
        Format::Expanded if rows.rows.is_empty() && !is_terse => writeln!(out, "(0 rows)\n")?,
        Format::Expanded => {
            write!(out, "{}", expanded(rows))?;
            if !is_terse {
                writeln!(out)?;
            }
        }
        Format::Csv => {
            csv_line(out, rows.columns.iter().map(|column| Some(&*column.name)))?;
            for row in &rows.rows {
                csv_line(out, row.iter().map(Option::as_deref))?;
            }
        }
        Format::Json => {
            for row in &rows.rows {
                serde_json::to_writer(&mut *out, &Object(&rows.columns, row))?;
                writeln!(out)?;
            }
        }
    }
    Ok(())
}

/// A row as an object: its columns in their order, numbers with all their digits. A number that JSON does not have,
/// such as infinity, is a text.
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
    output: &mut dyn Write,
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

/// Columns as wide as their widest line; numbers are right-aligned; a text of several lines takes several.
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

/// A record for each row, as in psql: a rule with its number, then names and values.
fn expanded(rows: &Rows) -> String {
    let name_of = |column: &Column| printable(&column.name);
    let wide = |text: &str| text.chars().count();
    let names = rows.columns.iter().map(|column| wide(&name_of(column)));
    let names = names.max().unwrap_or_default();
    let texts = rows.rows.iter().flatten();
    let values = texts.flat_map(|text| lines_of(text.as_deref()));
    let values = values.map(|line| wide(&line)).max().unwrap_or_default();
    let mut lines = Vec::new();
    for (at, row) in rows.rows.iter().enumerate() {
        let head = format!("-[ RECORD {} ]", at + 1);
        // The bar between names and values continues in the rule, if the head leaves it free.
        let head = format!("{head:-<width$}", width = names + 1);
        let bar = if wide(&head) == names + 1 { "+" } else { "" };
        lines.push(format!(
            "{:-<width$}",
            head + bar,
            width = names + values + 3
        ));
        for (column, text) in rows.columns.iter().zip(row) {
            for (number, part) in lines_of(text.as_deref()).iter().enumerate() {
                let name = if number == 0 {
                    name_of(column)
                } else {
                    String::new()
                };
                let blanks = " ".repeat(names - wide(&name));
                lines.push(format!("{name}{blanks} | {part}").trim_end().to_string());
            }
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn join(parts: impl Iterator<Item = String>, between: &str) -> String {
    let line = parts.collect::<Vec<_>>().join(between);
    line.trim_end().to_string()
}

/// The lines of a value, safe for a terminal: a character that would move its cursor or change its state is escaped.
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
    fn a_record_has_a_line_for_each_column() {
        let column = |name: &str| Column {
            name: name.into(),
            kind: ColumnKind::Other,
        };
        let rows = Rows {
            columns: vec![column("id"), column("a_name_longer_than_heads")],
            rows: vec![
                vec![Some("7".into()), Some("a\nlonger".into())],
                vec![None, Some("\x1b[2J".into())],
            ],
        };
        let expected = "-[ RECORD 1 ]------------+----------\n\
                        id                       | 7\n\
                        a_name_longer_than_heads | a\n\
                        \x20                        | longer\n\
                        -[ RECORD 2 ]------------+----------\n\
                        id                       |\n\
                        a_name_longer_than_heads | \\u{1b}[2J\n";
        assert_eq!(expanded(&rows), expected);
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
