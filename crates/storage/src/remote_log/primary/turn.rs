//! The time at which a host that does not serve looks at the register, follows the log, and takes its turn. Without I/O
//! and clock.
//!
//! ```text
//!   rests ─▶ looks ─▶ another host serves ─▶ follows for a while ─▶ rests
//!     ▲        └────▶ none does ─▶ follows to the log's end ─▶ claims ─▶ a term begins
//!     │                                └─▶ looks again       └─▶ conflict: looks again; a second one, no answer
//!     └──────────────────────────────────────────────────────────────┘
//! ```
//!
//! A look in full follows the log, too, and asks an object store for several answers, so it comes seldom. A store that
//! is near ([`RemoteStore::is_near`](crate::remote_log::store::RemoteStore::is_near)) reads a register at once and charges
//! nothing. There the register alone is read in between, and each read counts for the watch over the serving host. So a
//! host that hands over, is asked to, or gives no sign, is not noticed an eighth of a second later. A store that gives
//! no answer is not near until it gives one: each request to it may take a connection, and is logged.
//!
//! Invariant: from each state, a look in full comes within the time between two of them, whatever the store answers. So
//! no host waits for another one's turn without end. And a claim is refused at most twice without a rest, so a store that
//! refuses claims without a visible reason is asked no more often than in that time.

use super::{Candidate, Look, Primary, Replacement};
use crate::remote_log::RemoteLogError;
use crate::remote_log::store::{StoredRegister, Swapped};
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
/// So many of them when the host that serves is about to hand over: its clients wait.
const LOOKS_NEAR_SOON: u32 = 512;

/// Between two looks in full.
fn between_looks(wait: Duration, soon: bool) -> Duration {
    match soon {
        true => (wait / LOOKS_SOON).min(BETWEEN_LOOKS_SOON_MOST),
        false => (wait / LOOKS).min(BETWEEN_LOOKS_MOST),
    }
}

/// The times between looks at the register alone: short ones as long as a store that is near answers.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    is_near: bool,
    wait: Duration,
    /// The last request had an answer.
    answers: bool,
}

impl Pace {
    /// The pace of a host that counts as failed after this wait.
    pub fn new(is_near: bool, wait: Duration) -> Pace {
        Pace {
            is_near,
            wait,
            answers: true,
        }
    }

    /// A request had an answer, or it had none.
    pub fn asked(&mut self, has_answered: bool) {
        self.answers = has_answered;
    }

    /// The interval, if the store is near, and answers. `soon`: a hand-over is under way.
    fn near(&self, soon: bool) -> Option<Duration> {
        let [least, most] = BETWEEN_LOOKS_NEAR;
        let looks = match soon {
            true => LOOKS_NEAR_SOON,
            false => LOOKS_NEAR,
        };
        let between = (self.wait / looks).clamp(least, most);
        (self.is_near && self.answers).then_some(between)
    }

    /// The pace of a serving host, which does nothing else with the register.
    pub fn of_serving(&self) -> Duration {
        self.near(false).unwrap_or(between_looks(self.wait, false))
    }
}

/// The next act of a host that does not serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// The register is to be read, for [`Turn::read`] or [`Turn::silent`].
    Look,
    /// The log is to be followed, and no second entry read after this moment; then [`Turn::followed`]. Entries that were
    /// read before are applied.
    Follow {
        /// The moment.
        until: Instant,
        /// True if a claim follows when the log has ended. Without an open copy there is nothing to follow then: the
        /// opening of the database does that.
        to_claim: bool,
    },
    /// The register is to be replaced, for [`Turn::claimed`].
    Claim(Replacement),
    /// Nothing before this moment.
    Rest {
        /// The moment.
        until: Instant,
    },
}

#[derive(Clone, Debug)]
enum State {
    /// Reads the register, in full or between two looks in full.
    Looks {
        in_full: bool,
    },
    /// Follows; then replaces the register so, if the log has ended.
    Follows {
        until: Instant,
        claim: Option<Replacement>,
    },
    Claims(Replacement),
    Rests {
        until: Instant,
    },
}

