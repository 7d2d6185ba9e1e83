//! Figures 4.1 to 4.6: debit-credit (GEM paper, sections 4.2 to 4.5).

use super::{Buffer, Configuration, Curve, Figure, Panel, Reading};
use crate::parameters::{Coupling, Routing, Storage, Update};

/// Every number of nodes.
const ALL_NODES: [u32; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// Enough of them to draw a curve.
pub(super) const NODES: [u32; 8] = [1, 2, 3, 4, 5, 6, 8, 10];

/// For searches, each of which takes several runs.
const FEW_NODES: [u32; 6] = [1, 2, 4, 6, 8, 10];

const ROUTINGS: [Routing; 2] = [Routing::Affinity, Routing::Random];
const UPDATES: [Update; 2] = [Update::Noforce, Update::Force];
const COUPLINGS: [Coupling; 2] = [Coupling::Close, Coupling::Loose];

fn routing(routing: Routing) -> &'static str {
    match routing {
        Routing::Affinity => "affinity",
        Routing::Random => "random",
    }
}

fn update(update: Update) -> &'static str {
    match update {
        Update::Force => "FORCE",
        Update::Noforce => "NOFORCE",
    }
}

fn coupling(coupling: Coupling) -> &'static str {
    match coupling {
        Coupling::Close => "GEM locking",
        Coupling::Loose => "PCL",
    }
}

fn buffer(buffer: Buffer) -> &'static str {
    match buffer {
        Buffer::Small => "small buffer",
        Buffer::Large => "large buffer",
    }
}

pub(super) fn storage(storage: Storage) -> &'static str {
    match storage {
        Storage::Disk => "disk",
        Storage::VolatileCache => "volatile cache",
        Storage::NonvolatileCache => "non-volatile cache",
        Storage::Gem => "GEM",
        Storage::GemCache => "cache in GEM",
    }
}

/// A group of two curves: one for each routing.
pub(super) fn both_routings(
    name: &str,
    group: usize,
    nodes: &[u32],
    at: impl Fn(u32) -> Configuration,
) -> Vec<Curve> {
    let curves = ROUTINGS.into_iter().map(|way| {
        let label = format!("{name}, {}", routing(way));
        Curve::new(label, group, way == Routing::Random, nodes, |nodes| {
            at(nodes).routed(way)
        })
    });
    curves.collect()
}

pub(super) fn single(curves: Vec<Curve>) -> Vec<Panel> {
    vec![Panel {
        title: String::new(),
        curves,
    }]
}

/// Figure 4.1: routing and update strategy.
pub(super) fn figure_4_1() -> Figure {
    let curves = UPDATES.into_iter().enumerate().flat_map(|(group, way)| {
        both_routings(update(way), group, &ALL_NODES, |nodes| {
            Configuration::debit_credit(nodes).updating(way)
        })
    });
    Figure {
        id: "4.1",
        title: "Influence of workload allocation and update strategy for GEM locking",
        caption: "Debit-credit, closely coupled, small buffer (the GEM paper's: 200 pages per node), \
                  all files on disks.",
        reading: Reading::Response,
        panels: single(curves.collect()),
    }
}

/// Figure 4.2: buffer size.
pub(super) fn figure_4_2() -> Figure {
    let sizes = [Buffer::Small, Buffer::Large];
    let curves = UPDATES.into_iter().enumerate().flat_map(|(group, way)| {
        sizes.into_iter().map(move |size| {
            let label = format!("{}, {}", update(way), buffer(size));
            let small = size == Buffer::Small;
            Curve::new(label, group, small, &NODES, |nodes| {
                let point = Configuration::debit_credit(nodes).random();
                point.updating(way).buffered(size)
            })
        })
    });
    Figure {
        id: "4.2",
        title: "Influence of the buffer size for random routing",
        caption: "Debit-credit, closely coupled, random routing, all files on disks; the large \
                  buffer has five times as many pages as the small one (the GEM paper's: 1000 and 200 \
                  per node).",
        reading: Reading::Response,
        panels: single(curves.collect()),
    }
}

