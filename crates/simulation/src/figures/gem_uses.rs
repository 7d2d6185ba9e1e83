//! Figures that the GEM paper does not have: its text on GEM's other uses in sections 2, 4.4 and 6.

use super::debit_credit::{NODES, both_routings, single, storage};
use super::{Configuration, Curve, Figure, Panel, Reading};
use crate::parameters::{Storage, Update};

/// A way to lay one of GEM's uses over a point.
type Use = fn(Configuration) -> Configuration;

const PLAIN: Use = |point| point;

/// Page transfers of NOFORCE by messages, across GEM, and that with messages through GEM.
pub(super) fn transfers() -> Figure {
    let uses: [(&str, Use); 4] = [
        ("pages in messages", PLAIN),
        ("pages across GEM", Configuration::across_gem),
        ("messages through GEM", Configuration::messages_through_gem),
        ("FORCE, BRANCH/TELLER in GEM", |point| {
            point.force().branch_teller_on(Storage::Gem)
        }),
    ];
    let curves = uses.into_iter().enumerate().map(|(group, (label, used))| {
        Curve::new(label, group, true, &NODES, |nodes| {
            used(Configuration::debit_credit(nodes).random().large())
        })
    });
    Figure {
        id: "gem-1",
        title: "Page transfers across GEM",
        caption: "Not a figure of the GEM paper: what it says of page transfers in sections 2, 4.4 and \
                  6. Debit-credit, GEM locking, NOFORCE, random routing, large buffer, all files on \
                  disks; beside it FORCE with BRANCH/TELLER in GEM.",
        reading: Reading::Response,
        panels: single(curves.collect()),
    }
}

/// Primary copy locking with messages through GEM, between loose coupling and GEM locking.
pub(super) fn messages() -> Figure {
    let part = |letter: &str, name: &str, way: Update| {
        let uses: [(&str, Use); 3] = [
            ("PCL, messages by network", Configuration::loose),
            ("PCL, messages through GEM", |point| {
                point.loose().messages_through_gem()
            }),
            ("GEM locking", PLAIN),
        ];
        let curves = uses.into_iter().enumerate().map(|(group, (label, used))| {
            Curve::new(label, group, true, &NODES, |nodes| {
                let point = Configuration::debit_credit(nodes).updating(way);
                used(point.random().large())
            })
        });
        Panel {
            title: format!("{letter}) {name}"),
            curves: curves.collect(),
        }
    };
    Figure {
        id: "gem-2",
        title: "GEM as the medium of messages",
        caption: "Not a figure of the GEM paper: \"all messages are exchanged across the GEM\" (section \
                  2). Debit-credit, random routing, large buffer, all files on disks.",
        reading: Reading::Response,
        panels: vec![
            part("a", "NOFORCE", Update::Noforce),
            part("b", "FORCE", Update::Force),
        ],
    }
}

/// A page cache in GEM, beside a disk cache and a file that is in GEM as a whole.
pub(super) fn caches() -> Figure {
    let part = |letter: &str, name: &str, way: Update| Panel {
        title: format!("{letter}) {name}"),
        curves: [
            Storage::Disk,
            Storage::NonvolatileCache,
            Storage::GemCache,
            Storage::Gem,
        ]
        .into_iter()
        .enumerate()
        .flat_map(|(group, place)| {
            both_routings(storage(place), group, &NODES, |nodes| {
                let point = Configuration::debit_credit(nodes).updating(way);
                point.branch_teller_on(place)
            })
        })
        .collect(),
    };
    Figure {
        id: "gem-3",
        title: "A page cache in GEM for BRANCH/TELLER",
        caption: "Not a figure of the GEM paper: GEM as a page cache between the buffers and the disks \
                  (section 2). Debit-credit, GEM locking, small buffer, all other files on disks.",
        reading: Reading::Response,
        panels: vec![
            part("a", "NOFORCE", Update::Noforce),
            part("b", "FORCE", Update::Force),
        ],
    }
}
