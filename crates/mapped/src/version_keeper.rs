//! The keeper: a thread of each process that lets writers go on when one of its process' sessions keeps
//! old versions for too long.
//!
//! A snapshot keeps base pages from being brought up to date, and so the ring of redo records from being used again.
//! When a writer finds no room, it asks. The keeper of the slow session's process then copies, into that session's own
//! view, every page that is about to change. After that the session depends on nothing shared. So a slow reader costs
//! its own process memory: at most one copy of each page that others change. It costs other processes none, beyond the
//! ring (I10).
//!
//! A transaction that may write is treated alike, and cannot commit any more: its reads were changed, or cannot be
//! judged. It sees its consistent snapshot to its end, and is then run again.

use crate::shared::control::{IDLE, Slot};
use crate::shared::region::Region;
use crate::shared::ring::{Frames, changes};
use crate::view::View;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::sync::thread::JoinHandle;
use sardonyx_base::sync::word::{self, Sleepers};
use sardonyx_storage::supervisor::{Supervisor, join};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A keeper looks around so often even without a request, since it may not have run at the request.
const LOOK_AROUND: Duration = Duration::from_millis(100);

/// A view of this process, and the slot of its session.
#[derive(Debug)]
struct Watched {
    slot: usize,
    view: Weak<View>,
}

/// The state that the keeper's thread shares with its handle.
#[derive(Debug)]
struct Shared {
    region: Arc<Region>,
    watched: Mutex<Vec<Watched>>,
    stopping: AtomicBool,
}

/// The keeper of a process. See the [module](self).
#[derive(Debug)]
pub(crate) struct VersionKeeper {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl VersionKeeper {
    pub(crate) fn new(region: Arc<Region>) -> Self {
        VersionKeeper {
            shared: Arc::new(Shared {
                region,
                watched: Mutex::default(),
                stopping: AtomicBool::new(false),
            }),
            thread: Mutex::new(None),
        }
    }

    /// Takes care of a session from now on, as long as its view lives.
    pub(crate) fn watch(&self, slot: usize, view: &Arc<View>) {
        let mut watched = self.shared.watched.lock();
        watched.retain(|watched| watched.view.strong_count() > 0);
        watched.push(Watched {
            slot,
            view: Arc::downgrade(view),
        });
        drop(watched);
        let mut thread = self.thread.lock();
        if thread.is_none() {
            let (shared, told) = (self.shared.clone(), self.shared.clone());
            // Without it a writer may wait for a session that it had half looked after.
            let supervisor = Supervisor::new(move |error| {
                told.region.control().log.poison(&error.to_string());
            });
            match supervisor.try_spawn("keeper", move || shared.run()) {
                Ok(handle) => *thread = Some(handle),
                // Writers then wait for slow readers, as for a process that is stopped.
                Err(error) => tracing::warn!(%error, "there is no keeper"),
            }
        }
    }
}

impl Drop for VersionKeeper {
    fn drop(&mut self) {
        // Not locked: in a child, it may be by a thread that is not there.
        let thread = self.thread.get_mut().take();
        if self.shared.region.was_forked() {
            // The thread is the parent's.
            std::mem::forget(thread);
            return;
        }
        self.shared.stopping.store(true, Ordering::SeqCst);
        let control = self.shared.region.control();
        control.alarm.fetch_add(1, Ordering::SeqCst);
        word::wake(&control.alarm, Sleepers::OfProcesses, u32::MAX);
        join(thread);
    }
}

/// Gives a view's `steady` back, also if looking after it panics.
struct Unlocking<'a>(&'a View);

impl Drop for Unlocking<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the thread that has just locked it.
        unsafe { self.0.steady.unlock() };
    }
}

impl Shared {
    fn run(&self) {
        let control = self.region.control();
        let mut seen = control.alarm.load(Ordering::SeqCst);
        while !self.stopping.load(Ordering::SeqCst) {
            self.look_after_all();
            // After any end of the wait, we look again.
            word::wait(
                &control.alarm,
                Sleepers::OfProcesses,
                seen,
                Some(LOOK_AROUND),
            );
            seen = control.alarm.load(Ordering::SeqCst);
        }
    }

    fn look_after_all(&self) {
        let control = self.region.control();
        let asked = |watched: &&Watched| {
            let slot = &control.slots[watched.slot];
            slot.copy_until.load(Ordering::SeqCst) > slot.immune.load(Ordering::SeqCst)
        };
        let watched = self.watched.lock();
        let watched: Vec<_> = watched
            .iter()
            .filter(asked)
            .filter_map(|watched| Some((watched.slot, watched.view.upgrade()?)))
            .collect();
        for (slot, view) in watched {
            // A session that is just beginning, committing or ending need not be looked after.
            if view.steady.try_lock() {
                let _steady = Unlocking(&view);
                self.look_after(&control.slots[slot], &view);
            }
        }
    }

    /// Makes a session independent of everything that is to be folded.
    fn look_after(&self, slot: &Slot, view: &View) {
        let until = slot.copy_until.load(Ordering::SeqCst);
        if slot.snapshot.load(Ordering::SeqCst) == IDLE {
            return;
        }
        let from = slot
            .pin
            .load(Ordering::SeqCst)
            .max(slot.immune.load(Ordering::SeqCst));
        // First of all, so that the session's reads from now on are not judged by its commit.
        slot.doomed.store(1, Ordering::SeqCst);
        let mut pages = BTreeSet::new();
        // SAFETY: the slot pins the ring from `pin` on, or from where it is immune; the session does
        // not end meanwhile, because we hold `steady`; `until` was published.
        for frame in unsafe { Frames::new(&self.region, from, until.max(from)) } {
            pages.extend(changes(frame.records).map(|change| change.page));
        }
        for page in pages {
            let _turn = view.turn();
            if let Err(error) = view.make_private(page) {
                tracing::warn!(%error, page, "a slow reader's page could not be copied");
                return;
            }
        }
        view.mark_stale();
        // All records of the snapshot that base pages lacked were applied.
        let turn = view.turn();
        view.forget_unfolded();
        drop(turn);
        slot.immune.store(until, Ordering::SeqCst);
        slot.pin.fetch_max(until, Ordering::SeqCst);
    }
}
