//! The figures of a measurement that the statements speak of, in their units.

use crate::measurement::{Measurement, PartitionFigures, Station};

/// Counts per transaction for the pages of some partitions.
#[derive(Default)]
struct Pages {
    accesses: f64,
    misses: f64,
    invalidations: f64,
    made_invalid: f64,
    from_nodes: f64,
    reads: f64,
    writes: f64,
    cache_hits: f64,
}

fn pages(one: &Measurement, wanted: impl Fn(&str) -> bool) -> Pages {
    let chosen = one.partitions.iter().filter(|part| wanted(&part.name));
    chosen.fold(Pages::default(), |sum, part: &PartitionFigures| Pages {
        accesses: sum.accesses + part.accesses,
        misses: sum.misses + part.accesses * (1.0 - part.hit_ratio),
        invalidations: sum.invalidations + part.invalidations,
        made_invalid: sum.made_invalid + part.made_invalid,
        from_nodes: sum.from_nodes + part.from_nodes,
        reads: sum.reads + part.reads,
        writes: sum.writes + part.writes,
        cache_hits: sum.cache_hits + part.reads * part.cache_hit_ratio,
    })
}

/// BRANCH and TELLER, clustered or not.
fn branch_teller(one: &Measurement) -> Pages {
    pages(one, |name| {
        ["branch_teller", "branch", "teller"].contains(&name)
    })
}

fn account(one: &Measurement) -> Pages {
    pages(one, |name| name == "account")
}

fn history(one: &Measurement) -> Pages {
    pages(one, |name| name == "history")
}

fn all(one: &Measurement) -> Pages {
    pages(one, |_| true)
}

/// A share in per cent; 0 of nothing.
fn percent(part: f64, whole: f64) -> f64 {
    match whole {
        0.0 => 0.0,
        _ => 100.0 * part / whole,
    }
}

fn hits(pages: &Pages) -> f64 {
    percent(pages.accesses - pages.misses, pages.accesses)
}

fn station<'a>(one: &'a Measurement, name: &str) -> Option<&'a Station> {
    one.servers.iter().find(|station| station.name == name)
}

/// Completions per second, all nodes together.
pub(super) fn throughput(one: &Measurement) -> f64 {
    one.throughput
}

/// Utilisation of the processors, in per cent.
pub(super) fn cpu(one: &Measurement) -> f64 {
    station(one, "cpu").map_or(0.0, |cpu| 100.0 * cpu.utilisation)
}

/// Utilisation of the processors of the node where it is highest, in per cent.
pub(super) fn cpu_most(one: &Measurement) -> f64 {
    100.0 * one.cpu_of_nodes.iter().copied().fold(0.0, f64::max)
}

/// By how many percentage points the nodes' CPU utilisations differ.
pub(super) fn cpu_spread(one: &Measurement) -> f64 {
    let least = one
        .cpu_of_nodes
        .iter()
        .copied()
        .fold(f64::INFINITY, f64::min);
    match least.is_finite() {
        true => cpu_most(one) - 100.0 * least,
        false => 0.0,
    }
}

/// Utilisation of GEM, in per cent.
pub(super) fn gem(one: &Measurement) -> f64 {
    station(one, "gem").map_or(0.0, |gem| 100.0 * gem.utilisation)
}

/// Mean wait for GEM, in microseconds.
pub(super) fn gem_wait(one: &Measurement) -> f64 {
    station(one, "gem").map_or(0.0, |gem| 1000.0 * gem.wait_milliseconds)
}

/// Part of the response time in GEM, in per cent.
pub(super) fn gem_share(one: &Measurement) -> f64 {
    percent(one.composition.gem, one.response.mean)
}

/// Part of the response time in lock waits, in per cent.
pub(super) fn lock_wait_share(one: &Measurement) -> f64 {
    percent(one.composition.lock_wait, one.response.mean)
}

/// GEM and lock waits of a transaction, in milliseconds.
pub(super) fn concurrency_control(one: &Measurement) -> f64 {
    one.composition.gem + one.composition.lock_wait
}

