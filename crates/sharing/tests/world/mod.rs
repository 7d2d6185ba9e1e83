//! A toy shell around the protocols' machines: nodes with page buffers, transactions that read and
//! change page contents, a network, a global lock table and a storage whose writes take time.
//!
//! Everything under way is an [`Event`] in a pool. The driver picks one after another: in order for
//! a schedule written by hand, or at random, which lets messages overtake each other and everything
//! happen between any two steps of anything else. The world knows the truth (what was committed,
//! who holds what) and checks every grant, read and write against it.

#![allow(dead_code, reason = "each test uses its part of the world")]

pub mod random;

use sardonyx_sharing::protocol::channel::{Channel, Packet};
use sardonyx_sharing::protocol::{
    Counters, Entry, GemLocking, GemOptions, Input, LockMode, Message, NodeId, Outcome, Output,
    PageId, PageSource, PrimaryCopy, PrimaryCopyOptions, Protocol, Psn, TransactionId,
    UpdateStrategy,
};
use std::collections::{BTreeMap, BTreeSet};

/// Which machines the nodes run, and how many.
#[derive(Clone, Copy, Debug)]
pub enum Machines {
    Gem(GemOptions),
    PrimaryCopy(PrimaryCopyOptions),
}

impl Machines {
    pub fn update(self) -> UpdateStrategy {
        match self {
            Machines::Gem(options) => options.update,
            Machines::PrimaryCopy(options) => options.update,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Divided(pub u16);

impl sardonyx_sharing::protocol::primary_copy::Authority for Divided {
    fn of(&self, page: PageId) -> NodeId {
        NodeId((page.0 % u64::from(self.0)) as u16)
    }
}

#[derive(Clone, Debug)]
pub enum Machine {
    Gem(Box<GemLocking>),
    PrimaryCopy(Box<PrimaryCopy<Divided>>),
}

impl Machine {
    fn new(machines: Machines, node: NodeId, nodes: u16) -> Self {
        match machines {
            Machines::Gem(options) => Machine::Gem(Box::new(GemLocking::new(node, options))),
            Machines::PrimaryCopy(options) => {
                Machine::PrimaryCopy(Box::new(PrimaryCopy::new(node, Divided(nodes), options)))
            }
        }
    }

    fn protocol(&self) -> &dyn Protocol {
        match self {
            Machine::Gem(machine) => &**machine,
            Machine::PrimaryCopy(machine) => &**machine,
        }
    }

    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) {
        match self {
            Machine::Gem(machine) => machine.handle(input, outputs),
            Machine::PrimaryCopy(machine) => machine.handle(input, outputs),
        }
    }
}

/// A committed version of a page. Its content depends on every update before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Version {
    pub psn: Psn,
    pub content: u64,
}

impl Version {
    fn after(self, transaction: TransactionId) -> Version {
        let mixed = self.content ^ transaction.number() << 8 ^ u64::from(transaction.node().0);
        Version {
            psn: self.psn.next(),
            content: mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29),
        }
    }
}

/// A page in a node's buffer.
#[derive(Clone, Debug)]
pub struct Frame {
    pub version: Version,
    /// Committed here and not known to be on storage or with the owner.
    pub dirty: bool,
    /// Being changed by a transaction.
    pub working: Option<(TransactionId, Version)>,
    /// The buffer has asked to write this version.
    pub replacing: Option<Psn>,
    /// Locks that count on it.
    pub pins: u32,
}

/// How far a transaction is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    Ready,
    /// Has asked for a lock; whether it has been told to wait.
    Locking(PageId, bool),
    Reading(PageId),
    Forcing(u32),
    /// Its end has been told to the machine.
    Ending,
}

/// A transaction of the toy shell.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub steps: Vec<(PageId, LockMode)>,
    pub progress: Progress,
    pub pinned: Option<PageId>,
    pub held: BTreeMap<PageId, LockMode>,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub machine: Machine,
    pub frames: BTreeMap<PageId, Frame>,
    pub transactions: BTreeMap<TransactionId, Transaction>,
    started: u64,
}

/// A message, and the pages that it carries.
type Letter = (Message, Vec<(PageId, Version)>);

