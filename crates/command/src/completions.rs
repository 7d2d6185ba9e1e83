//! `completions`: a shell's script that completes a program's verbs, options and values.

use crate::exit::Exit;
use crate::output::Output;
use clap::Command;
use clap_complete::{Shell, generate};
use serde_json::json;
use std::io::Write;

/// Print the completions of a shell.
///
/// The script is made from the same table as --help, so it has every verb and option. Bash needs the package
/// bash-completion; zsh reads _sardonyx from a directory of its fpath. The packages for Debian include these files.
///
/// Examples:
///   sardonyx completions bash > ~/.local/share/bash-completion/completions/sardonyx
///   sardonyx completions zsh > ~/.zfunc/_sardonyx
///   sardonyx completions fish > ~/.config/fish/completions/sardonyx.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

impl Arguments {
    /// Prints the completions of this command line.
    ///
    /// # Errors
    /// The output's.
    pub fn run(&self, command: Command, output: &mut Output) -> anyhow::Result<Exit> {
        let script = script(self.shell, command);
        match output.is_json() {
            true => output.value(&json!({ "shell": self.shell.to_string(), "script": script }))?,
            false => output.write_all(script.as_bytes())?,
        }
        Ok(Exit::Done)
    }
}

fn script(shell: Shell, mut command: Command) -> String {
    let (name, mut script) = (command.get_name().to_string(), Vec::new());
    generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Asserts that the script of each shell has every shown verb, and every option of it.
///
/// # Panics
/// One is missing.
pub fn assert_all_are_completed(command: &Command) {
    use clap::ValueEnum;
    for shell in Shell::value_variants() {
        let script = script(*shell, command.clone());
        let missing = |word: &str| panic!("{shell}: {word} is not completed");
        let mut built = command.clone();
        built.build();
        let mut left = vec![&built];
        while let Some(verb) = left.pop() {
            for option in verb.get_opts().filter(|option| !option.is_hide_set()) {
                let long = option.get_long().unwrap_or_default();
                // Fish writes `-l wait`, the others `--wait`.
                if ![format!("--{long}"), format!("-l {long}")]
                    .iter()
                    .any(|word| script.contains(word))
                {
                    missing(long);
                }
            }
            let verbs = verb.get_subcommands().filter(|verb| !verb.is_hide_set());
            for verb in verbs {
                if !script.contains(verb.get_name()) {
                    missing(verb.get_name());
                }
                left.push(verb);
            }
        }
    }
}
