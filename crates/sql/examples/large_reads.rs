//! The time of queries of many rows: loads tables from files and runs queries one after the other, each some times, in
//! one session. Prints the median time of each in milliseconds; with a directory for them, writes the rows of each
//! there.
//!
//! ```text
//! cargo run --release -p sardonyx-sql --example large_reads -- SCHEMA.sql DATA QUERIES.sql [ROUNDS [ANSWERS [NUMBER ...]]]
//! ```
//!
//! `SCHEMA.sql` has a `create table` for each file `DATA/<table>.tbl`, whose lines have a `|` behind each column. In
//! `QUERIES.sql` a line `-- <number>` precedes each query. `bench/tpch` has such files, and a program that makes the
//! data.

use sardonyx::Tables;
use sardonyx_sql::{CopyData, Database, Outcome, Session, SessionOptions, Step, Value};
use std::error::Error;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

/// About how many bytes are loaded by a statement.
const PART_BYTES: usize = 8 << 20;

struct Unparked(Thread);

impl Wake for Unparked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn wait<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unparked(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Runs the statements of a text, the first one with data. Returns the values of the last one's rows, and their number.
fn run(
    session: &mut Session,
    text: &str,
    data: Option<Vec<u8>>,
) -> Result<(Vec<Value>, u64), Box<dyn Error>> {
    let mut data = data;
    let mut steps = Vec::new();
    for statement in session.prepare(text, &[])? {
        steps.push(match data.take() {
            Some(data) => Step::Copy {
                statement,
                data: CopyData(data),
            },
            None => Step::Execute {
                statement,
                parameters: Vec::new(),
                rows_max: 0,
            },
        });
        steps.push(Step::Sync);
    }
    let (mut values, mut rows) = (Vec::new(), 0);
    for outcome in wait(session.run(steps)) {
        match outcome {
            Outcome::Failed(error) => return Err(error.into()),
            Outcome::Done(complete) => {
                if let Some(result) = complete.rows {
                    (values, rows) = (result.values, result.count);
                }
            }
            _ => {}
        }
    }
    Ok((values, rows))
}

fn load(session: &mut Session, schema: &str, data: &Path) -> Result<(), Box<dyn Error>> {
    run(session, schema, None)?;
    for entry in std::fs::read_dir(data)? {
        let path = entry?.path();
        let (Some(table), Some("tbl")) = (
            path.file_stem().and_then(|name| name.to_str()),
            path.extension().and_then(|name| name.to_str()),
        ) else {
            continue;
        };
        let copy = format!("copy {table} from stdin with (delimiter '|')");
        let mut part = Vec::new();
        for line in std::fs::read_to_string(&path)?.lines() {
            // Without the separator behind the last column.
            part.extend_from_slice(line.strip_suffix('|').unwrap_or(line).as_bytes());
            part.push(b'\n');
            if part.len() >= PART_BYTES {
                run(session, &copy, Some(std::mem::take(&mut part)))?;
            }
        }
        run(session, &copy, Some(part))?;
    }
    Ok(())
}

/// The queries of a text, with their numbers.
fn queries(text: &str) -> Vec<(String, String)> {
    let mut queries: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("-- ").map(str::trim) {
            Some(number) if number.parse::<u32>().is_ok() => {
                queries.push((number.to_string(), String::new()));
            }
            Some(_) => {}
            None => {
                if let Some((_, query)) = queries.last_mut() {
                    query.push_str(line);
                    query.push('\n');
                }
            }
        }
    }
    queries
}

fn write_rows(path: PathBuf, values: &[Value], rows: u64) -> Result<(), Box<dyn Error>> {
    let width = values.len().checked_div(rows as usize).unwrap_or(0).max(1);
    let mut text = String::new();
    for row in values.chunks(width) {
        let shown = row.iter().map(|value| value.as_ref().to_string());
        text.push_str(&shown.collect::<Vec<_>>().join("|"));
        text.push('\n');
    }
    Ok(std::fs::write(path, text)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [schema, data, file, rest @ ..] = arguments.as_slice() else {
        return Err(
            "usage: large_reads SCHEMA.sql DATA QUERIES.sql [ROUNDS [ANSWERS [NUMBER ...]]]".into(),
        );
    };
    let rounds: usize = rest.first().map_or(Ok(3), |rounds| rounds.parse())?;
    let answers = rest.get(1).map(PathBuf::from);
    let numbers = rest.get(2..).unwrap_or_default();
    let path = std::env::temp_dir().join(format!("large_reads-{}.sdx", std::process::id()));
    let database = Database::new(Arc::new(Tables::open(&path)?))?;
    let options = SessionOptions {
        user: "example".into(),
        ..SessionOptions::default()
    };
    let mut session = Session::new(database.clone(), options)?;
    let started = Instant::now();
    load(
        &mut session,
        &std::fs::read_to_string(schema)?,
        Path::new(data),
    )?;
    println!("loaded in {:.1} s", started.elapsed().as_secs_f64());
    let mut total = 0.0;
    for (number, query) in queries(&std::fs::read_to_string(file)?) {
        if !numbers.is_empty() && !numbers.contains(&number) {
            continue;
        }
        let (mut taken, mut result) = (Vec::new(), (Vec::new(), 0));
        for _ in 0..rounds {
            let started = Instant::now();
            result = run(&mut session, &query, None)?;
            taken.push(started.elapsed().as_secs_f64() * 1e3);
        }
        taken.sort_by(f64::total_cmp);
        let median = taken.get(rounds / 2).copied().unwrap_or_default();
        total += median;
        println!("{number:>4} {:>6} rows {median:>9.1} ms", result.1);
        if let Some(answers) = &answers {
            let path = answers.join(format!("{number}.txt"));
            write_rows(path, &result.0, result.1)?;
        }
    }
    println!(" all             {total:>9.1} ms");
    drop(session);
    database.tables().map(|tables| tables.close()).transpose()?;
    std::fs::remove_dir_all(&path)?;
    Ok(())
}
