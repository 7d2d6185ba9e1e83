//! A run: several processes, one store, and the events between them, drawn from a seed (I11).
//!
//! A step lets a process ask, lets a request arrive, or lets an answer arrive. Or it does harm: a request is doubled,
//! refused or kept for later, or an answer is lost. A process is stopped, killed or started, or claims the log while
//! its owner lives. A machine that waits for an answer may learn at any time that none comes.

use super::checker::{Claimed, Seen};
use super::process::{Channel, Copy, IDENTITY, Process, Role};
use super::store::{Sent, Store};
use crate::remote_log::claim::{Claim, Claiming};
use crate::remote_log::entry::EntryBuilder;
use crate::remote_log::exchange::{Answer, Machine, Ticket};
use crate::remote_log::position::{EntryPosition, Epoch};
use crate::remote_log::reader::Read;
use crate::remote_log::trim::Trim;
use sardonyx_base::hash::Fnv1a;
use sardonyx_base::random::Random;
use std::collections::BTreeMap;

pub(super) const PROCESSES: u64 = 4;

/// The origin of a request or an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker {
    process: usize,
    life: u64,
    channel: Channel,
    ticket: Ticket,
}

/// The hazards of a run, and their frequencies: other weights by each seed, since many scenarios need much of one and
/// little of another.
pub(super) struct Hazards([(u64, Hazard); 7]);

pub(super) type Hazard = fn(&mut World, usize);

impl Hazards {
    fn draw(random: &mut Random) -> Self {
        let mut weigh = |most| 1 + random.below(most);
        Hazards([
            (20 + weigh(60), World::time_out),
            (weigh(12), World::stop),
            (weigh(3), World::kill),
            (weigh(24), World::wish_for_log),
            (weigh(40), World::trim),
            (weigh(20), World::start),
            (weigh(60), World::release),
        ])
    }

    /// The sum of all weights, with that of the good events.
    fn sum(&self) -> u64 {
        300 + self.0.iter().map(|(weight, _)| weight).sum::<u64>()
    }
}

pub(super) struct World {
    pub(super) random: Random,
    pub(super) store: Store,
    pub(super) processes: Vec<Process>,
    pub(super) requests: Vec<(Asker, Sent)>,
    /// Requests that take very long; their answers are not waited for any more when they arrive.
    pub(super) kept: Vec<(Asker, Sent)>,
    pub(super) answers: Vec<(Asker, Answer)>,
    pub(super) checkpoints: Vec<Copy>,
    pub(super) acknowledged: BTreeMap<u64, (u64, Epoch)>,
    pub(super) claimed: Vec<Claimed>,
    pub(super) next_transaction: u64,
    pub(super) next_writer: u64,
    pub(super) step: u64,
    pub(super) hazards: Hazards,
    /// Nothing bad happens any more.
    pub(super) quiet: bool,
    /// At this step the process that claims or owns the log is killed.
    pub(super) kill_at: Option<u64>,
    pub(super) seen: Seen,
    pub(super) fingerprint: u64,
}

