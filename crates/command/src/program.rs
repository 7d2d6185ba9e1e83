//! A program from its arguments to its exit code: parse, run the verb, print, and report an error.

use crate::exit::{self, Classifier, Exit, Told};
use crate::output::Output;
use clap::{Command, FromArgMatches};
use std::process::ExitCode;

/// The arguments of a program.
pub trait Program: FromArgMatches {
    /// Its name, which begins its messages.
    const NAME: &'static str;

    /// The exit codes of the errors of its own crates.
    const CLASSIFIERS: &'static [Classifier];

    /// If true, the outcome is printed as JSON, for programs.
    fn is_json(&self) -> bool;

    /// Runs the verb.
    ///
    /// # Errors
    /// The verb's own.
    fn run(&self, output: &mut Output) -> anyhow::Result<Exit>;
}

/// Runs a program with the arguments of this process.
pub fn main<P: Program>(command: Command) -> ExitCode {
    let parsed = command.try_get_matches();
    let parsed = parsed.and_then(|matches| P::from_arg_matches(&matches));
    let program = match parsed {
        Ok(program) => program,
        Err(error) if error.use_stderr() && std::env::args_os().any(|one| one == "--json") => {
            tell::<P>(true, error.to_string().trim_end().into(), Exit::Usage);
            return Exit::Usage.into();
        }
        Err(error) => error.exit(),
    };
    let mut output = Output::to_stdout(P::NAME, program.is_json());
    let outcome = program.run(&mut output);
    let outcome = outcome.and_then(|exit| Ok(output.finish().map(|()| exit)?));
    match outcome {
        Ok(exit) => exit.into(),
        Err(error) if exit::is_broken_pipe(&error) => Exit::Done.into(),
        Err(error) => {
            let exit = exit::of_error(&error, P::CLASSIFIERS);
            tell::<P>(program.is_json(), exit::message(&error), exit);
            exit.into()
        }
    }
}

/// Prints the error that ends the program.
fn tell<P: Program>(json: bool, error: String, exit: Exit) {
    if !json {
        eprintln!("{}: {error}", P::NAME);
        return;
    }
    let told = Told::new(error, exit);
    let told = serde_json::to_string(&told).expect("a text and a number are JSON");
    eprintln!("{told}");
}
