//! The hosts of an exploration of hand-overs and the store between them, in virtual time.

use super::super::{ANY_OTHER, Act, Candidate, Duty, Pace, Primary, Replacement, Term, Turn};
use crate::remote_log::store::{RegisterVersion, StoredRegister, Swapped};
use sardonyx_base::random::Random;
use std::time::{Duration, Instant};

pub(super) const HOSTS: usize = 3;
pub(super) const EVENTS: u64 = 40;
pub(super) const STEP: Duration = Duration::from_millis(5);
/// The most time in which a host opens the database, closes it, or starts.
pub(super) const WORK_MS_MAX: u64 = 300;
/// The most time in which a host that follows applies what it has read.
pub(super) const FOLLOW_MS_MAX: u64 = 40;
const LEASES_MS: [u64; 3] = [200, 2000, 20_000];
/// The acts of a host that take no time, at most: two claims that are refused, with the looks before them.
const ACTS_MOST: u32 = 8;
/// The numbers of processes are so far apart: each term of a process has its own.
const PROCESS_NUMBERS: u64 = 1000;

/// A rule that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Planted {
    /// A renewal replaces the wish that arrived since it read the register.
    WishOverwritten,
    /// A host that hands over does not say so in the register.
    NotReleased,
    /// The record of a hand-over no longer names the wanted host.
    WishForgotten,
    /// A wish whose answer was lost is made again after the hand-over.
    WishRepeated,
    /// A host opens the database however long ago it claimed the register.
    OpensLate,
    /// A host takes its own claim for another one's, if that was called a conflict.
    ClaimForgotten,
    /// A host gives signs as long as it closes the database.
    ClosesForever,
    /// A host gives no more signs while it sends the rest of the log to the store.
    RestGivenUp,
}

#[derive(Debug)]
pub(super) enum Role {
    Down,
    Follows,
    /// It has the register, and is about to take the log.
    Claimed(Term),
    Opens(Term),
    Serves(Term),
    Closes(Term),
}

pub(super) struct Host {
    pub(super) name: String,
    pub(super) turn: Turn,
    pub(super) role: Role,
    /// The end of its work: it starts, follows, opens or closes.
    pub(super) works_until: Instant,
    /// The process, or the machine, is stopped.
    pub(super) stopped_until: Instant,
    /// It cannot open the database the next time.
    pub(super) cannot_open: bool,
    /// So long it closes the database the next time.
    pub(super) closes_for: Option<Duration>,
    /// The serving host looks whether another is wanted.
    pub(super) looks_at: Instant,
    /// The register as a renewal has read it, which is written at the next step.
    pub(super) writes: Option<(Instant, Replacement)>,
}

pub(super) struct World {
    pub(super) random: Random,
    pub(super) now: Instant,
    pub(super) wait: Duration,
    pub(super) is_near: bool,
    pub(super) looks: Duration,
    /// The directories make transactions durable: a host that closes the database sends the rest of the log.
    pub(super) is_local: bool,
    /// The host that took the log last.
    pub(super) log_of: Option<usize>,
    /// A wish is put on the next claim before that has its answer, so that it is called a conflict.
    pub(super) wish_on_claim: bool,
    /// Until then the store calls each claim a conflict, and shows no reason.
    pub(super) refuses_until: Instant,
    pub(super) hosts: Vec<Host>,
    pub(super) stored: Option<StoredRegister>,
    pub(super) versions: u64,
    pub(super) processes: u64,
    pub(super) planted: Option<Planted>,
    pub(super) handed_over: u64,
}

impl World {
    pub(super) fn new(seed: u64, planted: Option<Planted>) -> World {
        let (mut random, now) = (Random::new(seed), Instant::now());
        let wait = LEASES_MS[random.below(LEASES_MS.len() as u64) as usize];
        let wait = Duration::from_millis(wait);
        let [is_near, is_local] = [2, 3].map(|of| random.chance(1, of));
        let host = |number: usize| {
            let name = format!("host-{number}");
            let process = number as u64 * PROCESS_NUMBERS;
            Host {
                turn: Turn::new(Candidate::new(1, &name, process, wait), is_near, now),
                name,
                role: Role::Follows,
                works_until: now,
                stopped_until: now,
                cannot_open: false,
                closes_for: None,
                looks_at: now,
                writes: None,
            }
        };
        World {
            random,
            now,
            wait,
            is_near,
            looks: Pace::new(is_near, wait).of_serving(),
            is_local,
            log_of: None,
            wish_on_claim: false,
            refuses_until: now,
            hosts: (0..HOSTS).map(host).collect(),
            stored: None,
            versions: 0,
            processes: HOSTS as u64 * PROCESS_NUMBERS,
            planted,
            handed_over: 0,
        }
    }

