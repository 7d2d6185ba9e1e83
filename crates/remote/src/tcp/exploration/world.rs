//! A run: processes and the network between them and their server, a step of one process at a time. Between two steps a
//! fault may come.

use super::network::{Broken, Net};
use super::process::Process;
use crate::copies::exploration::checker::{Applied, Checker};
use sardonyx_base::random::Random;
use sardonyx_storage::log::pool::{BufferPool, DurableGroup};
use sardonyx_storage::log::seal::{GroupBuilder, Sequencer};
use sardonyx_storage::log::{LogLayout, LogPosition};
use sardonyx_storage::page::Address;
use sardonyx_storage::remote_log::position::EntryPosition;
use std::sync::Arc;

pub(super) const CLIENTS: usize = 3;
const STEPS: u64 = 4000;

/// A quiet run ends within so many steps of a process.
const STEPS_QUIET: u64 = 20_000;

/// The database of all.
pub(super) const IDENTITY: u64 = 77;

/// The events of a run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Seen {
    pub broken: Broken,
    pub acknowledged: u64,
    pub claims: u64,
    pub fenced: u64,
    pub kills: u64,
    pub trims: u64,
    pub behind: u64,
    pub signed: u64,
    pub ahead: u64,
}

impl Seen {
    pub fn add(&mut self, other: &Seen) {
        let Seen {
            broken,
            acknowledged,
            claims,
            fenced,
            kills,
            trims,
            behind,
            signed,
            ahead,
        } = other;
        self.broken.unanswered += broken.unanswered;
        self.broken.late += broken.late;
        self.broken.cut_requests += broken.cut_requests;
        self.broken.cut_answers += broken.cut_answers;
        self.broken.restarts += broken.restarts;
        self.broken.emptied += broken.emptied;
        self.acknowledged += acknowledged;
        self.claims += claims;
        self.fenced += fenced;
        self.kills += kills;
        self.trims += trims;
        self.behind += behind;
        self.signed += signed;
        self.ahead += ahead;
    }

    pub fn counts(&self) -> [u64; 14] {
        let broken = &self.broken;
        [
            broken.unanswered,
            broken.late,
            broken.cut_requests,
            broken.cut_answers,
            broken.restarts,
            broken.emptied,
            self.acknowledged,
            self.claims,
            self.fenced,
            self.kills,
            self.trims,
            self.behind,
            self.signed,
            self.ahead,
        ]
    }
}

/// The log as a process has it.
#[derive(Clone, Debug)]
pub(super) struct Copy {
    pub at: EntryPosition,
    pub applied: Applied,
}

impl Copy {
    pub fn empty() -> Copy {
        Copy {
            at: EntryPosition::START,
            applied: Applied::new(),
        }
    }
}

/// The state that all processes share.
pub(super) struct Shared {
    pub random: Random,
    pub checker: Checker,
    pub checkpoints: Vec<Copy>,
    /// The register was replaced by this, as a process knows.
    pub signed: u64,
    pub seen: Seen,
    last_number: u64,
    pool: Arc<BufferPool>,
    sequencer: Sequencer,
}

impl Shared {
    /// Another number each time.
    pub fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// Groups of the log of a host, with other content each time.
    pub fn groups(&mut self) -> Vec<Arc<DurableGroup>> {
        let count = 1 + self.random.below(3);
        let groups = (0..count).map(|_| {
            let number = self.number();
            let mut builder = GroupBuilder::from_buffer(self.pool.take());
            builder.push_write(Address(0), &number.to_le_bytes());
            builder.end_transaction();
            let mut sealed = self.sequencer.seal(builder);
            sealed.finish(0);
            Arc::new(DurableGroup::new(sealed, self.pool.clone()))
        });
        groups.collect()
    }
}

/// The weight of each fault, in a thousand: others by each seed.
struct Hazards {
    stop: u64,
    cut: u64,
    exchange: u64,
    kill: u64,
    stall: u64,
    release: u64,
    claim: u64,
    trim: u64,
}

pub(super) struct World {
    net: Net,
    processes: Vec<Process>,
    shared: Shared,
    hazards: Hazards,
    step: u64,
}

