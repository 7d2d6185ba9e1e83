//! A copy that is out comes back: filled beside the appends, then let in while none is on its way.
//!
//! ```text
//!   out ─▶ joining ─▶ entries, objects ─▶ (appends wait) the last entries ─▶ in the set, at the end of the chain
//!            ▲              └─▶ it has something else under a number: another life, which begins with nothing ─┐
//!            └─────────────────────────────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! A copy with several entries that the log has not may have acknowledged ones, which restored copies have lost. It is left
//! as it is, for a person.
//!
//! Only the writer does that, and only once an entry of its own is on all copies ([`super`], rule 4). If the copy has the
//! log's entry at the number that the register records for it, then entries up to that number are compared by length. They
//! are read beside another copy's when it is in the set ([`scrubbing`](super::scrubbing)). All later ones are compared byte by
//! byte. Large objects are compared by name and length, since their names are their creators' own.

use super::Copies;
use super::ancestry::After;
use super::chain::{Has, Item, SHORT_BYTES_MAX, put};
use super::elsewhere::is_damaged;
use super::entries::Tenure;
use super::keeper::{Replaced, View};
use super::life::{LIFE_LAST, Life, mark_of, remove_earlier};
use super::members::Wait;
use super::planted::{self, Planted};
use super::record::{CopyRecord, SetRecord, Standing};
use super::scrubbing::Scrubs;
use super::way::{Way, is_planted, names_of};
use super::witness::{Seen, check, seen_at, tell};
use sardonyx_base::events;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{RemoteStore, StoreError};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Appends wait while so many entries are copied; twice as many each time that there were more.
const LAST_ENTRIES: usize = 64;

/// For so many rounds appends do not wait for long entries: those are copied beside them.
const ROUNDS_WITHOUT_LONG: u32 = 8;

/// Before a copy that failed is tried again.
const REST: Duration = Duration::from_secs(1);

/// The same of a copy that needs a person.
const LONG_REST: Duration = Duration::from_secs(600);

/// A copy that is being filled.
#[derive(Debug)]
pub(super) struct Filling {
    place: String,
    life: u64,
    /// Since when it joins. If another process let it in meanwhile, and it is out again, it is filled from the beginning.
    since: u64,
    /// The objects that it had before it began to join, when no process created any on it.
    had: Vec<String>,
    /// It has the entries before this number.
    next: u64,
    /// Up to this number, entries of the same length are taken for the same.
    alike: u64,
    has_objects: bool,
    /// The number of times that it was behind when appends waited for it.
    rounds: u32,
}

/// The copies that are filled, and those that are not tried for a while.
#[derive(Debug, Default)]
pub(super) struct Fillings {
    filling: Option<Filling>,
    rests: Rests,
    scrubs: Scrubs,
}

/// The copies, by place and life, that are not tried until that time.
type Rests = HashMap<(String, u64), Duration>;

fn rest_after(error: &StoreError) -> Duration {
    match error {
        StoreError::Setup { .. } => LONG_REST,
        _ => REST,
    }
}

/// The outcome of a step.
#[derive(Debug)]
enum Step {
    More,
    /// The copy has something else than the log: another entry under this number, or another object.
    Differs(Option<u64>),
    Joined,
}

impl Copies {
    /// Does the next step for a copy that is out. Returns true if there is more to do at once.
    ///
    /// # Errors
    /// The keeper's; a copy's, which is tried again later.
    pub(super) fn maintain(&self) -> Result<bool, StoreError> {
        let mut fillings = self.fillings.lock();
        let Some(view) = self.writers_view()? else {
            fillings.filling = None;
            return Ok(false);
        };
        let filling = fillings.filling.take();
        let is_current = |filling: &Filling| {
            let mut joining = view.record.standing(Standing::Joining);
            joining.any(|copy| {
                let is_it = copy.place == filling.place && copy.life == filling.life;
                is_it && copy.since == filling.since
            })
        };
        let mut filling = match filling.filter(is_current) {
            Some(filling) => filling,
            None => match self.begin(&view, &mut fillings.rests)? {
                Some(filling) => filling,
                None => {
                    self.scrub(&view, &mut fillings.scrubs)?;
                    return Ok(false);
                }
            },
        };
        let step = self.step(&mut filling).and_then(|step| match step {
            Step::Differs(at) => {
                if let Some(number) = at {
                    self.check_has_no_more(&filling, number)?;
                }
                filling = self.in_another_life(&filling.place, filling.life)?;
                Ok(Step::More)
            }
            step => Ok(step),
        });
        match step {
            Ok(Step::More | Step::Differs(_)) => fillings.filling = Some(filling),
            Ok(Step::Joined) => {
                events::info!(copy = %filling.place, "a copy of the log is in the set again");
                if !planted::is(Planted::NotScrubbed) {
                    let (place, life) = (&filling.place, filling.life);
                    fillings.scrubs.begin(place, life, filling.alike);
                }
                if filling.life > 1
                    && let Err(error) = self.clear(&filling)
                {
                    events::warn!(%error, "the entries of a copy's earlier life are not deleted");
                }
            }
            Err(error) => {
                let until = self.time.elapsed() + rest_after(&error);
                let copy = (filling.place.clone(), filling.life);
                fillings.rests.insert(copy, until);
                self.stand(&filling.place, Standing::Out, filling.life, now())?;
                return Err(error);
            }
        }
        Ok(true)
    }

