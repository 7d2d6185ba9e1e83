//! A disk cache, shared by all nodes (GEM paper, section 3.3): which pages it has, replaced least
//! recently used.
//!
//! A volatile cache saves reads only. A non-volatile one also takes writes: the disk's copy is
//! updated later (*destage*), and until then the page must not be replaced.

use super::lru::Lru;

/// The pages of a disk cache.
#[derive(Debug)]
pub struct DiskCache {
    pages: Lru<Slot>,
    capacity: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// Writes that the disk has not had yet.
    owed: u32,
}

impl DiskCache {
    /// A cache of `capacity` pages, empty.
    pub fn new(capacity: usize) -> Self {
        DiskCache {
            pages: Lru::new(),
            capacity,
        }
    }

    /// True if a read of `page` is a hit.
    pub fn read(&mut self, page: u64) -> bool {
        self.pages.touch(page).is_some()
    }

    /// A page that was read from disk, or written through to it, is in the cache from now on, if
    /// there is room for it.
    pub fn keep(&mut self, page: u64) {
        if self.pages.touch(page).is_none() && self.make_room() {
            self.pages.insert(page, Slot::default());
        }
    }

    /// Takes a write in place of the disk; then a destage is owed, which ends with
    /// [`DiskCache::destaged`]. False: every page waits for its destage, the write must go to the
    /// disk.
    pub fn take_write(&mut self, page: u64) -> bool {
        if let Some(slot) = self.pages.touch(page) {
            slot.owed += 1;
            return true;
        }
        let room = self.make_room();
        if room {
            self.pages.insert(page, Slot { owed: 1 });
        }
        room
    }

    /// One write of `page` has reached the disk.
    ///
    /// # Panics
    /// If none was owed.
    pub fn destaged(&mut self, page: u64) {
        let slot = self
            .pages
            .get_mut(page)
            .expect("a page with owed writes is not replaced");
        slot.owed = slot
            .owed
            .checked_sub(1)
            .expect("a destage for each write taken");
    }

    fn make_room(&mut self) -> bool {
        self.pages.len() < self.capacity
            || self.pages.remove_oldest(|slot| slot.owed == 0).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hit_what_was_kept_and_the_oldest_goes() {
        let mut cache = DiskCache::new(2);
        assert!(!cache.read(1));
        cache.keep(1);
        cache.keep(2);
        assert!(cache.read(1));
        cache.keep(3);
        assert!(cache.read(1) && cache.read(3) && !cache.read(2));
    }

    #[test]
    fn pages_with_owed_writes_stay_and_a_full_cache_refuses() {
        let mut cache = DiskCache::new(2);
        assert!(cache.take_write(1) && cache.take_write(2) && cache.take_write(1));
        assert!(!cache.take_write(3));
        cache.keep(4);
        assert!(!cache.read(4));
        cache.destaged(1);
        assert!(!cache.take_write(3), "one more write of page 1 is owed");
        cache.destaged(1);
        assert!(cache.take_write(3));
        assert!(!cache.read(1) && cache.read(2));
    }
}
