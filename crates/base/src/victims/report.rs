//! The reports of a victim: a line for each, written whole.
//!
//! Each begins with `@`: the test program that a victim may be writes lines of its own, and begins one that a report ends.
//! Pipes take up to 4,096 bytes whole, and a line that a kill cut was not said.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};

const MARK: char = '@';
const ACKNOWLEDGED: &str = "acknowledged";
const BEGINS: &str = "begins";

/// A report of a victim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// A worker has so many acknowledged transactions.
    Acknowledged {
        /// The worker's number.
        worker: u64,
        /// The number of its transactions.
        count: u64,
    },
    /// A worker begins, and finds so many of its transactions.
    Begins {
        /// The worker's number.
        worker: u64,
        /// The number of its transactions.
        count: u64,
    },
    /// Something else, such as an address.
    Line(String),
}

impl Report {
    /// The report in a line without its end, if there is one.
    pub fn of(line: &str) -> Option<Report> {
        let (_, said) = line.split_once(MARK)?;
        let mut words = said.split(' ');
        let mut numbered = || {
            let kind = words.next()?;
            let (worker, count) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            match (kind, words.next()) {
                (ACKNOWLEDGED, None) => Some(Report::Acknowledged { worker, count }),
                (BEGINS, None) => Some(Report::Begins { worker, count }),
                _ => None,
            }
        };
        Some(numbered().unwrap_or_else(|| Report::Line(said.into())))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Report::Acknowledged { worker, count } => write!(f, "{ACKNOWLEDGED} {worker} {count}"),
            Report::Begins { worker, count } => write!(f, "{BEGINS} {worker} {count}"),
            Report::Line(text) => f.write_str(text),
        }
    }
}

/// Reports to the process that started this one that so many transactions of a worker are acknowledged: after the last
/// of them, and before the next one counts.
///
/// # Errors
/// That process reads no more.
pub fn acknowledge(worker: u64, count: u64) -> io::Result<()> {
    say(Report::Acknowledged { worker, count })
}

/// Reports that a worker begins, and finds so many of its transactions.
///
/// # Errors
/// As [`acknowledge`].
pub fn begin(worker: u64, count: u64) -> io::Result<()> {
    say(Report::Begins { worker, count })
}

/// Reports something else in a line.
///
/// # Errors
/// As [`acknowledge`].
pub fn say(text: impl fmt::Display) -> io::Result<()> {
    let line = format!("{MARK}{text}\n");
    let mut out = io::stdout().lock();
    out.write_all(line.as_bytes())?;
    out.flush()
}

/// The lines of a victim, until it ends. Those in the pipe after a kill were written before it.
#[derive(Debug)]
pub struct Reports<R>(BufReader<R>);

impl<R: Read> Reports<R> {
    /// Reads the lines that a victim's `Reporter` wrote.
    pub fn new(output: R) -> Self {
        Reports(BufReader::new(output))
    }

    /// The next line, without its end; `None` at the end, where one that was cut is dropped.
    pub fn line(&mut self) -> Option<String> {
        let mut line = Vec::new();
        self.0.read_until(b'\n', &mut line).ok()?;
        let line = line.strip_suffix(b"\n")?;
        Some(String::from_utf8_lossy(line).into_owned())
    }
}

impl<R: Read> Iterator for Reports<R> {
    type Item = Report;

    fn next(&mut self) -> Option<Report> {
        loop {
            if let Some(report) = Report::of(&self.line()?) {
                return Some(report);
            }
        }
    }
}
