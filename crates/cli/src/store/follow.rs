//! `store follow`: keeps a copy of a database by its log in a store, and makes bases of it.

use super::every::{Every, parse_every};
use super::following::{CaughtUp, End, Following, may_pass};
use super::retention::Kept;
use super::{Place, copy_options, shown_time};
use crate::end_request::end_requested;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_command::exit::{self, Exit};
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units::{self, parse_bytes, parse_time};
use sardonyx_storage::engine::{delete_past, newest_base};
use sardonyx_storage::remote_log::known::Known;
use sardonyx_storage::remote_log::shell::now;
use serde::Serialize;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::Duration;

/// Keep a copy of a database that follows its store.
///
/// The directory receives every acknowledged transaction, a moment later; the serving host has no work with it. An
/// interrupt or a termination signal ends the verb. With --base-every it puts a base, a copy of the database, into the
/// store after each such amount of log, or such a time. New copies begin there. With --keep-bases or --keep-time it then deletes
/// older bases and log. A program can open the directory with this store, as one of its hosts. Without --once it waits
/// for a database, if the store has none yet. A missing entry is named on standard error, and following continues when
/// it is restored.
///
/// Exit code 1, with --once: an entry is missing.
///
/// Examples:
///   sardonyx store follow s3://ledger/bank copy.sdx
///   sardonyx store follow s3://ledger/bank copy.sdx --base-every 4GiB --keep-bases 3 --keep-time 720h
///   sardonyx store follow s3://ledger/bank copy.sdx --once --base-every 0
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The copy's directory, created if absent
    path: PathBuf,
    /// End when the copy has everything that the store has now
    #[arg(long)]
    once: bool,
    /// Put a base into the store after each SIZE of log, TIME, or both: 4GiB,24h; 0: whenever the end is reached
    /// and log has come
    #[arg(long, value_name = "SIZE|TIME", value_parser = parse_every)]
    base_every: Option<Every>,
    #[command(flatten)]
    kept: Kept,
    /// The most bytes of log on this disk [default: 2GiB, or eight segments if those are more]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    log_bytes: Option<u64>,
    /// Bytes of log between the beginnings of two checkpoints of the copy [default: three eighths of the log]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    checkpoint_interval: Option<u64>,
    /// Begin a checkpoint of the copy after this many transactions, too
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    checkpoint_transactions: Option<u64>,
    /// The time between two checks for new entries
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "250ms")]
    poll: Duration,
    /// If another program has the directory open, wait for it up to this time, such as 30s [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
    /// End when standard input ends, too: for programs that start this
    #[arg(long)]
    until_input_ends: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    identity: String,
    next_entry: u64,
    transactions: u64,
    time: String,
    bases: u64,
    /// Of the copy, since it was opened.
    checkpoints: u64,
    checkpoint_bytes: u64,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        self.kept.check(self.base_every.is_some())?;
        let end = end_requested(self.until_input_ends);
        let found = match self.once {
            true => Some(self.place.database()?),
            false => self.place.awaited_database(self.poll, |pause| {
                end.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
            })?,
        };
        let Some((remote, manifest)) = found else {
            return Ok(Exit::Done);
        };
        let mut options = copy_options(remote.clone(), &manifest);
        options.log_bytes_max = self.log_bytes.unwrap_or(options.log_bytes_max);
        options.checkpoint_interval_bytes = self.checkpoint_interval;
        options.checkpoint_interval_transactions = self.checkpoint_transactions;
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("a valid template");
        let bar = ProgressBar::new_spinner().with_style(style);
        let open = || Following::open(&self.path, &options, self.wait.unwrap_or_default());
        let mut opened = Some(open()?);
        let newest = || newest_base(&remote, manifest.identity, |_| true);
        let mut based = newest()?.map(|(_, head)| head.known);
        let mut bases = 0;
        // True if bases and log that are not to be kept are to be deleted.
        let mut owed = false;
        let mut told = None;
        let tell = |text: &str| bar.suspend(|| eprintln!("sardonyx: {text}"));
        let mut told_of_store = String::new();
        // The store is asked again soon: reported once for each cause in a row.
        let mut pass = |error: anyhow::Error| match may_pass(&error) && !self.once {
            true => {
                let text = exit::message(&error);
                if text != told_of_store {
                    tell(&text);
                    told_of_store = text;
                }
                Ok(())
            }
            false => Err(error),
        };
        let wanted = match self.once {
            true => End::Wanted,
            false => End::Followed,
        };
        loop {
            let is_to_end = || !matches!(end.try_recv(), Err(TryRecvError::Empty));
            let Some(following) = &mut opened else {
                match open() {
                    Ok(following) => opened = Some(following),
                    Err(error) => {
                        pass(error)?;
                        if end.recv_timeout(self.poll) != Err(RecvTimeoutError::Timeout) {
                            break;
                        }
                    }
                }
                continue;
            };
            let caught_up = following.catch_up(wanted, is_to_end, |known| {
                bar.set_message(format!(
                    "entry {}, {} transactions, made {}",
                    known.entry.next - 1,
                    units::count(known.log.transactions),
                    shown_time(known.entry.time)
                ));
                bar.tick();
            })?;
            let at_end = match caught_up {
                CaughtUp::AtEnd => true,
                CaughtUp::NoAnswer(error) if self.once => return Err(error.into()),
                CaughtUp::Missing(error) if self.once => return Err(error.into()),
                // The store is asked again soon.
                CaughtUp::NoAnswer(error) => {
                    tell(&error.to_string());
                    false
                }
                // Until it is restored: reported once for each place.
                CaughtUp::Missing(error) => {
                    let at = following.known().entry.next;
                    if told.replace(at) != Some(at) {
                        tell(&error.to_string());
                    }
                    false
                }
                CaughtUp::Behind(error) => {
                    tell(&format!("{error}; this directory is opened again"));
                    if let Some(following) = opened.take() {
                        following.close();
                    }
                    continue;
                }
                CaughtUp::Interrupted => break,
            };
            let known = *following.known();
            if at_end && self.wants_base(&known, based.as_ref()) {
                bar.set_message("putting a base into the store");
                bar.tick();
                let made = match opened.take() {
                    Some(following) => following.put_base(&remote),
                    None => continue,
                };
                match made {
                    Ok(Some(bytes)) => {
                        based = Some(known);
                        bases += 1;
                        owed = true;
                        if output.is_json() {
                            let base =
                                json!({ "base_up_to_entry": known.entry.next, "bytes": bytes });
                            output.line(&base)?;
                            output.finish()?;
                        }
                    }
                    // Another maker was faster: the log is counted from its base.
                    Ok(None) => match newest() {
                        Ok(newest) => based = newest.map(|(_, head)| head.known),
                        Err(error) => pass(error.into())?,
                    },
                    Err(error) => pass(error)?,
                }
            }
            if let Some(keep) = self.kept.keep(1).filter(|_| owed) {
                match delete_past(&remote, keep) {
                    Ok(_) => owed = false,
                    Err(error) => pass(error.into())?,
                }
            }
            if self.once || end.recv_timeout(self.poll) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        bar.finish_and_clear();
        let following = match opened {
            Some(following) => following,
            None => match open() {
                Ok(following) => following,
                // It has ended while the store was away.
                Err(error) if may_pass(&error) && !self.once => return Ok(Exit::Done),
                Err(error) => return Err(error),
            },
        };
        let checkpoints = following.checkpoints();
        let known = following.close();
        let report = Report {
            identity: format!("{:016x}", known.identity),
            next_entry: known.entry.next,
            transactions: known.log.transactions,
            time: shown_time(known.entry.time),
            bases,
            checkpoints: checkpoints.checkpoints,
            checkpoint_bytes: checkpoints.bytes,
        };
        if output.is_json() {
            output.line(&report)?;
        } else {
            let mut sheet = Sheet::default();
            sheet.heading("Copy");
            sheet.figure("database", report.identity);
            sheet.figure("transactions", units::count(report.transactions));
            sheet.remarked(
                "entries",
                units::count(report.next_entry - 1),
                format!("the last one made {}", report.time),
            );
            sheet.remarked(
                "checkpoints of the copy",
                units::count(report.checkpoints),
                units::bytes(report.checkpoint_bytes),
            );
            sheet.figure("bases put into the store", units::count(report.bases));
            write!(output, "{sheet}")?;
        }
        Ok(Exit::Done)
    }

    /// Returns true if enough log has come since the last base.
    fn wants_base(&self, known: &Known, based: Option<&Known>) -> bool {
        let from = based.map_or(0, |based| based.log.lsn.0);
        let come = known.log.lsn.0.saturating_sub(from);
        let newest = based.map(|based| based.entry.time);
        let is_due = |every: Every| every.is_due(come, newest, now());
        self.base_every.is_some_and(is_due)
    }
}
