//! A run: several processes, some copies and a keeper. Each request of a process is a turn: another process runs next.

use super::checker::{Checker, Seen};
use super::client;
use super::handle::{Asker, Handle, unclear};
use super::state::{CLIENTS, Inner, STEPS, Target, place_of};
use crate::copies::ends::ALARMS;
use crate::copies::keeper::Keeper;
use crate::copies::life::{Life, mark_of};
use crate::copies::planted::{PLANTED, Planted};
use crate::copies::record::SetRecord;
use crate::copies::spelling::Spelling;
use crate::copies::time::Limits;
use crate::copies::{Copies, Replaced};
use sardonyx_base::random::of_a_seed;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The place of the register.
pub(super) const KEEPER: &str = "keeper";

pub(super) struct World {
    inner: Mutex<Inner>,
    wake: [Condvar; CLIENTS],
}

impl World {
    /// Runs a seed to its end.
    pub fn run(seed: u64, planted: Option<Planted>) -> Seen {
        let mut inner = Inner::new(seed);
        // Damage shows other errors by accident, and ends runs that would show them.
        if planted.is_some_and(|planted| planted != Planted::RecordedTrusted) {
            inner.hazards.damage = 0;
        }
        let copies: Vec<String> = (0..inner.first).map(place_of).collect();
        let record = SetRecord::new(5, &copies, 0);
        for site in inner.copies.iter().take(inner.first) {
            let mark = mark_of(record.identity, 1);
            site.store.create_object(&mark, b"").expect("in memory");
        }
        let first = Keeper::new(inner.keeper.store.clone())
            .replace(None, &record)
            .expect("in memory");
        assert!(matches!(first, Replaced::Done(_)));
        let world = Arc::new(World {
            inner: Mutex::new(inner),
            wake: Default::default(),
        });
        let panics: Vec<_> = std::thread::scope(|scope| {
            let clients = (0..CLIENTS).map(|client| {
                let world = &world;
                scope.spawn(move || {
                    PLANTED.set(planted);
                    world.wait(client);
                    let run = || {
                        client::run(world, client);
                        let alarms = ALARMS.get();
                        assert!(planted.is_some() || alarms == 0, "no copy was restored");
                    };
                    // Each client draws its own names, and the same ones in each run.
                    let drawn = seed.wrapping_mul(CLIENTS as u64) + client as u64;
                    let ended = catch_unwind(AssertUnwindSafe(|| of_a_seed(drawn, run)));
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

    /// A place, in its present state.
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
        let keeper = Keeper::new(self.open(asker, KEEPER)?);
        let view = keeper.read()?;
        let spelling = Spelling {
            keeper: KEEPER.into(),
            copies: view.record.places(),
        };
        let limits = Limits {
            write: Duration::from_millis(200),
            read: Duration::from_millis(600),
            pause: Duration::from_millis(20),
        };
        let (places, time) = (Box::new(asker.clone()), Box::new(asker.clone()));
        let mut copies = Copies::new(&spelling, keeper, view, places, time, limits)?;
        copies.entry_bytes_max = 1000;
        Ok(copies)
    }

    /// A request of a process, which may be lost, done later, or done without an answer.
    pub fn request<T>(
        &self,
        handle: &Handle,
        act: impl Fn(&dyn RemotePlace) -> Result<T, StoreError> + Send + 'static,
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
                let act = move |store: &dyn RemotePlace| drop(act(store));
                inner.late.push((target, life, Box::new(act)));
                Err(unclear(target))
            }
            // Its answer is lost.
            Some(2) => {
                let _ = act(&*store);
                inner.note_change(before);
                Err(unclear(target))
            }
            // It is done now, and once more later.
            Some(_) => {
                let answer = act(&*store);
                let act = move |store: &dyn RemotePlace| drop(act(store));
                inner.late.push((target, life, Box::new(act)));
                inner.note_change(before);
                answer
            }
            None => {
                let answer = act(&*store);
                inner.note_change(before);
                answer
            }
        }
    }

    /// The copies, which are all in sync by now.
    pub fn every_copy_in_sync(&self) -> Vec<(String, Life)> {
        let inner = self.lock();
        let record = inner.record();
        let in_sync = record.in_sync().count();
        assert_eq!(in_sync, record.copies.len(), "{record:?}");
        let copies = inner.copies.iter().enumerate().filter_map(|(index, site)| {
            let place = place_of(index);
            let copy = record.copies.iter().find(|copy| copy.place == place)?;
            Some((place, Life::new(site.store.clone(), copy.life)))
        });
        copies.collect()
    }

    /// All places that may be copies.
    pub fn places(&self) -> Vec<String> {
        (0..self.lock().copies.len()).map(place_of).collect()
    }
}
