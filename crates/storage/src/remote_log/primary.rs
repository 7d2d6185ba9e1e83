//! The serving host of a database whose log is in a store: a record in a register of that store, with the count that
//! its host raises ([`sardonyx_base::lease`]). Without I/O and clock.
//!
//! ```text
//!   look ─▶ another host's count goes on: follow
//!     └─▶ no host's; released; the own one, left by a process before; or the count rests for the record's wait
//!           └─▶ replace the record by the own one ─▶ done: a term begins ─▶ raise the count ─▶ ... ─▶ release
//!                 └─▶ conflict, no answer: look again
//! ```
//!
//! The record names the host that *should* serve, so that hosts do not take the log from each other in turn.
//! Acknowledgements do not depend on it: the log's fence alone decides them (I12), with any clocks and any writers
//! here. Only readers that do not write rely on the lease.
//!
//! A lease that has run out, since the store was away, begins anew if the record can still be replaced. Then no other
//! host has taken the host for failed meanwhile, and each that watches begins to count again. [`sardonyx_base::lease`]
//! forbids that for signs that are shown without a comparison; here the comparison is the register's own.

#![cfg_attr(not(test), deny(clippy::indexing_slicing))]

mod turn;
mod wish;

pub use turn::{Act, Pace, Turn};
pub use wish::{Wish, Wished};

use super::RemoteLogError;
use super::store::{RegisterVersion, StoredRegister};
use crate::lines::{Lines, Misread, seal};
use sardonyx_base::lease::{Lease, Renewal, Sign, Watch};
use std::time::{Duration, Instant};

/// The most bytes of a host's name.
pub const HOST_NAME_BYTES_MAX: usize = 200;

/// In place of a host's name, when the serving host is to hand over: any other host.
pub const ANY_OTHER: &str = "*";

/// The text for no wanted host.
const NOBODY: &str = "-";

/// The most time that a host which is wanted has to come, once the one before has released.
const SUCCESSOR_WAIT: Duration = Duration::from_secs(2);

/// A host that closes the database gives signs for so much longer than its store is asked.
const CLOSING_MOST: Duration = Duration::from_secs(10);

/// The most bytes of a record.
const BYTES_MAX: usize = 4096;

/// This version of records.
const VERSION: u32 = 1;

/// The host that serves, or did last.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Primary {
    /// The database's identity.
    pub identity: u64,
    /// The host's name.
    pub host: String,
    /// The random number of its process, and one more for each of its further terms: a wish for a hand-over tells the
    /// terms of one process apart.
    pub process: u64,
    /// Raised with each renewal.
    pub count: u64,
    /// It counts as failed when its count has not changed for so long.
    pub wait: Duration,
    /// True if it has stopped serving.
    pub released: bool,
    /// The host that is to serve instead, or [`ANY_OTHER`].
    pub wanted: Option<String>,
}

/// True if a host can have this name: 1 to 200 letters, digits, `.`, `_` and `-`, and not one `-` alone.
pub fn is_host_name(name: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=HOST_NAME_BYTES_MAX).contains(&name.len()) && name != NOBODY && name.bytes().all(is_good)
}

impl Primary {
    /// Its text.
    pub fn encode(&self) -> String {
        seal(format!(
            "format_version = {VERSION}\n\
             identity = {:016x}\n\
             host = {}\n\
             process = {:016x}\n\
             count = {}\n\
             wait_milliseconds = {}\n\
             released = {}\n\
             wanted = {}\n",
            self.identity,
            self.host,
            self.process,
            self.count,
            self.wait.as_millis(),
            self.released,
            self.wanted.as_deref().unwrap_or(NOBODY),
        ))
    }

    fn read(bytes: &[u8]) -> Result<Primary, Misread> {
        let bytes = bytes.get(..BYTES_MAX).unwrap_or(bytes);
        let mut lines = Lines::new("the register `primary`", bytes)?;
        lines.check_checksum()?;
        lines.check_version(VERSION)?;
        let hexadecimal = |text: &str| u64::from_str_radix(text, 16).ok();
        let number = |text: &str| text.parse::<u64>().ok();
        let primary = Primary {
            identity: lines.value("identity", hexadecimal)?,
            host: lines.value("host", |text| is_host_name(text).then(|| text.into()))?,
            process: lines.value("process", hexadecimal)?,
            count: lines.value("count", number)?,
            wait: lines.value("wait_milliseconds", |text| {
                // A day: no sum of it with a moment overflows.
                let wait = number(text).filter(|wait| *wait <= 86_400_000)?;
                Some(Duration::from_millis(wait))
            })?,
            released: lines.value("released", |text| text.parse().ok())?,
            wanted: lines.value("wanted", |text| match text {
                NOBODY => Some(None),
                _ if text == ANY_OTHER || is_host_name(text) => Some(Some(text.into())),
                _ => None,
            })?,
        };
        lines.check_is(&primary.encode())?;
        Ok(primary)
    }

