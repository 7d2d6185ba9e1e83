//! Closely coupled nodes: loaded, killed, drained, stopped.

use super::common::*;
use sardonyx_cluster::ClusterError;
use sardonyx_cluster::figures::RunFigures;
use sardonyx_cluster::load::Load;
use sardonyx_cluster::loading::Proved;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::request::NodeStatus;
use sardonyx_cluster::routing::Routing;
use sardonyx_cluster::setting::Update;
use std::error::Error;

pub fn nodes_leave_when_their_directory_is_gone() -> Outcome {
    let place = tempfile::tempdir()?;
    let memory = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &setting(2, Update::Noforce, memory.path()))?;
    cluster.up(&program()?, true)?;
    // A running node may create a file while its directory is emptied.
    while let Err(error) = std::fs::remove_dir_all(place.path())
        && error.kind() != std::io::ErrorKind::NotFound
    {
        expect(error.kind() == std::io::ErrorKind::DirectoryNotEmpty, error)?;
    }
    // Waits for the processes, which end when their input ends.
    drop(cluster);
    expect(
        std::fs::read_dir(memory.path())?.count() == 0,
        "shared memory is left",
    )
}

pub fn a_stopped_node_is_killed_by_who_waits_for_it_and_nobody_else() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &setting(3, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 90))?;
    cluster.touch(0, 30)?;
    // Node 1 has the only newest copies of some pages.
    (0..8).try_for_each(|page| cluster.touch(1, page))?;
    let process = process_of(&cluster, 1)?;
    let state = || state_of(&process);
    signal(&process, "STOP")?;
    while state() != Some('T') {
        std::thread::yield_now();
    }
    // It has no other page: a node that wants one does not wait.
    cluster.touch(0, 30)?;
    expect(state() == Some('T'), state())?;
    let (told, done) = std::sync::mpsc::channel();
    let other = Cluster::at(place.path())?;
    std::thread::spawn(move || told.send((0..8).try_for_each(|page| other.touch(0, page))));
    done.recv_timeout(std::time::Duration::from_secs(120))
        .map_err(|_| "it was not killed in time")??;
    expect(matches!(state(), None | Some('Z' | 'X')), state())?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 60))?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 150, sums)
}

pub fn nodes_that_are_loaded_keep_the_sums_and_count_all() -> Outcome {
    for update in [Update::Force, Update::Noforce] {
        let place = tempfile::tempdir()?;
        let mut cluster = Cluster::make(place.path(), &setting(3, update, place.path()))?;
        cluster.up(&program()?, true)?;
        let mut all = 0;
        for routing in [Routing::Random, Routing::Affinity] {
            let runs = cluster.bench(&load(routing, 400))?;
            expect(runs.len() == 3 && committed(&runs) == 400, &runs)?;
            let figures = RunFigures::of(&runs);
            expect(figures.each.entry_accesses > 6.0, &figures)?;
            all += 400;
            let sums = cluster.sums()?;
            expect(sums.are_equal() && sums.transactions == all, sums)?;
            expect(sums.accounts != 0, sums)?;
        }
        expect(cluster.down()? == 3, "three nodes go down")?;
        // All have left in order: the database is opened again, with its contents.
        cluster.up(&program()?, true)?;
        let sums = cluster.sums()?;
        expect(sums.are_equal() && sums.transactions == all, sums)?;
    }
    Ok(())
}

pub fn a_node_that_is_killed_or_drained_leaves_a_whole_bank() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &setting(3, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 300))?;
    cluster.kill(1)?;
    expect(cluster.running() == [0, 2], cluster.running())?;
    cluster.drain(2)?;
    expect(cluster.running() == [0], cluster.running())?;
    let runs = cluster.bench(&load(Routing::Random, 100))?;
    expect(committed(&runs) == 100, &runs)?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 400, sums)?;
    // The nodes that do not run are started again.
    cluster.up(&program()?, true)?;
    let living = cluster.status().into_iter().flatten().count();
    expect(living == 3, cluster.status())?;
    let runs = cluster.bench(&load(Routing::Random, 90))?;
    expect(committed(&runs) == 90, &runs)?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 490, sums)
}

/// A load that lasts until it is ended.
fn endless() -> Load {
    Load {
        transactions: Some(u64::MAX / 4),
        ..load(Routing::Random, 0)
    }
}

