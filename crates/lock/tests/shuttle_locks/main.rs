//! Models of the lock manager under Shuttle. Threads run transactions against [`Locks`] under
//! thousands of schedules; a lost wake-up or an undetected deadlock shows as a deadlock of the
//! model, which Shuttle reports.
//!
//! Common parts of the models, which are in [`waits`], in [`escrow`], and, of programs drawn at random, in
//! [`programs`].
//!
//! ```text
//! RUSTFLAGS="--cfg shuttle" cargo test -p sardonyx-lock --test shuttle_locks
//! ```
#![cfg(shuttle)]

mod escrow;
mod programs;
mod waits;

use sardonyx_base::sync::thread;
use sardonyx_lock::{Asker, Denied, Granted, LockSpace, Locks, Mode, Owner, PAGES, Resource};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use std::sync::Arc;

static OBJECTS: LockSpace = LockSpace::new("objects", &[&[true, false], &[false, false]]);
const READ: Mode = Mode(0);
const CHANGE: Mode = Mode(1);

/// Some schedules of each kind: chosen at random, and with few but well-placed changes of thread.
fn explore(body: impl Fn() + Send + Sync + Clone + 'static) {
    let mut config = shuttle::Config::new();
    config.stack_size = 256 << 10;
    let random = RandomScheduler::new_from_seed(1, 3000);
    shuttle::Runner::new(random, config.clone()).run(body.clone());
    let few_changes = PctScheduler::new_from_seed(1, 3, 3000);
    shuttle::Runner::new(few_changes, config).run(body);
}

/// Runs these threads to their ends. Nothing may stay locked.
fn run(locks: &Arc<Locks>, bodies: Vec<Box<dyn FnOnce(&Locks) + Send>>) {
    let threads: Vec<_> = bodies
        .into_iter()
        .map(|body| {
            let locks = locks.clone();
            thread::spawn(move || body(&locks))
        })
        .collect();
    for thread in threads {
        thread.join().expect("a thread ends well");
    }
    assert!(locks.is_empty(), "something is left");
    assert!(locks.waiting().is_empty());
}

fn in_space(space: &'static LockSpace, object: u64) -> Resource {
    let space = space.number();
    Resource { space, object }
}

/// A transaction, as the engine runs one: its locks until its end.
struct Transaction<'a> {
    locks: &'a Locks,
    owner: Owner,
    compensation: bool,
    objects: Vec<Resource>,
}

impl<'a> Transaction<'a> {
    fn new(locks: &'a Locks, number: u64) -> Self {
        Transaction {
            locks,
            owner: Owner::transaction(number),
            compensation: false,
            objects: Vec::new(),
        }
    }

    fn asker(&self, holder: Owner, k: u16) -> Asker {
        Asker {
            holder,
            waiter: self.owner.subtransaction(k),
            age: self.owner.number(),
            compensation: self.compensation,
        }
    }

    fn object(&mut self, k: u16, object: u64, mode: Mode) -> Result<Granted, Denied> {
        let asker = self.asker(self.owner, k);
        let granted = self.locks.request(asker, &OBJECTS, object, mode)?;
        if granted == Granted::New {
            self.objects.push(in_space(&OBJECTS, object));
        }
        Ok(granted)
    }

    fn page(&self, k: u16, page: u64, mode: Mode) -> Result<Granted, Denied> {
        let asker = self.asker(self.owner.subtransaction(k), k);
        self.locks.request(asker, &PAGES, page, mode)
    }

    /// Locks pages in turn for subtransaction `k`, starting over when it must restart, and releases them.
    fn pages(&self, k: u16, pages: &[(u64, Mode)]) -> Result<usize, Denied> {
        let mut restarts = 0;
        loop {
            let outcome = pages.iter().try_for_each(|&(page, mode)| {
                self.page(k, page, mode).map(|_| thread::yield_now())
            });
            let all = pages.iter().map(|&(page, _)| in_space(&PAGES, page));
            self.locks.release(self.owner.subtransaction(k), all);
            match outcome {
                Ok(()) => return Ok(restarts),
                Err(Denied::Restart) => restarts += 1,
                Err(Denied::Deadlock) => return Err(Denied::Deadlock),
            }
        }
    }

    fn end(self) {
        self.locks.release(self.owner, self.objects);
    }
}
