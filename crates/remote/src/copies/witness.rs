//! The newest register that a copy has recorded: an object `copies/SET-seen-GENERATION-AUTHOR` of the copy, with the
//! register's text.
//!
//! A host that knows no newer register cannot tell one that its keeper has from an older one, which was restored. The
//! copies can. The writer tells each copy in the set of a register before it appends on that set. So an acknowledged
//! entry is on copies that all know the set of then, or a later one. A process asks the copies before it becomes the
//! writer, excludes a copy, or lets one in, and a host asks them when it begins. One answer of a copy that knows a
//! later register, or one of another line, is enough to refuse the keeper's ([`SetRecord::after`]).
//!
//! **Invariants:** a copy records only registers that the keeper had, and looks of a reader begin after the answer of
//! the copy before it calls a register old. So no change that happens meanwhile raises a false alarm.
//!
//! A restored keeper cannot be recognised if every copy of the newest set is away, and with them the directories of the
//! hosts that used it: what is left is as the backup has it.

use super::ancestry::After;
use super::doubts::read_whole;
use super::keeper::{Keeper, View};
use super::members::{Members, Wait};
use super::planted::{self, Planted};
use super::record::{SetRecord, Standing};
use super::remembered::restored;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::StoreError;
use std::sync::Arc;

/// The register may change so often while the copies are asked.
const ATTEMPTS: u32 = 16;

/// The folder of what copies know of their sets.
const FOLDER: &str = "copies";

/// A register that a copy has recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    pub identity: u64,
    pub generation: u64,
    pub author: u64,
    name: String,
}

impl Seen {
    fn of(record: &SetRecord) -> Seen {
        let (identity, generation, author) = (record.identity, record.generation, record.author());
        Seen {
            identity,
            generation,
            author,
            name: format!("{FOLDER}/{identity:016x}-seen-{generation}-{author:016x}"),
        }
    }

    fn of_name(name: &str) -> Option<Seen> {
        let (identity, rest) = name
            .strip_prefix(FOLDER)?
            .strip_prefix('/')?
            .split_once("-seen-")?;
        let (generation, author) = rest.split_once('-')?;
        Some(Seen {
            identity: u64::from_str_radix(identity, 16).ok()?,
            generation: generation.parse().ok()?,
            author: u64::from_str_radix(author, 16).ok()?,
            name: name.into(),
        })
    }

    /// Compares a register with this one.
    pub fn before(&self, record: &SetRecord) -> After {
        record.after(self.generation, self.author)
    }

    /// The register. `None`: it was deleted meanwhile, since the copy knows a later one.
    ///
    /// # Errors
    /// The store's; it is damaged.
    pub fn read(&self, store: &dyn RemotePlace) -> Result<Option<SetRecord>, StoreError> {
        read_whole(
            || store.read_object(&self.name),
            |bytes| {
                SetRecord::decode(&bytes).map_err(|misread| StoreError::Setup {
                    place: store.place(),
                    reason: format!("its object {}: {misread}", self.name),
                })
            },
        )
    }
}

/// The registers that a store has recorded, of any set: mostly one.
///
/// # Errors
/// The store's.
pub(super) fn seen_at(store: &dyn RemotePlace) -> Result<Vec<Seen>, StoreError> {
    let listed = store.list_objects(FOLDER)?;
    let seen = listed
        .iter()
        .filter_map(|object| Seen::of_name(&object.name));
    Ok(seen.collect())
}

/// Tells a store of a register that the keeper has, and deletes its predecessors there.
///
/// # Errors
/// The store's.
pub(super) fn tell(store: &dyn RemotePlace, record: &SetRecord) -> Result<(), StoreError> {
    let told = Seen::of(record);
    // A conflict: it is recorded already.
    store.create_object(&told.name, record.encode().as_bytes())?;
    let is_before = |seen: &Seen| {
        seen.identity == told.identity
            && seen.generation < told.generation
            && seen.before(record) == After::Continues
    };
    let seen = seen_at(store)?.into_iter().filter(is_before);
    let before: Vec<String> = seen.map(|seen| seen.name).collect();
    match before.is_empty() {
        true => Ok(()),
        false => store.remove_objects(&before),
    }
}

/// The register with which the copies that answer agree: this state, or a later one. A copy is asked whatever its
/// standing is, but for the one `except`.
///
/// # Errors
/// [`StoreError::Setup`]: a copy knows a register that this one does not continue. The keeper's.
pub(super) fn confirm(
    keeper: &Keeper,
    members: &Members,
    view: &Arc<View>,
    except: Option<&str>,
) -> Result<Arc<View>, StoreError> {
    let mut view = view.clone();
    for _ in 0..ATTEMPTS {
        let Some((place, seen)) = newer(members, &view.record, except) else {
            return Ok(view);
        };
        let there = keeper.read()?;
        check(&place, &seen, &there, keeper)?;
        view = there;
    }
    Err(StoreError::NotNow {
        what: "compare the register of the copies with what they know".into(),
        place: keeper.place.place(),
        reason: "it changes all the time".into(),
    })
}

/// Refuses a register that was read after the copy at this place was asked, and does not continue what that knows.
pub(super) fn check(
    place: &str,
    seen: &Seen,
    there: &View,
    keeper: &Keeper,
) -> Result<(), StoreError> {
    match seen.before(&there.record) {
        After::Continues => Ok(()),
        _ => {
            let witness = format!("the copy {place}");
            let keeper = keeper.place.place();
            Err(restored(
                seen.generation,
                &witness,
                Some(&there.record),
                &keeper,
                "",
            ))
        }
    }
}

/// Refuses to begin a new life at a place that knows a register which the present one does not continue: its earlier life
/// may have the only acknowledged entries.
///
/// # Errors
/// [`StoreError::Setup`]: it does. The place's, the keeper's.
pub(super) fn check_new(
    place: &str,
    store: &dyn RemotePlace,
    record: &SetRecord,
    keeper: &Keeper,
) -> Result<(), StoreError> {
    let is_newer =
        |seen: &Seen| seen.identity == record.identity && seen.before(record) != After::Continues;
    let Some(newer) = seen_at(store)?.into_iter().find(is_newer) else {
        return Ok(());
    };
    // Another change of the register meanwhile is found when it is replaced.
    check(place, &newer, &*keeper.read()?, keeper)
}

/// A copy that knows a register which this one does not continue. One that gives no answer says nothing.
fn newer(members: &Members, record: &SetRecord, except: Option<&str>) -> Option<(String, Seen)> {
    let is_asked =
        |standing: Standing| standing == Standing::InSync || !planted::is(Planted::OutNotAsked);
    let asked = record.copies.iter().filter(|copy| is_asked(copy.standing));
    let mut asked = asked.filter(|copy| Some(copy.place.as_str()) != except);
    asked.find_map(|copy| {
        let member = members.get(record, copy, Wait::Short).ok()?;
        let seen = seen_at(member.place_itself()).ok()?;
        let newer = seen.into_iter().find(|seen| {
            seen.identity == record.identity && seen.before(record) != After::Continues
        });
        Some((copy.place.clone(), newer?))
    })
}
