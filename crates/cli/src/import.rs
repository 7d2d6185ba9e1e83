//! `import`: the rows of a file into a table, or the keys of a Redis' file.

mod keys;
mod references;
mod whole;

use crate::export::{format_of, is_standard, parse_format, progress};
use crate::nodes::NodeOption;
use crate::opened::of_tables_alone;
use crate::store::StoreOption;
use crate::target::Target;
use anyhow::Context;
use clap::ValueEnum;
use sardonyx::schema::{Schema, Type, Value};
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_interchange::{
    BadRow, Batch, Columns, Format, Place, ReadAhead, Reader, Source, infer,
};
use sardonyx_results::units;
use sardonyx_sql::{Database, IncomingRow, IncomingTable, SqlError};
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The rows that are read at once for a single transaction.
const ROWS_READ: usize = 1000;

/// The most bad lines that are reported one by one.
const TOLD_MAX: u64 = 20;

/// Insert the rows, or Redis' keys, of a file.
///
/// The file is CSV, TSV, JSON lines, Parquet or Arrow IPC. The columns' names are in the header of CSV, in each object
/// of JSON, and in the schema of Parquet and Arrow. Rows are stored as by COPY and INSERT: values are read as the
/// columns' declared types, and all conditions are checked. Missing columns get their defaults, also computed ones and
/// the next number of a sequence. Type mismatches of Parquet and Arrow columns are reported before any row is imported.
///
/// Rows are inserted in transactions of --batch rows, or fewer where they are long. A bad row is reported with its line
/// and column: one that is malformed, has a value that its column cannot take, or violates a constraint. With
/// --on-error stop (the default) the first bad row ends the import: rows of earlier batches stay, its own batch is
/// undone. With skip bad rows are reported, counted and left out.
///
/// References are checked when a batch is inserted, so a row may refer to a later one of its batch. --batch all inserts
/// the file as one transaction, as COPY does: whole or not at all, and with references in any order. With --on-error
/// skip, rows whose referenced rows do not exist yet are inserted when the file has ended.
///
/// CSV is UTF-8 with a header, and separated by commas or by --delimiter. An empty field is a null, "" an empty text.
/// Blank lines are skipped.
///
/// --create declares the table with the file's columns, and creates the database if there is none. The first 10,000
/// rows of CSV and JSON decide the types. True and false are boolean; whole numbers bigint, or numeric(38,0) beyond 64
/// bits; numbers with a point numeric(38,s) with the longest number of fractional digits; numbers with an exponent
/// double precision; dates, timestamps with or without a zone and UUIDs have their types. Everything else is text, such
/// as numbers with leading zeros (01234), with a plus sign (+49...) or of more than 38 digits.
///
/// An RDB file, as Redis saves it (dump.rdb), is imported without a table's name: its keys, with their databases, times
/// and streams, and its libraries of functions. The file is read whole before any key is stored, so that a damaged one
/// stores none; not if it is standard input. Expired keys are left out. A key that exists, or is too large for a row, is
/// a bad one for --on-error. --create creates the database if there is none. Keys are stored in several transactions.
///
/// Exit code 1: rows or keys were left out.
///
/// Examples:
///   sardonyx import bank.sdx accounts accounts.csv --create --key id
///   sardonyx import bank.sdx accounts excel.csv --delimiter ';'
///   sardonyx import bank.sdx accounts more.jsonl --on-error skip
///   zcat accounts.csv.gz | sardonyx import bank.sdx accounts - --format csv
///   sardonyx import cache.sdx dump.rdb --create
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// The table; left out for an RDB file
    #[arg(value_name = "TABLE")]
    first: OsString,
    /// The file; - is standard input
    #[arg(value_name = "FILE")]
    second: Option<PathBuf>,
    /// csv, tsv, jsonl, parquet, arrow (an IPC file), arrows (an IPC stream) or rdb [default: by the file's name]
    #[arg(long, value_parser = parse_any_format)]
    format: Option<AnyFormat>,
    /// The separator of CSV fields: a character, or tab [default: a comma]
    #[arg(long, value_parser = parse_delimiter, value_name = "CHARACTER")]
    delimiter: Option<u8>,
    /// Declare the table from the file; create the database if there is none
    #[arg(long)]
    create: bool,
    /// With --create: the columns of the primary key [default: the first column]
    #[arg(long, value_delimiter = ',', value_name = "NAMES", requires = "create")]
    key: Vec<String>,
    /// On a bad row: end the import, or leave the row out
    #[arg(long, value_enum, default_value_t = OnError::Stop, value_name = "WHAT")]
    on_error: OnError,
    /// Rows per transaction, up to 100000, or all [default: 1000]
    #[arg(long, value_name = "N", value_parser = parse_batch)]
    batch: Option<Rows>,
    /// The directories of its moved parts
    #[command(flatten)]
    moved: Directories,
    #[command(flatten)]
    store: StoreOption,
    #[command(flatten)]
    node: NodeOption,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum OnError {
    /// The import ends.
    Stop,
    /// The line is left out.
    Skip,
}

