//! Imposed devices, the simulation compared with a run, and traces.

use super::common::*;
use sardonyx_cluster::compare::compare;
use sardonyx_cluster::experiments;
use sardonyx_cluster::figures::RunFigures;
use sardonyx_cluster::load::Load;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::routing::{Routing, header};
use sardonyx_cluster::setting::{Devices, Setting, Update};
use sardonyx_simulation::parameters::read::Layers;
use sardonyx_workload::trace::Trace;
use std::path::Path;

/// A sleep is never shorter than requested; if one is left out, the others do not make up for it unless the machine is
/// very slow.
pub fn loosely_coupled_nodes_wait_for_devices_that_are_imposed() -> Outcome {
    let place = tempfile::tempdir()?;
    let devices = Devices {
        page_read_microseconds: 20e3,
        page_write_microseconds: 15e3,
        log_write_microseconds: 45e3,
    };
    let setting = Setting {
        devices,
        ..loose(1, Update::Force, place.path())
    };
    let mut cluster = Cluster::make(place.path(), &setting)?;
    cluster.up(&program()?, true)?;
    let one = Load {
        clients: 1,
        ..load(Routing::Affinity, 10)
    };
    let runs = cluster.bench(&one)?;
    let figures = RunFigures::of(&runs);
    let reads = figures.counts.misses as f64 * devices.page_read_microseconds;
    expect(reads > 0.0, &figures)?;
    // Account, history, branch and teller.
    let writes = 3.0 * devices.page_write_microseconds;
    let least = reads / 10.0 + writes + devices.log_write_microseconds;
    let mean = 1e3 * figures.responses.mean_milliseconds;
    expect(mean >= least, (mean, least))
}

pub fn a_configuration_of_loosely_coupled_nodes_is_set_beside_its_simulation() -> Outcome {
    let mut layers = Layers::named("paper")?;
    let more = [
        "nodes=2",
        "coupling=loose",
        "workload.branches_per_node=6",
        "workload.accounts_per_branch=100",
        "arrival.rate_per_node=100.0",
        "node.buffer_pages=80",
        "disk.access_milliseconds=0.1",
        "log.access_milliseconds=0.1",
        "run.warm_up_seconds=0.1",
        "run.measured_seconds=1.0",
        "run.most_replications=4",
    ];
    for setting in experiments::SETTINGS.iter().chain(&more) {
        layers.set(setting)?;
    }
    let place = tempfile::tempdir()?;
    let compared = compare(&layers.read()?, &place.path().join("nodes"), &program()?, 2)?;
    expect(compared.holds, &compared.measured)?;
    for name in ["entry accesses", "page requests", "deadlocks"] {
        let line = compared.line(name).ok_or(name)?;
        expect((line.simulated, line.measured) == (0.0, 0.0), line)?;
    }
    // The effect of the place of the authority, in both.
    let local = compared.line("local share").ok_or("local share")?;
    expect(local.simulated > 0.9 && local.measured > 0.9, local)?;
    let messages = compared.line("messages").ok_or("messages")?;
    expect(
        messages.simulated < 0.5 && messages.measured < 0.5,
        messages,
    )?;
    let files = experiments::files(&[compared]);
    expect(
        files[0]
            .1
            .contains("\nloose,2,NOFORCE,affinity,80,messages,"),
        &files[0].1,
    )
}

pub fn a_run_is_recorded_as_a_trace() -> Outcome {
    let place = tempfile::tempdir()?;
    recorded(place.path(), setting(2, Update::Noforce, place.path()))?;
    let place = tempfile::tempdir()?;
    recorded(place.path(), loose(2, Update::Noforce, place.path()))
}

fn recorded(place: &Path, setting: Setting) -> Outcome {
    let mut cluster = Cluster::make(place, &setting)?;
    cluster.up(&program()?, true)?;
    let load = Load {
        record: true,
        ..load(Routing::Random, 200)
    };
    cluster.bench(&load)?;
    let mut bytes = Vec::new();
    let count = cluster.trace(&mut bytes, "recorded")?;
    let trace = Trace::read(&bytes[..], "recorded")?;
    expect(count == 200 && trace.len() == 200, trace.len())?;
    expect(*trace.header() == header(&setting)?, trace.header())?;
    for one in trace.iter() {
        // Account, history, teller, branch; a teller lies in its branch's page.
        let pages: Vec<u16> = one
            .references
            .iter()
            .map(|one| one.page.partition)
            .collect();
        expect(pages == [0, 1, 2, 2] && one.is_update(), &pages)?;
        expect(one.references[2] == one.references[3], one.references)?;
        let kind = setting.type_of(one.references[3].page.page);
        expect(one.kind == kind, (one.kind, kind))?;
    }
    Ok(())
}
