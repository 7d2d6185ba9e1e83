//! The time for which a host serves: signs to the others, and the lease under which it answers.

use super::register::{clear, is_damage, put, replace};
use super::{DOUBTS_MAX, DurableAt, Host, RemoteLog};
use crate::clock::now;
use crate::{Error, Options, Tables};
use sardonyx_base::events;
use sardonyx_base::seldom::Seldom;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_storage::engine::Permit;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::primary::{Duty, Pace, Term as Record};
use sardonyx_storage::remote_log::store::{Register, StoreError, StoredRegister, Swapped};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex as StdMutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time for which this host serves: it gives signs to the others until it is released or dropped.
#[derive(Debug)]
pub struct Term {
    options: Options,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// The state of a term, by which the host acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TermState {
    /// It has its lease: it answers.
    Serves,
    /// The lease has run out, and no other host is known to have taken over: it answers nothing. It serves again if it can
    /// give a sign before another takes over; the database may stay open.
    Waits,
    /// Another host is wanted: the database is to be closed, and the term released.
    HandsOver,
    /// Another host serves, or the register stays damaged: the database is to be closed. Where another host serves,
    /// nothing more becomes durable.
    Over,
}

/// The lease of a host, for threads that answer its clients: a cheap check.
#[derive(Clone, Debug)]
pub struct TermLease(Arc<Lease>);

#[derive(Debug)]
struct Lease {
    began: Instant,
    /// In nanoseconds since then; 0: no lease.
    until: AtomicU64,
}

#[derive(Debug)]
struct Shared {
    remote: RemoteLog,
    record: Mutex<Record>,
    lease: Arc<Lease>,
    ended: AtomicBool,
    changed: Changed,
    looks: Looks,
}

/// Wakes a thread that waits for an answer of the store, or for the end of the term.
#[derive(Debug, Default)]
struct Looks {
    /// The number of waiting threads. A thread asks while it has this, so that no look ends unnoticed.
    waiting: StdMutex<usize>,
    ended: Condvar,
}

impl Looks {
    fn ask(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a look, a sign, or the end of the term.
    fn notify(&self) {
        drop(self.ask());
        self.ended.notify_all();
    }

    /// Waits for the next of these, at most so long.
    fn wait<'a>(
        &'a self,
        mut asking: MutexGuard<'a, usize>,
        most: Duration,
    ) -> MutexGuard<'a, usize> {
        *asking += 1;
        let waited = self.ended.wait_timeout(asking, most);
        let mut asking = waited.unwrap_or_else(PoisonError::into_inner).0;
        *asking -= 1;
        asking
    }
}

/// The call at each change of a term's state.
#[derive(Default)]
struct Changed {
    call: Mutex<Option<Box<dyn Fn() + Send>>>,
    /// A lease that had run out began anew since the last report. Others may have seen its end, which is a moment.
    anew: AtomicBool,
}

impl std::fmt::Debug for Changed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Changed")
    }
}

impl TermLease {
    /// True if no other host serves at this moment. Data read before this call was the newest.
    pub fn is_held(&self) -> bool {
        let passed = now().saturating_duration_since(self.0.began);
        passed.as_nanos() < u128::from(self.0.until.load(Ordering::SeqCst))
    }

    /// The time for which this host may still answer if no further sign reaches the store; zero: it may not answer.
    pub fn left(&self) -> Duration {
        let passed = now().saturating_duration_since(self.0.began);
        Duration::from_nanos(self.0.until.load(Ordering::SeqCst)).saturating_sub(passed)
    }
}

impl Lease {
    fn set(&self, until: Option<Instant>) {
        let lasts = until.map(|until| until.saturating_duration_since(self.began).as_nanos());
        let lasts = lasts.map_or(0, |lasts| u64::try_from(lasts).unwrap_or(u64::MAX));
        self.until.store(lasts, Ordering::SeqCst);
    }
}

impl Term {
    pub(super) fn begin(host: &Host, record: Record, mut options: Options) -> Result<Term, Error> {
        let lease = Lease {
            began: now(),
            until: AtomicU64::new(0),
        };
        lease.set(record.lease_until());
        let shared = Arc::new(Shared {
            remote: host.remote.clone(),
            record: Mutex::new(record),
            lease: Arc::new(lease),
            ended: AtomicBool::new(false),
            changed: Changed::default(),
            looks: Looks::default(),
        });
        let pace = Pace::new(host.remote.store.is_near(), host.host.wait);
        let (renewing, asked) = (shared.clone(), shared.clone());
        options.storage.permit = Permit::asking(move || asked.may_take_log());
        let thread = thread::Builder::new()
            .name("sardonyx-term".into())
            .spawn(move || {
                let _ends_with_a_panic = EndsWithPanic(&renewing);
                renewing.renew(pace);
            })
            .map_err(|error| Error::System(error.into()))?;
        Ok(Term {
            options,
            shared,
            thread: Some(thread),
        })
    }

