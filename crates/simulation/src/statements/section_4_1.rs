//! Section 4.1: consequences of the parameters (Table 4.1).

use super::Statement;
use super::claim::Bounds::{Above, Below, Within};
use super::claim::claim;
use super::quantity::{measured, parameter};
use super::read;
use crate::figures::Configuration;
use crate::parameters::Parameters;

const BY_ARITHMETIC: &str = "Arithmetic on the parameters: exact, but for rounding.";

fn path_length(of: &Parameters) -> f64 {
    let node = &of.node;
    node.begin_instructions + 4.0 * node.access_instructions + node.end_instructions
}

fn cpu_without_overhead(of: &Parameters) -> f64 {
    let capacity = f64::from(of.node.processors) * of.node.mips * 1e6;
    100.0 * of.arrival.rate_per_node * path_length(of) / capacity
}

fn disk_access(of: &Parameters) -> f64 {
    cache_access(of) + of.disk.access_milliseconds
}

fn cache_access(of: &Parameters) -> f64 {
    of.disk.controller_milliseconds + of.disk.transfer_milliseconds
}

/// A small range around a number that arithmetic gives.
fn exactly(number: f64) -> super::Bounds {
    Within(number * 0.9999, number * 1.0001)
}

pub(super) fn statements() -> Vec<Statement> {
    let mut all = arithmetic();
    all.extend(measurements());
    all
}

fn arithmetic() -> Vec<Statement> {
    vec![
        Statement {
            id: "4.1-1",
            says: "A transaction takes 250,000 instructions without I/O and communication.",
            paper: "250,000",
            tolerance: BY_ARITHMETIC,
            claims: vec![claim(
                "path length",
                parameter(path_length),
                exactly(250_000.0),
                "instructions",
            )],
        },
        Statement {
            id: "4.1-2",
            says: "Without queueing a page access takes 50 µs in GEM, 1.4 ms in a disk cache, 6.4 \
                   ms on a log disk and 16.4 ms on a database disk.",
            paper: "0.05, 1.4, 6.4 and 16.4 ms",
            tolerance: BY_ARITHMETIC,
            claims: vec![
                claim(
                    "GEM",
                    parameter(|of| of.gem.page_microseconds),
                    exactly(50.0),
                    "µs",
                ),
                claim("disk cache", parameter(cache_access), exactly(1.4), "ms"),
                claim(
                    "log disk",
                    parameter(|of| cache_access(of) + of.log.access_milliseconds),
                    exactly(6.4),
                    "ms",
                ),
                claim("database disk", parameter(disk_access), exactly(16.4), "ms"),
            ],
        },
        Statement {
            id: "4.1-3",
            says: "A remote lock request of PCL costs at least 20,000 instructions, a page request \
                   26,000.",
            paper: "20,000 and 26,000",
            tolerance: BY_ARITHMETIC,
            claims: vec![
                claim(
                    "two short messages, sent and received",
                    parameter(|of| 4.0 * of.messages.short_instructions),
                    exactly(20_000.0),
                    "instructions",
                ),
                claim(
                    "a short and a long one",
                    parameter(|of| {
                        2.0 * (of.messages.short_instructions + of.messages.long_instructions)
                    }),
                    exactly(26_000.0),
                    "instructions",
                ),
            ],
        },
        Statement {
            id: "4.1-4",
            says: "The buffers of all nodes together are twice as large as BRANCH/TELLER.",
            paper: "2",
            tolerance: BY_ARITHMETIC,
            claims: vec![claim(
                "buffer pages over BRANCH/TELLER pages of a node",
                parameter(|of| {
                    let pages = of
                        .workload
                        .branches_per_node
                        .div_ceil(of.workload.branch_blocking);
                    f64::from(of.node.buffer_pages) / f64::from(pages)
                }),
                exactly(2.0),
                "",
            )],
        },
        Statement {
            id: "4.1-5",
            says: "The database grows with the arrival rate: 100 million ACCOUNT records at ten \
                   nodes.",
            paper: "100,000,000",
            tolerance: BY_ARITHMETIC,
            claims: vec![claim(
                "ACCOUNT records, 10 nodes",
                parameter(|of| {
                    let branches = 10.0 * f64::from(of.workload.branches_per_node);
                    branches * f64::from(of.workload.accounts_per_branch)
                }),
                exactly(1e8),
                "",
            )],
        },
    ]
}

fn measurements() -> Vec<Statement> {
    let one = Configuration::debit_credit(1);
    let ten = Configuration::debit_credit(10);
    vec![
        Statement {
            id: "4.1-6",
            says: "The processors are used 62.5% at least at 100 TPS.",
            paper: "at least 62.5%",
            tolerance: "The path length alone gives 62.5% by arithmetic. Measured it is more by \
                        the I/Os (3 to 4 of 3000 instructions: 2.3 to 3 points) and less by \
                        chance.",
            claims: vec![
                claim(
                    "by arithmetic",
                    parameter(cpu_without_overhead),
                    exactly(62.5),
                    "%",
                ),
                claim(
                    "measured, 1 node, NOFORCE",
                    measured(one, read::cpu),
                    Within(62.5, 68.0),
                    "%",
                ),
                claim(
                    "measured, 1 node, FORCE",
                    measured(one.force(), read::cpu),
                    Within(62.5, 68.0),
                    "%",
                ),
            ],
        },
        Statement {
            id: "4.1-7",
            says: "With BRANCH and TELLER clustered a transaction accesses only three different \
                   pages.",
            paper: "3",
            tolerance: "All transactions are alike: exact, but for those half done when measuring \
                        begins and ends.",
            claims: vec![
                claim(
                    "pages accessed, 10 nodes, random routing",
                    measured(ten.random(), read::accesses),
                    Within(2.98, 3.02),
                    "per transaction",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.1-8",
            says: "The multiprogramming level is high enough that nothing waits in the input \
                   queue.",
            paper: "no delay",
            tolerance: "Below a hundredth of a millisecond: there are 1,000 slots a node.",
            claims: vec![
                claim(
                    "input queue, 10 nodes, FORCE, random routing",
                    measured(ten.force().random(), read::input_queue),
                    Below(0.01),
                    "ms",
                )
                .into_arithmetic(),
            ],
        },
        Statement {
            id: "4.1-9",
            says: "There are disks enough for I/O bottlenecks to be avoided (4.2).",
            paper: "sufficient",
            tolerance: "The system keeps up with the arrivals, 1000 a second: within 1% by chance.",
            claims: vec![
                claim(
                    "throughput, 10 nodes, FORCE, random routing",
                    measured(ten.force().random(), read::throughput)
                        / parameter(|of| 10.0 * of.arrival.rate_per_node),
                    Within(0.98, 1.02),
                    "of the arrivals",
                ),
                claim(
                    "CPU utilisation there, above that of the path length",
                    measured(ten.force().random(), read::cpu) - parameter(cpu_without_overhead),
                    Above(0.0),
                    "points",
                ),
            ],
        },
    ]
}