/// Something under way.
#[derive(Clone, Debug)]
pub enum Event {
    Message {
        from: NodeId,
        to: NodeId,
        message: Message,
        pages: Vec<(PageId, Version)>,
    },
    /// On a bad network: a message with its pages, or an acknowledgement.
    Packet {
        from: NodeId,
        to: NodeId,
        packet: Packet<Letter>,
    },
    /// An access to the global lock table, not yet done.
    ReadEntry(NodeId, PageId),
    SwapEntry(NodeId, PageId, u64, Entry),
    /// One that is done, and its node does not know.
    EntryDone(NodeId, Input),
    Supply(NodeId, PageId, TransactionId),
    ReadStorage(TransactionId, PageId),
    WriteStorage(NodeId, PageId, Psn, Version),
    ForceStorage(TransactionId, PageId),
    /// A node brings a page of a failed one to storage.
    RecoverPage(NodeId, PageId, NodeId),
}

impl Event {
    /// The node whose doing it is.
    fn actor(&self) -> NodeId {
        match *self {
            Event::Message { from: node, .. }
            | Event::Packet { from: node, .. }
            | Event::ReadEntry(node, _)
            | Event::SwapEntry(node, ..)
            | Event::EntryDone(node, _)
            | Event::Supply(node, ..)
            | Event::WriteStorage(node, ..)
            | Event::RecoverPage(node, ..) => node,
            Event::ReadStorage(transaction, _) | Event::ForceStorage(transaction, _) => {
                transaction.node()
            }
        }
    }
}

/// The recovery of failed nodes by a survivor.
#[derive(Clone, Debug)]
pub struct Recovery {
    pub by: NodeId,
    nodes: Vec<NodeId>,
    left: BTreeSet<(PageId, NodeId)>,
}

#[derive(Clone, Debug)]
pub struct World {
    pub machines: Machines,
    pub nodes: Vec<Node>,
    pub events: Vec<Event>,
    pub entries: BTreeMap<PageId, Entry>,
    pub storage: BTreeMap<PageId, Version>,
    /// The newest committed version of each page.
    pub truth: BTreeMap<PageId, Version>,
    /// Every lock that a transaction has been told of.
    pub locks: BTreeMap<(PageId, TransactionId), LockMode>,
    /// By page: who has forced a change to storage that is not committed.
    forced: BTreeMap<PageId, TransactionId>,
    /// By node and page: the newest version that it has committed.
    logs: BTreeMap<(NodeId, PageId), Version>,
    /// Failed nodes, and whether they have been recovered.
    pub failed: BTreeMap<NodeId, bool>,
    pub recovery: Option<Recovery>,
    pub committed: u64,
    pub victims: u64,
    /// Everything that happened, folded into a number.
    pub fingerprint: u64,
    /// If the network is bad: each node's end of its connection with each other.
    pub channels: Option<BTreeMap<(NodeId, NodeId), Channel<Letter>>>,
    /// Prints what happens.
    pub verbose: bool,
}

impl World {
    pub fn new(machines: Machines, nodes: u16) -> Self {
        let node = |number| Node {
            machine: Machine::new(machines, NodeId(number), nodes),
            frames: BTreeMap::new(),
            transactions: BTreeMap::new(),
            started: 0,
        };
        World {
            machines,
            nodes: (0..nodes).map(node).collect(),
            events: Vec::new(),
            entries: BTreeMap::new(),
            storage: BTreeMap::new(),
            truth: BTreeMap::new(),
            locks: BTreeMap::new(),
            forced: BTreeMap::new(),
            logs: BTreeMap::new(),
            failed: BTreeMap::new(),
            recovery: None,
            committed: 0,
            victims: 0,
            fingerprint: 0,
            channels: None,
            verbose: false,
        }
    }

    pub fn node(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[usize::from(node.0)]
    }

    pub fn counters(&self, node: u16) -> Counters {
        *self.nodes[usize::from(node)].machine.protocol().counters()
    }

    pub fn newest(&self, page: PageId) -> Version {
        self.truth.get(&page).copied().unwrap_or_default()
    }

