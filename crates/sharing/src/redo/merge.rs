//! Merging of the redo logs of several nodes, page by page, by page sequence numbers.
//!
//! The shell reads the logs, from disks or as they are written, in any order between them. It gives each log's groups
//! in their order to [`Merge::push`]. A record is applied if its page is at the version before the one it makes, and
//! ignored if the page has that version already. It is kept if versions between are missing: those are in groups of
//! other logs. When they come it follows. No log may be open any more, or none may be wanted (see below). If some
//! record still waits then, the result is a [`Gap`]: a log is not among them, or was freed too early.
//!
//! *Memory* (I10). The records that wait are kept, up to a bound; beyond it a log is read on only if nothing of it
//! waits ([`Merge::wants`]). So there are never more than the bound and a group of each log. The merge never stops for
//! good, because locks are kept until a commit is durable: of all groups that are not applied yet take the one that
//! became durable first. The versions before its own are in groups that were durable earlier, so in applied ones. If it
//! was given already, all of it was applied; if not, nothing of its log waits, and its log is wanted.
//!
//! *Closing.* A group without transactions ends a log: its node's own, when it leaves, or a fence of a later
//! epoch, by which a survivor closed it. Nothing is taken behind it (I12).
//!
//! ```
//! use sardonyx_sharing::protocol::{Epoch, NodeId, PageId, Psn};
//! use sardonyx_sharing::redo::{Group, Merge, Pages, Push, Redo, append};
//! use sardonyx_storage::log::record::mark_end;
//! use std::convert::Infallible;
//!
//! /// A page of four bytes.
//! #[derive(Default)]
//! struct Page(Psn, [u8; 4]);
//!
//! impl Pages for Page {
//!     type Error = Infallible;
//!     fn psn(&self, _: PageId) -> Psn {
//!         self.0
//!     }
//!     fn apply(&mut self, redo: &Redo<'_>) -> Result<(), Infallible> {
//!         for (offset, bytes) in redo.writes() {
//!             self.1[offset..offset + bytes.len()].copy_from_slice(bytes);
//!         }
//!         self.0 = redo.psn;
//!         Ok(())
//!     }
//! }
//!
//! fn group(psn: u64, offset: usize, bytes: &[u8]) -> Vec<u8> {
//!     let mut records = Vec::new();
//!     let last = append(&mut records, PageId(7), Psn(psn), [(offset, bytes)]);
//!     mark_end(&mut records, last);
//!     records
//! }
//!
//! let (a, b) = (NodeId(0), NodeId(1));
//! let (mut page, mut merge) = (Page::default(), Merge::new(1 << 20));
//! merge.open::<Infallible>(a, Epoch(1), 1).unwrap();
//! merge.open::<Infallible>(b, Epoch(1), 1).unwrap();
//! let (first, second) = (group(1, 0, b"abcd"), group(2, 1, b"BC"));
//! let (first, second) = (Group::redo(1, Epoch(1), &first), Group::redo(1, Epoch(1), &second));
//! assert_eq!(merge.push(b, &second, &mut page).unwrap(), Push::Taken);
//! assert_eq!(page.0, Psn(0), "version 2 waits for version 1");
//! assert_eq!(merge.push(a, &first, &mut page).unwrap(), Push::Taken);
//! assert_eq!((page.0, &page.1), (Psn(2), b"aBCd"));
//! ```

use super::record::{Found, decode};
use super::{MergeError, Redo};
use crate::protocol::{Epoch, NodeId, PageId, Psn};
use sardonyx_storage::log::group::GroupHeader;
use std::collections::BTreeMap;

/// The pages to which redo is applied.
pub trait Pages {
    /// Why a change may be refused.
    type Error: std::error::Error + 'static;

    /// The version of the page; the first ([`Psn::default`]) if it was never changed.
    fn psn(&self, page: PageId) -> Psn;

    /// Makes the next version of a page.
    ///
    /// # Errors
    /// As the pages say. Then the page stays at its version, and its bytes may be anything: the same redo is applied
    /// again before it is used.
    fn apply(&mut self, redo: &Redo<'_>) -> Result<(), Self::Error>;
}

/// A commit group, checked by its reader.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Its number in its log.
    pub number: u64,
    /// The epoch in which it was written.
    pub epoch: Epoch,
    /// As they are in the log.
    pub records: &'a [u8],
    /// True if the log ends with it.
    pub closes: bool,
}

/// The result of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Push {
    /// It is taken: each of its records was applied, passed over or waits.
    Taken,
    /// Nothing was done, as too much waits. It is to be given again when [`Merge::wants`] says so; until then other
    /// logs are.
    Later,
}

/// A version of a page that no log has: all have ended, or each waits for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "version {} of page {} is in no log, and version {} of the log of node {} waits for it: a log is missing, or was \
     freed before the page was stored", missing.0, page.0, psn.0, log.0
)]
pub struct Gap {
    /// The page that cannot be brought up to date.
    pub page: PageId,
    /// The version after the one that the page has.
    pub missing: Psn,
    /// The log with the first record that waits for it.
    pub log: NodeId,
    /// The version that that record makes.
    pub psn: Psn,
}

