//! The machines under test, either protocol behind one face.

use sardonyx_sharing::protocol::primary_copy::Authority;
use sardonyx_sharing::protocol::{
    Assignment, GemLocking, GemOptions, Input, NodeId, Output, PageId, PrimaryCopy,
    PrimaryCopyOptions, Protocol, UpdateStrategy,
};

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

impl Machines {
    /// True if storage has a version as soon as its transaction has committed.
    pub fn stored_at_commit(self) -> bool {
        matches!(self, Machines::PrimaryCopy(options) if options.stored_at_commit)
    }
}

/// The division of the lock authority.
#[derive(Clone, Debug)]
pub enum Divided {
    /// Each of so many nodes has every so manieth page, for ever.
    Fixed(u16),
    Moving(Assignment),
}

impl Authority for Divided {
    fn of(&self, page: PageId) -> NodeId {
        match self {
            Divided::Fixed(nodes) => NodeId((page.0 % u64::from(*nodes)) as u16),
            Divided::Moving(assignment) => assignment.of(page),
        }
    }

    fn assignment(&self) -> Option<&Assignment> {
        match self {
            Divided::Fixed(_) => None,
            Divided::Moving(assignment) => Some(assignment),
        }
    }

    fn assign(&mut self, assignment: Assignment) {
        *self = Divided::Moving(assignment);
    }
}

#[derive(Clone, Debug)]
pub enum Machine {
    Gem(Box<GemLocking>),
    PrimaryCopy(Box<PrimaryCopy<Divided>>),
}

impl Machine {
    pub(super) fn new(machines: Machines, node: NodeId, divided: Divided) -> Self {
        match machines {
            Machines::Gem(options) => Machine::Gem(Box::new(GemLocking::new(node, options))),
            Machines::PrimaryCopy(options) => {
                Machine::PrimaryCopy(Box::new(PrimaryCopy::new(node, divided, options)))
            }
        }
    }

    pub(super) fn protocol(&self) -> &dyn Protocol {
        match self {
            Machine::Gem(machine) => &**machine,
            Machine::PrimaryCopy(machine) => &**machine,
        }
    }

    pub(super) fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) {
        let handled = match self {
            Machine::Gem(machine) => machine.handle(input, outputs),
            Machine::PrimaryCopy(machine) => machine.handle(input, outputs),
        };
        handled.expect("all nodes run one protocol");
    }
}
