//! The page server: the process with the stored pages, and with the redo that nodes commit.
//!
//! Each node has a log of its own there, a sequence of groups that it numbers. A group is *appended at a place*, the
//! next one, or refused with the group there ([`Occupied`]). So a node that was shut out is refused at the very place
//! at which a survivor has closed its log ([`crate::protocol::fence`]; I12). A group that is sent again because its
//! answer was lost is stored once. All logs are in the one log of an ordinary database
//! ([`sardonyx_storage::engine::Engine`]). One sync serves all nodes, and checkpoints and recovery are those of every
//! other way. Groups are merged on arrival. A page's locks are kept until a version of it is durable. So the versions
//! of a page come in their order, and one that is not the next is refused. ([`crate::redo`] does more, for logs on
//! disks of their own.)
//!
//! ```text
//! page of storage   0 … 255: `SdxPages` and 1; for each node the next place in its log, and the epoch that closed it
//!                   then by 512: a page with the versions of the 511 behind it
//! ```
//!
//! So a group's effects on pages, on their versions and on its log's end are one transaction of storage (I9).

use crate::node::NodeError;

use super::call::{Answer, Question};
use super::rows::Reading;
use crate::node::gem::PageBytes;
use crate::node::ring::Frame;
use crate::protocol::fence::Occupied;
use crate::protocol::{Epoch, NodeId, PageId, Psn};
use sardonyx_storage::catalogue::PAGE_SERVER_MAGIC;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::{Engine, Opened, StorageOptions};
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::log::supply::Admission;
use sardonyx_storage::page::{Address, PAGE_SIZE};
use sardonyx_storage::pen::Pen;
use sardonyx_storage::store::PageStore;
use std::path::Path;
use std::sync::Arc;

/// Pages of storage with the logs' ends.
const ENDS_PAGES: u64 = 256;
/// Bytes of a log's end: the next place, and the epoch that closed it.
const END_BYTES: u64 = 16;
/// The beginning of the database, so that it is not taken for another way's, nor one of these for it.
const MARK: [u8; END_BYTES as usize] = *b"SdxPages\x01\0\0\0\0\0\0\0";
const _: () = {
    let (mut at, mark) = (0, PAGE_SERVER_MAGIC);
    while at < mark.len() {
        assert!(MARK[at] == mark[at], "the catalogue knows the mark");
        at += 1;
    }
};
/// Pages behind a page with their versions.
const GROUP_PAGES: u64 = 511;

/// The most pages of a database.
pub const PAGES_MAX: u64 = 1 << 30;

/// The place of a page of the nodes among the pages of storage.
pub(in crate::node) fn place_of_page(page: u64) -> u64 {
    place(PageId(page)).0
}

/// The place of a page, and that of its version.
fn place(page: PageId) -> (u64, Address) {
    let (group, index) = (page.0 / GROUP_PAGES, page.0 % GROUP_PAGES + 1);
    let first = ENDS_PAGES + group * (GROUP_PAGES + 1);
    let version = Address(first * PAGE_SIZE as u64 + 8 * index);
    (first + index, version)
}

/// The place of a node's end, behind the mark; node 65535 does not exist.
fn end_of(node: NodeId) -> Address {
    Address((u64::from(node.0) + 1) * END_BYTES)
}

/// The stored pages.
#[derive(Debug)]
struct Stored {
    store: PageStore,
    pages: u64,
}

impl Stored {
    fn word(&self, at: Address) -> u64 {
        let start = at.0 as usize;
        let bytes = self.store.bytes().get(start..start + 8);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map_or(0, u64::from_le_bytes)
    }

    fn psn(&self, page: PageId) -> Psn {
        Psn(self.word(place(page).1))
    }

    fn page(&self, page: PageId) -> Box<PageBytes> {
        let start = place(page).0 as usize * PAGE_SIZE;
        let bytes = self.store.bytes().get(start..start + PAGE_SIZE);
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        Box::new(bytes.unwrap_or([0; PAGE_SIZE]))
    }

    /// The next place in a node's log, and the epoch that closed it.
    fn end(&self, node: NodeId) -> (u64, Option<Epoch>) {
        let at = end_of(node);
        let closed = self.word(Address(at.0 + 8)) as u32;
        let next = self.word(at).max(1);
        (next, (closed > 0).then_some(Epoch(closed)))
    }

