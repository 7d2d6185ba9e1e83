//! A directory with databases, their copies and a store, for tests that name files in it.

use std::path::PathBuf;

/// The directory; it is deleted at the end.
pub struct Machine(tempfile::TempDir);

impl Machine {
    pub fn new() -> Machine {
        Machine(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// The place of the store.
    pub fn store(&self) -> String {
        format!("file:{}", self.text("store"))
    }
}
