//! The events, one after another, and the machines' answers to them.

use super::{Event, Keeper, Progress, Version, World};
use sardonyx_base::hash::Fnv1a;
use sardonyx_sharing::protocol::{Input, NodeId, Outcome, Output, PageId};

impl World {
    /// Lets the event at this place of the pool happen.
    pub fn happen(&mut self, place: usize) {
        let event = self.events.remove(place);
        if self.verbose {
            println!("{event:?}");
        }
        let Some(event) = self.admitted(event) else {
            return;
        };
        if !self.is_due(&event) {
            self.awaiting.push(event);
            return;
        }
        match event {
            Event::Message {
                from,
                to,
                message,
                pages,
                sent_in,
            } => self.deliver(from, to, message, &pages, sent_in),
            Event::Packet { from, to, packet } => self.receive(from, to, packet),
            Event::ReadEntry(node, page) => {
                let entry = Box::new(self.read_entry(node, page));
                self.events
                    .push(Event::EntryDone(node, Input::EntryRead { page, entry }));
            }
            Event::SwapEntry(node, page, expected, entry) => {
                let swapped = self.swap_entry(node, page, expected, *entry);
                let current = &self.entries[&page];
                // A recovery frees the failed nodes' locks by the swap, before or after the nodes learn of it.
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
            Event::PutPage {
                node,
                page,
                transaction,
                version,
            } => {
                let before = self.slots.insert((node, transaction, page), version);
                assert!(before.is_none(), "{page:?} is in GEM twice for one");
                let psn = version.psn;
                let put = Input::PagePut {
                    page,
                    psn,
                    transaction,
                };
                self.tell(node, put);
            }
            Event::ReadGem(transaction, page, from) => self.read_gem(transaction, page, from),
            Event::ReadDisk(transaction, page, version) => {
                self.read_disk(transaction, page, version);
            }
            Event::Destage(node, page, version) => self.destage(node, page, version),
            Event::ReadStorage(transaction, page) => self.read_storage(transaction, page),
            Event::WriteStorage(node, page, psn, version) => {
                if self.logs.keeper == Keeper::Nodes {
                    self.write_storage(node, page, version);
                }
                if let Some(frame) = self.node(node).frames.get_mut(&page) {
                    frame.dirty &= frame.version.psn > version.psn;
                    frame.replacing = frame.replacing.filter(|&replacing| replacing != psn);
                }
                self.tell(node, Input::WrittenBack { page, psn });
            }
            Event::ForceStorage(transaction, page) => self.force_storage(transaction, page),
            Event::RecoverPage(by, page, failed) => self.recover_page(by, page, failed),
            Event::RecoverPart {
                node, part, since, ..
            } => self.recover_part(node, part, since),
            Event::WriteGroup(node) => self.write_group(node),
            Event::Fence(_, failed) => self.fence(failed),
            Event::View(node, event) => self.view_event(node, event),
            Event::Consume(log) => self.consume(log),
        }
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

    /// Gives the machine an input and does what it asks.
    pub fn tell(&mut self, node: NodeId, input: Input) {
        let outputs = self.handle(node, input);
        self.perform(node, outputs, &[]);
    }

    pub(super) fn handle(&mut self, node: NodeId, input: Input) -> Vec<Output> {
        if self.verbose {
            println!("  {node:?} <- {input:?}");
        }
        let mut outputs = Vec::new();
        self.node(node).machine.handle(input, &mut outputs);
        outputs
    }

    pub(super) fn perform(
        &mut self,
        node: NodeId,
        outputs: Vec<Output>,
        pages: &[(PageId, Version)],
    ) {
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
                Output::PutPage {
                    page,
                    psn,
                    transaction,
                } => {
                    let frame = &self.node(node).frames[&page];
                    assert_eq!(frame.version.psn, psn, "another version is put into GEM");
                    let version = frame.version;
                    self.events.push(Event::PutPage {
                        node,
                        page,
                        transaction,
                        version,
                    });
                }
                Output::DropPage {
                    page,
                    transaction,
                    from,
                } => {
                    let dropped = self.slots.remove(&(from, transaction, page));
                    dropped.expect("what is dropped is there");
                }
                Output::WriteBack { page, psn } => self.write_back(node, page, psn),
                Output::Discard { page, psn } => self.discard(node, page, psn),
                Output::RecoverPage { page, node: failed } => {
                    self.events.push(Event::RecoverPage(node, page, failed));
                }
                Output::RecoverPart { part, since } => {
                    let ends = self.logs.ends();
                    self.events.push(Event::RecoverPart {
                        node,
                        part,
                        since,
                        ends,
                    });
                }
                Output::EntryRecovered { page, node: failed } => {
                    self.locks
                        .retain(|&(locked, holder), _| locked != page || holder.node() != failed);
                    self.entry_recovered(node, page, failed);
                }
            }
        }
    }

    pub(super) fn note(&mut self, output: &Output) {
        for byte in format!("{output:?}").bytes() {
            self.fingerprint = Fnv1a(self.fingerprint).with(byte.into()).0;
        }
    }
}