/// The format of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AnyFormat {
    /// One of rows.
    OfRows(Format),
    /// A file of Redis.
    Rdb,
}

/// The rows of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rows {
    /// So many rows.
    Some(u32),
    /// All rows of the file.
    All,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let file = self.file();
        let is_rdb = match self.format {
            Some(format) => format == AnyFormat::Rdb,
            None => file.extension().is_some_and(|ending| ending == "rdb"),
        };
        match (is_rdb, &self.second) {
            (true, None) => self.keys(output),
            (true, Some(_)) => Err(UsageError::Arguments(format!(
                "{} is an RDB file, which has keys and no rows: leave the table out",
                file.display()
            ))
            .into()),
            (false, Some(_)) => self.rows(output),
            (false, None) => Err(UsageError::Arguments(format!(
                "a table and a file are expected, or an RDB file; {} is given",
                file.display()
            ))
            .into()),
        }
    }

    /// The file.
    fn file(&self) -> &Path {
        match &self.second {
            Some(file) => file,
            None => Path::new(&self.first),
        }
    }

    /// The table's name.
    fn table(&self) -> anyhow::Result<&str> {
        let name = self.first.to_str();
        name.ok_or_else(|| UsageError::Arguments("the table's name is not UTF-8".into()).into())
    }

    fn rows(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let (table, given) = (self.table()?, self.file());
        let of_rows = self.format.and_then(|format| match format {
            AnyFormat::OfRows(format) => Some(format),
            AnyFormat::Rdb => None,
        });
        let format = format_of(of_rows, given)?;
        anyhow::ensure!(
            self.delimiter.is_none() || matches!(format, Format::Csv | Format::Tsv),
            "--delimiter is for CSV, and {} is {format}",
            given.display()
        );
        let batch = self.batch.unwrap_or(Rows::Some(ROWS_READ as u32));
        anyhow::ensure!(
            batch != Rows::All || self.on_error == OnError::Stop,
            "--batch all inserts the whole file or nothing, and --on-error skip leaves rows out: use one of them"
        );
        let file = || given.display().to_string();
        let (mut source, length) = self.source().with_context(file)?;
        let created = match self.create {
            true => Some(infer(format, &mut source, &self.key, self.delimiter).with_context(file)?),
            false => None,
        };
        if !self.create {
            // The file must exist.
            self.target.disk()?;
        }
        let given = of_tables_alone(&self.moved, &self.store, self.target.wait());
        let opened = self
            .node
            .open(&self.target.path, given, || match self.create {
                true => self.target.database_or_new(&self.moved, &self.store),
                false => self.target.database(&self.moved, &self.store),
            })?;
        let database = opened.database().clone();
        if let Some(created) = created {
            database.put_rows(|tx| {
                let (schema, without_zone) = (created.schema, &created.without_zone);
                database.create_incoming_table(tx, table, schema, without_zone)
            })?;
        }
        let table = Arc::new(database.incoming_table(table)?);
        let columns = self.columns(&table);
        let reader = Reader::new(format, source, columns, self.delimiter).with_context(file)?;
        let rows = match batch {
            Rows::Some(rows) => rows as usize,
            Rows::All => ROWS_READ,
        };
        let mut ahead = ReadAhead::start(format, reader, rows)?;
        let bar = progress(length, "bytes");
        let mut import = Import {
            arguments: self,
            output,
            database,
            table,
            later: Vec::new(),
            rows: 0,
            bad: 0,
        };
        match batch {
            Rows::All => import.whole(&mut ahead, |position| bar.set_position(position))?,
            Rows::Some(_) => {
                while let Some(batch) = ahead.next_batch().with_context(file)? {
                    import.batch(&batch)?;
                    bar.set_position(batch.position);
                    ahead.give_back(batch);
                }
                import.insert_later()?;
            }
        }
        bar.finish_and_clear();
        let (rows, bad) = (import.rows, import.bad);
        // The node leaves before its database is closed.
        drop(import);
        // Nothing waited for the disk so far.
        opened.close()?;
        match output.is_json() {
            true => output.value(&json!({ "rows": rows, "bad_lines": bad }))?,
            false => {
                let (rows, bad) = (units::count(rows), units::count(bad));
                writeln!(output, "{rows} rows inserted, {bad} bad lines")?;
            }
        }
        Ok(if bad == 0 { Exit::Done } else { Exit::Found })
    }

    /// The table's columns, and the parsers of their texts.
    fn columns(&self, table: &Arc<IncomingTable>) -> Columns {
        let (schema, table) = (table.schema().clone(), table.clone());
        let is_inferred = self.create;
        let columns = schema.clone();
        let texts = move |number: usize, text: &str| {
            let value = table.value(number, text).map_err(|error| reason(&error))?;
            match is_inferred {
                true => keeps_digits(&columns, number, value),
                false => Ok(value),
            }
        };
        Columns {
            schema,
            texts: Arc::new(texts),
        }
    }

    /// The file, and its size in bytes; 0 if it is not known.
    fn source(&self) -> io::Result<(Source, u64)> {
        if is_standard(self.file()) {
            return Ok((Source::Stream(Box::new(io::stdin())), 0));
        }
        let file = File::open(self.file())?;
        let metadata = file.metadata()?;
        Ok(match metadata.is_file() {
            true => (Source::File(file), metadata.len()),
            false => (Source::Stream(Box::new(file)), 0),
        })
    }
}

