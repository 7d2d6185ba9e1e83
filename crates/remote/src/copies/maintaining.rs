//! The thread of a process that lets copies in when it is the writer, and reports bases that copies lack. It ends with the
//! store.

use super::Copies;
use super::bases::lacking_bases;
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
    let mut was_writer = false;
    while let Some(copies) = copies.upgrade() {
        let is_writer = copies.tenure.lock().settled(copies.process).is_some();
        if is_writer && !was_writer {
            warn_of_lacking_bases(&copies);
        }
        was_writer = is_writer;
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

/// Once for each time that this process becomes the writer.
fn warn_of_lacking_bases(copies: &Copies) {
    let Ok(view) = copies.view() else { return };
    for lacking in lacking_bases(&copies.members, &view.record) {
        events::warn!(%lacking, "a copy of the log lacks a base");
    }
}