/// Merges redo logs.
#[derive(Clone, Debug)]
pub struct Merge {
    logs: BTreeMap<NodeId, Log>,
    waiting: BTreeMap<(PageId, Psn), Waiting>,
    waiting_bytes: usize,
    waiting_bytes_max: usize,
}

#[derive(Clone, Debug)]
struct Log {
    epoch: Epoch,
    closed: Option<Epoch>,
    /// The number of the group whose turn it is.
    next: u64,
    /// The number of waiting records of each group.
    waiting: BTreeMap<u64, usize>,
}

/// A record that waits for the version before its own.
#[derive(Clone, Debug)]
struct Waiting {
    log: NodeId,
    group: u64,
    writes: Box<[u8]>,
}

/// The memory of a waiting record beside its writes.
const WAITING_BYTES: usize = size_of::<Waiting>() + size_of::<(PageId, Psn)>();

impl<'a> Group<'a> {
    /// A group that does not close its log.
    pub fn redo(number: u64, epoch: Epoch, records: &'a [u8]) -> Self {
        Group {
            number,
            epoch,
            records,
            closes: false,
        }
    }

    /// A group that ends a log.
    pub fn closing(number: u64, epoch: Epoch) -> Self {
        Group {
            number,
            epoch,
            records: &[],
            closes: true,
        }
    }

    /// A group as a log's reader has it. The incarnation in which it was written is its epoch; without transactions
    /// it closes the log.
    pub fn of(header: &GroupHeader, records: &'a [u8]) -> Self {
        Group {
            number: header.number,
            epoch: Epoch(header.incarnation),
            records,
            closes: header.transactions == 0,
        }
    }
}

impl Waiting {
    fn bytes(&self) -> usize {
        self.writes.len() + WAITING_BYTES
    }
}

impl Merge {
    /// Merges no log yet. About `waiting_bytes_max` bytes of records may wait, and beyond that those of one group of
    /// each log.
    pub fn new(waiting_bytes_max: usize) -> Self {
        Merge {
            logs: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            waiting_bytes_max,
        }
    }

    /// Opens a log for merging, from this group on; the pages have everything before it. It is that of a node which
    /// joined in this epoch. A recovery opens all logs before it gives the first group: what would be missing from a
    /// log that is not open is a gap.
    ///
    /// # Errors
    /// [`MergeError::KnownLog`].
    pub fn open<E: std::error::Error>(
        &mut self,
        log: NodeId,
        epoch: Epoch,
        from: u64,
    ) -> Result<(), MergeError<E>> {
        if self.logs.contains_key(&log) {
            return Err(MergeError::KnownLog { log });
        }
        let opened = Log {
            epoch,
            closed: None,
            next: from,
            waiting: BTreeMap::new(),
        };
        self.logs.insert(log, opened);
        Ok(())
    }

    /// Takes a log's next group.
    ///
    /// # Errors
    /// [`MergeError`]. If the pages refused, the group may be given again when they can take it. [`MergeError::Twice`]
    /// and [`MergeError::Gap`] say that the pages cannot be made from these logs. With all others nothing was done.
    pub fn push<P: Pages>(
        &mut self,
        log: NodeId,
        group: &Group<'_>,
        pages: &mut P,
    ) -> Result<Push, MergeError<P::Error>> {
        let found = self.check(log, group)?;
        if !group.closes && !self.wants(log) {
            self.check_for_gap(pages)?;
            return Ok(Push::Later);
        }
        for found in &found {
            self.record(log, group, found, pages)?;
        }
        if let Some(state) = self.logs.get_mut(&log) {
            state.next = group.number + 1;
            state.closed = group.closes.then_some(group.epoch);
        }
        if group.closes {
            self.check_for_gap(pages)?;
        }
        Ok(Push::Taken)
    }

    /// True if a log's next group would be taken.
    pub fn wants(&self, log: NodeId) -> bool {
        let room = self.waiting_bytes < self.waiting_bytes_max;
        let known = self.logs.get(&log);
        known.is_some_and(|state| state.closed.is_none() && (room || state.waiting.is_empty()))
    }

    /// The log's group whose turn it is.
    pub fn next_group(&self, log: NodeId) -> Option<u64> {
        self.logs.get(&log).map(|state| state.next)
    }

    /// The first of the log's groups of which the present pages may lack something. A copy of them needs the log from
    /// there on (I6).
    pub fn needed_from(&self, log: NodeId) -> Option<u64> {
        let state = self.logs.get(&log)?;
        Some(state.waiting.keys().next().copied().unwrap_or(state.next))
    }

    /// True if the log has been closed and the pages have all of it.
    pub fn has_all_of(&self, log: NodeId) -> bool {
        let known = self.logs.get(&log);
        known.is_some_and(|state| state.closed.is_some() && state.waiting.is_empty())
    }

