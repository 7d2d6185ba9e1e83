//! A node's side of the protocol: the state machine of close or of loose coupling.

use crate::load::Load;
use crate::parameters::{Coupling, PageTransfer, Parameters, Update};
use sardonyx_sharing::protocol as sharing;
use sardonyx_sharing::protocol::primary_copy;
use sardonyx_sharing::protocol::{
    Counters, GemLocking, GemOptions, Input, NodeId, Output, PageId, PrimaryCopy,
    PrimaryCopyOptions, Protocol, UpdateStrategy,
};
use std::sync::Arc;

/// A node's side of the protocol.
pub enum Machine {
    Close(Box<GemLocking>),
    /// Primary copy locking.
    Loose(Box<PrimaryCopy<Authority>>, Authority, NodeId),
}

/// The node with the lock authority for a page.
#[derive(Clone)]
pub struct Authority(Arc<Load>);

impl primary_copy::Authority for Authority {
    fn of(&self, page: PageId) -> NodeId {
        NodeId(self.0.authority(page.0))
    }
}

impl Machine {
    pub fn new(parameters: &Parameters, load: &Arc<Load>, node: NodeId) -> Self {
        let update = match parameters.update {
            Update::Force => UpdateStrategy::Force,
            Update::Noforce => UpdateStrategy::NoForce,
        };
        let locking = &parameters.locking;
        match parameters.coupling {
            Coupling::Close => {
                let options = GemOptions {
                    update,
                    read_authorisation: locking.read_authorisation,
                    page_transfer: match locking.page_transfer {
                        PageTransfer::Message => sharing::PageTransfer::Message,
                        PageTransfer::Gem => sharing::PageTransfer::Gem,
                    },
                    remembered_entries: locking.remembered_entries,
                };
                Machine::Close(Box::new(GemLocking::new(node, options)))
            }
            Coupling::Loose => {
                let authority = Authority(Arc::clone(load));
                let options = PrimaryCopyOptions {
                    update,
                    read_optimisation: locking.read_optimisation,
                    authorised_without_copy: locking.authorised_without_copy,
                    acknowledge_release: locking.acknowledge_release,
                    stored_at_commit: locking.stored_at_commit,
                };
                let machine = PrimaryCopy::new(node, authority.clone(), options);
                Machine::Loose(Box::new(machine), authority, node)
            }
        }
    }

    /// Feeds it.
    pub fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) {
        let handled = match self {
            Machine::Close(machine) => machine.handle(input, outputs),
            Machine::Loose(machine, ..) => machine.handle(input, outputs),
        };
        handled.expect("all nodes are coupled alike");
    }

    pub fn counters(&self) -> &Counters {
        match self {
            Machine::Close(machine) => machine.counters(),
            Machine::Loose(machine, ..) => machine.counters(),
        }
    }

    /// True if this node has to write a page back that one of its transactions modified (NOFORCE). Closely coupled, it
    /// becomes the page's owner; loosely coupled, the authority is, unless storage has it already.
    pub fn writes_back(&self, page: PageId) -> bool {
        match self {
            Machine::Close(_) => true,
            Machine::Loose(machine, authority, node) => {
                !machine.options().stored_at_commit && authority.0.authority(page.0) == node.0
            }
        }
    }
}
