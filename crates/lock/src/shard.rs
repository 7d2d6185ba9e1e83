//! A part of the lock table: the locks, pending changes and waits of some of the objects.
//!
//! It is changed under its mutex only. It reads the clock only to note when a wait began. A caller
//! that ends waits gets the places where the threads wait, and wakes them after releasing the mutex.
//!
//! Invariants: every waiter in a queue has at least one [`Wait`] for the same object and holder, and
//! together these request its awaited modes. A wait for a quantity depends on a pending change of an
//! owner.

use crate::compatibility::{Mode, Modes};
use crate::deadlock::{Blocked, Edge};
use crate::escrow::{Admission, Quantity, Reservations};
use crate::locks::{Reserved, Token};
use crate::owner::{Asker, Denied, Granted, Owner};
use crate::parking::{Outcome, Parking};
use crate::queue::{Answer, LockQueue};
use crate::space::{LockSpace, Resource};
use crate::statistics::LevelStatistics;
use sardonyx_base::hash::SecretMap;
use smallvec::SmallVec;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::time::Instant;

/// The parked threads whose wait has ended and that are to be woken.
pub(crate) type Woken = SmallVec<[Arc<Parking>; 2]>;

/// The object of a thread's wait.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    Lock {
        mode: Mode,
        /// True if the holder had no lock on the object at its request.
        new: bool,
    },
    /// A pending change of a quantity is decided.
    Decision,
}

/// A thread that waits.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) asker: Asker,
    pub(crate) space: &'static LockSpace,
    pub(crate) resource: Resource,
    pub(crate) wanted: Wanted,
    pub(crate) since: Instant,
    pub(crate) parking: Arc<Parking>,
}

#[derive(Debug)]
struct Locked {
    space: &'static LockSpace,
    queue: LockQueue<Owner>,
}

#[derive(Debug, Default)]
struct Pending {
    reservations: Reservations<Owner>,
    /// The shard's count of decisions when the last one on this quantity was made.
    decided: u64,
}

/// A part of the lock table.
#[derive(Debug, Default)]
pub(crate) struct Shard {
    locks: SecretMap<Resource, Locked>,
    pending: SecretMap<Resource, Pending>,
    /// In order of their beginning.
    pub(crate) waits: Vec<Wait>,
    /// Counts decisions on pending changes. Never goes back, so that a state that is forgotten and begun anew is not
    /// mistaken for the old one.
    decisions: u64,
    /// Statistics of pages and of objects, but for the time waited.
    pub(crate) statistics: [LevelStatistics; 2],
}

/// The level of the statistics.
pub(crate) fn level(resource: Resource) -> usize {
    usize::from(resource.space != 0)
}

impl Shard {
    /// Asks for a lock without queueing.
    pub(crate) fn try_request(
        &mut self,
        holder: Owner,
        space: &'static LockSpace,
        resource: Resource,
        mode: Mode,
    ) -> Option<Granted> {
        let locked = self.locks.entry(resource).or_insert_with(|| Locked {
            space,
            queue: LockQueue::default(),
        });
        let new = locked.queue.held(holder).is_empty();
        match locked.queue.try_request(space.matrix(), holder, mode)? {
            Answer::Held => Some(Granted::Held),
            _ if new => Some(Granted::New),
            _ => Some(Granted::More),
        }
    }

    /// True if a lock that the holder has just been granted may block earlier waiters: it was a
    /// conversion, which passes them.
    pub(crate) fn passed_somebody(&self, resource: Resource, granted: Granted) -> bool {
        granted == Granted::More
            && self
                .locks
                .get(&resource)
                .is_some_and(|locked| !locked.queue.waiters().is_empty())
    }

    /// Queues a request that was not granted.
    pub(crate) fn enqueue(
        &mut self,
        asker: Asker,
        space: &'static LockSpace,
        resource: Resource,
        mode: Mode,
    ) -> Arc<Parking> {
        let locked = self.locks.get_mut(&resource);
        let queue = &mut locked
            .expect("a request that was not granted has an entry")
            .queue;
        let new = queue.held(asker.holder).is_empty();
        let answer = queue.request(space.matrix(), asker.holder, mode);
        debug_assert_eq!(answer, Answer::Waiting);
        self.wait(asker, space, resource, Wanted::Lock { mode, new })
    }

    /// Releases the owner's locks on the object.
    pub(crate) fn release(&mut self, owner: Owner, resource: Resource, woken: &mut Woken) {
        let Entry::Occupied(mut locked) = self.locks.entry(resource) else {
            return;
        };
        let Locked { space, queue } = locked.get_mut();
        debug_assert!(
            queue.awaited(owner).is_empty(),
            "{owner} gives back what it waits for"
        );
        let mut granted = SmallVec::<[Owner; 4]>::new();
        queue.release(space.matrix(), owner, &mut granted);
        if queue.is_free() {
            locked.remove();
        }
        for owner in granted {
            self.grant(owner, resource, woken);
        }
    }