    /// The time of closing, opening, following, and the looks between them.
    pub(super) fn hand_over_time(&self) -> Duration {
        let works = Duration::from_millis(2 * WORK_MS_MAX + 3 * FOLLOW_MS_MAX);
        works + 4 * self.looks + 12 * STEP
    }

    /// A process starts.
    pub(super) fn start(&mut self, host: usize) {
        self.processes += PROCESS_NUMBERS;
        let (process, wait) = (self.processes, self.wait);
        let takes = self.work();
        let (is_near, now) = (self.is_near, self.now);
        let host = &mut self.hosts[host];
        host.turn = Turn::new(Candidate::new(1, &host.name, process, wait), is_near, now);
        (host.role, host.works_until) = (Role::Follows, now + takes);
        (host.cannot_open, host.closes_for) = (false, None);
        host.writes = None;
    }

    pub(super) fn work(&mut self) -> Duration {
        Duration::from_millis(self.random.below(WORK_MS_MAX))
    }

    pub(super) fn promote(&mut self, to: &str) {
        let found = Primary::decode(1, self.stored.as_ref()).unwrap().unwrap();
        self.put(&Primary {
            wanted: Some(to.into()),
            ..found
        });
    }

    pub(super) fn put(&mut self, record: &Primary) {
        self.versions += 1;
        self.stored = Some(StoredRegister {
            bytes: record.encode().into(),
            version: RegisterVersion(self.versions.to_string()),
        });
    }

    fn replace(&mut self, with: &Replacement) -> bool {
        let found = self.stored.as_ref().map(|stored| &stored.version);
        let is_it = found == with.expected.as_ref();
        if is_it {
            self.put(&with.record);
        }
        is_it
    }

