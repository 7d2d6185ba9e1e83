//! A node's database buffer (GEM paper, section 3.2): page frames, replaced least recently used.
//!
//! It holds the versions of pages, not the pages. A page that an active transaction has modified is
//! *fixed*: it is not replaced before the transaction's end. A modified page that is replaced leaves its frame but
//! counts as a copy of the node until it has been written to storage: a node that requests it meanwhile gets it.

use super::lru::Lru;
use super::pages::PageMap;
use sardonyx_sharing::protocol::Psn;

/// The frames of one node.
#[derive(Debug)]
pub struct Buffer {
    frames: Lru<Frame>,
    capacity: usize,
    /// Modified pages that were replaced, or are written back in their frames, and are not yet written.
    leaving: PageMap<Psn>,
    /// Modified pages that are written when one has to be replaced.
    write_back_pages: usize,
    /// Pages that keep their frames and whose writes are to be begun.
    due: Vec<Replaced>,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    psn: Psn,
    modified: bool,
    fixed: u32,
}

/// A modified page that has lost its frame and must be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    pub page: u64,
    /// Its version.
    pub psn: Psn,
}

impl Buffer {
    /// A buffer of `capacity` page frames, all free.
    pub fn new(capacity: u32) -> Self {
        Buffer {
            frames: Lru::new(),
            capacity: capacity as usize,
            leaving: PageMap::default(),
            write_back_pages: 1,
            due: Vec::new(),
        }
    }

    /// The same; so many modified pages are written when one has to be replaced. With more than one, pages that are not
    /// modified are replaced first.
    pub fn writing_back(self, pages: u32) -> Self {
        Buffer {
            write_back_pages: pages.max(1) as usize,
            ..self
        }
    }

    /// Pages that keep their frames and whose writes are to be begun now.
    pub fn take_due(&mut self) -> Vec<Replaced> {
        std::mem::take(&mut self.due)
    }

    /// The version of the node's copy of `page`, if it has one. Not a use of the page.
    pub fn version(&self, page: u64) -> Option<Psn> {
        let frame = self.frames.get(page).map(|frame| frame.psn);
        frame.or_else(|| self.leaving.get(&page).copied())
    }

    /// Uses the present copy of `page`; one that is leaving gets a frame again. Returns the page that had to make room
    /// for it.
    ///
    /// # Panics
    /// If there is no copy.
    pub fn reuse(&mut self, page: u64) -> Option<Replaced> {
        if self.frames.touch(page).is_some() {
            return None;
        }
        let psn = self.leaving.get(&page).copied();
        let psn = psn.expect("only a page that is there is used again");
        // It stays in `leaving`, because it is being written; so the frame's copy is not modified.
        self.place(page, psn, false)
    }

    /// Brings version `psn` of `page` in, over an older copy if there is one, and returns the page that had to make
    /// room for it. `modified`: storage does not have this version, and this node has to write it.
    pub fn install(&mut self, page: u64, psn: Psn, modified: bool) -> Option<Replaced> {
        if let Some(frame) = self.frames.touch(page) {
            // A message that was overtaken by a newer version brings nothing new.
            if psn >= frame.psn {
                frame.psn = psn;
                frame.modified = modified || (frame.modified && frame.psn == psn);
            }
            return None;
        }
        self.place(page, psn, modified)
    }

    fn place(&mut self, page: u64, psn: Psn, modified: bool) -> Option<Replaced> {
        let mut replaced = None;
        if self.frames.len() >= self.capacity {
            // If all are fixed, there is one frame more than configured for a while.
            if let Some((old, frame)) = self.remove_oldest()
                && frame.modified
            {
                self.leaving.insert(old, frame.psn);
                replaced = Some(Replaced {
                    page: old,
                    psn: frame.psn,
                });
            }
        }
        let fixed = 0;
        self.frames.insert(
            page,
            Frame {
                psn,
                modified,
                fixed,
            },
        );
        replaced
    }

    /// Takes out the page that has to make room. If it is a modified one, others are to be written with it.
    fn remove_oldest(&mut self) -> Option<(u64, Frame)> {
        if self.write_back_pages == 1 {
            return self.frames.remove_oldest(|frame| frame.fixed == 0);
        }
        let clean = |frame: &Frame| frame.fixed == 0 && !frame.modified;
        if let Some(removed) = self.frames.remove_oldest(clean) {
            return Some(removed);
        }
        let removed = self.frames.remove_oldest(|frame| frame.fixed == 0);
        let modified = |frame: &Frame| frame.fixed == 0 && frame.modified;
        let others = self.write_back_pages - 1;
        let written = (self.frames).change_oldest(others, modified, |frame| frame.modified = false);
        for (page, Frame { psn, .. }) in written {
            self.leaving.insert(page, psn);
            self.due.push(Replaced { page, psn });
        }
        removed
    }

    /// Keeps `page` in its frame until [`Buffer::unfix`] is called as often.
    ///
    /// # Panics
    /// If it has no frame.
    pub fn fix(&mut self, page: u64) {
        let frame = self.frames.get_mut(page);
        frame.expect("only a page in a frame is fixed").fixed += 1;
    }

