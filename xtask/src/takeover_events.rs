//! The events of `torture-takeover` and `torture-serve`, for hosts and for the servers of their store.

use sardonyx_workload::random::Random;

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    KillServing,
    KillOther,
    KillAll,
    StopServing,
    Promote,
    Drain,
    Terminate,
    StoreAway,
    KillStoreServer,
    KillStore,
    StopStoreServer,
}

impl Event {
    /// Returns true if the event is one of the store's servers.
    pub fn is_of_store(self) -> bool {
        matches!(
            self,
            Event::KillStoreServer | Event::KillStore | Event::StopStoreServer
        )
    }
}

/// The events, each with its relative frequency and its name.
pub const EVENTS: [(u64, Event, &str); 9] = [
    (8, Event::KillServing, "the serving host killed"),
    (3, Event::KillOther, "another host killed"),
    (1, Event::KillAll, "all killed"),
    (4, Event::StopServing, "the serving host stopped for long"),
    (2, Event::Promote, "asked to hand over to one"),
    (1, Event::Drain, "asked to hand over to any"),
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

/// The events of hosts that are the command `serve`. The store is a directory, which has no servers, or `store serve`
/// keeps it.
pub const SERVE_EVENTS: [(u64, Event, &str); 10] = [
    (8, Event::KillServing, "the serving host killed"),
    (3, Event::KillOther, "another host killed"),
    (1, Event::KillAll, "all killed"),
    (4, Event::StopServing, "the serving host stopped for long"),
    (2, Event::Promote, "asked to hand over to one"),
    (2, Event::Drain, "asked to hand over to any"),
    (2, Event::Terminate, "the serving host ended in order"),
    (2, Event::StoreAway, "the store away for a while"),
    (
        3,
        Event::KillStoreServer,
        "one of the store's servers killed",
    ),
    (
        2,
        Event::StopStoreServer,
        "one of the store's servers stopped",
    ),
];

/// Draws the next of these events, of those that are possible.
pub fn draw(
    random: &mut Random,
    events: &[(u64, Event, &str)],
    may_be: impl Fn(Event) -> bool,
) -> usize {
    let weight = |(weight, event, _): &(u64, Event, &str)| match may_be(*event) {
        true => *weight,
        false => 0,
    };
    let mut drawn = random.below(events.iter().map(weight).sum());
    let kind = events.iter().position(|event| {
        let weight = weight(event);
        let hit = drawn < weight;
        drawn = drawn.saturating_sub(weight);
        hit
    });
    kind.unwrap_or(0)
}