    /// The register's state, if this process may let copies in.
    fn writers_view(&self) -> Result<Option<Arc<View>>, StoreError> {
        // Others than the writer ask nothing of the keeper.
        let is_settled =
            |tenure: &Tenure| tenure.is_settled || planted::is(Planted::JoinedBeforeFence);
        if !is_settled(&self.tenure.lock()) {
            return Ok(None);
        }
        let there = self.look()?;
        let mut tenure = self.tenure.lock();
        let is_writer = there.record.writer == self.process || planted::is(Planted::NoWriter);
        if !is_writer {
            // If the other one has died, the next append makes this process the writer again.
            tenure.renew(&there);
            return Ok(None);
        }
        if !is_settled(&tenure) {
            return Ok(None);
        }
        match &tenure.view {
            Some(view) if view.record.generation >= there.record.generation => {}
            // Another process left a copy out.
            Some(_) => tenure.view = Some(there),
            // The fate of the last replacement is not known: one that succeeds now decides it.
            None => {
                let taken = there.record.taken(self.process);
                if let Replaced::Done(view) = self.replace(&there, &taken)? {
                    tenure.view = Some(view);
                }
            }
        }
        Ok(tenure.settled(self.process).cloned())
    }

    /// Changes the register as its writer. False: it may not any more, or something else has changed.
    fn change(
        &self,
        tenure: &mut Tenure,
        change: impl FnOnce(&SetRecord) -> SetRecord,
    ) -> Result<bool, StoreError> {
        let Some(view) = tenure.settled(self.process).cloned() else {
            return Ok(false);
        };
        // If there is no answer, it is not known which copies count.
        tenure.view = None;
        match self.replace(&view, &change(&view.record))? {
            Replaced::Done(view) => {
                tenure.view = Some(view);
                Ok(true)
            }
            Replaced::Other(view) => {
                let is_writer = view.record.writer == self.process;
                tenure.view = is_writer.then_some(view);
                Ok(false)
            }
        }
    }

    /// Changes the standing of a copy that is not in the set. False: it is in the set, or this process may not.
    fn stand(
        &self,
        place: &str,
        standing: Standing,
        life: u64,
        since: u64,
    ) -> Result<bool, StoreError> {
        let mut tenure = self.tenure.lock();
        let is_in = |view: &Arc<View>| view.record.in_sync().any(|copy| copy.place == place);
        if tenure.settled(self.process).is_none_or(is_in) {
            return Ok(false);
        }
        self.change(&mut tenure, |record| {
            record.with(place, standing, life, since)
        })
    }

    /// Has a copy that is not in the set begin to join. `None`: it is in the set, or this process may not.
    fn join(
        &self,
        at: Arc<dyn RemotePlace>,
        place: &str,
        life: u64,
        alike: u64,
    ) -> Result<Option<Filling>, StoreError> {
        // It receives new objects from the moment at which it joins.
        let had = names_of(&Life::new(at, life).list_all_objects()?);
        let since = now();
        let joins = self.stand(place, Standing::Joining, life, since)?;
        Ok(joins.then(|| Filling {
            place: place.into(),
            life,
            since,
            had,
            next: match planted::is(Planted::RecordedTrusted) {
                true => alike + 1,
                false => 1,
            },
            alike,
            has_objects: false,
            rounds: 0,
        }))
    }

    /// Begins to fill a copy that is out.
    fn begin(&self, view: &View, rests: &mut Rests) -> Result<Option<Filling>, StoreError> {
        let time = self.time.elapsed();
        rests.retain(|_, until| *until > time);
        let record = &view.record;
        let joining = record.standing(Standing::Joining);
        let mut waiting = joining.chain(record.standing(Standing::Out));
        let is_tried = |copy: &&CopyRecord| !rests.contains_key(&(copy.place.clone(), copy.life));
        let Some(copy) = waiting.find(is_tried) else {
            return Ok(None);
        };
        match self.begin_with(record, copy) {
            Ok(filling) => Ok(filling),
            Err(error) => {
                let until = time + rest_after(&error);
                rests.insert((copy.place.clone(), copy.life), until);
                Err(error)
            }
        }
    }

