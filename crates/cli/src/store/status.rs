//! `store status`: the database, its serving host, its log and its bases.

use super::{Place, shown_time};
use sardonyx::hosts::{RemoteLog, primary};
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_remote::{CopiesHealth, CopyRecord, RemoteOptions, copies_health};
use sardonyx_results::table::{Sheet, Table};
use sardonyx_results::units;
use sardonyx_storage::disk::RealDisk;
use sardonyx_storage::engine::{
    Fork, OpenError, entry_head, forks, known_hosts, read_base, usable_bases,
};
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::known::Known;
use sardonyx_storage::remote_log::known_hosts::KnownHost;
use sardonyx_storage::remote_log::shell::{ask, ask_boundary};
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A sign of the serving host is waited for at most so long.
const SIGN_WAIT_MAX: Duration = Duration::from_secs(3);

/// Show the database, serving host, log and bases of a store.
///
/// With --directory it also shows a host's directory: its position in the log, as last recorded there, and the entries
/// that were cut off it: transactions without which another host continued, and which may have been acknowledged. For a
/// log on several places (copies:) it shows since when each place is in the set (in-sync), being filled (joining) or
/// left out (out).
///
/// Warnings are shown last: of a serving host that gives no sign; of a copy that gives no answer, is not in sync, or is
/// the last one; of a register of the copies that is older than the copies or the directory know; and of a directory
/// that the log does not reach any more.
///
/// Examples:
///   sardonyx store status s3://ledger/bank
///   sardonyx store status s3://ledger/bank --directory bank.sdx
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// A host's directory
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
}

#[derive(Debug, Serialize)]
struct Status {
    place: String,
    identity: String,
    /// The host that serves or served last.
    host: Option<String>,
    /// True if it has handed over or ended in order.
    released: bool,
    /// The places that have the log, of a store that keeps it on several.
    #[serde(skip_serializing_if = "Option::is_none")]
    copies: Option<Vec<CopyOfLog>>,
    /// The host that is to serve instead.
    wanted: Option<String>,
    /// The time without a sign of the serving host after which another takes over.
    lease_seconds: Option<f64>,
    /// The first entry, not counting earlier fences.
    first_entry: u64,
    /// By the store's list, which may be old.
    last_entry: u64,
    last_epoch: u64,
    last_time: Option<String>,
    entries: u64,
    entry_bytes: u64,
    bases: Vec<Base>,
    /// The hosts that follow, as they reported.
    following: Vec<HostReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<Directory>,
    /// Sentences on states that need a person.
    warnings: Vec<String>,
}

/// A place that has or had the log.
#[derive(Debug, Serialize)]
pub struct CopyOfLog {
    place: String,
    /// `in-sync`, `joining` or `out`.
    standing: &'static str,
    since: String,
    /// False if it gives no answer; absent if it was not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<bool>,
}

/// The last report of a host that follows.
#[derive(Debug, Serialize)]
pub struct HostReport {
    pub name: String,
    next_entry: u64,
    seen: String,
}

impl From<&KnownHost> for HostReport {
    fn from(host: &KnownHost) -> Self {
        HostReport {
            name: host.name.clone(),
            next_entry: host.next_entry,
            seen: shown_time(host.seen),
        }
    }
}

impl HostReport {
    /// The entry from which it would continue. It may have followed further: it records that only from time to time.
    pub fn remark(&self) -> String {
        format!(
            "needs the log from entry {} on, at {}",
            self.next_entry, self.seen
        )
    }
}

/// A host's directory.
#[derive(Debug, Serialize)]
struct Directory {
    path: String,
    /// The entry after the last one that it is known to have: it may have more.
    next_entry: u64,
    /// Entries that the store has and the directory is not known to have.
    lag_entries: u64,
    forks: Vec<Kept>,
}

/// A file of entries that were cut off the log of a directory.
#[derive(Debug, Serialize)]
struct Kept {
    file: String,
    first_group: u64,
    groups: u64,
    transactions: u64,
    bytes: u64,
}

#[derive(Debug, Serialize)]
struct Base {
    name: String,
    next_entry: u64,
    transactions: u64,
    time: String,
    bytes: u64,
}

impl From<&CopyRecord> for CopyOfLog {
    fn from(copy: &CopyRecord) -> Self {
        CopyOfLog {
            place: copy.place.clone(),
            standing: copy.standing.word(),
            since: shown_time(copy.since),
            answers: None,
        }
    }
}

