//! `store copies`: other places for a log that is kept on several.

use super::Place;
use super::status::CopyOfLog;
use clap::ArgGroup;
use sardonyx_command::exit::Exit;
use sardonyx_command::output::Output;
use sardonyx_remote::{
    PlacesChange, PutBack, PutBackOutcome, RemoteOptions, StateName, change_copies, put_back,
    raise_copies_version,
};
use sardonyx_results::table::Sheet;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Add, remove or replace a place of a log on several places, while hosts use it.
///
/// The serving host fills an added place, which counts when `store status` shows it as in-sync. A removed place counts
/// no longer; its data stays there. With both options, one place replaces the other. Two copies in sync must be left, so
/// add a place and wait before you remove one that is in sync. Afterwards name the new places on each host, and restart
/// the hosts one after the other: until then, a host is accepted with the former places.
///
/// The register says which places have the log. The keeper holds it, and each copy remembers it.
///
/// --put-back is for a keeper that was restored from a backup, or whose register was damaged or lost. It restores the
/// newest register that the copies remember, or this directory of a host. Stop all hosts first. Each copy must answer;
/// name a copy whose data is lost for ever, or was restored from a backup (--lost). If hosts have continued with an older
/// register, there are several histories of registers: the command shows them, and --keep chooses one.
///
/// --raise-version is for a register that an earlier version made. Use it when each host runs a newer one.
///
/// Examples:
///   sardonyx store copies 'copies:s3://ledger/bank;tcp://a:7071;tcp://b:7071' --add tcp://c:7071
///   sardonyx store copies 'copies:s3://ledger/bank;tcp://a:7071;tcp://b:7071' --add tcp://c:7071 --remove tcp://a:7071
///   sardonyx store copies 'copies:etcd://a:2379/bank;tcp://a:7071;tcp://b:7071' --put-back
///   sardonyx store copies 'copies:etcd://a:2379/bank;tcp://a:7071;tcp://b:7071' --put-back /var/lib/sardonyx/bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[command(group = ArgGroup::new("change").args(["add", "remove", "put_back", "raise_version"]).multiple(true).required(true))]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Add this place, which must be empty; may be repeated
    #[arg(long, value_name = "PLACE")]
    add: Vec<String>,
    /// Remove this place; may be repeated
    #[arg(long, value_name = "PLACE")]
    remove: Vec<String>,
    /// Restore the newest register that the copies, or this directory of a host, remember
    #[arg(long, value_name = "DIRECTORY", num_args = 0..=1, conflicts_with_all = ["add", "remove"])]
    put_back: Option<Option<PathBuf>>,
    /// With --put-back: a copy whose data is lost for ever, or was restored from a backup; may be repeated
    #[arg(long, value_name = "PLACE", requires = "put_back")]
    lost: Vec<String>,
    /// With --put-back: of several histories of registers, keep the one with this register
    #[arg(long, value_name = "NAME", requires = "put_back")]
    keep: Option<StateName>,
    /// Raise the register to the newest version; earlier programs cannot read it afterwards
    #[arg(long, conflicts_with_all = ["add", "remove", "put_back"])]
    raise_version: bool,
}

#[derive(Debug, Serialize)]
struct Changed {
    /// The place to name on each host.
    place: String,
    copies: Vec<CopyOfLog>,
    /// Registers that were discarded by a put-back, and the places that know them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    discarded: Vec<String>,
    /// Copies that a put-back excluded, so that they are compared with the log and filled.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    excluded: Vec<String>,
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
        let only = |record| PutBackOutcome {
            record,
            discarded: Vec::new(),
            excluded: Vec::new(),
        };
        let outcome = match &self.put_back {
            Some(directory) => {
                let wish = PutBack {
                    directory: directory.clone(),
                    lost: self.lost.clone(),
                    keep: self.keep,
                };
                put_back(place, &wish, &options)?
            }
            None if self.raise_version => only(raise_copies_version(place, &options)?),
            None => only(change_copies(place, &change, &options)?),
        };
        let record = &outcome.record;
        let keeper = place.split(';').next().unwrap_or_default();
        let changed = Changed {
            place: format!("{keeper};{}", record.places().join(";")),
            copies: record.copies.iter().map(CopyOfLog::from).collect(),
            discarded: outcome.discarded.iter().map(ToString::to_string).collect(),
            excluded: outcome.excluded,
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
        for state in &changed.discarded {
            writeln!(output, "Discarded: {state}")?;
        }
        for place in &changed.excluded {
            writeln!(output, "Excluded, to be compared with the log: {place}")?;
        }
        writeln!(
            output,
            "Name these places on each host: '{}'",
            changed.place
        )?;
        Ok(Exit::Done)
    }
}
