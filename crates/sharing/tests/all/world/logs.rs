//! The nodes' logs, and the keepers that bring their groups to storage.
//!
//! A commit group has byte ranges with page sequence numbers, encoded as a node's log has them. Under
//! [`Keeper::Nodes`] they are read at a recovery only. Under [`Keeper::Checkpointer`] all logs are merged into the
//! checkpointer's pages as they grow. Nodes write no pages then, and "written" means that these pages have a version.
//! The checkpointer may begin again from its backup, for which it needs no log from before [`Merge::needed_from`].

use super::random::Random;
use super::{Event, Version, World};
use sardonyx_sharing::protocol::fence::{Appender, Closer, Occupied};
use sardonyx_sharing::protocol::{Epoch, NodeId, PageId, Psn, TransactionId};
use sardonyx_sharing::redo::{Group, Merge, Pages, Push, Redo, append};
use sardonyx_storage::log::record::{Body, Records, mark_end};
use std::collections::BTreeMap;
use std::convert::Infallible;

/// The part that brings changes to storage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeper {
    /// Each node writes pages from its buffer.
    Nodes,
    /// One process merges all logs.
    Checkpointer,
}

/// Planted faults, which the checks must find.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Planted {
    /// A recovery reads the failed node's log only.
    OneLog,
    /// The checkpointer applies records as they come.
    AnyOrder,
    /// A record that waits for another log is forgotten.
    ForgottenRecord,
    /// A buffer gives up a copy that storage has not got.
    DroppedCopy,
    /// A node receives the answer that storage has its version when the version is only in the log.
    EarlyAnswer,
    /// A backup takes every group that was read for one that it has.
    FreedLog,
    /// A node that was shut out is recovered without closing its log.
    NoFence,
    /// A part of the lock authority goes on with the versions that storage happens to have.
    UnreadLogs,
    /// A member takes a message whatever the epoch in which it was sent.
    OldEpochs,
    /// A node says nothing of the locks that it holds when the authority for them has moved.
    NotDeclared,
    /// A read-only transaction is acknowledged without asking whether its node still takes part.
    NoLease,
}

/// All logs, as they are on the disks.
#[derive(Clone, Debug)]
pub struct Logs {
    pub keeper: Keeper,
    pub planted: Option<Planted>,
    /// True if writing a group takes a while, so that others join it and its node may fail meanwhile.
    pub slow: bool,
    /// The newest.
    pub epoch: Epoch,
    /// The number of times that a record had to wait for another log, and of checkpointers that followed another.
    pub waited: u64,
    pub restarts: u64,
    logs: BTreeMap<NodeId, Log>,
    /// The checkpointer.
    merge: Merge,
    backup: Backup,
    /// Each page's version when the checkpointer had to begin again: before that, the page is not read from it.
    stood: BTreeMap<PageId, Psn>,
}

#[derive(Clone, Debug)]
struct Log {
    epoch: Epoch,
    groups: Vec<Vec<u8>>,
    closed: Option<Epoch>,
    /// Its node's own end of it.
    appender: Appender,
    /// Groups before this one are not there any more.
    first: u64,
}

/// Pages on a disk, and from which group on each log must be applied to them.
#[derive(Clone, Debug, Default)]
struct Backup {
    pages: BTreeMap<PageId, Version>,
    from: BTreeMap<NodeId, u64>,
}

/// Pages to which redo is applied.
struct Stored<'a>(&'a mut BTreeMap<PageId, Version>);

impl Pages for Stored<'_> {
    type Error = Infallible;

    fn psn(&self, page: PageId) -> Psn {
        self.0.get(&page).copied().unwrap_or_default().psn
    }

    fn apply(&mut self, redo: &Redo<'_>) -> Result<(), Infallible> {
        let version = self.0.entry(redo.page).or_default();
        for (offset, bytes) in redo.writes() {
            version.content[offset..offset + bytes.len()].copy_from_slice(bytes);
        }
        version.psn = redo.psn;
        Ok(())
    }
}

impl Log {
    fn new(epoch: Epoch) -> Self {
        Log {
            epoch,
            groups: Vec::new(),
            closed: None,
            appender: Appender::new(1),
            first: 1,
        }
    }

    /// A keeper's access to its log: a group is appended at its end, or the end is read.
    fn append_at(
        &mut self,
        place: u64,
        records: Option<Vec<u8>>,
        epoch: Epoch,
    ) -> Result<(), Occupied> {
        let end = self.groups.len() as u64 + 1;
        if place < end {
            return Err(Occupied::Redo);
        }
        assert_eq!(place, end, "a gap in a log");
        if let Some(closed) = self.closed {
            return Err(Occupied::Closing(closed));
        }
        match records {
            Some(records) => self.groups.push(records),
            None => self.closed = Some(epoch),
        }
        Ok(())
    }

