//! Where an experiment makes its database or segments, and that they go away again, also when a signal
//! ends the program that watches for them ([`crate::ending`]).

use crate::ending;
use crate::error::ExperimentError;
use std::io;
use std::path::{Path, PathBuf};

/// A new database's directory; removed with everything in it when dropped, unless kept.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    keep: bool,
}

impl Place {
    /// Claims a path where nothing is.
    ///
    /// # Errors
    /// If there is something: it is not ours to remove.
    pub fn claim(path: &Path) -> Result<Place, ExperimentError> {
        if path.symlink_metadata().is_ok() {
            return Err(ExperimentError::Exists {
                path: path.to_path_buf(),
            });
        }
        Ok(Place::at(path.to_path_buf()))
    }

    /// Makes a directory with a name of its own, which begins with `prefix`, in another one.
    ///
    /// # Errors
    /// What the system says if it cannot be made.
    pub fn temporary(within: &Path, prefix: &str) -> io::Result<Place> {
        let made = tempfile::Builder::new().prefix(prefix).tempdir_in(within)?;
        Ok(Place::at(made.keep()))
    }

    fn at(path: PathBuf) -> Place {
        ending::goes_too(&path);
        Place { path, keep: false }
    }

    /// Claims a path where nothing is and makes a directory there, if a path is given.
    ///
    /// # Errors
    /// As [`Place::claim`]; what the system says if the directory cannot be made.
    pub fn directory(path: Option<&Path>) -> Result<Option<Place>, ExperimentError> {
        let Some(path) = path else {
            return Ok(None);
        };
        let place = Place::claim(path)?;
        std::fs::create_dir_all(path).map_err(|source| ExperimentError::Place {
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Some(place))
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that it is in, which is on the same disk.
    pub fn beside(&self) -> PathBuf {
        match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        }
    }

    /// Leaves the directory where it is.
    pub fn keep(&mut self) {
        self.keep = true;
        ending::let_stay(&self.path);
    }

    /// Removes it, and says if that fails.
    ///
    /// # Errors
    /// What the system says.
    pub fn close(mut self) -> io::Result<()> {
        self.keep = true;
        ending::remove(&self.path)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = ending::remove(&self.path)
        {
            eprintln!(
                "sardonyx: {} could not be removed: {error}",
                self.path.display()
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_removed_unless_kept_and_never_taken_from_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("bank.sdx");
        let place = Place::claim(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("file"), "bytes").unwrap();
        assert!(matches!(
            Place::claim(&path),
            Err(ExperimentError::Exists { .. })
        ));
        drop(place);
        assert!(!path.exists());
        let mut place = Place::claim(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        place.keep();
        drop(place);
        assert!(path.exists());
    }
}
