//! The parameters of `simulate`, as settings of processes, and of a simulation of such processes.
//!
//! The processes get the workload, its arrivals, and, as sleeps, the times of the devices ([`as_processes`]). The
//! simulation gets the differences of real nodes from those of the GEM paper, and path lengths calibrated by the
//! measured processor time ([`as_nodes_do`]). Then counts must agree, and times agree as far as they are the devices'.

use crate::error::ClusterError;
use crate::load::Load;
use crate::routing::Routing;
use crate::setting::{Coupling, Devices, MAX_CLIENTS, Scale, Setting, Update};
use sardonyx_simulation::parameters::{
    Coupling as SimulatedCoupling, Distribution, MessageMedium, PageTransfer, Parameters,
    PartitionEntry, Routing as SimulatedRouting, Update as SimulatedUpdate, WorkloadKind,
};

/// Simulated time for each measured second.
const VIRTUAL: f64 = 5.0;

/// Pages of a client's part of HISTORY: enough that none is in a buffer when it is used again.
const HISTORY_PAGES: u32 = 256;

/// The latency of a message between two processes of one host, without the processors' time: half of a remote lock
/// (`loose_cost`).
const LOOPBACK_MICROSECONDS: f64 = 40.0;

/// The settings of processes that run these parameters.
///
/// # Errors
/// [`ClusterError::Setting`].
pub fn as_processes(parameters: &Parameters) -> Result<(Setting, Load), ClusterError> {
    if parameters.workload.kind == WorkloadKind::Trace {
        return Err(ClusterError::Setting {
            what: "a workload",
            found: format!("trace {}", parameters.workload.trace),
            allowed: "kind = \"debit_credit\", which processes run".into(),
        });
    }
    let (disk, log) = (&parameters.disk, &parameters.log);
    let behind = disk.controller_milliseconds + disk.transfer_milliseconds;
    let page = 1e3 * (disk.access_milliseconds + behind);
    let clients = parameters.node.multiprogramming_level;
    let clients = u16::try_from(clients).unwrap_or(u16::MAX).min(MAX_CLIENTS);
    let setting = Setting {
        coupling: match parameters.coupling {
            SimulatedCoupling::Close => Coupling::Close,
            SimulatedCoupling::Loose => Coupling::Loose,
        },
        // As in the simulation, for any routing.
        authority: Routing::Affinity,
        update: match parameters.update {
            SimulatedUpdate::Force => Update::Force,
            SimulatedUpdate::Noforce => Update::Noforce,
        },
        buffer_pages: parameters.node.buffer_pages,
        clients_max: clients,
        history_pages: HISTORY_PAGES,
        scale: Scale::of(parameters.page_scale()),
        devices: Devices {
            page_read_microseconds: page,
            page_write_microseconds: page,
            log_write_microseconds: 1e3 * (log.access_milliseconds + behind),
        },
        ..Setting::new(u16::try_from(parameters.nodes).unwrap_or(u16::MAX))
    };
    setting.check()?;
    let load = Load {
        clients,
        routing: match parameters.routing {
            SimulatedRouting::Affinity => Routing::Affinity,
            SimulatedRouting::Random => Routing::Random,
        },
        warm_up_seconds: parameters.run.warm_up_seconds,
        seconds: parameters.run.measured_seconds,
        transactions: None,
        rate: Some(parameters.arrival.rate_per_node),
        seed: parameters.run.seed,
        record: false,
    };
    load.check(&setting)?;
    Ok((setting, load))
}

/// The same parameters with the differences of real nodes from those of the GEM paper. They are calibrated by the
/// measured processor time of a transaction, with so many processors for all nodes.
pub fn as_nodes_do(
    parameters: &Parameters,
    processor_microseconds: f64,
    processors: usize,
) -> Parameters {
    let mut simulated = parameters.clone();
    match parameters.coupling {
        SimulatedCoupling::Close => as_close_nodes_do(&mut simulated),
        SimulatedCoupling::Loose => as_loose_nodes_do(&mut simulated),
    }
    // There are no deadlocks, and searches for them are not counted.
    simulated.locking.check_milliseconds = 1e4;
    // HISTORY's pages are locked as all others, each client's its own, and a new one is fetched.
    simulated.partition.insert(
        "history".into(),
        PartitionEntry {
            locks: Some(true),
            ..PartitionEntry::default()
        },
    );
    simulated.node.new_page_reads = true;
    let clients = parameters.node.multiprogramming_level;
    simulated.node.multiprogramming_level = clients.min(MAX_CLIENTS.into());
    // A sleep takes always the same time, and sleeps do not queue.
    simulated.disk.distribution = Distribution::Constant;
    // Virtual time is cheap.
    simulated.run.measured_seconds *= VIRTUAL;
    // All processor time of a transaction is in its path length; GEM costs nothing besides.
    let node = &mut simulated.node;
    let instructions =
        node.begin_instructions + 4.0 * node.access_instructions + node.end_instructions;
    let share = processors as f64 / f64::from(parameters.nodes);
    node.processors = (share as u32).max(1);
    node.mips = instructions / processor_microseconds.max(0.1)
        * (share / f64::from(node.processors)).min(1.0);
    simulated.disk.instructions = 1.0;
    simulated.messages.short_instructions = 1.0;
    simulated.messages.long_instructions = 1.0;
    simulated.messages.gem_instructions = 1.0;
    simulated.gem.page_instructions = 1.0;
    simulated.gem.page_microseconds = 0.01;
    simulated.gem.entry_microseconds = 0.01;
    simulated
}

fn as_close_nodes_do(simulated: &mut Parameters) {
    // Messages and pages go through shared memory; a node remembers what it owns with NOFORCE.
    simulated.messages.medium = MessageMedium::Gem;
    simulated.locking.page_transfer = PageTransfer::Gem;
    simulated.locking.remembered_entries = simulated.update == SimulatedUpdate::Noforce;
    simulated.locking.read_authorisation = false;
    if simulated.update == SimulatedUpdate::Noforce {
        simulated.node.write_back_pages = sardonyx_sharing::node::WRITE_BACK as u32;
    }
    // All nodes have one log, which is always being written.
    commit_groups(simulated, 1.0);
}

fn as_loose_nodes_do(simulated: &mut Parameters) {
    // The options of `LooseNode` as the clusters of this crate start it.
    simulated.locking.read_optimisation = false;
    simulated.locking.authorised_without_copy = true;
    simulated.locking.acknowledge_release = false;
    simulated.locking.stored_at_commit = true;
    simulated.messages.medium = MessageMedium::Network;
    simulated.messages.latency_microseconds = LOOPBACK_MICROSECONDS;
    simulated.messages.megabytes_per_second = 1e4;
    // Each node writes its own groups. One ends a busy period if no transaction has arrived meanwhile: of Poisson
    // arrivals e^-a.
    let seconds = 1e-3 * log_milliseconds(simulated);
    let arrivals = simulated.arrival.rate_per_node * seconds;
    let busy = arrivals * arrivals.exp();
    commit_groups(simulated, busy / (1.0 + busy));
}

/// The time of a write of the log, with everything around it.
fn log_milliseconds(parameters: &Parameters) -> f64 {
    let disk = &parameters.disk;
    parameters.log.access_milliseconds + disk.controller_milliseconds + disk.transfer_milliseconds
}

/// A transaction that arrives while a commit group is written, as in this share of the time, waits for that one, too:
/// on average for half of it.
fn commit_groups(simulated: &mut Parameters, busy: f64) {
    simulated.log.access_milliseconds += 0.5 * busy * log_milliseconds(simulated);
}