    /// The record that the store has, if there is one.
    ///
    /// # Errors
    /// It is damaged, or another database's.
    pub fn decode(
        identity: u64,
        stored: Option<&StoredRegister>,
    ) -> Result<Option<Primary>, RemoteLogError> {
        let Some(stored) = stored else {
            return Ok(None);
        };
        let primary = Primary::read(&stored.bytes).map_err(|misread| RemoteLogError::Primary {
            reason: misread.to_string(),
        })?;
        match primary.identity == identity {
            true => Ok(Some(primary)),
            false => Err(RemoteLogError::Identity {
                number: 0,
                expected: identity,
                found: primary.identity,
            }),
        }
    }

    fn sign(&self) -> Sign {
        Sign {
            count: self.count,
            wait: self.wait,
        }
    }
}

/// A record that is to replace the one read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replacement {
    /// The content read.
    pub expected: Option<RegisterVersion>,
    /// The content to write.
    pub record: Primary,
}

/// The next act of a host that does not serve.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Look {
    /// Another host serves, or is to.
    Follow(Primary),
    /// No host does: if this replacement succeeds, a term begins ([`Term::new`]).
    Claim(Replacement),
}

/// A host that would serve if no other did.
#[derive(Debug)]
pub struct Candidate {
    /// The record of its next term.
    own: Primary,
    /// The number of its process in its first term.
    first: u64,
    watch: Watch<(String, u64)>,
    /// The term that it watches.
    watched: Option<(String, u64)>,
    /// The process that this host had before, as the first look found it.
    before: Option<Option<u64>>,
}

impl Candidate {
    /// A process of this random number, on a host of this name, that counts as failed after this wait.
    pub fn new(identity: u64, host: &str, process: u64, wait: Duration) -> Self {
        Candidate {
            own: Primary {
                identity,
                host: host.into(),
                process,
                count: 0,
                wait,
                released: false,
                wanted: None,
            },
            first: process,
            watch: Watch::default(),
            watched: None,
            before: None,
        }
    }

    /// A claim has succeeded: the next one is of another term.
    fn begins_term(&mut self) {
        self.own.process = self.own.process.wrapping_add(1);
    }

    /// True for a number of one of this process' terms.
    fn is_of_this(&self, process: u64) -> bool {
        process.wrapping_sub(self.first) <= self.own.process.wrapping_sub(self.first)
    }

    /// True if the host of this record gives signs.
    fn is_there(&mut self, found: &Primary, between: [Instant; 2]) -> bool {
        let key = (found.host.clone(), found.process);
        if let Some(before) = self.watched.replace(key.clone())
            && before != key
        {
            self.watch.forget(before);
        }
        // A record that has been released protects no lease: its successor has only so long to come.
        let sign = match found.released {
            true => Sign {
                wait: found.wait.min(SUCCESSOR_WAIT),
                ..found.sign()
            },
            false => found.sign(),
        };
        self.watch.is_there(key, sign, between)
    }

    /// The next act after the register was read between two moments.
    ///
    /// # Errors
    /// The record is damaged, or another database's.
    pub fn look(
        &mut self,
        stored: Option<&StoredRegister>,
        between: [Instant; 2],
    ) -> Result<Look, RemoteLogError> {
        let found = Primary::decode(self.own.identity, stored)?;
        let own = found.as_ref().filter(|found| found.host == self.own.host);
        let own = own.map(|found| found.process);
        let before = *self.before.get_or_insert(own);
        let Some(found) = found else {
            return Ok(self.claim(stored, 0, None));
        };
        if own.is_some_and(|own| self.is_of_this(own)) && !found.released {
            // A claim of this process whose answer was lost, or that was called a conflict, since a wish was put on it
            // at once; or a term whose end the store did not take. No host serves, and the others wait for this one's
            // lease.
            let wanted = found.wanted.filter(|wanted| *wanted != self.own.host);
            return Ok(self.claim(stored, found.count, wanted));
        }
        // Two hosts of one name would take over from each other in turn. Only the record that this one found when it
        // began is of its earlier process, which has ended.
        let is_own = own.is_some() && own == before;
        let is_wanted = match found.wanted.as_deref() {
            None => found.released || is_own,
            Some(ANY_OTHER) => found.released && found.host != self.own.host,
            Some(wanted) => wanted == self.own.host && found.released,
        };
        if is_wanted || !self.is_there(&found, between) {
            return Ok(self.claim(stored, found.count, None));
        }
        Ok(Look::Follow(found))
    }

