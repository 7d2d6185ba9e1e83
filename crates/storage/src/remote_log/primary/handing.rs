//! Exploration of hand-overs: hosts that are asked to hand over, ended, killed, stopped and started again, beside a store
//! that answers. Hosts that do not serve run [`Turn`], as real ones do.
//!
//! A host serves again within the lease after each event. A promotion to a host that follows takes only the closing and
//! the opening of the database, and that host serves then. So neither a promotion nor a restart leaves the database
//! without a host until a person asks again. The host that opens the database takes the log from any other one; it is
//! the one in the register then. Each rule that this rests on is left out once, and that is found.

use super::{
    ANY_OTHER, Act, Candidate, Duty, Pace, Primary, Replacement, SUCCESSOR_WAIT, Term, Turn, Wish,
    Wished,
};
use crate::remote_log::store::{RegisterVersion, StoredRegister, Swapped};
use sardonyx_base::random::Random;
use sardonyx_base::seeds::{Seeds, first_failure};
use std::time::{Duration, Instant};

const HOSTS: usize = 3;
const EVENTS: u64 = 40;
const STEP: Duration = Duration::from_millis(5);
/// The most time in which a host opens the database, closes it, or starts.
const WORK_MS_MAX: u64 = 300;
/// A host that closes the database gives signs for at most so long.
const CLOSING_MOST: Duration = Duration::from_secs(3);
/// The most time in which a host that follows applies what it has read.
const FOLLOW_MS_MAX: u64 = 40;
const LEASES_MS: [u64; 3] = [200, 2000, 20_000];

/// A rule that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Planted {
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
}

#[derive(Debug)]
enum Role {
    Down,
    Follows,
    /// It has the register, and is about to take the log.
    Claimed(Term),
    Opens(Term),
    Serves(Term),
    Closes(Term),
}

struct Host {
    name: String,
    turn: Turn,
    role: Role,
    /// The end of its work: it starts, follows, opens or closes.
    works_until: Instant,
    /// The process, or the machine, is stopped.
    stopped_until: Instant,
    /// It cannot open the database the next time.
    cannot_open: bool,
    /// It cannot close the database.
    cannot_close: bool,
    /// The serving host looks whether another is wanted.
    looks_at: Instant,
    /// The register as a renewal has read it, which is written at the next step.
    writes: Option<(Instant, Replacement)>,
}

struct World {
    random: Random,
    now: Instant,
    wait: Duration,
    is_near: bool,
    looks: Duration,
    /// The host that took the log last.
    log_of: Option<usize>,
    /// A wish is put on the next claim before that has its answer, so that it is called a conflict.
    wish_on_claim: bool,
    hosts: Vec<Host>,
    stored: Option<StoredRegister>,
    versions: u64,
    processes: u64,
    planted: Option<Planted>,
    handed_over: u64,
}

