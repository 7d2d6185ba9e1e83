//! Loosely coupled nodes: loaded, killed, stopped, and the place of their lock authority.

use super::common::*;
use sardonyx_cluster::ClusterError;
use sardonyx_cluster::figures::RunFigures;
use sardonyx_cluster::nodes::Cluster;
use sardonyx_cluster::routing::Routing;
use sardonyx_cluster::setting::{Setting, Update};
use sardonyx_sharing::node::loose::{OneHost, Register};
use std::error::Error;

pub fn loosely_coupled_nodes_keep_the_sums_though_one_is_killed() -> Outcome {
    for update in [Update::Force, Update::Noforce] {
        let place = tempfile::tempdir()?;
        let mut cluster = Cluster::make(place.path(), &loose(2, update, place.path()))?;
        cluster.up(&program()?, true)?;
        let runs = cluster.bench(&load(Routing::Random, 300))?;
        expect(runs.len() == 2 && committed(&runs) == 300, &runs)?;
        let each = RunFigures::of(&runs).each;
        expect(each.entry_accesses == 0.0 && each.messages > 1.0, each)?;
        expect(each.hit_ratio > 0.0 && each.hit_ratio < 1.0, each)?;
        let sums = cluster.sums()?;
        expect(sums.are_equal() && sums.transactions == 300, sums)?;
        expect(sums.accounts != 0, sums)?;
        cluster.kill(1)?;
        expect(cluster.running() == [0], cluster.running())?;
        let runs = cluster.bench(&load(Routing::Random, 100))?;
        expect(committed(&runs) == 100, &runs)?;
        let sums = cluster.sums()?;
        expect(sums.are_equal() && sums.transactions == 400, sums)?;
        cluster.up(&program()?, true)?;
        cluster.drain(0)?;
        expect(cluster.running() == [1], cluster.running())?;
        let runs = cluster.bench(&load(Routing::Affinity, 90))?;
        expect(committed(&runs) == 90, &runs)?;
        expect(cluster.down()? == 1, "one node goes down")?;
        expect(cluster.page_server().is_none(), "the page server runs")?;
        let nobody = cluster.sums();
        expect(
            matches!(nobody, Err(ClusterError::NoPageServer { .. })),
            nobody,
        )?;
        // All have left in order: the database is opened again, with its contents.
        cluster.up(&program()?, true)?;
        let sums = cluster.sums()?;
        expect(sums.are_equal() && sums.transactions == 490, sums)?;
    }
    Ok(())
}

pub fn loosely_coupled_nodes_wait_for_a_page_server_that_is_killed() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &loose(2, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 60))?;
    let server = cluster.setting().page_server_slot().ok_or("loose")?;
    cluster.kill(server)?;
    bench_while_starting(&mut cluster, 80)?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 140, sums)
}

pub fn a_stopped_loosely_coupled_node_is_shut_out_and_joins_again_when_it_wakes_up() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &loose(3, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 90))?;
    let (process, name) = (process_of(&cluster, 1)?, name_of(&cluster, 1)?);
    stop(&process)?;
    // It has the authority for a third of all pages: a node that wants these waits until it is shut out.
    let (told, done) = std::sync::mpsc::channel();
    let other = Cluster::at(place.path())?;
    std::thread::spawn(move || told.send((0..30).try_for_each(|page| other.touch(0, page))));
    done.recv_timeout(std::time::Duration::from_secs(120))
        .map_err(|_| "it was not shut out in time")??;
    expect(state_of(&process) == Some('T'), "it was killed")?;
    let unanswered = cluster.kill(1);
    let said = unanswered.as_ref().map_err(ToString::to_string);
    expect(
        said.is_err_and(|said| said.contains("may be stopped")),
        unanswered,
    )?;
    signal(&process, "CONT")?;
    wait_for_new_names(&cluster, &[1], &[name])?;
    expect(
        process_of(&cluster, 1)? == process,
        "the process is another",
    )?;
    let said = std::fs::read_to_string(cluster.places().log(1))?;
    expect(said.contains("it has joined again as node"), &said)?;
    expect(!said.contains("error in the program"), &said)?;
    let runs = cluster.bench(&load(Routing::Random, 60))?;
    expect(runs.len() == 3, runs.len())?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 150, sums)
}

