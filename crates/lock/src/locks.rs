//! The lock manager of multi-level transactions: all locks, on pages and on objects, and the
//! pending changes of bounded quantities, for many threads.
//!
//! The table is divided into shards with a mutex each. A request that is granted at once, and a release that wakes no
//! thread, take one mutex and no memory. A thread that has to wait parks. Before, it looks for a deadlock, with all
//! shards that have waits locked in order, so its view is exact. It need not look if no other one waits. It has no
//! timers, and no deadlock stays. Cycles close only when a wait begins or when a conversion passes waiting ones, and
//! then [`deadlock::victim`] is called until it finds none.
//!
//! A [`VictimRule`] decides the victim. It may be parked: its request is taken out of the queue and its thread woken
//! with [`Denied`]. When a transaction is ordered to abort, so are all its other waiting subtransactions.
//!
//! Source: DASDBS paper, section 2 (locks of two levels in one manager).

use crate::compatibility::{Mode, Modes};
use crate::deadlock::{self, Blocked, Victim};
use crate::escrow::Quantity;
use crate::owner::{Asker, Denied, Granted, Owner};
use crate::parking::{Outcome, Parking};
use crate::shard::{Shard, Wanted, Woken, level};
use crate::space::{LockSpace, Resource};
use crate::statistics::{LevelStatistics, LocksStatistics};
use crate::victim_rule::VictimRule;
use core::hash::BuildHasher;
use core::time::Duration;
use sardonyx_base::hash::SecretState;
use sardonyx_base::sync::atomic::{AtomicU64, Ordering};
use sardonyx_base::sync::{CacheLine, Mutex, MutexGuard, thread};
use std::time::Instant;

/// Parts of the table, each under a mutex: enough that two threads seldom need the same one, and few enough that
/// the word `waiting` has a bit for each. Models have two, since each mutex multiplies the schedules to explore.
const SHARDS: usize = if cfg!(shuttle) { 2 } else { 64 };

const _: () = assert!(SHARDS <= u64::BITS as usize);

/// The number of times that a subtransaction asks again for a page before it queues. Few pages are locked for more than
/// a microsecond. A thread that queues is parked, and holds the page from the grant until the thread runs again, which
/// takes ten times as long. Meanwhile other threads park for the page: a convoy, which does not dissolve by itself.
const LOOKS: u32 = if cfg!(shuttle) { 0 } else { 20 };

/// Before each of the first so many looks the thread spins. Before the others it yields its processor, perhaps to the
/// holder of the page.
const LOOKS_AWAKE: u32 = 8;

/// All locks of a database.
///
/// ```
/// use sardonyx_lock::{Asker, EXCLUSIVE, Granted, Locks, Owner, PAGES, Resource, SHARED};
///
/// let locks = Locks::new();
/// let asker = |owner| Asker { holder: owner, waiter: owner, age: 1, compensation: false };
/// let one = Owner::transaction(1).subtransaction(1);
/// let other = Owner::transaction(2).subtransaction(1);
/// assert_eq!(locks.request(asker(one), &PAGES, 7, SHARED), Ok(Granted::New));
/// assert_eq!(locks.request(asker(one), &PAGES, 7, EXCLUSIVE), Ok(Granted::More));
/// assert_eq!(locks.try_request(asker(other), &PAGES, 7, SHARED), None);
/// locks.release(one, [Resource { space: PAGES.number(), object: 7 }]);
/// assert_eq!(locks.try_request(asker(other), &PAGES, 7, SHARED), Some(Granted::New));
/// ```
#[derive(Debug)]
pub struct Locks {
    hash: SecretState,
    shards: Box<[CacheLine<Mutex<Shard>>]>,
    /// A bit for each shard with waits, changed within the shard's mutex.
    waiting: AtomicU64,
    /// The time that threads waited for pages and for objects.
    wait_nanoseconds: [AtomicU64; 2],
    victims: VictimRule,
}

/// The answer to a request to change a bounded quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reserved {
    /// The change is admitted, and pending until the transaction ends.
    Granted {
        /// True if it is the transaction's first on the object: to be noted for release.
        first: bool,
    },
    /// The answer depends on the outcome of other transactions. Release the quantity's page, call
    /// [`Locks::wait_for_reservations`], and ask again.
    MustWait(Token),
    /// The bounds are violated in every outcome of the other transactions.
    OutOfBounds,
}

/// The state of a quantity's pending changes at a [`Reserved::MustWait`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token(pub(crate) u64);

