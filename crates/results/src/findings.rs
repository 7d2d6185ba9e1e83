//! All that an experiment found, in every form: text for people, JSON for programs, CSV and SVG as
//! files.
//!
//! The figures themselves are a value that serialises. The text for people and the files are views of it, made
//! once, in the order in which they are added.

use crate::Grid;
use crate::chart::{Chart, Sheet as Charts};
use serde::Serialize;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// One experiment's output, in all forms.
#[derive(Clone, Debug)]
pub struct Findings {
    json: String,
    text: String,
    files: Vec<(String, String)>,
    copies: Vec<(String, PathBuf)>,
    holds: bool,
}

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("writing {}: {source}", path.display())]
pub struct WriteError {
    /// The file, or the directory that could not be made.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

impl Findings {
    /// The findings with these figures, which are all that a program gets.
    ///
    /// # Errors
    /// If the figures cannot be written as JSON.
    pub fn of(figures: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Findings {
            json: serde_json::to_string_pretty(figures)?,
            text: String::new(),
            files: Vec::new(),
            copies: Vec::new(),
            holds: true,
        })
    }

    /// Says whether what was to be shown holds; it does unless this says otherwise.
    pub fn holds_if(mut self, holds: bool) -> Self {
        self.holds = holds;
        self
    }

    /// True if the claim to show holds.
    pub fn holds(&self) -> bool {
        self.holds
    }

    /// Adds a line, or several, for people; a table ends its own lines. Of an empty text nothing is
    /// added.
    pub fn note(mut self, text: impl Display) -> Self {
        let text = text.to_string();
        self.text.push_str(&text);
        if !text.is_empty() && !text.ends_with('\n') {
            self.text.push('\n');
        }
        self
    }

    /// Adds an empty line for people.
    pub fn gap(mut self) -> Self {
        self.text.push('\n');
        self
    }

    /// Adds a grid: its table for people, its CSV in the file `name`.csv.
    pub fn grid<R>(self, name: &str, grid: &Grid<R>) -> Self {
        self.note(grid.table()).data(name, grid)
    }

    /// Adds a grid's CSV, in the file `name`.csv, and nothing for people.
    pub fn data<R>(mut self, name: &str, grid: &Grid<R>) -> Self {
        self.files.push((format!("{name}.csv"), grid.csv()));
        self
    }

    /// Adds a picture, in the file `name`.svg.
    pub fn chart(mut self, name: &str, chart: &Chart) -> Self {
        self.files.push((format!("{name}.svg"), chart.svg()));
        self
    }

    /// Adds a picture of several charts, in the file `name`.svg.
    pub fn charts(mut self, name: &str, charts: &Charts) -> Self {
        self.files.push((format!("{name}.svg"), charts.svg()));
        self
    }

    /// The form for programs.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The form for people.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of a file.
    pub fn file(&self, name: &str) -> Option<&str> {
        let mut files = self.files.iter();
        let (_, text) = files.find(|(file, _)| file == name)?;
        Some(text)
    }

    /// Prints the figures as JSON, or the text.
    ///
    /// # Errors
    /// The errors of writing.
    pub fn print(&self, json: bool, mut output: impl Write) -> io::Result<()> {
        match json {
            true => writeln!(output, "{}", self.json),
            false => write!(output, "{}", self.text),
        }
    }

    /// Says that a file is to be written to this path, too.
    pub fn copy(mut self, name: &str, path: &Path) -> Self {
        self.copies.push((name.into(), path.to_path_buf()));
        self
    }

    /// Writes the files into a directory, if one is named, which is made if there is none, and the
    /// copies to their places; returns the paths.
    ///
    /// # Errors
    /// [`WriteError`] with the path that failed.
    pub fn write(&self, directory: Option<&Path>) -> Result<Vec<PathBuf>, WriteError> {
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WriteError { path, source }
        };
        let mut places = Vec::new();
        if let Some(directory) = directory {
            make_directory(directory)?;
            let files = self.files.iter();
            places.extend(files.map(|(name, text)| (directory.join(name), text.as_str())));
        }
        for (name, path) in &self.copies {
            places.push((path.clone(), self.file(name).unwrap_or_default()));
        }
        for (path, text) in &places {
            std::fs::write(path, text).map_err(failed(path))?;
        }
        Ok(places.into_iter().map(|(path, _)| path).collect())
    }
}

/// Makes a directory for results, if there is none: best before what takes long, so that nothing is measured in
/// vain.
///
/// # Errors
/// [`WriteError`], also if there is something else of this name.
pub fn make_directory(directory: &Path) -> Result<(), WriteError> {
    std::fs::create_dir_all(directory).map_err(|source| WriteError {
        path: directory.to_path_buf(),
        source: match source.kind() {
            io::ErrorKind::AlreadyExists => {
                let reason = "there is a file of this name; name a directory";
                io::Error::new(io::ErrorKind::NotADirectory, reason)
            }
            _ => source,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Unit;

    #[test]
    fn every_form_has_the_same_figures() {
        let figures = [1.5, 2.0];
        let grid = Grid::of(figures).number("figure", "figure", Unit::Decimals(1), |one| *one);
        let findings = Findings::of(&figures).unwrap();
        let findings = findings.note("Two figures").gap().grid("figures", &grid);
        assert_eq!(findings.text(), "Two figures\n\nfigure\n   1.5\n   2.0\n");
        let directory = tempfile::tempdir().unwrap();
        let written = findings.write(Some(&directory.path().join("new"))).unwrap();
        assert_eq!(
            std::fs::read_to_string(&written[0]).unwrap(),
            "figure\n1.5\n2\n"
        );
        // A file in its place is reported, and left.
        let taken = findings.write(Some(&written[0])).unwrap_err();
        assert!(taken.to_string().contains("name a directory"), "{taken}");
        let mut printed = Vec::new();
        findings.print(true, &mut printed).unwrap();
        assert_eq!(
            serde_json::from_slice::<[f64; 2]>(&printed).unwrap(),
            figures
        );
        assert!(findings.holds() && !findings.holds_if(false).holds());
    }
}