    /// Ends one [`Buffer::fix`].
    ///
    /// # Panics
    /// If it is not fixed.
    pub fn unfix(&mut self, page: u64) {
        let frame = self
            .frames
            .get_mut(page)
            .expect("a fixed page keeps its frame");
        frame.fixed = frame
            .fixed
            .checked_sub(1)
            .expect("a page is unfixed once per fix");
    }

    /// A transaction that modified the fixed `page` has committed: its version is now `psn`.
    /// `modified`: this node has to write it to storage some time.
    ///
    /// # Panics
    /// If it has no frame.
    pub fn commit(&mut self, page: u64, psn: Psn, modified: bool) {
        let frame = self
            .frames
            .get_mut(page)
            .expect("a fixed page keeps its frame");
        frame.psn = psn;
        frame.modified = modified;
    }

    /// Version `psn` of `page`, which was leaving, is on storage or must not be written any more.
    pub fn left(&mut self, page: u64, psn: Psn) {
        if self.leaving.get(&page) == Some(&psn) {
            self.leaving.remove(&page);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_page_goes() {
        let mut buffer = Buffer::new(2);
        assert_eq!(buffer.install(1, Psn(0), false), None);
        assert_eq!(buffer.install(2, Psn(0), false), None);
        assert_eq!(buffer.reuse(1), None);
        assert_eq!(buffer.install(3, Psn(0), false), None);
        assert_eq!(buffer.version(2), None);
        assert_eq!(
            (buffer.version(1), buffer.version(3)),
            (Some(Psn(0)), Some(Psn(0)))
        );
    }

    #[test]
    fn a_modified_page_is_a_copy_until_it_is_written() {
        let mut buffer = Buffer::new(1);
        buffer.install(1, Psn(4), true);
        let replaced = Replaced {
            page: 1,
            psn: Psn(4),
        };
        assert_eq!(buffer.install(2, Psn(0), false), Some(replaced));
        assert_eq!(buffer.version(1), Some(Psn(4)));
        buffer.left(1, Psn(4));
        assert_eq!(buffer.version(1), None);
    }

    #[test]
    fn a_leaving_page_that_is_used_gets_a_frame_and_is_not_written_twice() {
        let mut buffer = Buffer::new(1);
        buffer.install(1, Psn(4), true);
        buffer.install(2, Psn(0), false);
        assert_eq!(buffer.reuse(1), None);
        buffer.left(1, Psn(4));
        assert_eq!(buffer.version(1), Some(Psn(4)), "it has a frame again");
        assert_eq!(buffer.install(3, Psn(0), false), None, "it was written");
    }

    #[test]
    fn a_newer_version_in_the_frame_does_not_end_with_the_older_ones_write() {
        let mut buffer = Buffer::new(1);
        buffer.install(1, Psn(4), true);
        buffer.install(2, Psn(0), false);
        buffer.reuse(1);
        buffer.fix(1);
        buffer.commit(1, Psn(5), true);
        buffer.unfix(1);
        buffer.left(1, Psn(4));
        let replaced = Replaced {
            page: 1,
            psn: Psn(5),
        };
        assert_eq!(buffer.install(3, Psn(0), false), Some(replaced));
        buffer.left(1, Psn(4));
        assert_eq!(buffer.version(1), Some(Psn(5)));
    }

    #[test]
    fn several_modified_pages_are_written_at_once_when_no_other_can_go() {
        let mut buffer = Buffer::new(4).writing_back(3);
        for page in 1..=3 {
            buffer.install(page, Psn(page), true);
        }
        buffer.install(4, Psn(4), false);
        // Not the oldest, but the one that need not be written.
        assert_eq!(buffer.install(5, Psn(5), true), None);
        assert_eq!((buffer.version(4), buffer.take_due()), (None, Vec::new()));
        let replaced = |page| Replaced {
            page,
            psn: Psn(page),
        };
        assert_eq!(buffer.install(6, Psn(6), false), Some(replaced(1)));
        assert_eq!(buffer.take_due(), [replaced(2), replaced(3)]);
        // They keep their frames, and are not written twice.
        buffer.left(2, Psn(2));
        assert_eq!(buffer.version(2), Some(Psn(2)));
        assert_eq!(buffer.install(7, Psn(7), false), None);
        assert_eq!(buffer.version(2), None);
    }

    #[test]
    fn a_fixed_page_stays_even_if_the_buffer_must_grow() {
        let mut buffer = Buffer::new(1);
        buffer.install(1, Psn(0), false);
        buffer.fix(1);
        buffer.install(2, Psn(0), false);
        assert_eq!(
            (buffer.version(1), buffer.version(2)),
            (Some(Psn(0)), Some(Psn(0)))
        );
        buffer.unfix(1);
        buffer.install(3, Psn(0), false);
        assert_eq!(buffer.version(1), None);
    }

    #[test]
    fn an_overtaken_message_brings_nothing_new() {
        let mut buffer = Buffer::new(2);
        buffer.install(1, Psn(7), true);
        buffer.install(1, Psn(6), false);
        assert_eq!(buffer.version(1), Some(Psn(7)));
        buffer.install(2, Psn(0), false);
        assert!(
            buffer.install(3, Psn(0), false).is_some(),
            "version 7 is still to be written"
        );
    }
}
