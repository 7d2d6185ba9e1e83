//! Reads and writes of storage, and what leaves the buffers for it.

use super::{Event, Keeper, Planted, Progress, Version, World};
use sardonyx_sharing::page_cache::Write;
use sardonyx_sharing::protocol::{Input, NodeId, Outcome, PageId, Psn, TransactionId};

impl World {
    pub(super) fn read_storage(&mut self, transaction: TransactionId, page: PageId) {
        if let Some((cache, _)) = &mut self.cache
            && !cache.read(page)
        {
            let version = self.stored(page);
            return self
                .events
                .push(Event::ReadDisk(transaction, page, version));
        }
        let version = self.stored(page);
        self.arrived(transaction, page, version);
    }

    /// The disk's version has come. Of a transaction that has ended it is not kept: it may be old.
    pub(super) fn read_disk(&mut self, transaction: TransactionId, page: PageId, version: Version) {
        if !self.arrived(transaction, page, version) {
            return;
        }
        let Some((cache, pages)) = &mut self.cache else {
            return;
        };
        let (put, replaced) = cache.keep(page);
        replaced.map(|replaced| pages.remove(&replaced));
        if put {
            pages.insert(page, version);
            self.storage.entry(page).or_default();
        }
    }

    /// A version has come from storage; returns whether its transaction still waits for it.
    fn arrived(&mut self, transaction: TransactionId, page: PageId, version: Version) -> bool {
        let newest = self.newest(page);
        let Some(state) = self.transaction(transaction) else {
            return false;
        };
        let waits = state.progress == Progress::Reading(page);
        if waits {
            assert_eq!(
                version, newest,
                "{transaction:?} reads {page:?} from storage"
            );
            self.node(transaction.node()).install(page, version);
            self.work(transaction, page);
        }
        waits
    }

    /// Takes the page out of GEM.
    pub(super) fn read_gem(&mut self, transaction: TransactionId, page: PageId, from: NodeId) {
        let slot = self.slots.remove(&(from, transaction, page));
        let version = slot.expect("the page is where the grant says");
        let newest = self.newest(page);
        let state = self.transaction(transaction).expect("who reads lives");
        assert_eq!(state.progress, Progress::Reading(page));
        assert_eq!(version, newest, "{transaction:?} reads {page:?} from GEM");
        self.node(transaction.node()).install(page, version);
        self.work(transaction, page);
    }

    pub(super) fn write_storage(&mut self, node: NodeId, page: PageId, version: Version) {
        let before = self.stored(page);
        assert!(
            before.psn <= version.psn,
            "storage goes back to {version:?} of {page:?}"
        );
        self.store(node, page, version);
    }

    /// Puts a version on storage: into the page cache, if there is one and room in it.
    pub(super) fn store(&mut self, node: NodeId, page: PageId, version: Version) {
        let Some((cache, pages)) = &mut self.cache else {
            self.storage.insert(page, version);
            return;
        };
        match cache.write(page, node) {
            Write::Refused => {
                self.storage.insert(page, version);
                return;
            }
            Write::Destage { replaced } => {
                replaced.map(|replaced| pages.remove(&replaced));
                self.events.push(Event::Destage(node, page, version));
            }
            Write::Taken => {}
        }
        pages.insert(page, version);
    }

    /// A destage, with the version that was in the cache when it began, reaches the disk.
    pub(super) fn destage(&mut self, node: NodeId, page: PageId, version: Version) {
        self.storage.insert(page, version);
        if let Some((cache, pages)) = &mut self.cache
            && cache.destaged(page, node)
        {
            let newer = pages[&page];
            self.events.push(Event::Destage(node, page, newer));
        }
    }

    /// A page that a transaction has changed, and logged, is on storage before its locks are released.
    pub(super) fn force_storage(&mut self, transaction: TransactionId, page: PageId) {
        if self.logs.keeper == Keeper::Nodes {
            let version = self.worked_on(transaction, page);
            self.write_storage(transaction.node(), page, version);
        }
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        let Progress::Forcing(pages) = state.progress else {
            return;
        };
        state.progress = Progress::Forcing(pages - 1);
        if pages == 1 {
            self.end(transaction, Outcome::Committed);
        }
    }

    /// The version that a transaction has made of a page.
    pub(super) fn worked_on(&self, transaction: TransactionId, page: PageId) -> Version {
        let node = &self.nodes[usize::from(transaction.node().0)];
        let (_, version) = node.frames[&page]
            .working
            .expect("a changed page is at work");
        version
    }

    pub(super) fn write_back(&mut self, node: NodeId, page: PageId, psn: Psn) {
        let frame = self
            .node(node)
            .frames
            .get(&page)
            .expect("a page to be written is there");
        assert!(
            frame.version.psn >= psn,
            "the version to be written is gone"
        );
        let version = frame.version;
        self.events
            .push(Event::WriteStorage(node, page, psn, version));
    }

    pub(super) fn discard(&mut self, node: NodeId, page: PageId, psn: Psn) {
        let Some(frame) = self.node(node).frames.get_mut(&page) else {
            return;
        };
        frame.replacing = frame.replacing.filter(|&replacing| replacing != psn);
        if frame.version.psn == psn {
            frame.dirty = false;
            if frame.pins == 0 && frame.working.is_none() {
                self.node(node).frames.remove(&page);
            }
        }
    }

    /// Drops a page from a node's buffer, or asks to write it first.
    pub fn evict(&mut self, node: NodeId, page: PageId) {
        let careless = self.logs.planted == Some(Planted::DroppedCopy);
        let Some(frame) = self.node(node).frames.get_mut(&page) else {
            return;
        };
        let asked = frame.replacing == Some(frame.version.psn);
        if frame.pins > 0 || frame.working.is_some() || asked {
            return;
        }
        if !frame.dirty || careless {
            self.node(node).frames.remove(&page);
            return;
        }
        let psn = frame.version.psn;
        frame.replacing = Some(psn);
        self.tell(node, Input::Replace { page, psn });
    }
}
