//! The stores at the places, the process that runs next, and the faults between two requests, drawn from a seed.

use super::checker::Checker;
use crate::copies::keeper::Keeper;
use crate::copies::life::Life;
use crate::copies::record::{SetRecord, Standing};
use sardonyx_base::random::Random;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{Listed, RemoteStore};
use std::sync::Arc;
use std::time::Duration;

pub(super) const CLIENTS: usize = 3;
pub(super) const STEPS: u64 = 2500;

/// A run that is not over by then never will be.
const STUCK: u64 = 200_000;

/// The place that a request goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Keeper,
    Copy(usize),
}

/// A request that is done later.
pub(super) type Late = (Target, u64, Box<dyn Fn(&dyn RemotePlace) + Send>);

/// The store at a place.
pub(super) struct Site {
    pub store: Arc<dyn RemotePlace>,
    /// Raised when it is emptied.
    pub life: u64,
    pub is_up: bool,
    /// The processes that do not reach it.
    pub cut: [bool; CLIENTS],
}

impl Site {
    pub fn new() -> Self {
        Self::of(Arc::new(MemoryStore::new()))
    }

    fn of(store: Arc<dyn RemotePlace>) -> Self {
        Site {
            store,
            life: 0,
            is_up: true,
            cut: [false; CLIENTS],
        }
    }
}

/// The weight of each fault, in a thousand: others by each seed.
pub(super) struct Hazards {
    pub stop: u64,
    pub cut: u64,
    pub empty: u64,
    pub damage: u64,
    pub kill: u64,
    pub stall: u64,
    pub release: u64,
    pub request: u64,
}

pub(super) struct Inner {
    pub random: Random,
    pub step: u64,
    pub clock: Duration,
    pub hazards: Hazards,
    pub keeper: Site,
    /// All places that may be copies.
    pub copies: Vec<Site>,
    /// So many of them are copies of the set at first.
    pub first: usize,
    pub late: Vec<Late>,
    /// The process that runs.
    pub current: usize,
    pub is_done: [bool; CLIENTS],
    pub stalled_until: [u64; CLIENTS],
    pub lives: [u64; CLIENTS],
    /// An emptied copy that is still in the set, and its former content.
    pub wounded: Option<(usize, u64, Site)>,
    /// Nothing goes wrong any more.
    pub is_quiet: bool,
    pub next_transaction: u64,
    pub checker: Checker,
}

