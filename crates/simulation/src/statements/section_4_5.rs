//! Section 4.5: loose against close coupling (Figures 4.5 and 4.6).

use super::claim::Bounds::{Above, Below, Within};
use super::claim::claim;
use super::quantity::{Quantity, measured, percent_above, percent_below, response, throughput};
use super::{Claim, Statement, read};
use crate::figures::Configuration;

const ORDERING: &str = "An ordering: the difference exceeds its 95% interval.";

/// A configuration with any number of nodes.
type AtNodes = fn(u32) -> Configuration;

/// The four combinations of update strategy and buffer.
const KINDS: [(&str, AtNodes); 4] = [
    ("FORCE, small buffer", |nodes| small(nodes).force()),
    ("FORCE, large buffer", |nodes| small(nodes).force().large()),
    ("NOFORCE, small buffer", small),
    ("NOFORCE, large buffer", |nodes| small(nodes).large()),
];

fn small(nodes: u32) -> Configuration {
    Configuration::debit_credit(nodes)
}

/// By how many milliseconds PCL is slower than GEM locking.
fn slower(point: Configuration) -> Quantity {
    response(point.loose()) - response(point)
}

pub(super) fn statements() -> Vec<Statement> {
    let mut all = affinity();
    all.extend(random());
    all.extend(messages());
    all.extend(updates());
    all.extend(throughputs());
    all
}

fn each_kind(of: impl Fn(&str, AtNodes) -> Vec<Claim>) -> Vec<Claim> {
    KINDS
        .iter()
        .flat_map(|(name, point)| of(name, *point))
        .collect()
}

