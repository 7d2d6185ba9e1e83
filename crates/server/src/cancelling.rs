//! Cancelling the statements of another connection: who knows a session's number and secret may.
//!
//! Statements that change something are short and run one at a time; what can take long are answers, and those of
//! statements that only read look between portions of rows whether they are still wanted. Rows of a change, such as those
//! of `RETURNING`, do not: it is durable before they are told, and an error would say that it is not.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The sessions that can be cancelled.
#[derive(Debug, Default)]
pub struct Cancelling {
    sessions: Mutex<HashMap<u32, Target>>,
    last: AtomicU32,
}

#[derive(Debug)]
struct Target {
    secret: [u8; 4],
    cancelled: Arc<AtomicBool>,
}

/// A session that can be cancelled, until it is dropped.
#[derive(Debug)]
pub struct Entry<'a> {
    all: &'a Cancelling,
    process: u32,
    cancelled: Arc<AtomicBool>,
}

impl Cancelling {
    /// A new session with this secret.
    pub fn enter(&self, secret: [u8; 4]) -> Entry<'_> {
        let cancelled = Arc::new(AtomicBool::new(false));
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let process = loop {
            let process = self.last.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            if process != 0 && !sessions.contains_key(&process) {
                break process;
            }
        };
        let target = Target {
            secret,
            cancelled: cancelled.clone(),
        };
        sessions.insert(process, target);
        Entry {
            all: self,
            process,
            cancelled,
        }
    }

    /// Cancels what a session does, if the secret is its own.
    pub fn cancel(&self, process: u32, secret: &[u8]) {
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(target) = sessions.get(&process).filter(|one| one.secret == secret) {
            target.cancelled.store(true, Ordering::Relaxed);
        }
    }
}

impl Entry<'_> {
    /// Its number.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// What says whether it was cancelled; whoever acts on that resets it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.cancelled.clone()
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut sessions = self
            .all
            .sessions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        sessions.remove(&self.process);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_knows_the_secret_cancels() {
        let all = Cancelling::default();
        let one = all.enter([1, 2, 3, 4]);
        let other = all.enter([5, 6, 7, 8]);
        all.cancel(one.process(), &[5, 6, 7, 8]);
        all.cancel(one.process(), &[]);
        assert!(!one.flag().load(Ordering::Relaxed));
        all.cancel(one.process(), &[1, 2, 3, 4]);
        assert!(one.flag().load(Ordering::Relaxed) && !other.flag().load(Ordering::Relaxed));
        let process = one.process();
        drop(one);
        all.cancel(process, &[1, 2, 3, 4]);
        assert_eq!(all.sessions.lock().unwrap().len(), 1);
    }
}
