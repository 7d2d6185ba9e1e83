//! The directory of a page cache in GEM, between the nodes' buffers and the disks. (GEM paper,
//! section 2: extended memory as a write buffer, and for "caching database pages at an intermediate
//! storage level".)
//!
//! GEM is not volatile, so a page that was written there is on storage; its disk's copy is brought up
//! to date later. Since all transfers between GEM and the disks go through main memory, a node does
//! that: the *destage*. The directory is data in GEM, and each call is one change of it, made by
//! Compare&Swap like one of the global lock table. It knows no contents, clock or disk.
//!
//! Invariants: a page whose newest version the disk lacks is not replaced. One node destages a page
//! at a time, so an older version never follows a newer one to the disk. A write during a destage is
//! destaged after it. The destages of a failed node pass to a survivor.
//!
//! ```
//! use sardonyx_sharing::page_cache::{PageCache, Write};
//! use sardonyx_sharing::protocol::{NodeId, PageId};
//!
//! let (mut cache, node, page) = (PageCache::new(1), NodeId(0), PageId(7));
//! assert!(!cache.read(page));
//! assert!(matches!(cache.write(page, node), Write::Destage { .. }));
//! assert_eq!(cache.write(page, node), Write::Taken, "while it is destaged");
//! assert_eq!(cache.write(PageId(8), node), Write::Refused);
//! assert!(cache.destaged(page, node), "the second write is still to be destaged");
//! assert!(!cache.destaged(page, node));
//! assert!(cache.read(page));
//! ```

use crate::protocol::{NodeId, PageId};
use sardonyx_base::hash::IntegerMap;
use std::collections::BTreeMap;

/// The pages in the cache, and those that the disks lack.
#[derive(Clone, Debug)]
pub struct PageCache {
    capacity: usize,
    slots: IntegerMap<PageId, Slot>,
    /// The pages by their last use.
    order: BTreeMap<u64, PageId>,
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    used: u64,
    /// Writes taken so far.
    written: u64,
    /// Of these, the disk has the last.
    stored: u64,
    /// The node that destages the page, and the number of writes taken when it began.
    destaging: Option<(NodeId, u64)>,
}

/// The result of a page's write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Write {
    /// It is in GEM, and the writer has to begin its destage.
    Destage {
        /// The page that left GEM for it, if there was no room.
        replaced: Option<PageId>,
    },
    /// It is in GEM; the node that destages the page already does so again.
    Taken,
    /// There is no room, as every page waits for its destage: it must be written to its disk.
    Refused,
}

impl PageCache {
    /// A cache of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        PageCache {
            capacity,
            slots: IntegerMap::default(),
            order: BTreeMap::new(),
            uses: 0,
        }
    }

    /// True if the page is in the cache, to be read there: a use of it.
    pub fn read(&mut self, page: PageId) -> bool {
        self.touch(page).is_some()
    }

    /// Puts a page into the cache, if it has room. A transaction that still has its lock read it from
    /// its disk; otherwise it may be an old version. Returns whether it has to be put there, and the
    /// page that was replaced for it.
    pub fn keep(&mut self, page: PageId) -> (bool, Option<PageId>) {
        if self.touch(page).is_some() {
            return (false, None);
        }
        match self.make_room() {
            Some(replaced) => {
                self.insert(page, 0, None);
                (true, replaced)
            }
            None => (false, None),
        }
    }

    /// Takes a write of `node` in the disk's place.
    pub fn write(&mut self, page: PageId, node: NodeId) -> Write {
        if let Some(slot) = self.touch(page) {
            slot.written += 1;
            if slot.destaging.is_some() {
                return Write::Taken;
            }
            slot.destaging = Some((node, slot.written));
            return Write::Destage { replaced: None };
        }
        match self.make_room() {
            Some(replaced) => {
                self.insert(page, 1, Some((node, 1)));
                Write::Destage { replaced }
            }
            None => Write::Refused,
        }
    }

    /// The node's destage has reached the disk. Returns whether it has to follow another one, for
    /// what was written meanwhile.
    pub fn destaged(&mut self, page: PageId, node: NodeId) -> bool {
        let Some(slot) = self.slots.get_mut(&page) else {
            return false;
        };
        let Some((_, begun)) = slot.destaging.filter(|(by, _)| *by == node) else {
            return false;
        };
        slot.stored = begun;
        let again = slot.written > slot.stored;
        slot.destaging = again.then_some((node, slot.written));
        again
    }

    /// A node has failed, and nothing that it does reaches a disk any more: `by` has to begin its
    /// destages again, of these pages.
    pub fn node_failed(&mut self, node: NodeId, by: NodeId) -> Vec<PageId> {
        let mut pages = Vec::new();
        for (&page, slot) in &mut self.slots {
            if slot.destaging.is_some_and(|(destager, _)| destager == node) {
                slot.destaging = Some((by, slot.written));
                pages.push(page);
            }
        }
        pages.sort_unstable();
        pages
    }

    /// True if the disks have everything.
    pub fn is_settled(&self) -> bool {
        let mut slots = self.slots.values();
        slots.all(|slot| slot.destaging.is_none() && slot.written == slot.stored)
    }

    fn touch(&mut self, page: PageId) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(&page)?;
        self.uses += 1;
        self.order.remove(&slot.used);
        slot.used = self.uses;
        self.order.insert(self.uses, page);
        Some(slot)
    }

    fn insert(&mut self, page: PageId, written: u64, destaging: Option<(NodeId, u64)>) {
        self.uses += 1;
        self.order.insert(self.uses, page);
        let slot = Slot {
            used: self.uses,
            written,
            stored: 0,
            destaging,
        };
        self.slots.insert(page, slot);
    }

    /// Sees to room for a page; the page that is replaced, if one is. Nothing: there is none.
    fn make_room(&mut self) -> Option<Option<PageId>> {
        if self.slots.len() < self.capacity {
            return Some(None);
        }
        let settled = |page: &PageId| self.slots[page].destaging.is_none();
        let (used, page) = self
            .order
            .iter()
            .find(|(_, page)| settled(page))
            .map(|(&used, &page)| (used, page))?;
        self.order.remove(&used);
        self.slots.remove(&page);
        Some(Some(page))
    }
}