    /// The group with this number; the closing one is the last.
    fn group(&self, number: u64) -> Option<Group<'_>> {
        assert!(number >= self.first, "group {number} has been freed");
        let records = self.groups.get(number as usize - 1);
        let redo = records.map(|records| Group::redo(number, self.epoch, records));
        let last = self.groups.len() as u64 + 1;
        let closing = self.closed.filter(|_| number == last);
        redo.or_else(|| closing.map(|epoch| Group::closing(number, epoch)))
    }
}

impl Logs {
    pub(super) fn new(nodes: u16) -> Self {
        let epoch = Epoch(1);
        let log = Log::new(epoch);
        let logs: BTreeMap<NodeId, Log> =
            (0..nodes).map(|node| (NodeId(node), log.clone())).collect();
        let mut all = Logs {
            keeper: Keeper::Nodes,
            planted: None,
            slow: false,
            epoch,
            waited: 0,
            restarts: 0,
            logs,
            merge: Merge::new(0),
            backup: Backup::default(),
            stood: BTreeMap::new(),
        };
        all.merge = all.opened(0, &BTreeMap::new());
        all
    }

    /// From now on a checkpointer merges the logs; so many bytes of records may wait.
    pub fn keep_by_checkpointer(&mut self, waiting_bytes_max: usize) {
        self.keeper = Keeper::Checkpointer;
        self.merge = self.opened(waiting_bytes_max, &BTreeMap::new());
    }

    /// The last group of each log; of one that is closed the closing one.
    pub(super) fn ends(&self) -> BTreeMap<NodeId, u64> {
        let logs = self.logs.iter();
        let end = |log: &Log| log.groups.len() as u64 + u64::from(log.closed.is_some());
        logs.map(|(&node, log)| (node, end(log))).collect()
    }

    /// A node that joins has a log.
    pub(super) fn open(&mut self, node: NodeId) {
        let log = Log::new(Epoch(1));
        let opened = self.merge.open::<Infallible>(node, log.epoch, 1);
        opened.expect("it is new");
        self.logs.insert(node, log);
    }

    pub fn is_closed(&self, node: NodeId) -> bool {
        self.logs[&node].closed.is_some()
    }

    /// A merger of all logs, from these groups on.
    fn opened(&self, waiting_bytes_max: usize, from: &BTreeMap<NodeId, u64>) -> Merge {
        let mut merge = Merge::new(waiting_bytes_max);
        for (&node, log) in &self.logs {
            let from = from.get(&node).copied().unwrap_or(1);
            merge
                .open::<Infallible>(node, log.epoch, from)
                .expect("opened once");
        }
        merge
    }
}

impl World {
    /// Writes the commit group of the node to its log, and goes on with its transactions.
    pub(super) fn write_group(&mut self, node: NodeId) {
        for transaction in self.log_group(node) {
            self.durable(transaction);
        }
    }

    /// Writes the commit group of the node to its log: what is in it has happened. A node whose log is closed ends.
    pub(super) fn log_group(&mut self, node: NodeId) -> Vec<TransactionId> {
        let committing = std::mem::take(&mut self.node(node).committing);
        let mut records = Vec::new();
        let mut changed = Vec::new();
        for &transaction in &committing {
            let state = &self.node(node).transactions[&transaction];
            let mut last = 0;
            for page in state.written() {
                let frame = &self.node(node).frames[&page];
                let (_, version) = frame.working.expect("a changed page is at work");
                let changes = frame.version.changes(&version);
                last = append(&mut records, page, version.psn, changes);
                changed.push((page, version));
            }
            mark_end(&mut records, last);
        }
        let log = self.logs.logs.get_mut(&node).expect("every node has one");
        let place = log.appender.place().expect("who is fenced has ended");
        let appended = log.append_at(place, Some(records), log.epoch);
        if log.appender.answer(appended).is_err() {
            self.shut_out(node);
            return Vec::new();
        }
        for &transaction in &committing {
            self.check_reads(transaction);
        }
        for (page, version) in changed {
            let before = self.truth.insert(page, version).unwrap_or_default();
            let next = before.psn.next();
            assert_eq!(
                version.psn, next,
                "{page:?} changed by {node:?} beside others"
            );
        }
        self.wake_checkpointer(node);
        committing
    }

