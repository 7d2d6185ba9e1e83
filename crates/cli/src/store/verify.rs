//! `store verify`: reads and checks everything that a store has of a database.

use super::Place;
use anyhow::bail;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx_command::exit::{self, Exit};
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_storage::disk::AlignedBuffer;
use sardonyx_storage::engine::{OpenError, check_base, usable_bases};
use sardonyx_storage::log::seal::SealedGroup;
use sardonyx_storage::remote_log::RemoteLogError;
use sardonyx_storage::remote_log::base::list_bases;
use sardonyx_storage::remote_log::shell::{Follower, ask, ask_boundary};
use serde::Serialize;
use std::io::Write;

/// Check the whole log and all bases of a store.
///
/// Entries and bases must be whole and follow each other. Damage is printed with its place.
///
/// Exit code 1: something is damaged or missing.
///
/// Example: sardonyx store verify s3://ledger/bank
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
}

#[derive(Debug, Default, Serialize)]
struct Report {
    entries: u64,
    epochs: u64,
    groups: u64,
    transactions: u64,
    entry_bytes: u64,
    bases: u64,
    base_bytes: u64,
    damage: Vec<String>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let (remote, manifest) = self.place.database()?;
        let style = ProgressStyle::with_template("{spinner} {decimal_bytes} read, {msg}");
        let bar = ProgressBar::new_spinner().with_style(style.expect("a valid template"));
        let (place, mut report) = (remote.store.place(), Report::default());
        if let Err(error) = self.read_log(&remote, manifest.identity, &bar, &mut report) {
            report.damage.push(damage(&place, error)?);
        }
        let listed = usable_bases(&remote, manifest.identity);
        // If the boundary is damaged, the log's damage reports it.
        let listed = listed.or_else(|_| ask(&remote.patience, || list_bases(&*remote.store)));
        for (name, _) in listed?.whole {
            bar.set_message(format!("base up to entry {}", name.next_entry));
            match check_base(&remote, manifest.identity, &name, |bytes| bar.inc(bytes)) {
                Ok(bytes) => {
                    report.bases += 1;
                    report.base_bytes += bytes;
                }
                Err(error) => report.damage.push(damage(&place, error.into())?),
            }
        }
        bar.finish_and_clear();
        if output.is_json() {
            output.value(&report)?;
        } else {
            let mut sheet = Sheet::default();
            sheet.heading("Store");
            sheet.remarked(
                "entries",
                units::count(report.entries),
                format!("{} epochs", report.epochs),
            );
            sheet.figure("commit groups", units::count(report.groups));
            sheet.figure("transactions", units::count(report.transactions));
            sheet.figure("bytes of entries", units::bytes(report.entry_bytes));
            sheet.remarked(
                "bases",
                units::count(report.bases),
                units::bytes(report.base_bytes),
            );
            writeln!(output, "{sheet}")?;
            for damage in &report.damage {
                writeln!(output, "damaged: {damage}")?;
            }
            if report.damage.is_empty() {
                writeln!(output, "Sound: nothing is damaged or missing.")?;
            }
        }
        Ok(match report.damage.is_empty() {
            true => Exit::Done,
            false => Exit::Found,
        })
    }

    fn read_log(
        &self,
        remote: &sardonyx::hosts::RemoteLog,
        identity: u64,
        bar: &ProgressBar,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let store = &remote.store;
        let from = ask_boundary(&**store, identity, &remote.patience)?;
        let mut follower = Follower::new(store.clone(), identity, from, remote.patience);
        let mut next_group = None;
        loop {
            let next = match follower.next_entry()? {
                None => follower.check_end()?,
                entry => entry,
            };
            let Some(entry) = next else { return Ok(()) };
            let number = entry.head().number;
            report.entries += 1;
            report.epochs += u64::from(entry.head().is_fence());
            report.entry_bytes += entry.length() as u64;
            for group in entry.groups() {
                let (header, bytes) = group?;
                let mut buffer = AlignedBuffer::with_capacity(bytes.len());
                buffer.extend_from_slice(bytes);
                if SealedGroup::from_bytes(buffer).is_err() {
                    bail!("group {} of entry {number} is not whole", header.number);
                }
                if next_group.is_some_and(|next| header.number != next) {
                    bail!(
                        "entry {number} has group {} where group {} should be",
                        header.number,
                        next_group.unwrap_or_default()
                    );
                }
                next_group = Some(header.number + 1);
                report.groups += 1;
                report.transactions += u64::from(header.transactions);
            }
            bar.inc(entry.length() as u64);
            bar.set_message(format!("entry {number}"));
        }
    }
}

/// A description of the damage; or the error, if the store does not answer.
fn damage(place: &str, error: anyhow::Error) -> anyhow::Result<String> {
    let is_of_store = match (error.downcast_ref(), error.downcast_ref()) {
        (Some(OpenError::Store(error)), _) | (_, Some(error)) => {
            matches!(error, RemoteLogError::Store(_))
        }
        _ => false,
    };
    match is_of_store {
        true => Err(error),
        false => Ok(format!("{place}: {}", exit::message(&error))),
    }
}