    pub(super) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
    }

    pub(super) fn until_served(&mut self, most: Duration) {
        let began = self.now;
        while self.serving().is_none() {
            let took = self.now - began;
            assert!(took <= most, "no host serves after {took:?}");
            self.step();
        }
    }

    /// The host that answers clients.
    pub(super) fn serving(&self) -> Option<usize> {
        self.hosts.iter().position(|host| match &host.role {
            Role::Serves(term) => term.lease_until().is_some_and(|until| until > self.now),
            _ => false,
        })
    }

    pub(super) fn step(&mut self) {
        self.now += STEP;
        for host in 0..HOSTS {
            self.go_on(host);
        }
    }

    fn go_on(&mut self, at: usize) {
        let (now, takes) = (self.now, self.work());
        if self.hosts[at].stopped_until > now {
            return;
        }
        let is_busy = self.hosts[at].works_until > now;
        let role = std::mem::replace(&mut self.hosts[at].role, Role::Down);
        self.hosts[at].role = match role {
            Role::Down => Role::Down,
            Role::Follows if is_busy => Role::Follows,
            Role::Follows => self.take_turn(at),
            Role::Claimed(mut term) => {
                self.sign(at, &mut term);
                match is_busy {
                    true => Role::Claimed(term),
                    false => self.open(at, term, takes),
                }
            }
            Role::Opens(mut term) => {
                self.sign(at, &mut term);
                match is_busy {
                    true => Role::Opens(term),
                    false if std::mem::take(&mut self.hosts[at].cannot_open) => {
                        self.hosts[at].writes = None;
                        self.release(&mut term, true);
                        Role::Follows
                    }
                    false => Role::Serves(term),
                }
            }
            Role::Serves(mut term) => {
                self.sign(at, &mut term);
                let is_fenced = self.log_of != Some(at);
                match term.wanted().is_some() || term.duty(now) == Duty::Over || is_fenced {
                    true => {
                        let host = &mut self.hosts[at];
                        host.works_until = now + host.closes_for.take().unwrap_or(takes);
                        let sends_rest =
                            self.is_local && self.planted != Some(Planted::RestGivenUp);
                        if self.planted != Some(Planted::ClosesForever) {
                            term.closes(now, Duration::ZERO, sends_rest);
                        }
                        Role::Closes(term)
                    }
                    false => Role::Serves(term),
                }
            }
            Role::Closes(mut term) if is_busy => {
                self.sign(at, &mut term);
                Role::Closes(term)
            }
            Role::Closes(mut term) => {
                self.hosts[at].writes = None;
                self.release(&mut term, false);
                Role::Follows
            }
        };
    }

    /// A host that has claimed takes the log, if it may: it may have been stopped since.
    fn open(&mut self, at: usize, mut term: Term, takes: Duration) -> Role {
        let now = self.now;
        let has_lease = term.lease_until().is_some_and(|until| until > now);
        let is_over = term.duty(now) == Duty::Over;
        if self.planted != Some(Planted::OpensLate) {
            if is_over {
                self.hosts[at].writes = None;
                self.release(&mut term, false);
                return Role::Follows;
            }
            if !has_lease {
                // Until it can give a sign, or another host has the register.
                return Role::Claimed(term);
            }
        }
        let record = Primary::decode(1, self.stored.as_ref()).unwrap().unwrap();
        assert_eq!(
            record.host, self.hosts[at].name,
            "a host takes the log from the one that serves"
        );
        self.log_of = Some(at);
        self.hosts[at].works_until = now + takes;
        Role::Opens(term)
    }

    /// Acts as long as that takes no time.
    fn take_turn(&mut self, at: usize) -> Role {
        let now = self.now;
        let refuses = now < self.refuses_until;
        for _ in 0..ACTS_MOST {
            let stored = self.stored.clone();
            let takes = Duration::from_millis(self.random.below(FOLLOW_MS_MAX));
            let host = &mut self.hosts[at];
            match host.turn.act(now) {
                Act::Look => host.turn.read(stored.as_ref(), [now; 2]).unwrap(),
                Act::Follow { .. } => {
                    host.turn.followed(true, now);
                    // While no host serves, the log has nothing new.
                    if !refuses {
                        host.works_until = now + takes;
                        return Role::Follows;
                    }
                }
                Act::Claim(replacement) => {
                    let swapped = match !refuses && self.replace(&replacement) {
                        true if std::mem::take(&mut self.wish_on_claim) => {
                            self.promote(ANY_OTHER);
                            self.forget_claim(at);
                            Swapped::Conflict
                        }
                        true => Swapped::Ok,
                        false => Swapped::Conflict,
                    };
                    let host = &mut self.hosts[at];
                    if host.turn.claimed(Some(swapped), now) {
                        // It closes its copy.
                        host.works_until = now + takes;
                        return Role::Claimed(Term::new(replacement.record, now));
                    }
                }
                Act::Rest { .. } => return Role::Follows,
            }
        }
        panic!("a host asks the store without a pause");
    }

    fn forget_claim(&mut self, at: usize) {
        if self.planted == Some(Planted::ClaimForgotten) {
            self.start(at);
        }
    }

    /// The work of the thread that gives signs: it writes in one step what it read in the one before.
    fn sign(&mut self, at: usize, term: &mut Term) {
        let now = self.now;
        if let Some((asked, replacement)) = self.hosts[at].writes.take() {
            let is_done = match self.planted {
                Some(Planted::WishOverwritten) => {
                    self.put(&replacement.record);
                    true
                }
                _ => self.replace(&replacement),
            };
            if is_done {
                term.renewed(asked);
            }
            return;
        }
        let host = &mut self.hosts[at];
        if term.duty(now) == Duty::Renew {
            let found = term.found(self.stored.as_ref()).unwrap();
            host.writes = found.map(|replacement| (now, replacement));
        } else if host.looks_at <= now {
            host.looks_at = now + self.looks;
            term.looked(self.stored.as_ref()).unwrap();
        }
    }

    fn release(&mut self, term: &mut Term, to_others: bool) {
        if self.planted == Some(Planted::NotReleased) {
            return;
        }
        if let Some(found) = term.found(self.stored.as_ref()).unwrap() {
            let mut released = Term::release(found, to_others);
            if self.planted == Some(Planted::WishForgotten) {
                released.record.wanted = None;
            }
            assert!(self.replace(&released));
        }
    }
}
