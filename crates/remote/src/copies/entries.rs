//! The log on several places: appending as the writer, reading from the end of the chain.

use super::Copies;
use super::chain::{Along, Broken, Item};
use super::ends::Ends;
use super::keeper::{Replaced, View};
use super::life::Life;
use super::members::Wait;
use super::planted::{self, Planted};
use super::record::SetRecord;
use super::witness::{confirm, tell};
use sardonyx_base::events;
use sardonyx_base::sync::MutexGuard;
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::sync::Arc;

/// The number of times that a call continues with a set that has changed meanwhile.
pub(super) const ATTEMPTS: u32 = 16;

/// The knowledge of this process as the one that appends. The thread that holds its lock appends, or changes the register.
#[derive(Debug, Default)]
pub(super) struct Tenure {
    /// The state on which appends go. None: it is to be taken, since another process may append by now, or the fate of
    /// the last replacement is not known.
    pub view: Option<Arc<View>>,
    /// An entry of this process is on all copies since it became the writer, so those before it are fenced.
    pub is_settled: bool,
    /// The last number that is on all copies, as far as this process knows.
    pub complete: u64,
    /// The state that each copy of its set has recorded ([`witness`](super::witness)).
    pub told: Option<Arc<View>>,
}

impl Tenure {
    /// Forgets its state, unless it is good for this number: the next one after the last that is on all copies, while
    /// no other writer was seen ([`super`], rule 3). A process that claims the log again has read others' entries, and
    /// the set of its last append may be an old one.
    fn renew_for(&mut self, number: u64, seen: &View) {
        self.renew(seen);
        if number != self.complete + 1 && !planted::is(Planted::TenureKept) {
            self.view = None;
        }
    }

    /// Forgets its state if another writer was seen since.
    pub fn renew(&mut self, seen: &View) {
        let is_newer = |view: &Arc<View>| {
            let (view, seen) = (&view.record, &seen.record);
            seen.generation > view.generation && seen.writer != view.writer
        };
        if self.view.as_ref().is_some_and(is_newer) && !planted::is(Planted::TenureKept) {
            self.view = None;
        }
    }

    /// Its state, if it may let copies in.
    pub fn settled(&self, writer: u64) -> Option<&Arc<View>> {
        let is_settled = self.is_settled || planted::is(Planted::JoinedBeforeFence);
        let is_writer =
            |view: &&Arc<View>| view.record.writer == writer || planted::is(Planted::NoWriter);
        self.view.as_ref().filter(is_writer).filter(|_| is_settled)
    }
}

/// The outcome of a process' wish to become the writer.
enum Taken {
    View(Arc<View>),
    /// An entry exists already.
    There,
}

impl Copies {
    /// Makes this process the writer, unless copies have lost entries ([`ends`](super::ends)).
    fn take(&self, tenure: &mut Tenure, number: u64) -> Result<Taken, StoreError> {
        for _ in 0..ATTEMPTS {
            let view = self.look()?;
            if view.record.writer != self.process {
                // A process that was superseded finds its successor's fence, and does not disturb it.
                if matches!(self.read(number), Ok(Some(_))) {
                    return Ok(Taken::There);
                }
                tenure.is_settled = false;
            }
            let view = match planted::is(Planted::TakenWithoutAsking) {
                true => view,
                false => self.confirm(&view, None)?,
            };
            if planted::is(Planted::NoWriter) {
                tenure.view = Some(view.clone());
                return Ok(Taken::View(view));
            }
            let complete = match self.compare_ends(&view, number)? {
                Ends::Agree { complete } => complete,
                Ends::Changed => continue,
                // If the others are away for the next host, it knows the end that this copy lacks.
                Ends::Lacks(broken, complete) => {
                    let without = self.without(&view, &broken, complete)?;
                    self.leave_out(&view, &without, &broken)?;
                    continue;
                }
            };
            let taken = view.record.taken(self.process).complete_up_to(complete);
            if let Replaced::Done(view) = self.replace(&view, &taken)? {
                tenure.view = Some(view.clone());
                return Ok(Taken::View(view));
            }
        }
        Err(self.changes("become the writer"))
    }

    /// The register with which the copies agree ([`confirm`]). If they do not, this process appends nothing any more.
    ///
    /// # Errors
    /// [`confirm`]'s.
    pub(super) fn confirm(
        &self,
        view: &Arc<View>,
        except: Option<&str>,
    ) -> Result<Arc<View>, StoreError> {
        let confirmed = confirm(&self.keeper, &self.members, view, except);
        self.refuse(confirmed)
    }

