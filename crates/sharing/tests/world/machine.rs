//! The machines under test, either protocol behind one face.

use sardonyx_sharing::protocol::{
    GemLocking, GemOptions, Input, NodeId, Output, PageId, PrimaryCopy, PrimaryCopyOptions,
    Protocol, UpdateStrategy,
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
    pub(super) fn new(machines: Machines, node: NodeId, nodes: u16) -> Self {
        match machines {
            Machines::Gem(options) => Machine::Gem(Box::new(GemLocking::new(node, options))),
            Machines::PrimaryCopy(options) => {
                Machine::PrimaryCopy(Box::new(PrimaryCopy::new(node, Divided(nodes), options)))
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