impl Inner {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let copies = 2 + random.below(2) as usize;
        let mut weigh = |most| random.below(most);
        let hazards = Hazards {
            stop: weigh(40),
            cut: weigh(40),
            empty: weigh(5),
            damage: weigh(30),
            kill: weigh(8),
            stall: weigh(30),
            release: 10 + weigh(60),
            request: 1 + weigh(40),
        };
        Inner {
            random,
            step: 0,
            clock: Duration::ZERO,
            hazards,
            keeper: keeper_of(seed),
            copies: (0..=copies).map(|_| Site::new()).collect(),
            first: copies,
            late: Vec::new(),
            current: 0,
            is_done: [false; CLIENTS],
            stalled_until: [0; CLIENTS],
            lives: [0; CLIENTS],
            wounded: None,
            is_quiet: false,
            next_transaction: 1,
            checker: Checker::default(),
        }
    }

    pub fn site(&mut self, target: Target) -> &mut Site {
        match target {
            Target::Keeper => &mut self.keeper,
            Target::Copy(index) => &mut self.copies[index],
        }
    }

    pub fn record(&self) -> SetRecord {
        let view = Keeper::new(self.keeper.store.clone())
            .read()
            .expect("it was written");
        view.record.clone()
    }

    /// A copy is in the set and has lost its content.
    fn is_wounded(&mut self) -> bool {
        if let Some((index, life, _)) = &self.wounded {
            let place = place_of(*index);
            let record = self.record();
            let mut in_sync = record.in_sync();
            if !in_sync.any(|copy| copy.place == place && copy.life == *life) {
                self.wounded = None;
            }
        }
        self.wounded.is_some()
    }

    /// The other copies were left out before that was seen: then nothing goes on until its content is restored.
    fn heal(&mut self) {
        if self.wounded.is_some()
            && self.is_wounded()
            && self.record().in_sync().count() == 1
            && let Some((index, _, site)) = self.wounded.take()
        {
            self.copies[index] = site;
        }
    }

    /// A step between two requests, in which a fault may come.
    pub fn step(&mut self) {
        self.step += 1;
        self.clock += Duration::from_millis(5);
        assert!(self.step < STUCK, "the run does not come to its end");
        self.heal();
        if self.is_quiet {
            return;
        }
        if self.step >= STEPS {
            return self.become_quiet();
        }
        let Hazards {
            stop,
            cut,
            empty,
            damage,
            kill,
            stall,
            release,
            ..
        } = self.hazards;
        let mut drawn = self.random.below(1000);
        for (weight, hazard) in [
            (stop, Inner::stop as fn(&mut Self)),
            (cut, Inner::cut),
            (empty, Inner::empty),
            (damage, Inner::damage),
            (kill, Inner::kill),
            (stall, Inner::stall),
            (release, Inner::release),
        ] {
            if drawn < weight {
                return hazard(self);
            }
            drawn -= weight;
        }
    }

    pub fn become_quiet(&mut self) {
        self.is_quiet = true;
        for site in self.copies.iter_mut().chain([&mut self.keeper]) {
            (site.is_up, site.cut) = (true, [false; CLIENTS]);
        }
        self.stalled_until = [0; CLIENTS];
        while !self.late.is_empty() {
            self.release();
        }
    }

    fn stop(&mut self) {
        let drawn = self.random.below(self.copies.len() as u64) as usize;
        let down = self.copies.iter().position(|site| !site.is_up);
        let index = down.filter(|_| drawn > 0).unwrap_or(drawn);
        let is_up = self.copies[index].is_up;
        if !is_up || !self.is_wounded() {
            self.copies[index].is_up = !is_up;
        }
    }

    fn cut(&mut self) {
        let client = self.random.below(CLIENTS as u64) as usize;
        let index = self.random.below(self.copies.len() as u64 + 1) as usize;
        let wounded = self.is_wounded();
        let site = match index < self.copies.len() {
            true => &mut self.copies[index],
            false => &mut self.keeper,
        };
        site.cut[client] = !site.cut[client] && !wounded;
    }

    /// A disk is lost, and an empty one is in its place. Another copy of the set is whole.
    fn empty(&mut self) {
        if self.is_wounded() {
            return;
        }
        let record = self.record();
        let index = self.random.below(self.copies.len() as u64) as usize;
        let place = place_of(index);
        let others = record.in_sync().filter(|copy| copy.place != place);
        if others.count() == 0 {
            return;
        }
        for site in self.copies.iter_mut().chain([&mut self.keeper]) {
            (site.is_up, site.cut) = (true, [false; CLIENTS]);
        }
        let life = self.copies[index].life + 1;
        let empty = Site {
            life,
            ..Site::new()
        };
        let site = std::mem::replace(&mut self.copies[index], empty);
        let mut in_sync = record.in_sync();
        let copy = in_sync.find(|copy| copy.place == place);
        self.wounded = copy.map(|copy| (index, copy.life, site));
        self.checker.seen.emptied += 1;
    }

    /// A copy that is out loses an entry, or the end of one.
    fn damage(&mut self) {
        let record = self.record();
        let out: Vec<_> = record.standing(Standing::Out).collect();
        let drawn = self.random.below(out.len().max(1) as u64) as usize;
        let Some(copy) = out.get(drawn) else { return };
        let at = |index: &usize| place_of(*index) == copy.place;
        let Some(index) = (0..self.copies.len()).find(at) else {
            return;
        };
        let life = Life::new(self.copies[index].store.clone(), copy.life);
        let listed = life.list(0).expect("in memory");
        let drawn = self.random.below(listed.len().max(1) as u64) as usize;
        let Some(Listed { number, .. }) = listed.get(drawn).copied() else {
            return;
        };
        let bytes = life.read(number).expect("in memory").expect("it is listed");
        life.remove(&[number]).expect("in memory");
        if self.random.below(2) == 0 {
            let half = &bytes[..bytes.len() / 2];
            life.append_at(number, half).expect("in memory");
        }
        self.checker.seen.damaged += 1;
    }

    fn kill(&mut self) {
        let client = self.random.below(CLIENTS as u64) as usize;
        self.lives[client] += 1;
        self.checker.seen.killed += 1;
    }

    fn stall(&mut self) {
        let client = self.random.below(CLIENTS as u64) as usize;
        self.stalled_until[client] = self.step + self.random.below(300);
    }

    /// A request arrives that was sent long ago, if its store is still there.
    fn release(&mut self) {
        if self.late.is_empty() {
            return;
        }
        let at = self.random.below(self.late.len() as u64) as usize;
        let (target, life, act) = self.late.swap_remove(at);
        let before = self.keeper_view(target);
        let site = self.site(target);
        if site.life == life {
            act(&*site.store);
            self.checker.seen.late += 1;
            self.note_change(before);
        }
    }

    pub fn keeper_view(&self, target: Target) -> Option<SetRecord> {
        (target == Target::Keeper).then(|| self.record())
    }

    /// Counts the changes of a request to the keeper.
    pub fn note_change(&mut self, before: Option<SetRecord>) {
        let Some(before) = before else { return };
        let after = self.record();
        let seen = &mut self.checker.seen;
        let count = |record: &SetRecord| record.in_sync().count();
        seen.left_out += u64::from(count(&after) < count(&before));
        seen.joined += u64::from(count(&after) > count(&before));
        seen.writers += u64::from(after.writer != before.writer);
        let lives = |record: &SetRecord| record.copies.iter().map(|copy| copy.life).sum::<u64>();
        seen.lives += u64::from(lives(&after) > lives(&before));
        seen.changed += u64::from(after.places() != before.places());
    }

    /// The process that runs next.
    pub fn choose(&mut self) -> Option<usize> {
        let is_ready = |client: &usize| !self.is_done[*client];
        let all: Vec<usize> = (0..CLIENTS).filter(is_ready).collect();
        let stalled = |client: &usize| self.stalled_until[*client] > self.step;
        let ready: Vec<usize> = all.iter().copied().filter(|c| !stalled(c)).collect();
        let from = match ready.is_empty() {
            true => all,
            false => ready,
        };
        let at = self.random.below(from.len().max(1) as u64) as usize;
        from.get(at).copied()
    }
}

#[cfg(feature = "etcd")]
std::thread_local! {
    /// A planted fault of the etcd of runs that begin on this thread: a put does not compare the revision.
    pub(super) static PUTS_COMPARE_NOTHING: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The keeper is an etcd in every other run.
#[cfg(feature = "etcd")]
fn keeper_of(seed: u64) -> Site {
    match seed.is_multiple_of(2) {
        true => Site::new(),
        false => {
            let compares_nothing = PUTS_COMPARE_NOTHING.get();
            let keeper = crate::etcd::tests::in_process(compares_nothing);
            Site::of(Arc::new(keeper))
        }
    }
}

#[cfg(not(feature = "etcd"))]
fn keeper_of(_: u64) -> Site {
    Site::new()
}

pub(super) fn place_of(index: usize) -> String {
    format!("copy-{index}")
}
