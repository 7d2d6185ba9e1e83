//! A run: several processes, some copies, a keeper, and what happens between them, drawn from a seed.

use super::checker::{Checker, Seen};
use super::client;
use super::handle::{Asker, Handle, unclear};
use crate::copies::keeper::Keeper;
use crate::copies::life::{Life, mark_of};
use crate::copies::planted::{PLANTED, Planted};
use crate::copies::record::SetRecord;
use crate::copies::spelling::Spelling;
use crate::copies::time::Limits;
use crate::copies::{Copies, Replaced};
use sardonyx_base::random::Random;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::{RemoteObjects, RemotePlace};
use sardonyx_storage::remote_log::store::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const CLIENTS: usize = 3;
const STEPS: u64 = 2500;

/// A run that is not over by then never will be.
const STUCK: u64 = 200_000;

/// What a request goes to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Target {
    Keeper,
    Copy(usize),
}

/// A request that is done later.
type Late = (Target, u64, Box<dyn Fn(&MemoryStore) + Send>);

/// What is at a place.
struct Site {
    store: Arc<MemoryStore>,
    /// Raised when it is emptied.
    life: u64,
    is_up: bool,
    /// The processes that do not reach it.
    cut: [bool; CLIENTS],
}

impl Site {
    fn new() -> Self {
        Site {
            store: Arc::new(MemoryStore::new()),
            life: 0,
            is_up: true,
            cut: [false; CLIENTS],
        }
    }
}

/// How often what goes wrong: other weights by each seed.
struct Hazards {
    stop: u64,
    cut: u64,
    empty: u64,
    kill: u64,
    stall: u64,
    release: u64,
    request: u64,
}

struct Inner {
    random: Random,
    step: u64,
    clock: Duration,
    hazards: Hazards,
    keeper: Site,
    copies: Vec<Site>,
    late: Vec<Late>,
    /// Who runs.
    current: usize,
    is_done: [bool; CLIENTS],
    stalled_until: [u64; CLIENTS],
    lives: [u64; CLIENTS],
    /// An emptied copy that is still in the set, and what it had.
    wounded: Option<(usize, u64, Site)>,
    /// Nothing goes wrong any more.
    is_quiet: bool,
    next_transaction: u64,
    checker: Checker,
}

pub(super) struct World {
    inner: Mutex<Inner>,
    wake: [Condvar; CLIENTS],
    spelling: Spelling,
}

