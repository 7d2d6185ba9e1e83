//! `import`: the rows of a file into a table.

use crate::export::{format_of, is_standard, parse_format, progress};
use crate::store::StoreOption;
use crate::target::Target;
use anyhow::Context;
use clap::ValueEnum;
use sardonyx::Error;
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_interchange::{BadRow, Batch, Format, ReadAhead, Reader, Source, infer};
use sardonyx_results::units;
use sardonyx_table::RowWriter;
use serde_json::json;
use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// How many bad lines are told one by one.
const TOLD_MAX: u64 = 20;

/// Insert the rows of a file into a table: CSV, JSON lines, Parquet or Arrow IPC.
///
/// Of CSV the header names the columns, of JSON every object does, Parquet and Arrow have a schema; columns that are not
/// named get their defaults. What the file cannot be at all, such as text for a column of numbers in Parquet, is told
/// before any row is read. A row whose key is there already, or that does not meet the table's conditions, is a bad line,
/// too. Rows are inserted in transactions of --batch rows, or fewer where they are long. With --on-error stop (the
/// default) the first bad line ends the import: what was inserted before its batch stays, its batch does not. With skip
/// it is told, counted and left out; the exit code is then 1. --create declares the table, with the file's columns (of
/// CSV and JSON those that its first 10,000 rows suggest), and makes the database if it is not there. CSV, JSON lines
/// and Arrow streams may come from a pipe.
///
/// Examples:
///   sardonyx import bank.sdx accounts accounts.csv --create --key id
///   sardonyx import bank.sdx accounts more.jsonl --on-error skip
///   zcat accounts.csv.gz | sardonyx import bank.sdx accounts - --format csv
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// The table
    table: String,
    /// The file; - is standard input
    file: PathBuf,
    /// csv, jsonl, parquet, arrow (an IPC file) or arrows (an IPC stream) [default: what the file's name ends in]
    #[arg(long, value_parser = parse_format)]
    format: Option<Format>,
    /// Declare the table; make the database if it is not there
    #[arg(long)]
    create: bool,
    /// The primary key's columns, of a table that is declared [default: the first column]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", requires = "create")]
    key: Vec<String>,
    /// What becomes of the import at a bad line
    #[arg(long, value_enum, default_value_t = OnError::Stop, value_name = "WHAT")]
    on_error: OnError,
    /// Rows of a transaction
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
    /// Where its parts were moved to
    #[command(flatten)]
    moved: Directories,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum OnError {
    /// It ends.
    Stop,
    /// The line is left out.
    Skip,
}

impl Arguments {
    /// Inserts them.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let format = format_of(self.format, &self.file)?;
        let told = || self.file.display().to_string();
        let (mut source, length) = self.source().with_context(told)?;
        let tables = match self.create {
            true => {
                let schema = infer(format, &mut source, &self.key).with_context(told)?;
                let tables = self.target.database_or_new(&self.moved, &self.store)?;
                tables.run(|tx| tx.create_table(&self.table, schema))?;
                tables
            }
            false => self.target.database(&self.moved, &self.store)?,
        };
        let schema =
            tables.read(|view| Ok::<_, Error>(view.rows(&self.table)?.schema().clone()))??;
        let columns = schema.columns.len();
        let reader = Reader::new(format, source, schema).with_context(told)?;
        let mut ahead = ReadAhead::start(format, reader, self.batch as usize)?;
        let bar = progress(length, "bytes");
        let mut import = Import {
            arguments: self,
            output,
            columns,
            rows: 0,
            bad: 0,
        };
        while let Some(batch) = ahead.next_batch().with_context(told)? {
            import.batch(&tables, &batch)?;
            bar.set_position(batch.position);
            ahead.give_back(batch);
        }
        bar.finish_and_clear();
        let Import { rows, bad, .. } = import;
        // Nothing waited for the disk so far.
        tables.flush()?;
        tables.close()?;
        match output.is_json() {
            true => output.value(&json!({ "rows": rows, "bad_lines": bad }))?,
            false => {
                let (rows, bad) = (units::count(rows), units::count(bad));
                writeln!(output, "{rows} rows inserted, {bad} bad lines")?;
            }
        }
        Ok(if bad == 0 { Exit::Done } else { Exit::Found })
    }

    /// The file, and how many bytes it has; 0 if that is not known.
    fn source(&self) -> io::Result<(Source, u64)> {
        if is_standard(&self.file) {
            return Ok((Source::Stream(Box::new(io::stdin())), 0));
        }
        let file = File::open(&self.file)?;
        let metadata = file.metadata()?;
        Ok(match metadata.is_file() {
            true => (Source::File(file), metadata.len()),
            false => (Source::Stream(Box::new(file)), 0),
        })
    }
}

/// An import on its way.
struct Import<'a> {
    arguments: &'a Arguments,
    output: &'a mut Output,
    columns: usize,
    rows: u64,
    bad: u64,
}

impl Import<'_> {
    /// Inserts rows as one transaction. A bad one is left out, or ends the import.
    fn batch(&mut self, tables: &sardonyx::Tables, batch: &Batch) -> anyhow::Result<()> {
        // With those that end the import, before anything of their batch is inserted.
        batch.bad.iter().try_for_each(|bad| self.bad(bad))?;
        let stops = self.arguments.on_error == OnError::Stop;
        let bad = tables.run_with(sardonyx::Durability::Deferred, |tx| {
            let mut rows = tx.rows(&self.arguments.table)?;
            let mut bad = Vec::new();
            let mut row = RowWriter::new(self.columns);
            for (place, values) in batch.rows() {
                row.clear();
                for (column, value) in values {
                    row.set(column, value);
                }
                match rows.insert_row(&row) {
                    Ok(()) => {}
                    Err(error @ (Error::Duplicate(_) | Error::Refused(_))) => {
                        let told = BadRow {
                            place,
                            column: None,
                            reason: error.to_string(),
                        };
                        if stops {
                            return Err(Error::other(Stopped(told)));
                        }
                        bad.push(told);
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(bad)
        });
        let bad = bad.with_context(|| self.arguments.file.display().to_string())?;
        self.rows += (batch.len() - bad.len()) as u64;
        bad.iter().try_for_each(|bad| self.bad(bad))
    }

    /// Tells a bad line, or ends the import by it.
    fn bad(&mut self, bad: &BadRow) -> anyhow::Result<()> {
        let file = self.arguments.file.display();
        if self.arguments.on_error == OnError::Stop {
            anyhow::bail!("{file}, {bad} ({} rows were inserted before)", self.rows);
        }
        self.bad += 1;
        match self.bad {
            ..=TOLD_MAX => self.output.note(&format!("{file}, {bad}")),
            count if count == TOLD_MAX + 1 => self.output.note("more bad lines are counted only"),
            _ => {}
        }
        Ok(())
    }
}

/// A bad line that ends an import.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0}; the rows of its batch were not inserted, those before were (--on-error skip leaves it out)"
)]
struct Stopped(BadRow);