    /// Checks that a transaction's redo makes the next version of each of its pages, and concerns no others.
    fn check(&self, made: &[(PageId, Psn)], frame: &Frame) -> Result<(), String> {
        for &(page, psn) in &frame.pages {
            if page.0 >= self.pages {
                return Err(format!("there is no page {}", page.0));
            }
            let before = made.iter().rev().find(|(other, _)| *other == page);
            let stands = before.map_or_else(|| self.psn(page), |(_, psn)| *psn);
            if stands.next() != psn {
                let (page, stands, psn) = (page.0, stands.0, psn.0);
                return Err(format!(
                    "redo makes version {psn} of page {page}, which has version {stands}"
                ));
            }
        }
        for record in Records::new(&frame.records) {
            let body = record.map_err(|error| error.to_string())?.body;
            let address = match body {
                Body::Write { address, .. } => address,
                Body::Journal { .. } => continue,
                _ => return Err("a record that is no write and no journal's row".into()),
            };
            let page = PageId(address.page().0);
            if frame.pages.iter().all(|(other, _)| *other != page) {
                return Err(format!(
                    "a write to page {}, whose version is not made",
                    page.0
                ));
            }
        }
        Ok(())
    }
}

/// The stored pages, and the logs of all nodes.
#[derive(Debug)]
pub struct PageServer {
    pen: Pen<Stored>,
    engine: Engine,
    pages: u64,
}

impl PageServer {
    /// Opens the database in a directory, or makes it, with so many pages for nodes.
    ///
    /// # Errors
    /// [`NodeError::Open`]; [`NodeError::NotAPageServers`]: it was made in another way.
    pub fn open(
        directory: impl AsRef<Path>,
        pages: u64,
        options: StorageOptions,
    ) -> Result<Self, NodeError> {
        if pages == 0 || pages > PAGES_MAX {
            return Err(NodeError::Shape { pages, slots: 1 });
        }
        options.refuse_snapshots("of nodes")?;
        let disk = Arc::new(RealDisk::open(directory.as_ref())?);
        let Opened {
            mut engine,
            mut store,
            ..
        } = Engine::open(disk, options)?;
        let is_new = store.pages() == 0;
        let (last, _) = place(PageId(pages - 1));
        store.grow_to(last + 1).map_err(|error| NodeError::System {
            operation: "have memory for the pages",
            source: Arc::new(std::io::Error::other(error)),
        })?;
        if !is_new && !store.bytes().starts_with(&MARK) {
            return Err(NodeError::NotAPageServers);
        }
        engine.start();
        let server = PageServer {
            pen: engine.pen(Stored { store, pages }),
            engine,
            pages,
        };
        if is_new {
            let unmarked = NodeError::system("mark the database as a page server's");
            let marked = server.make_mark().map_err(std::io::Error::other);
            marked.map_err(unmarked)?;
        }
        Ok(server)
    }

    fn make_mark(&self) -> Result<(), LogError> {
        let mut held = self.pen.take()?;
        let (stored, mut log) = held.split();
        log.admit(Admission::Whole)?;
        log.builder().push_write(Address(0), &MARK);
        stored.store.write(Address(0), &MARK);
        log.builder().end_transaction();
        let group = log.transaction_ended();
        held.force(group)
    }

    /// Pages for nodes.
    pub fn pages(&self) -> u64 {
        self.pages
    }

    /// True if a node has ever committed anything, or a node's log was closed. A register that knows of no node does
    /// not belong to this database then: it would give names, and so logs, of nodes that were.
    pub fn has_logs(&self) -> bool {
        let Ok(held) = self.pen.take() else {
            return true;
        };
        let mut nodes = (0..=u16::MAX).map(NodeId);
        let found = nodes.any(|node| held.end(node) != (1, None));
        held.hand_on();
        found
    }

    /// The most bytes of redo of one transaction.
    pub fn transaction_bytes_max(&self) -> usize {
        // A group has at most twice as many, and is one transaction of storage, with the pages' versions.
        self.group_bytes_max() / 4
    }

    /// The most bytes of redo of a group, with the pages' versions.
    fn group_bytes_max(&self) -> usize {
        let limits = self.engine.commit().limits();
        limits
            .transaction_bytes
            .min(self.engine.transaction_bytes_max())
    }

    /// The database's identity.
    pub fn database(&self) -> u64 {
        self.engine.manifest().identity
    }

