//! Files that can be seen before they are stable: a file has its place by a link, which the sync of its directory makes
//! stable afterwards.
//!
//! An owner whose request got no answer checks if its file is there, on another thread when the directory is served to
//! other hosts ([`StoreServer`](crate::StoreServer)). Invariant (I7): this process reports a file only when the sync
//! that makes it stable has succeeded. Files that an earlier process left are synced when the directory is opened.

use sardonyx_base::sync::futex::{Condvar, Mutex};
use std::collections::{HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};

/// The files that may have their place and are not known to be stable.
#[derive(Debug, Default)]
pub(crate) struct Unstable {
    files: Mutex<Files>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Files {
    /// The number of requests that make each.
    making: HashMap<PathBuf, usize>,
    /// Files whose sync failed.
    failed: HashSet<PathBuf>,
}

/// One that is about to be seen. Dropped without [`Making::settled`], it may have its place and be lost by a power cut.
#[derive(Debug)]
pub(crate) struct Making<'u> {
    unstable: &'u Unstable,
    file: PathBuf,
    is_stable: bool,
}

impl Unstable {
    /// Before a file gets its place.
    pub fn make(&self, file: PathBuf) -> Making<'_> {
        *self.files.lock().making.entry(file.clone()).or_default() += 1;
        Making {
            unstable: self,
            file,
            is_stable: false,
        }
    }

    /// A file whose sync failed, if there is one: by its name the first.
    pub fn failed(&self) -> Option<PathBuf> {
        self.files.lock().failed.iter().min().cloned()
    }

    /// Waits until a file that was seen is stable.
    ///
    /// # Errors
    /// Its sync has failed.
    pub fn wait(&self, file: &Path) -> io::Result<()> {
        let mut files = self.files.lock();
        while files.making.contains_key(file) {
            self.changed.wait(&mut files);
        }
        match files.failed.contains(file) {
            true => Err(io::Error::other(
                "a sync of it has failed, so it may be lost by a power cut",
            )),
            false => Ok(()),
        }
    }
}

impl Making<'_> {
    /// It has its place, and that is stable; or it has not got it.
    pub fn settled(mut self) {
        self.is_stable = true;
    }
}

impl Drop for Making<'_> {
    fn drop(&mut self) {
        let mut files = self.unstable.files.lock();
        if let Some(count) = files.making.get_mut(&self.file) {
            *count -= 1;
            if *count == 0 {
                files.making.remove(&self.file);
            }
        }
        if !self.is_stable {
            files.failed.insert(std::mem::take(&mut self.file));
        }
        self.unstable.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn a_file_that_was_seen_is_waited_for_until_the_last_that_makes_it_is_done() {
        let (unstable, synced) = (Unstable::default(), AtomicBool::new(false));
        let (one, other) = (unstable.make("1".into()), unstable.make("1".into()));
        // Another file is not waited for.
        unstable.wait(Path::new("2")).unwrap();
        thread::scope(|scope| {
            let reader = scope.spawn(|| {
                unstable.wait(Path::new("1")).unwrap();
                assert!(synced.load(Ordering::SeqCst));
            });
            // It lost: the other one made the file.
            other.settled();
            synced.store(true, Ordering::SeqCst);
            one.settled();
            reader.join().unwrap();
        });
    }

    #[test]
    fn i7_a_file_whose_sync_failed_is_never_said_to_be_there() {
        let unstable = Unstable::default();
        unstable.make("2".into()).settled();
        assert_eq!(unstable.failed(), None);
        drop(unstable.make("1".into()));
        assert_eq!(unstable.failed(), Some("1".into()));
        for _ in 0..2 {
            unstable.wait(Path::new("1")).unwrap_err();
            unstable.make("1".into()).settled();
        }
        unstable.wait(Path::new("2")).unwrap();
    }
}
