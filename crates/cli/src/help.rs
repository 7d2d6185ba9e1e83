//! The groups of verbs in `--help`.

use crate::Arguments;
use clap::{Command, CommandFactory};
use sardonyx_benchmark::debit_credit;
use sardonyx_benchmark::experiment::Experiment;
use sardonyx_command::help::{Group, grouped};

fn groups() -> [Group; 4] {
    let about = debit_credit::Options::ABOUT;
    [
        Group::new(
            "The database",
            &[
                "inspect",
                "verify",
                "recover",
                "checkpoint",
                "backup",
                "restore",
                "compact",
                "store",
                "leftovers",
                "sql",
                "rows",
                "schema",
                "changes",
                "import",
                "export",
            ],
        ),
        Group::new("A server", &["serve", "password", "top"]),
        Group::new("Several nodes", &["cluster", "node"]),
        Group {
            heading: "The benchmark",
            verbs: vec![(about.name, about.to_string()), ("history", String::new())],
        },
    ]
}

/// The whole command line.
pub fn command() -> Command {
    grouped(Arguments::command(), &groups())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_command::help::assert_each_verb_is_in_one_group;

    #[test]
    fn every_verb_that_is_shown_is_in_one_group() {
        assert_each_verb_is_in_one_group(Arguments::command(), &groups());
    }
}
