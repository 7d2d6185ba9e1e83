//! A person changes the places of a set, while hosts use it: adds a place, removes one, or both at once.
//!
//! Only the register changes. A new place is `out`, so the writer fills it and lets it in as any copy that comes back. A
//! place that is removed leaves the set first if it is in sync, which needs no consent ([`super`], rule 2). So the
//! rules of the set hold over a change as over a copy that fails and comes back.
//!
//! - A new place has nothing that counts. It is empty, or it was a copy of this set before. It begins a life in which no
//!   process knows it.
//! - It is another store than the copies, the keeper and the other new places: an object that is created there is found
//!   at none of them. So each of them must answer. All that is found out again if the places have changed meanwhile.
//! - After a removal of a copy in sync, two copies in sync still answer; one, if the removed one gives no answer.
//!
//! The register keeps the places of before ([`SetRecord::former`]). A host that is restarted with those is accepted: its
//! arguments are changed later than the set. Programs of before this record cannot read such a register.

use super::keeper::{Keeper, Replaced};
use super::life::{LIFE_LAST, check_is_of_no_other, folder_of, mark_of, marked_lives};
use super::members::{Members, Open, Wait};
use super::record::{CopyRecord, SetRecord, Standing};
use super::spelling::{COPIES_LEAST, Spelling};
use super::witness::{check_new, confirm, tell};
use sardonyx_base::events;
use sardonyx_base::random::system_random;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::shell::now;
use sardonyx_storage::remote_log::store::{Appended, RemoteStore, StoreError};
use std::sync::Arc;

/// The register may change so often meanwhile.
const ATTEMPTS: u32 = 16;

/// After a removal, so many copies in sync must answer.
const IN_SYNC_LEAST: usize = 2;

/// Places to add to a set of copies, and to remove from it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PlacesChange {
    /// Places that are to have the log.
    pub added: Vec<String>,
    /// Places that are to have it no longer.
    pub removed: Vec<String>,
}

/// A new place, and its store.
type New = (String, Arc<dyn RemotePlace>);

/// The last life of any copy that was removed, or is removed now.
fn last_life(record: &SetRecord, removed: &[String]) -> u64 {
    let copies = record.copies.iter();
    let removed = copies.filter(|copy| removed.contains(&copy.place));
    let last = removed.map(|copy| copy.life).max().unwrap_or(0);
    last.max(record.removed_life)
}

/// The set, and the two ways to its stores.
pub(super) struct Changing<'a> {
    pub keeper: &'a Keeper,
    /// The keeper's place, as users spell it.
    pub keeper_place: &'a str,
    /// Opens copies in their lives.
    pub members: &'a Members,
    /// Opens new places, and makes a directory that is absent.
    pub new_places: &'a dyn Open,
}

