//! Nodes that fail, and their recovery by a survivor.

use super::random::Random;
use super::{Event, Keeper, Machines, World};
use sardonyx_sharing::protocol::{
    Epoch, Input, Message, NodeId, PageId, Psn, TransactionId, membership,
};
use std::collections::BTreeSet;

/// The recovery of failed nodes by a survivor.
#[derive(Clone, Debug)]
pub struct Recovery {
    pub by: NodeId,
    nodes: Vec<NodeId>,
    left: BTreeSet<(PageId, NodeId)>,
}

impl World {
    /// A node dies, all others are notified at once, and no later event is of that node.
    pub fn fail(&mut self, node: NodeId, random: &mut Random) {
        self.kill(node, random);
        self.cut(node);
        for other in self.alive() {
            self.tell(other, Input::NodeFailed { node });
        }
    }

    /// A node dies: its buffer is lost, and of what it was doing, whatever luck says.
    pub fn kill(&mut self, node: NodeId, random: &mut Random) {
        let nodes_write = self.logs.keeper == Keeper::Nodes;
        self.awaiting.retain(|event| event.actor() != Some(node));
        for event in std::mem::take(&mut self.events) {
            if matches!(event, Event::Message { to, .. } if to == node) {
                continue;
            }
            if event.actor() != Some(node) {
                self.events.push(event);
                continue;
            }
            match event {
                Event::Message { .. } if random.percent(50) => self.events.push(event),
                // A group is in the log whole or not at all.
                Event::WriteGroup(_) if random.percent(50) => {
                    self.log_group(node);
                }
                Event::WriteStorage(_, page, _, version) if nodes_write && random.percent(50) => {
                    self.write_storage(node, page, version);
                }
                Event::Destage(_, page, version) if random.percent(50) => {
                    self.storage.insert(page, version);
                }
                Event::ForceStorage(transaction, page) if nodes_write && random.percent(50) => {
                    let version = self.worked_on(transaction, page);
                    self.write_storage(node, page, version);
                }
                Event::SwapEntry(_, page, expected, entry) if random.percent(50) => {
                    self.swap_entry(node, page, expected, *entry);
                }
                _ => {}
            }
        }
        // A failed node does not destage the page that it has just written: the node that takes the page over does.
        self.events
            .retain(|event| !matches!(event, Event::Destage(by, ..) if *by == node));
        self.end_node(node);
    }

    /// Ends the node's process, with all that was in its memory.
    pub(super) fn end_node(&mut self, node: NodeId) {
        self.dead.insert(node);
        self.stopped.remove(&node);
        self.free_slots_of(node);
        self.node(node).frames.clear();
        self.node(node).transactions.clear();
        self.node(node).committing.clear();
    }

    /// Nothing that the node does reaches GEM, storage or a log any more.
    pub(super) fn cut(&mut self, node: NodeId) {
        if self.failed.contains_key(&node) {
            return;
        }
        self.failed.insert(node, false);
        self.fail_in_table(node);
        self.take_destages_over(node);
        if let Some(recovery) = self.recovery.take_if(|recovery| recovery.by == node) {
            // It may have freed entries and died before it said so.
            self.locks
                .retain(|&(page, holder), _| !recovery.left.contains(&(page, holder.node())));
        }
    }

    /// Frees pages that wait in GEM for a failed node, and pages that a failed node put there and announced to no
    /// node.
    fn free_slots_of(&mut self, node: NodeId) {
        let announced = |of: TransactionId, which: PageId| {
            self.events.iter().any(|event| match event {
                Event::Message {
                    from,
                    message:
                        Message::PageInGem {
                            transaction, page, ..
                        },
                    ..
                } => (*from, *transaction, *page) == (node, of, which),
                Event::ReadGem(transaction, page, from) => {
                    (*from, *transaction, *page) == (node, of, which)
                }
                _ => false,
            })
        };
        self.slots.retain(|&(from, transaction, page), _| {
            let waits = transaction.node() != node;
            waits && (from != node || announced(transaction, page))
        });
    }

