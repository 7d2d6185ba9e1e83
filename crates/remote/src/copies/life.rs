//! A copy in one of its lives: a store in a part of another one.
//!
//! A copy that has something else than the log under a number begins a new life, with nothing, in another part of its place:
//! other numbers, another folder of objects. So nothing that counts is ever deleted or replaced there, and a request to an
//! earlier life that arrives late changes nothing in this one.

use super::planted::{self, Planted};
use crate::encrypted::ENCRYPTION_BYTES;
use sardonyx_storage::remote_log::entry::ENTRY_HEAD_BYTES;
use sardonyx_storage::remote_log::objects::{
    ListedObject, OBJECT_NAME_BYTES_MAX, RemoteObjects, RemotePlace, is_object_name,
};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use std::sync::Arc;

const LIFE_NUMBERS: u64 = 1 << 44;

/// The last life that has numbers of its own.
pub(super) const LIFE_LAST: u64 = (1 << 20) - 1;

/// The object of the keeper that has the identity of its set.
pub(super) const IDENTITY: &str = "copies/identity";

/// The identity of the set that a keeper has, if the object is there, and as it was written.
///
/// # Errors
/// The store's.
pub(super) fn identity_at(keeper: &dyn RemotePlace) -> Result<Option<u64>, StoreError> {
    let found = keeper.read_object(IDENTITY)?.unwrap_or_default();
    let found = std::str::from_utf8(&found).ok();
    Ok(found.and_then(|found| u64::from_str_radix(found, 16).ok()))
}

/// The object that marks a life of a copy of this set.
pub(super) fn mark_of(identity: u64, life: u64) -> String {
    format!("copies/{identity:016x}-{life}")
}

/// The last life of a copy of this set that has begun at a place; 0: none has.
///
/// # Errors
/// The store's.
pub(super) fn marked_lives(store: &dyn RemotePlace, identity: u64) -> Result<u64, StoreError> {
    Ok(lives_at(store, identity)?.into_iter().max().unwrap_or(0))
}

/// The lives of a copy of this set that have begun at a place.
///
/// # Errors
/// The store's.
pub(super) fn lives_at(store: &dyn RemotePlace, identity: u64) -> Result<Vec<u64>, StoreError> {
    let before = format!("copies/{identity:016x}-");
    let listed = store.list_objects("copies")?;
    let lives = listed.iter().filter_map(|object| {
        let life = object.name.strip_prefix(before.as_str())?;
        life.parse().ok()
    });
    Ok(lives.collect())
}

/// A place that has a mark of another set is that one's, also if it has no entry yet.
///
/// # Errors
/// The store's; [`StoreError::Setup`]: it has such a mark.
pub(super) fn check_is_of_no_other(
    store: &dyn RemotePlace,
    identity: u64,
) -> Result<(), StoreError> {
    let own = format!("copies/{identity:016x}-");
    let listed = store.list_objects("copies")?;
    let is_own = |name: &str| name.starts_with(&own) || name.starts_with("copies/sign-");
    match listed.iter().find(|object| !is_own(&object.name)) {
        None => Ok(()),
        Some(other) => Err(StoreError::Setup {
            place: store.place(),
            reason: format!(
                "another set of copies has it ({}): name another, empty place; or empty it, if no set needs it",
                other.name
            ),
        }),
    }
}

/// The folder of all objects of a life.
pub(super) fn folder_of(life: u64) -> String {
    format!("life-{life}")
}

/// A store in a part of another one.
#[derive(Debug)]
pub(super) struct Life {
    store: Arc<dyn RemotePlace>,
    life: u64,
}

impl Life {
    pub fn new(store: Arc<dyn RemotePlace>, life: u64) -> Self {
        Life { store, life }
    }

    /// The store, with what the copy knows of its set.
    pub fn place_itself(&self) -> &dyn RemotePlace {
        &*self.store
    }

    fn first(&self) -> u64 {
        (self.life - 1) * LIFE_NUMBERS
    }

    fn refused(&self, what: String, reason: &str) -> StoreError {
        StoreError::Refused {
            what,
            place: self.place(),
            reason: reason.into(),
        }
    }

    fn number(&self, number: u64) -> Result<u64, StoreError> {
        match number < LIFE_NUMBERS {
            true => Ok(self.first() + number),
            false => Err(self.refused(format!("entry {number}"), "a copy has no such numbers")),
        }
    }

    fn name(&self, name: &str) -> Result<String, StoreError> {
        let named = format!("{}/{name}", folder_of(self.life));
        match is_object_name(name) && named.len() <= OBJECT_NAME_BYTES_MAX {
            true => Ok(named),
            false => Err(self.refused(
                "an object".into(),
                "its name has other characters than small letters, digits, `-` and `/`, or is too long",
            )),
        }
    }

    /// All objects, by the names that they have in this life.
    pub fn list_all_objects(&self) -> Result<Vec<ListedObject>, StoreError> {
        self.objects_of(&folder_of(self.life))
    }

