//! Keys that came, or changed, in a transaction while clients wait for some.
//!
//! Invariant: it has each key once, and a database that changed as a whole as one bit. So it is bounded by the number
//! of keys, not by the commands of the transaction.

use std::collections::{BTreeSet, VecDeque};

/// A key with its database.
pub(crate) type Place = (u8, Vec<u8>);

/// Keys whose clients are served when the transaction's commands have run.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    /// In their order.
    keys: VecDeque<Place>,
    /// The same.
    noted: BTreeSet<Place>,
    /// The databases in which any key may have been added or deleted, as bits by their numbers.
    whole: u16,
}

impl Filled {
    /// True if nothing is noted.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.whole == 0
    }

    /// Adds a key behind the others, unless it is there.
    pub fn add(&mut self, database: u8, key: &[u8]) {
        let is_last = |last: &Place| last.0 == database && last.1 == key;
        if self.keys.back().is_some_and(is_last) {
            return;
        }
        let place = (database, key.to_vec());
        if self.noted.insert(place.clone()) {
            self.keys.push_back(place);
        }
    }

    /// Notes that any key of a database may have been added or deleted.
    pub fn add_all(&mut self, database: u8) {
        self.whole |= 1 << database;
    }

    /// Takes the databases that were added whole.
    pub fn take_whole(&mut self) -> impl Iterator<Item = u8> + use<> {
        let whole = std::mem::take(&mut self.whole);
        (0..super::table_names::DATABASES).filter(move |database| whole & (1 << database) != 0)
    }

    /// Takes the first key: it may be added again.
    pub fn take(&mut self) -> Option<Place> {
        let place = self.keys.pop_front()?;
        self.noted.remove(&place);
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_there_once_until_it_is_taken() {
        let mut filled = Filled::default();
        assert!(filled.is_empty());
        for _ in 0..3 {
            for (database, key) in [(0, b"a"), (0, b"b"), (1, b"a")] {
                filled.add(database, key);
                filled.add_all(15);
                filled.add_all(database);
            }
        }
        assert_eq!(filled.take(), Some((0, b"a".to_vec())));
        filled.add(0, b"a");
        let taken: Vec<Place> = std::iter::from_fn(|| filled.take()).collect();
        assert_eq!(
            taken,
            [(0, b"b".to_vec()), (1, b"a".to_vec()), (0, b"a".to_vec())]
        );
        assert!(!filled.is_empty());
        assert_eq!(filled.take_whole().collect::<Vec<_>>(), [0, 1, 15]);
        assert!(filled.is_empty());
    }
}
