//! The last known places of elements' rows: hints, by which a row is found without its index.
//!
//! An index has a row's first eight bytes of key, and elements of one key often have these in common. So finding an
//! element by the index means reading a row at every step. A hint is a word: the row's address and a part of the hash
//! of its key and name. Each element has one place for its hint, shared with others. The reader of a hint checks that
//! the row is one of the table and has the name. So a hint may be wrong, or of a row that was deleted, or of a
//! transaction that was undone.
//!
//! Invariant: nothing that a command answers depends on hints.

use sardonyx::low_level::{Address, prefetch_value};
use sardonyx_base::random::system_random;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Numbers of places for hints: 4, 16 and 64 MiB. Few places stay in the processor's cache; with many keys, their hints would
/// be overwritten before they are needed. The command that finds too few makes the next size. The smaller ones stay, so a
/// hint is read without a lock.
const PLACES: [usize; 3] = [1 << 19, 1 << 21, 1 << 23];
/// Bits of an address, in units of 8 bytes: as many as the engine has.
const ADDRESS_BITS: u32 = 40;

/// Hints for the elements of all keys.
pub(crate) struct Places {
    /// The places in use, and the smaller ones in use before.
    sizes: [OnceLock<Box<[AtomicU64]>>; PLACES.len()],
    used: AtomicUsize,
    /// Hints that took another's place since it was looked whether there are too few.
    displaced: AtomicUsize,
    secret: Secret,
}

/// Hashes by a secret, so that clients cannot choose elements that share a place.
struct Secret {
    added: u64,
    factor: u64,
}

impl Secret {
    fn new() -> Secret {
        Secret {
            added: system_random(),
            factor: system_random() | 1,
        }
    }

    #[inline]
    fn hash(&self, id: u64, name: &[u8]) -> u64 {
        let (words, rest) = name.as_chunks();
        let mut state = self.mix(id ^ (name.len() as u64).rotate_left(40));
        for word in words {
            state = self.mix(state ^ u64::from_le_bytes(*word));
        }
        // They are few: a loop takes less time than to copy them.
        let last = rest.iter().rev();
        let last = last.fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.mix(state ^ last)
    }

    /// Multiplies to 128 bits and folds the halves.
    #[inline]
    fn mix(&self, word: u64) -> u64 {
        let product = u128::from(word ^ self.added) * u128::from(self.factor);
        product as u64 ^ (product >> 64) as u64
    }
}

/// The place of an element's hint, and the tag that the hint must have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place(u64);

impl Place {
    fn tag(self) -> u64 {
        self.0 >> ADDRESS_BITS << ADDRESS_BITS
    }
}

impl Places {
    /// Without hints.
    pub fn new() -> Places {
        Places {
            sizes: Default::default(),
            used: AtomicUsize::new(0),
            displaced: AtomicUsize::new(0),
            secret: Secret::new(),
        }
    }

    fn words(&self) -> &[AtomicU64] {
        let used = self.used.load(Ordering::Relaxed).min(PLACES.len() - 1);
        self.sizes[used].get_or_init(|| (0..PLACES[used]).map(|_| AtomicU64::new(0)).collect())
    }

    fn word(&self, place: Place) -> &AtomicU64 {
        let words = self.words();
        &words[place.0 as usize & (words.len() - 1)]
    }

    /// The place for the element of this name of a key.
    pub fn of(&self, id: u64, name: &[u8]) -> Place {
        Place(self.secret.hash(id, name))
    }

    /// Asks the processor for an element's hint.
    #[inline]
    pub fn prefetch(&self, place: Place) {
        prefetch_value(self.word(place));
    }

    /// The address at which the element may be.
    pub fn hint(&self, place: Place) -> Option<Address> {
        // The reader holds the tables, as the writer did; and the row is checked in any case.
        let word = self.word(place).load(Ordering::Relaxed);
        let units = (word ^ place.tag()) & !(u64::MAX << ADDRESS_BITS);
        (word != 0 && (word ^ place.tag()) >> ADDRESS_BITS == 0).then_some(Address(units << 3))
    }

