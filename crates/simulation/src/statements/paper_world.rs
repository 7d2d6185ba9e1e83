//! A made-up system in which every statement of the GEM paper is true, for tests: closed forms
//! instead of a simulation, with the GEM paper's figures where it gives them.

use crate::figures::{Needs, Study};
use crate::measurement::{Composition, Measurement, PartitionFigures, Station};
use crate::outcome::Outcome;
use crate::parameters::{
    Coupling, MessageMedium, PageTransfer, Parameters, Routing, Storage, Update, WorkloadKind,
};
use std::convert::Infallible;

/// The study of `needs` in the GEM paper's world.
pub(crate) fn study(needs: &Needs) -> Study {
    study_where(needs, &|_, _| {})
}

/// The same with every measurement changed by `change`, which gets the point's parameters.
pub(crate) fn study_where(needs: &Needs, change: &dyn Fn(&Parameters, &mut Measurement)) -> Study {
    study_on(&Parameters::paper(), needs, change)
}

/// The same on other parameters.
pub(crate) fn study_on(
    base: &Parameters,
    needs: &Needs,
    change: &dyn Fn(&Parameters, &mut Measurement),
) -> Study {
    let simulate = |points: &[Parameters]| -> Result<Vec<Outcome>, Infallible> {
        let outcomes = points.iter().map(|point| {
            let replications = [0.999, 1.001, 1.0].map(|chance| {
                let mut one = measurement(point, chance);
                change(point, &mut one);
                one
            });
            Outcome::new(point.clone(), replications.to_vec())
        });
        Ok(outcomes.collect())
    };
    let Ok(study) = Study::run(base, needs, &simulate);
    study
}

/// The outcome of `point` with so many replications, each changed by `change`, which gets the
/// replication's factor of chance.
pub(crate) fn outcome(
    point: &Parameters,
    replications: u32,
    change: &dyn Fn(f64, &mut Measurement),
) -> Outcome {
    let chances = [0.999, 1.001, 1.0].into_iter().cycle();
    let replications = chances.take(replications as usize).map(|chance| {
        let mut one = measurement(point, chance);
        change(chance, &mut one);
        one
    });
    Outcome::new(point.clone(), replications.collect())
}

/// The GEM paper's values at `point`; `chance` is a factor near 1.
fn measurement(point: &Parameters, chance: f64) -> Measurement {
    match point.workload.kind {
        WorkloadKind::DebitCredit => debit_credit(point, chance),
        WorkloadKind::Trace => trace(point, chance),
    }
}

/// The share of references to other nodes: 0 with affinity routing.
fn elsewhere(point: &Parameters) -> f64 {
    match point.routing {
        Routing::Random => 1.0 - 1.0 / f64::from(point.nodes),
        Routing::Affinity => 0.0,
    }
}

struct Hot {
    hits: f64,
    from_nodes: f64,
    reads: f64,
    invalidations: f64,
}

fn hot(point: &Parameters) -> Hot {
    let (large, nodes) = (point.node.buffer_pages >= 1000, f64::from(point.nodes));
    let best = if large { 1.0 } else { 0.71 };
    let hits = match point.routing {
        Routing::Random => best / nodes,
        Routing::Affinity => best,
    };
    let from_nodes = match (point.update, large) {
        (Update::Force, _) => 0.0,
        (Update::Noforce, true) => 0.98 * (1.0 - hits) * elsewhere(point).signum(),
        (Update::Noforce, false) => 0.6 * (1.0 - hits) * elsewhere(point),
    };
    Hot {
        hits,
        from_nodes,
        reads: 1.0 - hits - from_nodes,
        invalidations: if large { 0.95 } else { 0.6 } * elsewhere(point),
    }
}

/// Milliseconds of a read and of a write that a transaction waits for.
fn storage(storage: Storage) -> (f64, f64) {
    match storage {
        Storage::Disk => (16.4, 16.4),
        Storage::VolatileCache => (1.4, 16.4),
        Storage::NonvolatileCache => (1.4, 1.4),
        Storage::Gem => (0.05, 0.05),
        Storage::GemCache => (0.1, 0.1),
    }
}

