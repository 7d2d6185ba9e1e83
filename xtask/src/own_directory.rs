//! The directory of a run, which the run removes before and after.
//!
//! `--directory` could name one that a user has. So a run takes only one that does not exist, that is empty, or that an earlier
//! run has made: that left a mark beside it, `DIRECTORY.made-by-xtask`. A run that is killed leaves both.

use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};

/// A directory of this run. Its mark goes with the directory, once that is removed.
pub struct OwnDirectory {
    directory: PathBuf,
    mark: PathBuf,
}

impl OwnDirectory {
    /// Takes a directory, which the run may then remove and make.
    ///
    /// # Errors
    /// It has files, and no mark of an earlier run beside it.
    pub fn take(directory: &Path) -> anyhow::Result<Self> {
        let place = directory.display();
        let name = directory.file_name().with_context(|| {
            format!("--directory {place}: the run removes it, so it needs a name of its own")
        })?;
        let mut mark = name.to_owned();
        mark.push(".made-by-xtask");
        let mark = directory.with_file_name(mark);
        let is_free = match std::fs::read_dir(directory) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        ensure!(
            is_free || mark.exists(),
            "--directory {place} exists, and no earlier run has made it: the run removes it with all that it has. Name \
             another, or remove it yourself"
        );
        if let Some(above) = mark.parent().filter(|above| !above.as_os_str().is_empty()) {
            std::fs::create_dir_all(above).with_context(|| above.display().to_string())?;
        }
        std::fs::write(&mark, "").with_context(|| mark.display().to_string())?;
        let directory = directory.into();
        Ok(Self { directory, mark })
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        if !self.directory.exists() {
            // A mark without its directory harms nothing.
            let _ = std::fs::remove_file(&self.mark);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_a_user_has_is_not_taken() {
        let root = tempfile::tempdir().unwrap();
        let place = root.path().join("below/run");
        let take = || OwnDirectory::take(&place);
        let mark = || root.path().join("below/run.made-by-xtask").exists();
        // One that is not there, and one that an earlier run has left.
        let own = take().unwrap();
        std::fs::create_dir(&place).unwrap();
        std::fs::write(place.join("file"), "").unwrap();
        drop(own);
        assert!(mark());
        let own = take().unwrap();
        std::fs::remove_dir_all(&place).unwrap();
        drop(own);
        assert!(!mark());
        // An empty one, and one with a file.
        std::fs::create_dir(&place).unwrap();
        drop(take().unwrap());
        std::fs::remove_file(root.path().join("below/run.made-by-xtask")).unwrap();
        std::fs::write(place.join("file"), "").unwrap();
        let refused = take().err().unwrap().to_string();
        assert!(refused.contains("Name another"), "{refused}");
        assert!(place.join("file").exists() && !mark());
        for unnamed in [".", "..", "/"] {
            assert!(OwnDirectory::take(Path::new(unnamed)).is_err(), "{unnamed}");
        }
    }
}
