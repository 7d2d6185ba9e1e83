//! What `torture-takeover` does to hosts and to the servers of their store.

use sardonyx_workload::random::Random;

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    KillServing,
    KillOther,
    KillAll,
    StopServing,
    Promote,
    Drain,
    KillStoreServer,
    KillStore,
    StopStoreServer,
}

impl Event {
    /// Whether it is done to the store's servers.
    pub fn is_of_store(self) -> bool {
        matches!(
            self,
            Event::KillStoreServer | Event::KillStore | Event::StopStoreServer
        )
    }
}

/// How often each is done in relation to others, and what it is called.
pub const EVENTS: [(u64, Event, &str); 9] = [
    (8, Event::KillServing, "the serving host killed"),
    (3, Event::KillOther, "another host killed"),
    (1, Event::KillAll, "all killed"),
    (4, Event::StopServing, "the serving host stopped for long"),
    (2, Event::Promote, "told to hand over to one"),
    (1, Event::Drain, "told to hand over to any"),
    (
        5,
        Event::KillStoreServer,
        "one of the store's servers killed",
    ),
    (2, Event::KillStore, "all of the store's servers killed"),
    (
        3,
        Event::StopStoreServer,
        "one of the store's servers stopped",
    ),
];

/// Which of [`EVENTS`] comes next; those of the store only if its servers were started here.
pub fn draw(random: &mut Random, with_store: bool) -> usize {
    let weight = |(weight, event, _): &(u64, Event, &str)| match event.is_of_store() {
        true if !with_store => 0,
        _ => *weight,
    };
    let mut drawn = random.below(EVENTS.iter().map(weight).sum());
    let kind = EVENTS.iter().position(|event| {
        let weight = weight(event);
        let hit = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        hit
    });
    kind.unwrap_or(0)
}
