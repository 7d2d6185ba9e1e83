//! The entries of an entry log in memory: the place of each, and which segments hold any.
//!
//! Bound (I10): 32 bytes for each entry, and about half as much for the tree around them.

use super::change::Change;
use crate::log::group::GroupHeader;
use crate::log::{LogLayout, Lsn};
use crate::remote_log::store::{LIST_MOST, Listed};
use std::collections::BTreeMap;

/// The place of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The start of its group.
    pub lsn: Lsn,
    /// Its group's number.
    pub group: u64,
    /// The offset of its bytes in the group's records.
    pub at: u32,
    pub bytes: u32,
}

/// The entries, by number.
#[derive(Debug)]
pub(super) struct Index {
    layout: LogLayout,
    entries: BTreeMap<u64, Place>,
    /// The number of entries whose groups start in a segment, for each segment that has some.
    live: BTreeMap<u64, u64>,
}

impl Index {
    /// No entries.
    pub fn new(layout: LogLayout) -> Self {
        Index {
            layout,
            entries: BTreeMap::new(),
            live: BTreeMap::new(),
        }
    }

    /// The place of an entry.
    pub fn get(&self, number: u64) -> Option<Place> {
        self.entries.get(&number).copied()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Entries from a number on.
    pub fn list(&self, from: u64) -> Vec<Listed> {
        let entries = self.entries.range(from..).take(LIST_MOST);
        let listed = entries.map(|(number, place)| Listed {
            number: *number,
            bytes: u64::from(place.bytes),
        });
        listed.collect()
    }

    /// Makes a change of a group. Returns false if an entry of the number exists already.
    pub fn apply(&mut self, group: &GroupHeader, change: &Change) -> bool {
        match *change {
            Change::Put { number, at, bytes } => {
                let place = Place {
                    lsn: group.lsn,
                    group: group.number,
                    at,
                    bytes,
                };
                *self.live.entry(self.segment(&place)).or_default() += 1;
                self.entries.insert(number, place).is_none()
            }
            Change::Remove { number } => {
                if let Some(place) = self.entries.remove(&number) {
                    let segment = self.segment(&place);
                    if let Some(count) = self.live.get_mut(&segment) {
                        *count -= 1;
                        if *count == 0 {
                            self.live.remove(&segment);
                        }
                    }
                }
                true
            }
        }
    }

    /// The place from which the log is needed once these changes are made by a group that starts at `lsn`. It is the
    /// segment with the oldest entry, and never beyond that of the group.
    pub fn needed_from(&self, lsn: Lsn, changes: &[Change]) -> Lsn {
        let mut removed = BTreeMap::<u64, u64>::new();
        for change in changes {
            if let Change::Remove { number } = change
                && let Some(place) = self.entries.get(number)
            {
                *removed.entry(self.segment(place)).or_default() += 1;
            }
        }
        let stays = |(segment, count): &(&u64, &u64)| removed.get(segment) != Some(count);
        let oldest = self.live.iter().find(stays).map(|(segment, _)| *segment);
        let own = self.layout.segment_of(lsn);
        self.layout.segment_start(oldest.unwrap_or(own).min(own))
    }

    fn segment(&self, place: &Place) -> u64 {
        self.layout.segment_of(place.lsn)
    }
}
