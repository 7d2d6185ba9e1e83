//! `--help`: the verbs in groups on one screen, and the help of every verb in the same order.
//!
//! A verb's doc comment has a sentence and then paragraphs. The paragraph that begins with "Example" is shown before the
//! usage, the others after the options: a reader wants an example first, and details last.

use crate::exit;
use clap::Command;
use std::fmt::Write;

/// The most columns of a line of the program's own `--help`.
const COLUMNS: usize = 80;

/// The order of an option that comes after a verb's own.
pub const LATE: usize = 900;
/// The order of an option that every verb has.
pub const LAST: usize = 990;

/// The options of every verb, and the notation of values.
const MANNERS: &str = "\
Every verb takes --help, and --json to print JSON. --version prints the version.
A database is a directory. Sizes take KiB, MiB or GiB; times take us, ms or s.";

/// Verbs under a heading, described by their own `about`.
#[derive(Clone, Debug)]
pub struct Group {
    /// A line above the verbs, by what users want to do.
    pub heading: &'static str,
    /// The names.
    pub verbs: Vec<&'static str>,
}

impl Group {
    /// The verbs are shown in this order.
    pub fn new(heading: &'static str, verbs: &[&'static str]) -> Self {
        let verbs = verbs.to_vec();
        Group { heading, verbs }
    }
}

/// A doc comment in its parts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    /// The first sentence, without its full stop.
    pub sentence: String,
    /// Commands to copy.
    pub examples: Vec<String>,
    /// All other paragraphs, each in one line.
    pub details: Vec<String>,
}

impl Parts {
    /// The parts of a verb's doc comment, as clap's derive has it.
    pub fn of(verb: &Command) -> Parts {
        let text = verb.get_long_about().or_else(|| verb.get_about());
        let text = text.map(ToString::to_string).unwrap_or_default();
        let mut paragraphs = text.split("\n\n").filter(|one| !one.trim().is_empty());
        let sentence = in_one_line(paragraphs.next().unwrap_or_default());
        let mut parts = Parts {
            sentence: sentence.trim_end_matches('.').to_string(),
            examples: Vec::new(),
            details: Vec::new(),
        };
        for paragraph in paragraphs {
            match examples_of(paragraph) {
                Some(lines) => parts.examples.extend(lines),
                None => parts.details.push(in_one_line(paragraph)),
            }
        }
        parts
    }
}

/// The lines of a paragraph such as `Example: sardonyx verify bank.sdx`; `None` if it is another one.
fn examples_of(paragraph: &str) -> Option<Vec<String>> {
    let rest = paragraph.trim_start();
    let rest = rest
        .strip_prefix("Examples:")
        .or_else(|| rest.strip_prefix("Example:"))?;
    let lines = rest.lines().map(str::trim).filter(|line| !line.is_empty());
    Some(lines.map(String::from).collect())
}

/// The lines of a paragraph as one, for the terminal to wrap.
fn in_one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The command with these groups in its `--help`, and each verb's help in its order.
pub fn grouped(command: Command, groups: &[Group]) -> Command {
    let command = command.mut_subcommands(arranged);
    let screen = format!(
        "{}\n{MANNERS}\n{}",
        verbs(&command, groups),
        exit::in_short()
    );
    let sentence = Parts::of(&command).sentence + ".";
    command
        .about(sentence.clone())
        .long_about(sentence)
        .help_template("{about}\n\n{usage-heading} {usage}{after-help}\n")
        .after_help(screen)
}

/// The verb's sentence, its examples, usage, options and details, in this order.
fn arranged(verb: Command) -> Command {
    let verb = verb.mut_subcommands(arranged);
    let Parts {
        sentence,
        examples,
        details,
    } = Parts::of(&verb);
    let mut lead = sentence.clone() + ".";
    if !examples.is_empty() {
        let heading = if examples.len() == 1 {
            "Example"
        } else {
            "Examples"
        };
        let _ = write!(lead, "\n\n{heading}:\n  {}", examples.join("\n  "));
    }
    let verb = verb.about(sentence).long_about(lead);
    match details.is_empty() {
        true => verb,
        false => verb.after_long_help(details.join("\n\n")),
    }
}

