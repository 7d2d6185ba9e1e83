//! `--output DIR`: a verb's results as files.

use anyhow::Context;
use std::path::{Path, PathBuf};

/// Writes files into a directory, which is made if there is none; returns their paths.
pub fn write_all<'a>(
    directory: &Path,
    files: impl IntoIterator<Item = (&'a str, String)>,
) -> anyhow::Result<Vec<PathBuf>> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("making the directory {}", directory.display()))?;
    let mut written = Vec::new();
    for (name, text) in files {
        let file = directory.join(name);
        std::fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
        written.push(file);
    }
    Ok(written)
}