    pub fn stored(&self, page: PageId) -> Version {
        self.storage.get(&page).copied().unwrap_or_default()
    }

    fn transaction(&mut self, transaction: TransactionId) -> Option<&mut Transaction> {
        self.node(transaction.node())
            .transactions
            .get_mut(&transaction)
    }

    /// Begins a transaction that will do these steps.
    pub fn begin(&mut self, node: u16, steps: &[(u64, LockMode)]) -> TransactionId {
        let id = NodeId(node);
        let node = self.node(id);
        node.started += 1;
        let transaction = TransactionId::new(id, node.started);
        let steps = steps
            .iter()
            .rev()
            .map(|&(page, mode)| (PageId(page), mode))
            .collect();
        let begun = Transaction {
            steps,
            progress: Progress::Ready,
            pinned: None,
            held: BTreeMap::new(),
        };
        node.transactions.insert(transaction, begun);
        transaction
    }

    /// Lets a ready transaction ask for its next lock, or commit if it has had all.
    pub fn advance(&mut self, transaction: TransactionId) {
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        if state.progress != Progress::Ready {
            return;
        }
        let Some((page, mode)) = state.steps.pop() else {
            return self.commit(transaction);
        };
        state.progress = Progress::Locking(page, false);
        let frame = self.node(transaction.node()).frames.get_mut(&page);
        let cached = frame.map(|frame| {
            frame.pins += 1;
            frame.version.psn
        });
        if let Some(state) = self.transaction(transaction) {
            state.pinned = cached.map(|_| page);
        }
        let lock = Input::Lock {
            transaction,
            page,
            mode,
            cached,
        };
        self.tell(transaction.node(), lock);
    }

    fn commit(&mut self, transaction: TransactionId) {
        let force = self.machines.update() == UpdateStrategy::Force;
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        let written: Vec<PageId> = state.written();
        if force && !written.is_empty() {
            state.progress = Progress::Forcing(written.len() as u32);
            for page in written {
                self.events.push(Event::ForceStorage(transaction, page));
            }
        } else {
            self.end(transaction, Outcome::Committed);
        }
    }

    /// Ends the transaction: its versions are the newest, or were never there.
    pub fn end(&mut self, transaction: TransactionId, outcome: Outcome) {
        let node = transaction.node();
        let force = self.machines.update() == UpdateStrategy::Force;
        self.unpin(transaction);
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        state.progress = Progress::Ending;
        for page in state.written() {
            let frame = self
                .node(node)
                .frames
                .get_mut(&page)
                .expect("a changed page stays");
            let (_, version) = frame.working.take().expect("a changed page is at work");
            if outcome == Outcome::Committed {
                frame.version = version;
                frame.dirty = !force;
                self.truth.insert(page, version);
                self.logs.insert((node, page), version);
            }
        }
        self.locks.retain(|&(_, holder), _| holder != transaction);
        self.forced.retain(|_, by| *by != transaction);
        self.committed += u64::from(outcome == Outcome::Committed);
        let end = Input::End {
            transaction,
            outcome,
        };
        self.tell(node, end);
    }