    fn objects_of(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        let before = folder_of(self.life).len() + 1;
        let mut listed = self.store.list_objects(folder)?;
        for listed in &mut listed {
            listed.name = listed.name.get(before..).unwrap_or_default().into();
        }
        Ok(listed)
    }
}

impl RemoteStore for Life {
    fn place(&self) -> String {
        self.store.place()
    }

    fn entry_bytes_max(&self) -> u64 {
        self.store.entry_bytes_max()
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.store.append_at(self.number(number)?, bytes)
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.read(self.number(number)?)
    }

    fn read_several(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let numbers: Result<Vec<u64>, _> = numbers.iter().map(|n| self.number(*n)).collect();
        self.store.read_several(&numbers?)
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        let mut listed = self.store.list(self.number(from)?)?;
        for listed in &mut listed {
            listed.number -= self.first();
        }
        listed.retain(|listed| listed.number < LIFE_NUMBERS);
        Ok(listed)
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        let within = numbers.iter().filter(|number| **number < LIFE_NUMBERS);
        let numbers: Vec<u64> = within.map(|number| self.first() + number).collect();
        self.store.remove(&numbers)
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.store.read_register(register)
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        self.store.swap_register(register, expected, bytes)
    }
}

impl RemoteObjects for Life {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.store.create_object(&self.name(name)?, bytes)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.read_object(&self.name(name)?)
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.objects_of(&self.name(folder)?)
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        let names: Result<Vec<String>, _> = names.iter().map(|name| self.name(name)).collect();
        self.store.remove_objects(&names?)
    }
}

/// An entry of at most so many bytes may be a fence, encrypted or not.
pub(super) const FENCE_BYTES_MAX: u64 = (ENTRY_HEAD_BYTES + ENCRYPTION_BYTES) as u64;

/// Deletes the remains of earlier lives; the rest is deleted the next time. Possible fences stay for ever: a writer
/// that was stopped for hours appends in the life that it knows, at the number of its successor's fence ([`super`],
/// rule 4).
pub(super) fn remove_earlier(store: &dyn RemotePlace, life: u64) -> Result<(), StoreError> {
    for earlier in 1..life {
        let objects = store.list_objects(&folder_of(earlier))?;
        let names: Vec<String> = objects.into_iter().map(|object| object.name).collect();
        store.remove_objects(&names)?;
    }
    let end = (life - 1) * LIFE_NUMBERS;
    let mut from = 0;
    while from < end {
        let listed = store.list(from)?;
        let earlier = listed.iter().filter(|listed| listed.number < end);
        let is_fence = |listed: &Listed| {
            listed.bytes <= FENCE_BYTES_MAX && !planted::is(Planted::FencesOfLivesDeleted)
        };
        let removed = earlier.filter(|listed| !is_fence(listed));
        let removed: Vec<u64> = removed.map(|listed| listed.number).collect();
        if !removed.is_empty() {
            store.remove(&removed)?;
        }
        from = listed.last().map_or(end, |last| last.number + 1);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::keeps_objects;
    use sardonyx_storage::remote_log::memory::MemoryStore;

    #[test]
    fn the_last_life_of_a_set_is_found_among_those_of_others() {
        let store = MemoryStore::new();
        assert_eq!(marked_lives(&store, 0x71).unwrap(), 0);
        for mark in [
            mark_of(0x71, 9),
            mark_of(0x71, 12),
            mark_of(0x7, 40),
            "copies/sign-1".into(),
        ] {
            store.create_object(&mark, b"").unwrap();
        }
        assert_eq!(marked_lives(&store, 0x71).unwrap(), 12);
        assert_eq!(marked_lives(&store, 0x1).unwrap(), 0);
    }

    #[test]
    fn lives_of_a_copy_do_not_see_each_other_and_earlier_ones_can_be_deleted() {
        let store: Arc<dyn RemotePlace> = Arc::new(MemoryStore::new());
        let [one, two] = [1, 2].map(|life| Life::new(store.clone(), life));
        keeps_objects(&one);
        keeps_objects(&two);
        let long = [1; FENCE_BYTES_MAX as usize + 1];
        for number in 1..2500 {
            one.append_at(number, &long).unwrap();
        }
        one.append_at(2500, &long[1..]).unwrap();
        two.append_at(7, b"two").unwrap();
        assert_eq!(two.read(7).unwrap().unwrap(), b"two");
        assert_eq!(two.list(0).unwrap().len(), 1);
        assert_eq!(one.list(2500).unwrap().len(), 1, "not those of the other");
        assert!(one.append_at(LIFE_NUMBERS, b"x").is_err());
        remove_earlier(&*store, 2).unwrap();
        let left: Vec<u64> = one.list(0).unwrap().iter().map(|l| l.number).collect();
        assert_eq!(left, [2500], "it may be a fence");
        assert_eq!(one.list_all_objects().unwrap(), []);
        assert_eq!(two.read(7).unwrap().unwrap(), b"two");
        assert_eq!(two.list_all_objects().unwrap().len(), 2);
    }
}