/// Reads the name of a format.
fn parse_any_format(name: &str) -> Result<AnyFormat, String> {
    match name {
        "rdb" => Ok(AnyFormat::Rdb),
        _ => parse_format(name)
            .map(AnyFormat::OfRows)
            .map_err(|reason| format!("{reason}, or rdb")),
    }
}

/// Reads the number of rows of a transaction.
fn parse_batch(text: &str) -> Result<Rows, String> {
    match text.parse() {
        _ if text == "all" => Ok(Rows::All),
        Ok(rows @ 1..=100_000) => Ok(Rows::Some(rows)),
        _ => Err("a number from 1 to 100000, or all, is expected".to_string()),
    }
}

/// Reads a delimiter.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        _ if text == "tab" || text == "\\t" => Ok(b'\t'),
        [byte] if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r') => Ok(*byte),
        _ => Err("one character of ASCII other than a quote, or tab, is expected".to_string()),
    }
}

/// A number of a column whose fractional digits were counted in the first rows: it is not rounded silently.
fn keeps_digits(schema: &Schema, number: usize, value: Value) -> Result<Value, String> {
    let kind = schema.columns.get(number).map(|column| column.kind);
    let (Some(Type::Decimal { scale }), Value::Decimal(units, digits)) = (kind, &value) else {
        return Ok(value);
    };
    let beyond = 10_i128.checked_pow(digits.saturating_sub(scale).into());
    match beyond.is_some_and(|beyond| units % beyond == 0) {
        true => Ok(value),
        false => Err(format!(
            "{value} has more than {scale} digits behind the point, which no number in the first rows had: create the \
             table before the import, with the type that is wanted"
        )),
    }
}

/// An error of a row, as it is reported.
fn reason(error: &SqlError) -> String {
    match &error.detail {
        Some(detail) => format!("{error} ({detail})"),
        None => error.to_string(),
    }
}

/// Returns true if an error is one of a row: any other ends the import.
fn is_of_row(error: &SqlError) -> bool {
    // Data, constraints, limits.
    ["22", "23", "54"]
        .iter()
        .any(|class| error.code.starts_with(class))
}

/// The most attempts to insert a batch that conflicts with another node.
const TRIES: usize = 32;
/// `serialization_failure`.
const CONFLICT: &str = "40001";

/// An import in progress.
struct Import<'a> {
    arguments: &'a Arguments,
    output: &'a mut Output,
    database: Arc<Database>,
    table: Arc<IncomingTable>,
    /// Rows that refer to others which do not exist yet.
    later: Vec<Placed>,
    rows: u64,
    bad: u64,
}