fn debit_credit(point: &Parameters, chance: f64) -> Measurement {
    let (hot, nodes) = (hot(point), f64::from(point.nodes));
    let (loose, force) = (
        point.coupling == Coupling::Loose,
        point.update == Update::Force,
    );
    let remote = match (loose, point.routing) {
        (false, _) => 0.0,
        (true, Routing::Random) => 2.0 * elsewhere(point),
        (true, Routing::Affinity) => 0.15 * (1.0 - 1.0 / nodes),
    };
    let page_requests = if loose { 0.0 } else { hot.from_nodes };
    let with_locks = if loose { hot.from_nodes } else { 0.0 };
    let extra = 2.5 + 1.5 * f64::from(u8::from(force)) + 6.5 * page_requests;
    // Through GEM messages cost a quarter; a page across GEM saves the long part of its message.
    let cheap = match point.messages.medium {
        MessageMedium::Network => 1.0,
        MessageMedium::Gem => 0.25,
    };
    let request = match point.locking.page_transfer {
        PageTransfer::Message => 6.5,
        PageTransfer::Gem => 5.0,
    };
    let extra = extra - (6.5 - request) * page_requests;
    let used = 62.5 + extra + (6.4 * remote + 6.0 * with_locks) * cheap;
    let used = used / 100.0 * point.arrival.rate_per_node / 100.0;
    let (hot_read, hot_write) = storage(point.partition("branch_teller").storage);
    let (_, other_write) = storage(point.partition("account").storage);
    let mut io = 17.4 + 6.4 + hot.reads * hot_read;
    if force {
        io += hot_write + 2.0 * other_write;
    }
    let composition = Composition {
        cpu_service: 25.0 * chance,
        cpu_wait: 5.0 * used.powi(4) * chance,
        io: io * chance,
        gem: 0.02,
        lock_wait: 0.1,
        messages: (request * page_requests + 4.0 * remote) * cheap * chance,
        ..Composition::default()
    };
    let mut one = measured(point, composition, used);
    one.servers[1].utilisation = 0.0017 * nodes * point.arrival.rate_per_node / 100.0;
    one.partitions = vec![
        part("account", 0.0005, 1.0),
        part("history", 0.95, 0.0),
        PartitionFigures {
            from_nodes: hot.from_nodes,
            invalidations: hot.invalidations,
            made_invalid: hot.invalidations,
            cache_hit_ratio: match point.partition("branch_teller").storage {
                Storage::Disk | Storage::Gem => 0.0,
                _ => 0.999,
            },
            ..part("branch_teller", hot.hits, hot.reads)
        },
    ];
    one.locks.remote = remote;
    one.locks.local_share = 1.0 - 0.5 * remote;
    one.locks.page_requests = page_requests;
    one.locks.page_request_milliseconds = if page_requests > 0.0 {
        request * chance
    } else {
        0.0
    };
    one.locks.short_messages = 3.0 * remote + page_requests;
    one.locks.long_messages = page_requests;
    one
}

fn part(name: &str, hit_ratio: f64, reads: f64) -> PartitionFigures {
    PartitionFigures {
        name: name.to_string(),
        accesses: 1.0,
        hit_ratio,
        reads,
        ..PartitionFigures::default()
    }
}

/// The common part of both workloads.
fn measured(point: &Parameters, composition: Composition, used: f64) -> Measurement {
    let parts = &composition;
    let mean = parts.cpu_service + parts.cpu_wait + parts.io + parts.gem + parts.lock_wait;
    let mean = mean + parts.messages;
    let station = |name: &str, utilisation| Station {
        name: name.to_string(),
        utilisation,
        most_utilisation: utilisation,
        ..Station::default()
    };
    let mut one = Measurement {
        throughput: f64::from(point.nodes) * point.arrival.rate_per_node,
        composition,
        servers: vec![station("cpu", used), station("gem", 0.001)],
        cpu_of_nodes: vec![used; point.nodes as usize],
        saturated: used >= 1.0,
        ..Measurement::default()
    };
    (one.response.mean, one.response.normalised) = (mean, mean);
    one
}

fn trace(point: &Parameters, chance: f64) -> Measurement {
    let nodes = f64::from(point.nodes);
    let random = point.routing == Routing::Random;
    let doublings = nodes.log2() / 3.0;
    let local = match (random, point.locking.read_optimisation, point.nodes) {
        (_, _, 1) => 1.0,
        (true, false, _) => 1.0 / nodes,
        (true, true, _) => 0.65 - 0.16 * (nodes.log2() - 1.0),
        (false, false, _) => 0.63 - 0.14 * (nodes.log2() - 1.0),
        (false, true, _) => 0.78 - 0.065 * (nodes.log2() - 1.0),
    };
    let remote = match point.coupling {
        Coupling::Close => 0.0,
        Coupling::Loose => 1.0 - local,
    };
    let hits = if random {
        0.8 - 0.05 * doublings
    } else {
        0.8 + 0.05 * doublings
    };
    let spread = 0.12 * remote;
    let used =
        (0.45 + if random { 0.49 } else { 0.55 } * remote) * point.arrival.rate_per_node / 50.0;
    let force = f64::from(u8::from(point.update == Update::Force));
    let composition = Composition {
        cpu_service: 35.0 * chance,
        cpu_wait: 10.0 * used * chance,
        io: (57.0 * (1.0 - hits) * 16.4 + 3.0 * force) * chance,
        gem: 0.8,
        lock_wait: 0.5,
        messages: 57.0 * remote * 4.0 * chance,
        ..Composition::default()
    };
    let mut one = measured(point, composition, used);
    let ends = [used - spread, used + spread];
    for (node, cpu) in one.cpu_of_nodes.iter_mut().enumerate() {
        *cpu = ends[node % 2];
    }
    one.partitions = vec![PartitionFigures {
        accesses: 57.0,
        invalidations: 0.1,
        made_invalid: 0.1,
        ..part("file", hits, 57.0 * (1.0 - hits))
    }];
    one.locks.remote = 57.0 * remote;
    one.locks.local_share = local;
    one
}

/// True if `one` and `other` differ only in the arrival rate, which searches vary.
pub(crate) fn is_same_point(one: &Parameters, other: &Parameters) -> bool {
    let mut same_rate = one.clone();
    same_rate.arrival.rate_per_node = other.arrival.rate_per_node;
    same_rate == *other
}