    fn begin_with(
        &self,
        record: &SetRecord,
        copy: &CopyRecord,
    ) -> Result<Option<Filling>, StoreError> {
        let place = self.members.place(&copy.place)?;
        self.ask_before_joining(record, copy, &*place)?;
        let mark = place.read_object(&mark_of(record.identity, copy.life))?;
        match mark.is_some() || planted::is(Planted::EmptyTrusted) {
            true => {
                let alike = self.has_up_to(record, &place, copy)?;
                self.join(place, &copy.place, copy.life, alike)
            }
            // It was emptied.
            false => self.in_another_life(&copy.place, copy.life).map(Some),
        }
    }

    /// The recorded number of a copy, if it has the log's entry there: an entry names the one before, so both have the same
    /// past. 0, if it has another one, or lacks it: it was restored from a backup, or the entry was deleted with the log's
    /// beginning. Then all of its entries are compared.
    fn has_up_to(
        &self,
        record: &SetRecord,
        place: &Arc<dyn RemotePlace>,
        copy: &CopyRecord,
    ) -> Result<u64, StoreError> {
        if copy.complete == 0 || planted::is(Planted::RecordedTrusted) {
            return Ok(copy.complete);
        }
        let Some(tail) = record.tail() else {
            return Ok(0);
        };
        let there = self
            .members
            .get(record, tail, Wait::Long)?
            .read(copy.complete)?;
        let found = Life::new(place.clone(), copy.life).read(copy.complete)?;
        Ok(match found.is_some() && found == there {
            true => copy.complete,
            false => 0,
        })
    }

    /// A copy that knows a later register may have the only copy of acknowledged entries, so it is left as it is.
    fn ask_before_joining(
        &self,
        record: &SetRecord,
        copy: &CopyRecord,
        place: &dyn RemotePlace,
    ) -> Result<(), StoreError> {
        let is_newer = |seen: &Seen| {
            seen.identity == record.identity && seen.before(record) != After::Continues
        };
        let newer = seen_at(place)?.into_iter().find(is_newer);
        let Some(newer) = newer.filter(|_| !planted::is(Planted::JoinedWithoutAsking)) else {
            return Ok(());
        };
        let there = self.look()?;
        self.refuse(check(&copy.place, &newer, &there, &self.keeper))?;
        Err(self.changes("let a copy in"))
    }

    /// A copy that was never restored has at most one entry that the log has not: the last one of a writer that was
    /// superseded. One with more may have acknowledged entries, which the copies in the set have lost. It is left as it is,
    /// unless a person has discarded the line of registers that it knows.
    fn check_has_no_more(&self, filling: &Filling, number: u64) -> Result<(), StoreError> {
        let view = self.tenure.lock().settled(self.process).cloned();
        let view = view.ok_or_else(|| self.changes("let a copy in"))?;
        let way = self.way(&view, filling, Wait::Long)?;
        let next = number + 1;
        // A damaged one is none.
        let theirs = way.target.read(next)?;
        let Some(theirs) = theirs.filter(|theirs| !is_damaged(next, theirs)) else {
            return Ok(());
        };
        if way.source.read(next)? == Some(theirs) || planted::is(Planted::MoreDiscarded) {
            return Ok(());
        }
        let record = &view.record;
        let is_discarded = |seen: &Seen| {
            seen.identity == record.identity && record.has_dropped(seen.generation, seen.author)
        };
        if seen_at(way.target.place_itself())?.iter().any(is_discarded) {
            return Ok(());
        }
        let place = filling.place.clone();
        let error = StoreError::Setup {
            reason: format!(
                "it has entries {number} and {next}, and the log has others there or none: copies in sync were restored \
                 from a backup, and lost acknowledged transactions, or this one belongs to another log. It is left as it \
                 is. To save them, make a database of the directory of the host that served then (sardonyx backup). To \
                 give them up: sardonyx store copies PLACE --remove {place}, and then --add {place}"
            ),
            place,
        };
        #[cfg(test)]
        super::ends::ALARMS.set(super::ends::ALARMS.get() + 1);
        events::error!(%error, "a copy of the log is not filled");
        Err(error)
    }

    /// Lets a copy begin again, with nothing.
    fn in_another_life(&self, place: &str, before: u64) -> Result<Filling, StoreError> {
        let life = before + 1;
        if life > LIFE_LAST {
            return Err(StoreError::Setup {
                place: place.into(),
                reason: "it has begun too often: empty it".into(),
            });
        }
        let identity = self.view()?.record.identity;
        let at = self.members.place(place)?;
        at.create_object(&mark_of(identity, life), b"")?;
        let filling = self.join(at, place, life, 0)?;
        filling.ok_or_else(|| self.changes("let a copy in"))
    }

