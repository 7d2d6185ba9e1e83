//! The thread of a process that lets copies in when it is the writer. It ends with the store.

use super::Copies;
use sardonyx_base::events;
use std::sync::{Arc, Weak};
use std::thread::Builder;
use std::time::Duration;

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);

/// Starts the thread. Without one, copies that are left out stay so until another process writes.
pub(super) fn start(copies: &Arc<Copies>) {
    let copies = Arc::downgrade(copies);
    let started = Builder::new()
        .name("store-copies".into())
        .spawn(move || maintain(&copies));
    if let Err(error) = started {
        events::error!(%error, "no thread can be started that lets copies of the log in");
    }
}

fn maintain(copies: &Weak<Copies>) {
    while let Some(copies) = copies.upgrade() {
        let more = copies.maintain().unwrap_or_else(|error| {
            events::debug!(%error, "a copy of the log is not let in");
            false
        });
        drop(copies);
        if !more {
            std::thread::sleep(PAUSE);
        }
    }
}
