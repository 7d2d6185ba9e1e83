//! Section 4.3: buffer size (Figure 4.2).

use super::Statement;
use super::claim::Bounds::{Above, Below, Within};
use super::claim::claim;
use super::quantity::{measured, parameter, percent_above, response};
use super::read;
use crate::figures::Configuration;

const ORDERING: &str = "An ordering: the difference exceeds its 95% interval.";

fn noforce(nodes: u32) -> Configuration {
    Configuration::debit_credit(nodes).random()
}

fn force(nodes: u32) -> Configuration {
    noforce(nodes).force()
}

pub(super) fn statements() -> Vec<Statement> {
    let mut all = hits();
    all.extend(responses());
    all.extend(requests());
    all
}

fn hits() -> Vec<Statement> {
    let hot = |point: Configuration| measured(point.large(), read::hot_hits);
    let invalidations = |point| measured(point, read::hot_invalidations);
    let more = |nodes| invalidations(noforce(nodes).large()) - invalidations(noforce(nodes));
    vec![
        Statement {
            id: "4.3-1",
            says: "The large buffer holds all of BRANCH/TELLER at one node.",
            paper: "optimal hit ratio",
            tolerance: "1%: a page that is not accessed for long is replaced.",
            claims: vec![claim("hits, 1 node", hot(noforce(1)), Above(99.0), "%")],
        },
        Statement {
            id: "4.3-2",
            says: "Its effectiveness falls with more nodes.",
            paper: "falling",
            tolerance: ORDERING,
            claims: vec![
                claim(
                    "hits, 1 to 5 nodes",
                    hot(noforce(5)) - hot(noforce(1)),
                    Below(0.0),
                    "points",
                ),
                claim(
                    "hits, 5 to 10 nodes",
                    hot(noforce(10)) - hot(noforce(5)),
                    Below(0.0),
                    "points",
                ),
            ],
        },
        Statement {
            id: "4.3-3",
            says: "It causes even more invalidations than the small one.",
            paper: "more",
            tolerance: ORDERING,
            claims: vec![
                claim("5 nodes", more(5), Above(0.0), "per transaction"),
                claim("10 nodes", more(10), Above(0.0), "per transaction"),
            ],
        },
    ]
}

fn responses() -> Vec<Statement> {
    let gain = |point: Configuration| response(point) - response(point.large());
    let affinity = |nodes| Configuration::debit_credit(nodes).large();
    let above_one = |point: fn(Configuration) -> Configuration| {
        percent_above(response(point(affinity(10))), response(point(affinity(1))))
    };
    vec![
        Statement {
            id: "4.3-4",
            says: "FORCE benefits much less from it than NOFORCE.",
            paper: "much less",
            tolerance: "\"Much\": NOFORCE gains more than one and a half times as much.",
            claims: vec![
                claim(
                    "NOFORCE's gain less 1.5 of FORCE's, 5 nodes",
                    gain(noforce(5)) - gain(force(5)) * 1.5,
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "the same, 10 nodes",
                    gain(noforce(10)) - gain(force(10)) * 1.5,
                    Above(0.0),
                    "ms",
                ),
            ],
        },
        Statement {
            id: "4.3-5",
            says: "With affinity routing the number of nodes matters little also with the large \
                   buffer.",
            paper: "almost constant",
            tolerance: "5% against one node.",
            claims: vec![
                claim(
                    "NOFORCE, 10 nodes",
                    above_one(|point| point),
                    Within(-5.0, 5.0),
                    "%",
                ),
                claim(
                    "FORCE, 10 nodes",
                    above_one(Configuration::force),
                    Within(-5.0, 5.0),
                    "%",
                ),
            ],
        },
    ]
}

fn requests() -> Vec<Statement> {
    let large = noforce(10).large();
    let from_nodes = |point| measured(point, read::hot_from_nodes);
    let above_affinity =
        |read| measured(large, read) - measured(Configuration::debit_credit(10).large(), read);
    vec![
        Statement {
            id: "4.3-6",
            says: "With NOFORCE and the large buffer almost all misses of BRANCH/TELLER are \
                   satisfied by page requests; with the small buffer only part of them.",
            paper: "almost all; partially",
            tolerance: "\"Almost all\": above 90%. \"Part\": an ordering between the two.",
            claims: vec![
                claim("large, 10 nodes", from_nodes(large), Above(90.0), "%"),
                claim(
                    "small below large",
                    from_nodes(noforce(10)) - from_nodes(large),
                    Below(0.0),
                    "points",
                ),
            ],
        },
        Statement {
            id: "4.3-7",
            says: "Page requests cost the processors more than disk I/Os, which makes transactions \
                   wait longer for them.",
            paper: "higher overhead and delays",
            tolerance: ORDERING,
            claims: vec![
                claim(
                    "instructions of a page request over those of an I/O",
                    parameter(|of| {
                        let messages =
                            of.messages.short_instructions + of.messages.long_instructions;
                        2.0 * messages / of.disk.instructions
                    }),
                    Above(1.0),
                    "",
                ),
                claim(
                    "CPU utilisation above affinity routing, 10 nodes",
                    above_affinity(read::cpu),
                    Above(0.0),
                    "points",
                ),
                claim(
                    "CPU queueing above affinity routing, 10 nodes",
                    above_affinity(read::cpu_wait),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "CPU utilisation above FORCE, 10 nodes",
                    measured(large, read::cpu) - measured(force(10).large(), read::cpu),
                    Above(0.0),
                    "points",
                ),
            ],
        },
    ]
}