/// Figure 4.3: BRANCH/TELLER on disk or in GEM.
pub(super) fn figure_4_3() -> Figure {
    let part = |letter: &str, way: Update| Panel {
        title: format!("{letter}) {}", update(way)),
        curves: [Storage::Disk, Storage::Gem]
            .into_iter()
            .enumerate()
            .flat_map(|(group, place)| {
                both_routings(storage(place), group, &NODES, |nodes| {
                    let point = Configuration::debit_credit(nodes).updating(way);
                    point.large().branch_teller_on(place)
                })
            })
            .collect(),
    };
    Figure {
        id: "4.3",
        title: "Influence of the storage allocation of BRANCH/TELLER",
        caption: "Debit-credit, closely coupled, large buffer (the GEM paper's: 1000 pages per node), \
                  all other files on disks.",
        reading: Reading::Response,
        panels: vec![part("a", Update::Noforce), part("b", Update::Force)],
    }
}

/// Figure 4.4: disk caches for BRANCH/TELLER.
pub(super) fn figure_4_4() -> Figure {
    let places = [
        Storage::Disk,
        Storage::VolatileCache,
        Storage::NonvolatileCache,
        Storage::Gem,
    ];
    let curves = places.into_iter().enumerate().flat_map(|(group, place)| {
        both_routings(storage(place), group, &NODES, |nodes| {
            let point = Configuration::debit_credit(nodes).force();
            point.large().branch_teller_on(place)
        })
    });
    Figure {
        id: "4.4",
        title: "Use of disk caches for BRANCH/TELLER",
        caption: "Debit-credit, closely coupled, FORCE, large buffer (the GEM paper's: 1000 pages per \
                  node), all other files on disks.",
        reading: Reading::Response,
        panels: single(curves.collect()),
    }
}

/// Figure 4.5: loose against close coupling.
pub(super) fn figure_4_5() -> Figure {
    let part = |letter: &str, way: Update, size: Buffer| Panel {
        title: format!("{letter}) {}, {}", update(way), buffer(size)),
        curves: COUPLINGS
            .into_iter()
            .enumerate()
            .flat_map(|(group, coupled)| {
                both_routings(coupling(coupled), group, &NODES, |nodes| {
                    let point = Configuration::debit_credit(nodes).updating(way);
                    point.buffered(size).coupled(coupled)
                })
            })
            .collect(),
    };
    Figure {
        id: "4.5",
        title: "Primary copy locking (PCL) against GEM locking",
        caption: "Debit-credit, all files on disks.",
        reading: Reading::Response,
        panels: vec![
            part("a", Update::Force, Buffer::Small),
            part("b", Update::Force, Buffer::Large),
            part("c", Update::Noforce, Buffer::Small),
            part("d", Update::Noforce, Buffer::Large),
        ],
    }
}

/// Figure 4.6: throughput at 80% CPU utilisation.
pub(super) fn figure_4_6() -> Figure {
    let kinds = COUPLINGS
        .into_iter()
        .flat_map(|coupled| UPDATES.into_iter().map(move |way| (coupled, way)));
    let curves = kinds.enumerate().flat_map(|(group, (coupled, way))| {
        let name = format!("{}, {}", coupling(coupled), update(way));
        both_routings(&name, group, &FEW_NODES, |nodes| {
            let point = Configuration::debit_credit(nodes).updating(way);
            point.large().coupled(coupled)
        })
    });
    Figure {
        id: "4.6",
        title: "Throughput per node for PCL and GEM locking",
        caption: "Debit-credit, large buffer (the GEM paper's: 1000 pages per node), all files on \
                  disks; the arrival rate at which the processors' mean utilisation is 80%.",
        reading: Reading::Throughput,
        panels: single(curves.collect()),
    }
}
