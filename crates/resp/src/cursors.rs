//! Positions of scans of large values.
//!
//! To continue `HSCAN`, `SSCAN` and `ZSCAN`, a client sends only a number, but the position in a value is a name of
//! any length. So a bounded number of names is kept, and the least recently used one is dropped. Its scan then begins
//! anew.

use std::collections::HashMap;

/// The most scans that are under way.
const CURSORS_MAX: usize = 4096;

/// Places where scans go on, by number.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    places: HashMap<u64, (u64, Vec<u8>)>,
    last: u64,
}

impl Cursors {
    /// Keeps a place of the value with this id; returns its number.
    pub fn keep(&mut self, id: u64, after: Vec<u8>) -> u64 {
        self.last += 1;
        // Numbers ascend, so the oldest is known without a list.
        if let Some(oldest) = self.last.checked_sub(CURSORS_MAX as u64) {
            self.places.remove(&oldest);
        }
        self.places.insert(self.last, (id, after));
        self.last
    }

    /// The place with this number, if it is one of this value. It stays: a client may ask twice.
    pub fn place(&self, number: u64, id: u64) -> Option<&[u8]> {
        let (of, after) = self.places.get(&number)?;
        (*of == id).then_some(after.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_place_goes_and_others_stay() {
        let mut cursors = Cursors::default();
        let first = cursors.keep(1, b"a".to_vec());
        let second = cursors.keep(1, b"b".to_vec());
        for _ in 0..CURSORS_MAX - 1 {
            cursors.keep(2, Vec::new());
        }
        assert_eq!(cursors.place(first, 1), None);
        assert_eq!(cursors.place(second, 1), Some(&b"b"[..]));
        assert_eq!(cursors.place(second, 2), None);
        assert_eq!(cursors.places.len(), CURSORS_MAX);
    }
}
