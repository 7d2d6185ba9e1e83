//! The events of `torture-takeover` and `torture-serve`, for hosts and for the servers of their store.

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

/// The relative frequency of an event, the event, and its name.
pub type Entry = (u64, Event, &'static str);

/// The events of hosts as processes of their own.
pub const EVENTS: [Entry; 9] = [
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
pub const SERVE_EVENTS: [Entry; 10] = [
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
