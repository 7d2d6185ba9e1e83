//! `store copies`: other places for a log that is kept on several.

use super::Place;
use super::status::CopyOfLog;
use clap::ArgGroup;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_remote::{PlacesChange, RemoteOptions, change_copies, put_back};
use sardonyx_results::table::Sheet;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Add, remove or replace a place of a log on several places, while hosts use it.
///
/// A place that is added is filled by the serving host, and counts when `store status` shows it as in-sync. A place
/// that is removed counts no longer; its data stays there. With both options the one replaces the other. Two copies in
/// sync must be left, so add a place and wait before you remove one that is in sync. Afterwards name the new places on
/// each host, and restart the hosts one after the other: until then, a host is accepted with the places of before.
///
/// --put-back is for a keeper that was restored from a backup, or whose register was damaged or lost. It puts the newest
/// register back that the copies know. With a host's directory, the register that the directory remembers counts, too; it
/// decides if hosts have continued with an older register. End all hosts first.
///
/// Examples:
///   sardonyx store copies 'copies:s3://ledger/bank;tcp://a:7071;tcp://b:7071' --add tcp://c:7071
///   sardonyx store copies 'copies:s3://ledger/bank;tcp://a:7071;tcp://b:7071' --add tcp://c:7071 --remove tcp://a:7071
///   sardonyx store copies 'copies:etcd://a:2379/bank;tcp://a:7071;tcp://b:7071' --put-back
///   sardonyx store copies 'copies:etcd://a:2379/bank;tcp://a:7071;tcp://b:7071' --put-back /var/lib/sardonyx/bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(group = ArgGroup::new("change").args(["add", "remove", "put_back"]).multiple(true).required(true))]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// A place that is to have the log, empty at first; may be repeated
    #[arg(long, value_name = "PLACE")]
    add: Vec<String>,
    /// A place that is to have it no longer; may be repeated
    #[arg(long, value_name = "PLACE")]
    remove: Vec<String>,
    /// Put the newest register back that the copies know, or this directory of a host
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, conflicts_with_all = ["add", "remove"])]
    put_back: Option<Option<PathBuf>>,
}

#[derive(Debug, Serialize)]
struct Changed {
    /// The place to name on each host.
    place: String,
    copies: Vec<CopyOfLog>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let change = PlacesChange {
            added: self.add.clone(),
            removed: self.remove.clone(),
        };
        let place = self.place.as_str();
        let options = RemoteOptions::from_environment()?;
        let record = match &self.put_back {
            Some(directory) => put_back(place, directory.as_deref(), &options)?,
            None => change_copies(place, &change, &options)?,
        };
        let keeper = place.split(';').next().unwrap_or_default();
        let changed = Changed {
            place: format!("{keeper};{}", record.places().join(";")),
            copies: record.copies.iter().map(CopyOfLog::from).collect(),
        };
        if output.is_json() {
            output.value(&changed)?;
            return Ok(Exit::Done);
        }
        let mut sheet = Sheet::default();
        sheet.heading("Copies of the log");
        for copy in &changed.copies {
            copy.show(&mut sheet);
        }
        writeln!(output, "{sheet}")?;
        writeln!(
            output,
            "Name these places on each host: '{}'",
            changed.place
        )?;
        Ok(Exit::Done)
    }
}