impl World {
    fn new(seed: u64, planted: Option<Planted>) -> World {
        let (mut random, now) = (Random::new(seed), Instant::now());
        let wait = LEASES_MS[random.below(LEASES_MS.len() as u64) as usize];
        let wait = Duration::from_millis(wait);
        let is_near = random.chance(1, 2);
        let host = |number: usize| {
            let name = format!("host-{number}");
            Host {
                turn: Turn::new(Candidate::new(1, &name, number as u64, wait), is_near, now),
                name,
                role: Role::Follows,
                works_until: now,
                stopped_until: now,
                cannot_open: false,
                cannot_close: false,
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
            log_of: None,
            wish_on_claim: false,
            hosts: (0..HOSTS).map(host).collect(),
            stored: None,
            versions: 0,
            processes: HOSTS as u64,
            planted,
            handed_over: 0,
        }
    }

    /// The time of closing, opening, following, and the looks between them.
    fn hand_over_time(&self) -> Duration {
        let works = Duration::from_millis(2 * WORK_MS_MAX + 3 * FOLLOW_MS_MAX);
        works + 4 * self.looks + 12 * STEP
    }

    fn run(&mut self) {
        self.until_served(self.hand_over_time());
        for _ in 0..EVENTS {
            let pause = self.random.below(400);
            self.pass(Duration::from_millis(pause));
            self.until_served(self.wait.max(SUCCESSOR_WAIT) + self.hand_over_time());
            let serving = self.serving().unwrap();
            let other = (serving + 1 + self.random.below(HOSTS as u64 - 1) as usize) % HOSTS;
            match self.random.below(16) {
                0..=2 => self.promote_to_follower(serving, other),
                3 => {
                    // Its name is misspelled, or it does not come: any other host takes over.
                    self.hosts[other].role = Role::Down;
                    let name = self.hosts[other].name.clone();
                    self.promote(&name);
                    self.pass(self.hand_over_time());
                    self.until_served(self.wait.min(SUCCESSOR_WAIT) + self.hand_over_time());
                    self.start(other);
                }
                4 => self.restart_all(serving),
                5 => {
                    // It dies while it hands over.
                    self.promote(ANY_OTHER);
                    let pause = self.random.below(300);
                    self.pass(Duration::from_millis(pause));
                    self.hosts[serving].role = Role::Down;
                    self.until_served(self.wait + self.hand_over_time());
                    self.start(serving);
                }
                6 => {
                    self.promote(&self.hosts[serving].name.clone());
                    self.pass(self.hand_over_time());
                    assert_eq!(self.serving(), Some(serving), "it serves already");
                }
                7 => self.drain_without_answer(serving),
                8 => {
                    // Two in a row: the second one comes at any moment of the first hand-over.
                    for _ in 0..2 {
                        self.promote(ANY_OTHER);
                        let pause = self.random.below(700);
                        self.pass(Duration::from_millis(pause));
                    }
                    self.until_served(SUCCESSOR_WAIT.max(self.wait) + 3 * self.hand_over_time());
                }
                9 => {
                    // While another host takes over.
                    self.hosts[serving].role = Role::Down;
                    let pause = self.random.below(self.wait.as_millis() as u64 + 400);
                    self.pass(Duration::from_millis(pause));
                    self.promote(ANY_OTHER);
                    self.until_served(self.wait + 3 * self.hand_over_time());
                    self.start(serving);
                }
                10 => self.kill_receiver(serving, other),
                11 => {
                    self.hosts[other].cannot_open = true;
                    let name = self.hosts[other].name.clone();
                    self.promote(&name);
                    self.pass(self.hand_over_time());
                    self.until_served(SUCCESSOR_WAIT.min(self.wait) + 2 * self.hand_over_time());
                    self.hosts[other].cannot_open = false;
                }
                12 => self.stop(serving, other),
                13 => {
                    self.wish_on_claim = true;
                    self.promote(ANY_OTHER);
                    self.pass(self.hand_over_time());
                    // The host that claimed serves, and hands over again, as it was asked to.
                    self.until_served(2 * self.hand_over_time());
                }
                14 => {
                    self.hosts[serving].cannot_close = true;
                    self.promote(ANY_OTHER);
                    self.pass(2 * self.looks + 4 * STEP);
                    self.until_served(CLOSING_MOST + self.wait + self.hand_over_time());
                    self.start(serving);
                }
                _ => {
                    self.hosts[serving].role = Role::Down;
                    self.until_served(self.wait + self.hand_over_time());
                    self.start(serving);
                }
            }
        }
    }

    /// The wish is there, and its answer is lost: it is made again some time later. The next host is not drained.
    fn drain_without_answer(&mut self, serving: usize) {
        let mut wish = Wish::new(1, ANY_OTHER);
        self.wish(&mut wish);
        let pause = self.random.below(1500);
        self.pass(Duration::from_millis(pause));
        let next = self.serving().filter(|by| *by != serving);
        if self.planted == Some(Planted::WishRepeated) {
            wish = Wish::new(1, ANY_OTHER);
        }
        self.wish(&mut wish);
        if let Some(next) = next {
            self.pass(self.hand_over_time());
            assert_eq!(self.serving(), Some(next), "it was drained, too");
        }
        self.until_served(SUCCESSOR_WAIT + self.hand_over_time());
    }

    fn wish(&mut self, wish: &mut Wish) {
        if let Wished::Put(replacement) = wish.found(self.stored.as_ref()).unwrap() {
            self.put(&replacement.record);
        }
    }

    /// The host that is to take over dies while it does.
    fn kill_receiver(&mut self, serving: usize, other: usize) {
        let name = self.hosts[other].name.clone();
        self.promote(&name);
        let pause = self.random.below(900);
        self.pass(Duration::from_millis(pause));
        self.hosts[other].role = Role::Down;
        if self.serving() != Some(serving) {
            self.until_served(self.wait.max(SUCCESSOR_WAIT) + 2 * self.hand_over_time());
        }
        self.start(other);
    }

    /// A host is stopped at any moment of a hand-over, or just after its claim, and continues when others may serve.
    fn stop(&mut self, serving: usize, other: usize) {
        self.promote(ANY_OTHER);
        let (pause, began) = (self.random.below(900), self.now);
        let after_claim = self.random.chance(1, 2);
        let is_claimed = |host: &Host| matches!(host.role, Role::Claimed(_));
        let claimed = loop {
            let claimed = self.hosts.iter().position(is_claimed);
            let passed = self.now - began;
            let is_time = match after_claim {
                true => claimed.is_some() || passed > self.hand_over_time(),
                false => passed >= Duration::from_millis(pause),
            };
            if is_time {
                break claimed.filter(|_| after_claim);
            }
            self.step();
        };
        let stopped = claimed.unwrap_or([serving, other][self.random.below(2) as usize]);
        let time = self.wait.mul_f64(self.random.below(30) as f64 / 10.0);
        self.hosts[stopped].stopped_until = self.now + time;
        self.pass(time);
        self.until_served(self.wait.max(SUCCESSOR_WAIT) + 2 * self.hand_over_time());
    }

    fn promote_to_follower(&mut self, serving: usize, other: usize) {
        let to_any = self.random.chance(1, 2);
        let all_follow = Duration::from_millis(WORK_MS_MAX) + 2 * self.looks;
        self.pass(all_follow);
        if self.serving() != Some(serving) {
            return;
        }
        let name = self.hosts[other].name.clone();
        self.promote(if to_any { ANY_OTHER } else { &name });
        let began = self.now;
        while self.serving().is_none_or(|by| by == serving) {
            let took = self.now - began;
            let most = self.hand_over_time();
            assert!(
                took <= most,
                "a promotion is not carried out after {took:?}"
            );
            self.step();
        }
        assert!(
            to_any || self.serving() == Some(other),
            "another host took over"
        );
        self.handed_over += 1;
    }

    /// As an upgrade does: the followers, then the host that served.
    fn restart_all(&mut self, serving: usize) {
        for host in (0..HOSTS).filter(|host| *host != serving) {
            self.hosts[host].role = Role::Down;
            self.start(host);
            self.pass(Duration::from_millis(WORK_MS_MAX));
        }
        self.promote_to_follower(serving, (serving + 1) % HOSTS);
        if self.serving() != Some(serving) {
            self.hosts[serving].role = Role::Down;
            self.start(serving);
        }
        self.until_served(self.hand_over_time());
    }

    /// A process starts.
    fn start(&mut self, host: usize) {
        self.processes += 1;
        let (process, wait) = (self.processes, self.wait);
        let takes = self.work();
        let (is_near, now) = (self.is_near, self.now);
        let host = &mut self.hosts[host];
        host.turn = Turn::new(Candidate::new(1, &host.name, process, wait), is_near, now);
        (host.role, host.works_until) = (Role::Follows, now + takes);
        (host.cannot_open, host.cannot_close) = (false, false);
        host.writes = None;
    }

    fn work(&mut self) -> Duration {
        Duration::from_millis(self.random.below(WORK_MS_MAX))
    }

    fn promote(&mut self, to: &str) {
        let found = Primary::decode(1, self.stored.as_ref()).unwrap().unwrap();
        self.put(&Primary {
            wanted: Some(to.into()),
            ..found
        });
    }

    fn put(&mut self, record: &Primary) {
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

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.step();
        }
    }