    /// The checkpointer has all that is in the logs.
    fn catch_up(&mut self) {
        let logs: Vec<NodeId> = self.logs.logs.keys().copied().collect();
        let ends = self.logs.ends();
        let behind = |world: &World| {
            let next = |log: &NodeId| world.logs.merge.next_group(*log).expect("all are open");
            logs.iter().any(|log| next(log) <= ends[log])
        };
        while behind(self) {
            for &log in &logs {
                self.consume(log);
            }
        }
        self.events
            .retain(|event| !matches!(event, Event::Consume(_)));
    }

    fn wake_checkpointer(&mut self, log: NodeId) {
        if self.machines.stored_at_commit() {
            return self.catch_up();
        }
        if self.logs.keeper == Keeper::Checkpointer {
            self.events.push(Event::Consume(log));
        }
    }

    /// Closes a failed node's log, in a new epoch.
    pub(super) fn fence(&mut self, failed: NodeId) {
        self.logs.epoch = self.logs.epoch.next();
        let (epoch, mut closer) = (self.logs.epoch, Closer::new(1));
        while !self.close_log(failed, epoch, &mut closer) {}
    }

    /// Tries to append the group that closes a log. Returns whether the log is closed.
    pub(super) fn close_log(&mut self, failed: NodeId, epoch: Epoch, closer: &mut Closer) -> bool {
        let log = self.logs.logs.get_mut(&failed).expect("it has one");
        let appended = log.append_at(closer.place(), None, epoch);
        let closed = closer.answer(appended).is_some();
        if appended.is_ok() {
            self.wake_checkpointer(failed);
            self.go_on();
        }
        closed
    }

    /// The checkpointer takes a log's next group.
    pub(super) fn consume(&mut self, node: NodeId) {
        let Logs {
            merge,
            logs,
            planted,
            waited,
            ..
        } = &mut self.logs;
        let next = merge.next_group(node).expect("all are open");
        // It may have been taken by a checkpointer that had to begin again.
        let Some(group) = logs[&node].group(next) else {
            return;
        };
        let mut stored = Stored(&mut self.storage);
        if *planted == Some(Planted::AnyOrder) {
            stored.apply_as_it_comes(group.records);
        }
        match merge.push(node, &group, &mut stored) {
            Ok(Push::Taken) => {}
            Ok(Push::Later) => self.events.push(Event::Consume(node)),
            Err(error) => panic!("the checkpointer: {error}"),
        }
        *waited += u64::from(merge.waiting_bytes() > 0);
        if *planted == Some(Planted::ForgottenRecord) && merge.waiting_bytes() > 0 {
            self.forget_what_waits();
        }
        self.go_on();
    }

    fn forget_what_waits(&mut self) {
        let mut from = BTreeMap::new();
        for (&node, log) in &self.logs.logs {
            let next = self.logs.merge.next_group(node).expect("all are open");
            from.insert(node, next.min(log.groups.len() as u64 + 1));
            self.events.extend(log.closed.map(|_| Event::Consume(node)));
        }
        self.logs.merge = self.logs.opened(usize::MAX, &from);
    }

    /// Retries the events that waited for storage.
    fn go_on(&mut self) {
        let (due, awaiting) = std::mem::take(&mut self.awaiting)
            .into_iter()
            .partition(|event| self.is_due(event));
        self.awaiting = awaiting;
        let due: Vec<Event> = due;
        self.events.extend(due);
    }

    /// True if the event has what it needs of storage or of a log.
    pub(super) fn is_due(&self, event: &Event) -> bool {
        let merged = self.logs.keeper == Keeper::Checkpointer;
        let unfenced = self.logs.planted == Some(Planted::NoFence);
        let early = self.logs.planted == Some(Planted::EarlyAnswer);
        match *event {
            Event::RecoverPart { ref ends, .. } => {
                let unread = self.logs.planted == Some(Planted::UnreadLogs);
                let mut ends = ends.iter();
                let read =
                    |(&log, &end): (&NodeId, &u64)| self.logs.merge.next_group(log) > Some(end);
                unread || ends.all(read)
            }
            Event::RecoverPage(_, page, failed) => match merged {
                true => unfenced || self.logs.merge.has_all_of(failed) && self.has_caught_up(page),
                false => self.logs.is_closed(failed) || unfenced,
            },
            _ if !merged => true,
            Event::WriteStorage(_, page, _, version) => {
                early || self.stored(page).psn >= version.psn
            }
            Event::ForceStorage(transaction, page) => {
                early || self.stored(page).psn >= self.worked_on(transaction, page).psn
            }
            Event::ReadStorage(_, page) => self.has_caught_up(page),
            _ => true,
        }
    }

