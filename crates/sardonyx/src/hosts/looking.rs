//! The times at which hosts look at the register that names the serving host.
//!
//! A look in full follows the log, too, and asks an object store for several answers, so it comes seldom. A store that is
//! near ([`RemoteStore::is_near`](sardonyx_storage::remote_log::store::RemoteStore::is_near)) reads a register at once and
//! charges nothing. There the register alone is read in between: so a host that hands over, or is asked to, is not noticed
//! an eighth of a second later. A store that gives no answer is not near until it gives one: each request to it may take a
//! connection, and is logged.

use super::{Host, RemoteLog, StopHost};
use sardonyx_storage::remote_log::primary::Primary;
use sardonyx_storage::remote_log::store::Register;
use std::time::{Duration, Instant};

/// The number of looks in the time after which a host counts as failed,
const LOOKS: u32 = 16;
/// and so many when the one that serves is about to hand over.
const LOOKS_SOON: u32 = 64;
/// The most time between two looks: a host that is wanted is not to wait for long.
const BETWEEN_LOOKS_MOST: Duration = Duration::from_secs(1);
/// The same when the one that serves is about to hand over.
const BETWEEN_LOOKS_SOON_MOST: Duration = Duration::from_millis(100);

/// So many looks at the register of a store that is near.
const LOOKS_NEAR: u32 = 128;
/// The least and the most time between two of them.
const BETWEEN_LOOKS_NEAR: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(15)];

/// Between two looks at the register.
pub(super) fn between_looks(wait: Duration, soon: bool) -> Duration {
    match soon {
        true => (wait / LOOKS_SOON).min(BETWEEN_LOOKS_SOON_MOST),
        false => (wait / LOOKS).min(BETWEEN_LOOKS_MOST),
    }
}

/// The times between looks at the register alone: short ones as long as a store that is near answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// The interval, if the store is near.
    near: Option<Duration>,
    far: Duration,
    /// The last request had an answer.
    answers: bool,
}

impl Pace {
    /// The pace of a host that counts as failed after this wait.
    pub fn new(remote: &RemoteLog, wait: Duration) -> Pace {
        let [least, most] = BETWEEN_LOOKS_NEAR;
        let is_near = remote.store.is_near();
        Pace {
            near: is_near.then(|| (wait / LOOKS_NEAR).clamp(least, most)),
            far: between_looks(wait, false),
            answers: true,
        }
    }

    /// A request had an answer, or it had none.
    pub fn asked(&mut self, has_answered: bool) {
        self.answers = has_answered;
    }

    /// The interval, if the store is near, and answers.
    fn near(&self) -> Option<Duration> {
        self.near.filter(|_| self.answers)
    }

    /// The pace of a serving host, which does nothing else with the register.
    pub fn of_serving(&self) -> Duration {
        self.near().unwrap_or(self.far)
    }
}

impl Host {
    /// Waits until this moment, until this host is to stop, or until the register of a near store changes.
    pub(super) fn wait(&mut self, until: Instant, stop: &StopHost) {
        while let Some(near) = self.pace.near() {
            stop.wait(until.min(Instant::now() + near));
            if stop.is_stopped() || Instant::now() >= until || self.is_news() {
                return;
            }
        }
        stop.wait(until);
    }

    /// True if the record is of another host than at the last look, or of one that hands over by now.
    fn is_news(&mut self) -> bool {
        let Some(before) = &self.seen else {
            return false;
        };
        let stored = self.remote.store.read_register(Register::Primary);
        self.pace.asked(stored.is_ok());
        let now = stored
            .ok()
            .and_then(|stored| Primary::decode(before.identity, stored.as_ref()).ok()?);
        // The next look in full reports the fault.
        now.is_some_and(|now| {
            let as_before = Primary {
                count: now.count,
                ..before.clone()
            };
            now != as_before
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent::Silent;
    use super::super::{HostOptions, MemoryStore};
    use super::*;
    use crate::Options;
    use sardonyx_storage::remote_log::primary::Candidate;
    use sardonyx_storage::remote_log::store::{RemoteStore, Swapped};
    use std::sync::Arc;

    #[test]
    fn a_hand_over_and_another_host_are_news_and_a_sign_is_none() {
        let store = Arc::new(MemoryStore::new());
        let options = Options::new().store(RemoteLog::new(store.clone()));
        let mut host = Host::new("nowhere", options, HostOptions::new("host-2")).unwrap();
        assert!(!host.is_news(), "nothing was seen yet");
        let mut record = Primary {
            identity: 7,
            host: "host-1".into(),
            process: 1,
            count: 1,
            wait: Duration::from_secs(2),
            released: false,
            wanted: None,
        };
        let put = |text: &str| {
            let before = store.read_register(Register::Primary).unwrap();
            let before = before.map(|before| before.version);
            let swapped = store.swap_register(Register::Primary, before.as_ref(), text.as_bytes());
            assert_eq!(swapped.unwrap(), Swapped::Ok);
        };
        put(&record.encode());
        host.seen = Some(record.clone());
        assert!(!host.is_news());
        record.count = 2;
        put(&record.encode());
        assert!(!host.is_news(), "it gives signs");
        record.wanted = Some("host-3".into());
        put(&record.encode());
        assert!(host.is_news(), "it is asked to hand over");
        host.seen = Some(record.clone());
        assert!(!host.is_news());
        record.released = true;
        put(&record.encode());
        assert!(host.is_news(), "it has handed over");
        host.seen = Some(record.clone());
        record.process = 2;
        put(&record.encode());
        assert!(host.is_news(), "it is another process");
        put("damaged");
        assert!(!host.is_news(), "the next look in full says so");
    }

    #[test]
    fn a_store_that_is_near_is_looked_at_more_often() {
        let (seconds, millisecond) = (Duration::from_secs(2), Duration::from_millis(1));
        let store = RemoteLog::new(Arc::new(MemoryStore::new()));
        let mut pace = Pace::new(&store, seconds);
        let short = Pace::new(&store, 200 * millisecond);
        assert_eq!(short.near(), Some(2 * millisecond));
        assert_eq!(pace.near(), Some(15 * millisecond));
        assert_eq!(pace.of_serving(), 15 * millisecond);
        pace.asked(false);
        assert_eq!(pace.near(), None);
        assert_eq!(pace.of_serving(), 125 * millisecond);
        pace.asked(true);
        assert_eq!(pace.near(), Some(15 * millisecond));
    }

    #[test]
    fn a_store_that_gives_no_answer_is_asked_in_full_looks_alone_until_it_gives_one() {
        let store = Arc::new(Silent::default());
        let options = Options::new().store(RemoteLog::new(store.clone()));
        let mut host = Host::new("nowhere", options, HostOptions::new("host-2")).unwrap();
        host.candidate = Some(Candidate::new(7, "host-2", 2, host.host.wait));
        host.seen = Some(Primary {
            identity: 7,
            host: "host-1".into(),
            process: 1,
            count: 1,
            wait: Duration::from_secs(2),
            released: false,
            wanted: None,
        });
        assert!(host.pace.near().is_some());
        store.be_silent(true);
        // A look between two in full finds it.
        assert!(!host.is_news());
        assert_eq!(host.pace.near(), None);
        // So does one in full.
        host.pace.asked(true);
        assert!(host.look().is_ok());
        assert_eq!(host.pace.near(), None);
        store.be_silent(false);
        assert!(host.look().is_ok());
        assert!(host.pace.near().is_some());
    }
}