impl World {
    pub fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let mut weigh = |most| 1 + random.below(most);
        let hazards = Hazards {
            stop: weigh(20),
            cut: weigh(20),
            exchange: weigh(4),
            kill: weigh(4),
            stall: weigh(20),
            release: 10 + weigh(60),
            claim: 4 + weigh(30),
            trim: weigh(20),
        };
        World {
            net: Net::new(Random::stream(seed, 1)),
            processes: (0..CLIENTS).map(Process::new).collect(),
            shared: Shared {
                random,
                checker: Checker::default(),
                checkpoints: Vec::new(),
                signed: 0,
                seen: Seen::default(),
                last_number: 0,
                pool: Arc::new(BufferPool::new(4096, None, || ())),
                sequencer: Sequencer::new(LogLayout::new(7, 1 << 30), 1, LogPosition::START),
            },
            hazards,
            step: 0,
        }
    }

    pub fn run(mut self) -> Seen {
        for _ in 0..STEPS {
            self.step += 1;
            self.fault();
            self.act();
        }
        self.end();
        let checked = self.shared.checker.seen;
        Seen {
            broken: self.net.lock().broken,
            acknowledged: checked.acknowledged,
            claims: checked.claims,
            fenced: checked.fenced,
            ..self.shared.seen
        }
    }

    fn act(&mut self) {
        let at = self.shared.random.below(CLIENTS as u64) as usize;
        if self.processes[at].stalled_until <= self.step {
            self.processes[at].step(&self.net, &mut self.shared);
        }
    }

    /// A fault comes, or one of before ends.
    fn fault(&mut self) {
        let at = self.shared.random.below(CLIENTS as u64) as usize;
        if self.shared.random.chance(1, 60) {
            let mut net = self.net.lock();
            net.is_up = true;
            net.cut[at] = false;
            if net.is_emptied() {
                net.exchange_store();
            }
        }
        let mut drawn = self.shared.random.below(1000);
        let hazards = &self.hazards;
        let weights = [
            hazards.stop,
            hazards.cut,
            hazards.exchange,
            hazards.kill,
            hazards.stall,
            hazards.release,
            hazards.claim,
            hazards.trim,
        ];
        let Some(hazard) = weights.iter().position(|weight| {
            let is_it = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            is_it
        }) else {
            return;
        };
        let process = &mut self.processes[at];
        let mut net = self.net.lock();
        match hazard {
            0 => net.is_up = false,
            1 => net.cut[at] = true,
            2 if net.is_emptied() => {}
            2 => net.exchange_store(),
            3 => {
                // Its connections end, for which they are asked.
                drop(net);
                process.kill();
                self.shared.seen.kills += 1;
            }
            4 => process.stalled_until = self.step + self.shared.random.below(300),
            5 => net.release(),
            6 => process.claim(&mut self.shared),
            _ => process.trim(&mut self.shared),
        }
    }

    /// Nothing goes wrong any more: a process claims the log and appends, and another one reads it from its beginning.
    fn end(&mut self) {
        {
            let mut net = self.net.lock();
            (net.is_quiet, net.is_up, net.cut) = (true, true, [false; CLIENTS]);
            if net.is_emptied() {
                net.exchange_store();
            }
        }
        for process in &mut self.processes {
            process.kill();
        }
        let before = self.shared.checker.seen.acknowledged;
        let mut steps = 0;
        while self.shared.checker.seen.acknowledged < before + 3 {
            steps += 1;
            assert!(
                steps < STEPS_QUIET,
                "the log ends here: no process can append"
            );
            self.processes[0].claim(&mut self.shared);
            self.processes[0].step(&self.net, &mut self.shared);
        }
        let last = self.processes[0].copy().at;
        let mut reader = Process::new(1);
        steps = 0;
        while reader.copy().at.next < last.next {
            steps += 1;
            assert!(steps < STEPS_QUIET, "the log ends here: it cannot be read");
            reader.step(&self.net, &mut self.shared);
        }
        let applied = reader.copy().applied.clone();
        self.shared.checker.has_all("a reader", &applied);
    }
}
