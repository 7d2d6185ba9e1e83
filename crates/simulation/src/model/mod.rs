//! The model of the GEM paper (section 3): SOURCE, processing nodes, external devices.
//!
//! - `system`: the parts of the system, and their costs.
//! - `source`: the arrivals of transactions, their references, and their nodes.
//! - `transaction`: the life of a transaction, as one process; `page_access`: its reads and writes.
//! - `coherence`: carrying out the protocol machines' requests.
//! - `buffer`, `disk_cache`, `lru`: the places of pages.
//! - `devices`, `service`: disks, controllers, GEM, and their times.
//! - `gem_cache`: a page cache in GEM before a file's disks.
//! - `waiting`, `machine`: a node's waiting transactions, and its side of the protocol.
//! - `accounts`, `tally`: measurements.
//!
//! Concurrency and coherency control are not modelled. The protocol machines of
//! [`sardonyx_sharing::protocol`] run, and every message and every access to the global lock table
//! that they request costs its time.

mod accounts;
mod buffer;
mod coherence;
mod devices;
mod disk_cache;
mod gem_cache;
mod lru;
mod machine;
mod measure;
mod page_access;
mod pages;
mod service;
mod source;
mod system;
mod tally;
mod transaction;
mod waiting;

use crate::load::Load;
use crate::measurement::Measurement;
use crate::parameters::Parameters;
use crate::time::{Span, Time};
use std::rc::Rc;
use std::sync::Arc;
use system::{Streams, System};

/// Runs one replication.
pub fn run(parameters: &Parameters, load: &Arc<Load>, replication: u32) -> Measurement {
    let streams = Streams::new(parameters.run.seed, replication);
    let system = System::new(parameters, load, &streams);
    source::start(&system, &streams);
    suspect_deadlocks(&system);
    let begin = Time::ZERO + Span::from_seconds(parameters.run.warm_up_seconds);
    let end = begin + Span::from_seconds(parameters.run.measured_seconds);
    let overflowed = run_until(&system, begin);
    let before = measure::reset(&system);
    let overflowed = overflowed || run_until(&system, end);
    let mut measurement = measure::measurement(&system, &before);
    measurement.saturated |= overflowed;
    // The processes hold the system, which holds the kernel, which holds the processes.
    system.kernel.clear();
    measurement
}

/// Runs until `end`, or until so many transactions are in the system that it cannot be meant.
/// Returns whether that was so.
fn run_until(system: &Rc<System>, end: Time) -> bool {
    let slice = Span::from_seconds(0.1);
    let most = system.parameters.run.most_in_system;
    while system.kernel.now() < end {
        let next = (system.kernel.now() + slice).min(end);
        system.kernel.run_until(next);
        if system.tally.borrow().in_system() > most {
            return true;
        }
    }
    false
}

/// Looks now and then for transactions that have waited for long.
fn suspect_deadlocks(system: &Rc<System>) {
    let check = Span::from_milliseconds(system.parameters.locking.check_milliseconds);
    for number in 0..system.nodes.len() {
        let system_of_node = Rc::clone(system);
        system.kernel.spawn(async move {
            let system = system_of_node;
            let node = &system.nodes[number];
            loop {
                system.kernel.wait(check).await;
                let now = system.kernel.now();
                if now < Time::ZERO + check {
                    continue;
                }
                let before = Time::ZERO + ((now - Time::ZERO) - check);
                let long = node.waiting.borrow().long(node.id, before);
                for transaction in long {
                    let permit = node.cpu.acquire().await;
                    coherence::suspect(&system, node, transaction).await;
                    drop(permit);
                }
            }
        });
    }
}