/// I/O of a transaction, in milliseconds.
pub(super) fn io(one: &Measurement) -> f64 {
    one.composition.io
}

/// Wait for processors of a transaction, in milliseconds.
pub(super) fn cpu_wait(one: &Measurement) -> f64 {
    one.composition.cpu_wait
}

/// Wait in the input queue, in milliseconds.
pub(super) fn input_queue(one: &Measurement) -> f64 {
    one.composition.input_queue
}

/// Different pages that a transaction accesses.
pub(super) fn accesses(one: &Measurement) -> f64 {
    all(one).accesses
}

/// Buffer hits of all accesses, in per cent.
pub(super) fn all_hits(one: &Measurement) -> f64 {
    hits(&all(one))
}

/// Share of all accesses that found an old version in the buffer, in per cent.
pub(super) fn invalidation_share(one: &Measurement) -> f64 {
    let all = all(one);
    percent(all.invalidations, all.accesses)
}

/// Buffer hits of BRANCH/TELLER, in per cent.
pub(super) fn hot_hits(one: &Measurement) -> f64 {
    hits(&branch_teller(one))
}

/// Buffer invalidations of BRANCH/TELLER per transaction.
pub(super) fn hot_invalidations(one: &Measurement) -> f64 {
    branch_teller(one).invalidations
}

/// Copies of BRANCH/TELLER's pages per transaction that a commit makes invalid in other buffers.
pub(super) fn hot_made_invalid(one: &Measurement) -> f64 {
    branch_teller(one).made_invalid
}

/// Share of the buffer misses of BRANCH/TELLER that another node satisfied, in per cent.
pub(super) fn hot_from_nodes(one: &Measurement) -> f64 {
    let pages = branch_teller(one);
    percent(pages.from_nodes, pages.misses)
}

/// Share of the buffer misses of BRANCH/TELLER that storage satisfied, in per cent.
pub(super) fn hot_from_storage(one: &Measurement) -> f64 {
    let pages = branch_teller(one);
    percent(pages.reads, pages.misses)
}

/// I/Os on BRANCH/TELLER per transaction.
pub(super) fn hot_io(one: &Measurement) -> f64 {
    let pages = branch_teller(one);
    pages.reads + pages.writes
}

/// Share of the reads of BRANCH/TELLER that the disk cache satisfied, in per cent.
pub(super) fn hot_cache_hits(one: &Measurement) -> f64 {
    let pages = branch_teller(one);
    percent(pages.cache_hits, pages.reads)
}

/// Reads of BRANCH/TELLER's disks per transaction.
pub(super) fn hot_disk_reads(one: &Measurement) -> f64 {
    let pages = branch_teller(one);
    pages.reads - pages.cache_hits
}

/// I/O and GEM of a transaction, in milliseconds.
pub(super) fn io_and_gem(one: &Measurement) -> f64 {
    one.composition.io + one.composition.gem
}

/// Buffer hits of ACCOUNT, in per cent.
pub(super) fn account_hits(one: &Measurement) -> f64 {
    hits(&account(one))
}

/// Pages of ACCOUNT per transaction that another node sent.
pub(super) fn account_from_nodes(one: &Measurement) -> f64 {
    account(one).from_nodes
}

/// Buffer hits of HISTORY, in per cent.
pub(super) fn history_hits(one: &Measurement) -> f64 {
    hits(&history(one))
}

/// Page requests per transaction.
pub(super) fn page_requests(one: &Measurement) -> f64 {
    one.locks.page_requests
}

/// Mean delay of a page request, in milliseconds.
pub(super) fn page_request_delay(one: &Measurement) -> f64 {
    one.locks.page_request_milliseconds
}

/// Lock requests that were decided on the node itself, in per cent.
pub(super) fn local_share(one: &Measurement) -> f64 {
    100.0 * one.locks.local_share
}

/// Lock requests per transaction that another node decided.
pub(super) fn remote_requests(one: &Measurement) -> f64 {
    one.locks.remote
}

/// Messages per transaction.
pub(super) fn messages(one: &Measurement) -> f64 {
    one.locks.short_messages + one.locks.long_messages
}
