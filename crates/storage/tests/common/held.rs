//! A disk on which changes of the log's files wait while they are held back.

use super::watched::{Change, WatchedDisk};
use sardonyx_storage::disk::{DiskError, SimulatedDisk};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};

/// A gate at which calls may have to wait, or to fail.
#[derive(Debug, Default)]
struct Gate {
    is_held: Mutex<bool>,
    /// Calls that waited, or come later, are not done.
    fails: AtomicBool,
    changed: Condvar,
}

impl Gate {
    fn pass(&self, name: &str) -> Result<(), DiskError> {
        let held = self.is_held.lock().unwrap();
        drop(self.changed.wait_while(held, |held| *held).unwrap());
        match self.fails.load(Ordering::SeqCst) {
            true => {
                let error = std::io::Error::other("it is so in this test");
                Err(DiskError::new("sync", name.to_string(), 0, error))
            }
            false => Ok(()),
        }
    }
}

/// A simulated disk with a gate before the syncs of its log: bytes written meanwhile are not stable.
#[derive(Clone, Debug)]
pub struct HeldDisk {
    #[allow(dead_code, reason = "only tests of storage crash it")]
    pub inner: SimulatedDisk,
    /// The one to use.
    pub disk: WatchedDisk,
    gate: Arc<Gate>,
}

impl HeldDisk {
    pub fn new(inner: SimulatedDisk) -> HeldDisk {
        let gate = Arc::new(Gate::default());
        let passes = gate.clone();
        let disk = WatchedDisk::new(inner.clone(), move |name, change| {
            match change == Change::Sync && name.contains("log/") {
                true => passes.pass(name),
                false => Ok(()),
            }
        });
        HeldDisk { inner, disk, gate }
    }

    /// Has syncs of the log wait until the returned guard is dropped, also by a test that fails.
    pub fn hold_back(&self) -> Held {
        *self.gate.is_held.lock().unwrap() = true;
        Held(self.gate.clone())
    }
}

/// Syncs wait.
#[must_use]
pub struct Held(Arc<Gate>);

impl Held {
    /// They fail, and make nothing stable.
    #[allow(dead_code, reason = "only tests of storage do that")]
    pub fn fail(self) {
        self.0.fails.store(true, Ordering::SeqCst);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        *self.0.is_held.lock().unwrap() = false;
        self.0.changed.notify_all();
    }
}