    /// From the last copy of the chain, whose entries all have, to the one that joins.
    fn way(&self, view: &View, filling: &Filling, wait: Wait) -> Result<Way, StoreError> {
        let changes = || self.changes("let a copy in");
        let record = &view.record;
        let tail = record.tail().ok_or_else(changes)?;
        let mut joining = record.standing(Standing::Joining);
        let copy = joining.find(|copy| copy.place == filling.place && copy.life == filling.life);
        let copy = copy.ok_or_else(changes)?;
        Ok(Way {
            source: self.members.get(record, tail, wait)?,
            target: self.members.get(record, copy, wait)?,
        })
    }

    fn step(&self, filling: &mut Filling) -> Result<Step, StoreError> {
        let view = self.tenure.lock().settled(self.process).cloned();
        let view = view.ok_or_else(|| self.changes("let a copy in"))?;
        let way = self.way(&view, filling, Wait::Long)?;
        let listed = way.source.list(filling.next)?;
        // Of a log that grows all the time, the last ones are copied while appends wait.
        let has_many = listed.len() > LAST_ENTRIES;
        let is_before = has_many || !filling.has_objects;
        if is_before
            && let Some(at) = way.entries(&listed, (&mut filling.next, filling.alike), || false)?
        {
            return Ok(Step::Differs(Some(at)));
        }
        if has_many {
            return Ok(Step::More);
        }
        if !filling.has_objects {
            if !way.objects(&filling.had)? {
                return Ok(Step::Differs(None));
            }
            filling.has_objects = true;
            return Ok(Step::More);
        }
        self.let_in(filling)
    }

    /// While no append is on its way: the last entries, then the register.
    fn let_in(&self, filling: &mut Filling) -> Result<Step, StoreError> {
        let mut tenure = self.tenure.lock();
        // Appends wait for no longer than for a copy that is silent.
        let started = self.time.elapsed();
        let is_over = || self.time.elapsed().saturating_sub(started) >= self.limits.write;
        let view = tenure.settled(self.process).cloned();
        let view = view.ok_or_else(|| self.changes("let a copy in"))?;
        let mut way = self.way(&view, filling, Wait::Short)?;
        let is_behind = planted::is(Planted::JoinedBehind);
        let listed = way.source.list(filling.next)?;
        let has_long = listed
            .iter()
            .any(|entry| entry.bytes > SHORT_BYTES_MAX as u64);
        let has_many = listed.len() > LAST_ENTRIES << filling.rounds.min(20);
        if has_many || (has_long && filling.rounds < ROUNDS_WITHOUT_LONG) {
            // More came than appends should wait for.
            filling.rounds += 1;
            return Ok(Step::More);
        }
        if has_long {
            way = self.way(&view, filling, Wait::Long)?;
        }
        match is_behind {
            true => filling.next = listed.last().map_or(filling.next, |last| last.number + 1),
            false => {
                if let Some(at) =
                    way.entries(&listed, (&mut filling.next, filling.alike), is_over)?
                {
                    return Ok(Step::Differs(Some(at)));
                }
            }
        }
        // The list may have been old.
        while !is_behind
            && !is_over()
            && let Some(bytes) = way.source.read(filling.next)?
        {
            let item = Item::Entry(filling.next);
            if put(&*way.target, item, &bytes)? != Has::These && !is_planted() {
                return Ok(Step::Differs(Some(filling.next)));
            }
            filling.next += 1;
        }
        if is_over() {
            return Ok(Step::More);
        }
        let has_more = way.target.read(filling.next)?.is_some();
        if has_more && !is_planted() && !is_behind {
            return Ok(Step::Differs(Some(filling.next)));
        }
        if filling.next <= tenure.complete && !is_behind {
            return Ok(Step::More);
        }
        // Later, a copy of the set that does not know this state is one that was restored from a backup.
        self.tell(&mut tenure, &view)
            .map_err(|broken| broken.error)?;
        tell(way.target.place_itself(), &view.record)?;
        let (place, complete) = (&filling.place, filling.next - 1);
        let joined = self.change(&mut tenure, |record| record.joined(place, complete, now()))?;
        match joined {
            true => Ok(Step::Joined),
            false => Err(self.changes("let a copy in")),
        }
    }

    fn clear(&self, filling: &Filling) -> Result<(), StoreError> {
        remove_earlier(&*self.members.place(&filling.place)?, filling.life)
    }
}