impl CopyOfLog {
    fn of(copy: &CopyRecord, health: &CopiesHealth) -> Self {
        let mut silent = health.silent.iter();
        CopyOfLog {
            answers: Some(!silent.any(|(place, _)| *place == copy.place)),
            ..copy.into()
        }
    }

    /// Its line.
    pub fn show(&self, sheet: &mut Sheet) {
        let silent = match self.answers {
            Some(false) => ", no answer",
            _ => "",
        };
        let remark = format!("{}, since {}{silent}", self.place, self.since);
        sheet.remarked("copy", self.standing, remark);
    }
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let (remote, manifest) = self.place.database()?;
        let (store, patience) = (&remote.store, &remote.patience);
        // Read-only: the keeper is neither tested nor created.
        let options = RemoteOptions {
            probe: false,
            make: false,
            ..RemoteOptions::from_environment()?
        };
        let health = copies_health(&store.place(), self.directory.as_deref(), &options)?;
        let copies = health.as_ref().map(|health| {
            let copies = health.record.copies.iter();
            copies.map(|copy| CopyOfLog::of(copy, health)).collect()
        });
        let silence = silence_of_host(&remote)?;
        let host = primary(&remote)?;
        let first_entry = ask_boundary(&**store, manifest.identity, patience)?.next;
        let mut status = Status {
            place: store.place(),
            identity: format!("{:016x}", manifest.identity),
            released: host.as_ref().is_some_and(|host| host.released),
            wanted: host.as_ref().and_then(|host| host.wanted.clone()),
            lease_seconds: host.as_ref().map(|host| host.wait.as_secs_f64()),
            host: host.map(|host| host.host),
            first_entry,
            // All before it may be deleted.
            last_entry: first_entry.saturating_sub(1),
            last_epoch: 0,
            last_time: None,
            entries: 0,
            entry_bytes: 0,
            bases: Vec::new(),
            following: Vec::new(),
            directory: None,
            copies,
            warnings: silence.into_iter().collect(),
        };
        let mut from = first_entry;
        loop {
            let listed = ask(patience, || store.list(from))?;
            let Some(last) = listed.last() else { break };
            status.entries += listed.len() as u64;
            status.entry_bytes += listed.iter().map(|entry| entry.bytes).sum::<u64>();
            status.last_entry = last.number;
            from = last.number.saturating_add(1);
        }
        match entry_head(&remote, status.last_entry) {
            Ok(Some(head)) => {
                status.last_epoch = head.epoch.0;
                status.last_time = Some(shown_time(head.time));
            }
            Ok(None) => {}
            Err(OpenError::Store(error @ RemoteLogError::Entry { .. })) => {
                status.warnings.push(error.to_string());
            }
            Err(error) => return Err(error.into()),
        }
        for (name, bytes) in usable_bases(&remote, manifest.identity)?.whole {
            let head = read_base(&remote, manifest.identity, &name)?;
            status.bases.push(Base {
                name: name.folder(),
                next_entry: name.next_entry,
                transactions: head.known.log.transactions,
                time: shown_time(head.known.entry.time),
                bytes,
            });
        }
        match known_hosts(&remote, manifest.identity) {
            Ok(hosts) => {
                let serves = status.host.clone().filter(|_| !status.released);
                let following = hosts
                    .iter()
                    .filter(|host| Some(&host.name) != serves.as_ref());
                status.following.extend(following.map(HostReport::from));
            }
            Err(error) => status.warnings.push(error.to_string()),
        }
        if let Some(path) = &self.directory {
            status.directory = Some(directory(path, manifest.identity, status.last_entry)?);
        }
        let of_copies = health
            .iter()
            .flat_map(|health| health.warnings(status.last_entry));
        status.warnings.extend(of_copies);
        if let Some(directory) = &status.directory
            && directory.next_entry < first_entry
        {
            status.warnings.push(format!(
                "{} has the log up to entry {}, and the log begins with {first_entry}: that host continues from a base, and \
                 keeps transactions that the store lacks in a file of its directory",
                directory.path,
                directory.next_entry - 1
            ));
        }
        match output.is_json() {
            true => output.value(&status)?,
            false => show(&status, output)?,
        }
        Ok(Exit::Done)
    }
}

