//! What is left in order when a signal ends an experiment: its directories and unfinished files are removed
//! and its processes ended, as they are when it ends by itself.
//!
//! A thread waits for the signals that end a program ([`watch`]). What goes with the experiment is kept in one
//! list (`Kept`). When a signal comes, the list is taken and not given back, so that a thread that would end
//! something itself, print an error or go on to the next run waits there; then the processes are killed and
//! waited for, the directories are removed, and the process ends by the same signal, so that whoever started
//! it sees what ended it. The engine still writes meanwhile: a directory is removed until it is gone.

use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use rustix::process::{pidfd_open, pidfd_send_signal, waitid};
use sardonyx_base::signals::Ending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a directory is tried to be removed while a thread may still make files in it.
const ATTEMPTS: u32 = 1000;

static KEPT: Mutex<Kept> = Mutex::new(Kept {
    places: Vec::new(),
    processes: Vec::new(),
});

/// What the next signal does instead of ending the program.
static FIRST: Mutex<Option<Stop>> = Mutex::new(None);

type Stop = Box<dyn Fn() + Send>;

/// What goes with the experiment.
#[derive(Debug)]
struct Kept {
    /// Directories and files.
    places: Vec<PathBuf>,
    processes: Vec<(u32, OwnedFd)>,
}

fn kept() -> MutexGuard<'static, Kept> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has a signal that ends this program remove and end what goes with the experiment. To be called by the
/// program, once and before it starts threads.
///
/// # Errors
/// If the system cannot start the thread that waits.
pub fn watch() -> io::Result<()> {
    let ending = Ending::block();
    let body = move || -> () {
        let mut signal = ending.wait();
        // Whoever asks twice does not want to wait.
        while let Some(stop) = take_first() {
            stop();
            signal = ending.wait();
        }
        // Held to the end of the process.
        let mut kept = kept();
        kept.end();
        ending.end(signal)
    };
    std::thread::Builder::new()
        .name("ending".into())
        .spawn(body)
        .map(drop)
}

/// Has a program that was started by one that watches take the signals as usual.
pub fn as_usual() {
    Ending::unblock();
}

/// That the next signal asks an experiment to come to its end instead of ending the program, until this is
/// dropped: see [`instead`].
#[derive(Debug)]
#[must_use = "a signal ends the program when this is dropped"]
pub struct Instead(());

/// Has the next signal that would end the program call `stop`, once. The one after it ends the program.
pub fn instead(stop: impl Fn() + Send + 'static) -> Instead {
    *FIRST.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(stop));
    Instead(())
}

impl Drop for Instead {
    fn drop(&mut self) {
        drop(take_first());
    }
}

/// Not locked any more when this returns.
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

    /// Whoever holds this does not give it back: whoever waits for it waits for the end of the process.
    fn end(&mut self) {
        for (_, process) in &self.processes {
            // One that has ended is no error here.
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

/// A directory or a file that is removed with the experiment, until [`let_stay`] or [`remove`]. It need not be
/// there yet.
pub fn goes_too(place: &Path) {
    kept().places.push(place.to_path_buf());
}

/// A directory or a file stays.
pub fn let_stay(place: &Path) {
    kept().forget(place);
}

/// Removes a directory or a file now, if it is there.
///
/// # Errors
/// If it cannot be removed.
pub fn remove(place: &Path) -> io::Result<()> {
    // Held meanwhile, so that a signal waits until it is gone.
    let mut kept = kept();
    let removed = remove_all(place);
    kept.forget(place);
    removed
}

/// A process that is ended with the experiment, until this is dropped.
#[derive(Debug)]
pub struct Companion(u32);

impl Companion {
    /// The process of this number, a child of this one that was not waited for.
    ///
    /// # Errors
    /// If the system gives no handle of it.
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