/// Runs a load, and calls `body` when every node has committed some of it.
fn under_load<R>(
    cluster: &mut Cluster,
    load: Load,
    work: impl FnOnce(&mut Cluster) -> Result<R, Box<dyn Error>>,
) -> Result<(Result<Proved, ClusterError>, R), Box<dyn Error>> {
    let other = Cluster::at(cluster.places().directory())?;
    let committed = |cluster: &Cluster| -> Vec<u64> {
        let nodes = cluster.status().into_iter().flatten();
        nodes
            .map(|node: NodeStatus| node.counts.committed)
            .collect()
    };
    let before = committed(cluster);
    let loads = std::thread::spawn(move || other.bench_and_prove(&load));
    while !loads.is_finished() {
        let now = committed(cluster);
        if now
            .iter()
            .zip(&before)
            .all(|(now, before)| *now > before + 20)
        {
            break;
        }
    }
    let done = work(cluster)?;
    Ok((loads.join().map_err(|_| "the load panicked")?, done))
}

pub fn a_load_is_proved_though_nodes_are_drained_and_killed_under_it() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &setting(3, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 60))?;
    cluster.kill(2)?;
    // Transactions of a node that died before do not count, and the load of a drained one is known.
    let (proved, ()) = under_load(&mut cluster, endless(), |cluster| {
        cluster.drain(0)?;
        Ok(cluster.drain(1)?)
    })?;
    let proved = proved?;
    expect(
        proved.proof.holds() && proved.loaded.lost.is_empty(),
        &proved,
    )?;
    expect(proved.loaded.runs.len() == 2, proved.loaded.runs.len())?;
    cluster.up(&program()?, true)?;
    let (proved, ()) = under_load(&mut cluster, endless(), |cluster| {
        cluster.kill(1)?;
        cluster.drain(0)?;
        Ok(cluster.drain(2)?)
    })?;
    let proved = proved?;
    expect(proved.proof.holds(), &proved.proof)?;
    let lost: Vec<usize> = proved.loaded.lost.iter().map(|lost| lost.slot).collect();
    expect(lost == [1] && proved.loaded.runs.len() == 2, &proved)
}

pub fn one_load_runs_at_a_time_and_ends_with_whoever_asked_for_it() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &setting(2, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    let (proved, ()) = under_load(&mut cluster, endless(), |cluster| {
        for refused in [
            cluster.bench(&load(Routing::Random, 1)).map(drop),
            cluster.sums().map(drop),
        ] {
            let is_usage = refused.as_ref().is_err_and(|error| error.is_usage());
            expect(
                is_usage && matches!(refused, Err(ClusterError::Loaded { .. })),
                refused,
            )?;
        }
        cluster.kill(0)?;
        Ok(cluster.kill(1).map(drop)?)
    })?;
    // No node is left that could report.
    expect(matches!(proved, Err(ClusterError::Lost { .. })), &proved)?;
    cluster.up(&program()?, true)?;
    let runs = |cluster: &Cluster| cluster.status().into_iter().flatten().any(|node| node.runs);
    // A process that requests a load and dies: the load ends, and others may load.
    let mut asks = std::process::Command::new(std::env::current_exe()?)
        .args(["load", &place.path().display().to_string(), "-", "-"])
        .spawn()?;
    while !runs(&cluster) {
        expect(asks.try_wait()?.is_none(), "the load has ended")?;
    }
    asks.kill()?;
    asks.wait()?;
    while runs(&cluster) {
        std::thread::yield_now();
    }
    let proved = cluster.bench_and_prove(&load(Routing::Random, 40))?;
    expect(proved.proof.holds(), &proved.proof)
}

/// The process that requests a load.
pub fn asks_for_a_load(directory: &str) -> Outcome {
    Cluster::at(directory)?.bench(&endless())?;
    Ok(())
}

pub fn affinity_wants_no_pages_of_others() -> Outcome {
    let place = tempfile::tempdir()?;
    let setting = own_branch_only(setting(2, Update::Noforce, place.path()));
    let mut cluster = Cluster::make(place.path(), &setting)?;
    cluster.up(&program()?, true)?;
    let runs = cluster.bench(&load(Routing::Affinity, 300))?;
    let each = RunFigures::of(&runs).each;
    expect(each.page_requests == 0.0 && each.invalidations == 0.0, each)?;
    let runs = cluster.bench(&load(Routing::Random, 300))?;
    let each = RunFigures::of(&runs).each;
    expect(each.page_requests > 0.1 && each.messages > 0.2, each)
}
