//! `--help` with the verbs in groups: the database, the simulation, the papers.

use crate::{Arguments, exit};
use clap::{Command, CommandFactory};
use sardonyx_lab::registry::ABOUT;
use std::fmt::Write;

/// The groups of verbs that are not experiments.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "The database",
        &[
            "inspect",
            "verify",
            "recover",
            "checkpoint",
            "backup",
            "compact",
            "standby",
            "store",
            "leftovers",
            "sql",
            "rows",
            "schema",
            "import",
            "export",
        ],
    ),
    ("A server", &["serve", "password", "top"]),
    ("Several nodes", &["cluster", "node"]),
    ("The simulation", &["simulate", "trace"]),
];

/// The heading of the experiments, and the verb that reads what one of them left.
const PAPERS: &str = "The papers (experiments)";
const HISTORY: &str = "history";

/// The whole command line.
pub fn command() -> Command {
    let command = Arguments::command();
    let command = command.mut_subcommands(with_exit_codes);
    let verbs = verbs(&command);
    command
        .help_template(
            "{about-with-newline}\n{usage-heading} {usage}\n{after-help}\nOptions:\n{options}",
        )
        .after_help(format!("{verbs}\n{}\n", exit::EXIT_CODES))
}

fn with_exit_codes(verb: Command) -> Command {
    verb.after_help(exit::EXIT_CODES)
        .mut_subcommands(with_exit_codes)
}

fn verbs(command: &Command) -> String {
    let about = |verb: &str| {
        let found = command.find_subcommand(verb);
        let about = found.and_then(|verb| verb.get_about());
        about.map_or_else(String::new, |about| about.to_string())
    };
    let mut text = String::new();
    let mut group = |heading: &str, verbs: &[(&str, String)]| {
        let width = ABOUT.iter().map(|about| about.name.len()).max();
        let width = width.unwrap_or_default();
        let _ = writeln!(text, "{heading}:");
        for (verb, about) in verbs {
            let _ = writeln!(text, "  {verb:<width$}  {about}");
        }
        text.push('\n');
    };
    for (heading, verbs) in GROUPS {
        let verbs = verbs.iter().map(|verb| (*verb, about(verb)));
        group(heading, &verbs.collect::<Vec<_>>());
    }
    let experiments = ABOUT.iter().map(|about| (about.name, about.to_string()));
    let history = (HISTORY, about(HISTORY));
    group(PAPERS, &experiments.chain([history]).collect::<Vec<_>>());
    text.push_str("Each has --help and --json.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_that_is_shown_is_in_one_group() {
        let command = command();
        command.clone().debug_assert();
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, verbs)| *verbs)
            .copied()
            .collect();
        grouped.extend(ABOUT.iter().map(|about| about.name));
        grouped.push(HISTORY);
        grouped.sort_unstable();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
        shown.retain(|verb| *verb != "help");
        shown.sort_unstable();
        assert_eq!(grouped, shown);
    }
}
