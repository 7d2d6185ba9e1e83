//! A disk of the program's own that panics, in whichever thread it is called. Every waiter and every later caller gets
//! a typed error or is served, and none waits for ever. The close returns, and everything acknowledged is there (I1,
//! I7).

use crate::common;
use crate::common::{Model, Opened, PLANNED, hide_planned_panics, in_every_shape, options};
use crate::watched::WatchedDisk;
use sardonyx::Error;
use sardonyx_storage::checkpoint::CheckpointError;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::log::LogError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A disk that panics at the so-manieth change of anything in a directory, or of a file.
fn panicking(disk: SimulatedDisk, directory: &'static str, left: Arc<AtomicU64>) -> WatchedDisk {
    WatchedDisk::new(disk, move |name, _| {
        if name.contains(directory) && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            panic!("{PLANNED} of the disk at {name}");
        }
        Ok(())
    })
}

/// Returns true if an error is one of those allowed after a panic somewhere below.
fn is_told(error: &Error) -> bool {
    let of_log = matches!(
        error.downcast_ref(),
        Some(LogError::Poisoned { .. } | LogError::ThreadDied { .. } | LogError::Full { .. })
    );
    of_log || error.downcast_ref::<CheckpointError>().is_some()
}

/// Makes a call that may panic: without threads the disk is called here.
fn call<T>(call: impl FnOnce() -> Result<T, Error>) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(Ok(value)) => Some(value),
        Ok(Err(error)) => {
            assert!(is_told(&error), "{error:?}");
            None
        }
        Err(panic) => {
            let message = panic.downcast_ref::<String>().expect("a message");
            assert!(message.contains(PLANNED), "{message}");
            None
        }
    }
}

#[test]
fn i7_a_panic_of_the_disk_in_any_thread_is_told_to_everybody() {
    hide_planned_panics();
    in_every_shape(|shape| {
        for directory in ["log", "backup", "journal", "DURABLE"] {
            for at in [1, 2, 3, 5, 8, 13, 40] {
                let what = format!("{directory}, call {at}");
                let disk = SimulatedDisk::new(1, Faults::default());
                let left = Arc::new(AtomicU64::new(u64::MAX));
                let panicking = panicking(disk.clone(), directory, left.clone());
                let options = || options(shape).log_bytes_max(4 * common::SEGMENT_BYTES);
                let opened = Opened::on_any(Arc::new(panicking), options()).expect("opens");
                opened.put(0, 0).expect("durable");
                left.store(at, Ordering::SeqCst);
                let mut model = Model::default();
                model.put(0, 0);
                let mut unknown = None;
                for n in 0..300 {
                    match call(|| opened.put(n % 20, n)) {
                        Some(()) => model.put(n % 20, n),
                        // The first may be there; all later ones were refused.
                        None => unknown = unknown.or(Some((n % 20, n))),
                    }
                }
                let ticket = opened
                    .database
                    .transaction()
                    .errors()
                    .submit(|_| Ok::<_, Error>(()));
                call(|| ticket.wait().map(|_| ()));
                call(|| opened.database.flush());
                call(|| opened.database.checkpoint());
                let Opened { database, .. } = opened;
                call(move || database.close());
                left.store(u64::MAX, Ordering::SeqCst);
                let disk = disk.restart(Faults::default());
                let opened = Opened::on(&disk, options()).expect("recovers");
                let found = opened.contents().expect("readable");
                if found != model {
                    let (id, value) = unknown.unwrap_or_else(|| panic!("{what}: all were told"));
                    model.put(id, value);
                    assert_eq!(found, model, "{what}");
                }
            }
        }
    });
}
