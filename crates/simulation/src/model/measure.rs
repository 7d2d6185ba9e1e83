//! From the counts of the system's parts to a [`Measurement`].

use super::devices::{Disks, station};
use super::system::{Medium, System};
use super::tally::{PartitionTally, Tally};
use crate::measurement::{Little, LockFigures, Measurement, PartitionFigures, Response, Station};
use crate::parameters::{Coupling, MessageMedium, Parameters};
use sardonyx_sharing::protocol::Counters;

/// Starts measuring: everything counts from now on. Returns the counts until now of the protocol machines, which know
/// no time.
pub fn reset(system: &System) -> Vec<Counters> {
    system.tally.borrow_mut().reset(system.kernel.now());
    system.gem.reset();
    for node in &system.nodes {
        node.reset();
    }
    for partition in &system.partitions {
        partition.medium.reset();
    }
    system
        .nodes
        .iter()
        .map(|node| *node.machine.borrow().counters())
        .collect()
}

/// The measurements since [`reset`], which returned `before`.
pub fn measurement(system: &System, before: &[Counters]) -> Measurement {
    let now = system.kernel.now();
    let tally = system.tally.borrow();
    let seconds = (now - tally.since).as_seconds();
    let transactions = tally.completions.max(1) as f64;
    let mean_response = tally.response_sum.as_seconds() / transactions;
    let quantile = |share| tally.responses.quantile(share).as_milliseconds();
    let response = Response {
        mean: 1e3 * mean_response,
        p50: quantile(0.5),
        p95: quantile(0.95),
        p99: quantile(0.99),
        max: tally.responses.max().as_milliseconds(),
        normalised: 1e3 * tally.per_access_sum / transactions * system.load.mean_accesses(),
    };
    let little = Little {
        population: tally.mean_population(now),
        arrivals_times_response: tally.arrivals as f64 / seconds * mean_response,
    };
    let cpu: Vec<_> = system
        .nodes
        .iter()
        .map(|node| node.cpu.statistics())
        .collect();
    let servers = stations(system);
    let never_idle = servers.iter().any(|one| one.most_utilisation > 0.98);
    Measurement {
        seconds,
        arrivals: tally.arrivals,
        completions: tally.completions,
        throughput: tally.completions as f64 / seconds,
        response,
        composition: tally.accounts.mean(tally.completions),
        servers,
        cpu_by_arithmetic: cpu_by_arithmetic(system, &tally, seconds),
        cpu_of_nodes: cpu.iter().map(|cpu| cpu.utilisation).collect(),
        partitions: partitions(system, &tally.partitions, transactions),
        locks: locks(system, before, transactions, &tally),
        little,
        saturated: tally.grows(never_idle),
        events: system.kernel.events(),
    }
}

/// The processors' utilisation as it follows from the parameters and from how often things happened.
fn cpu_by_arithmetic(system: &System, tally: &Tally, seconds: f64) -> f64 {
    let Parameters {
        node, disk, gem, ..
    } = &system.parameters;
    let accesses = tally.accesses as f64;
    let mut instructions = tally.message_instructions
        + tally.completions as f64 * (node.begin_instructions + node.end_instructions)
        + accesses * node.access_instructions;
    // A processor is busy during GEM accesses: microseconds are instructions / mips.
    let gem_page = gem.page_instructions + gem.page_microseconds * node.mips;
    let mut add = |medium: &Medium, pages: u64| {
        instructions += pages as f64
            * match medium {
                Medium::Gem => gem_page,
                Medium::Disks(_) => disk.instructions,
                // Counted as they happen, as they depend on hits.
                Medium::GemCache(_) => 0.0,
            };
    };
    for (partition, tally) in system.partitions.iter().zip(&tally.partitions) {
        add(&partition.medium, tally.reads + tally.writes);
    }
    for node in &system.nodes {
        add(&node.log, node.log_pages.get());
    }
    let entries = system.gem.entry_accesses() + tally.gem_entries;
    instructions += entries as f64 * gem.entry_microseconds * node.mips;
    instructions += tally.gem_pages as f64 * gem_page;
    instructions += tally.behind_gem as f64 * disk.instructions;
    let capacity = f64::from(system.parameters.nodes * node.processors) * node.mips * 1e6;
    instructions / (capacity * seconds)
}