/// A waiting thread, as diagnostics show it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Waiting {
    /// The waiting subtransaction, and the owner for which it asks.
    pub asker: Asker,
    /// The name of the object's lock space.
    pub space: &'static str,
    /// The object's number.
    pub object: u64,
    /// The mode asked for; `None` if it waits for the pending changes of a quantity.
    pub mode: Option<Mode>,
    /// It gets the lock after these.
    pub blockers: Vec<Owner>,
    /// The time that it has waited.
    pub waited: Duration,
}

impl Default for Locks {
    fn default() -> Self {
        Locks::new()
    }
}

impl Locks {
    /// No locks; the youngest is the victim of a deadlock.
    pub fn new() -> Locks {
        Locks::with_victims(VictimRule::default())
    }

    /// No locks; the rule chooses the victim of a deadlock.
    pub fn with_victims(victims: VictimRule) -> Locks {
        let shards = (0..SHARDS).map(|_| CacheLine::default());
        Locks {
            hash: SecretState::default(),
            shards: shards.collect(),
            waiting: AtomicU64::new(0),
            wait_nanoseconds: [AtomicU64::new(0), AtomicU64::new(0)],
            victims,
        }
    }

    /// Asks for a lock, and waits until it is granted or denied.
    ///
    /// Several subtransactions may ask for one object for their common transaction at the same time. The transaction is
    /// then one waiter, for all their modes together, and they continue together.
    ///
    /// # Errors
    /// [`Denied`], if it is chosen to end a deadlock. Then none of its requests is granted or queued; it keeps its
    /// earlier locks.
    ///
    /// # Panics
    /// If the space has no such mode.
    pub fn request(
        &self,
        asker: Asker,
        space: &'static LockSpace,
        object: u64,
        mode: Mode,
    ) -> Result<Granted, Denied> {
        let resource = checked(space, object, mode);
        let (place, mut shard) = self.shard(resource);
        shard.statistics[level(resource)].requests += 1;
        let mut looks = if asker.holder.is_subtransaction() {
            LOOKS
        } else {
            0
        };
        loop {
            if let Some(granted) = shard.try_request(asker.holder, space, resource, mode) {
                self.after_grant(shard, asker, resource, granted);
                return Ok(granted);
            }
            if looks == 0 {
                break;
            }
            drop(shard);
            pause(LOOKS - looks);
            looks -= 1;
            shard = self.shard(resource).1;
        }
        let parking = shard.enqueue(asker, space, resource, mode);
        self.wait(place, shard, asker, resource, &parking)
    }

    /// Asks for a lock without waiting: `None`, and nothing has changed, if it would have to.
    ///
    /// # Panics
    /// If the space has no such mode.
    pub fn try_request(
        &self,
        asker: Asker,
        space: &'static LockSpace,
        object: u64,
        mode: Mode,
    ) -> Option<Granted> {
        let resource = checked(space, object, mode);
        let (_, mut shard) = self.shard(resource);
        shard.statistics[level(resource)].requests += 1;
        let granted = shard.try_request(asker.holder, space, resource, mode)?;
        self.after_grant(shard, asker, resource, granted);
        Some(granted)
    }

    /// Releases the owner's locks on these objects, and ignores objects that it has not locked. No thread of the owner
    /// may wait for one of them.
    pub fn release(&self, owner: Owner, resources: impl IntoIterator<Item = Resource>) {
        for resource in resources {
            self.change(resource, |shard, woken| {
                shard.release(owner, resource, woken);
            });
        }
    }

    /// Asks for a change of a bounded quantity, for a transaction (or for that of a subtransaction).
    /// [`Locks::release_reservations`] ends it. The caller holds the quantity's page exclusively and, if the change is
    /// granted, makes it before releasing the page. If the subtransaction fails after all, the page's bytes are put
    /// back together with [`Locks::adjust_reservation`] by the opposite.
    pub fn try_reserve(
        &self,
        owner: Owner,
        space: &'static LockSpace,
        object: u64,
        quantity: Quantity,
    ) -> Reserved {
        let resource = resource(space, object);
        let owner = owner.transaction_of();
        self.change(resource, |shard, woken| {
            shard.statistics[level(resource)].requests += 1;
            shard.try_reserve(owner, resource, quantity, woken)
        })
    }

    /// Waits until a pending change of another transaction has ended since the token was given. Then it makes sense to
    /// look at the quantity again. Returns at once if it has already.
    ///
    /// # Errors
    /// [`Denied`], if it is chosen to end a deadlock.
    pub fn wait_for_reservations(
        &self,
        asker: Asker,
        space: &'static LockSpace,
        object: u64,
        token: Token,
    ) -> Result<(), Denied> {
        let resource = resource(space, object);
        let (place, mut shard) = self.shard(resource);
        match shard.enqueue_for_decision(asker, space, resource, token) {
            Some(parking) => {
                let outcome = self.wait(place, shard, asker, resource, &parking);
                outcome.map(|_| ())
            }
            None => Ok(()),
        }
    }