    /// The options for opening the database.
    pub fn options(&self) -> Options {
        self.options.clone()
    }

    /// The next act of this host.
    pub fn state(&self) -> TermState {
        self.shared.state()
    }

    /// Has this called at each change of the state that a look at the register finds, on the thread that looks.
    pub fn on_change(&self, changed: impl Fn() + Send + 'static) {
        let mut called = self.shared.changed.call.lock();
        // The thread may have found a change before.
        if self.is_over() {
            changed();
        }
        *called = Some(Box::new(changed));
    }

    /// True if the database is to be closed: another host serves or is wanted, or this one could give no sign for too
    /// long.
    pub fn is_over(&self) -> bool {
        self.state() != TermState::Serves
    }

    /// True if no other host serves at this moment. Data read before this call was the newest.
    pub fn has_lease(&self) -> bool {
        self.lease().is_held()
    }

    /// The same question, for others to ask.
    pub fn lease(&self) -> TermLease {
        TermLease(self.shared.lease.clone())
    }

    /// Closes the database of this term, and lets another host serve as soon as that one needs nothing more of this
    /// directory: before the end of the close where each acknowledged transaction is in the store. If the close then takes
    /// 10 s longer than the store's patience ([`RemoteLog::patience`]), this host gives no signs any more, and another one
    /// takes over. With [`DurableAt::Local`] the others wait until the store has everything.
    ///
    /// # Errors
    /// As [`Tables::close`]. Another host may serve all the same.
    pub fn close(self, tables: &Tables) -> Result<(), Error> {
        self.shared.closes();
        tables.close_then(move || self.release())
    }

    /// As [`Term::close`]; this host serves again only if no other one comes.
    ///
    /// # Errors
    /// As [`Term::close`].
    pub fn close_to_others(self, tables: &Tables) -> Result<(), Error> {
        self.shared.closes();
        tables.close_then(move || self.release_to_others())
    }

    /// Lets another host serve at once. The database should be closed.
    pub fn release(self) {
        self.end(false);
    }

    /// As [`Term::release`]; this host serves again only if no other one comes.
    pub fn release_to_others(self) {
        self.end(true);
    }

    fn end(mut self, to_others: bool) {
        self.stop();
        if let Err(error) = self.shared.release(to_others) {
            events::warn!(%error, "the others wait for the lease to run out");
        }
    }

    fn stop(&mut self) {
        self.shared.ended.store(true, Ordering::SeqCst);
        self.shared.looks.notify();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // If it panicked, the term was over.
            let _ = thread.join();
        }
        // The directory is free, if it was not opened, although the options may still be held.
        if let Some(kept) = &self.options.storage.kept {
            kept.let_go();
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Ends the term if the thread that gives signs panics: the host would wait for its lease without end.
struct EndsWithPanic<'a>(&'a Shared);

impl Drop for EndsWithPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.give_up();
            events::error!("the thread that gives signs panicked: this host's term is over");
        }
    }
}

/// Logs that there is a lease again, if its loss was logged.
fn lease_is_there(lost: &mut Seldom) {
    if lost.end() {
        events::warn!("this host has its lease again, and serves");
    }
}

impl Shared {
    /// The body of the thread that gives signs, and looks between them whether another host is wanted.
    fn renew(&self, mut pace: Pace) {
        let (mut silent, mut lost) = (Seldom::default(), Seldom::default());
        let (mut doubts, mut before) = (0, TermState::Serves);
        while !self.ended.load(Ordering::SeqCst) {
            let duty = self.record.lock().duty(now());
            let done = match duty {
                Duty::Nothing => self.look(&mut silent),
                Duty::Renew => self.sign(&mut silent),
                Duty::Over => {
                    events::warn!("this host's term is over: another one serves");
                    self.tell_of_change(&mut before);
                    self.looks.notify();
                    return;
                }
            };
            doubts = match &done {
                // Also a register that was restored from an older state, or another one at the place.
                Err(RemoteLogError::Store(StoreError::Setup { .. })) => doubts + 1,
                Err(error) if is_damage(error) => doubts + 1,
                _ => 0,
            };
            pace.asked(matches!(done, Ok(true)));
            match done {
                Ok(_) => {}
                // While there is a lease, a damaged entry may be whole the next time.
                Err(error) if doubts > DOUBTS_MAX && !self.has_lease() => {
                    self.give_up();
                    events::error!(%error, "the register stays unusable: this host's term is over");
                    return;
                }
                Err(error) if silent.is_due(Instant::now()) => {
                    events::warn!(%error, "this host could give no sign");
                }
                Err(_) => {}
            }
            self.tell_of_lease(&mut lost);
            self.tell_of_change(&mut before);
            self.looks.notify();
            thread::park_timeout(pace.of_serving());
        }
    }

