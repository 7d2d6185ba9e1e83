//! The thesis' figures, compiled as printed and run, durable and not.

use crate::programs::{self, Program, in_directory};

const DURABLE: [&str; 2] = ["0", "1"];

#[test]
fn figures_4_1_and_4_3_write_and_read_pages() {
    for figure in ["figure_4_1", "figure_4_3"] {
        let program = Program::compile(figure);
        for durable in DURABLE {
            for pages in ["1", "7", "1024"] {
                in_directory(|directory| {
                    program.run(directory, durable, &["write", pages]);
                    // Another process finds the durable data afterwards.
                    if durable == "1" {
                        program.run(directory, durable, &["read", pages]);
                    }
                });
            }
        }
    }
}

#[test]
fn figure_4_5_in_one_process() {
    let program = Program::compile("figure_4_5");
    in_directory(|directory| {
        program.run(directory, "1", &["single"]);
        program.run(directory, "1", &["check", "10000", "0"]);
    });
    in_directory(|directory| program.run(directory, "0", &["single"]));
}

#[test]
fn figure_4_5_in_two_processes_forked_before_the_file_is_mapped() {
    let program = Program::compile("figure_4_5");
    for durable in DURABLE {
        in_directory(|directory| program.run(directory, durable, &["fork"]));
    }
}

#[test]
fn figure_4_5_in_two_processes_started_on_their_own() {
    let program = Program::compile("figure_4_5");
    in_directory(|directory| {
        let both = ["1", "2"].map(|process| program.start(directory, "1", &[process]));
        for child in both {
            programs::wait(child);
        }
        program.run(directory, "1", &["check", "5000", "5000"]);
    });
}

#[test]
fn figure_4_6() {
    let program = Program::compile("figure_4_6");
    for durable in DURABLE {
        // In each transaction the whole page is changed; durably, that is much for a test.
        let times = if durable == "1" { "1000" } else { "10000" };
        in_directory(|directory| program.run(directory, durable, &["b", times]));
        in_directory(|directory| program.run(directory, durable, &["c", "20"]));
    }
}

#[test]
fn the_rest_of_libxac() {
    let program = Program::compile("libxac");
    in_directory(|directory| program.run(directory, "1", &[]));
}
