//! A least-recently-used list with an index: the order of a page buffer and of a disk cache.
//!
//! Entries are in one vector and linked by their places. So touching, inserting and removing take constant time,
//! and allocate nothing once the list has its full length.

use super::pages::PageMap;

const NONE: u32 = u32::MAX;

/// Values by page, in the order of their last use.
#[derive(Debug)]
pub struct Lru<V> {
    index: PageMap<u32>,
    entries: Vec<Entry<V>>,
    unused: Vec<u32>,
    newest: u32,
    oldest: u32,
}

#[derive(Debug)]
struct Entry<V> {
    page: u64,
    value: V,
    newer: u32,
    older: u32,
}

impl<V: Copy> Lru<V> {
    /// An empty list.
    pub fn new() -> Self {
        Lru {
            index: PageMap::default(),
            entries: Vec::new(),
            unused: Vec::new(),
            newest: NONE,
            oldest: NONE,
        }
    }

    /// Its number of pages.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// The value of `page`; its place in the order stays.
    pub fn get(&self, page: u64) -> Option<&V> {
        let at = *self.index.get(&page)?;
        Some(&self.entries[at as usize].value)
    }

    /// The value of `page`, to change it; its place in the order stays.
    pub fn get_mut(&mut self, page: u64) -> Option<&mut V> {
        let at = *self.index.get(&page)?;
        Some(&mut self.entries[at as usize].value)
    }

    /// The value of `page`, which becomes the most recently used.
    pub fn touch(&mut self, page: u64) -> Option<&mut V> {
        let at = *self.index.get(&page)?;
        self.unlink(at);
        self.link(at);
        Some(&mut self.entries[at as usize].value)
    }

    /// Adds `page` as the most recently used.
    ///
    /// # Panics
    /// If it is present already.
    pub fn insert(&mut self, page: u64, value: V) {
        let entry = Entry {
            page,
            value,
            newer: NONE,
            older: NONE,
        };
        let at = match self.unused.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        assert!(
            self.index.insert(page, at).is_none(),
            "page {page} is there already"
        );
        self.link(at);
    }

    /// Takes `page` out.
    pub fn remove(&mut self, page: u64) -> Option<V> {
        let at = self.index.remove(&page)?;
        self.unlink(at);
        self.unused.push(at);
        Some(self.entries[at as usize].value)
    }

    /// Takes out the least recently used page for which `may_go`.
    pub fn remove_oldest(&mut self, may_go: impl Fn(&V) -> bool) -> Option<(u64, V)> {
        let mut at = self.oldest;
        while at != NONE {
            let entry = &self.entries[at as usize];
            if may_go(&entry.value) {
                let (page, value) = (entry.page, entry.value);
                self.remove(page);
                return Some((page, value));
            }
            at = entry.newer;
        }
        None
    }

    /// Changes the least recently used pages for which `is_meant`, at most so many; which they are, oldest first.
    pub fn change_oldest(
        &mut self,
        at_most: usize,
        is_meant: impl Fn(&V) -> bool,
        change: impl Fn(&mut V),
    ) -> Vec<(u64, V)> {
        let mut changed = Vec::new();
        let mut at = self.oldest;
        while at != NONE && changed.len() < at_most {
            let entry = &mut self.entries[at as usize];
            if is_meant(&entry.value) {
                changed.push((entry.page, entry.value));
                change(&mut entry.value);
            }
            at = entry.newer;
        }
        changed
    }

    fn link(&mut self, at: u32) {
        let newest = self.newest;
        let entry = &mut self.entries[at as usize];
        entry.older = newest;
        entry.newer = NONE;
        match newest {
            NONE => self.oldest = at,
            _ => self.entries[newest as usize].newer = at,
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let Entry { newer, older, .. } = self.entries[at as usize];
        match newer {
            NONE => self.newest = older,
            _ => self.entries[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            _ => self.entries[older as usize].newer = newer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Beside a plain vector in the order of use.
        #[test]
        fn behaves_as_a_plain_list(steps in prop::collection::vec((0u8..5, 0u64..8), 0..200)) {
            let mut lru = Lru::new();
            let mut plain: Vec<(u64, u64)> = Vec::new(); // oldest first
            for (at, (what, page)) in steps.into_iter().enumerate() {
                let known = plain.iter().position(|entry| entry.0 == page);
                match (what, known) {
                    (0, None) => {
                        lru.insert(page, at as u64);
                        plain.push((page, at as u64));
                    }
                    (1 | 0, _) => {
                        let expected = known.map(|known| plain.remove(known));
                        plain.extend(expected);
                        prop_assert_eq!(lru.touch(page).copied(), expected.map(|entry| entry.1));
                    }
                    (2, _) => {
                        let expected = known.map(|known| plain.remove(known).1);
                        prop_assert_eq!(lru.remove(page), expected);
                    }
                    (3, _) => {
                        let even = plain.iter().position(|entry| entry.1 % 2 == 0);
                        let expected = even.map(|even| plain.remove(even));
                        prop_assert_eq!(lru.remove_oldest(|value| value % 2 == 0), expected);
                    }
                    _ => {
                        prop_assert_eq!(lru.get(page).copied(), known.map(|known| plain[known].1));
                    }
                }
                prop_assert_eq!(lru.len(), plain.len());
            }
        }
    }
}