impl Changing<'_> {
    /// Changes the places. Returns the register afterwards.
    ///
    /// # Errors
    /// [`StoreError::Place`]: a place is not valid, or not of the set. [`StoreError::Setup`]: a rule of this module
    /// does not hold. The stores' errors; after an unclear one of the keeper, look at the register.
    pub fn change(&self, change: &PlacesChange) -> Result<SetRecord, StoreError> {
        for place in &change.added {
            Spelling::check_copy(place)?;
        }
        let mut view = self.keeper.read()?;
        let mut prepared = None;
        for _ in 0..ATTEMPTS {
            view = confirm(self.keeper, self.members, &view, None)?;
            let record = &view.record;
            self.check_names(record, change)?;
            self.check_left(record, &change.removed)?;
            // The checks hold as long as these are the same.
            let basis = (record.places(), last_life(record, &change.removed));
            let added = match prepared.take() {
                Some((before, added)) if before == basis => added,
                _ => self.prepare(record, change)?,
            };
            let changed = record.with_places(&added, &change.removed, now());
            match self.keeper.replace(Some(&view.version), &changed)? {
                Replaced::Done(changed) => {
                    self.tell_removed(record, &changed.record, &change.removed);
                    return Ok(changed.record.clone());
                }
                Replaced::Other(there) => view = there,
            }
            prepared = Some((basis, added));
        }
        Err(StoreError::NotNow {
            what: "change the places of the set".into(),
            place: self.keeper_place.into(),
            reason: "its register changes all the time: repeat the command".into(),
        })
    }

    /// A removed place keeps its data, and may be named by an older register. If it answers, it knows a later one.
    fn tell_removed(&self, before: &SetRecord, after: &SetRecord, removed: &[String]) {
        let copies = before.copies.iter();
        for copy in copies.filter(|copy| removed.contains(&copy.place)) {
            let member = self.members.get(before, copy, Wait::Short);
            let told = member.and_then(|member| tell(member.place_itself(), after));
            if let Err(error) = told {
                events::warn!(copy = %copy.place, %error, "a removed place has not recorded its removal");
            }
        }
    }

    fn refused(&self, reason: String) -> StoreError {
        StoreError::Setup {
            place: format!("copies:{}", self.keeper_place),
            reason,
        }
    }

    /// The places after the change are ones that a set can have.
    fn check_names(&self, record: &SetRecord, change: &PlacesChange) -> Result<(), StoreError> {
        let place = |place: &str, reason: &str| StoreError::Place {
            place: place.into(),
            reason: reason.into(),
        };
        let is_copy = |place: &String| record.copies.iter().any(|copy| copy.place == *place);
        if let Some(known) = change.added.iter().find(|added| is_copy(added)) {
            return Err(place(known, "it is a copy of this set already"));
        }
        if let Some(unknown) = change.removed.iter().find(|removed| !is_copy(removed)) {
            return Err(place(
                unknown,
                "it is no copy of this set: spell it as `sardonyx store status` shows it",
            ));
        }
        let places = record.with_places(&[], &change.removed, 0).places();
        let places = places.into_iter().chain(change.added.iter().cloned());
        let spelled: Vec<String> = places.collect();
        if spelled.len() < COPIES_LEAST {
            return Err(self.refused(format!(
                "without {:?} it would have {} places for the log, and needs {COPIES_LEAST} or more: add a place with \
                 the same command (--add)",
                change.removed,
                spelled.len()
            )));
        }
        Spelling::parse(&format!("{};{}", self.keeper_place, spelled.join(";"))).map(drop)
    }

    /// The copies that are left have the log, and more than one of them.
    fn check_left(&self, record: &SetRecord, removed: &[String]) -> Result<(), StoreError> {
        let is_removed = |place: &str| removed.iter().any(|removed| removed == place);
        let mut leaving = record.in_sync().filter(|copy| is_removed(&copy.place));
        let ask = |copy: &&CopyRecord| {
            let member = self.members.get(record, copy, Wait::Short);
            member.and_then(|member| member.read(1))
        };
        // One that gives no answer is left out as any process may do, if another one answers.
        let is_usable = |copy: &CopyRecord| {
            let answer = ask(&copy);
            answer.is_ok() || matches!(answer, Err(StoreError::Setup { .. }))
        };
        let least = match record.in_sync().any(|copy| is_removed(&copy.place)) {
            true if leaving.any(is_usable) => IN_SYNC_LEAST,
            true => 1,
            false => return Ok(()),
        };
        let left = record.in_sync().filter(|copy| !is_removed(&copy.place));
        let count = left.filter(|copy| ask(copy).is_ok()).count();
        match count < least {
            true => Err(self.refused(format!(
                "without {removed:?} it would have {count} copies that are in sync and answer, and needs {least}; add a \
                 place first (--add, alone), and wait until `sardonyx store status` shows it as {}, or have those answer \
                 that it shows so",
                Standing::InSync.word()
            ))),
            false => Ok(()),
        }
    }

    /// Begins a life of this set at each new place. Returns their numbers.
    fn prepare(
        &self,
        record: &SetRecord,
        change: &PlacesChange,
    ) -> Result<Vec<(String, u64)>, StoreError> {
        let open = |place: &String| Ok((place.clone(), self.new_places.open(place, Wait::Long)?));
        let new: Result<Vec<New>, StoreError> = change.added.iter().map(open).collect();
        let new = new?;
        for (place, store) in &new {
            self.check_is_another(record, store, &new, &change.removed)?;
            check_is_of_no_other(&**store, record.identity)?;
            check_new(place, &**store, record, self.keeper)?;
            let is_empty =
                || Ok(store.list(0)?.is_empty() && store.list_objects(&folder_of(1))?.is_empty());
            if marked_lives(&**store, record.identity)? == 0 && !is_empty()? {
                return Err(StoreError::Setup {
                    place: store.place(),
                    reason: "it has a log that is not of this set of copies: a new copy begins with an empty place, so add \
                             another one"
                        .into(),
                });
            }
            self.check_entries_fit(record, store, &change.removed)?;
        }
        let begun = new.iter().map(|(place, store)| {
            let life = self.begin(record, place, &**store, &change.removed)?;
            Ok((place.clone(), life))
        });
        begun.collect()
    }

    fn begin(
        &self,
        record: &SetRecord,
        place: &str,
        store: &dyn RemotePlace,
        removed: &[String],
    ) -> Result<u64, StoreError> {
        // A process may know the place in any earlier life of it, also if it was emptied since.
        let before = marked_lives(store, record.identity)?;
        let life = before.max(last_life(record, removed)) + 1;
        if life > LIFE_LAST {
            return Err(self.refused(format!("{place} has begun too often: empty it")));
        }
        let mark = mark_of(record.identity, life);
        if store.create_object(&mark, place.as_bytes())? == Appended::Conflict {
            return Err(StoreError::NotNow {
                what: "be added to the set of copies".into(),
                place: store.place(),
                reason: "another process adds it at this moment: repeat the command".into(),
            });
        }
        // Of two sets that add it at once, at least one sees the other.
        check_is_of_no_other(store, record.identity).inspect_err(|_| {
            let _ = store.remove_objects(&[mark]);
        })?;
        Ok(life)
    }

    /// A store under another name would be one copy, and two are promised.
    fn check_is_another(
        &self,
        record: &SetRecord,
        store: &Arc<dyn RemotePlace>,
        new: &[New],
        removed: &[String],
    ) -> Result<(), StoreError> {
        let sign = format!("copies/sign-{:016x}", system_random());
        store.create_object(&sign, b"")?;
        let found = self.look_for(record, &sign, store, new, removed);
        // A sign that stays does no harm.
        let _ = store.remove_objects(std::slice::from_ref(&sign));
        match found? {
            None => Ok(()),
            Some(other) => Err(StoreError::Setup {
                place: store.place(),
                reason: format!(
                    "it is the store of {other} under another name: each copy, and the register, needs a \
                                 place of its own"
                ),
            }),
        }
    }

    /// The place of the set that has this object. A place that is removed is not asked, since it may be lost.
    fn look_for(
        &self,
        record: &SetRecord,
        sign: &str,
        its: &Arc<dyn RemotePlace>,
        new: &[New],
        removed: &[String],
    ) -> Result<Option<String>, StoreError> {
        if self.keeper.place.read_object(sign)?.is_some() {
            return Ok(Some(self.keeper_place.into()));
        }
        for (place, store) in new {
            if !Arc::ptr_eq(store, its) && store.read_object(sign)?.is_some() {
                return Ok(Some(place.clone()));
            }
        }
        for copy in &record.copies {
            if removed.contains(&copy.place) {
                continue;
            }
            let asked = self.members.place(&copy.place);
            let found = asked.and_then(|asked| asked.read_object(sign));
            let found = found.map_err(|error| {
                self.refused(format!(
                    "{} gives no answer ({error}), so it could be the new place under another name; add the place when \
                     it answers, or remove that one with the same command",
                    copy.place
                ))
            })?;
            if found.is_some() {
                return Ok(Some(copy.place.clone()));
            }
        }
        Ok(None)
    }

    /// Running hosts append entries of the length that their copies take.
    fn check_entries_fit(
        &self,
        record: &SetRecord,
        store: &Arc<dyn RemotePlace>,
        removed: &[String],
    ) -> Result<(), StoreError> {
        let stay = record
            .in_sync()
            .filter(|copy| !removed.contains(&copy.place));
        let (Some(tail), most) = (stay.last(), store.entry_bytes_max()) else {
            return Ok(());
        };
        let wanted = self.members.get(record, tail, Wait::Short)?;
        let wanted = wanted.entry_bytes_max();
        match most < wanted {
            true => Err(StoreError::Setup {
                place: store.place(),
                reason: format!(
                    "its entries have at most {most} bytes, and those of the set up to {wanted}: add a place that takes \
                     those"
                ),
            }),
            false => Ok(()),
        }
    }
}
