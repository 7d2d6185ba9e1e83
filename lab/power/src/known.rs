//! Programs with known losses at a power cut, and their judges: one that writes a file with or without syncs, and
//! SQLite's shell with `synchronous` OFF and FULL.
//!
//! They show that the drive loses what it may lose, and keeps what it must keep. SQLite has its log in WAL mode: with a
//! rollback journal only `synchronous=EXTRA` guarantees the last transaction.

use crate::command::{self, must};
use anyhow::{Context, bail, ensure};
use sardonyx_base::victims::acknowledge;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Statements that may wait in SQLite's pipe.
const BATCH: u64 = 16;

/// Returns true if SQLite's shell is installed, with the program that makes it print each answer at once.
pub fn has_sqlite() -> bool {
    command::is_there("sqlite3") && command::is_there("stdbuf")
}

/// Runs one until it is killed; reports each acknowledgement.
///
/// # Errors
/// The name is unknown, or the program fails.
pub fn run(name: &str, directory: &Path) -> anyhow::Result<()> {
    // The directory itself exists after the cut.
    fs::create_dir_all(directory)?;
    File::open(directory)?.sync_all()?;
    if let Some(parent) = directory.parent() {
        File::open(parent)?.sync_all()?;
    }
    match name {
        "no-syncs" => write_file(directory, false),
        "syncs" => write_file(directory, true),
        "sqlite-off" => write_sqlite(directory, "OFF"),
        "sqlite-full" => write_sqlite(directory, "FULL"),
        _ => bail!("there is no program {name}"),
    }
}

/// Checks that everything acknowledged is found, and prints it.
///
/// # Errors
/// Something is missing.
pub fn judge(name: &str, directory: &Path, acknowledged: &[u64]) -> anyhow::Result<()> {
    let told = acknowledged.first().copied().unwrap_or(0);
    let found = match name {
        "no-syncs" | "syncs" => read_file(directory)?,
        _ => read_sqlite(directory)?,
    };
    ensure!(
        found >= told,
        "{told} were acknowledged, {found} were found"
    );
    println!("{told}");
    Ok(())
}

/// Appends numbers, each filling a kilobyte.
fn write_file(directory: &Path, syncs: bool) -> anyhow::Result<()> {
    let mut file = File::create(directory.join("numbers"))?;
    if syncs {
        file.sync_all()?;
        File::open(directory)?.sync_all()?;
    }
    for number in 1u64.. {
        file.write_all(&number.to_le_bytes().repeat(128))?;
        if syncs {
            file.sync_data()?;
        }
        acknowledge(0, number)?;
    }
    Ok(())
}

/// The number of numbers that are found, from the first one on.
fn read_file(directory: &Path) -> anyhow::Result<u64> {
    let bytes = match fs::read(directory.join("numbers")) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        read => read?,
    };
    let whole = (1u64..).zip(bytes.chunks_exact(1024));
    let whole = whole.take_while(|(number, bytes)| *bytes == number.to_le_bytes().repeat(128));
    Ok(whole.count() as u64)
}

fn write_sqlite(directory: &Path, synchronous: &str) -> anyhow::Result<()> {
    let mut shell = Command::new("stdbuf");
    shell.args(["-oL", "sqlite3", "-batch"]);
    shell.arg(directory.join("numbers.db"));
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().context("starting sqlite3")?;
    let mut statements = shell.stdin.take().context("a pipe")?;
    let answers = shell.stdout.take().context("a pipe")?;
    write!(
        statements,
        ".bail on\nPRAGMA journal_mode=WAL;\nPRAGMA synchronous={synchronous};\n\
         CREATE TABLE numbers(number INTEGER PRIMARY KEY, text TEXT);\n"
    )?;
    let insert = |statements: &mut dyn Write, number: u64| {
        writeln!(
            statements,
            "INSERT INTO numbers VALUES({number}, hex(zeroblob(200)));\nSELECT 'told', {number};"
        )
    };
    let mut sent = 0;
    for _ in 0..BATCH {
        sent += 1;
        insert(&mut statements, sent)?;
    }
    for answer in BufReader::new(answers).lines() {
        let answer = answer?;
        // The first answers are the modes.
        if let Some(number) = answer.strip_prefix("told|") {
            acknowledge(0, number.parse()?)?;
            sent += 1;
            insert(&mut statements, sent)?;
        }
    }
    bail!("sqlite3 ended: {}", shell.wait()?)
}

/// The number of numbers that are found, from the first one on.
fn read_sqlite(directory: &Path) -> anyhow::Result<u64> {
    let database = directory.join("numbers.db");
    let ask = |question: &str| {
        must(
            Command::new("sqlite3")
                .arg("-batch")
                .arg(&database)
                .arg(question),
        )
    };
    if !database.exists() {
        return Ok(0);
    }
    let sound = ask("PRAGMA integrity_check;")?;
    ensure!(sound == "ok", "SQLite finds damage: {sound}");
    if ask("SELECT count(*) FROM sqlite_schema;")? == "0" {
        return Ok(0);
    }
    let count: u64 = ask("SELECT count(*) FROM numbers;")?.parse()?;
    let last: u64 = ask("SELECT coalesce(max(number), 0) FROM numbers;")?.parse()?;
    ensure!(
        count == last,
        "of the first {last} numbers {count} are there"
    );
    Ok(count)
}