    /// Answers a node's request. `reading`: a journal read begun by an earlier request of the same asker.
    ///
    /// # Errors
    /// [`LogError`]: the database takes nothing more.
    pub(in crate::node) fn answer(
        &self,
        question: Question,
        reading: &mut Option<Reading>,
    ) -> Result<Answer, LogError> {
        if let Question::Append { node, .. } | Question::Close { node, .. } = &question
            && node.0 == u16::MAX
        {
            return Ok(Answer::Refused("there is no node 65535".into()));
        }
        Ok(match question {
            Question::Page { page, settled } => {
                if settled {
                    self.pen.flush()?;
                }
                let held = self.pen.take()?;
                let found = (held.psn(page), held.page(page));
                held.hand_on();
                Answer::Page(found.0, found.1)
            }
            Question::Versions(of_part) => {
                self.pen.flush()?;
                let held = self.pen.take()?;
                let pages = of_part.below(self.pages).into_iter();
                let versions = pages.map(|page| (page, held.psn(page)));
                let versions = versions.filter(|(_, psn)| *psn > Psn(0)).collect();
                held.hand_on();
                Answer::Versions(versions)
            }
            Question::Append {
                node,
                place,
                frames,
            } => self.append(node, place, &frames)?,
            Question::Close { node, epoch } => self.close(node, epoch)?,
            Question::Rows(wanted) => Reading::answer(&self.engine, wanted, reading)
                .unwrap_or_else(|error| Answer::Refused(error.to_string())),
        })
    }

    /// Appends a group to a node's log, which is then durable, and applied.
    fn append(&self, node: NodeId, at: u64, frames: &[Frame]) -> Result<Answer, LogError> {
        let mut held = self.pen.take()?;
        let (next, closed) = held.end(node);
        if at < next {
            // It is stored without the node's knowledge; or no thread waited for it.
            held.hand_on();
            self.pen.flush()?;
            return Ok(Answer::Occupied(Occupied::Redo));
        }
        if let Some(epoch) = closed {
            held.hand_on();
            return Ok(Answer::Occupied(Occupied::Closing(epoch)));
        }
        if at > next {
            held.hand_on();
            return Ok(Answer::Refused(format!(
                "a group at place {at} of the log of node {}, which ends at {next}",
                node.0
            )));
        }
        // A record of a version takes at most three words.
        let bytes = |frame: &Frame| frame.records.len() + 24 * frame.pages.len();
        let all: usize = frames.iter().map(bytes).sum();
        if all + 64 > self.group_bytes_max() {
            held.hand_on();
            return Ok(Answer::Refused(format!("a group with {all} bytes of redo")));
        }
        let mut made = Vec::new();
        for frame in frames {
            if let Err(reason) = held.check(&made, frame) {
                held.hand_on();
                return Ok(Answer::Refused(reason));
            }
            made.extend_from_slice(&frame.pages);
        }
        let (stored, mut log) = held.split();
        log.admit(Admission::Whole)?;
        let builder = log.builder();
        let mut write = |builder: &mut GroupBuilder, at: Address, bytes: &[u8]| {
            builder.push_write(at, bytes);
            stored.store.write(at, bytes);
        };
        for frame in frames {
            for record in Records::new(&frame.records).filter_map(Result::ok) {
                match record.body {
                    Body::Write { address, bytes } => {
                        let (page, _) = place(PageId(address.page().0));
                        let offset = address.offset_in_page() as u64;
                        let at = Address(page * PAGE_SIZE as u64 + offset);
                        write(builder, at, bytes);
                    }
                    Body::Journal { journal, row } => builder.push_journal(journal, row),
                    _ => {}
                }
            }
            for &(page, psn) in &frame.pages {
                write(builder, place(page).1, &psn.0.to_le_bytes());
            }
        }
        write(builder, end_of(node), &(at + 1).to_le_bytes());
        builder.end_transaction();
        let group = log.transaction_ended();
        held.force(group)?;
        Ok(Answer::Appended)
    }

    /// Closes a node's log: nothing of it comes after that.
    fn close(&self, node: NodeId, epoch: Epoch) -> Result<Answer, LogError> {
        let mut held = self.pen.take()?;
        if held.end(node).1.is_some() {
            held.hand_on();
            self.pen.flush()?;
            return Ok(Answer::Closed);
        }
        let (stored, mut log) = held.split();
        log.admit(Admission::Whole)?;
        let at = Address(end_of(node).0 + 8);
        let bytes = u64::from(epoch.0.max(1)).to_le_bytes();
        log.builder().push_write(at, &bytes);
        stored.store.write(at, &bytes);
        log.builder().end_transaction();
        let group = log.transaction_ended();
        held.force(group)?;
        Ok(Answer::Closed)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        if let Err(error) = self.pen.mark_end() {
            tracing::warn!(%error, "the page server's log was not ended in order");
        }
        self.engine.record_end();
        self.engine.stop();
    }
}