    fn until_served(&mut self, most: Duration) {
        let began = self.now;
        while self.serving().is_none() {
            let took = self.now - began;
            assert!(took <= most, "no host serves after {took:?}");
            self.step();
        }
    }

    /// The host that answers clients.
    fn serving(&self) -> Option<usize> {
        self.hosts.iter().position(|host| match &host.role {
            Role::Serves(term) => term.lease_until().is_some_and(|until| until > self.now),
            _ => false,
        })
    }

    fn step(&mut self) {
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
                        host.works_until = match host.cannot_close {
                            true => now + Duration::from_secs(86_400),
                            false => now + takes,
                        };
                        if self.planted != Some(Planted::ClosesForever) {
                            term.closes_until(now + CLOSING_MOST);
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
        loop {
            let stored = self.stored.clone();
            let takes = Duration::from_millis(self.random.below(FOLLOW_MS_MAX));
            let host = &mut self.hosts[at];
            match host.turn.act(now) {
                Act::Look => host.turn.read(stored.as_ref(), [now; 2]).unwrap(),
                Act::Follow { .. } => {
                    host.turn.followed(true, now);
                    host.works_until = now + takes;
                    return Role::Follows;
                }
                Act::Claim(replacement) => {
                    let swapped = match self.replace(&replacement) {
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

#[test]
fn each_hand_over_is_carried_out_and_a_host_serves_within_the_lease_after_each_event() {
    let seeds = Seeds::new(0, 60);
    let mut handed_over = 0;
    seeds.explore(|seed| {
        let mut world = World::new(seed, None);
        world.run();
        handed_over += world.handed_over;
    });
    assert!(handed_over > 5 * seeds.count(), "{handed_over}");
}

#[test]
fn each_rule_of_hand_overs_that_is_left_out_is_found() {
    for planted in [
        Planted::WishOverwritten,
        Planted::NotReleased,
        Planted::WishForgotten,
        Planted::WishRepeated,
        Planted::OpensLate,
        Planted::ClaimForgotten,
        Planted::ClosesForever,
    ] {
        let found = first_failure(0..200, |seed| World::new(seed, Some(planted)).run());
        println!("{planted:?}: {found:?}");
        assert!(found.is_some(), "{planted:?}");
    }
}