    /// True if the checkpointer's page is at least as new as it ever was.
    fn has_caught_up(&self, page: PageId) -> bool {
        let stood = self.logs.stood.get(&page).copied().unwrap_or_default();
        self.stored(page).psn >= stood
    }

    /// The checkpointer writes its pages to the backup, and frees the logs that they do not need.
    pub fn back_up(&mut self) {
        let freed = self.logs.planted == Some(Planted::FreedLog);
        let Logs { logs, merge, .. } = &mut self.logs;
        let mut from = BTreeMap::new();
        for (&node, log) in logs {
            let needed = match freed {
                true => merge.next_group(node),
                false => merge.needed_from(node),
            };
            // A log is read at least to its end.
            let needed = needed.unwrap_or(1).min(log.groups.len() as u64 + 1);
            log.first = needed;
            from.insert(node, needed);
        }
        let pages = self.storage.clone();
        self.logs.backup = Backup { pages, from };
    }

    /// The checkpointer fails, and another begins with the backup.
    pub fn restart_checkpointer(&mut self, waiting_bytes_max: usize) {
        for (&page, version) in &self.storage {
            let stood = self.logs.stood.entry(page).or_default();
            *stood = version.psn.max(*stood);
        }
        self.logs.restarts += 1;
        self.storage = self.logs.backup.pages.clone();
        self.logs.merge = self.logs.opened(waiting_bytes_max, &self.logs.backup.from);
        self.events
            .retain(|event| !matches!(event, Event::Consume(_)));
        for (&node, log) in &self.logs.logs {
            let next = self.logs.merge.next_group(node).expect("just opened");
            let last = log.groups.len() as u64 + u64::from(log.closed.is_some());
            let left = (next..=last).map(|_| Event::Consume(node));
            self.events.extend(left);
        }
        if self.machines.stored_at_commit() {
            self.catch_up();
        }
    }

    /// A page's version when all logs are merged, from its stored version on.
    pub(super) fn merged(&self, page: PageId, failed: NodeId) -> Version {
        let stored = self.stored(page);
        let mut pages = BTreeMap::from([(page, stored)]);
        let only = self.logs.planted == Some(Planted::OneLog);
        let mut merge = self.logs.opened(usize::MAX, &BTreeMap::new());
        for (&node, log) in &self.logs.logs {
            if only && node != failed {
                continue;
            }
            for number in 1..=log.groups.len() as u64 {
                let group = log.group(number).expect("as many as there are");
                let pushed = merge.push(node, &group, &mut Stored(&mut pages));
                pushed.expect("the logs go together");
            }
        }
        pages[&page]
    }

    /// All nodes fail at this moment, and the checkpointer too: what the backup and the logs have is what was
    /// committed, whatever the order in which the logs are read.
    pub fn check_recovery(&self, random: &mut Random) {
        let Logs { backup, logs, .. } = &self.logs;
        let mut pages = backup.pages.clone();
        let bound = [0, 100, usize::MAX][random.below(3)];
        let mut merge = self.logs.opened(bound, &backup.from);
        let mut left: Vec<NodeId> = logs.keys().copied().collect();
        while !left.is_empty() {
            let place = random.below(left.len());
            let next = merge.next_group(left[place]).expect("all are open");
            let Some(group) = logs[&left[place]].group(next) else {
                let ended = merge.end(left.swap_remove(place), &Stored(&mut pages));
                ended.expect("the logs have every version");
                continue;
            };
            let pushed = merge.push(left[place], &group, &mut Stored(&mut pages));
            pushed.expect("the logs go together");
        }
        pages.retain(|_, version| version.psn > Psn(0));
        assert_eq!(pages, self.truth, "recovered is another than committed");
    }
}

impl Stored<'_> {
    /// Applies records like a checkpointer that believes the order in which it reads.
    fn apply_as_it_comes(&mut self, records: &[u8]) {
        for record in Records::new(records) {
            match record.expect("whole").body {
                Body::Version { page, psn } => {
                    let version = self.0.entry(PageId(page.0)).or_default();
                    version.psn = version.psn.max(Psn(psn));
                }
                Body::Write { address, bytes } => {
                    let version = self.0.entry(PageId(address.page().0)).or_default();
                    version.content[address.offset_in_page()..][..bytes.len()]
                        .copy_from_slice(bytes);
                }
                Body::Journal { .. } => {}
            }
        }
    }
}
