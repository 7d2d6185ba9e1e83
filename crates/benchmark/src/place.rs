//! The place of an experiment's database or segments. It is removed at the end, also if a signal ends a program that
//! watches for signals ([`sardonyx_command::ending`]).

use crate::BenchmarkError;
use sardonyx_command::ending;
use std::io;
use std::path::{Path, PathBuf};

/// A new database's directory; removed with everything in it when dropped, unless kept.
#[derive(Debug)]
pub struct Place {
    path: PathBuf,
    /// Directories elsewhere with parts of it, which are removed with it.
    elsewhere: Vec<PathBuf>,
    keep: bool,
}

impl Place {
    /// Claims a path that does not exist.
    ///
    /// # Errors
    /// The path exists: it is not ours to remove.
    pub fn claim(path: &Path) -> Result<Place, BenchmarkError> {
        if path.symlink_metadata().is_ok() {
            return Err(BenchmarkError::Exists {
                path: path.to_path_buf(),
            });
        }
        Ok(Place::at(path.to_path_buf()))
    }

    /// Claims a path that does not exist, and others, which are removed with it.
    ///
    /// # Errors
    /// As [`Place::claim`].
    pub fn claim_all(path: &Path, elsewhere: &[PathBuf]) -> Result<Place, BenchmarkError> {
        let mut place = Place::claim(path)?;
        for other in elsewhere {
            let mut claimed = Place::claim(other)?;
            claimed.keep = true;
            place.elsewhere.push(claimed.path.clone());
        }
        Ok(place)
    }

    /// Creates a directory with a name of its own, which begins with `prefix`, in another one.
    ///
    /// # Errors
    /// The system's error, if it cannot be created.
    pub fn temporary(within: &Path, prefix: &str) -> io::Result<Place> {
        let made = tempfile::Builder::new().prefix(prefix).tempdir_in(within)?;
        Ok(Place::at(made.keep()))
    }

    fn at(path: PathBuf) -> Place {
        ending::goes_too(&path);
        Place {
            path,
            elsewhere: Vec::new(),
            keep: false,
        }
    }

    /// Claims a path that does not exist and creates a directory there, if a path is given.
    ///
    /// # Errors
    /// As [`Place::claim`]; the system's error, if the directory cannot be created.
    pub fn directory(path: Option<&Path>) -> Result<Option<Place>, BenchmarkError> {
        let Some(path) = path else {
            return Ok(None);
        };
        let place = Place::claim(path)?;
        std::fs::create_dir_all(path).map_err(|source| BenchmarkError::Place {
            path: path.to_path_buf(),
            source,
        })?;
        Ok(Some(place))
    }

    /// The database's files are made here.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps the directory.
    pub fn keep(&mut self) {
        self.keep = true;
        for path in self.all() {
            ending::let_stay(path);
        }
    }

    /// The path and the directories elsewhere.
    fn all(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.path).chain(&self.elsewhere)
    }

    /// Removes it, and reports an error.
    ///
    /// # Errors
    /// The system's error.
    pub fn close(mut self) -> io::Result<()> {
        self.keep = true;
        self.remove()
    }

    /// Removes all of it; the first error, if there is one.
    fn remove(&self) -> io::Result<()> {
        (self.all().map(|path| ending::remove(path))).fold(Ok(()), io::Result::and)
    }
}

/// The parent directory of a path, which is on the same disk.
pub fn beside(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.keep
            && let Err(error) = self.remove()
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
            Err(BenchmarkError::Exists { .. })
        ));
        drop(place);
        assert!(!path.exists());
        let mut place = Place::claim(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        place.keep();
        drop(place);
        assert!(path.exists());
    }

    #[test]
    fn what_is_elsewhere_goes_and_stays_with_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let others = [path("fast"), path("disk1")];
        for keeps in [false, true] {
            let mut place = Place::claim_all(&path("bank.sdx"), &others).unwrap();
            let all = ["bank.sdx", "fast", "disk1"].map(path);
            all.iter()
                .for_each(|path| std::fs::create_dir(path).unwrap());
            if keeps {
                place.keep();
            }
            drop(place);
            assert!(all.iter().all(|path| path.exists() == keeps));
        }
        std::fs::remove_dir(path("bank.sdx")).unwrap();
        assert!(Place::claim_all(&path("bank.sdx"), &others).is_err());
        assert!(path("fast").exists(), "it is not ours");
    }
}
