//! `store trim`: how much of a database's past a store keeps.

use super::status::HostReport;
use super::{Place, shown_time};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units::{self, parse_time};
use sardonyx_storage::engine::{KeepInStore, delete_past};
use sardonyx_storage::remote_log::shell::now;
use serde::Serialize;
use std::io::Write;
use std::time::Duration;

/// The bases and the log to keep, as options.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Kept {
    /// Keep the newest N bases, and the log from the oldest of them on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    keep_bases: Option<u32>,
    /// Keep the bases and log that are needed to go back this far, such as 720h
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    keep_time: Option<Duration>,
    /// Keep the log that hosts need, for this time after their last report; 0: not at all [default: 7d]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    keep_for_hosts: Option<Duration>,
}

/// A host that has not reported for so long may find its log deleted.
const FOR_HOSTS: Duration = Duration::from_secs(7 * 86_400);

impl Kept {
    /// Refuses options without effect, of a verb that may make bases and then deletes the past.
    pub fn check(&self, makes_bases: bool) -> Result<(), UsageError> {
        let is_chosen = self.keep(1).is_some();
        let reason = if is_chosen && !makes_bases {
            "--keep-bases and --keep-time only apply when bases are made: add --base-every"
        } else if self.keep_for_hosts.is_some() && !is_chosen {
            "--keep-for-hosts only applies when the past is deleted: add --keep-bases or --keep-time"
        } else {
            return Ok(());
        };
        Err(UsageError::Arguments(reason.into()))
    }

    /// The chosen retention, with at least so many bases; `None` if nothing was chosen.
    pub fn keep(&self, bases: usize) -> Option<KeepInStore> {
        let chosen = self.keep_bases.is_some() || self.keep_time.is_some();
        let back = |time: Duration| {
            now().saturating_sub(u64::try_from(time.as_micros()).unwrap_or(u64::MAX))
        };
        chosen.then(|| KeepInStore {
            bases: self.keep_bases.map_or(bases, |bases| bases as usize),
            since: self.keep_time.map(back),
            hosts_since: Some(self.keep_for_hosts.unwrap_or(FOR_HOSTS))
                .filter(|time| !time.is_zero())
                .map(back),
        })
    }
}

/// Delete old bases and old log from a store.
///
/// --keep-bases, --keep-time or both name what is kept. Without a base nothing is deleted. With --keep-time, nothing is
/// deleted before a base is as old as that. The log that a host needs is kept, also of the one that serves, if that host reported
/// within --keep-for-hosts; hosts report each minute. A copy that needs deleted log gets an error that says so, and begins again
/// from a base.
///
/// Examples:
///   sardonyx store trim s3://ledger/bank --keep-bases 3
///   sardonyx store trim s3://ledger/bank --keep-time 720h
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    kept: Kept,
}

/// The error without a retention option.
const NOTHING_CHOSEN: &str = "name the bases to keep: --keep-bases N, --keep-time TIME, or both";

#[derive(Debug, Serialize)]
struct Report {
    bases_deleted: u64,
    entries_deleted: u64,
    bytes_deleted: u64,
    /// The first entry from which the database can be restored; `None`: from its beginning.
    from_entry: Option<u64>,
    from_time: Option<String>,
    /// The host for which more was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_for: Option<HostReport>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let Some(keep) = self.kept.keep(1) else {
            return Err(UsageError::Arguments(NOTHING_CHOSEN.into()).into());
        };
        let (remote, _) = self.place.database()?;
        let deleted = delete_past(&remote, keep)?;
        let report = Report {
            bases_deleted: deleted.bases,
            entries_deleted: deleted.log.entries,
            bytes_deleted: deleted.log.bytes,
            from_entry: deleted.from.map(|known| known.entry.next),
            from_time: deleted.from.map(|known| shown_time(known.entry.time)),
            kept_for: deleted.kept_for.as_ref().map(HostReport::from),
        };
        if output.is_json() {
            output.value(&report)?;
            return Ok(Exit::Done);
        }
        let mut sheet = Sheet::default();
        sheet.heading("Deleted");
        sheet.figure("bases", units::count(report.bases_deleted));
        sheet.remarked(
            "entries",
            units::count(report.entries_deleted),
            units::bytes(report.bytes_deleted),
        );
        match &report.from_time {
            Some(time) => sheet.figure("the past begins", time),
            None => sheet.remarked(
                "the past begins",
                "at its beginning",
                "no base is old enough",
            ),
        }
        if let Some(host) = &report.kept_for {
            sheet.remarked("kept for", &host.name, host.remark());
        }
        write!(output, "{sheet}")?;
        Ok(Exit::Done)
    }
}