    /// Tells the machine that a transaction has waited for long.
    pub fn suspect(&mut self, transaction: TransactionId) {
        self.tell(transaction.node(), Input::Suspect { transaction });
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

    /// Lets the event at this place of the pool happen.
    pub fn happen(&mut self, place: usize) {
        let event = self.events.remove(place);
        if self.verbose {
            println!("{event:?}");
        }
        match event {
            Event::Message {
                from,
                to,
                message,
                pages,
            } => self.deliver(from, to, message, &pages),
            Event::Packet { from, to, packet } => self.receive(from, to, packet),
            Event::ReadEntry(node, page) => {
                let entry = self.entries.entry(page).or_default().clone();
                self.events
                    .push(Event::EntryDone(node, Input::EntryRead { page, entry }));
            }
            Event::SwapEntry(node, page, expected, entry) => {
                let current = self.entries.entry(page).or_default();
                let swapped = current.compare_and_swap(expected, entry);
                // A recovery frees the failed nodes' locks by the swap, whoever hears of it when.
                let freed = |node| self.failed.contains_key(&node) && !current.is_locked_by(node);
                self.locks
                    .retain(|&(locked, holder), _| locked != page || !freed(holder.node()));
                self.events.push(Event::EntryDone(
                    node,
                    Input::EntrySwapped { page, swapped },
                ));
            }
            Event::EntryDone(node, input) => self.tell(node, input),
            Event::Supply(node, page, transaction) => {
                let frame = self.node(node).frames.get(&page);
                let supplied = Input::Supplied {
                    page,
                    transaction,
                    copy: frame.map(|frame| frame.version.psn),
                };
                self.tell(node, supplied);
            }
            Event::ReadStorage(transaction, page) => self.read_storage(transaction, page),
            Event::WriteStorage(node, page, psn, version) => {
                self.write_storage(page, version);
                if let Some(frame) = self.node(node).frames.get_mut(&page) {
                    frame.dirty &= frame.version.psn > version.psn;
                    frame.replacing = frame.replacing.filter(|&replacing| replacing != psn);
                }
                self.tell(node, Input::WrittenBack { page, psn });
            }
            Event::ForceStorage(transaction, page) => self.force_storage(transaction, page),
            Event::RecoverPage(by, page, failed) => self.recover_page(by, page, failed),
        }
    }

    fn receive(&mut self, from: NodeId, to: NodeId, packet: Packet<Letter>) {
        let channels = self.channels.as_mut().expect("packets need a bad network");
        let mut delivered = Vec::new();
        let answer = channels
            .entry((to, from))
            .or_default()
            .receive(packet, &mut delivered);
        if let Some(packet) = answer {
            self.events.push(Event::Packet {
                from: to,
                to: from,
                packet,
            });
        }
        for (message, pages) in delivered {
            self.deliver(from, to, message, &pages);
        }
    }

    /// The network loses or repeats what is at this place of the pool. Returns whether it could.
    pub fn lose(&mut self, place: usize) -> bool {
        let packet = matches!(self.events[place], Event::Packet { .. });
        if packet {
            self.events.remove(place);
        }
        packet
    }

    pub fn repeat(&mut self, place: usize) {
        if matches!(self.events[place], Event::Packet { .. }) {
            self.events.push(self.events[place].clone());
        }
    }

    /// Every node sends again what has not been acknowledged. Returns whether there was anything.
    pub fn time_out(&mut self) -> bool {
        let channels = self.channels.iter().flatten();
        let again = channels.flat_map(|(&(from, to), channel)| {
            let packets = channel.timeout().into_iter();
            packets.map(move |packet| Event::Packet { from, to, packet })
        });
        let again: Vec<Event> = again.collect();
        let any = !again.is_empty();
        self.events.extend(again);
        any
    }

    fn deliver(&mut self, from: NodeId, to: NodeId, message: Message, pages: &[(PageId, Version)]) {
        for (page, psn) in message.returned_pages() {
            let version = carried(pages, page);
            assert_eq!(version.psn, psn, "the release returns another version");
            let frame = self.node(to).install(page, version);
            frame.dirty = true;
        }
        let outputs = self.handle(to, Input::Message { from, message });
        self.perform(to, outputs, pages);
    }

    fn read_storage(&mut self, transaction: TransactionId, page: PageId) {
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

    fn write_storage(&mut self, page: PageId, version: Version) {
        let before = self.stored(page);
        assert!(
            before.psn <= version.psn,
            "storage goes back to {version:?} of {page:?}"
        );
        self.storage.insert(page, version);
    }

    fn force_storage(&mut self, transaction: TransactionId, page: PageId) {
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

    /// Gives the machine an input and does what it asks.
    pub fn tell(&mut self, node: NodeId, input: Input) {
        let outputs = self.handle(node, input);
        self.perform(node, outputs, &[]);
    }

    fn handle(&mut self, node: NodeId, input: Input) -> Vec<Output> {
        if self.verbose {
            println!("  {node:?} <- {input:?}");
        }
        let mut outputs = Vec::new();
        self.node(node).machine.handle(input, &mut outputs);
        outputs
    }

    fn perform(&mut self, node: NodeId, outputs: Vec<Output>, pages: &[(PageId, Version)]) {
        for output in outputs {
            if self.verbose {
                println!("  {node:?} -> {output:?}");
            }
            self.note(&output);
            match output {
                Output::Send { to, message } => self.send(node, to, message),
                Output::ReadEntry { page } => self.events.push(Event::ReadEntry(node, page)),
                Output::SwapEntry {
                    page,
                    expected,
                    entry,
                } => self
                    .events
                    .push(Event::SwapEntry(node, page, expected, entry)),
                Output::Granted {
                    transaction,
                    page,
                    mode,
                    psn,
                    source,
                } => self.granted(transaction, page, mode, psn, source, pages),
                Output::Waiting { transaction, page } => {
                    let state = self.transaction(transaction).expect("a waiting one lives");
                    assert_eq!(state.progress, Progress::Locking(page, false));
                    state.progress = Progress::Locking(page, true);
                }
                Output::Victim { transaction } => {
                    let state = self.transaction(transaction).expect("a victim lives");
                    assert!(matches!(state.progress, Progress::Locking(_, true)));
                    self.victims += 1;
                    self.end(transaction, Outcome::Aborted);
                }
                Output::Ended { transaction } => {
                    let ended = self.node(node).transactions.remove(&transaction);
                    assert_eq!(ended.expect("ends once").progress, Progress::Ending);
                }
                Output::Supply { page, transaction } => {
                    self.events.push(Event::Supply(node, page, transaction));
                }
                Output::WriteBack { page, psn } => self.write_back(node, page, psn),
                Output::Discard { page, psn } => self.discard(node, page, psn),
                Output::RecoverPage { page, node: failed } => {
                    self.events.push(Event::RecoverPage(node, page, failed));
                }
                Output::EntryRecovered { page, node: failed } => {
                    self.locks
                        .retain(|&(locked, holder), _| locked != page || holder.node() != failed);
                    self.entry_recovered(page, failed);
                }
            }
        }
    }

    fn note(&mut self, output: &Output) {
        for byte in format!("{output:?}").bytes() {
            self.fingerprint = (self.fingerprint ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }

    fn send(&mut self, from: NodeId, to: NodeId, message: Message) {
        assert_ne!(from, to, "a message to oneself");
        if self.failed.contains_key(&to) {
            return;
        }
        let mut pages = Vec::new();
        for (page, psn) in message.carried_pages() {
            let frame = self
                .node(from)
                .frames
                .get(&page)
                .expect("a page to be sent is there");
            assert_eq!(
                frame.version.psn, psn,
                "{from:?} sends another version of {page:?}"
            );
            pages.push((page, frame.version));
        }
        assert_eq!(message.is_long(), !pages.is_empty());
        let Some(channels) = &mut self.channels else {
            let event = Event::Message {
                from,
                to,
                message,
                pages,
            };
            return self.events.push(event);
        };
        let packet = channels
            .entry((from, to))
            .or_default()
            .send((message, pages));
        self.events
            .extend(packet.map(|packet| Event::Packet { from, to, packet }));
    }

    fn granted(
        &mut self,
        transaction: TransactionId,
        page: PageId,
        mode: LockMode,
        psn: Psn,
        source: PageSource,
        pages: &[(PageId, Version)],
    ) {
        for (&(locked, other), &held) in &self.locks {
            let admits = mode == LockMode::Read && held == LockMode::Read;
            assert!(
                locked != page || other == transaction || admits,
                "{transaction:?} and {other:?} hold {page:?}"
            );
        }
        let newest = self.newest(page);
        assert_eq!(
            psn, newest.psn,
            "{transaction:?} is granted an old version of {page:?}"
        );
        self.unpin(transaction);
        let state = self
            .transaction(transaction)
            .expect("who is granted a lock lives");
        assert!(matches!(state.progress, Progress::Locking(locking, _) if locking == page));
        state.progress = Progress::Reading(page);
        let held = state.held.entry(page).or_insert(mode);
        *held = mode.max(*held);
        let held = *held;
        self.locks.insert((page, transaction), held);
        match source {
            PageSource::Storage => self.events.push(Event::ReadStorage(transaction, page)),
            PageSource::Copy => self.work(transaction, page),
            PageSource::Message => {
                let version = carried(pages, page);
                self.node(transaction.node()).install(page, version);
                self.work(transaction, page);
            }
        }
    }

    /// The transaction has its lock and the page: it reads, and changes it if it may.
    fn work(&mut self, transaction: TransactionId, page: PageId) {
        let newest = self.newest(page);
        let frame = self.node(transaction.node()).frames.get_mut(&page);
        let frame = frame.expect("the page that was granted is in the buffer");
        assert_eq!(
            frame.version, newest,
            "{transaction:?} reads an old version of {page:?}"
        );
        let by = frame.working.map(|(by, _)| by);
        assert!(
            by.is_none_or(|by| by == transaction),
            "{transaction:?} reads what is not committed"
        );
        let state = self.transaction(transaction).expect("who works lives");
        state.progress = Progress::Ready;
        if state.held[&page] == LockMode::Write {
            let working = Some((transaction, newest.after(transaction)));
            self.node(transaction.node())
                .frames
                .get_mut(&page)
                .expect("seen above")
                .working = working;
        }
    }

    fn write_back(&mut self, node: NodeId, page: PageId, psn: Psn) {
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

    fn discard(&mut self, node: NodeId, page: PageId, psn: Psn) {
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

    fn unpin(&mut self, transaction: TransactionId) {
        let Some(state) = self.transaction(transaction) else {
            return;
        };
        let Some(page) = state.pinned.take() else {
            return;
        };
        let frame = self.node(transaction.node()).frames.get_mut(&page);
        frame.expect("a pinned page stays").pins -= 1;
    }

    /// A node dies: its buffer is lost, and of what it was doing, whatever luck says.
    pub fn fail(&mut self, node: NodeId, random: &mut random::Random) {
        for event in std::mem::take(&mut self.events) {
            if matches!(event, Event::Message { to, .. } if to == node) {
                continue;
            }
            if event.actor() != node {
                self.events.push(event);
                continue;
            }
            match event {
                Event::Message { .. } if random.percent(50) => self.events.push(event),
                Event::WriteStorage(_, page, _, version) if random.percent(50) => {
                    self.write_storage(page, version);
                }
                Event::ForceStorage(transaction, page) if random.percent(50) => {
                    let frame = &self.node(node).frames[&page];
                    let (_, version) = frame.working.expect("a changed page is at work");
                    self.write_storage(page, version);
                    self.forced.insert(page, transaction);
                }
                Event::SwapEntry(_, page, expected, entry) if random.percent(50) => {
                    self.entries
                        .entry(page)
                        .or_default()
                        .compare_and_swap(expected, entry);
                }
                _ => {}
            }
        }
        self.node(node).frames.clear();
        self.node(node).transactions.clear();
        self.failed.insert(node, false);
        for other in self.alive() {
            self.tell(other, Input::NodeFailed { node });
        }
        if let Some(recovery) = self.recovery.take_if(|recovery| recovery.by == node) {
            // It may have freed entries and died before it said so.
            self.locks
                .retain(|&(page, holder), _| !recovery.left.contains(&(page, holder.node())));
        }
    }

    pub fn alive(&self) -> Vec<NodeId> {
        let all = (0..self.nodes.len()).map(|number| NodeId(number as u16));
        all.filter(|node| !self.failed.contains_key(node)).collect()
    }

    /// Begins to recover all nodes that have failed and are not recovered.
    pub fn recover(&mut self, by: NodeId, pages: usize) {
        let failed = self.failed.iter().filter(|(_, recovered)| !**recovered);
        let failed: Vec<NodeId> = failed.map(|(&node, _)| node).collect();
        if failed.is_empty() || self.recovery.is_some() {
            return;
        }
        let pages = (0..pages as u64).map(PageId);
        let left: BTreeSet<(PageId, NodeId)> = pages
            .flat_map(|page| failed.iter().map(move |&node| (page, node)))
            .collect();
        self.recovery = Some(Recovery {
            by,
            nodes: failed,
            left: left.clone(),
        });
        for (page, node) in left {
            self.tell(by, Input::Recover { page, node });
        }
    }

    fn recover_page(&mut self, by: NodeId, page: PageId, failed: NodeId) {
        if self
            .forced
            .get(&page)
            .is_some_and(|transaction| transaction.node() == failed)
        {
            self.forced.remove(&page);
            self.storage.insert(page, self.newest(page));
        }
        let logged = self.logs.get(&(failed, page)).copied().unwrap_or_default();
        if logged.psn > self.stored(page).psn {
            self.write_storage(page, logged);
        }
        let psn = logged.psn;
        let recovered = Input::PageRecovered {
            page,
            node: failed,
            psn,
        };
        self.tell(by, recovered);
    }

    fn entry_recovered(&mut self, page: PageId, failed: NodeId) {
        let Some(recovery) = &mut self.recovery else {
            return;
        };
        recovery.left.remove(&(page, failed));
        if !recovery.left.is_empty() {
            return;
        }
        let pages_of = |node: NodeId| self.failed.get(&node) == Some(&false);
        let recovered: Vec<NodeId> = recovery
            .nodes
            .iter()
            .copied()
            .filter(|&n| pages_of(n))
            .collect();
        self.recovery = None;
        for node in recovered {
            self.failed.insert(node, true);
            for other in self.alive() {
                self.tell(other, Input::NodeRecovered { node });
            }
        }
    }

    /// The transactions that have been told to wait, by age.
    pub fn waiting(&self) -> Vec<TransactionId> {
        let all = self.nodes.iter().flat_map(|node| &node.transactions);
        let waiting = all.filter(|(_, state)| matches!(state.progress, Progress::Locking(_, true)));
        waiting.map(|(&transaction, _)| transaction).collect()
    }

    /// The transactions that can go on.
    pub fn ready(&self) -> Vec<TransactionId> {
        let all = self.nodes.iter().flat_map(|node| &node.transactions);
        let ready = all.filter(|(_, state)| state.progress == Progress::Ready);
        ready.map(|(&transaction, _)| transaction).collect()
    }

    /// Lets everything under way happen in order, and what follows from it.
    pub fn settle(&mut self) {
        let mut steps = 0;
        while !self.events.is_empty() {
            self.happen(0);
            steps += 1;
            assert!(
                steps < 100_000,
                "the nodes never come to rest: {:?}",
                self.events
            );
        }
    }

    /// Nothing may be left when all transactions have ended.
    pub fn check_at_rest(&self) {
        assert!(self.events.is_empty());
        for (number, node) in self.nodes.iter().enumerate() {
            if self.failed.contains_key(&NodeId(number as u16)) {
                continue;
            }
            assert!(
                node.transactions.is_empty(),
                "node {number} has {:?}",
                node.transactions
            );
            assert!(
                node.machine.protocol().is_idle(),
                "node {number}: {:?}",
                node.machine
            );
        }
        for (page, entry) in &self.entries {
            assert!(entry.is_idle(), "{page:?}: {entry:?}");
        }
        assert!(self.locks.is_empty());
        let pinned = self.nodes.iter().flat_map(|node| node.frames.values());
        assert_eq!(pinned.map(|frame| frame.pins).sum::<u32>(), 0);
    }

    /// Pages that have been changed.
    pub fn changed_pages(&self) -> BTreeSet<PageId> {
        self.truth.keys().copied().collect()
    }
}

impl Transaction {
    fn written(&self) -> Vec<PageId> {
        let held = self.held.iter();
        let pages = held
            .filter(|(_, mode)| **mode == LockMode::Write)
            .map(|(page, _)| *page);
        pages.collect()
    }
}

impl Node {
    /// Puts a version into the buffer.
    fn install(&mut self, page: PageId, version: Version) -> &mut Frame {
        let frame = self.frames.entry(page).or_insert(Frame {
            version,
            dirty: false,
            working: None,
            replacing: None,
            pins: 0,
        });
        if frame.version != version {
            assert!(frame.working.is_none(), "a page at work is overwritten");
            frame.version = version;
            frame.dirty = false;
        }
        frame
    }
}

fn carried(pages: &[(PageId, Version)], page: PageId) -> Version {
    let found = pages.iter().find(|(carried, _)| *carried == page);
    found.expect("the message carries the page").1
}
