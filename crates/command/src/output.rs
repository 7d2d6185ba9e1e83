//! Printing results: text for people, JSON for programs.
//!
//! Everything goes through one buffered writer. So a reader that closes the pipe (`| head`) causes an error that the
//! caller can pass on, and no panic. There are no colours, so a file and a terminal get the same text.
//!
//! Notes, and the error that ends a verb, go to standard error, as text or, with `--json`, as one object in a line. So
//! standard output has results only, and a program that reads JSON need not parse text.

use serde::Serialize;
use serde_json::json;
use std::io::{self, BufWriter, Stdout, Write};

/// Standard output.
pub struct Output {
    program: &'static str,
    json: bool,
    writer: BufWriter<Stdout>,
}

impl Output {
    /// Prints to standard output; `json`: for programs. Notes begin with the program's name.
    pub fn to_stdout(program: &'static str, json: bool) -> Self {
        Output {
            program,
            json,
            writer: BufWriter::new(io::stdout()),
        }
    }

    /// Returns true if JSON is wanted.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// One JSON value, over several lines.
    pub fn value(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer_pretty(&mut self.writer, value)?;
        Ok(writeln!(self.writer)?)
    }

    /// One JSON value in a line, for results that may be long and are printed as they are read.
    pub fn line(&mut self, value: &impl Serialize) -> anyhow::Result<()> {
        serde_json::to_writer(&mut self.writer, value)?;
        Ok(writeln!(self.writer)?)
    }

    /// Prints a note besides the results: on standard error, as an object of one line if JSON is wanted.
    pub fn note(&self, text: &str) {
        match self.json {
            true => eprintln!("{}", json!({ "note": text })),
            false => eprintln!("{}: {text}", self.program),
        }
    }

    /// Writes the buffered output.
    pub fn finish(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}
