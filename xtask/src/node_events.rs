//! The events of torture-nodes for nodes and for their page server, and their frequencies: one plan for both couplings.

use sardonyx_cluster::setting::Coupling;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    One,
    Several,
    All,
    /// One, and another one while that is recovered.
    InRecovery,
    /// Stopped until the others have continued without it; closely coupled, they kill it.
    Stopped,
    /// Stopped for a moment only.
    Paused,
    /// Several, or all, are stopped, until the others have continued without them.
    SeveralStopped,
    /// The page server.
    Server,
    /// The page server is stopped, and continued.
    ServerStopped,
    /// Connections of nodes and the page server are cut.
    Cut,
    /// The page server and some nodes, at about the same time.
    ServerAndNodes,
    /// All nodes and the page server.
    Everything,
}

/// The relative frequency of an event, the event, and its name.
pub(crate) type Entry = (u64, Event, &'static str);

const CLOSE: [Entry; 6] = [
    (40, Event::One, "one killed"),
    (15, Event::Several, "several killed at once"),
    (10, Event::All, "all killed, database recovered"),
    (15, Event::InRecovery, "another killed during recovery"),
    (12, Event::Stopped, "stopped, fenced by the others"),
    (8, Event::Paused, "stopped, continued in time"),
];

const LOOSE: [Entry; 12] = [
    (25, Event::One, "one killed"),
    (10, Event::Several, "several killed at once"),
    (6, Event::All, "all nodes killed"),
    (12, Event::InRecovery, "another killed during recovery"),
    (10, Event::Stopped, "stopped, shut out by the others"),
    (5, Event::SeveralStopped, "several or all stopped"),
    (8, Event::Paused, "stopped, continued in time"),
    (12, Event::Server, "page server killed"),
    (5, Event::ServerStopped, "page server stopped, continued"),
    (8, Event::Cut, "connections cut again and again"),
    (8, Event::ServerAndNodes, "page server and nodes killed"),
    (4, Event::Everything, "everything killed"),
];

pub(crate) fn events(coupling: Coupling) -> &'static [Entry] {
    match coupling {
        Coupling::Close => &CLOSE,
        Coupling::Loose => &LOOSE,
    }
}