/// A row of a batch, with its place in the file.
type Placed = (Place, IncomingRow);

impl Import<'_> {
    /// Inserts rows as one transaction. A bad row is left out, or ends the import.
    fn batch(&mut self, batch: &Batch) -> anyhow::Result<()> {
        let stops = self.arguments.on_error == OnError::Stop;
        let mut bad = batch.bad.clone();
        // A bad row that ends the import does so before any row of its batch is inserted.
        if let (true, Some(bad)) = (stops, bad.first()) {
            return self.bad(bad);
        }
        let rows: Vec<Placed> = whole::rows_of(batch).collect();
        let count = match self.insert(&rows, stops, &mut bad) {
            // A check at the transaction's end is not known to be of one row until the rows are inserted one by one.
            Err(Refused::Batch(error)) if !stops && is_of_row(&error) => {
                bad.clone_from(&batch.bad);
                self.insert_each(rows, &mut bad)?
            }
            Err(Refused::Row(bad)) => return self.bad(&bad),
            Err(Refused::Batch(error)) if is_of_row(&error) => anyhow::bail!(
                "{}: {}; the rows of its batch were not inserted, {} before it were (--on-error skip leaves bad rows out{})",
                self.arguments.file().display(),
                reason(&error),
                units::count(self.rows),
                references::hint(&error)
            ),
            Err(Refused::Batch(error)) => {
                return Err(error).with_context(|| self.arguments.file().display().to_string());
            }
            Ok(count) => count,
        };
        self.rows += count;
        bad.sort_by_key(|bad| match bad.place {
            Place::Line(number) | Place::Row(number) => number,
            _ => 0,
        });
        bad.iter().try_for_each(|bad| self.bad(bad))
    }

    /// Inserts rows as one transaction. Bad ones are noted, or the first one ends it.
    fn insert(&self, rows: &[Placed], stops: bool, bad: &mut Vec<BadRow>) -> Result<u64, Refused> {
        let before = bad.len();
        for _ in 0..TRIES {
            match self.insert_once(rows, stops, bad) {
                // The transaction conflicted with another node's.
                Err(Refused::Batch(error)) if error.code == CONFLICT => bad.truncate(before),
                done => return done,
            }
        }
        self.insert_once(rows, stops, bad)
    }

    fn insert_once(
        &self,
        rows: &[Placed],
        stops: bool,
        bad: &mut Vec<BadRow>,
    ) -> Result<u64, Refused> {
        self.database.put_rows(|tx| {
            let mut stopped = None;
            let failed = |number: usize, error: SqlError| {
                let Some(row) = rows.get(number).filter(|_| is_of_row(&error)) else {
                    return Err(error);
                };
                if stops {
                    stopped = Some(told(row, &error));
                    return Err(error);
                }
                bad.push(told(row, &error));
                Ok(())
            };
            let values = rows.iter().map(|(_, values)| values.clone());
            let done = self
                .database
                .insert_incoming(tx, &self.table, values, failed);
            let done = done.map_err(|error| match stopped {
                Some(bad) => Refused::Row(bad),
                None => Refused::Batch(error),
            })?;
            let count = done.count;
            done.committed(&self.database);
            Ok::<_, Refused>(count)
        })
    }

    /// Reports a bad line, or ends the import by it.
    fn bad(&mut self, bad: &BadRow) -> anyhow::Result<()> {
        let file = self.arguments.file().display();
        if self.arguments.on_error == OnError::Stop {
            anyhow::bail!(
                "{file}, {bad}; the rows of its batch were not inserted, {} before it were (--on-error skip leaves bad \
                 rows out)",
                units::count(self.rows)
            );
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

/// A row that cannot be stored, as it is reported.
fn told((place, _): &Placed, error: &SqlError) -> BadRow {
    BadRow {
        place: *place,
        column: error.column.clone(),
        reason: reason(error),
    }
}

/// The reason why rows were not inserted.
#[derive(Debug)]
enum Refused {
    Row(BadRow),
    /// The batch is refused as a whole.
    Batch(SqlError),
}

impl From<sardonyx::Error> for Refused {
    fn from(error: sardonyx::Error) -> Self {
        Refused::Batch(error.into())
    }
}