    /// Ends the appends of this process if it is shown that the keeper's register is an older one, or of another line.
    pub(super) fn refuse<T>(&self, found: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error @ StoreError::Setup { .. }) = &found {
            let mut refused = self.refused.lock();
            if refused.is_none() {
                events::error!(%error, "the register of the copies is refused");
                *refused = Some(error.clone());
            }
        }
        found
    }

    /// Tells the copies in the set of this state, unless they know it.
    pub(super) fn tell(&self, tenure: &mut Tenure, view: &Arc<View>) -> Result<(), Broken> {
        // A restored keeper can have another state of the same generation.
        let is_told = |told: &Arc<View>| told.record == view.record;
        if tenure.told.as_ref().is_some_and(is_told) || planted::is(Planted::NotTold) {
            return Ok(());
        }
        for copy in view.record.in_sync() {
            let tell = |member: &Life| tell(member.place_itself(), &view.record);
            self.in_time(view, copy, Wait::Short, tell)
                .map_err(|error| Broken {
                    place: copy.place.clone(),
                    error,
                    differs: false,
                })?;
        }
        tenure.told = Some(view.clone());
        Ok(())
    }

    /// Replaces a state of the register, and notes its state then.
    pub(super) fn replace(&self, view: &View, record: &SetRecord) -> Result<Replaced, StoreError> {
        let replaced = self.keeper.replace(Some(&view.version), record)?;
        let (Replaced::Done(there) | Replaced::Other(there)) = &replaced;
        self.note(there);
        Ok(replaced)
    }

    /// The error of a call during which the set changed again and again.
    pub(super) fn changes(&self, what: &str) -> StoreError {
        StoreError::NotNow {
            what: what.into(),
            place: self.place(),
            reason: "the set of copies changes all the time".into(),
        }
    }

    /// True if this process may exclude a copy that does not answer a read: the process is no reading tool, and the
    /// error is not one of its own settings.
    pub(super) fn may_leave_out(&self, error: &StoreError) -> bool {
        self.changes_copies && !matches!(error, StoreError::Setup { .. })
    }

    /// The set of this state without a copy, unless that is the last one, or no other one answers. Any process that
    /// finds a copy silent may ask for that: a smaller set has all entries of the larger one.
    ///
    /// # Errors
    /// The copy's, if it stays.
    pub(super) fn without(
        &self,
        view: &View,
        broken: &Broken,
        complete: u64,
    ) -> Result<SetRecord, StoreError> {
        let place = &broken.place;
        let stays = || self.as_of_the_set(broken.error.clone());
        let record = match view.record.without(place, complete, now()) {
            Some(record) if broken.differs => record.distrusting(place),
            Some(record) => record,
            None => return Err(stays()),
        };
        // Without the others, one that was restored would be the whole log.
        let answers = |copy| self.has_recorded(&record, copy).unwrap_or(false);
        let is_usable = record.in_sync().any(answers);
        is_usable.then_some(record).ok_or_else(stays)
    }

    /// Replaces a state by the one without a copy ([`Copies::without`]).
    ///
    /// # Errors
    /// The keeper's.
    pub(super) fn leave_out(
        &self,
        view: &Arc<View>,
        without: &SetRecord,
        broken: &Broken,
    ) -> Result<Replaced, StoreError> {
        let confirmed = self.confirm(view, Some(&broken.place))?;
        if confirmed.version != view.version {
            return Ok(Replaced::Other(confirmed));
        }
        let replaced = self.replace(view, without)?;
        if let Replaced::Done(_) = &replaced {
            let (copy, reason) = (&broken.place, broken.error.to_string());
            events::warn!(%copy, reason, "a copy of the log is left out of the set");
        }
        Ok(replaced)
    }

    /// Another copy may accept a request that one refuses, so only an error of the whole set is final.
    pub(super) fn as_of_the_set(&self, error: StoreError) -> StoreError {
        match error.is_unclear() {
            true => error,
            false => StoreError::NotNow {
                what: "use a copy".into(),
                place: self.place(),
                reason: error.to_string(),
            },
        }
    }

    fn append_as_writer(
        &self,
        tenure: &mut MutexGuard<'_, Tenure>,
        number: u64,
        bytes: &[u8],
    ) -> Result<Appended, StoreError> {
        if let Some(error) = self.refused.lock().clone() {
            return Err(error);
        }
        let seen = self.view()?;
        tenure.renew_for(number, &seen);
        for _ in 0..ATTEMPTS {
            let view = match &tenure.view {
                Some(view) => view.clone(),
                None => match self.take(tenure, number)? {
                    Taken::View(view) => view,
                    Taken::There => return Ok(Appended::Conflict),
                },
            };
            let along = match self.tell(tenure, &view) {
                Ok(()) => self.along(&view, Item::Entry(number), bytes, false),
                Err(broken) => Err(broken),
            };
            let broken = match along {
                Ok(Along::Own) => {
                    tenure.is_settled = true;
                    tenure.complete = tenure.complete.max(number);
                    return Ok(Appended::Ok);
                }
                Ok(Along::Others) => {
                    // Another process appends, and the set may change beside this one.
                    if !planted::is(Planted::TenureKept) {
                        tenure.view = None;
                    }
                    return Ok(Appended::Conflict);
                }
                Err(broken) => broken,
            };
            if broken.differs && self.look()?.version != view.version {
                tenure.view = None;
                continue;
            }
            let complete = match tenure.is_settled {
                true => tenure.complete,
                false => 0,
            };
            // Until the register has left it out, the copy counts. A replacement without an answer may come later.
            let without = self.without(&view, &broken, complete)?;
            tenure.view = None;
            if let Replaced::Done(view) = self.leave_out(&view, &without, &broken)? {
                tenure.view = Some(view);
            }
        }
        Err(self.changes("append an entry"))
    }

    /// Asks the last copy of the chain, and believes it if the set is still the same afterwards.
    pub(super) fn ask_tail<T>(
        &self,
        ask: impl Fn(&Life) -> Result<T, StoreError>,
        wait: Wait,
    ) -> Result<T, StoreError> {
        self.ask_copy(0, ask, wait)
    }

    /// The same of the copy that is so many before the last one; the last one again, after the first.
    pub(super) fn ask_copy<T>(
        &self,
        before_tail: usize,
        ask: impl Fn(&Life) -> Result<T, StoreError>,
        wait: Wait,
    ) -> Result<T, StoreError> {
        let mut view = self.view()?;
        for _ in 0..ATTEMPTS {
            let copies = view.record.in_sync().count().max(1);
            let nth = match planted::is(Planted::ReadFromHead) {
                true => 0,
                false => copies - 1 - before_tail % copies,
            };
            let Some(copy) = view.record.in_sync().nth(nth) else {
                return Err(self.changes("read"));
            };
            let member = self.members.get(&view.record, copy, wait);
            let answer = member.and_then(|member| ask(&member));
            let now = match planted::is(Planted::ReadUnconfirmed) && answer.is_ok() {
                true => view.clone(),
                false => self.look()?,
            };
            if now.version != view.version {
                view = now;
                continue;
            }
            let error = match answer {
                Ok(answer) => {
                    self.members.heard(&copy.place);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            let silent = self.members.unheard(&copy.place, &*self.time);
            let broken = Broken {
                place: copy.place.clone(),
                error,
                differs: false,
            };
            if silent < self.limits.read || !self.may_leave_out(&broken.error) {
                return Err(self.as_of_the_set(broken.error));
            }
            let without = self.without(&view, &broken, 0)?;
            let (Replaced::Done(there) | Replaced::Other(there)) =
                self.leave_out(&view, &without, &broken)?;
            view = there;
        }
        Err(self.changes("read"))
    }
}

impl RemoteStore for Copies {
    fn place(&self) -> String {
        self.place.clone()
    }

    fn is_near(&self) -> bool {
        self.keeper.place.is_near()
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.append_as_writer(&mut self.tenure.lock(), number, bytes)
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.ask_tail(|tail| tail.read(number), Wait::Short)
    }

    fn read_several(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        self.ask_tail(|tail| tail.read_several(numbers), Wait::Long)
    }

    fn read_elsewhere(&self, number: u64, attempt: u32) -> Result<Option<Vec<u8>>, StoreError> {
        self.entry_elsewhere(number, attempt)
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.ask_tail(|tail| tail.list(from), Wait::Long)
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.on_all(|member| member.remove(numbers))
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.keeper.place.read_register(register)
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.keeper.place.swap_register(register, expected, bytes)
    }
}