    fn state(&self) -> TermState {
        let record = self.record.lock();
        let now = now();
        if record.duty(now) == Duty::Over {
            TermState::Over
        } else if record.wanted().is_some() {
            TermState::HandsOver
        } else if record.lease_until().is_some_and(|until| now < until) {
            TermState::Serves
        } else {
            TermState::Waits
        }
    }

    /// Reports a change of the state since the last call.
    fn tell_of_change(&self, before: &mut TermState) {
        let (anew, state) = (
            self.changed.anew.swap(false, Ordering::SeqCst),
            self.state(),
        );
        if (std::mem::replace(before, state) != state || anew)
            && let Some(changed) = &*self.changed.call.lock()
        {
            changed();
        }
    }

    fn has_lease(&self) -> bool {
        let until = self.record.lock().lease_until();
        until.is_some_and(|until| now() < until)
    }

    /// The database is being closed. If the directory alone makes transactions durable, the close sends the rest of them to
    /// the store.
    fn closes(&self) {
        let sends_rest = self.remote.durable_at == DurableAt::Local;
        let patience = self.remote.patience.time_limit;
        self.record.lock().closes(now(), patience, sends_rest);
    }

    /// True if this host may take the log now, which it claimed the register for. While the lease has run out, that is not
    /// known before the next sign: perhaps this process was stopped, and another host serves.
    fn may_take_log(&self) -> bool {
        let patience = self.remote.patience.time_limit;
        let began = Instant::now();
        let mut asking = self.looks.ask();
        loop {
            // No thread asks for the lease of a term that was released.
            if self.ended.load(Ordering::SeqCst) {
                return false;
            }
            if self.has_lease() {
                return true;
            }
            let left = patience.saturating_sub(began.elapsed());
            if self.state() == TermState::Over || left.is_zero() {
                return false;
            }
            asking = self.looks.wait(asking, left);
        }
    }

    /// Ends the term, though no other host is known to serve.
    fn give_up(&self) {
        // As everywhere, the lease changes under the record's lock: a term that is over has none.
        let mut record = self.record.lock();
        record.give_up();
        self.lease.set(None);
        drop(record);
        self.looks.notify();
        if let Some(changed) = &*self.changed.call.lock() {
            changed();
        }
    }

    /// Logs the end of the lease, and its return.
    fn tell_of_lease(&self, lost: &mut Seldom) {
        let (now, until) = (now(), self.record.lock().lease_until());
        match until {
            Some(until) if until > now => lease_is_there(lost),
            Some(_) if lost.is_due(now) => events::warn!(
                "this host's lease has run out: it acknowledges nothing until the store answers, or another host serves"
            ),
            _ => {}
        }
    }

    fn stored(
        &self,
        silent: &mut Seldom,
    ) -> Result<Option<Option<StoredRegister>>, RemoteLogError> {
        let stored = clear(self.remote.store.read_register(Register::Primary), silent)?;
        if stored.is_some() {
            silent.end();
        }
        Ok(stored)
    }

    /// Looks whether another host is wanted, or serves. Returns whether the store answered.
    fn look(&self, silent: &mut Seldom) -> Result<bool, RemoteLogError> {
        let Some(stored) = self.stored(silent)? else {
            return Ok(false);
        };
        let mut record = self.record.lock();
        let looked = record.looked(stored.as_ref());
        self.lease.set(record.lease_until());
        looked.map(|()| true)
    }

    /// Gives a sign. A lease that has run out begins anew with it. Returns whether the store answered.
    fn sign(&self, silent: &mut Seldom) -> Result<bool, RemoteLogError> {
        let asked = now();
        let Some(stored) = self.stored(silent)? else {
            return Ok(false);
        };
        let found = {
            let mut record = self.record.lock();
            let found = record.found(stored.as_ref());
            self.lease.set(record.lease_until());
            found?
        };
        let Some(replacement) = found else {
            return Ok(true);
        };
        let swapped = put(&self.remote, &replacement, silent)?;
        if swapped == Some(Swapped::Ok) {
            let mut record = self.record.lock();
            if record.lease_until().is_some_and(|until| until <= now()) {
                self.changed.anew.store(true, Ordering::SeqCst);
            }
            record.renewed(asked);
            self.lease.set(record.lease_until());
        }
        Ok(swapped.is_some())
    }

