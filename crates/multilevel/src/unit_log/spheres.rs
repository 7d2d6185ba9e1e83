//! The work of the log of units for persistence spheres (S2/PS). It keeps completed subtransactions until
//! they are written, and writes spheres as units, with the undo entries of all running transactions in them.
//!
//! Invariants: the unwritten part is bounded, in pages and in bytes of undo entries. So the spheres with which a
//! transaction ends always fit into one unit. And (I14) the undo area has a spare place for every page that the
//! unwritten entries may need. When a sphere is written, by the end of any transaction, only room in the log can be
//! missing, and that is requested before.
//!
//! Source: DASDBS paper, section 2, "Deferred Log Writes".

use super::{UnitLog, push};
use crate::changes::{Changed, merge};
use crate::error::DatabaseError;
use crate::pages::Page;
use crate::sphere::{Spheres, SubtransactionNumber, Taken};
use crate::strategy::{NumberedInverse, PageLog};
use crate::undo::entry::{Entry, entry_bytes};
use sardonyx_base::hash::IntegerMap;
use sardonyx_storage::page::{PAGE_SIZE, PageId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The completed subtransactions that are not in the log.
#[derive(Debug, Default)]
pub(crate) struct Unwritten {
    pub spheres: Spheres<Member>,
    /// The pages with completed changes, by number.
    dirty: IntegerMap<u64, DirtyPage>,
    /// Bytes that the undo entries of all subtransactions take.
    entry_bytes: usize,
    /// By transaction: the undo entries that it may yet have to write, if there are any.
    owed: IntegerMap<u64, Owed>,
    /// Places that are promised for them.
    owed_places: usize,
}

/// Undo entries of a transaction that are not written yet.
#[derive(Clone, Copy, Debug, Default)]
struct Owed {
    entries: usize,
    bytes: usize,
    /// The places that are promised for them.
    places: usize,
}

impl Unwritten {
    /// Places of the undo area that are promised for entries that are not written yet.
    pub fn owed_places(&self) -> usize {
        self.owed_places
    }
}

/// A page with completed changes that are not in the log yet (persistence spheres).
#[derive(Debug, Default)]
struct DirtyPage {
    ranges: Vec<Changed>,
    /// The page before the subtransaction that is at work on it now. It is the page for the log meanwhile.
    before: Option<Box<Page>>,
}

/// A completed subtransaction in a sphere.
#[derive(Debug)]
pub(crate) struct Member {
    pub transaction: u64,
    pub kind: MemberKind,
}

/// The kind of a subtransaction in a sphere.
#[derive(Debug)]
pub(crate) enum MemberKind {
    /// An operation, with its inverse.
    Operation {
        sequence: u64,
        inverse: Option<(u32, Arc<[u8]>)>,
    },
    /// The compensation of the operation of this sequence number.
    Compensation { of: u64 },
}

impl Member {
    /// Bytes of its undo entry, if it may have to be written.
    fn undo_bytes(&self) -> Option<usize> {
        match &self.kind {
            MemberKind::Operation {
                inverse: Some((_, bytes)),
                ..
            } => Some(entry_bytes(bytes.len())),
            _ => None,
        }
    }

    /// Bytes of its undo entry, or of the note that one is cancelled.
    fn entry_bytes(&self) -> usize {
        match &self.kind {
            MemberKind::Operation { inverse, .. } => {
                entry_bytes(inverse.as_ref().map_or(0, |(_, bytes)| bytes.len()))
            }
            MemberKind::Compensation { .. } => entry_bytes(0),
        }
    }
}

impl UnitLog<'_> {
    /// S2/PS: before the first change of a page by a subtransaction, which has locked it exclusively.
    pub fn begin_to_write(&mut self, page: PageId) {
        let units = &mut **self;
        if let Some(dirty) = units.unwritten.dirty.get_mut(&page.0)
            && dirty.before.is_none()
        {
            // SAFETY: right of a reader: the caller holds the page's exclusive lock and has not
            // begun to write.
            dirty.before = Some(Box::new(*unsafe { units.frames.page(page) }));
        }
    }

    /// S2/PS: a subtransaction was undone; its pages are as before.
    pub fn writing_undone(&mut self, pages: impl IntoIterator<Item = PageId>) {
        for page in pages {
            if let Some(dirty) = self.unwritten.dirty.get_mut(&page.0) {
                dirty.before = None;
            }
        }
    }

    /// The most pages that may wait to be written, for any configured value. A page takes up to twice its
    /// size, and all of them a quarter of the log's limit at once.
    fn unwritten_pages_max(&self) -> usize {
        self.0.log().limits().transaction_bytes / 4 / (2 * PAGE_SIZE + 64)
    }

    /// The most bytes of undo entries that may wait to be written.
    fn unwritten_entry_bytes_max(&self) -> usize {
        self.0.log().limits().transaction_bytes / 8
    }

    /// S2/PS: the end of a subtransaction or compensation, whose pages are still locked. A sphere that grows
    /// beyond `pages_max` pages is appended at once. All are if they are so much together that a
    /// transaction's last spheres might not fit into one unit.
    pub fn complete_in_sphere(
        &mut self,
        changed: &[Changed],
        read: &[PageId],
        joined: &[SubtransactionNumber],
        member: Member,
        inverse_pages: u64,
        pages_max: usize,
    ) -> Result<SubtransactionNumber, DatabaseError> {
        if let MemberKind::Operation { .. } = member.kind {
            self.admit_work()?;
        }
        let pages_most = self.unwritten_pages_max();
        // Before this one is among them: an error must leave it to be undone.
        if self.unwritten.spheres.dirty_pages() > pages_most
            || self.unwritten.entry_bytes > self.unwritten_entry_bytes_max()
        {
            self.write_all_spheres()?;
        }
        let owed = self.promise_places(&member)?;
        self.check_reserve(inverse_pages)?;
        self.make_ready_for_spheres()?;
        self.reserve.take(member.transaction, inverse_pages);
        self.owe(member.transaction, owed);
        self.unwritten.entry_bytes += member.entry_bytes();
        let mut modified: Vec<PageId> = changed.iter().map(|c| c.page).collect();
        modified.dedup();
        let completed = self
            .unwritten
            .spheres
            .complete(&modified, read, joined, member);
        for Changed { page, range } in changed {
            let dirty = self.unwritten.dirty.entry(page.0).or_default();
            dirty.before = None;
            let (page, range) = (*page, range.clone());
            dirty.ranges.push(Changed { page, range });
            // Seldom, so that it costs little; often enough that it stays short.
            if dirty.ranges.len().is_multiple_of(64) {
                merge(&mut dirty.ranges);
            }
        }
        if completed.pages_in_sphere > pages_max.min(pages_most) {
            let taken = self.unwritten.spheres.take([completed.number]);
            self.counters.add(|c| &c.spheres_background, 1);
            self.append_spheres(taken, None, false);
        }
        Ok(completed.number)
    }

    /// S2/PS: the end of a transaction, committed or compensated: its spheres in one unit. Returns the
    /// same as [`UnitLog::end_of_transaction`].
    pub fn end_in_spheres(
        &mut self,
        transaction: u64,
        of: impl IntoIterator<Item = SubtransactionNumber>,
        forced: bool,
    ) -> Result<(u64, bool), DatabaseError> {
        self.make_ready_for_spheres()?;
        let taken = self.unwritten.spheres.take(of);
        if taken.is_empty() && !self.slots.contains_key(&transaction) {
            return Ok((self.0.last_group(), false));
        }
        let group = self.append_spheres(taken, Some(transaction), forced);
        Ok((group, true))
    }

    /// The compensations to do, the last first, if all running transactions were aborted now: the operation's
    /// number and its inverse.
    pub fn open_operations(&self) -> Result<Vec<NumberedInverse>, DatabaseError> {
        let mut open: BTreeMap<u64, NumberedInverse> = BTreeMap::new();
        for &slot in self.slots.values() {
            // SAFETY: right of the pen: the pages of the undo area.
            let entries = self
                .undo
                .entries(slot, |page| unsafe { self.frames.page(page) })?;
            open.extend(
                entries
                    .into_iter()
                    .map(|(of, n, bytes)| (of, (n, bytes.into()))),
            );
        }
        let mut compensated = Vec::new();
        for member in self.unwritten.spheres.payloads() {
            match &member.kind {
                MemberKind::Operation { sequence, inverse } => {
                    open.extend(inverse.clone().map(|inverse| (*sequence, inverse)));
                }
                MemberKind::Compensation { of } => compensated.push(*of),
            }
        }
        for of in compensated {
            open.remove(&of);
        }
        Ok(open.into_values().rev().collect())
    }

    /// S2/PS: appends all spheres, each as a unit.
    pub fn write_all_spheres(&mut self) -> Result<(), DatabaseError> {
        let all: Vec<_> = self.unwritten.spheres.spheres().collect();
        for sphere in all {
            self.make_ready_for_spheres()?;
            let taken = self.unwritten.spheres.take([sphere.member]);
            self.counters.add(|c| &c.spheres_background, 1);
            self.append_spheres(taken, None, false);
        }
        Ok(())
    }

    /// Makes sure that the undo area has places for the entries of the transaction of a member and for the member's
    /// own. Returns the places to be owed once it is complete.
    fn promise_places(&mut self, member: &Member) -> Result<Owed, DatabaseError> {
        let transaction = member.transaction;
        let before = self.unwritten.owed.get(&transaction);
        let before = before.copied().unwrap_or_default();
        let Some(bytes) = member.undo_bytes() else {
            return Ok(before);
        };
        let after = self.with_places(
            transaction,
            Owed {
                entries: before.entries + 1,
                bytes: before.bytes + bytes,
                places: 0,
            },
        );
        self.spare_places(after.places - before.places.min(after.places))?;
        Ok(after)
    }

    /// With the places that it takes.
    fn with_places(&self, transaction: u64, owed: Owed) -> Owed {
        let slot = self.slots.get(&transaction).copied();
        let places = match owed.entries {
            0 => 0,
            entries => self.undo.needed_places(slot, entries, owed.bytes),
        };
        Owed { places, ..owed }
    }

    /// Sets the places that a transaction owes from now on.
    fn owe(&mut self, transaction: u64, owed: Owed) {
        let unwritten = &mut self.unwritten;
        let before = match owed.entries {
            0 => unwritten.owed.remove(&transaction),
            _ => unwritten.owed.insert(transaction, owed),
        };
        unwritten.owed_places += owed.places;
        unwritten.owed_places -= before.map_or(0, |before| before.places);
    }

    /// A transaction was undone of which nothing is in the log: it will never need an undo entry. Each of its
    /// operations is in one sphere with the compensation, and is written with that or not at all.
    pub fn owes_nothing(&mut self, transaction: u64) {
        self.owe(transaction, Owed::default());
    }

    /// Makes sure that any spheres can be appended without want of anything.
    fn make_ready_for_spheres(&mut self) -> Result<(), DatabaseError> {
        // Each transaction with an entry may have to take a slot into use.
        self.make_sequences_ready(self.unwritten.owed.len() as u64 + 1)?;
        // Last: the entries before may have filled a group.
        self.admit()
    }

    /// Appends spheres as one unit, with the entries of all transactions in it but the one that ends
    /// with it. A subtransaction whose compensation is in it too needs no entry. The caller has made
    /// ready for it.
    fn append_spheres(&mut self, taken: Taken<Member>, ending: Option<u64>, forced: bool) -> u64 {
        let mut owed: Vec<(u64, Owed)> = Vec::new();
        for (_, member) in &taken.subtransactions {
            self.unwritten.entry_bytes -= member.entry_bytes();
            let Some(bytes) = member.undo_bytes() else {
                continue;
            };
            let transaction = member.transaction;
            // An aborted one owes nothing: its operations are here with their compensations.
            let Some(&before) = self.unwritten.owed.get(&transaction) else {
                continue;
            };
            let nth = owed.iter().position(|(of, _)| *of == transaction);
            let nth = nth.unwrap_or_else(|| {
                owed.push((transaction, before));
                owed.len() - 1
            });
            let (_, owed) = &mut owed[nth];
            owed.entries -= 1;
            owed.bytes -= bytes;
        }
        let entries = entries_of(&taken, ending);
        for page in &taken.pages {
            self.append_dirty(*page);
        }
        for (transaction, entries) in &entries {
            for entry in entries {
                self.append_entry(*transaction, entry);
            }
        }
        if let Some(transaction) = ending {
            self.append_end(transaction);
        }
        for (transaction, owed) in owed {
            let owed = self.with_places(transaction, owed);
            self.owe(transaction, owed);
        }
        debug_assert!(self.unwritten.owed_places <= self.undo.spare_places());
        self.end_unit(taken.pages.len() as u64, forced)
    }

    /// Appends the completed changes of a page.
    fn append_dirty(&mut self, page: PageId) {
        let (units, mut log) = self.0.split();
        let Some(mut dirty) = units.unwritten.dirty.remove(&page.0) else {
            return;
        };
        let bytes: &Page = match &dirty.before {
            Some(before) => before,
            // SAFETY: right of the pen: the page is not written now, or a before-image would exist, and a
            // thread that begins to write waits for the pen.
            None => unsafe { units.frames.page(page) },
        };
        let builder = log.builder();
        match units.page_log {
            PageLog::AfterImages => push(builder, page, 0, bytes),
            PageLog::ByteRanges => {
                merge(&mut dirty.ranges);
                for Changed { range, .. } in &dirty.ranges {
                    push(builder, page, range.start, &bytes[range.clone()]);
                }
            }
        }
    }
}

