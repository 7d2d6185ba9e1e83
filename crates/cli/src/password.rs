//! `password`: the verifier of a password, for a server's configuration.

use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_server::scram::{PASSWORD_BYTES_MAX, Verifier};
use serde::Serialize;
use std::io::{BufRead, Write};

/// Make the verifier of a server user's password.
///
/// The password is the first line of standard input, so that no list of processes shows it. The verifier, of
/// SCRAM-SHA-256, goes into the server's configuration; it reveals the password only to a trial of all passwords.
///
/// Example: sardonyx password <password.txt
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {}

#[derive(Debug, Serialize)]
struct Report {
    verifier: String,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line)?;
        let password = line.trim_end_matches(['\r', '\n']);
        if password.is_empty() || password.len() > PASSWORD_BYTES_MAX {
            let text = format!("a password has 1 to {PASSWORD_BYTES_MAX} bytes");
            return Err(UsageError::Arguments(text).into());
        }
        let verifier = Verifier::of_password(password)?.to_string();
        match output.is_json() {
            true => output.value(&Report { verifier })?,
            false => writeln!(output, "{verifier}")?,
        }
        Ok(Exit::Done)
    }
}
