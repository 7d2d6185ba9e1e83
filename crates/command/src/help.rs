//! `--help` with the verbs in groups.

use crate::exit;
use clap::Command;
use std::fmt::Write;

/// Verbs under a heading, each with the line that describes it; an empty line stands for the verb's own `about`.
#[derive(Clone, Debug)]
pub struct Group {
    /// The heading.
    pub heading: &'static str,
    /// Names and descriptions.
    pub verbs: Vec<(&'static str, String)>,
}

impl Group {
    /// Verbs that are described by their own `about`.
    pub fn new(heading: &'static str, verbs: &[&'static str]) -> Self {
        Group {
            heading,
            verbs: verbs.iter().map(|verb| (*verb, String::new())).collect(),
        }
    }
}

/// The command with these groups in its `--help`, and the exit codes in that of each verb.
pub fn grouped(command: Command, groups: &[Group]) -> Command {
    let command = command.mut_subcommands(with_exit_codes);
    let verbs = verbs(&command, groups);
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

fn verbs(command: &Command, groups: &[Group]) -> String {
    let about = |verb: &str| {
        let found = command.find_subcommand(verb);
        let about = found.and_then(|verb| verb.get_about());
        about.map_or_else(String::new, |about| about.to_string())
    };
    let names = groups.iter().flat_map(|group| &group.verbs);
    let width = names.map(|(verb, _)| verb.len()).max().unwrap_or_default();
    let mut text = String::new();
    for group in groups {
        let _ = writeln!(text, "{}:", group.heading);
        for (verb, line) in &group.verbs {
            let line = match line.is_empty() {
                true => about(verb),
                false => line.clone(),
            };
            let _ = writeln!(text, "  {verb:<width$}  {line}");
        }
        text.push('\n');
    }
    text.push_str("Each has --help and --json.\n");
    text
}

/// Asserts that every shown verb is in one group.
///
/// # Panics
/// A verb is in no group, in several, or not there.
pub fn assert_each_verb_is_in_one_group(command: Command, groups: &[Group]) {
    command.clone().debug_assert();
    let names = groups.iter().flat_map(|group| &group.verbs);
    let mut grouped: Vec<&str> = names.map(|(verb, _)| *verb).collect();
    grouped.sort_unstable();
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
    shown.retain(|verb| *verb != "help");
    shown.sort_unstable();
    assert_eq!(grouped, shown);
}