    /// Records the end of the term, unless another host has the register.
    fn release(&self, to_others: bool) -> Result<(), Error> {
        self.lease.set(None);
        replace(&self.remote, |stored, _| {
            let found = self.record.lock().found(stored)?;
            Ok(found.map(|found| Record::release(found, to_others)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::silent::Silent;
    use super::*;
    use sardonyx_storage::remote_log::primary::Primary;
    use sardonyx_storage::remote_log::shell::Patience;
    use sardonyx_storage::remote_log::store::RemoteStore;

    /// Longer than any pause of the machine within a test.
    const WAIT: Duration = Duration::from_secs(3600);
    /// For so long the store is asked.
    const PATIENCE: Duration = Duration::from_secs(12 * 3600);

    fn record() -> Primary {
        Primary {
            identity: 7,
            host: "host-1".into(),
            process: 1,
            count: 1,
            wait: WAIT,
            released: false,
            wanted: None,
        }
    }

    /// A host of this record, which the store has, with a lease that began at this moment.
    fn serving(store: &Arc<Silent>, durable_at: DurableAt, began: Instant) -> Shared {
        let text = record().encode();
        let put = store.swap_register(Register::Primary, None, text.as_bytes());
        assert_eq!(put.unwrap(), Swapped::Ok);
        let lease = Lease {
            began: now(),
            until: AtomicU64::new(0),
        };
        Shared {
            remote: RemoteLog {
                durable_at,
                patience: Patience {
                    time_limit: PATIENCE,
                    ..Patience::default()
                },
                ..RemoteLog::new(store.clone())
            },
            record: Mutex::new(Record::new(record(), began)),
            lease: Arc::new(lease),
            ended: AtomicBool::new(false),
            changed: Changed::default(),
            looks: Looks::default(),
        }
    }

    #[test]
    fn a_host_that_serves_knows_whether_the_store_answered_its_look_or_its_sign() {
        let store = Arc::new(Silent::default());
        let shared = serving(&store, DurableAt::Both, now());
        let mut silent = Seldom::default();
        for answers in [true, false, true] {
            store.be_silent(!answers);
            assert_eq!(shared.look(&mut silent).unwrap(), answers);
            assert_eq!(shared.sign(&mut silent).unwrap(), answers);
        }
    }

    #[test]
    fn a_lease_that_ran_out_and_began_anew_between_two_looks_is_reported() {
        let shared = serving(&Arc::default(), DurableAt::Both, now() - WAIT);
        let calls = Arc::new(AtomicU64::new(0));
        let called = calls.clone();
        let call = move || {
            called.fetch_add(1, Ordering::SeqCst);
        };
        *shared.changed.call.lock() = Some(Box::new(call));
        // So it was when the thread looked last.
        let mut before = TermState::Serves;
        assert!(shared.sign(&mut Seldom::default()).unwrap());
        for _ in 0..2 {
            shared.tell_of_change(&mut before);
            assert_eq!(calls.load(Ordering::SeqCst), 1);
        }
    }

    #[test]
    fn a_host_that_closes_gives_signs_for_long_only_if_it_sends_the_rest_of_the_log() {
        let cases = [
            (DurableAt::Both, Duty::Nothing),
            (DurableAt::Remote, Duty::Nothing),
            (DurableAt::Local, Duty::Renew),
        ];
        for (durable_at, after_patience) in cases {
            let shared = serving(&Arc::default(), durable_at, now());
            shared.closes();
            let duty = |later| shared.record.lock().duty(now() + later);
            assert_eq!(duty(WAIT / 4), Duty::Renew, "{durable_at:?}");
            assert_eq!(duty(2 * PATIENCE), after_patience, "{durable_at:?}");
        }
    }

    #[test]
    fn a_host_without_a_lease_takes_the_log_when_its_sign_arrives_and_not_after_the_term() {
        type End = fn(&Shared);
        let ends: [(End, bool); 3] = [
            (|shared| drop(shared.sign(&mut Seldom::default())), true),
            (Shared::give_up, false),
            (|shared| shared.ended.store(true, Ordering::SeqCst), false),
        ];
        for (end, may_take) in ends {
            // It has run out, as of a process that was stopped.
            let shared = serving(&Arc::default(), DurableAt::Both, now() - WAIT);
            thread::scope(|scope| {
                let asks = scope.spawn(|| shared.may_take_log());
                while *shared.looks.ask() == 0 {
                    assert!(!asks.is_finished(), "it does not wait");
                    thread::yield_now();
                }
                end(&shared);
                shared.looks.notify();
                assert_eq!(asks.join().unwrap(), may_take);
            });
        }
    }
}