/// A warning, if the host that serves gives no sign for as long as several of its signs are due. A lease that is so long
/// that this cannot be seen at once gives none.
fn silence_of_host(remote: &RemoteLog) -> anyhow::Result<Option<String>> {
    let asked = Instant::now();
    let Some(first) = primary(remote)?.filter(|host| !host.released) else {
        return Ok(None);
    };
    // A sign is due after an eighth of the wait.
    if first.wait / 2 > SIGN_WAIT_MAX {
        return Ok(None);
    }
    while asked.elapsed() < first.wait / 2 {
        sleep(first.wait / 16);
        let now = primary(remote)?;
        if now.is_none_or(|now| now.host != first.host || now.count != first.count || now.released)
        {
            return Ok(None);
        }
    }
    Ok(Some(format!(
        "the host {} has given no sign for {} s: it is away, or cannot reach the register. Another host takes over after {} s, \
         if one follows",
        first.host,
        asked.elapsed().as_secs_f32().round(),
        first.wait.as_secs_f64()
    )))
}

/// The log and the forks of a host's directory.
fn directory(path: &Path, identity: u64, last_entry: u64) -> anyhow::Result<Directory> {
    let shown = path.display();
    let absent = || UsageError::NotThere(format!("{shown} has no log of a database in a store"));
    if !path.is_dir() {
        return Err(absent().into());
    }
    let home = RealDisk::open(path)?;
    let known = Known::read(&home)?.ok_or_else(absent)?;
    if known.identity != identity {
        let text = format!("{shown} is of another database, {:016x}", known.identity);
        return Err(UsageError::NotThere(text).into());
    }
    let kept = |fork: Fork| Kept {
        file: fork.file,
        first_group: fork.first_group,
        groups: fork.groups,
        transactions: fork.transactions,
        bytes: fork.bytes,
    };
    Ok(Directory {
        path: shown.to_string(),
        next_entry: known.entry.next,
        lag_entries: (last_entry + 1).saturating_sub(known.entry.next),
        forks: forks(&home)?.into_iter().map(kept).collect(),
    })
}

fn show(status: &Status, output: &mut Output) -> anyhow::Result<()> {
    let mut sheet = Sheet::default();
    sheet.heading(format!("Database {} in {}", status.identity, status.place));
    let host = status.host.as_deref().unwrap_or("none ever served");
    let remark = match (status.released, &status.wanted) {
        (true, _) => "has ended in order".to_string(),
        (false, Some(wanted)) => format!("is to hand over to {wanted}"),
        (false, None) => String::new(),
    };
    sheet.remarked("host", host, remark);
    if let Some(seconds) = status.lease_seconds {
        let remark = "without a sign, until another host takes over";
        sheet.remarked("lease", format!("{seconds} s"), remark);
    }
    let remark = match status.entries {
        0 => format!("none behind entry {}", status.last_entry),
        _ => format!("{} to {}", status.first_entry, status.last_entry),
    };
    sheet.remarked("entries", units::count(status.entries), remark);
    sheet.figure("bytes of entries", units::bytes(status.entry_bytes));
    if let Some(time) = &status.last_time {
        sheet.remarked("last entry", time, format!("epoch {}", status.last_epoch));
    }
    if let Some(directory) = &status.directory {
        let remark = format!("behind entry {}, at least", directory.next_entry - 1);
        let lag = units::count(directory.lag_entries);
        sheet.remarked("entries not known here", lag, remark);
    }
    for host in &status.following {
        sheet.remarked("following host", &host.name, host.remark());
    }
    for copy in status.copies.iter().flatten() {
        copy.show(&mut sheet);
    }
    writeln!(output, "{sheet}")?;
    for kept in status
        .directory
        .iter()
        .flat_map(|directory| &directory.forks)
    {
        writeln!(
            output,
            "Cut off and kept in {}: {} transactions, from group {} on, without which another host continued.",
            kept.file, kept.transactions, kept.first_group
        )?;
    }
    match status.bases.is_empty() {
        true => writeln!(
            output,
            "No bases: a new copy reads the whole log (`store follow --base-every` makes some)."
        )?,
        false => show_bases(status, output)?,
    }
    for warning in &status.warnings {
        writeln!(output, "Warning: {warning}.")?;
    }
    Ok(())
}

fn show_bases(status: &Status, output: &mut Output) -> anyhow::Result<()> {
    let mut table = Table::new(["base up to entry", "time", "transactions", "bytes"]);
    for base in &status.bases {
        table.row([
            base.next_entry.to_string(),
            base.time.clone(),
            units::count(base.transactions),
            units::bytes(base.bytes),
        ]);
    }
    Ok(write!(output, "{table}")?)
}
