//! The events of torture-nodes for nodes and for their page server, and their frequencies: one plan for both couplings.

use sardonyx_cluster::setting::Coupling;
use sardonyx_workload::random::Random;

/// An event.
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

/// An event, its name, and its relative frequency.
type Entry = (Event, &'static str, u64);

const CLOSE: [Entry; 6] = [
    (Event::One, "one killed", 40),
    (Event::Several, "several killed at once", 15),
    (Event::All, "all killed, database recovered", 10),
    (Event::InRecovery, "another killed during recovery", 15),
    (Event::Stopped, "stopped, fenced by the others", 12),
    (Event::Paused, "stopped, continued in time", 8),
];

const LOOSE: [Entry; 12] = [
    (Event::One, "one killed", 25),
    (Event::Several, "several killed at once", 10),
    (Event::All, "all nodes killed", 6),
    (Event::InRecovery, "another killed during recovery", 12),
    (Event::Stopped, "stopped, shut out by the others", 10),
    (Event::SeveralStopped, "several or all stopped", 5),
    (Event::Paused, "stopped, continued in time", 8),
    (Event::Server, "page server killed", 12),
    (Event::ServerStopped, "page server stopped, continued", 5),
    (Event::Cut, "connections cut again and again", 8),
    (Event::ServerAndNodes, "page server and nodes killed", 8),
    (Event::Everything, "everything killed", 4),
];

/// The events of a coupling.
pub(crate) fn events(coupling: Coupling) -> &'static [Entry] {
    match coupling {
        Coupling::Close => &CLOSE,
        Coupling::Loose => &LOOSE,
    }
}

/// Draws one: its place among them.
pub(crate) fn draw(events: &[Entry], random: &mut Random) -> usize {
    let mut point = random.below(events.iter().map(|(.., weight)| weight).sum());
    let found = events
        .iter()
        .position(|(.., weight)| match point < *weight {
            true => true,
            false => {
                point -= weight;
                false
            }
        });
    found.unwrap_or_default()
}