    /// Asks for a change of a quantity.
    pub(crate) fn try_reserve(
        &mut self,
        owner: Owner,
        resource: Resource,
        quantity: Quantity,
        woken: &mut Woken,
    ) -> Reserved {
        let pending = self.pending.entry(resource).or_default();
        let before = pending.reservations.net_of(owner);
        let answer = match pending.reservations.admit(owner, quantity) {
            Admission::Admitted => Reserved::Granted {
                first: before.is_none(),
            },
            Admission::Depends => Reserved::MustWait(Token(pending.decided)),
            Admission::OutOfBounds => Reserved::OutOfBounds,
        };
        if pending.reservations.is_empty() {
            self.pending.remove(&resource);
        }
        // An owner that takes a part of a pending change back decides that part.
        let back = i128::from(quantity.change) * before.unwrap_or(0) < 0;
        if back && matches!(answer, Reserved::Granted { .. }) {
            self.decide(resource, woken);
        }
        answer
    }

    /// Queues a wait for a decision, unless there was one since the token.
    pub(crate) fn enqueue_for_decision(
        &mut self,
        asker: Asker,
        space: &'static LockSpace,
        resource: Resource,
        token: Token,
    ) -> Option<Arc<Parking>> {
        let pending = self.pending.get(&resource)?;
        let transaction = asker.holder.transaction_of();
        pending.reservations.others(transaction).next()?;
        (pending.decided == token.0).then(|| self.wait(asker, space, resource, Wanted::Decision))
    }

    /// Notes a change of a quantity that is made in any case. Returns whether it is the first.
    pub(crate) fn adjust(
        &mut self,
        owner: Owner,
        resource: Resource,
        change: i64,
        woken: &mut Woken,
    ) -> bool {
        let reservations = &mut self.pending.entry(resource).or_default().reservations;
        let first = reservations.net_of(owner).is_none();
        reservations.adjust(owner, change);
        self.decide(resource, woken);
        first
    }

    /// Forgets the pending changes of an owner that has ended.
    pub(crate) fn decided(&mut self, owner: Owner, resource: Resource, woken: &mut Woken) {
        let Some(pending) = self.pending.get_mut(&resource) else {
            return;
        };
        let depended = pending.reservations.release(owner);
        if depended {
            self.decide(resource, woken);
        }
        if let Entry::Occupied(pending) = self.pending.entry(resource)
            && pending.get().reservations.is_empty()
        {
            pending.remove();
        }
    }

    /// Ends a wait with a denial, and takes its request out of the queue.
    pub(crate) fn deny(&mut self, place: usize, denied: Denied, woken: &mut Woken) {
        let wait = self.end_wait(place, Err(denied), woken);
        if matches!(wait.wanted, Wanted::Decision) {
            return;
        }
        let (holder, resource) = (wait.asker.holder, wait.resource);
        // Siblings may wait for the same object, as the same holder.
        let mut rest = Modes::NONE;
        for other in self.waits_of(holder, resource) {
            if let Wanted::Lock { mode, .. } = self.waits[other].wanted {
                rest = rest.union(mode.into());
            }
        }
        let Entry::Occupied(mut locked) = self.locks.entry(resource) else {
            return;
        };
        let queue = &mut locked.get_mut().queue;
        let mut granted = SmallVec::<[Owner; 4]>::new();
        queue.narrow(wait.space.matrix(), holder, rest, &mut granted);
        if queue.is_free() {
            locked.remove();
        }
        for owner in granted {
            self.grant(owner, resource, woken);
        }
    }

    /// A wait, as a part of the graph.
    pub(crate) fn blocked(&self, wait: &Wait) -> Blocked {
        let mut edges = SmallVec::new();
        let any = match wait.wanted {
            Wanted::Lock { .. } => {
                self.edges_of_lock(wait, &mut edges);
                false
            }
            Wanted::Decision => {
                let pending = &self.pending[&wait.resource].reservations;
                let transaction = wait.asker.holder.transaction_of();
                edges.extend(pending.others(transaction).map(|(to, _)| Edge {
                    to,
                    restart_helps: false,
                }));
                true
            }
        };
        Blocked {
            asker: wait.asker,
            any,
            edges,
        }
    }

