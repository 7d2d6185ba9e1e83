//! Section 4.4: allocation of BRANCH/TELLER (Figures 4.3 and 4.4).

use super::Statement;
use super::claim::Bounds::{Above, Below, Within};
use super::claim::claim;
use super::quantity::{Quantity, measured, parameter, percent_above, percent_below, response};
use super::read;
use crate::figures::Configuration;
use crate::parameters::Storage;

fn noforce(nodes: u32) -> Configuration {
    Configuration::debit_credit(nodes).large()
}

fn force(nodes: u32) -> Configuration {
    noforce(nodes).force()
}

fn on(point: Configuration, storage: Storage) -> Quantity {
    response(point.branch_teller_on(storage))
}

/// By how many milliseconds `storage` shortens the response time.
fn gain(point: Configuration, storage: Storage) -> Quantity {
    response(point) - on(point, storage)
}

/// By how many per cent it does.
fn gain_percent(point: Configuration, storage: Storage) -> Quantity {
    percent_below(on(point, storage), response(point))
}

pub(super) fn statements() -> Vec<Statement> {
    let mut all = noforce_and_gem();
    all.extend(force_and_gem());
    all.extend(nonvolatile_cache());
    all.extend(volatile_cache());
    all
}

fn noforce_and_gem() -> Vec<Statement> {
    let small = Configuration::debit_credit(10).random();
    vec![
        Statement {
            id: "4.4-1",
            says: "With NOFORCE it has almost no effect to put BRANCH/TELLER into GEM, with either \
                   routing.",
            paper: "almost none",
            tolerance: "\"Almost\": 5%.",
            claims: vec![
                claim(
                    "gain, affinity, 10 nodes",
                    gain_percent(noforce(10), Storage::Gem),
                    Within(-5.0, 5.0),
                    "%",
                ),
                claim(
                    "gain, random, 10 nodes",
                    gain_percent(noforce(10).random(), Storage::Gem),
                    Within(-5.0, 5.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.4-2",
            says: "Because with affinity routing there are almost no I/Os on it, and with random \
                   routing almost all misses are satisfied by page requests.",
            paper: "almost no; almost all",
            tolerance: "\"Almost\": below 0.02 I/Os per transaction; above 90%.",
            claims: vec![
                claim(
                    "I/Os, affinity, 10 nodes",
                    measured(noforce(10), read::hot_io),
                    Below(0.02),
                    "per transaction",
                ),
                claim(
                    "misses satisfied by nodes, random, 10 nodes",
                    measured(noforce(10).random(), read::hot_from_nodes),
                    Above(90.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.4-3",
            says: "With NOFORCE GEM can help only if the buffer is small.",
            paper: "only small buffers",
            tolerance: "An ordering: it helps with the small one, and more than with the large \
                        one.",
            claims: vec![
                claim(
                    "small buffer, 10 nodes, random",
                    gain(small, Storage::Gem),
                    Above(0.0),
                    "ms",
                ),
                claim(
                    "more than with the large one",
                    gain(small, Storage::Gem) - gain(small.large(), Storage::Gem),
                    Above(0.0),
                    "ms",
                ),
            ],
        },
    ]
}

fn force_and_gem() -> Vec<Statement> {
    let gem = |point: Configuration| point.branch_teller_on(Storage::Gem);
    let random_above_affinity = |nodes: u32| {
        let (random, affinity) = (gem(force(nodes).random()), gem(force(nodes)));
        percent_above(response(random), response(affinity))
    };
    vec![
        Statement {
            id: "4.4-4",
            says: "With FORCE it helps significantly, most with random routing.",
            paper: "significant; random most",
            tolerance: "\"Significant\": above 10%. \"Most\" is an ordering.",
            claims: vec![
                claim(
                    "affinity, 10 nodes",
                    gain_percent(force(10), Storage::Gem),
                    Above(10.0),
                    "%",
                ),
                claim(
                    "random, 10 nodes",
                    gain_percent(force(10).random(), Storage::Gem),
                    Above(10.0),
                    "%",
                ),
                claim(
                    "random's gain less affinity's",
                    gain(force(10).random(), Storage::Gem) - gain(force(10), Storage::Gem),
                    Above(0.0),
                    "ms",
                ),
            ],
        },
        Statement {
            id: "4.4-5",
            says: "One disk access is saved already by the write at commit.",
            paper: "one disk access",
            tolerance: "A fifth of an access: other waits become shorter or longer with it. It is \
                        on the response time only if FORCE's writes follow each other \
                        (node.force_writes).",
            claims: vec![claim(
                "gain over a disk access, affinity, 10 nodes",
                gain(force(10), Storage::Gem)
                    / parameter(|of| {
                        let disk = &of.disk;
                        let cache = disk.controller_milliseconds + disk.transfer_milliseconds;
                        cache + disk.access_milliseconds
                    }),
                Within(0.8, 1.2),
                "",
            )],
        },
        Statement {
            id: "4.4-6",
            says: "With FORCE and GEM random routing is almost as fast as affinity routing.",
            paper: "almost the same",
            tolerance: "\"Almost\": 5%.",
            claims: vec![
                claim(
                    "random, 5 nodes",
                    random_above_affinity(5),
                    Within(-5.0, 5.0),
                    "%",
                ),
                claim(
                    "random, 10 nodes",
                    random_above_affinity(10),
                    Within(-5.0, 5.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.4-7",
            says: "The fall of the hit ratios matters no more: there is no significant rise \
                   against one node.",
            paper: "no significant rise",
            tolerance: "\"Significant\": 5%. The hit ratios must fall all the same.",
            claims: vec![
                claim(
                    "random, 10 nodes, above 1",
                    percent_above(response(gem(force(10).random())), response(gem(force(1)))),
                    Within(-5.0, 5.0),
                    "%",
                ),
                claim(
                    "hit ratio, 10 nodes, below that of 1",
                    measured(gem(force(10).random()), read::hot_hits)
                        - measured(gem(force(1)), read::hot_hits),
                    Below(-50.0),
                    "points",
                ),
            ],
        },
    ]
}

fn nonvolatile_cache() -> Vec<Statement> {
    let cached = |point: Configuration| point.branch_teller_on(Storage::NonvolatileCache);
    let above_gem =
        |point: Configuration| percent_above(response(cached(point)), on(point, Storage::Gem));
    let everywhere = cached(force(10)).other_files_on(Storage::NonvolatileCache);
    vec![
        Statement {
            id: "4.4-8",
            says: "A non-volatile disk cache is almost as good as GEM, with either routing.",
            paper: "almost the same",
            tolerance: "\"Almost\": 8%; by arithmetic it is up to two cache accesses of 1.4 ms and \
                        their overhead, about 4%.",
            claims: vec![
                claim(
                    "affinity, 10 nodes",
                    above_gem(force(10)),
                    Within(-8.0, 8.0),
                    "%",
                ),
                claim(
                    "random, 10 nodes",
                    above_gem(force(10).random()),
                    Within(-8.0, 8.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.4-9",
            says: "Because all of BRANCH/TELLER fits into the shared cache, which satisfies all \
                   misses.",
            paper: "all",
            tolerance: "Above 98%: the first access to a page may be late. The cache is configured to hold all.",
            claims: vec![
                claim(
                    "non-volatile, random, 10 nodes",
                    measured(cached(force(10).random()), read::hot_cache_hits),
                    Above(98.0),
                    "%",
                )
                .into_arithmetic(),
                claim(
                    "volatile, random, 10 nodes",
                    measured(
                        force(10).random().branch_teller_on(Storage::VolatileCache),
                        read::hot_cache_hits,
                    ),
                    Above(98.0),
                    "%",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.4-10",
            says: "Non-volatile caches for HISTORY and ACCOUNT would make FORCE faster still.",
            paper: "faster",
            tolerance: "An ordering: the difference exceeds its 95% interval.",
            claims: vec![
                claim(
                    "gain, affinity, 10 nodes",
                    response(cached(force(10))) - response(everywhere),
                    Above(0.0),
                    "ms",
                )
                .into_arithmetic(),
            ],
        },
    ]
}

fn volatile_cache() -> Vec<Statement> {
    let cached = |point: Configuration| point.branch_teller_on(Storage::VolatileCache);
    vec![
        Statement {
            id: "4.4-11",
            says: "A volatile disk cache makes random routing about as fast as affinity routing.",
            paper: "about the same",
            tolerance: "\"About\": 7%; that it helps is an ordering.",
            claims: vec![
                claim(
                    "random above affinity, 10 nodes",
                    percent_above(
                        response(cached(force(10).random())),
                        response(cached(force(10))),
                    ),
                    Within(-7.0, 7.0),
                    "%",
                ),
                claim(
                    "gain, random, 10 nodes",
                    gain(force(10).random(), Storage::VolatileCache),
                    Above(0.0),
                    "ms",
                ),
            ],
        },
        Statement {
            id: "4.4-12",
            says: "For affinity routing it is useless: no misses occur on BRANCH/TELLER.",
            paper: "not useful; none",
            tolerance: "3% of the response time, for chance; hits above 99%.",
            claims: vec![
                claim(
                    "gain, affinity, 10 nodes",
                    gain_percent(force(10), Storage::VolatileCache),
                    Within(-3.0, 3.0),
                    "%",
                ),
                claim(
                    "hits, affinity, 10 nodes",
                    measured(force(10), read::hot_hits),
                    Above(99.0),
                    "%",
                ),
            ],
        },
    ]
}
