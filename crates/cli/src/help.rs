//! The groups of verbs in `--help`, by the user's purpose.

use crate::Arguments;
use clap::{Command, CommandFactory};
use sardonyx_command::help::{Group, grouped};

fn groups() -> [Group; 7] {
    [
        Group::new("Serve", &["serve", "password", "top"]),
        Group::new("Look", &["sql", "rows", "schema", "inspect"]),
        Group::new("Move data", &["import", "export", "changes"]),
        Group::new(
            "Keep safe",
            &[
                "backup",
                "restore",
                "verify",
                "recover",
                "checkpoint",
                "compact",
                "leftovers",
            ],
        ),
        Group::new("Several hosts", &["store", "cluster", "node"]),
        Group::new("Measure", &["debit-credit", "history"]),
        Group::new("Install", &["completions", "man"]),
    ]
}

/// The whole command line.
pub fn command() -> Command {
    grouped(Arguments::command(), &groups())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx_command::completions::assert_all_are_completed;
    use sardonyx_command::help::{assert_each_verb_is_in_one_group, assert_help_is_short};
    use sardonyx_command::manual::assert_all_have_pages;

    #[test]
    fn every_verb_that_is_shown_is_in_one_group() {
        assert_each_verb_is_in_one_group(Arguments::command(), &groups());
    }

    #[test]
    #[cfg(feature = "nodes")]
    fn help_is_one_screen_and_every_verb_has_an_example_and_short_options() {
        assert_help_is_short(&command(), &Arguments::command());
    }

    #[test]
    fn every_verb_and_option_is_completed_and_has_a_manual_page() {
        assert_all_are_completed(&command());
        assert_all_have_pages(&Arguments::command());
    }
}