    /// Forgets a log of which the pages have all ([`Merge::has_all_of`]); says whether it did. The numbers of former
    /// nodes would accumulate otherwise.
    pub fn forget(&mut self, log: NodeId) -> bool {
        let gone = self.has_all_of(log);
        if gone {
            self.logs.remove(&log);
        }
        gone
    }

    /// Bytes of the records that wait.
    pub fn waiting_bytes(&self) -> usize {
        self.waiting_bytes
    }

    /// The first version that something waits for: in whose log it is, is not known.
    pub fn awaited<P: Pages>(&self, pages: &P) -> Option<Gap> {
        let (&(page, psn), waiting) = self.waiting.first_key_value()?;
        Some(Gap {
            page,
            missing: pages.psn(page).next(),
            log: waiting.log,
            psn,
        })
    }

    /// A log has been read to its end, though no group closes it: after a crash of all nodes.
    ///
    /// # Errors
    /// [`MergeError::Gap`].
    pub fn end<P: Pages>(&mut self, log: NodeId, pages: &P) -> Result<(), MergeError<P::Error>> {
        if let Some(state) = self.logs.get_mut(&log) {
            state.closed.get_or_insert(state.epoch);
        }
        self.check_for_gap(pages)
    }

    /// Refuses what does not follow in its log, and decodes the group.
    fn check<E: std::error::Error>(
        &self,
        log: NodeId,
        group: &Group<'_>,
    ) -> Result<Vec<Found>, MergeError<E>> {
        let Some(state) = self.logs.get(&log) else {
            return Err(MergeError::UnknownLog { log });
        };
        if let Some(closed) = state.closed {
            let group = group.number;
            return Err(MergeError::Closed { log, group, closed });
        }
        // Only a fence may be of another epoch: of a later one.
        if group.epoch != state.epoch && (!group.closes || group.epoch < state.epoch) {
            return Err(MergeError::Epoch {
                log,
                group: group.number,
                found: group.epoch,
                expected: state.epoch,
            });
        }
        if group.number != state.next {
            return Err(MergeError::Order {
                log,
                found: group.number,
                expected: state.next,
            });
        }
        decode(group.records).map_err(|source| MergeError::Redo {
            log,
            group: group.number,
            source,
        })
    }

    /// Applies a record and what waited for it, passes it over, or keeps it.
    fn record<P: Pages>(
        &mut self,
        log: NodeId,
        group: &Group<'_>,
        found: &Found,
        pages: &mut P,
    ) -> Result<(), MergeError<P::Error>> {
        let Found { page, psn, .. } = *found;
        let writes = group.records.get(found.writes.clone()).unwrap_or_default();
        let stands = pages.psn(page);
        if psn <= stands {
            // The following records may have been refused when the group was given before.
            return self.follow(page, stands, pages);
        }
        if psn == stands.next() {
            let redo = Redo { page, psn, writes };
            pages.apply(&redo).map_err(MergeError::Pages)?;
            return self.follow(page, psn, pages);
        }
        if let Some(other) = self.waiting.get(&(page, psn)) {
            // A group that the pages refused is given again.
            if (other.log, other.group) == (log, group.number) {
                return Ok(());
            }
            let other = other.log;
            return Err(MergeError::Twice {
                page,
                psn,
                log,
                other,
            });
        }
        let waiting = Waiting {
            log,
            group: group.number,
            writes: writes.into(),
        };
        self.waiting_bytes += waiting.bytes();
        self.waiting.insert((page, psn), waiting);
        if let Some(state) = self.logs.get_mut(&log) {
            *state.waiting.entry(group.number).or_default() += 1;
        }
        Ok(())
    }

    /// The page is at `psn`: records that waited for that are applied.
    fn follow<P: Pages>(
        &mut self,
        page: PageId,
        mut psn: Psn,
        pages: &mut P,
    ) -> Result<(), MergeError<P::Error>> {
        while let Some(waiting) = self.waiting.get(&(page, psn.next())) {
            psn = psn.next();
            let writes = &*waiting.writes;
            let redo = Redo { page, psn, writes };
            pages.apply(&redo).map_err(MergeError::Pages)?;
            self.forget_waiting(page, psn);
        }
        Ok(())
    }

    fn forget_waiting(&mut self, page: PageId, psn: Psn) {
        let Some(waiting) = self.waiting.remove(&(page, psn)) else {
            return;
        };
        self.waiting_bytes -= waiting.bytes();
        let Some(state) = self.logs.get_mut(&waiting.log) else {
            return;
        };
        if let Some(records) = state.waiting.get_mut(&waiting.group) {
            *records -= 1;
            if *records == 0 {
                state.waiting.remove(&waiting.group);
            }
        }
    }

    /// If something waits, some log is wanted; or what it waits for is in none.
    fn check_for_gap<P: Pages>(&self, pages: &P) -> Result<(), MergeError<P::Error>> {
        if self.logs.keys().any(|&log| self.wants(log)) {
            return Ok(());
        }
        self.awaited(pages).map_or(Ok(()), |gap| Err(gap.into()))
    }
}
