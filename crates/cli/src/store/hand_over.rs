//! `store promote`, `store drain`: the choice of the serving host.

use super::Place;
use sardonyx::hosts::{ANY_OTHER, promote};
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use serde_json::json;
use std::io::Write;

/// Hand over to another host.
///
/// The serving host closes the database, and the named one takes over. If it does not within the lease, any host does.
///
/// Example: sardonyx store promote s3://ledger/bank --to host-2
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Promote {
    #[command(flatten)]
    place: Place,
    /// The host to take over
    #[arg(long, value_name = "HOST")]
    to: String,
}

/// Hand over to any other host, so that this one can be stopped.
///
/// Example: sardonyx store drain s3://ledger/bank
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Drain {
    #[command(flatten)]
    place: Place,
}

impl Promote {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        ask(&self.place, &self.to, output)
    }
}

impl Drain {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        ask(&self.place, ANY_OTHER, output)
    }
}

fn ask(place: &Place, to: &str, output: &mut Output) -> anyhow::Result<Exit> {
    promote(&place.open()?, to)?;
    match output.is_json() {
        true => output.value(&json!({ "wanted": to }))?,
        false if to == ANY_OTHER => writeln!(output, "asked the serving host to hand over")?,
        false => writeln!(output, "asked the serving host to hand over to {to}")?,
    }
    Ok(Exit::Done)
}
