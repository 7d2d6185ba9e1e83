//! Nodes as processes: this program is also that of a node, so that the tests need no other one.
//!
//! - `close`, `loose`: nodes of either coupling; - `connecting`: TLS, etcd; - `experiments`: the comparison with the
//!   simulation;
//! - `refused`: settings that are not possible; - `common`: shared parts.

mod close;
mod common;
mod connecting;
mod experiments;
mod loose;
mod refused;

use common::Outcome;
use sardonyx_cluster::process;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The name of a test, and the test.
type Test = (&'static str, fn() -> Outcome);

const TESTS: &[Test] = &[
    (
        "nodes_leave_when_their_directory_is_gone",
        close::nodes_leave_when_their_directory_is_gone,
    ),
    (
        "a_stopped_node_is_killed_by_who_waits_for_it_and_nobody_else",
        close::a_stopped_node_is_killed_by_who_waits_for_it_and_nobody_else,
    ),
    (
        "nodes_that_are_loaded_keep_the_sums_and_count_all",
        close::nodes_that_are_loaded_keep_the_sums_and_count_all,
    ),
    (
        "a_node_that_is_killed_or_drained_leaves_a_whole_bank",
        close::a_node_that_is_killed_or_drained_leaves_a_whole_bank,
    ),
    (
        "loosely_coupled_nodes_keep_the_sums_though_one_is_killed",
        loose::loosely_coupled_nodes_keep_the_sums_though_one_is_killed,
    ),
    (
        "loosely_coupled_nodes_wait_for_a_page_server_that_is_killed",
        loose::loosely_coupled_nodes_wait_for_a_page_server_that_is_killed,
    ),
    (
        "a_stopped_loosely_coupled_node_is_shut_out_and_joins_again_when_it_wakes_up",
        loose::a_stopped_loosely_coupled_node_is_shut_out_and_joins_again_when_it_wakes_up,
    ),
    (
        "loosely_coupled_nodes_that_all_lose_their_leases_join_again",
        loose::loosely_coupled_nodes_that_all_lose_their_leases_join_again,
    ),
    (
        "a_load_is_proved_though_nodes_are_drained_and_killed_under_it",
        close::a_load_is_proved_though_nodes_are_drained_and_killed_under_it,
    ),
    (
        "one_load_runs_at_a_time_and_ends_with_whoever_asked_for_it",
        close::one_load_runs_at_a_time_and_ends_with_whoever_asked_for_it,
    ),
    (
        "loosely_coupled_nodes_have_the_authority_where_transactions_are_sent",
        loose::loosely_coupled_nodes_have_the_authority_where_transactions_are_sent,
    ),
    (
        "loosely_coupled_nodes_wait_for_devices_that_are_imposed",
        experiments::loosely_coupled_nodes_wait_for_devices_that_are_imposed,
    ),
    (
        "a_configuration_of_loosely_coupled_nodes_is_set_beside_its_simulation",
        experiments::a_configuration_of_loosely_coupled_nodes_is_set_beside_its_simulation,
    ),
    (
        "nodes_over_tls_keep_the_sums_though_one_and_the_page_server_are_killed",
        connecting::nodes_over_tls_keep_the_sums_though_one_and_the_page_server_are_killed,
    ),
    (
        "nodes_are_not_started_without_what_connects_them",
        connecting::nodes_are_not_started_without_what_connects_them,
    ),
    (
        "a_register_that_knows_no_node_of_the_database_is_refused",
        connecting::a_register_that_knows_no_node_of_the_database_is_refused,
    ),
    (
        "a_run_is_recorded_as_a_trace",
        experiments::a_run_is_recorded_as_a_trace,
    ),
    (
        "affinity_wants_no_pages_of_others",
        close::affinity_wants_no_pages_of_others,
    ),
    (
        "what_cannot_be_is_refused",
        refused::what_cannot_be_is_refused,
    ),
];

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, directory, _, slot] = &arguments[..]
        && verb == "node"
    {
        return Ok(process::run(Path::new(directory), slot.parse()?)?);
    }
    if let [verb, directory, ..] = &arguments[..]
        && verb == "load"
    {
        return close::asks_for_a_load(directory);
    }
    let names: Vec<&String> = arguments
        .iter()
        .filter(|one| !one.starts_with('-'))
        .collect();
    if arguments.iter().any(|one| one == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return Ok(());
    }
    let is_asked =
        |name: &str| names.is_empty() || names.iter().any(|part| name.contains(&***part));
    let asked: Vec<&Test> = TESTS.iter().filter(|(name, _)| is_asked(name)).collect();
    run(&asked)
}

/// Runs the tests, two at a time: the longest wait for leases. More would have many processes at once.
fn run(tests: &[&Test]) -> Outcome {
    let threads: usize = std::env::var("RUST_TEST_THREADS").map_or(Ok(2), |all| all.parse())?;
    let (next, failed) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = || {
        while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
            // A panic ends the program, as soon as the other tests have ended.
            match test() {
                Ok(()) => println!("test {name} ... ok"),
                Err(error) => {
                    println!("test {name} ... FAILED");
                    failed
                        .lock()
                        .expect("no panic")
                        .push(format!("{name}: {error}"));
                }
            }
        }
    };
    std::thread::scope(|scope| {
        (0..threads.clamp(1, 2)).for_each(|_| drop(scope.spawn(work)));
    });
    let failed = failed.into_inner()?;
    match failed.is_empty() {
        true => Ok(()),
        false => Err(failed.join("\n").into()),
    }
}
