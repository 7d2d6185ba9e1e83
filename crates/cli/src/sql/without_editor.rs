//! Replaces the editor in a build without the feature `shell`: a terminal's lines without history and completion.

use super::connection::Standing;
use super::typed::{Typed, prompt};
use std::io::Write;

/// A terminal's lines.
pub struct Lines;

impl Lines {
    /// Opens a terminal without a history.
    ///
    /// # Errors
    /// None.
    pub fn new() -> anyhow::Result<Lines> {
        Ok(Lines)
    }

    /// Does nothing: names are not completed.
    pub fn know(&mut self, _: Vec<String>) {}

    /// Reads the next line.
    ///
    /// # Errors
    /// The terminal is closed.
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

    /// Does nothing: there is no history.
    pub fn remember(&mut self, _: &str) {}
}
