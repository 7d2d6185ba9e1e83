//! Cleaning up when a signal ends an experiment: its directories and unfinished files are removed and its processes
//! ended, as when it ends by itself.
//!
//! A thread waits for the signals that end a program ([`watch`]). The experiment's directories, files and processes are
//! in one list (`Kept`). When a signal comes, the thread locks the list and does not release it. So a thread that would
//! end something itself, print an error or begin the next run waits there. Then the processes are killed and waited
//! for, and the directories are removed. The process ends by the same signal, so that its parent sees the cause. The
//! engine may still write meanwhile: the removal of a directory is repeated until it succeeds.

use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use rustix::process::{pidfd_open, pidfd_send_signal, waitid};
use sardonyx_base::signals::Ending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The most attempts to remove a directory while a thread may still create files in it.
const ATTEMPTS: u32 = 1000;

static KEPT: Mutex<Kept> = Mutex::new(Kept {
    places: Vec::new(),
    processes: Vec::new(),
});

/// The action of the next signal, instead of ending the program.
static FIRST: Mutex<Option<Stop>> = Mutex::new(None);

type Stop = Box<dyn Fn() + Send>;

/// The experiment's resources.
#[derive(Debug)]
struct Kept {
    /// Directories and files.
    places: Vec<PathBuf>,
    processes: Vec<(u32, OwnedFd)>,
}

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a signal that ends this program remove and end the experiment's resources. The program calls it once, before
/// it starts threads.
///
/// # Errors
/// The system cannot start the thread that waits.
pub fn watch() -> io::Result<()> {
    let ending = Ending::block();
    let body = move || -> () {
        let mut signal = ending.wait();
        // A user who asks twice does not want to wait.
        while let Some(stop) = take_first() {
            stop();
            signal = ending.wait();
        }
        // Locked until the end of the process.
        let mut kept = kept();
        kept.end();
        ending.end(signal)
    };
    std::thread::Builder::new()
        .name("ending".into())
        .spawn(body)
        .map(drop)
}

/// Makes a program that was started by a watching one take the signals as usual.
pub fn as_usual() {
    Ending::unblock();
}

/// Until this is dropped, the next signal asks an experiment to end instead of ending the program: see [`instead`].
#[derive(Debug)]
#[must_use = "a signal ends the program when this is dropped"]
pub struct Instead(());

/// Makes the next signal that would end the program call `stop`, once. The one after it ends the program.
pub fn instead(stop: impl Fn() + Send + 'static) -> Instead {
    *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    Instead(())
}

impl Drop for Instead {
    fn drop(&mut self) {
        drop(take_first());
    }
}

/// The lock is released when this returns.
fn take_first() -> Option<Stop> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Removes a directory with everything in it, or a file, if it is there.
fn remove_all(path: &Path) -> io::Result<()> {
    let found = match path.symlink_metadata() {
        Ok(found) if found.is_dir() => std::fs::remove_dir_all(path),
        Ok(_) => std::fs::remove_file(path),
        Err(error) => Err(error),
    };
    match found {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Kept {
    fn forget(&mut self, place: &Path) {
        if let Some(at) = self.places.iter().position(|one| one == place) {
            self.places.swap_remove(at);
        }
    }

    /// The holder of this lock never releases it: another thread that waits for it waits for the end of the process.
    fn end(&mut self) {
        for (_, process) in &self.processes {
            // A process that has ended is no error here.
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
        for (_, process) in &self.processes {
            let over = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = waitid(WaitId::PidFd(process.as_fd()), over);
        }
        for place in &self.places {
            (0..ATTEMPTS).find(|_| remove_all(place).is_ok());
        }
    }
}

/// Adds a directory or a file that is removed with the experiment, until [`let_stay`] or [`remove`]. It need not exist
/// yet.
pub fn goes_too(place: &Path) {
    kept().places.push(place.to_path_buf());
}

/// Keeps a directory or a file.
pub fn let_stay(place: &Path) {
    kept().forget(place);
}

/// Removes a directory or a file now, if it is there.
///
/// # Errors
/// It cannot be removed.
pub fn remove(place: &Path) -> io::Result<()> {
    // Locked meanwhile, so that a signal waits until it is removed.
    let mut kept = kept();
    let removed = remove_all(place);
    kept.forget(place);
    removed
}

/// A process that is ended with the experiment, until this is dropped.
#[derive(Debug)]
pub struct Companion(u32);

impl Companion {
    /// Adds the process of this number, a child of this one that was not waited for.
    ///
    /// # Errors
    /// The system gives no handle of it.
    pub fn new(process: u32) -> io::Result<Self> {
        let pid = Pid::from_raw(process as i32).ok_or(io::ErrorKind::InvalidInput)?;
        let handle = pidfd_open(pid, PidfdFlags::empty())?;
        kept().processes.push((process, handle));
        Ok(Companion(process))
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        kept().processes.retain(|(process, _)| *process != self.0);
    }
}