fn name_of(cluster: &Cluster, slot: usize) -> Result<u16, Box<dyn Error>> {
    let status = cluster.status().into_iter().nth(slot).flatten();
    Ok(status.ok_or("the node does not run")?.node)
}

fn stop(process: &str) -> Outcome {
    signal(process, "STOP")?;
    while state_of(process) != Some('T') {
        std::thread::yield_now();
    }
    Ok(())
}

/// Returns when the nodes of these slots have other names and take part.
fn wait_for_new_names(cluster: &Cluster, slots: &[usize], before: &[u16]) -> Outcome {
    for (&slot, &before) in slots.iter().zip(before) {
        loop {
            let status = cluster.status().into_iter().nth(slot).flatten();
            let status = status.ok_or_else(|| format!("node {slot} has ended"))?;
            let name = usize::from(status.node);
            if status.node != before && status.living.contains(&name) {
                break;
            }
            std::thread::yield_now();
        }
    }
    Ok(())
}

/// As when the register is paused for longer than all leases.
pub fn loosely_coupled_nodes_that_all_lose_their_leases_join_again() -> Outcome {
    let place = tempfile::tempdir()?;
    let mut cluster = Cluster::make(place.path(), &loose(3, Update::Noforce, place.path()))?;
    cluster.up(&program()?, true)?;
    cluster.bench(&load(Routing::Random, 90))?;
    let names: Vec<u16> = (0..3)
        .map(|slot| name_of(&cluster, slot))
        .collect::<Result<_, _>>()?;
    let processes: Vec<String> = (0..3)
        .map(|slot| process_of(&cluster, slot))
        .collect::<Result<_, _>>()?;
    processes.iter().try_for_each(|process| stop(process))?;
    let mut register = OneHost::open(cluster.places().members())?;
    while !register.present()?.is_empty() {
        std::thread::yield_now();
    }
    processes
        .iter()
        .try_for_each(|process| signal(process, "CONT"))?;
    wait_for_new_names(&cluster, &[0, 1, 2], &names)?;
    let runs = cluster.bench(&load(Routing::Random, 60))?;
    expect(runs.len() == 3, runs.len())?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 150, sums)
}

/// Transactions refer to pages of their own branch only, and run on the node that has the authority for them.
pub fn loosely_coupled_nodes_have_the_authority_where_transactions_are_sent() -> Outcome {
    let place = tempfile::tempdir()?;
    let setting = own_branch_only(loose(2, Update::Noforce, place.path()));
    let mut cluster = Cluster::make(place.path(), &setting)?;
    cluster.up(&program()?, true)?;
    let local = |cluster: &Cluster, routing, transactions| -> Result<f64, Box<dyn Error>> {
        let runs = cluster.bench(&load(routing, transactions))?;
        expect(committed(&runs) == transactions, &runs)?;
        Ok(RunFigures::of(&runs).each.local_share)
    };
    let affinity = local(&cluster, Routing::Affinity, 200)?;
    expect(affinity == 1.0, affinity)?;
    // Of any node's transactions: HISTORY is its own.
    let random = local(&cluster, Routing::Random, 600)?;
    expect((0.55..0.78).contains(&random), random)?;
    // Reading the sums takes no authority from a node, and a node's next life has the authority of its last one.
    cluster.sums()?;
    cluster.kill(1)?;
    cluster.touch(0, 1)?;
    cluster.up(&program()?, true)?;
    let again = local(&cluster, Routing::Affinity, 200)?;
    expect(again == 1.0, again)?;
    cluster.down()?;
    // No node takes part: the authority is divided again.
    let spread = Setting {
        authority: Routing::Random,
        ..setting
    };
    let mut cluster = Cluster::make(place.path(), &spread)?;
    cluster.up(&program()?, true)?;
    let spread = local(&cluster, Routing::Affinity, 200)?;
    expect((0.2..0.8).contains(&spread), spread)?;
    let sums = cluster.sums()?;
    expect(sums.are_equal() && sums.transactions == 1200, sums)
}
