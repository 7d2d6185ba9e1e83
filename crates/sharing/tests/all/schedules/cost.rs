//! The cost of a schedule: messages, and accesses to the global lock table.

use crate::world::World;
use sardonyx_sharing::protocol::Counters;

/// The cost so far, over all nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    pub entry_reads: u64,
    pub entry_swaps: u64,
    pub short: u64,
    pub long: u64,
}

pub const NOTHING: Cost = Cost {
    entry_reads: 0,
    entry_swaps: 0,
    short: 0,
    long: 0,
};

pub fn sum(world: &World, count: impl Fn(&Counters) -> u64) -> u64 {
    (0..3).map(|node| count(&world.counters(node))).sum()
}

pub fn cost(world: &World) -> Cost {
    Cost {
        entry_reads: sum(world, |counters| counters.entry_reads),
        entry_swaps: sum(world, |counters| counters.entry_swaps),
        short: sum(world, |counters| counters.short_messages),
        long: sum(world, |counters| counters.long_messages),
    }
}

/// The cost of `act`, with all events that follow.
pub fn spent(world: &mut World, act: impl FnOnce(&mut World)) -> Cost {
    let before = cost(world);
    act(world);
    world.settle();
    let after = cost(world);
    Cost {
        entry_reads: after.entry_reads - before.entry_reads,
        entry_swaps: after.entry_swaps - before.entry_swaps,
        short: after.short - before.short,
        long: after.long - before.long,
    }
}

pub fn accesses(reads: u64, swaps: u64) -> Cost {
    Cost {
        entry_reads: reads,
        entry_swaps: swaps,
        ..Cost::default()
    }
}

pub fn messages(short: u64, long: u64) -> Cost {
    Cost {
        short,
        long,
        ..Cost::default()
    }
}

pub fn both(reads: u64, swaps: u64, short: u64, long: u64) -> Cost {
    Cost {
        entry_reads: reads,
        entry_swaps: swaps,
        short,
        long,
    }
}