/// A host that does not serve, on its way to its turn.
#[derive(Debug)]
pub struct Turn {
    candidate: Candidate,
    pace: Pace,
    state: State,
    /// The moment of the next look in full.
    full_at: Instant,
    /// True if the host that serves is about to hand over.
    soon: bool,
    /// True if a claim was refused since the last rest.
    is_refused: bool,
    /// The record of the last look, if it named another host.
    seen: Option<Primary>,
}

impl Turn {
    /// A host that begins at this moment.
    pub fn new(candidate: Candidate, is_near: bool, now: Instant) -> Turn {
        Turn {
            pace: Pace::new(is_near, candidate.own.wait),
            candidate,
            state: State::Looks { in_full: true },
            full_at: now,
            soon: false,
            is_refused: false,
            seen: None,
        }
    }

    /// Another host served, or may have: it begins anew with a look in full.
    pub fn begin(&mut self) {
        self.state = State::Looks { in_full: true };
        (self.seen, self.soon) = (None, false);
    }

    /// The present act.
    pub fn act(&mut self, now: Instant) -> Act {
        if let State::Rests { until } = self.state
            && now >= until
        {
            let in_full = now >= self.full_at;
            self.state = State::Looks { in_full };
        }
        match &self.state {
            State::Looks { .. } => Act::Look,
            State::Follows { until, claim } => Act::Follow {
                until: *until,
                to_claim: claim.is_some(),
            },
            State::Claims(replacement) => Act::Claim(replacement.clone()),
            State::Rests { until } => Act::Rest { until: *until },
        }
    }

    /// The register was read between two moments.
    ///
    /// # Errors
    /// The record is damaged, or another database's. The caller reads it again ([`Turn::silent`]), or ends.
    pub fn read(
        &mut self,
        stored: Option<&StoredRegister>,
        between: [Instant; 2],
    ) -> Result<(), RemoteLogError> {
        self.pace.asked(true);
        let [began, now] = between;
        let State::Looks { in_full } = self.state else {
            return Ok(());
        };
        let looked = self.candidate.look(stored, between)?;
        let is_news = match &looked {
            Look::Claim(_) => true,
            Look::Follow(record) => !self.is_as_seen(record),
        };
        if !in_full && !is_news {
            self.rest(now);
            return Ok(());
        }
        let claim = match looked {
            Look::Claim(replacement) => {
                self.seen = None;
                self.soon = false;
                Some(replacement)
            }
            Look::Follow(record) => {
                self.soon = record.released || record.wanted.is_some();
                self.seen = Some(record);
                None
            }
        };
        self.full_at = began + between_looks(self.pace.wait, self.soon);
        self.state = State::Follows {
            until: match claim {
                // All of the log, as far as it has not to look again.
                Some(_) => now + between_looks(self.pace.wait, false),
                None => self.full_at,
            },
            claim,
        };
        Ok(())
    }

    /// The store gave no answer to the look.
    pub fn silent(&mut self, now: Instant) {
        self.pace.asked(false);
        if let State::Looks { in_full } = self.state {
            match in_full {
                // The record that it read before may be there all the same.
                true => {
                    self.full_at = now + between_looks(self.pace.wait, self.soon);
                    self.state = State::Follows {
                        until: self.full_at,
                        claim: None,
                    };
                }
                false => self.rest(now),
            }
        }
    }

    /// The log was followed: to its end, or not.
    pub fn followed(&mut self, is_at_end: bool, now: Instant) {
        if let State::Follows { claim, .. } = &mut self.state {
            match (claim.take(), is_at_end) {
                (Some(replacement), true) => self.state = State::Claims(replacement),
                // The register may have changed meanwhile.
                (Some(_), false) => self.state = State::Looks { in_full: true },
                (None, _) => self.rest(now),
            }
        }
    }

    /// The log or the register could not be asked now. A claim waits, too: a host that cannot follow could not serve.
    pub fn hindered(&mut self, now: Instant) {
        self.rest(now);
    }

