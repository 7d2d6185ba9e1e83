//! The outside witness of a sequence: a file of the begun transactions and of their results as the program got them.

use std::fs::File;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// The witness to which a sequence reports its actions and their results.
pub struct Witness {
    pub file: File,
    pub next: AtomicU64,
}

impl Witness {
    /// The id of a transaction that begins now.
    pub fn begins(&self) -> u64 {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.say('?', id);
        id
    }

    pub fn durable(&self, id: u64) {
        self.say('+', id);
    }

    pub fn refused(&self, id: u64) {
        self.say('-', id);
    }

    fn say(&self, what: char, id: u64) {
        let line = format!("{what} {id}\n");
        (&self.file).write_all(line.as_bytes()).unwrap();
    }
}