    /// The survivor with the least number goes on with the failed node's destages.
    fn take_destages_over(&mut self, node: NodeId) {
        let by = self.alive().first().copied();
        let (Some((cache, pages)), Some(by)) = (&mut self.cache, by) else {
            return;
        };
        for page in cache.node_failed(node, by) {
            self.events.push(Event::Destage(by, page, pages[&page]));
        }
    }

    pub fn alive(&self) -> Vec<NodeId> {
        let all = (0..self.nodes.len()).map(|number| NodeId(number as u16));
        let out = |node: &NodeId| {
            self.failed.contains_key(node)
                || self.dead.contains(node)
                || self.stopped.contains(node)
        };
        all.filter(|node| !out(node)).collect()
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
        let unfenced = self
            .failed
            .keys()
            .filter(|node| !self.logs.is_closed(**node));
        let fences = unfenced.map(|&failed| Event::Fence(by, failed));
        self.events.extend(fences.collect::<Vec<_>>());
        for (page, node) in left {
            self.tell(by, Input::Recover { page, node });
        }
    }

    pub(super) fn recover_page(&mut self, by: NodeId, page: PageId, failed: NodeId) {
        if self.logs.keeper == Keeper::Nodes {
            let merged = self.merged(page, failed);
            if merged.psn > self.stored(page).psn {
                self.write_storage(by, page, merged);
            }
        }
        let psn = self.stored(page).psn;
        let recovered = Input::PageRecovered {
            page,
            node: failed,
            psn,
        };
        self.tell(by, recovered);
    }

    /// Storage has all that the logs had: a part of the lock authority goes on.
    pub(super) fn recover_part(&mut self, node: NodeId, part: u16, since: Epoch) {
        let assignment = self.members.as_ref().map(|all| &all.register.assignment);
        let assignment = assignment.expect("authority moves among members").clone();
        let stored = self.storage.iter();
        let versions = stored
            .filter(|(page, version)| version.psn > Psn(0) && assignment.part_of(**page) == part)
            .map(|(&page, version)| (page, version.psn))
            .collect();
        let recovered = Input::PartRecovered {
            part,
            since,
            versions,
        };
        self.tell(node, recovered);
    }

    /// In addition to what it is doing, a node begins to recover this one.
    pub(super) fn recover_too(&mut self, by: NodeId, node: NodeId, pages: usize) {
        let recovery = self.recovery.get_or_insert_with(|| Recovery {
            by,
            nodes: Vec::new(),
            left: BTreeSet::new(),
        });
        assert_eq!(recovery.by, by, "two nodes recover at a time");
        recovery.nodes.push(node);
        if matches!(self.machines, Machines::PrimaryCopy(_)) {
            // Each authority frees its own locks when it learns that the log is closed.
            self.locks.retain(|(_, holder), _| holder.node() != node);
        }
        let pages = (0..pages as u64).map(PageId);
        recovery.left.extend(pages.clone().map(|page| (page, node)));
        for page in pages {
            self.tell(by, Input::Recover { page, node });
        }
    }

    pub(super) fn entry_recovered(&mut self, by: NodeId, page: PageId, failed: NodeId) {
        let Some(recovery) = self.recovery.as_mut().filter(|recovery| recovery.by == by) else {
            return;
        };
        recovery.left.remove(&(page, failed));
        if !recovery.left.is_empty() {
            return;
        }
        // A coordinator that died may not have said that it has recovered one.
        let again = self.members.is_some();
        let pages_of = |node: NodeId| again || self.failed.get(&node) == Some(&false);
        let recovered: Vec<NodeId> = recovery
            .nodes
            .iter()
            .copied()
            .filter(|&n| pages_of(n))
            .collect();
        self.recovery = None;
        for node in recovered {
            self.failed.insert(node, true);
            self.forget_in_table(node);
            if self.members.is_some() {
                self.tell_membership(by, membership::Input::Recovered(node));
                continue;
            }
            for other in self.alive() {
                self.tell(other, Input::NodeRecovered { node });
            }
        }
    }
}