    /// Notes the address of the element.
    pub fn note(&self, place: Place, address: Address) {
        let units = address.0 >> 3;
        if units << 3 == address.0 && units >> ADDRESS_BITS == 0 {
            let word = self.word(place);
            let before = word.load(Ordering::Relaxed);
            if before != 0 && (before ^ place.tag()) >> ADDRESS_BITS != 0 {
                self.displaced.fetch_add(1, Ordering::Relaxed);
            }
            word.store(place.tag() | units, Ordering::Relaxed);
        }
    }

    /// Takes more places, without the hints that there are, if there are too few for so many names. That is asked when many
    /// hints have taken others' places.
    pub fn suffice_for(&self, names: impl FnOnce() -> u64) {
        let (used, there) = (self.used.load(Ordering::Relaxed), self.words().len());
        if self.displaced.load(Ordering::Relaxed) < there / 4 {
            return;
        }
        self.displaced.store(0, Ordering::Relaxed);
        if used + 1 < PLACES.len() && names() > there as u64 / 2 {
            self.used.store(used + 1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_similar_names_and_ids_have_places_of_their_own() {
        let places = Places::new();
        let mut seen = std::collections::HashSet::new();
        for id in 0..50 {
            for number in 0..50 {
                let name = format!("element:{number:012}");
                for end in 0..=name.len() {
                    seen.insert((id, number, places.of(id, &name.as_bytes()[..end]).0));
                }
            }
        }
        assert_eq!(seen.len(), 50 * 50 * 21);
        let others: std::collections::HashSet<_> = seen.iter().map(|(.., hash)| hash).collect();
        // Numbers with the same beginnings have the same shorter names.
        assert_eq!(others.len(), 50 * (19 + 5 + 50));
        assert_ne!(places.of(1, b"\0").0, places.of(1, b"").0);
    }

    #[test]
    fn a_hint_is_of_its_element_until_another_takes_its_place() {
        let places = Places::new();
        let one = places.of(7, b"member");
        assert!(places.hint(one).is_none());
        places.note(one, Address(4096 + 24));
        assert_eq!(places.hint(one), Some(Address(4096 + 24)));
        let other = Place(one.0 ^ 1 << ADDRESS_BITS);
        assert!(places.hint(other).is_none());
        places.note(other, Address(1 << 20));
        assert!(places.hint(one).is_none());
        // An address that does not fit is not noted.
        places.note(one, Address(1 << (ADDRESS_BITS + 3)));
        places.note(one, Address(4));
        assert_eq!(places.hint(other), Some(Address(1 << 20)));
    }

    #[test]
    fn places_get_more_when_hints_take_each_others_and_names_are_many() {
        let places = Places::new();
        let most = PLACES[0] as u64;
        let displace = |names: u64, many: usize| {
            for number in 0..many as u64 {
                places.note(Place((1 + number) << ADDRESS_BITS), Address(8));
            }
            places.suffice_for(|| names);
            places.words().len()
        };
        let enough = PLACES[0] / 4 + 1;
        assert_eq!(displace(most, 100), PLACES[0]);
        assert_eq!(displace(most / 2, enough), PLACES[0]);
        // The check was made; earlier displacements do not count.
        assert_eq!(displace(most, 100), PLACES[0]);
        assert_eq!(displace(most, enough), PLACES[1]);
        let one = places.of(7, b"member");
        places.note(one, Address(4096));
        assert_eq!(places.hint(one), Some(Address(4096)));
        let enough = PLACES[1] / 4 + 1;
        assert_eq!(displace(u64::MAX, enough), PLACES[2]);
        assert!(places.hint(one).is_none());
        let enough = PLACES[2] / 4 + 1;
        assert_eq!(displace(u64::MAX, enough), PLACES[2]);
    }
}
