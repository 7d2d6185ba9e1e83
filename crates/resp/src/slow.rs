//! Commands that took long: the newest of them, up to a number.
//!
//! A command is timed while it runs in the serial stage: its waits before and behind that do not count. A command that
//! is fast with any amount of data is timed only if the setting is below the default.
//!
//! Invariant: the log has no more entries than its setting says, each with a bounded part of its command.

use crate::command::line::Line;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// In microseconds.
pub(crate) const SLOWER_THAN: i64 = 10_000;
pub(crate) const LENGTH_MAX: usize = 128;
/// The most that may be asked for.
pub(crate) const LENGTH_LIMIT: i64 = 10_000;
/// So many parts of a command are kept,
const PARTS_MAX: usize = 32;
/// and so many bytes of each.
const PART_BYTES_MAX: usize = 128;

/// A command that took long.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Entry {
    pub id: i64,
    /// In milliseconds since 1970.
    pub at: i64,
    pub micros: i64,
    pub parts: Vec<Vec<u8>>,
    pub address: String,
    pub name: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct SlowLog {
    /// In microseconds; none is kept if negative.
    slower_than: AtomicI64,
    length_max: AtomicUsize,
    entries: Mutex<(i64, VecDeque<Entry>)>,
}

impl Default for SlowLog {
    fn default() -> Self {
        SlowLog {
            slower_than: AtomicI64::new(SLOWER_THAN),
            length_max: AtomicUsize::new(LENGTH_MAX),
            entries: Mutex::default(),
        }
    }
}

impl SlowLog {
    /// From how many microseconds on a command is kept.
    #[inline]
    pub fn slower_than(&self) -> i64 {
        self.slower_than.load(Ordering::Relaxed)
    }

    pub fn set_slower_than(&self, micros: i64) {
        self.slower_than.store(micros, Ordering::Relaxed);
    }

    pub fn length_max(&self) -> usize {
        self.length_max.load(Ordering::Relaxed)
    }

    pub fn set_length_max(&self, most: usize) {
        self.length_max.store(most, Ordering::Relaxed);
        self.locked().1.truncate(most);
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.locked().1.len()
    }

    /// Forgets all. Numbers go on.
    pub fn reset(&self) {
        self.locked().1.clear();
    }

    /// So many entries, the newest first.
    pub fn newest(&self, most: usize) -> Vec<Entry> {
        self.locked().1.iter().take(most).cloned().collect()
    }

    /// Keeps a command.
    pub fn keep(&self, line: &Line, micros: i64, at: i64, address: String, name: Vec<u8>) {
        let mut entries = self.locked();
        let id = entries.0;
        entries.0 += 1;
        entries.1.push_front(Entry {
            id,
            at,
            micros,
            parts: shortened(line),
            address,
            name,
        });
        entries.1.truncate(self.length_max());
    }

    fn locked(&self) -> MutexGuard<'_, (i64, VecDeque<Entry>)> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(line: &Line) -> Vec<Vec<u8>> {
    let whole = match line.len() > PARTS_MAX {
        true => PARTS_MAX - 1,
        false => line.len(),
    };
    let mut parts: Vec<Vec<u8>> = (line.parts(0).take(whole))
        .map(|part| match part.len().checked_sub(PART_BYTES_MAX) {
            Some(more @ 1..) => {
                let told = format!("... ({more} more bytes)");
                [&part[..PART_BYTES_MAX], told.as_bytes()].concat()
            }
            _ => part.to_vec(),
        })
        .collect();
    if whole < line.len() {
        parts.push(format!("... ({} more arguments)", line.len() - whole).into());
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_in_part() {
        let log = SlowLog::default();
        log.set_length_max(2);
        let long = [b"SADD".to_vec(), vec![b'x'; 200]];
        let more = (0..38).map(|number| number.to_string().into_bytes());
        let parts: Vec<Vec<u8>> = long.into_iter().chain(more).collect();
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        for micros in [1, 2] {
            log.keep(&Line::of(&[b"PING"]), micros, 5, "a".into(), Vec::new());
        }
        log.keep(&Line::of(&parts), 3, 6, "b".into(), b"me".to_vec());
        let newest = log.newest(usize::MAX);
        let numbers: Vec<_> = newest
            .iter()
            .map(|entry| (entry.id, entry.micros))
            .collect();
        assert_eq!(numbers, [(2, 3), (1, 2)]);
        assert_eq!(newest[0].parts.len(), PARTS_MAX);
        assert!(newest[0].parts[1].ends_with(b"... (72 more bytes)"));
        assert_eq!(newest[0].parts[31], b"... (9 more arguments)");
        assert_eq!(log.newest(1).len(), 1);
        log.reset();
        log.set_length_max(0);
        log.keep(&Line::of(&[b"PING"]), 1, 5, "a".into(), Vec::new());
        assert_eq!(log.len(), 0);
    }
}