fn affinity() -> Vec<Statement> {
    let ten = small(10).loose();
    vec![
        Statement {
            id: "4.5-1",
            says: "With affinity routing PCL has always virtually the response times of GEM \
                   locking.",
            paper: "virtually the same",
            tolerance: "\"Virtually\": 4%; by arithmetic 0.14 remote requests of 5 to 7 ms make 1 \
                        to 2%.",
            claims: each_kind(|name, point| {
                let above = percent_above(response(point(10).loose()), response(point(10)));
                vec![claim(
                    format!("{name}, 10 nodes"),
                    above,
                    Within(-4.0, 4.0),
                    "%",
                )]
            }),
        },
        Statement {
            id: "4.5-2",
            says: "There almost all locks are local: at most 0.15 remote requests and 0.6 messages \
                   per transaction (footnote 3).",
            paper: "0.15; 0.6",
            tolerance: "The GEM paper's bounds; of two locks 0.15 are 7.5%, so that 92.5% are local.",
            claims: vec![
                claim(
                    "remote, 10 nodes",
                    measured(ten, read::remote_requests),
                    Below(0.15),
                    "",
                ),
                claim(
                    "messages, 10 nodes",
                    measured(ten, read::messages),
                    Below(0.6),
                    "",
                ),
                claim(
                    "local, 10 nodes",
                    measured(ten, read::local_share),
                    Above(92.5),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.5-3",
            says: "And the I/O behaviour is that of close coupling, without buffer invalidations.",
            paper: "the same; none",
            tolerance: "2 points of hit ratio; \"none\": below 0.001 per transaction.",
            claims: vec![
                claim(
                    "hits, 10 nodes, above GEM locking's",
                    measured(ten, read::hot_hits) - measured(small(10), read::hot_hits),
                    Within(-2.0, 2.0),
                    "points",
                ),
                claim(
                    "invalidations, 10 nodes",
                    measured(ten, read::hot_invalidations),
                    Below(0.001),
                    "",
                )
                .into_arithmetic(),
            ],
        },
    ]
}

fn random() -> Vec<Statement> {
    vec![
        Statement {
            id: "4.5-4",
            says: "With random routing PCL is always worse than GEM locking.",
            paper: "worse",
            tolerance: ORDERING,
            claims: each_kind(|name, point| {
                let at = [2, 5, 10].map(|nodes| {
                    let what = format!("{name}, {nodes} nodes");
                    claim(what, slower(point(nodes).random()), Above(0.0), "ms")
                });
                at.to_vec()
            }),
        },
        Statement {
            id: "4.5-5",
            says: "The difference grows with the nodes.",
            paper: "growing",
            tolerance: ORDERING,
            claims: each_kind(|name, point| {
                let grown = slower(point(10).random()) - slower(point(2).random());
                vec![claim(
                    format!("{name}, 2 to 10 nodes"),
                    grown,
                    Above(0.0),
                    "ms",
                )]
            }),
        },
    ]
}

fn messages() -> Vec<Statement> {
    let pcl = |nodes| small(nodes).random().loose();
    let both = |read| {
        let noforce = measured(pcl(10).large(), read);
        percent_above(noforce, measured(pcl(10).large().force(), read))
    };
    vec![
        Statement {
            id: "4.5-6",
            says: "With random routing half of the lock requests are local at two nodes, a tenth \
                   at ten.",
            paper: "50%, 10%",
            tolerance: "2 points, for chance: 1/N by arithmetic.",
            claims: vec![
                claim(
                    "2 nodes",
                    measured(pcl(2), read::local_share),
                    Within(48.0, 52.0),
                    "%",
                )
                .into_arithmetic(),
                claim(
                    "10 nodes",
                    measured(pcl(10), read::local_share),
                    Within(8.0, 12.0),
                    "%",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.5-7",
            says: "There are at most two remote lock requests per transaction, for ACCOUNT and \
                   BRANCH/TELLER.",
            paper: "at most 2",
            tolerance: "The GEM paper's bound; above 1.7 of them as nine in ten are remote at ten \
                        nodes.",
            claims: vec![
                claim(
                    "10 nodes",
                    measured(pcl(10), read::remote_requests),
                    Within(1.7, 2.0),
                    "per transaction",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.5-8",
            says: "PCL combines page transfers with the messages of its locks: NOFORCE needs \
                   hardly any messages more than FORCE.",
            paper: "no extra messages",
            tolerance: "3%.",
            claims: vec![claim(
                "messages above FORCE, 10 nodes, large buffer",
                both(read::messages),
                Within(-3.0, 3.0),
                "%",
            )],
        },
        Statement {
            id: "4.5-9",
            says: "PCL has more than twice as many remote lock requests as GEM locking has page \
                   requests.",
            paper: "more than twice",
            tolerance: "The GEM paper's bound.",
            claims: vec![claim(
                "remote requests over page requests, 10 nodes, large buffer",
                measured(pcl(10).large(), read::remote_requests)
                    / measured(small(10).random().large(), read::page_requests),
                Above(2.0),
                "",
            )],
        },
        Statement {
            id: "4.5-10",
            says: "For ACCOUNT there are lock requests but no page requests.",
            paper: "none",
            tolerance: "\"None\": below 0.01 per transaction.",
            claims: vec![
                claim(
                    "pages of ACCOUNT from nodes, GEM locking, 10 nodes, large buffer",
                    measured(small(10).random().large(), read::account_from_nodes),
                    Below(0.01),
                    "per transaction",
                )
                .into_arithmetic(),
            ],
        },
    ]
}

fn updates() -> Vec<Statement> {
    let random = |nodes| small(nodes).random();
    vec![
        Statement {
            id: "4.5-11",
            says: "The difference between PCL and GEM locking is smaller with NOFORCE than with \
                   FORCE.",
            paper: "smaller",
            tolerance: ORDERING,
            claims: vec![
                claim(
                    "small buffer, 10 nodes",
                    slower(random(10)) - slower(random(10).force()),
                    Below(0.0),
                    "ms",
                ),
                claim(
                    "large buffer, 10 nodes",
                    slower(random(10).large()) - slower(random(10).large().force()),
                    Below(0.0),
                    "ms",
                ),
            ],
        },
        Statement {
            id: "4.5-12",
            says: "With NOFORCE the large buffer makes it smaller still.",
            paper: "further reduced",
            tolerance: ORDERING,
            claims: vec![claim(
                "large less small buffer, 10 nodes",
                slower(random(10).large()) - slower(random(10)),
                Below(0.0),
                "ms",
            )],
        },
    ]
}

fn throughputs() -> Vec<Statement> {
    let force = |nodes| small(nodes).large().force();
    let noforce = |nodes| small(nodes).large();
    let lost = |point: Configuration| percent_below(throughput(point.loose()), throughput(point));
    let constant =
        |one: Configuration, ten: Configuration| percent_above(throughput(ten), throughput(one));
    // The cost of NOFORCE in throughput.
    let cost = |point: Configuration| throughput(point.force()) - throughput(point);
    let ten = noforce(10).random();
    vec![
        Statement {
            id: "4.5-13",
            says: "At 80% CPU utilisation the throughput grows linearly with affinity routing.",
            paper: "linear",
            tolerance: "3% per node against one node.",
            claims: vec![
                claim(
                    "PCL, NOFORCE",
                    constant(noforce(1).loose(), noforce(10).loose()),
                    Within(-3.0, 3.0),
                    "%",
                ),
                claim(
                    "PCL, FORCE",
                    constant(force(1).loose(), force(10).loose()),
                    Within(-3.0, 3.0),
                    "%",
                ),
                claim(
                    "GEM locking, NOFORCE",
                    constant(noforce(1), noforce(10)),
                    Within(-3.0, 3.0),
                    "%",
                ),
                claim(
                    "GEM locking, FORCE",
                    constant(force(1), force(10)),
                    Within(-3.0, 3.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.5-14",
            says: "With random routing PCL's is about 15% lower than GEM locking's.",
            paper: "15%",
            tolerance: "\"About\": 5 points.",
            claims: vec![
                claim("NOFORCE, 10 nodes", lost(ten), Within(10.0, 20.0), "%"),
                claim(
                    "FORCE, 10 nodes",
                    lost(ten.force()),
                    Within(10.0, 20.0),
                    "%",
                ),
                claim("lower at all, NOFORCE", lost(ten), Above(0.0), "%"),
                claim("lower at all, FORCE", lost(ten.force()), Above(0.0), "%"),
            ],
        },
        Statement {
            id: "4.5-15",
            says: "With random routing FORCE allows higher rates than NOFORCE: an I/O costs \
                   processors less than a page transfer.",
            paper: "FORCE higher",
            tolerance: ORDERING,
            claims: vec![
                claim("GEM locking, 10 nodes", cost(ten), Above(0.0), "TPS"),
                claim("PCL, 10 nodes", cost(ten.loose()), Above(0.0), "TPS"),
            ],
        },
        Statement {
            id: "4.5-16",
            says: "For GEM locking that is notable, as page requests cannot be combined with other \
                   messages as PCL's can.",
            paper: "notable overhead",
            tolerance: "\"Notable\": more than 2% of the rate. That it costs GEM locking more than \
                        PCL is an ordering.",
            claims: vec![
                claim(
                    "what NOFORCE costs GEM locking, 10 nodes",
                    percent_below(throughput(ten), throughput(ten.force())),
                    Above(2.0),
                    "%",
                ),
                claim(
                    "more than PCL, 10 nodes",
                    cost(ten) - cost(ten.loose()),
                    Above(0.0),
                    "TPS",
                ),
            ],
        },
    ]
}