    /// The outcome of a claim; `None`: there is no answer. Returns true if a term begins.
    pub fn claimed(&mut self, outcome: Option<Swapped>, now: Instant) -> bool {
        if !matches!(self.state, State::Claims(_)) {
            return false;
        }
        match outcome {
            Some(Swapped::Ok) => {
                self.candidate.begins_term();
                self.is_refused = false;
                self.begin();
                true
            }
            // Something has changed, so a look shows news. If it shows none, as with a store whose reads are old, this host
            // would ask without a pause.
            Some(Swapped::Conflict) => {
                match std::mem::replace(&mut self.is_refused, true) {
                    false => self.begin(),
                    true => self.rest(now),
                }
                false
            }
            // It may be there all the same: the next look shows it.
            None => {
                self.pace.asked(false);
                self.rest(now);
                false
            }
        }
    }

    /// The record of the last look, if it named another host.
    pub fn seen(&self) -> Option<&Primary> {
        self.seen.as_ref()
    }

    fn rest(&mut self, now: Instant) {
        self.is_refused = false;
        let until = match self.pace.near(self.soon) {
            Some(near) if self.seen.is_some() => self.full_at.min(now + near),
            _ => self.full_at,
        };
        self.state = State::Rests { until };
    }

    /// True if the record is of the host of the last look, which hands over no more than it did then.
    fn is_as_seen(&self, record: &Primary) -> bool {
        self.seen.as_ref().is_some_and(|seen| {
            let as_before = Primary {
                count: record.count,
                ..seen.clone()
            };
            *record == as_before
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::remote_log::store::RegisterVersion;

    const WAIT: Duration = Duration::from_secs(2);

    fn record() -> Primary {
        Primary {
            identity: 7,
            host: "host-1".into(),
            process: 1,
            count: 1,
            wait: WAIT,
            released: false,
            wanted: None,
        }
    }

    fn stored(record: &Primary) -> StoredRegister {
        StoredRegister {
            bytes: record.encode().into(),
            version: RegisterVersion("1".into()),
        }
    }

    /// A host that has looked once, and follows.
    fn turn(is_near: bool, now: Instant) -> Turn {
        let mut turn = Turn::new(Candidate::new(7, "host-2", 2, WAIT), is_near, now);
        assert_eq!(turn.act(now), Act::Look);
        turn.read(Some(&stored(&record())), [now; 2]).unwrap();
        assert!(matches!(turn.act(now), Act::Follow { .. }));
        turn.followed(true, now);
        turn
    }

    #[test]
    fn a_hand_over_and_another_host_are_news_and_a_sign_is_none() {
        let now = Instant::now();
        let near = now + Duration::from_millis(15);
        type Change = fn(&mut Primary);
        let changes: [(Change, bool); 4] = [
            (|record| record.count = 2, false),
            (|record| record.wanted = Some("host-3".into()), true),
            (
                |record| {
                    (record.wanted, record.released) = (Some("host-3".into()), true);
                },
                true,
            ),
            (|record| record.process = 2, true),
        ];
        for (change, is_news) in changes {
            let mut turn = turn(true, now);
            assert_eq!(turn.act(now), Act::Rest { until: near });
            assert_eq!(turn.act(near), Act::Look);
            let mut record = record();
            change(&mut record);
            turn.read(Some(&stored(&record)), [near; 2]).unwrap();
            let follows = matches!(turn.act(near), Act::Follow { .. });
            assert_eq!(follows, is_news, "{record:?}");
        }
    }

    #[test]
    fn a_host_looks_more_often_while_the_serving_one_hands_over() {
        let now = Instant::now();
        let mut turn = turn(true, now);
        let near = now + Duration::from_millis(15);
        assert_eq!(turn.act(near), Act::Look);
        let wanted = stored(&Primary {
            wanted: Some("host-2".into()),
            ..record()
        });
        turn.read(Some(&wanted), [near; 2]).unwrap();
        turn.followed(true, near);
        let next = near + WAIT / LOOKS_NEAR_SOON;
        assert_eq!(turn.act(near), Act::Rest { until: next });
        assert!(next < near + Duration::from_millis(5));
    }

    #[test]
    fn looks_between_two_in_full_count_for_the_watch() {
        let began = Instant::now();
        let mut turn = turn(true, began);
        let (mut now, stored) = (began, stored(&record()));
        let took = loop {
            match turn.act(now) {
                Act::Rest { until } => now = until,
                Act::Look => turn.read(Some(&stored), [now; 2]).unwrap(),
                Act::Follow { .. } => turn.followed(true, now),
                Act::Claim(_) => break now - began,
            }
        };
        let late = took - WAIT;
        assert!(late <= Duration::from_millis(15), "{late:?} after the wait");
    }

    #[test]
    fn a_store_that_is_far_or_gives_no_answer_is_asked_in_full_looks_alone() {
        let now = Instant::now();
        let full = now + WAIT / 16;
        assert_eq!(turn(false, now).act(now), Act::Rest { until: full });
        let mut turn = turn(true, now);
        let near = now + Duration::from_millis(15);
        assert_eq!(turn.act(near), Act::Look);
        turn.silent(near);
        assert_eq!(turn.act(near), Act::Rest { until: full });
        assert_eq!(turn.act(full), Act::Look);
        // It is followed all the same, and looked at again.
        turn.silent(full);
        assert!(matches!(turn.act(full), Act::Follow { .. }));
        turn.followed(true, full);
        let next = full + WAIT / 16;
        assert_eq!(turn.act(full), Act::Rest { until: next });
        assert_eq!(turn.act(next), Act::Look);
        turn.read(Some(&stored(&record())), [next; 2]).unwrap();
        turn.followed(true, next);
        let near = next + Duration::from_millis(15);
        assert_eq!(turn.act(next), Act::Rest { until: near });
    }

    #[test]
    fn a_host_that_is_not_at_the_log_s_end_looks_again_before_it_claims() {
        let now = Instant::now();
        let mut turn = turn(true, now);
        let near = now + Duration::from_millis(15);
        assert_eq!(turn.act(near), Act::Look);
        let released = Primary {
            released: true,
            ..record()
        };
        for is_at_end in [false, true] {
            turn.read(Some(&stored(&released)), [near; 2]).unwrap();
            assert!(matches!(turn.act(near), Act::Follow { .. }));
            turn.followed(is_at_end, near);
            let claims = matches!(turn.act(near), Act::Claim(_));
            assert_eq!(claims, is_at_end);
        }
        // Another host was faster: the register has news. Without an answer, nothing is known.
        let outcomes = [
            (Some(Swapped::Conflict), Act::Look),
            (
                None,
                Act::Rest {
                    until: near + WAIT / 16,
                },
            ),
        ];
        for (outcome, next) in outcomes {
            assert!(!turn.claimed(outcome, near));
            assert_eq!(turn.act(near), next);
            if next == Act::Look {
                turn.read(Some(&stored(&released)), [near; 2]).unwrap();
                turn.followed(true, near);
            }
        }
    }

    #[test]
    fn a_host_whose_claims_are_refused_without_a_visible_reason_rests_after_two() {
        let now = Instant::now();
        for is_near in [true, false] {
            let mut turn = turn(is_near, now);
            let full = now + WAIT / 16;
            let released = stored(&Primary {
                released: true,
                ..record()
            });
            let (mut claims, mut acts) = (0, 0);
            let mut at = full;
            while at < full + WAIT {
                acts += 1;
                match turn.act(at) {
                    Act::Rest { until } => at = until,
                    Act::Look => turn.read(Some(&released), [at; 2]).unwrap(),
                    Act::Follow { .. } => turn.followed(true, at),
                    Act::Claim(_) => {
                        claims += 1;
                        assert!(!turn.claimed(Some(Swapped::Conflict), at));
                    }
                }
                assert!(acts < 1000, "it asks without a pause");
            }
            assert_eq!(claims, 2 * 16);
        }
    }

    #[test]
    fn a_serving_host_looks_more_often_at_a_store_that_is_near() {
        let millisecond = Duration::from_millis(1);
        let mut pace = Pace::new(true, WAIT);
        assert_eq!(
            Pace::new(true, 200 * millisecond).of_serving(),
            2 * millisecond
        );
        assert_eq!(pace.of_serving(), 15 * millisecond);
        pace.asked(false);
        assert_eq!(pace.of_serving(), 125 * millisecond);
        pace.asked(true);
        assert_eq!(pace.of_serving(), 15 * millisecond);
        assert_eq!(Pace::new(false, WAIT).of_serving(), 125 * millisecond);
    }
}
