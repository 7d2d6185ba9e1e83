//! Figure 4.7: a real-life workload (GEM paper, section 4.6).

use super::{Configuration, Curve, Figure, Panel, Reading};
use crate::parameters::{Coupling, Routing};

const NODES: [u32; 6] = [1, 2, 3, 4, 6, 8];

/// Figure 4.7: the trace, closely and loosely coupled.
pub(super) fn figure_4_7() -> Figure {
    let mut curves = Vec::new();
    for (group, name, coupling) in [
        (0, "GEM locking", Coupling::Close),
        (1, "PCL", Coupling::Loose),
    ] {
        for (way, routing) in [("affinity", Routing::Affinity), ("random", Routing::Random)] {
            let dashed = routing == Routing::Random;
            let label = format!("{name}, {way}");
            curves.push(Curve::new(label, group, dashed, &NODES, |nodes| {
                Configuration::trace(nodes)
                    .coupled(coupling)
                    .routed(routing)
            }));
        }
    }
    Figure {
        id: "4.7",
        title: "PCL against GEM locking for a trace",
        caption: "The user's trace, or the synthetic one with the published statistics of the \
                  paper's at 50 transactions per second and node; NOFORCE, large buffer (the \
                  paper's: 1000 pages per node), PCL with read optimisation. Response times are of \
                  an artificial transaction with the mean number of accesses.",
        reading: Reading::Response,
        panels: vec![Panel {
            title: String::new(),
            curves,
        }],
    }
}
