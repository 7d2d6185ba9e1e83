//! `export`: the rows of a table into a file.

use crate::rows::numbers_of;
use crate::space::{Found, Readable, look_at};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_interchange::{Format, Writer};
use sardonyx_results::units;
use sardonyx_rows::schema::{Type, ValueRef};
use sardonyx_sql::EnumLabels;
use serde_json::json;
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Write the rows of a table to a file.
///
/// The file is CSV, TSV, JSON lines, Parquet or Arrow IPC, and whole or absent. The database is not changed; while a
/// program has it open, the rows are those of one state that it had meanwhile. With --follow that is its last commit,
/// found in its log at any write rate. Nulls are empty fields in CSV, an empty text is "". Bytes are \x and hexadecimal
/// digits in CSV, base64 in JSON; decimals are texts in JSON; dates and times follow ISO 8601. Parquet is compressed
/// with Snappy, Arrow is not compressed; both have the columns' types, integers of 128 bits as decimals of
/// 256. Any format may be written to a pipe.
///
/// Examples:
///   sardonyx export bank.sdx accounts accounts.csv --columns id,balance
///   sardonyx export bank.sdx accounts accounts.parquet
///   sardonyx export bank.sdx accounts - --format jsonl | gzip > accounts.jsonl.gz
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    database: Readable,
    /// The table
    table: String,
    /// The file, which must not exist; - is standard output
    file: PathBuf,
    /// csv, tsv, jsonl, parquet, arrow (an IPC file) or arrows (an IPC stream) [default: by the file's name]
    #[arg(long, value_parser = parse_format)]
    format: Option<Format>,
    /// Write only these columns
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    columns: Vec<String>,
}

/// Reads the name of a format.
pub fn parse_format(name: &str) -> Result<Format, String> {
    Format::named(name).ok_or_else(|| format!("one of {} is expected", Format::NAMES))
}

/// Returns true if a file's name means standard input or output.
pub fn is_standard(file: &Path) -> bool {
    file == Path::new("-")
}

/// The given format, or the one of a file's name.
pub fn format_of(format: Option<Format>, file: &Path) -> anyhow::Result<Format> {
    let format = format.or_else(|| Format::of_path(file));
    format.ok_or_else(|| {
        let names = Format::NAMES;
        let text =
            format!("the file's name does not say its format: use --format with one of {names}");
        UsageError::Arguments(text).into()
    })
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let format = format_of(self.format, &self.file)?;
        let source = self.database.source(output)?;
        if is_standard(&self.file) {
            // While a writer has the database open, the rows are read again after an error; printed rows stay printed.
            let begun = Cell::new(false);
            look_at(&source, |tables| {
                anyhow::ensure!(!begun.replace(true), "the database cannot be read further");
                let mut sink = BufWriter::with_capacity(1 << 20, io::stdout());
                self.write(tables, format, &mut sink)
            })?
            .ok_or_else(|| self.unknown_table())?;
            return Ok(Exit::Done);
        }
        let file = || self.file.display().to_string();
        if self.file.exists() {
            let text = format!("{} exists already: name a new file, or remove it", file());
            return Err(UsageError::Arguments(text).into());
        }
        let mut unfinished = self.file.clone().into_os_string();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let written = look_at(&source, |tables| {
            let mut sink =
                BufWriter::with_capacity(1 << 20, File::create(&unfinished).with_context(file)?);
            let count = self.write(tables, format, &mut sink)?;
            sink.get_ref().sync_all()?;
            Ok(count)
        });
        let count = match written {
            Ok(Some(count)) => count,
            Ok(None) => return Err(self.unknown_table()),
            Err(error) => {
                let _ = fs::remove_file(&unfinished);
                return Err(error);
            }
        };
        fs::rename(&unfinished, &self.file).with_context(file)?;
        match output.is_json() {
            true => output.value(&json!({ "rows": count, "file": self.file }))?,
            false => writeln!(
                output,
                "{} rows in {}",
                units::count(count),
                self.file.display()
            )?,
        }
        Ok(Exit::Done)
    }

    /// Writes the rows of the recovered state; returns their number.
    fn write(
        &self,
        mut tables: Found<'_>,
        format: Format,
        sink: impl Write + Send,
    ) -> anyhow::Result<u64> {
        let mut schema = tables.schema(&self.table)?;
        let labels = self.labels(&mut tables)?;
        for column in labels.columns() {
            // The table has the numbers of labels, and the file the labels.
            if let Some(column) = Arc::make_mut(&mut schema).columns.get_mut(column) {
                column.kind = Type::Text;
            }
        }
        let columns = numbers_of(&schema, &self.columns)?;
        let mut writer = Writer::new(format, sink, &schema, &columns)?;
        let bar = progress(tables.count(&self.table)?, "rows");
        let mut count = 0_u64;
        tables.each_row(&self.table, &mut |row| {
            columns
                .iter()
                .try_for_each(|column| row.cell(*column).map(drop))?;
            writer.row(|column| labels.shown(column, row.cell(column).unwrap_or_default()))?;
            count += 1;
            if count.is_multiple_of(10_000) {
                bar.set_position(count);
            }
            Ok(true)
        })?;
        writer.finish()?;
        bar.finish_and_clear();
        Ok(count)
    }

    /// The labels of the columns of enum types.
    fn labels(&self, tables: &mut Found<'_>) -> anyhow::Result<EnumLabels> {
        let mut rows = Vec::new();
        if tables.schema(EnumLabels::TABLE).is_err() {
            // SQL was never spoken to the database.
            return Ok(EnumLabels::default());
        }
        tables.each_row(EnumLabels::TABLE, &mut |row| {
            let mut texts: [String; 3] = Default::default();
            for (place, text) in texts.iter_mut().enumerate() {
                if let ValueRef::Text(found) = row.cell(place)? {
                    *text = found.to_string();
                }
            }
            rows.push(texts);
            Ok(true)
        })?;
        Ok(EnumLabels::of(&self.table, &rows)?)
    }

    fn unknown_table(&self) -> anyhow::Error {
        let name = self.table.clone();
        sardonyx_storage::catalogue::CatalogueError::UnknownTable { name }.into()
    }
}

/// A bar on a terminal's standard error; nothing elsewhere.
pub fn progress(length: u64, what: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    let template = match what {
        "bytes" => "{wide_bar} {bytes}/{total_bytes} {eta}",
        _ => "{wide_bar} {human_pos}/{human_len} rows {eta}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
