//! Nodes that fail, and their recovery by a survivor.

use super::random::Random;
use super::{Event, World};
use sardonyx_sharing::protocol::{Input, Message, NodeId, PageId, TransactionId};
use std::collections::BTreeSet;

/// The recovery of failed nodes by a survivor.
#[derive(Clone, Debug)]
pub struct Recovery {
    pub by: NodeId,
    nodes: Vec<NodeId>,
    left: BTreeSet<(PageId, NodeId)>,
}

impl World {
    /// A node dies: its buffer is lost, and of what it was doing, whatever luck says.
    pub fn fail(&mut self, node: NodeId, random: &mut Random) {
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
                    self.write_storage(node, page, version);
                }
                Event::Destage(_, page, version) if random.percent(50) => {
                    self.storage.insert(page, version);
                }
                Event::ForceStorage(transaction, page) if random.percent(50) => {
                    let frame = &self.node(node).frames[&page];
                    let (_, version) = frame.working.expect("a changed page is at work");
                    self.write_storage(node, page, version);
                    self.forced.insert(page, transaction);
                }
                Event::SwapEntry(_, page, expected, entry) if random.percent(50) => {
                    self.swap_entry(node, page, expected, entry);
                }
                _ => {}
            }
        }
        self.free_slots_of(node);
        self.node(node).frames.clear();
        self.node(node).transactions.clear();
        self.failed.insert(node, false);
        self.fail_in_table(node);
        self.take_destages_over(node);
        for other in self.alive() {
            self.tell(other, Input::NodeFailed { node });
        }
        if let Some(recovery) = self.recovery.take_if(|recovery| recovery.by == node) {
            // It may have freed entries and died before it said so.
            self.locks
                .retain(|&(page, holder), _| !recovery.left.contains(&(page, holder.node())));
        }
    }

    /// What waits in GEM for a failed node, and what a failed node put there and told nobody of.
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

    pub(super) fn recover_page(&mut self, by: NodeId, page: PageId, failed: NodeId) {
        if self
            .forced
            .get(&page)
            .is_some_and(|transaction| transaction.node() == failed)
        {
            self.forced.remove(&page);
            let newest = self.newest(page);
            self.store(by, page, newest);
        }
        let logged = self.logs.get(&(failed, page)).copied().unwrap_or_default();
        if logged.psn > self.stored(page).psn {
            self.write_storage(by, page, logged);
        }
        let psn = logged.psn;
        let recovered = Input::PageRecovered {
            page,
            node: failed,
            psn,
        };
        self.tell(by, recovered);
    }

    pub(super) fn entry_recovered(&mut self, page: PageId, failed: NodeId) {
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
            self.forget_in_table(node);
            for other in self.alive() {
                self.tell(other, Input::NodeRecovered { node });
            }
        }
    }
}
