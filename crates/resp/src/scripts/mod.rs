//! Scripts in Lua 5.1: `EVAL`, `EVALSHA`, and the scripts kept for them. A script is a part of its transaction.
//!
//! [`Scripts`] has the texts, by their digests, and interpreters that are idle. A script runs in an [`Interpreter`] of
//! its own meanwhile, so that one that reads beside a long transaction delays no other. Sources that came by `EVAL`
//! are kept for `EVALSHA` up to bounds; the oldest are forgotten. Sources of `SCRIPT LOAD` are kept until they are
//! flushed. None survives the program.
//!
//! Invariants: a script sees nothing of another one; it ends within the bounds of [`limits`], and its interpreter's
//! memory (I10, I15). If it ends by an error, its writes and messages are undone.

mod convert;
mod digest;
mod evaluation;
mod idle;
mod interpreter;
mod json;
mod libraries;
mod library;
mod limits;
mod pack;
mod patterns;
mod strings;

pub(crate) use evaluation::says_that_it_reads;

use crate::failure::Failure;
use digest::{Digest, digest_in};
use idle::Interpreter;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So many scripts that came by `EVAL` are kept,
const SEEN_MAX: usize = 500;
/// and so many bytes of them; the same for those that were loaded.
const BYTES_MAX: usize = 16 << 20;
/// A script that is kept takes so many bytes besides its text: twice its digest, and its places in lists.
const EACH_BYTES: usize = 256;

#[derive(Debug)]
pub(crate) struct Script {
    pub digest: Digest,
    /// Behind the line that says how it is to be run.
    pub body: Vec<u8>,
    pub only_reads: bool,
    /// For a script with flags: true if it may add data beyond `maxmemory`.
    pub allows_more: Option<bool>,
}

/// The scripts of a keyspace.
#[derive(Default)]
pub(crate) struct Scripts {
    known: Mutex<Known>,
    idle: Mutex<Vec<Interpreter>>,
}

#[derive(Default)]
struct Known {
    scripts: HashMap<Digest, Kept>,
    /// The scripts that came by `EVAL`, in their order.
    seen: VecDeque<Digest>,
    seen_bytes: usize,
    loaded_bytes: usize,
}

struct Kept {
    script: Arc<Script>,
    is_loaded: bool,
}

/// The bytes that a kept script takes.
fn kept_bytes(script: &Script) -> usize {
    EACH_BYTES + script.body.len()
}

impl Known {
    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.seen.pop_front()
            && let Some(kept) = self.scripts.get(&oldest)
            && !kept.is_loaded
        {
            self.seen_bytes -= kept_bytes(&kept.script);
            self.scripts.remove(&oldest);
        }
    }

    fn see(&mut self, script: &Arc<Script>) {
        let bytes = kept_bytes(script);
        if bytes > BYTES_MAX || self.scripts.contains_key(&script.digest) {
            return;
        }
        while self.seen.len() >= SEEN_MAX || self.seen_bytes + bytes > BYTES_MAX {
            self.forget_oldest();
        }
        self.seen.push_back(script.digest.clone());
        self.seen_bytes += bytes;
        let kept = Kept {
            script: script.clone(),
            is_loaded: false,
        };
        self.scripts.insert(script.digest.clone(), kept);
    }

    fn load(&mut self, script: &Arc<Script>) -> Result<(), Failure> {
        let bytes = kept_bytes(script);
        let known = self.scripts.get(&script.digest);
        if known.is_some_and(|known| known.is_loaded) {
            return Ok(());
        }
        if self.loaded_bytes + bytes > BYTES_MAX {
            return Err(Failure::Said(format!(
                "ERR the scripts that are loaded have at most {BYTES_MAX} bytes: SCRIPT FLUSH forgets them"
            )));
        }
        if known.is_some() {
            self.seen_bytes -= bytes;
            self.seen.retain(|seen| *seen != script.digest);
        }
        self.loaded_bytes += bytes;
        let kept = Kept {
            script: script.clone(),
            is_loaded: true,
        };
        self.scripts.insert(script.digest.clone(), kept);
        Ok(())
    }
}

impl Scripts {
    /// True if there is a script of this digest.
    pub fn has(&self, digest: &[u8]) -> bool {
        digest_in(digest).is_some_and(|digest| self.known().scripts.contains_key(&digest))
    }

    /// True if the script of this digest is known, and declares that it only reads.
    pub fn only_reads(&self, digest: &[u8]) -> bool {
        let known = self.known();
        let kept = digest_in(digest).and_then(|digest| known.scripts.get(&digest));
        kept.is_some_and(|kept| kept.script.only_reads)
    }

    /// Forgets all scripts.
    pub fn flush(&self) {
        *self.known() = Known::default();
        self.idle().clear();
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Interpreter>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripts").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::digest::digest_of;
    use super::*;

    fn script(text: &str) -> Arc<Script> {
        Arc::new(Script {
            digest: digest_of(text.as_bytes()),
            body: text.into(),
            only_reads: false,
            allows_more: None,
        })
    }

    #[test]
    fn the_oldest_that_were_seen_are_forgotten_and_the_loaded_are_kept() {
        let mut known = Known::default();
        let first = script("return 0");
        known.see(&first);
        known.load(&first).unwrap();
        for number in 1..=SEEN_MAX {
            known.see(&script(&format!("return {number}")));
        }
        assert!(known.scripts.contains_key(&first.digest));
        assert_eq!(known.scripts.len(), SEEN_MAX + 1);
        known.see(&script("return 'one more'"));
        assert_eq!(known.scripts.len(), SEEN_MAX + 1);
        assert!(!known.scripts.contains_key(&script("return 1").digest));
        // Large ones take the place of many.
        known.see(&script(&" ".repeat(BYTES_MAX - EACH_BYTES)));
        assert_eq!((known.scripts.len(), known.seen_bytes), (2, BYTES_MAX));
        known.see(&script("return 1"));
        let bytes = EACH_BYTES + "return 1".len();
        assert_eq!((known.scripts.len(), known.seen_bytes), (2, bytes));
        // Short ones take more than their text.
        for number in 0.. {
            if known.load(&script(&format!("return {number}"))).is_err() {
                assert!(number < BYTES_MAX / EACH_BYTES, "{number}");
                break;
            }
        }
        let large = script(&" ".repeat(BYTES_MAX));
        assert!(known.load(&large).is_err());
    }
}
