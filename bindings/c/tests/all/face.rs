//! sardonyx.h, used from C.

use crate::programs::{Link, Program, in_directory};

fn run(name: &str) {
    let program = Program::compile(name);
    in_directory(|directory| program.run(directory, "1", &[]));
}

#[test]
fn transactions_savepoints_snapshots_under_every_mechanism() {
    run("face");
}

#[test]
fn what_a_program_does_wrong_is_an_error_code() {
    run("misuse");
}

#[test]
fn a_forked_child_gets_error_codes_and_can_open_anew() {
    run("forks");
}

#[test]
fn a_hosts_own_faults_go_to_its_own_handler() {
    let program = Program::compile("faults");
    for order in ["before", "after"] {
        for mechanism in ["1", "2"] {
            in_directory(|directory| program.run(directory, "1", &[order, mechanism]));
        }
    }
}

#[test]
fn signals_of_all_kinds_and_other_programs() {
    let program = Program::compile("signals");
    for mechanism in ["1", "2"] {
        in_directory(|directory| program.run(directory, "1", &[mechanism]));
    }
}

#[test]
fn a_segment_is_written_by_system_calls_while_another_process_changes_it() {
    let program = Program::compile("system_calls");
    for mechanism in ["1", "2", "3"] {
        in_directory(|directory| program.run(directory, "1", &[mechanism]));
    }
}

#[test]
fn the_library_can_be_part_of_the_program() {
    let program = Program::compile_with("face", Link::Static);
    in_directory(|directory| program.run(directory, "1", &[]));
}

#[test]
fn allocation_and_roots() {
    run("heap");
}

#[test]
fn a_committed_growth_is_there_when_the_database_is_opened_again() {
    run("growth");
}