    /// Notes a change of a quantity that is made in any case: by a compensation, or by undoing a failed
    /// subtransaction. The caller holds the quantity's page exclusively. Returns true if it is the transaction's first
    /// on the object, to be noted for release.
    pub fn adjust_reservation(
        &self,
        owner: Owner,
        space: &'static LockSpace,
        object: u64,
        change: i64,
    ) -> bool {
        let resource = resource(space, object);
        let owner = owner.transaction_of();
        self.change(resource, |shard, woken| {
            shard.adjust(owner, resource, change, woken)
        })
    }

    /// Forgets the pending changes of a transaction that has ended; objects without one are passed over.
    pub fn release_reservations(&self, owner: Owner, on: impl IntoIterator<Item = Resource>) {
        let owner = owner.transaction_of();
        for resource in on {
            self.change(resource, |shard, woken| {
                shard.decided(owner, resource, woken);
            });
        }
    }

    /// The owner's modes of an object.
    pub fn held(&self, owner: Owner, space: &'static LockSpace, object: u64) -> Modes {
        let resource = resource(space, object);
        self.shard(resource).1.held(owner, resource)
    }

    /// True if no lock is held or awaited, and no change of a quantity is pending.
    pub fn is_empty(&self) -> bool {
        self.shards.iter().all(|shard| shard.lock().is_empty())
    }

    /// Counts since the table was made. Threads that go on meanwhile may be counted in part.
    pub fn statistics(&self) -> LocksStatistics {
        let mut sums = [LevelStatistics::default(); 2];
        for shard in &self.shards {
            for (sum, part) in sums.iter_mut().zip(shard.lock().statistics) {
                sum.requests += part.requests;
                sum.waits += part.waits;
                sum.restarts += part.restarts;
                sum.aborts += part.aborts;
            }
        }
        for (sum, waited) in sums.iter_mut().zip(&self.wait_nanoseconds) {
            sum.wait_time = Duration::from_nanos(waited.load(Ordering::Relaxed));
        }
        let [pages, objects] = sums;
        LocksStatistics { pages, objects }
    }

    /// The present waits, in order of the waiters.
    pub fn waiting(&self) -> Vec<Waiting> {
        let now = Instant::now();
        let mut all = Vec::new();
        for (_, shard) in self.shards_with_waits() {
            all.extend(shard.waits.iter().map(|wait| Waiting {
                asker: wait.asker,
                space: wait.space.name(),
                object: wait.resource.object,
                mode: match wait.wanted {
                    Wanted::Lock { mode, .. } => Some(mode),
                    Wanted::Decision => None,
                },
                blockers: blockers(&shard.blocked(wait)),
                waited: now.saturating_duration_since(wait.since),
            }));
        }
        all.sort_by_key(|waiting| waiting.asker.waiter);
        all
    }

    /// The shard of an object, and its place.
    fn shard(&self, resource: Resource) -> (usize, MutexGuard<'_, Shard>) {
        let hash = self.hash.hash_one(resource);
        // Other bits than those by which the shard's maps find it.
        let place = (hash >> 32) as usize % SHARDS;
        (place, self.shards[place].lock())
    }

    /// The shards with waits, all locked. If a thread begins to wait in another one meanwhile, it sees these waits when
    /// it looks itself.
    fn shards_with_waits(&self) -> Vec<(usize, MutexGuard<'_, Shard>)> {
        let waiting = self.waiting.load(Ordering::SeqCst);
        let places = (0..SHARDS).filter(|place| waiting >> place & 1 == 1);
        places
            .map(|place| (place, self.shards[place].lock()))
            .collect()
    }

    /// Does something that may end waits in an object's shard.
    fn change<R>(&self, resource: Resource, body: impl FnOnce(&mut Shard, &mut Woken) -> R) -> R {
        let mut woken = Woken::new();
        let (place, mut shard) = self.shard(resource);
        let result = body(&mut shard, &mut woken);
        if woken.is_empty() {
            return result;
        }
        self.note_end_of_waits(place, &shard);
        drop(shard);
        wake(woken);
        result
    }

    fn note_end_of_waits(&self, place: usize, shard: &Shard) {
        if shard.waits.is_empty() {
            self.waiting.fetch_and(!(1 << place), Ordering::SeqCst);
        }
    }

