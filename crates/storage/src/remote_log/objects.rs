//! The other request to a store that keeps a log: objects with names, for contents that are read whole and never
//! change, such as the database's manifest.
//!
//! An object is created once and not replaced. A reader of one has its creator's bytes; of several creators under one
//! name one succeeds. So they need no more of a store than entries do.

use super::store::{Appended, RemoteStore, StoreError};

/// The most bytes of an object's name.
pub const OBJECT_NAME_BYTES_MAX: usize = 200;

/// Name and size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedObject {
    /// The whole key, with its prefix.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// A store's objects beside its log. Calls block, and may come from several threads. After a failure the request may
/// be done or not.
pub trait RemoteObjects: Send + Sync {
    /// Creates an object, if there is none of this name. It is durable before this returns.
    ///
    /// # Errors
    /// The store's; a name that [`is_object_name`] refuses.
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError>;

    /// An object's bytes, if there is one.
    ///
    /// # Errors
    /// As [`RemoteObjects::create_object`].
    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// An object's bytes at another place, as [`RemoteStore::read_elsewhere`] has an entry's.
    ///
    /// # Errors
    /// As [`RemoteObjects::create_object`].
    fn read_object_elsewhere(
        &self,
        name: &str,
        attempt: u32,
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let _ = (name, attempt);
        Ok(None)
    }

    /// The objects whose names begin so, up to a `/`, by name. The list may be old.
    ///
    /// # Errors
    /// As [`RemoteObjects::create_object`].
    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError>;

    /// Deletes objects; absent ones count as deleted.
    ///
    /// # Errors
    /// As [`RemoteObjects::create_object`]; some are deleted.
    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError>;
}

/// A store with a log and the objects that belong to it.
pub trait RemotePlace: RemoteStore + RemoteObjects {}

impl<T: RemoteStore + RemoteObjects> RemotePlace for T {}

/// True if an object, or a folder of objects, can have this name: parts of small letters, digits and hyphens, with `/`
/// between them.
pub fn is_object_name(name: &str) -> bool {
    let is_part = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    name.len() <= OBJECT_NAME_BYTES_MAX && name.split('/').all(is_part)
}

/// Refuses a name that no object can have.
///
/// # Errors
/// [`StoreError::Refused`].
pub fn check_object_name(place: &str, name: &str) -> Result<(), StoreError> {
    match is_object_name(name) {
        true => Ok(()),
        false => Err(StoreError::Refused {
            what: "an object".into(),
            place: place.into(),
            reason: "its name has other characters than small letters, digits, `-` and `/`".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        for name in ["database/manifest", "a", "bases/0000-1/part-7"] {
            check_object_name("here", name).unwrap();
        }
        let long = "a".repeat(OBJECT_NAME_BYTES_MAX + 1);
        for name in [
            "", "/", "a/", "/a", "a//b", "..", "a/../b", "A", "a b", &long,
        ] {
            assert!(check_object_name("here", name).is_err(), "{name:?}");
        }
    }
}
