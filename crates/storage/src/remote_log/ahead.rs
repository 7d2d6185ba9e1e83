//! Reading ahead: many entries of a long log are requested at once, since each request takes the time of a round.
//!
//! Entries read ahead are final, so they are as good as entries read in their turn. A reader whose answers came late
//! would have the same, and it makes the same checks of them. The *absence* of an entry is never taken from here, nor
//! is an error: then the reader asks itself.
//!
//! Invariant: I10 (the kept entries have a bound, [`AHEAD_BYTES`], or are one).

use super::store::{LIST_MOST, Listed, RemoteStore};
use std::collections::VecDeque;

/// So many entries in a row are read one by one: a follower of a growing log reads no list.
const ONE_BY_ONE: u32 = 4;

/// The most entries that are read at once.
const AHEAD_ENTRIES: usize = 64;

/// The most bytes of those, if they are several.
const AHEAD_BYTES: u64 = 32 << 20;

/// Entries that were read before it is their turn.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Entries that were asked for in a row, without an end.
    in_a_row: u32,
    /// The stored entries, by the list; from the next entry on.
    listed: VecDeque<Listed>,
    read: VecDeque<(u64, Vec<u8>)>,
}

impl Ahead {
    /// The bytes of this entry, if it was read ahead or is now. The reader asks for one entry after the other.
    pub fn take(&mut self, store: &dyn RemoteStore, number: u64) -> Option<Vec<u8>> {
        if self.in_a_row < ONE_BY_ONE {
            self.in_a_row += 1;
            return None;
        }
        if self.read.front().is_none_or(|(read, _)| *read != number) {
            self.fill(store, number);
        }
        let (read, bytes) = self.read.pop_front()?;
        (read == number).then_some(bytes)
    }

    /// There is no other entry now.
    pub fn is_at_end(&mut self) {
        *self = Ahead::default();
    }

    fn fill(&mut self, store: &dyn RemoteStore, number: u64) {
        self.read.clear();
        if self
            .listed
            .front()
            .is_none_or(|listed| listed.number != number)
        {
            // After an error, and at the end, it is read by itself.
            self.listed = store.list(number).unwrap_or_default().into();
        }
        let (mut numbers, mut bytes) = (Vec::new(), 0);
        for (wanted, listed) in (number..).zip(self.listed.iter().take(AHEAD_ENTRIES)) {
            bytes += listed.bytes;
            let is_too_much = !numbers.is_empty() && bytes > AHEAD_BYTES;
            if listed.number != wanted || is_too_much {
                break;
            }
            numbers.push(wanted);
        }
        if numbers.len() < 2 {
            // The list shows the end, or is old.
            self.listed.clear();
            self.in_a_row = 0;
            return;
        }
        self.listed.drain(..numbers.len());
        let read = store.read_several(&numbers).unwrap_or_default();
        let found = numbers.into_iter().zip(read);
        let found = found.map_while(|(number, bytes)| Some((number, bytes?)));
        self.read.extend(found);
        if self.read.is_empty() {
            self.listed.clear();
            self.in_a_row = 0;
        }
    }
}

const _: () = assert!(AHEAD_ENTRIES <= LIST_MOST);

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryStore;
    use super::*;

    #[test]
    fn entries_come_in_order_each_once_and_an_end_is_never_taken_from_what_was_read() {
        let store = MemoryStore::new();
        let put = |numbers: std::ops::Range<u64>| {
            for number in numbers {
                store.append_at(number, &number.to_le_bytes()).unwrap();
            }
        };
        put(1..201);
        let mut ahead = Ahead::default();
        let mut read_ahead = 0;
        for number in 1..201 {
            match ahead.take(&store, number) {
                Some(bytes) => {
                    assert_eq!(bytes, number.to_le_bytes());
                    read_ahead += 1;
                }
                None => assert!(store.read(number).unwrap().is_some()),
            }
        }
        assert!(read_ahead > 190, "{read_ahead}");
        assert_eq!(ahead.take(&store, 201), None);
        ahead.is_at_end();
        // Later entries are found, and a missing one ends the reading ahead.
        put(201..210);
        put(211..220);
        for number in 201..210 {
            if let Some(bytes) = ahead.take(&store, number) {
                assert_eq!(bytes, number.to_le_bytes());
            }
        }
        assert_eq!(ahead.take(&store, 210), None);
    }
}
