//! Section 2: uses of GEM of which the GEM paper speaks without measuring them.

use super::Statement;
use super::claim::Bounds::{Above, Below};
use super::claim::claim;
use super::quantity::{Quantity, measured, response, throughput};
use super::read;
use crate::figures::Configuration;
use crate::parameters::Storage;

const ORDERING: &str = "An ordering: the difference exceeds its 95% interval.";

fn random(nodes: u32) -> Configuration {
    Configuration::debit_credit(nodes).random()
}

pub(super) fn statements() -> Vec<Statement> {
    let mut all = messages();
    all.extend(caches());
    all
}

fn messages() -> Vec<Statement> {
    let pcl = || random(10).large().loose();
    let gain = |point: Configuration| response(point) - response(point.messages_through_gem());
    vec![Statement {
        id: "2-1",
        says: "Communication through GEM could already improve performance, as it reduces the \
               overhead of messages.",
        paper: "improved",
        tolerance: ORDERING,
        claims: vec![
            claim(
                "PCL, NOFORCE, random, 10 nodes",
                gain(pcl()),
                Above(0.0),
                "ms",
            ),
            claim(
                "PCL, FORCE, random, 10 nodes",
                gain(pcl().force()),
                Above(0.0),
                "ms",
            ),
            claim(
                "throughput at 80% CPU, PCL, FORCE, random, 10 nodes",
                throughput(pcl().force().messages_through_gem()) - throughput(pcl().force()),
                Above(0.0),
                "TPS",
            ),
        ],
    }]
}

/// Disk reads of BRANCH/TELLER per transaction.
fn disk_reads(point: Configuration) -> Quantity {
    measured(point, read::hot_disk_reads)
}

fn caches() -> Vec<Statement> {
    let cached = |point: Configuration| point.branch_teller_on(Storage::GemCache);
    let noforce = random(10);
    vec![
        Statement {
            id: "2-2",
            says: "Caching pages in GEM, between main memory and disk, reduces the number of disk \
                   reads.",
            paper: "fewer",
            tolerance: ORDERING,
            claims: vec![
                claim(
                    "disk reads, NOFORCE, random, 10 nodes",
                    disk_reads(cached(noforce)) - disk_reads(noforce),
                    Below(0.0),
                    "per transaction",
                ),
                claim(
                    "disk reads, FORCE, random, 10 nodes",
                    disk_reads(cached(noforce.force())) - disk_reads(noforce.force()),
                    Below(0.0),
                    "per transaction",
                ),
            ],
        },
        Statement {
            id: "2-3",
            says: "As a write buffer GEM speeds page writes up substantially: the disk is updated \
                   without increasing response times.",
            paper: "substantially",
            tolerance: "\"Substantially\": with affinity routing, where it saves nothing else, more \
                        than half of FORCE's write of BRANCH/TELLER, 16.4 ms.",
            claims: vec![claim(
                "gain, FORCE, affinity, large buffer, 10 nodes",
                {
                    let force = Configuration::debit_credit(10).large().force();
                    response(force) - response(cached(force))
                },
                Above(8.2),
                "ms",
            )],
        },
        Statement {
            id: "2-4",
            says: "The best I/O performance is obtained if entire files are resident in GEM.",
            paper: "best",
            tolerance: ORDERING,
            claims: [("NOFORCE", noforce), ("FORCE", noforce.force())]
                .into_iter()
                .map(|(name, point)| {
                    let resident = point.branch_teller_on(Storage::Gem);
                    claim(
                        format!("I/O and GEM, above a cache in GEM, {name}, random, 10 nodes"),
                        measured(resident, read::io_and_gem)
                            - measured(cached(point), read::io_and_gem),
                        Below(0.0),
                        "ms",
                    )
                })
                .collect(),
        },
    ]
}
