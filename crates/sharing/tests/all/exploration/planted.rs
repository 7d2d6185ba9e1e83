//! Errors that are made on purpose: each is noticed by the checks of some run within a thousand seeds, and without
//! it the same runs pass.

use super::run::{Case, Hazard, run};
use super::{UpdateStrategy, gem, primary_copy};
use crate::world::{Keeper, Machines, Planted};
use sardonyx_base::seeds::first_failure;

fn is_caught(keeper: Keeper, hazard: Hazard, planted: Planted) {
    is_caught_with(gem(UpdateStrategy::NoForce, true), keeper, hazard, planted);
}

/// With authorities that move.
fn is_caught_among_authorities(planted: Planted) {
    let machines = primary_copy(UpdateStrategy::NoForce, true, false);
    is_caught_with(machines, Keeper::Checkpointer, Hazard::Stops, planted);
}

fn is_caught_with(machines: Machines, keeper: Keeper, hazard: Hazard, planted: Planted) {
    let case = |planted| Case {
        machines,
        hazard,
        keeper,
        planted,
    };
    let caught = first_failure(0..1000, |seed| _ = run(case(Some(planted)), seed, false));
    println!("{planted:?}: {caught:?}");
    let (seed, _) = caught.unwrap_or_else(|| panic!("no run notices {planted:?}"));
    run(case(None), seed, false);
}

#[test]
fn a_recovery_from_the_failed_nodes_log_alone() {
    is_caught(Keeper::Nodes, Hazard::Failures, Planted::OneLog);
}

#[test]
fn records_applied_in_the_order_in_which_they_are_read() {
    is_caught(Keeper::Checkpointer, Hazard::None, Planted::AnyOrder);
}

#[test]
fn a_waiting_record_that_is_forgotten() {
    is_caught(Keeper::Checkpointer, Hazard::None, Planted::ForgottenRecord);
}

#[test]
fn a_copy_that_is_dropped_before_storage_has_it() {
    is_caught(Keeper::Nodes, Hazard::None, Planted::DroppedCopy);
    is_caught(Keeper::Checkpointer, Hazard::None, Planted::DroppedCopy);
}

#[test]
fn an_answer_that_the_checkpointer_has_what_is_only_in_the_log() {
    is_caught(Keeper::Checkpointer, Hazard::None, Planted::EarlyAnswer);
}

#[test]
fn a_log_freed_from_under_a_record_that_waits() {
    is_caught(Keeper::Checkpointer, Hazard::None, Planted::FreedLog);
}

#[test]
fn a_log_that_is_not_closed() {
    is_caught(Keeper::Nodes, Hazard::Stops, Planted::NoFence);
}

#[test]
fn an_authority_that_goes_on_before_all_logs_are_read() {
    is_caught_among_authorities(Planted::UnreadLogs);
}

#[test]
fn a_message_of_an_epoch_before_that_is_taken() {
    is_caught_among_authorities(Planted::OldEpochs);
}

#[test]
fn a_lock_that_is_not_declared_to_the_new_authority() {
    is_caught_among_authorities(Planted::NotDeclared);
}

#[test]
fn a_log_of_an_authority_that_is_not_closed() {
    is_caught_among_authorities(Planted::NoFence);
}