    /// False if no wait in this shard can be for the transaction or one of its subtransactions. True says only that
    /// one may be: it needs no edges, of which there are many if many threads wait.
    pub(crate) fn is_in_the_way(&self, transaction: Owner) -> bool {
        let mut last = None;
        self.waits.iter().any(|wait| {
            let seen = last.replace(wait.resource) == Some(wait.resource);
            let owner_of = |owner: Owner| transaction.includes(owner);
            match wait.wanted {
                Wanted::Lock { .. } if seen => false,
                Wanted::Lock { .. } => {
                    let queue = &self.locks[&wait.resource].queue;
                    let ahead = queue
                        .waiters()
                        .split_last()
                        .map_or(&[][..], |(_, rest)| rest);
                    queue.holders().iter().any(|holder| owner_of(holder.owner))
                        || ahead.iter().any(|waiter| owner_of(waiter.owner))
                }
                Wanted::Decision => {
                    let pending = &self.pending[&wait.resource].reservations;
                    let mut others = pending.others(wait.asker.holder);
                    others.any(|(owner, _)| owner_of(owner))
                }
            }
        })
    }

    /// The owner's modes of the object.
    pub(crate) fn held(&self, owner: Owner, resource: Resource) -> Modes {
        let locked = self.locks.get(&resource);
        locked.map_or(Modes::NONE, |locked| locked.queue.held(owner))
    }

    /// True if nothing is held, awaited or reserved.
    pub(crate) fn is_empty(&self) -> bool {
        self.locks.is_empty() && self.pending.is_empty() && self.waits.is_empty()
    }

    fn edges_of_lock(&self, wait: &Wait, edges: &mut SmallVec<[Edge; 4]>) {
        let (queue, matrix) = (&self.locks[&wait.resource].queue, wait.space.matrix());
        let waiters = queue.waiters();
        let place = waiters.iter().position(|w| w.owner == wait.asker.holder);
        let place = place.expect("a waiter is in its queue");
        let waiter = waiters[place];
        for holder in queue.holders() {
            if holder.owner != waiter.owner && !matrix.admits(holder.modes, waiter.modes) {
                edges.push(Edge {
                    to: holder.owner,
                    restart_helps: holder.owner.is_subtransaction(),
                });
            }
        }
        for ahead in &waiters[..place] {
            if !matrix.conflict(ahead.modes, waiter.modes) {
                continue;
            }
            // Its request has to end first. A request for a transaction is not ordered to restart
            // for that: it may have no pages, and a conversion would come again in the same place.
            for other in self.waits_of(ahead.owner, wait.resource) {
                edges.push(Edge {
                    to: self.waits[other].asker.waiter,
                    restart_helps: ahead.owner.is_subtransaction(),
                });
            }
            // And then it holds the lock. That edge would appear without any wait beginning, so a
            // cycle through it has to be found now.
            if !ahead.owner.is_subtransaction() && !matrix.admits(ahead.modes, waiter.modes) {
                edges.push(Edge {
                    to: ahead.owner,
                    restart_helps: false,
                });
            }
        }
    }

    /// The places of the waits for a lock on the object for this holder.
    fn waits_of(&self, holder: Owner, resource: Resource) -> impl Iterator<Item = usize> {
        let waits = self.waits.iter().enumerate().filter(move |(_, wait)| {
            wait.resource == resource
                && wait.asker.holder == holder
                && matches!(wait.wanted, Wanted::Lock { .. })
        });
        waits.map(|(place, _)| place)
    }

    fn wait(
        &mut self,
        asker: Asker,
        space: &'static LockSpace,
        resource: Resource,
        wanted: Wanted,
    ) -> Arc<Parking> {
        self.statistics[level(resource)].waits += 1;
        let parking = Arc::new(Parking::default());
        self.waits.push(Wait {
            asker,
            space,
            resource,
            wanted,
            since: Instant::now(),
            parking: parking.clone(),
        });
        parking
    }

    /// Ends all waits of a holder for an object that it holds now.
    fn grant(&mut self, holder: Owner, resource: Resource, woken: &mut Woken) {
        let mut first = true;
        loop {
            let Some(place) = self.waits_of(holder, resource).next() else {
                return;
            };
            let new = matches!(self.waits[place].wanted, Wanted::Lock { new: true, .. });
            let granted = if new && first {
                Granted::New
            } else {
                Granted::More
            };
            first = false;
            self.end_wait(place, Ok(granted), woken);
        }
    }

    /// Ends all waits for a decision on the quantity.
    fn decide(&mut self, resource: Resource, woken: &mut Woken) {
        self.decisions += 1;
        if let Some(pending) = self.pending.get_mut(&resource) {
            pending.decided = self.decisions;
        }
        let waits_here =
            |wait: &Wait| wait.resource == resource && matches!(wait.wanted, Wanted::Decision);
        while let Some(place) = self.waits.iter().position(waits_here) {
            self.end_wait(place, Ok(Granted::Held), woken);
        }
    }

    fn end_wait(&mut self, place: usize, outcome: Outcome, woken: &mut Woken) -> Wait {
        let wait = self.waits.remove(place);
        wait.parking.tell(outcome);
        woken.push(wait.parking.clone());
        wait
    }
}
