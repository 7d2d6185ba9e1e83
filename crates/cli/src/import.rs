//! `import`: the rows of a file into a table.

use crate::exit::Exit;
use crate::export::{format_of, parse_format, progress};
use crate::output::Output;
use crate::target::Target;
use anyhow::Context;
use clap::ValueEnum;
use sardonyx::Error;
use sardonyx_interchange::{BadLine, Format, ParsedRow, Reader, infer};
use sardonyx_lab::directories::Directories;
use sardonyx_results::units;
use sardonyx_table::RowWriter;
use serde_json::json;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::PathBuf;

/// How many bad lines are told one by one.
const TOLD_MAX: u64 = 20;

/// Insert the rows of a file into a table: CSV or JSON lines.
///
/// Of CSV the header names the columns, of JSON every object does; columns that are not named get their defaults. A row
/// whose key is there already, or that does not meet the table's conditions, is a bad line, too. Rows are inserted in
/// transactions of --batch rows. With --on-error stop (the default) the first bad line ends the import: what was
/// inserted before its batch stays, its batch does not. With skip it is told, counted and left out; the exit code is then 1.
/// --create declares the table, with the columns that the file's first 10,000 rows suggest.
///
/// Examples:
///   sardonyx import bank.sdx accounts accounts.csv --create --key id
///   sardonyx import bank.sdx accounts more.jsonl --on-error skip
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// The table
    table: String,
    /// The file
    file: PathBuf,
    /// csv or jsonl [default: what the file's name ends in]
    #[arg(long, value_parser = parse_format)]
    format: Option<Format>,
    /// Declare the table
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
        let open = || {
            let file = File::open(&self.file);
            let file = file.with_context(|| self.file.display().to_string());
            anyhow::Ok(BufReader::with_capacity(1 << 20, file?))
        };
        let tables = self.target.database(&self.moved)?;
        if self.create {
            let schema = infer(format, open()?, &self.key)?;
            tables.run(|tx| tx.create_table(&self.table, schema))?;
        }
        let schema =
            tables.read(|view| Ok::<_, Error>(view.rows(&self.table)?.schema().clone()))??;
        let mut reader = Reader::new(format, open()?, &schema)?;
        let bar = progress(self.file.metadata()?.len(), "bytes");
        let mut import = Import {
            arguments: self,
            output,
            columns: schema.columns.len(),
            rows: 0,
            bad: 0,
        };
        let mut batch: Vec<(u64, ParsedRow)> = Vec::with_capacity(self.batch as usize);
        loop {
            match reader.next_row()? {
                Some(Ok(row)) => batch.push(row),
                Some(Err(bad)) => import.bad(&bad)?,
                None => break,
            }
            if batch.len() == self.batch as usize {
                import.insert(&tables, &batch)?;
                batch.clear();
                bar.set_position(reader.bytes_read());
            }
        }
        import.insert(&tables, &batch)?;
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
    fn insert(
        &mut self,
        tables: &sardonyx::Tables,
        batch: &[(u64, ParsedRow)],
    ) -> anyhow::Result<()> {
        let columns = self.columns;
        let bad = tables.run_with(sardonyx::Durability::Deferred, |tx| {
            let mut rows = tx.rows(&self.arguments.table)?;
            let mut bad = Vec::new();
            for (line, values) in batch {
                let mut row = RowWriter::new(columns);
                for (column, value) in values {
                    row.set(*column, value.as_ref());
                }
                match rows.insert_row(&row) {
                    Ok(()) => {}
                    Err(error @ (Error::Duplicate(_) | Error::Refused(_))) => {
                        let told = BadLine {
                            line: *line,
                            column: None,
                            reason: error.to_string(),
                        };
                        if self.arguments.on_error == OnError::Stop {
                            return Err(Error::other(Stopped(told)));
                        }
                        bad.push(told);
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(bad)
        })?;
        self.rows += (batch.len() - bad.len()) as u64;
        bad.iter().try_for_each(|bad| self.bad(bad))
    }

    /// Tells a bad line, or ends the import by it.
    fn bad(&mut self, bad: &BadLine) -> anyhow::Result<()> {
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
struct Stopped(BadLine);