    /// A conversion that passes waiters can close a cycle through a sibling that waits.
    fn after_grant(
        &self,
        shard: MutexGuard<'_, Shard>,
        asker: Asker,
        resource: Resource,
        granted: Granted,
    ) {
        let passed = !asker.holder.is_subtransaction() && shard.passed_somebody(resource, granted);
        drop(shard);
        if passed {
            self.end_deadlocks(asker.holder);
        }
    }

    /// Waits for the outcome of a request that was queued in this shard.
    fn wait(
        &self,
        place: usize,
        shard: MutexGuard<'_, Shard>,
        asker: Asker,
        resource: Resource,
        parking: &Parking,
    ) -> Outcome {
        let begun = Instant::now();
        // Of two that begin to wait, the second one here sees the first.
        let before = self.waiting.fetch_or(1 << place, Ordering::SeqCst);
        let others = before & !(1 << place) != 0 || shard.waits.len() > 1;
        drop(shard);
        if others {
            self.end_deadlocks(asker.waiter.transaction_of());
        }
        let outcome = parking.wait();
        let waited = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.wait_nanoseconds[level(resource)].fetch_add(waited, Ordering::Relaxed);
        outcome
    }

    /// Denies waits until all others can end. A cycle can only have arisen through `transaction`.
    fn end_deadlocks(&self, transaction: Owner) {
        let mut woken = Woken::new();
        let mut shards = self.shards_with_waits();
        while let Some((victim, denied)) = find_victim(&shards, transaction, self.victims) {
            let of_victim = |asker: &Asker| match denied {
                Denied::Deadlock if !victim.compensation => {
                    let transaction = victim.waiter.transaction_of();
                    transaction.includes(asker.waiter) && !asker.compensation
                }
                _ => asker.waiter == victim.waiter,
            };
            let mut counted = false;
            for (_, shard) in &mut shards {
                while let Some(place) = shard.waits.iter().position(|w| of_victim(&w.asker)) {
                    let wait = &shard.waits[place];
                    if !counted && wait.asker.waiter == victim.waiter {
                        counted = true;
                        let level = level(wait.resource);
                        match denied {
                            Denied::Restart => shard.statistics[level].restarts += 1,
                            Denied::Deadlock => shard.statistics[level].aborts += 1,
                        }
                    }
                    shard.deny(place, denied, &mut woken);
                }
            }
        }
        for (place, shard) in &shards {
            self.note_end_of_waits(*place, shard);
        }
        drop(shards);
        wake(woken);
    }
}

fn wake(woken: Woken) {
    for parking in woken {
        parking.wake();
    }
}

/// Lets some time pass before a subtransaction looks again, the nth time from 0.
fn pause(nth: u32) {
    if nth < LOOKS_AWAKE {
        (0..4).for_each(|_| core::hint::spin_loop());
    } else {
        thread::yield_now();
    }
}

/// The waits to deny, and the denial; `None` without a deadlock.
fn find_victim(
    shards: &[(usize, MutexGuard<'_, Shard>)],
    transaction: Owner,
    rule: VictimRule,
) -> Option<(Asker, Denied)> {
    // Most waits are for a running owner, and a newly waiting one is not waited for. That is seen sooner than all edges
    // are found.
    let in_the_way = |(_, shard): &(usize, MutexGuard<'_, Shard>)| shard.is_in_the_way(transaction);
    if !shards.iter().any(in_the_way) {
        return None;
    }
    let mut waits: Vec<Blocked> = Vec::new();
    for (_, shard) in shards {
        waits.extend(shard.waits.iter().map(|wait| shard.blocked(wait)));
    }
    let awaited = |wait: &Blocked| {
        let mut edges = wait.edges.iter();
        edges.any(|edge| transaction.includes(edge.to))
    };
    if !waits.iter().any(awaited) {
        return None;
    }
    waits.sort_by_key(|wait| wait.asker.waiter);
    let Victim { place, denied } = deadlock::victim(&waits, transaction, rule)?;
    Some((waits[place].asker, denied))
}

fn blockers(blocked: &Blocked) -> Vec<Owner> {
    let mut owners: Vec<Owner> = blocked.edges.iter().map(|edge| edge.to).collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

fn resource(space: &'static LockSpace, object: u64) -> Resource {
    Resource {
        space: space.number(),
        object,
    }
}

fn checked(space: &'static LockSpace, object: u64, mode: Mode) -> Resource {
    assert!(
        usize::from(mode.0) < space.matrix().modes(),
        "the lock space {:?} has no mode {}",
        space.name(),
        mode.0
    );
    resource(space, object)
}