fn stations(system: &System) -> Vec<Station> {
    let nodes = &system.nodes;
    let mut stations = vec![
        station("cpu", nodes.iter().map(|node| node.cpu.statistics())),
        station(
            "processing slots",
            nodes.iter().map(|node| node.slots.statistics()),
        ),
    ];
    let uses_gem = system.parameters.coupling == Coupling::Close
        || system
            .partitions
            .iter()
            .any(|partition| !matches!(partition.medium, Medium::Disks(_)))
        || nodes
            .iter()
            .any(|node| !matches!(node.log, Medium::Disks(_)))
        || system.parameters.messages.medium == MessageMedium::Gem;
    if uses_gem {
        stations.push(system.gem.station());
    }
    let mut disks = |name: &str, disks: &[&Disks]| {
        let all = disks.iter().flat_map(|disks| disks.disk_statistics());
        stations.push(station(&format!("disks of {name}"), all));
        let all = disks.iter().flat_map(|disks| disks.controller_statistics());
        stations.push(station(&format!("controllers of {name}"), all));
    };
    for partition in &system.partitions {
        if let Some(of_partition) = partition.medium.disks() {
            disks(&partition.name, &[of_partition]);
        }
    }
    let logs: Vec<&Disks> = nodes.iter().filter_map(|node| node.log.disks()).collect();
    if !logs.is_empty() {
        disks("the log", &logs);
    }
    stations
}

fn partitions(
    system: &System,
    tallies: &[PartitionTally],
    transactions: f64,
) -> Vec<PartitionFigures> {
    let figures = system
        .partitions
        .iter()
        .zip(tallies)
        .map(|(partition, tally)| {
            let per_transaction = |count: u64| count as f64 / transactions;
            let (reads, cache_hits) = match &partition.medium {
                Medium::Gem => (0, 0),
                Medium::Disks(disks) => disks.reads(),
                Medium::GemCache(cache) => cache.reads(),
            };
            PartitionFigures {
                name: partition.name.clone(),
                accesses: per_transaction(tally.accesses),
                hit_ratio: share(tally.hits, tally.accesses),
                invalidations: per_transaction(tally.invalidations),
                made_invalid: per_transaction(tally.made_invalid),
                from_nodes: per_transaction(tally.from_nodes),
                reads: per_transaction(tally.reads),
                writes: per_transaction(tally.writes),
                cache_hit_ratio: share(cache_hits, reads),
            }
        });
    figures.collect()
}

fn locks(system: &System, before: &[Counters], transactions: f64, tally: &Tally) -> LockFigures {
    let machines = system
        .nodes
        .iter()
        .map(|node| *node.machine.borrow().counters());
    let sum = |of: fn(&Counters) -> u64| -> f64 {
        let differences = machines
            .clone()
            .zip(before)
            .map(|(now, before)| of(&now) - of(before));
        differences.sum::<u64>() as f64
    };
    let requests = sum(|counters| counters.lock_requests - counters.already_held);
    let (local, authorised) = (
        sum(|counters| counters.local),
        sum(|counters| counters.authorised),
    );
    let page_requests = tally.page_requests as f64;
    LockFigures {
        requests: requests / transactions,
        local: local / transactions,
        authorised: authorised / transactions,
        global: sum(|counters| counters.global) / transactions,
        remote: sum(|counters| counters.remote) / transactions,
        local_share: if requests > 0.0 {
            (local + authorised) / requests
        } else {
            0.0
        },
        conflicts: sum(|counters| counters.conflicts) / transactions,
        deadlocks: tally.deadlocks as f64 / transactions,
        revocations: sum(|counters| counters.revocations) / transactions,
        short_messages: tally.short_messages as f64 / transactions,
        long_messages: tally.long_messages as f64 / transactions,
        page_requests: page_requests / transactions,
        page_request_milliseconds: if tally.page_requests > 0 {
            tally.page_request_sum.as_milliseconds() / page_requests
        } else {
            0.0
        },
        entry_accesses: system.gem.entry_accesses() as f64 / transactions,
        swap_failures: tally.swap_failures as f64 / transactions,
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        0.0
    } else {
        part as f64 / whole as f64
    }
}
