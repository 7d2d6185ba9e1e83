//! Section 4.2: workload allocation and update strategy (Figure 4.1).

use super::Statement;
use super::claim::Bounds::{Above, Below, Within};
use super::claim::claim;
use super::quantity::{Quantity, measured, parameter, percent_above, response};
use super::read;
use crate::figures::Configuration;

const ORDERING: &str = "An ordering: the difference exceeds its 95% interval.";

pub(super) fn statements() -> Vec<Statement> {
    let mut all = affinity();
    all.extend(random());
    all.extend(hit_ratios());
    all.extend(page_requests());
    all
}

fn noforce(nodes: u32) -> Configuration {
    Configuration::debit_credit(nodes)
}

fn force(nodes: u32) -> Configuration {
    noforce(nodes).force()
}

/// The growth of `read` from `from` to `to`.
fn growth(
    from: Configuration,
    to: Configuration,
    read: fn(&crate::measurement::Measurement) -> f64,
) -> Quantity {
    measured(to, read) - measured(from, read)
}

fn affinity() -> Vec<Statement> {
    let above_one = |to, from| percent_above(response(to), response(from));
    vec![
        Statement {
            id: "4.2-1",
            says: "With affinity routing response times stay almost constant with more nodes, for \
                   both update strategies.",
            paper: "almost constant",
            tolerance: "\"Almost\": 5% against one node.",
            claims: vec![
                claim(
                    "NOFORCE, 5 nodes",
                    above_one(noforce(5), noforce(1)),
                    Within(-5.0, 5.0),
                    "%",
                ),
                claim(
                    "NOFORCE, 10 nodes",
                    above_one(noforce(10), noforce(1)),
                    Within(-5.0, 5.0),
                    "%",
                ),
                claim(
                    "FORCE, 5 nodes",
                    above_one(force(5), force(1)),
                    Within(-5.0, 5.0),
                    "%",
                ),
                claim(
                    "FORCE, 10 nodes",
                    above_one(force(10), force(1)),
                    Within(-5.0, 5.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.2-2",
            says: "Meanwhile the throughput grows linearly.",
            paper: "100 TPS per node",
            tolerance: "Arrivals are random: 2%.",
            claims: vec![claim(
                "throughput of 10 nodes over that of 1",
                measured(noforce(10), read::throughput) / measured(noforce(1), read::throughput),
                Within(9.8, 10.2),
                "",
            )],
        },
        Statement {
            id: "4.2-3",
            says: "Every lock is in GEM's table, with an almost negligible delay.",
            paper: "almost negligible",
            tolerance: "Below 1% of the response time: by arithmetic it is some 12 accesses of 2 µs in 60 ms.",
            claims: vec![
                claim(
                    "GEM's part of the response time, 10 nodes",
                    measured(noforce(10), read::gem_share),
                    Below(1.0),
                    "%",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.2-4",
            says: "GEM is used less than 2% at 1000 TPS, so that nothing queues for it.",
            paper: "less than 2%",
            tolerance: "The GEM paper's bound. For the queue: below half an entry access on average.",
            claims: vec![
                claim(
                    "affinity",
                    measured(noforce(10), read::gem),
                    Below(2.0),
                    "%",
                ),
                claim(
                    "random",
                    measured(noforce(10).random(), read::gem),
                    Below(2.0),
                    "%",
                ),
                claim(
                    "affinity, above none",
                    measured(noforce(10), read::gem),
                    Above(0.0),
                    "%",
                )
                .into_arithmetic(),
                claim(
                    "wait for GEM",
                    measured(noforce(10), read::gem_wait),
                    Below(1.0),
                    "µs",
                ),
            ],
        },
        Statement {
            id: "4.2-5",
            says: "Response times are higher with FORCE, primarily because of its writes at \
                   commit.",
            paper: "FORCE above NOFORCE",
            tolerance: "An ordering; \"primarily\": more than half of the difference is I/O.",
            claims: vec![
                claim(
                    "1 node",
                    response(force(1)) - response(noforce(1)),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "10 nodes",
                    response(force(10)) - response(noforce(10)),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "I/O's part of the difference, 10 nodes",
                    growth(noforce(10), force(10), read::io) * 100.0
                        / (response(force(10)) - response(noforce(10))),
                    Above(50.0),
                    "%",
                ),
            ],
        },
    ]
}

fn random() -> Vec<Statement> {
    let rise = |to: Configuration, from: Configuration| response(to) - response(from);
    let r = |point: Configuration| point.random();
    vec![
        Statement {
            id: "4.2-6",
            says: "With random routing response times rise with more nodes.",
            paper: "rising",
            tolerance: ORDERING,
            claims: vec![
                claim(
                    "NOFORCE, 1 to 5",
                    rise(r(noforce(5)), noforce(1)),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "NOFORCE, 5 to 10",
                    rise(r(noforce(10)), r(noforce(5))),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "FORCE, 1 to 5",
                    rise(r(force(5)), force(1)),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "FORCE, 5 to 10",
                    rise(r(force(10)), r(force(5))),
                    Above(0.0),
                    "ms",
                ),
            ],
        },
        Statement {
            id: "4.2-7",
            says: "That is not because of concurrency control, whose cost does not depend on \
                   routing.",
            paper: "very low cost",
            tolerance: "Lock waits and GEM grow by less than a tenth of what the response time \
                        does.",
            claims: vec![
                claim(
                    "part of the rise, FORCE, 10 nodes",
                    growth(force(1), r(force(10)), read::concurrency_control) * 100.0
                        / rise(r(force(10)), force(1)),
                    Below(10.0),
                    "%",
                ),
                claim(
                    "part of the rise, NOFORCE, 10 nodes",
                    growth(noforce(1), r(noforce(10)), read::concurrency_control) * 100.0
                        / rise(r(noforce(10)), noforce(1)),
                    Below(10.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.2-8",
            says: "It is because of buffer invalidations, which grow with the nodes, all in \
                   BRANCH/TELLER; with affinity routing there are none.",
            paper: "growing",
            tolerance: "An ordering; \"none\": below 0.001 per transaction. Counted are the valid copies in \
                        other buffers that a commit makes old, whether they are ever found or not.",
            claims: vec![
                claim(
                    "2 nodes",
                    measured(r(noforce(2)), read::hot_made_invalid),
                    Above(0.0),
                    "",
                ),
                claim(
                    "2 to 10 nodes",
                    growth(r(noforce(2)), r(noforce(10)), read::hot_made_invalid),
                    Above(0.0),
                    "",
                ),
                claim(
                    "affinity, 10 nodes",
                    measured(noforce(10), read::hot_made_invalid),
                    Below(0.001),
                    "",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.2-9",
            says: "The fall of the hit ratios raises response times more with FORCE than with \
                   NOFORCE.",
            paper: "FORCE rises more",
            tolerance: ORDERING,
            claims: vec![claim(
                "rise from 1 to 10 nodes, FORCE's less NOFORCE's",
                rise(r(force(10)), force(1)) - rise(r(noforce(10)), noforce(1)),
                Above(0.0),
                "ms",
            )],
        },
        Statement {
            id: "4.2-10",
            says: "The difference between FORCE and NOFORCE grows with the nodes.",
            paper: "growing",
            tolerance: ORDERING,
            claims: vec![
                claim(
                    "1 to 5 nodes",
                    rise(r(force(5)), r(noforce(5))) - rise(force(1), noforce(1)),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "5 to 10 nodes",
                    rise(r(force(10)), r(noforce(10))) - rise(r(force(5)), r(noforce(5))),
                    Above(0.0),
                    "ms",
                ),
            ],
        },
    ]
}

fn hit_ratios() -> Vec<Statement> {
    let hot = |point| measured(point, read::hot_hits);
    vec![
        Statement {
            id: "4.2-11",
            says: "With random routing BRANCH/TELLER's hit ratio falls from 71% at one node to 13% \
                   at five and 7% at ten.",
            paper: "71%, 13%, 7%",
            tolerance: "3 points: how pages under I/O hold their frames in an LRU buffer of 200 is \
                        left open.",
            claims: vec![
                claim("1 node", hot(noforce(1)), Within(68.0, 74.0), "%"),
                claim("5 nodes", hot(noforce(5).random()), Within(10.0, 16.0), "%"),
                claim(
                    "10 nodes",
                    hot(noforce(10).random()),
                    Within(4.0, 10.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.2-12",
            says: "With affinity routing it is that of one node, however many there are.",
            paper: "the same",
            tolerance: "2 points, for chance.",
            claims: vec![
                claim(
                    "5 nodes, above 1",
                    hot(noforce(5)) - hot(noforce(1)),
                    Within(-2.0, 2.0),
                    "points",
                ),
                claim(
                    "10 nodes, above 1",
                    hot(noforce(10)) - hot(noforce(1)),
                    Within(-2.0, 2.0),
                    "points",
                ),
            ],
        },
        Statement {
            id: "4.2-13",
            says: "ACCOUNT is too large for any buffer hit.",
            paper: "none",
            tolerance: "Below 1%.",
            claims: vec![
                claim(
                    "10 nodes, random routing",
                    measured(noforce(10).random(), read::account_hits),
                    Below(1.0),
                    "%",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.2-14",
            says: "HISTORY's hit ratio is 95%, from its blocking factor (footnote 1).",
            paper: "95%",
            tolerance: "1 point: a page may be replaced before it is full. By arithmetic it is 1 - 1/20.",
            claims: vec![
                claim(
                    "1 node",
                    measured(noforce(1), read::history_hits),
                    Within(94.0, 96.0),
                    "%",
                )
                .into_arithmetic(),
                claim(
                    "10 nodes, random routing",
                    measured(noforce(10).random(), read::history_hits),
                    Within(94.0, 96.0),
                    "%",
                )
                .into_arithmetic(),
            ],
        },
    ]
}

fn page_requests() -> Vec<Statement> {
    let ten = noforce(10).random();
    let requests = |nodes| measured(noforce(nodes).random(), read::page_requests);
    let delay = || measured(ten, read::page_request_delay);
    let transmission = || {
        parameter(|of| {
            let bytes = of.messages.short_bytes + of.messages.long_bytes;
            let sent = f64::from(bytes) / (1000.0 * of.messages.megabytes_per_second);
            sent + 0.002 * of.messages.latency_microseconds
        })
    };
    vec![
        Statement {
            id: "4.2-15",
            says: "With FORCE every buffer miss of BRANCH/TELLER is a disk access.",
            paper: "every one",
            tolerance: "1%, for those under way when measuring begins and ends.",
            claims: vec![
                claim(
                    "misses read from storage, 10 nodes",
                    measured(force(10).random(), read::hot_from_storage),
                    Within(99.0, 101.0),
                    "%",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.2-16",
            says: "With NOFORCE many of them are satisfied by a page request, and more with more \
                   nodes.",
            paper: "many; growing",
            tolerance: "\"Many\": above a third. The growth is an ordering.",
            claims: vec![
                claim(
                    "misses satisfied by nodes, 10 nodes",
                    measured(ten, read::hot_from_nodes),
                    Above(100.0 / 3.0),
                    "%",
                ),
                claim(
                    "requests, 2 to 5 nodes",
                    requests(5) - requests(2),
                    Above(0.0),
                    "",
                ),
                claim(
                    "requests, 5 to 10 nodes",
                    requests(10) - requests(5),
                    Above(0.0),
                    "",
                ),
            ],
        },
        Statement {
            id: "4.2-17",
            says: "A page request takes about 6.5 ms, against more than 16.4 ms of a disk access \
                   (footnote 2).",
            paper: "6.5 ms",
            tolerance: "\"About\": 2 ms. Which of the CPU services in a request wait for a \
                        processor is left open.",
            claims: vec![
                claim("delay, 10 nodes", delay(), Within(4.5, 8.5), "ms"),
                claim("less than a disk access", delay(), Below(16.4), "ms"),
            ],
        },
        Statement {
            id: "4.2-18",
            says: "Most of that delay is queueing and service at processors.",
            paper: "most",
            tolerance: "\"Most\": above half. What is not the network's transmission is counted.",
            claims: vec![claim(
                "part at processors, 10 nodes",
                (delay() - transmission()) * 100.0 / delay(),
                Above(50.0),
                "%",
            )],
        },
    ]
}