/// The groups, each with its heading to the left of its verbs.
fn verbs(command: &Command, groups: &[Group]) -> String {
    let about = |verb: &str| {
        let found = command.find_subcommand(verb);
        let about = found.and_then(|verb| verb.get_about());
        about.map_or_else(String::new, |about| about.to_string())
    };
    let widest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or_default();
    let of_headings = widest(&mut groups.iter().map(|group| group.heading.len()));
    let names = groups.iter().flat_map(|group| &group.verbs);
    let of_verbs = widest(&mut names.map(|verb| verb.len()));
    let mut text = String::new();
    for group in groups {
        for (at, verb) in group.verbs.iter().enumerate() {
            let heading = if at == 0 { group.heading } else { "" };
            let line = about(verb);
            let _ = writeln!(text, "{heading:of_headings$}  {verb:of_verbs$}  {line}");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len() + 1);
    text
}

/// Asserts that every shown verb is in one group.
///
/// # Panics
/// A verb is in no group, in several, or does not exist.
pub fn assert_each_verb_is_in_one_group(command: Command, groups: &[Group]) {
    command.clone().debug_assert();
    let names = groups.iter().flat_map(|group| &group.verbs);
    let mut grouped: Vec<&str> = names.copied().collect();
    grouped.sort_unstable();
    let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let mut shown: Vec<&str> = shown.map(Command::get_name).collect();
    shown.retain(|verb| *verb != "help");
    shown.sort_unstable();
    assert_eq!(grouped, shown);
}

/// Asserts that the program's own help is one screen, that each verb has one sentence and an example, and that no
/// option's help is long.
///
/// # Panics
/// One of these does not hold; the message lists all failures.
pub fn assert_help_is_short(command: &Command, raw: &Command) {
    let mut faults = Vec::new();
    let screen = command.clone().render_long_help().to_string();
    if screen.lines().count() > 40 {
        faults.push(format!("{} lines:\n{screen}", screen.lines().count()));
    }
    for line in screen.lines().filter(|line| line.chars().count() > COLUMNS) {
        faults.push(format!("wider than {COLUMNS} columns: {line}"));
    }
    check(raw, &mut faults);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn check(command: &Command, faults: &mut Vec<String>) {
    for argument in command.get_arguments() {
        let help = argument.get_help().map(ToString::to_string);
        let long = argument.get_long_help().map(ToString::to_string);
        let text = long.or(help).unwrap_or_default();
        let words = text.split_whitespace().count();
        if words > 25 && !argument.is_hide_set() {
            let (verb, name) = (command.get_name(), argument.get_id());
            faults.push(format!("{verb} {name}: {words} words: {text}"));
        }
    }
    for verb in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        let (name, parts) = (verb.get_name(), Parts::of(verb));
        if parts.examples.is_empty() {
            faults.push(format!("{name}: no example"));
        }
        if parts.sentence.is_empty() || parts.sentence.contains(". ") {
            faults.push(format!("{name}: not one sentence: {}", parts.sentence));
        }
        check(verb, faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verb() -> Command {
        let text = "Check a thing.\n\nIt reads\nall of it.\n\nExamples:\n  x check a\n  x check b\n\nMore.";
        Command::new("check")
            .about("Check a thing.")
            .long_about(text)
    }

    #[test]
    fn a_doc_comment_has_a_sentence_examples_and_details() {
        let parts = Parts::of(&verb());
        assert_eq!(parts.sentence, "Check a thing");
        assert_eq!(parts.examples, ["x check a", "x check b"]);
        assert_eq!(parts.details, ["It reads all of it.", "More."]);
        let one = Command::new("y")
            .about("Y.")
            .long_about("Y.\n\nExample: x y");
        assert_eq!(Parts::of(&one).examples, ["x y"]);
    }

    #[test]
    fn a_verbs_help_has_examples_before_its_options_and_details_after_them() {
        let program = Command::new("x").subcommand(verb());
        let mut command = grouped(program, &[Group::new("Look", &["check"])]);
        command.build();
        let screen = command.render_long_help().to_string();
        assert!(screen.contains("Look  check  Check a thing\n"), "{screen}");
        let help = command.find_subcommand_mut("check").unwrap();
        let help = help.render_long_help().to_string();
        let at = |text: &str| {
            help.find(text)
                .unwrap_or_else(|| panic!("{text} in {help}"))
        };
        let order = [
            "Check a thing.",
            "  x check a",
            "Usage:",
            "Options:",
            "It reads all",
        ];
        assert!(order.map(at).is_sorted(), "{help}");
    }
}
