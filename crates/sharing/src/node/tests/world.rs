//! Nodes on one database in one thread, and the truth: what was published, in its order.
//!
//! The shells, the shared memory, the log and its driver are the real ones; the disk is simulated. A transaction
//! has happened when the ring's tail has passed it. Every page that a transaction is granted is compared, byte
//! by byte, with the truth. So an update that is lost, seen too early or only half visible is detected at once.

mod rest;

use super::mortal::mortal;
use crate::node::close::Close;
use crate::node::commit::CommitLog;
use crate::node::gem::Gem;
use crate::node::layout::Common;
use crate::node::opening::{NodeOptions, make_memory};
use crate::node::ring::Frame;
use crate::node::shell::Shell;
use crate::node::tables::tests::rows::RowScript;
use crate::node::work::Progress;
use crate::protocol::{LockMode, Outcome, PageId, Psn, TransactionId, UpdateStrategy};
use sardonyx_base::random::Random;
use sardonyx_storage::disk::{Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::{Driver, FirstOpening, StorageOptions, lock_opening, open_first};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::log::{LogLeader, SharedLogError};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::PAGE_SIZE;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const PAGES: u64 = 5;
/// Only so many bytes of each page are used, so that transactions meet.
const USED: u64 = 64;
/// Transactions of a node at once.
const ACTIVE: usize = 3;

pub(in crate::node) type Page = Vec<u8>;

/// The stage of a transaction.
#[derive(Clone, Debug)]
pub(in crate::node) enum Stage {
    Ask,
    Asked,
    Publish(Frame),
    Published(u64),
}

#[derive(Clone, Debug)]
pub(in crate::node) struct Script {
    pub slot: usize,
    pub steps: Vec<(PageId, LockMode)>,
    pub stage: Stage,
    /// The pages that it has changed, as they are then.
    pub changed: BTreeMap<PageId, Page>,
    /// Its operations on rows, instead of pages.
    pub rows: Option<RowScript>,
}

pub struct World {
    pub what: String,
    pub random: Random,
    pub gem: Arc<Gem>,
    pub(in crate::node) options: NodeOptions,
    pub(in crate::node) simulated: SimulatedDisk,
    pub(in crate::node) disk: Arc<dyn Disk>,
    pub(in crate::node) manifest: Manifest,
    pub(in crate::node) driver: Driver,
    pub(in crate::node) logs: Vec<CommitLog>,
    pub nodes: Vec<Option<Shell<Close>>>,
    pub(in crate::node) scripts: BTreeMap<TransactionId, Script>,
    pub(in crate::node) truth: BTreeMap<PageId, (Page, Psn)>,
    pub died: u32,
    pub committed: u32,
    pub victims: u32,
    /// Pages that nodes asked each other for.
    pub asked_for: u64,
    /// True if nodes may be killed.
    pub kills: bool,
    /// Transactions that gave up while they waited, where they may.
    pub gave_up: Option<u32>,
    /// Transactions are on tables that refer to each other.
    pub(in crate::node) family: bool,
    /// The rows of the table that there is, as they are committed.
    pub(in crate::node) rows: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The root of its tree.
    pub(in crate::node) root: Option<u32>,
}

impl World {
    pub fn new(seed: u64, slots: usize, update: UpdateStrategy, authorisation: bool) -> World {
        let frames = 3 + seed as usize % 5;
        World::with_pages(seed, slots, update, authorisation, (PAGES, frames))
    }

    /// With so many pages, and in each buffer.
    pub fn with_pages(
        seed: u64,
        slots: usize,
        update: UpdateStrategy,
        authorisation: bool,
        (pages, frames): (u64, usize),
    ) -> World {
        let options = NodeOptions {
            pages,
            slots: slots - 1,
            ring_bytes: 32 << 10,
            update,
            read_authorisation: authorisation,
            buffer_pages: frames,
            storage: StorageOptions {
                segment_bytes: 256 << 10,
                block_bytes: PAGE_SIZE as u32,
                identity: Some(seed),
                log_bytes_max: 2 << 20,
                memory_bytes_max: 1 << 24,
                limits: GroupLimits {
                    group_bytes: 16 << 10,
                    transaction_bytes: 16 << 10,
                    ..GroupLimits::default()
                },
                threaded: false,
                workers: 1,
                ..StorageOptions::default()
            },
            ..NodeOptions::default()
        };
        let simulated = SimulatedDisk::new(seed, Faults::default());
        let disk: Arc<dyn Disk> = Arc::new(simulated.clone());
        let mut first = first(&disk, &options.storage);
        let gem = Arc::new(make_memory(None, &mut first, &options).unwrap());
        let FirstOpening {
            manifest, driver, ..
        } = first;
        let empty = (vec![0; PAGE_SIZE], Psn(0));
        let mut world = World {
            what: format!("seed {seed}, {update:?}, authorisation {authorisation}"),
            random: Random::new(seed),
            gem,
            options,
            simulated,
            disk,
            manifest,
            driver,
            logs: Vec::new(),
            nodes: Vec::new(),
            scripts: BTreeMap::new(),
            family: false,
            rows: BTreeMap::new(),
            root: None,
            truth: (0..pages)
                .map(|page| (PageId(page), empty.clone()))
                .collect(),
            died: 0,
            committed: 0,
            victims: 0,
            asked_for: 0,
            kills: false,
            gave_up: None,
        };
        for slot in 0..slots {
            let incarnation = world.manifest.incarnation;
            let leader = LogLeader::new(world.disk.clone(), &world.manifest, incarnation);
            world.logs.push(CommitLog::new(leader).without_clocks());
            world.nodes.push(None);
            world.join(slot);
        }
        world
    }

    pub fn join(&mut self, slot: usize) {
        let Ok(entries) = self.gem.segment().join_node(slot) else {
            return;
        };
        let NodeOptions {
            update,
            read_authorisation,
            buffer_pages,
            ..
        } = self.options;
        let gem = self.gem.clone();
        let mut shell = Close::shell(gem, entries, update, read_authorisation, buffer_pages);
        shell.look_after_failures().unwrap();
        self.nodes[slot] = Some(shell);
    }

    pub fn living(&self) -> Vec<usize> {
        let slots = 0..self.nodes.len();
        slots.filter(|&slot| self.nodes[slot].is_some()).collect()
    }

    /// Does a part of a node's work; it may be killed in it.
    pub(in crate::node) fn at<T>(
        &mut self,
        slot: usize,
        part: impl FnOnce(&mut Shell<Close>, &CommitLog) -> T,
    ) -> Option<T> {
        let table = self.gem.segment().table();
        let others = self.living().len() > 1
            || (0..self.nodes.len()).any(|slot| !table.is_joined(slot) && !table.has_failed(slot));
        let at = match self.kills && others && self.random.chance(1, 16) {
            true => {
                let most = 1 + self.random.below(30);
                1 + self.random.below(most)
            }
            false => 0,
        };
        let tail = self.gem.get(Common::Tail);
        let shell = self.nodes[slot].as_mut()?;
        let done = mortal(at, || part(shell, &self.logs[slot]));
        if done.is_none() {
            self.die(slot, tail);
        }
        done
    }

    /// A node is dead; `tail`: where the ring ended before what it did last.
    fn die(&mut self, slot: usize, tail: u64) {
        self.died += 1;
        self.nodes[slot] = None;
        let published = self.gem.get(Common::Tail) > tail;
        let own = |script: &Script| script.slot == slot;
        let gone: Vec<TransactionId> = self
            .scripts
            .iter()
            .filter(|(_, script)| own(script))
            .map(|(&transaction, _)| transaction)
            .collect();
        for transaction in gone {
            let script = self.scripts.remove(&transaction).unwrap();
            if published && let Stage::Publish(frame) = &script.stage {
                let mut last = Frame::default();
                self.gem.frame(tail, &mut last).unwrap();
                if last == *frame {
                    self.happened(&script, frame);
                }
            }
        }
    }

    fn happened(&mut self, script: &Script, frame: &Frame) {
        for &(page, psn) in &frame.pages {
            let truth = self.truth.get_mut(&page).unwrap();
            assert_eq!(psn, truth.1.next(), "{}: {page:?}", self.what);
            truth.1 = psn;
            if let Some(changed) = script.changed.get(&page) {
                truth.0.clone_from(changed);
            }
        }
        if let Some(rows) = &script.rows {
            rows.happened(&mut self.rows, &mut self.root);
        }
    }

    pub(in crate::node) fn may_begin(&self, slot: usize) -> bool {
        let active = self.scripts.values().filter(|script| script.slot == slot);
        active.count() < ACTIVE
    }

    pub fn begin(&mut self, slot: usize) {
        if !self.may_begin(slot) {
            return;
        }
        if self.root.is_some() {
            return self.begin_rows(slot);
        }
        let steps = (0..1 + self.random.below(3)).map(|_| {
            let mode = match self.random.chance(1, 2) {
                true => LockMode::Read,
                false => LockMode::Write,
            };
            (PageId(self.random.below(PAGES)), mode)
        });
        let steps = steps.collect();
        if let Some(transaction) = self.at(slot, |shell, _| shell.begin()) {
            let script = Script {
                slot,
                steps,
                stage: Stage::Ask,
                changed: BTreeMap::new(),
                rows: None,
            };
            self.scripts.insert(transaction, script);
        }
    }

    /// A transaction does what it can do next.
    pub fn advance(&mut self, transaction: TransactionId) {
        let Some(script) = self.scripts.get(&transaction).cloned() else {
            return;
        };
        let slot = script.slot;
        match script.stage.clone() {
            Stage::Ask if script.rows.is_some() && script.steps.is_empty() => {
                self.advance_rows(transaction, script);
            }
            Stage::Ask => match script.steps.last() {
                Some(&(page, mode)) => {
                    let asked = self.at(slot, |shell, _| shell.lock(transaction, page, mode));
                    self.check(asked);
                    self.stage(transaction, Stage::Asked);
                }
                None => self.prepare(transaction, slot),
            },
            Stage::Asked => self.asked(transaction, script),
            Stage::Publish(frame) => {
                let published = self.at(slot, |shell, log| {
                    log.try_publish(&shell.coupling.gem, shell.node(), &frame)
                });
                match published {
                    Some(Ok(Some(end))) => {
                        self.happened(&script, &frame);
                        self.stage(transaction, Stage::Published(end));
                    }
                    Some(Ok(None)) => {
                        self.lead(slot);
                        self.at(slot, |shell, _| {
                            shell.coupling.gem.apply(shell.node(), u64::MAX)
                        });
                        self.drive();
                    }
                    Some(Err(error)) => panic!("{}: {error}", self.what),
                    None => {}
                }
            }
            Stage::Published(end) => {
                if self.gem.get(Common::Durable) < end {
                    return self.lead(slot);
                }
                if self.options.update == UpdateStrategy::Force {
                    let applied =
                        self.at(slot, |shell, _| shell.coupling.gem.apply(shell.node(), end));
                    if let Some(Err(error)) = applied {
                        panic!("{}: {error}", self.what);
                    }
                }
                self.committed += 1;
                self.end(transaction, Outcome::Committed);
            }
        }
    }

    /// It has done all that it does.
    pub(in crate::node) fn prepare(&mut self, transaction: TransactionId, slot: usize) {
        match self.at(slot, |shell, _| shell.local.frame(transaction)) {
            Some(Some(frame)) => self.stage(transaction, Stage::Publish(frame)),
            _ => self.end(transaction, Outcome::Aborted),
        }
    }

    fn asked(&mut self, transaction: TransactionId, script: Script) {
        let slot = script.slot;
        let Some(shell) = &mut self.nodes[slot] else {
            return;
        };
        let Some(work) = shell.local.transactions.get(&transaction) else {
            panic!("{}: {transaction:?} is gone", self.what);
        };
        match &work.progress {
            Progress::Locking { .. } if self.gave_up.is_some() && self.random.chance(1, 6) => {
                self.gave_up = self.gave_up.map(|count| count + 1);
                return self.end(transaction, Outcome::Aborted);
            }
            Progress::Locking { .. } => return,
            Progress::Victim => {
                self.victims += 1;
                return self.end(transaction, Outcome::Aborted);
            }
            Progress::Refused(_) => return self.end(transaction, Outcome::Aborted),
            Progress::Ready => {}
        }
        let &(page, mode) = script.steps.last().expect("it was asked for");
        let mut found = vec![0; PAGE_SIZE];
        shell.local.read(page, 0, &mut found).unwrap();
        let truth = &self.truth[&page].0;
        let expected = script.changed.get(&page).unwrap_or(truth);
        assert!(
            &found == expected,
            "{}: {transaction:?} is granted {page:?} in another version: {:?} instead of {:?}",
            self.what,
            &found[..16],
            &expected[..16]
        );
        let mut changed = None;
        if let Some(rows) = self
            .scripts
            .get_mut(&transaction)
            .and_then(|script| script.rows.as_mut())
        {
            rows.granted(page, mode, &found);
        } else if mode == LockMode::Write && self.random.chance(4, 5) {
            let offset = self.random.below(USED) as usize;
            let length = 1 + self.random.below(24) as usize;
            let bytes = vec![self.random.next() as u8; length];
            found[offset..offset + length].copy_from_slice(&bytes);
            let written = self.at(slot, |shell, _| {
                shell.local.write(transaction, page, offset, &bytes)
            });
            self.check(written);
            changed = Some((page, found));
        }
        if self.random.chance(1, 20) {
            return self.end(transaction, Outcome::Aborted);
        }
        if let Some(script) = self.scripts.get_mut(&transaction) {
            script.steps.pop();
            script.changed.extend(changed);
            script.stage = Stage::Ask;
        }
    }

    pub(in crate::node) fn stage(&mut self, transaction: TransactionId, stage: Stage) {
        if let Some(script) = self.scripts.get_mut(&transaction) {
            script.stage = stage;
        }
    }

    pub(in crate::node) fn end(&mut self, transaction: TransactionId, outcome: Outcome) {
        let Some(script) = self.scripts.remove(&transaction) else {
            return;
        };
        let ended = self.at(script.slot, |shell, _| shell.end(transaction, outcome));
        if let Some(Err(error)) = ended {
            panic!("{}: {error}", self.what);
        }
    }

    pub fn lead(&mut self, slot: usize) {
        match self.at(slot, |shell, log| {
            log.try_lead(&shell.coupling.gem, shell.node())
        }) {
            None | Some(Ok(_)) => {}
            Some(Err(SharedLogError::NoRoom)) => self.drive(),
            Some(Err(error)) => panic!("{}: {error}", self.what),
        }
    }

    pub fn drive(&mut self) {
        self.driver.step(self.gem.log_state()).unwrap();
    }

    pub fn poll(&mut self, slot: usize) {
        let polled = self.at(slot, |shell, _| shell.poll());
        self.check(polled);
    }

    pub(in crate::node) fn check<T>(&self, done: Option<Result<T, crate::node::NodeError>>) {
        if let Some(Err(error)) = done {
            panic!("{}: {error}", self.what);
        }
    }

    pub fn look(&mut self, slot: usize) {
        let looked = self.at(slot, |shell, log| {
            shell.look_after_failures()?;
            shell.recover(log)?;
            shell.finish_recovery()
        });
        self.check(looked);
    }

    pub fn suspect(&mut self, slot: usize) {
        let suspected = self.at(slot, |shell, _| shell.suspect());
        self.check(suspected);
    }

    pub fn write_back(&mut self, slot: usize, pages: usize) {
        let written = self.at(slot, |shell, _| shell.write_back(pages));
        self.check(written);
    }

    /// One thing happens.
    pub fn happen(&mut self) {
        let living = self.living();
        let Some(&slot) = living.get(self.random.below(living.len().max(1) as u64) as usize) else {
            let slot = self.random.below(self.nodes.len() as u64) as usize;
            return self.join(slot);
        };
        match self.random.below(32) {
            0..5 => self.begin(slot),
            5..19 => {
                let all: Vec<TransactionId> = self.scripts.keys().copied().collect();
                let number = self.random.below(all.len().max(1) as u64) as usize;
                if let Some(&transaction) = all.get(number) {
                    self.advance(transaction);
                }
            }
            19..25 => self.poll(slot),
            25 => self.suspect(slot),
            26 => self.lead(slot),
            27 => self.drive(),
            28 => self.look(slot),
            29 => self.write_back(slot, 1),
            30 => {
                let applied = self.at(slot, |shell, _| {
                    shell.coupling.gem.apply(shell.node(), u64::MAX)
                });
                self.check(applied);
            }
            _ => {
                let slot = self.random.below(self.nodes.len() as u64) as usize;
                if self.nodes[slot].is_none() {
                    self.join(slot);
                }
            }
        }
    }
}

fn first(disk: &Arc<dyn Disk>, options: &StorageOptions) -> FirstOpening {
    let opening = lock_opening(disk).unwrap();
    let first = open_first(disk, options).unwrap().expect("nobody has it");
    drop(opening);
    first
}