impl Inner {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let copies = 2 + random.below(2) as usize;
        let mut weigh = |most| random.below(most);
        let hazards = Hazards {
            stop: weigh(40),
            cut: weigh(40),
            empty: weigh(5),
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
            keeper: Site::new(),
            copies: (0..copies).map(|_| Site::new()).collect(),
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

    fn site(&mut self, target: Target) -> &mut Site {
        match target {
            Target::Keeper => &mut self.keeper,
            Target::Copy(index) => &mut self.copies[index],
        }
    }

    fn record(&self) -> SetRecord {
        let store: Arc<dyn RemotePlace> = self.keeper.store.clone();
        let view = Keeper(store).read().expect("it was written");
        view.record.clone()
    }

    /// A copy is in the set and not what it was.
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

    /// The other copies were left out before that was seen: then nothing goes on until what it had is put back.
    fn heal(&mut self) {
        if self.wounded.is_some()
            && self.is_wounded()
            && self.record().in_sync().count() == 1
            && let Some((index, _, site)) = self.wounded.take()
        {
            self.copies[index] = site;
        }
    }

    /// What may go wrong between two requests.
    fn step(&mut self) {
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

    fn become_quiet(&mut self) {
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
            act(&site.store);
            self.checker.seen.late += 1;
            self.note_change(before);
        }
    }

    fn keeper_view(&self, target: Target) -> Option<SetRecord> {
        (target == Target::Keeper).then(|| self.record())
    }

    /// Counts what a request to the keeper changed.
    fn note_change(&mut self, before: Option<SetRecord>) {
        let Some(before) = before else { return };
        let after = self.record();
        let seen = &mut self.checker.seen;
        let count = |record: &SetRecord| record.in_sync().count();
        seen.left_out += u64::from(count(&after) < count(&before));
        seen.joined += u64::from(count(&after) > count(&before));
        seen.writers += u64::from(after.writer != before.writer);
        let lives = |record: &SetRecord| record.copies.iter().map(|copy| copy.life).sum::<u64>();
        seen.lives += u64::from(lives(&after) > lives(&before));
    }

    /// Who runs next.
    fn choose(&mut self) -> Option<usize> {
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

fn place_of(index: usize) -> String {
    format!("copy-{index}")
}

impl World {
    /// Runs a seed to its end.
    pub fn run(seed: u64, planted: Option<Planted>) -> Seen {
        let inner = Inner::new(seed);
        let copies: Vec<String> = (0..inner.copies.len()).map(place_of).collect();
        let record = SetRecord::new(5, &copies, 0);
        for site in &inner.copies {
            let mark = mark_of(record.identity, 1);
            site.store.create_object(&mark, b"").expect("in memory");
        }
        let keeper: Arc<dyn RemotePlace> = inner.keeper.store.clone();
        let first = Keeper(keeper).replace(None, &record).expect("in memory");
        assert!(matches!(first, Replaced::Done(_)));
        let world = Arc::new(World {
            inner: Mutex::new(inner),
            wake: Default::default(),
            spelling: Spelling {
                keeper: "keeper".into(),
                copies,
            },
        });
        let panics: Vec<_> = std::thread::scope(|scope| {
            let clients = (0..CLIENTS).map(|client| {
                let world = &world;
                scope.spawn(move || {
                    PLANTED.set(planted);
                    world.wait(client);
                    let run = || client::run(world, client);
                    let ended = catch_unwind(AssertUnwindSafe(run));
                    world.done(client, ended.is_err());
                    ended.err()
                })
            });
            let clients: Vec<_> = clients.collect();
            let joined = clients.into_iter().map(|client| client.join());
            joined
                .filter_map(|ended| ended.expect("it is caught"))
                .collect()
        });
        if let Some(panic) = panics.into_iter().next() {
            resume_unwind(panic);
        }
        world.lock().is_done = [false, false, true];
        client::end(&world);
        world.lock().checker.seen
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self, client: usize) {
        let mut inner = self.lock();
        while inner.current != client {
            inner = self.wake[client]
                .wait(inner)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lets another process run, or goes on.
    pub fn turn(&self, client: usize) {
        let mut inner = self.lock();
        inner.step();
        if inner.is_quiet && inner.is_done[CLIENTS - 1] && !inner.is_done[0] {
            // The run is at its end: one thread is left.
            return;
        }
        let next = inner.choose().unwrap_or(client);
        inner.current = next;
        drop(inner);
        if next != client {
            self.wake[next].notify_one();
            self.wait(client);
        }
    }

    fn done(&self, client: usize, has_failed: bool) {
        let mut inner = self.lock();
        inner.is_done[client] = true;
        if has_failed {
            inner.step = inner.step.max(STEPS);
            inner.become_quiet();
        }
        if let Some(next) = inner.choose() {
            inner.current = next;
            self.wake[next].notify_one();
        }
    }

    pub fn is_over(&self) -> bool {
        self.lock().is_quiet
    }

    pub fn asker(self: &Arc<Self>, client: usize) -> Asker {
        let life = self.lock().lives[client];
        Asker {
            world: self.clone(),
            client,
            life,
        }
    }

    pub fn lives(&self, asker: &Asker) -> bool {
        self.lock().lives[asker.client] == asker.life
    }

    pub fn draw(&self, below: u64) -> u64 {
        self.lock().random.below(below)
    }

    pub fn transaction(&self) -> u64 {
        let mut inner = self.lock();
        inner.next_transaction += 1;
        inner.next_transaction
    }

    pub fn check(&self, check: impl FnOnce(&mut Checker)) {
        check(&mut self.lock().checker);
    }

    pub fn clock(&self) -> Duration {
        self.lock().clock
    }

    pub fn pause(&self, client: usize, time: Duration) {
        self.lock().clock += time;
        self.turn(client);
    }

    /// A place, as it is now.
    pub fn open(&self, asker: &Asker, place: &str) -> Result<Arc<dyn RemotePlace>, StoreError> {
        let mut inner = self.lock();
        let index = (0..inner.copies.len()).find(|index| place_of(*index) == place);
        let target = index.map_or(Target::Keeper, Target::Copy);
        let (client, site) = (asker.client, inner.site(target));
        let store_life = site.life;
        if !site.is_up || site.cut[client] {
            inner.clock += Duration::from_millis(50);
            return Err(unclear(target));
        }
        Ok(Arc::new(Handle {
            asker: asker.clone(),
            target,
            store_life,
        }))
    }

    pub fn open_copies(&self, asker: &Asker) -> Result<Copies, StoreError> {
        let keeper = Keeper(self.open(asker, "keeper")?);
        let view = keeper.read()?;
        let limits = Limits {
            write: Duration::from_millis(200),
            read: Duration::from_millis(600),
            pause: Duration::from_millis(20),
        };
        let (places, time) = (Box::new(asker.clone()), Box::new(asker.clone()));
        let mut copies = Copies::new(&self.spelling, keeper, view, places, time, limits)?;
        copies.entry_bytes_max = 1000;
        Ok(copies)
    }

    /// A request of a process, which may be lost, done later, or done without an answer.
    pub fn request<T>(
        &self,
        handle: &Handle,
        act: impl Fn(&MemoryStore) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (client, target) = (handle.asker.client, handle.target);
        self.turn(client);
        let mut inner = self.lock();
        if inner.lives[client] != handle.asker.life {
            return Err(StoreError::Refused {
                what: "a request".into(),
                place: format!("{target:?}"),
                reason: "the process was killed".into(),
            });
        }
        let site = inner.site(target);
        let store = site.store.clone();
        if !site.is_up || site.cut[client] || site.life != handle.store_life {
            inner.clock += Duration::from_millis(50);
            return Err(unclear(target));
        }
        let odds = match inner.is_quiet {
            true => 0,
            false => inner.hazards.request,
        };
        let life = handle.store_life;
        let drawn = inner.random.below(1000);
        let before = inner.keeper_view(target);
        let fate = (0..4).find(|fate| drawn < odds * (fate + 1));
        match fate {
            // It is lost.
            Some(0) => Err(unclear(target)),
            // It is done later.
            Some(1) => {
                let act = move |store: &MemoryStore| drop(act(store));
                inner.late.push((target, life, Box::new(act)));
                Err(unclear(target))
            }
            // Its answer is lost.
            Some(2) => {
                let _ = act(&store);
                inner.note_change(before);
                Err(unclear(target))
            }
            // It is done now, and once more later.
            Some(_) => {
                let answer = act(&store);
                let act = move |store: &MemoryStore| drop(act(store));
                inner.late.push((target, life, Box::new(act)));
                inner.note_change(before);
                answer
            }
            None => {
                let answer = act(&store);
                inner.note_change(before);
                answer
            }
        }
    }

    /// The copies, which are all in the set by now.
    pub fn every_copy_in_sync(&self) -> Vec<(String, Life)> {
        let inner = self.lock();
        let record = inner.record();
        let in_sync = record.in_sync().count();
        assert_eq!(in_sync, inner.copies.len(), "{record:?}");
        let copies = inner.copies.iter().enumerate().map(|(index, site)| {
            let place = place_of(index);
            let mut all = record.copies.iter();
            let copy = all.find(|copy| copy.place == place).expect("it is one");
            (place, Life::new(site.store.clone(), copy.life))
        });
        copies.collect()
    }
}
