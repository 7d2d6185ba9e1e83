//! Where rows of keys, and of their elements, stood when they were last found: hints, by which a row is found without its
//! index.
//!
//! An index has a row's first eight bytes of key, and elements of one key have these in common, as keys often have: to find
//! one by the index means to look at a row at every step. A hint is a word, the row's address and a part of the hash of its
//! key and name; each has one place for it, which it shares with others. Whoever finds a row by a hint looks whether it is one of
//! the table and has the name: so a hint may be wrong, or of a row that is gone, or of a transaction that was undone.
//!
//! Invariants: keys are the elements of id 0, which no key has; nothing that a command answers depends on hints.

use super::tables::PRIMARY;
use crate::failure::Failure;
use sardonyx::{Address, Error, RowIndex, RowRef, Rows};
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// Hints that are kept: 4 MiB of them.
const PLACES: usize = 1 << 19;
/// Bits of an address, in units of 8 bytes: as many as the engine has.
const ADDRESS_BITS: u32 = 40;

/// The id of which keys themselves are elements.
pub(super) const KEYS: u64 = 0;

/// Hints for all keys and their elements.
pub(crate) struct Places {
    words: Box<[AtomicU64]>,
    hashes: RandomState,
}

/// Where the hint for an element stands, and by what it is known.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    at: usize,
    tag: u64,
}

impl Places {
    /// Without hints.
    pub fn new() -> Places {
        Places {
            words: (0..PLACES).map(|_| AtomicU64::new(0)).collect(),
            hashes: RandomState::new(),
        }
    }

    /// The place for the element of this name of a key.
    pub fn of(&self, id: u64, name: &[u8]) -> Place {
        let hash = self.hashes.hash_one((id, name));
        Place {
            at: hash as usize & (PLACES - 1),
            tag: hash >> ADDRESS_BITS << ADDRESS_BITS,
        }
    }

    /// Where the element may stand.
    pub fn hint(&self, place: Place) -> Option<Address> {
        // Whoever reads it holds the tables, as whoever wrote it did; and it would be looked at in any case.
        let word = self.words[place.at].load(Ordering::Relaxed);
        let units = (word ^ place.tag) & !(u64::MAX << ADDRESS_BITS);
        (word != 0 && (word ^ place.tag) >> ADDRESS_BITS == 0).then_some(Address(units << 3))
    }

    /// The element stands there.
    pub fn note(&self, place: Place, address: Address) {
        let units = address.0 >> 3;
        if units << 3 == address.0 && units >> ADDRESS_BITS == 0 {
            self.words[place.at].store(place.tag | units, Ordering::Relaxed);
        }
    }
}

/// The row that is meant: where it stood last, or else where the index has it, which is noted.
///
/// # Errors
/// What cannot be read.
pub(super) fn found<'r>(
    places: &Places,
    place: Place,
    rows: &'r Rows<'_, '_>,
    is_it: impl FnOnce(&RowRef<'r>) -> Result<bool, Failure>,
    by_index: impl FnOnce(&RowIndex<'r>) -> Result<Option<RowRef<'r>>, Error>,
) -> Result<Option<RowRef<'r>>, Failure> {
    if let Some(at) = places.hint(place)
        && let Some(row) = rows.at(at)?
        && is_it(&row)?
    {
        return Ok(Some(row));
    }
    let row = by_index(&rows.index(PRIMARY)?)?;
    if let Some(row) = &row {
        places.note(place, row.address());
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_of_its_element_until_another_takes_its_place() {
        let places = Places::new();
        let one = places.of(7, b"member");
        assert!(places.hint(one).is_none());
        places.note(one, Address(4096 + 24));
        assert_eq!(places.hint(one), Some(Address(4096 + 24)));
        let other = Place {
            tag: one.tag ^ 1 << ADDRESS_BITS,
            ..one
        };
        assert!(places.hint(other).is_none());
        places.note(other, Address(1 << 20));
        assert!(places.hint(one).is_none());
        // What has no room is not noted.
        places.note(one, Address(1 << (ADDRESS_BITS + 3)));
        places.note(one, Address(4));
        assert_eq!(places.hint(other), Some(Address(1 << 20)));
    }
}
