//! Reads and writes of storage, and what leaves the buffers for it.

use super::{Event, Progress, Version, World};
use sardonyx_sharing::protocol::{Input, NodeId, Outcome, PageId, Psn, TransactionId};

impl World {
    pub(super) fn read_storage(&mut self, transaction: TransactionId, page: PageId) {
        let version = self.stored(page);
        let newest = self.newest(page);
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        if state.progress == Progress::Reading(page) {
            assert_eq!(
                version, newest,
                "{transaction:?} reads {page:?} from storage"
            );
            self.node(transaction.node()).install(page, version);
            self.work(transaction, page);
        }
    }

    pub(super) fn write_storage(&mut self, page: PageId, version: Version) {
        let before = self.stored(page);
        assert!(
            before.psn <= version.psn,
            "storage goes back to {version:?} of {page:?}"
        );
        self.storage.insert(page, version);
    }

    pub(super) fn force_storage(&mut self, transaction: TransactionId, page: PageId) {
        let frame = &self.node(transaction.node()).frames[&page];
        let (_, version) = frame.working.expect("a changed page is at work");
        self.write_storage(page, version);
        self.forced.insert(page, transaction);
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
        let Some(frame) = self.node(node).frames.get_mut(&page) else {
            return;
        };
        let asked = frame.replacing == Some(frame.version.psn);
        if frame.pins > 0 || frame.working.is_some() || asked {
            return;
        }
        if !frame.dirty {
            self.node(node).frames.remove(&page);
            return;
        }
        let psn = frame.version.psn;
        frame.replacing = Some(psn);
        self.tell(node, Input::Replace { page, psn });
    }
}
