//! One item along the chain: to the first copy, whose answer decides its content, then to the next ones in order.
//!
//! Of two processes that create one item, the first copy decides, and the winner's bytes continue along the chain. So
//! an item that one process left half-way is completed by the next that meets it. At every moment a copy has an item
//! only if all before it in the chain have it with the same bytes.

use super::Copies;
use super::keeper::View;
use super::life::Life;
use super::members::Wait;
use super::planted::{self, Planted};
use super::record::{CopyRecord, Standing};
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{Appended, StoreError};
use std::borrow::Cow;

/// A longer entry is waited for as long as with any store.
pub(super) const SHORT_BYTES_MAX: usize = 1 << 20;

/// An item that other processes delete is created and looked at so often.
const ATTEMPTS: u32 = 4;

/// An item that is created once.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item<'a> {
    Entry(u64),
    Object(&'a str),
}

impl Item<'_> {
    pub fn create(self, at: &dyn RemotePlace, bytes: &[u8]) -> Result<Appended, StoreError> {
        match self {
            Item::Entry(number) => at.append_at(number, bytes),
            Item::Object(name) => at.create_object(name, bytes),
        }
    }

    pub fn read(self, at: &dyn RemotePlace) -> Result<Option<Vec<u8>>, StoreError> {
        match self {
            Item::Entry(number) => at.read(number),
            Item::Object(name) => at.read_object(name),
        }
    }

    fn wait(self, bytes: &[u8]) -> Wait {
        match self {
            Item::Entry(_) if bytes.len() <= SHORT_BYTES_MAX => Wait::Short,
            _ => Wait::Long,
        }
    }
}

/// The bytes that a store has under an item.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Has {
    /// The copy has these bytes.
    These,
    Others(Vec<u8>),
}

/// Creates an item at one store, or finds it there.
pub(super) fn put(at: &dyn RemotePlace, item: Item<'_>, bytes: &[u8]) -> Result<Has, StoreError> {
    for _ in 0..ATTEMPTS {
        if item.create(at, bytes)? == Appended::Ok {
            return Ok(Has::These);
        }
        match item.read(at)? {
            Some(found) if found == bytes => return Ok(Has::These),
            Some(found) => return Ok(Has::Others(found)),
            // Deleted meanwhile.
            None => {}
        }
    }
    Err(StoreError::NotNow {
        what: "keep what is created".into(),
        place: at.place(),
        reason: "it is deleted as often as it is created".into(),
    })
}

/// The item whose bytes are on all copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Along {
    Own,
    Others,
}

/// A copy that does not do its part.
#[derive(Debug)]
pub(super) struct Broken {
    pub place: String,
    pub error: StoreError,
    /// It has something else than the others, or lacks an entry: it is compared from the beginning.
    pub differs: bool,
}

/// The copy that leaves the set if this one has something else than those before it in the chain.
///
/// An entry came to this copy through the first one of the chain, which has something else by now. So the first one was
/// restored from a backup, or has lost data, and the other one may have the only acknowledged entry. An object may be
/// created again while it is deleted, and a copy that joins may have an old one.
fn differing(view: &View, item: Item<'_>, copy: &CopyRecord) -> Broken {
    let is_entry = matches!(item, Item::Entry(_)) && !planted::is(Planted::DiffersExcluded);
    let first = view.record.in_sync().next().filter(|_| is_entry);
    let (place, reason) = match first {
        Some(first) => (
            &first.place,
            format!(
                "{} has another entry there, which the first copy had before: it was restored from a backup, or has lost \
                 data",
                copy.place
            ),
        ),
        None => (
            &copy.place,
            "it has something else there than the other copies".into(),
        ),
    };
    Broken {
        place: place.clone(),
        error: StoreError::NotNow {
            what: format!("keep {item:?}"),
            place: place.clone(),
            reason,
        },
        differs: true,
    }
}

impl Copies {
    /// Creates an item on all copies of this state that are in the set, and on those that join it where `with_joining`.
    pub(super) fn along(
        &self,
        view: &View,
        item: Item<'_>,
        bytes: &[u8],
        with_joining: bool,
    ) -> Result<Along, Broken> {
        let mut decided = Cow::Borrowed(bytes);
        let joining = view
            .record
            .standing(Standing::Joining)
            .filter(|_| with_joining);
        for (nth, copy) in view.record.in_sync().chain(joining).enumerate() {
            let has = match self.put_in_time(view, copy, item, &decided) {
                Ok(has) => has,
                Err(_) if planted::is(Planted::LeftOutWithoutRegister) && nth > 0 => continue,
                Err(error) => {
                    return Err(Broken {
                        place: copy.place.clone(),
                        error,
                        differs: false,
                    });
                }
            };
            match has {
                Has::These => {}
                Has::Others(theirs) if nth == 0 => decided = Cow::Owned(theirs),
                Has::Others(_) => return Err(differing(view, item, copy)),
            }
            if planted::is(Planted::AcknowledgedBeforeAll) && matches!(item, Item::Entry(_)) {
                break;
            }
        }
        match decided {
            Cow::Borrowed(_) => Ok(Along::Own),
            Cow::Owned(_) => Ok(Along::Others),
        }
    }

    /// Asks a copy again until it answers, but for no longer than it may be silent.
    fn put_in_time(
        &self,
        view: &View,
        copy: &CopyRecord,
        item: Item<'_>,
        bytes: &[u8],
    ) -> Result<Has, StoreError> {
        self.in_time(view, copy, item.wait(bytes), |member| {
            put(member, item, bytes)
        })
    }

    /// The same for any request.
    pub(super) fn in_time<T>(
        &self,
        view: &View,
        copy: &CopyRecord,
        wait: Wait,
        ask: impl Fn(&Life) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let started = self.time.elapsed();
        loop {
            let member = self.members.get(&view.record, copy, wait);
            let error = match member.and_then(|member| ask(&member)) {
                Ok(has) => {
                    self.members.heard(&copy.place);
                    return Ok(has);
                }
                Err(error) => error,
            };
            self.members.unheard(&copy.place, &*self.time);
            let waited = self.time.elapsed().saturating_sub(started);
            if !error.is_unclear() || waited + self.limits.pause >= self.limits.write {
                return Err(error);
            }
            self.time.pause(self.limits.pause);
        }
    }
}