impl World {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        World {
            hazards: Hazards::draw(&mut random),
            random,
            store: Store::default(),
            processes: (0..PROCESSES).map(|_| Process::new()).collect(),
            requests: Vec::new(),
            kept: Vec::new(),
            answers: Vec::new(),
            checkpoints: Vec::new(),
            acknowledged: BTreeMap::new(),
            claimed: Vec::new(),
            next_transaction: 1,
            next_writer: 1,
            step: 0,
            quiet: false,
            kill_at: None,
            seen: Seen::default(),
            fingerprint: 0,
        }
    }

    /// Runs for so many steps, then until everything is at rest, and looks whether the log can be used.
    pub fn run(&mut self, steps: u64) {
        while self.step < steps {
            self.step();
        }
        self.end();
        self.seen.created_again = self.store.created_again;
        self.seen.old_lists = self.store.old_lists;
    }

    pub(super) fn note(&mut self, what: u64) {
        self.fingerprint = Fnv1a(self.fingerprint).with(what).0;
    }

    fn step(&mut self) {
        self.step += 1;
        if self.kill_at == Some(self.step) {
            for process in &mut self.processes {
                if !matches!(process.role, Role::Following(_)) {
                    process.die();
                    self.seen.kills += 1;
                }
            }
        }
        let process = self.random.below(PROCESSES) as usize;
        let mut drawn = self.random.below(self.hazards.sum());
        for (weight, hazard) in self.hazards.0 {
            if drawn < weight {
                return hazard(self, process);
            }
            drawn -= weight;
        }
        for index in 0..PROCESSES as usize {
            if self.random.chance(1, 2) {
                self.act(index);
            }
        }
        for _ in 0..3 {
            self.arrive();
            self.tell();
        }
    }

    /// A process does nothing for a while: mostly one that owns the log or claims it.
    fn stop(&mut self, index: usize) {
        let steps = self.random.below(700);
        let process = &mut self.processes[index];
        if !matches!(process.role, Role::Following(_)) || steps < 50 {
            process.stopped_until = self.step + steps;
        }
    }

    fn is_stopped(&self, index: usize) -> bool {
        self.processes[index].stopped_until > self.step && !self.quiet
    }

    /// A process sends its request.
    pub(super) fn act(&mut self, index: usize) {
        let stopped = self.is_stopped(index);
        let process = &mut self.processes[index];
        if stopped {
            return;
        }
        // Followers look now and then.
        if let Role::Following(_) = process.role
            && !self.quiet
            && !self.random.chance(1, 4)
        {
            return;
        }
        if let Role::Owning(owner) = &mut process.role
            && !owner.is_appending()
        {
            let mut entry = EntryBuilder::new();
            for _ in 0..=self.random.below(2) {
                entry.push(&self.next_transaction.to_le_bytes());
                process.sending.push(self.next_transaction);
                self.next_transaction += 1;
            }
            let time = self.step;
            owner.append(entry, time).expect("it owns the log");
        }
        for (channel, name) in [(Channel::Log, 0), (Channel::Trim, 1)] {
            let process = &mut self.processes[index];
            let Some((ticket, sent)) = process.request(channel) else {
                continue;
            };
            if process.waiting[name] == Some(ticket) {
                continue;
            }
            process.waiting[name] = Some(ticket);
            let from = Asker {
                process: index,
                life: process.lives[name],
                channel,
                ticket,
            };
            if !self.quiet && self.random.chance(1, 8) {
                self.requests.push((from, sent.clone()));
            }
            self.requests.push((from, sent));
        }
    }

    /// One of those on their way: mostly a recent one, so that others take very long.
    fn one_of(random: &mut Random, count: usize, quiet: bool) -> Option<usize> {
        if count == 0 {
            return None;
        }
        let recent = match quiet || random.chance(1, 8) {
            true => count,
            false => count.min(3),
        };
        Some(count - 1 - random.below(recent as u64) as usize)
    }

    /// A request arrives at the store.
    pub(super) fn arrive(&mut self) {
        let Some(at) = Self::one_of(&mut self.random, self.requests.len(), self.quiet) else {
            return;
        };
        let (from, sent) = self.requests.remove(at);
        if !self.quiet && self.random.chance(1, 20) {
            // It has too much to do, or refuses for another reason.
            self.answers.push((from, Answer::Unclear));
            return;
        }
        if !self.quiet && self.random.chance(1, 15) {
            self.kept.push((from, sent));
            return;
        }
        let answer = self.store.answer(&sent, &mut self.random);
        let answer = self.maybe_damaged(from, answer);
        self.note(self.step << 8 | from.process as u64);
        if self.quiet || !self.random.chance(1, 6) {
            self.answers.push((from, answer));
        }
    }

    /// An answer with bytes may be damaged on its way, and the next ones are whole.
    fn maybe_damaged(&mut self, from: Asker, answer: Answer) -> Answer {
        let whole = &mut self.processes[from.process].whole;
        if self.quiet || *whole > 0 || !self.random.chance(1, 25) {
            *whole = whole.saturating_sub(1);
            return answer;
        }
        *whole = 8;
        let mut damage = |bytes: &mut Vec<u8>| {
            let at = self.random.below(bytes.len() as u64) as usize;
            match self.random.chance(1, 2) {
                true => bytes[at] ^= 1 << self.random.below(8),
                false => bytes.truncate(at),
            }
            self.seen.damaged += 1;
        };
        match answer {
            Answer::Read(Some(mut bytes)) => {
                damage(&mut bytes);
                Answer::Read(Some(bytes))
            }
            Answer::Register(Some(mut stored)) => {
                damage(&mut stored.bytes);
                Answer::Register(Some(stored))
            }
            other => other,
        }
    }

    /// A request arrives that was sent long ago.
    pub(super) fn release(&mut self, _: usize) {
        if self.kept.is_empty() {
            return;
        }
        let at = self.random.below(self.kept.len() as u64) as usize;
        let (_, sent) = self.kept.swap_remove(at);
        self.seen.late += u64::from(matches!(sent, Sent::Append(..)));
        self.store.answer(&sent, &mut self.random);
    }

    /// An answer arrives.
    pub(super) fn tell(&mut self) {
        let Some(at) = Self::one_of(&mut self.random, self.answers.len(), self.quiet) else {
            return;
        };
        let (from, answer) = match !self.quiet && self.random.chance(1, 10) {
            true => self.answers[at].clone(),
            false => self.answers.remove(at),
        };
        match self.is_stopped(from.process) {
            true => self.answers.push((from, answer)),
            false => self.answer(from, answer),
        }
    }

    /// A process waits for an answer no longer.
    fn time_out(&mut self, index: usize) {
        if self.is_stopped(index) {
            return;
        }
        let process = &mut self.processes[index];
        let lives = process.lives;
        for (channel, name) in [(Channel::Log, 0), (Channel::Trim, 1)] {
            if let Some(ticket) = self.processes[index].waiting[name] {
                let from = Asker {
                    process: index,
                    life: lives[name],
                    channel,
                    ticket,
                };
                self.answer(from, Answer::Unclear);
            }
        }
        let process = &mut self.processes[index];
        if let Role::Owning(owner) = &mut process.role
            && self.random.chance(1, 40)
        {
            owner.give_up("it took too long");
            self.seen.unknown += 1;
            process.follow();
        }
    }

    fn kill(&mut self, index: usize) {
        self.processes[index].die();
        self.seen.kills += 1;
    }

    fn start(&mut self, index: usize) {
        let process = &mut self.processes[index];
        match process.role {
            Role::Dead => process.follow(),
            _ => process.disk = process.memory.clone(),
        }
    }

    /// A follower claims the log, though its owner may live.
    pub(super) fn wish_for_log(&mut self, index: usize) {
        let process = &mut self.processes[index];
        if let Role::Following(_) = process.role {
            let claim = Claim::new(IDENTITY, process.memory.at, self.next_writer, self.step);
            self.next_writer += 1;
            process.take_role(Role::Claiming(claim));
        }
    }

    /// An owner takes a checkpoint, and deletes the log before it, or before an earlier one.
    fn trim(&mut self, index: usize) {
        let process = &mut self.processes[index];
        let has_more = process.memory.at.next > 1;
        if !matches!(process.role, Role::Owning(_)) || process.trim.is_some() || !has_more {
            return;
        }
        self.checkpoints.push(process.memory.clone());
        let own = self.checkpoints.iter().filter(|checkpoint| {
            let at = checkpoint.at;
            at.next <= process.memory.at.next
        });
        let own: Vec<EntryPosition> = own.map(|checkpoint| checkpoint.at).collect();
        let to = match self.random.chance(1, 2) {
            true => process.memory.at,
            false => own[self.random.below(own.len() as u64) as usize],
        };
        process.take_trim(Some(Trim::new(IDENTITY, to, self.next_writer)));
        self.next_writer += 1;
    }

    fn answer(&mut self, from: Asker, answer: Answer) {
        let process = &mut self.processes[from.process];
        let name = from.channel as usize;
        if process.lives[name] != from.life {
            return;
        }
        let ticket = from.ticket;
        let found = matches!(answer, Answer::Read(Some(_)));
        if process.waiting[name] == Some(ticket) {
            process.waiting[name] = None;
        }
        if from.channel == Channel::Trim {
            let trim = process.trim.as_mut();
            let outcome = trim.map_or(Ok(None), |trim| trim.answer(ticket, answer));
            if outcome.expect("nothing is wrong with a boundary").is_some() {
                process.take_trim(None);
                self.seen.trims += 1;
            }
            return;
        }
        match &mut process.role {
            Role::Dead => {}
            Role::Following(reader) => match reader.answer(ticket, answer) {
                Ok(Some(Read::Entry(entry))) => self.take(from.process, &entry),
                Ok(_) => {}
                Err(error) => self.failed(from.process, error),
            },
            Role::Claiming(claim) => match claim.answer(ticket, answer) {
                Ok(Some(Claiming::Entry(entry))) => self.take(from.process, &entry),
                Ok(Some(Claiming::Owner(owner))) => {
                    process.memory.at = owner.position();
                    process.role = Role::Owning(owner);
                    process.waiting[name] = None;
                    self.check_claim(from.process);
                }
                Ok(None) => {}
                Err(error) => self.failed(from.process, error),
            },
            Role::Owning(owner) => match owner.answer(ticket, answer) {
                Ok(Some(at)) => {
                    self.seen.own_found += u64::from(found);
                    self.acknowledge(from.process, at);
                }
                Ok(None) => {}
                Err(error) => self.failed(from.process, error),
            },
        }
    }
}
