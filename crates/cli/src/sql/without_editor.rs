//! The place of the editor in a build without the feature `shell`: a terminal's lines without history and completion.

use super::connection::Standing;
use super::typed::{Typed, prompt};
use std::io::Write;

/// A terminal's lines.
pub struct Lines;

impl Lines {
    /// Without a history.
    ///
    /// # Errors
    /// None.
    pub fn new() -> anyhow::Result<Lines> {
        Ok(Lines)
    }

    /// Nothing is completed.
    pub fn know(&mut self, _: Vec<String>) {}

    /// The next line.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn next(&mut self, standing: Standing, is_blank: bool) -> anyhow::Result<Typed> {
        let mut out = std::io::stdout();
        write!(out, "{}", prompt(standing, is_blank))?;
        out.flush()?;
        let mut line = String::new();
        if std::io::stdin().read_line(&mut line)? == 0 {
            return Ok(Typed::End);
        }
        Ok(Typed::Line(line.trim_end_matches(['\r', '\n']).to_string()))
    }

    /// Nothing is kept.
    pub fn remember(&mut self, _: &str) {}
}