type EntriesByTransaction = Vec<(u64, Vec<Entry<Arc<[u8]>>>)>;

/// The entries that have to be written with these subtransactions, by transaction in the order of
/// their first ends.
fn entries_of(taken: &Taken<Member>, ending: Option<u64>) -> EntriesByTransaction {
    let (mut done, mut compensated) = (Vec::new(), Vec::new());
    for (_, member) in &taken.subtransactions {
        match member.kind {
            MemberKind::Operation { sequence, .. } => done.push(sequence),
            MemberKind::Compensation { of } => compensated.push(of),
        }
    }
    done.sort_unstable();
    compensated.sort_unstable();
    let mut entries = EntriesByTransaction::new();
    for (_, member) in &taken.subtransactions {
        let transaction = member.transaction;
        let entry = match &member.kind {
            MemberKind::Operation {
                sequence,
                inverse: Some((operation, bytes)),
            } if compensated.binary_search(sequence).is_err() => Entry::Undo {
                sequence: *sequence,
                operation: *operation,
                bytes: bytes.clone(),
            },
            MemberKind::Compensation { of } if done.binary_search(of).is_err() => {
                Entry::Cancelled { sequence: *of }
            }
            _ => continue,
        };
        if Some(transaction) == ending {
            continue;
        }
        match entries.iter_mut().find(|(t, _)| *t == transaction) {
            Some((_, entries)) => entries.push(entry),
            None => entries.push((transaction, vec![entry])),
        }
    }
    entries
}