    fn claim(&self, stored: Option<&StoredRegister>, count: u64, wanted: Option<String>) -> Look {
        Look::Claim(Replacement {
            expected: stored.map(|stored| stored.version.clone()),
            record: Primary {
                count: count.saturating_add(1),
                wanted,
                ..self.own.clone()
            },
        })
    }
}

/// The time for which a host serves.
#[derive(Debug)]
pub struct Term {
    record: Primary,
    lease: Lease,
    is_over: bool,
    wanted: Option<String>,
    /// The last moment of a sign, of a host that closes the database.
    signs_until: Option<Instant>,
}

/// The next act of a term.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duty {
    /// Nothing yet.
    Nothing,
    /// The register is to be read, for [`Term::found`]. The lease may have run out ([`Term::lease_until`]), and begins
    /// anew if that succeeds.
    Renew,
    /// It is over: another host has the record.
    Over,
}

impl Term {
    /// The term of this record, which was written after this moment.
    pub fn new(record: Primary, began: Instant) -> Self {
        Term {
            lease: Lease::new(record.wait, began),
            record,
            is_over: false,
            wanted: None,
            signs_until: None,
        }
    }

    /// The host begins to close the database at this moment, and asks its store for so long. It gives no sign after that
    /// time and 10 s more. So a close that hangs does not keep the others from serving: the lease runs out, and the log's
    /// fence refuses later appends.
    ///
    /// `sends_rest`: the close sends the rest of the log to the store, however long that takes. Without signs, another
    /// host would continue without that rest.
    pub fn closes(&mut self, now: Instant, patience: Duration, sends_rest: bool) {
        let until = now.checked_add(patience.saturating_add(CLOSING_MOST));
        self.signs_until = until.filter(|_| !sends_rest);
    }

    /// The present act.
    pub fn duty(&self, now: Instant) -> Duty {
        match self.lease.renewal(now) {
            _ if self.is_over => Duty::Over,
            _ if self.signs_until.is_some_and(|until| now >= until) => Duty::Nothing,
            Renewal::NotDue => Duty::Nothing,
            Renewal::Show(_) | Renewal::Lost => Duty::Renew,
        }
    }

    /// The record to write after the register was read; nothing, if the record is another's by now.
    ///
    /// # Errors
    /// The record is damaged, or another database's.
    pub fn found(
        &mut self,
        stored: Option<&StoredRegister>,
    ) -> Result<Option<Replacement>, RemoteLogError> {
        let found = Primary::decode(self.record.identity, stored)?;
        let own = found.filter(|found| {
            !found.released
                && (&found.host, found.process) == (&self.record.host, self.record.process)
        });
        let Some(found) = own else {
            self.is_over = true;
            return Ok(None);
        };
        self.wanted = found.wanted.filter(|wanted| *wanted != self.record.host);
        Ok(Some(Replacement {
            expected: stored.map(|stored| stored.version.clone()),
            record: Primary {
                count: found.count.saturating_add(1),
                wanted: self.wanted.clone(),
                ..self.record.clone()
            },
        }))
    }

    /// The register was read beside its renewal: another host may be wanted, or have it. An old state has no news.
    ///
    /// # Errors
    /// As [`Term::found`].
    pub fn looked(&mut self, stored: Option<&StoredRegister>) -> Result<(), RemoteLogError> {
        self.found(stored).map(drop)
    }

    /// The record of [`Term::found`] was written; the request was made at this moment.
    pub fn renewed(&mut self, asked: Instant) {
        self.lease.renewed(asked);
    }

    /// Ends it: this host cannot find out which host has the record.
    pub fn give_up(&mut self) {
        self.is_over = true;
    }

    /// The time until which no other host takes this one for failed.
    pub fn lease_until(&self) -> Option<Instant> {
        (!self.is_over).then(|| self.lease.until())
    }

    /// The host that is to serve instead, if another is wanted; or [`ANY_OTHER`].
    pub fn wanted(&self) -> Option<&str> {
        self.wanted.as_deref()
    }

    /// The record that ends this term, for the result of [`Term::found`]. `to_others`: this host serves again only if
    /// no other one comes.
    pub fn release(replacement: Replacement, to_others: bool) -> Replacement {
        let record = replacement.record;
        let any_other = || ANY_OTHER.to_string();
        let wanted = record.wanted.or_else(|| to_others.then(any_other));
        Replacement {
            record: Primary {
                released: true,
                wanted,
                ..record
            },
            ..replacement
        }
    }
}

#[cfg(test)]
mod handing;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod turns;
