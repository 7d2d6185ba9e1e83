//! The redo log: its commit groups, and on request their records.
//!
//! Reading begins with the oldest segment file whose first group is whole and at its stated place; files before it are
//! listed as not read. A recovery may need less of the log than is here.

use crate::target::Files;
use sardonyx_command::exit::{self, Exit};
use sardonyx_command::output::Output;
use sardonyx_results::table::Sheet;
use sardonyx_results::units;
use sardonyx_storage::disk::{Access, AlignedBuffer, Create, DIRECT_ALIGNMENT, Disk};
use sardonyx_storage::log::group::GroupHeader;
use sardonyx_storage::log::reader::LogReader;
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::segment::{LOG_DIRECTORY, segment_file, segment_of_file};
use sardonyx_storage::log::{LogError, LogPosition};
use sardonyx_storage::manifest::Manifest;
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

/// The most bytes of a record that are shown to a person.
const SHOWN_BYTES: usize = 24;

/// The part of the log to print.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print each group's records, too
    #[arg(long)]
    records: bool,
    /// Begin with this group
    #[arg(long, value_name = "N", default_value_t = 1)]
    from_group: u64,
    /// Print at most this many groups [default: all]
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// A group as it is printed.
#[derive(Debug, Serialize)]
struct Group {
    group: u64,
    lsn: u64,
    file: String,
    offset: u64,
    transactions: u32,
    first_transaction: u64,
    record_bytes: u32,
    disk_bytes: u64,
    incarnation: u32,
    durable_group: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<Vec<Entry>>,
}

/// A redo record as it is printed.
#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Entry {
    Write {
        page: u64,
        offset: usize,
        bytes: String,
        ends_transaction: bool,
    },
    Journal {
        journal: u16,
        bytes: String,
        ends_transaction: bool,
    },
    Version {
        page: u64,
        psn: u64,
        bytes: String,
        ends_transaction: bool,
    },
}

impl Arguments {
    /// Prints the groups.
    pub fn print(
        &self,
        files: &Files,
        manifest: &Manifest,
        output: &mut Output,
    ) -> anyhow::Result<Exit> {
        let disk = &files.disk;
        if !output.is_json() {
            let names = (
                "group",
                "LSN",
                "transactions",
                "records",
                "on disk",
                "incarnation",
            );
            let (group, lsn, transactions, records, on_disk, incarnation) = names;
            writeln!(
                output,
                "{group:>10}  {lsn:>15}  {transactions:>12}  {records:>10}  {on_disk:>10}  \
                 {incarnation:>11}  {:>13}",
                "durable group"
            )?;
        }
        let Some(mut reader) = Start::find(disk, manifest)?.reader(files, manifest)? else {
            return Ok(Exit::Done);
        };
        let mut printed = 0;
        while self.limit.is_none_or(|limit| printed < limit) {
            let Some((header, payload)) = reader.next_group()? else {
                break;
            };
            if header.number < self.from_group {
                continue;
            }
            let mut group = Group::of(disk, manifest, &header);
            if self.records {
                group.records = Some(entries(payload).map_err(|source| {
                    let file = disk.display_name(&group.file);
                    anyhow::anyhow!("{file}, group at offset {}: {source}", group.offset)
                })?);
            }
            printed += 1;
            if output.is_json() {
                output.line(&group)?;
            } else {
                group.print(output)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Group {
    fn of(disk: &Arc<dyn Disk>, manifest: &Manifest, header: &GroupHeader) -> Self {
        let layout = manifest.log_layout();
        Group {
            group: header.number,
            lsn: header.lsn.0,
            file: disk.display_name(&segment_file(layout.segment_of(header.lsn))),
            offset: layout.offset_in_segment(header.lsn),
            transactions: header.transactions,
            first_transaction: header.first_transaction,
            record_bytes: header.payload_bytes,
            disk_bytes: header.bytes_on_disk() as u64,
            incarnation: header.incarnation,
            durable_group: header.durable_number,
            records: None,
        }
    }

    fn print(&self, output: &mut Output) -> anyhow::Result<()> {
        writeln!(
            output,
            "{:>10}  {:>15}  {:>12}  {:>10}  {:>10}  {:>11}  {:>13}",
            self.group,
            self.lsn,
            self.transactions,
            self.record_bytes,
            self.disk_bytes,
            self.incarnation,
            self.durable_group,
        )?;
        for entry in self.records.iter().flatten() {
            let (place, bytes, ends) = match entry {
                Entry::Write {
                    page,
                    offset,
                    bytes,
                    ends_transaction,
                } => (format!("page {page} at {offset}"), bytes, ends_transaction),
                Entry::Journal {
                    journal,
                    bytes,
                    ends_transaction,
                } => (format!("journal {journal}"), bytes, ends_transaction),
                Entry::Version {
                    page,
                    psn,
                    bytes,
                    ends_transaction,
                } => (
                    format!("page {page} version {psn}"),
                    bytes,
                    ends_transaction,
                ),
            };
            let shown = bytes.get(..2 * SHOWN_BYTES).unwrap_or(bytes);
            let more = if shown.len() < bytes.len() { "…" } else { "" };
            let length = bytes.len() / 2;
            let end = if *ends { "  end of transaction" } else { "" };
            writeln!(
                output,
                "            {place:<22} {length:>5} B  {shown}{more}{end}"
            )?;
        }
        Ok(())
    }
}

fn entries(payload: &[u8]) -> Result<Vec<Entry>, sardonyx_storage::log::record::RecordError> {
    let entry = |record: sardonyx_storage::log::record::Record<'_>| {
        let ends_transaction = record.ends_transaction;
        match record.body {
            Body::Write { address, bytes } => Entry::Write {
                page: address.page().0,
                offset: address.offset_in_page(),
                bytes: hexadecimal(bytes),
                ends_transaction,
            },
            Body::Journal { journal, row } => Entry::Journal {
                journal,
                bytes: hexadecimal(row),
                ends_transaction,
            },
            Body::Version { page, psn } => Entry::Version {
                page: page.0,
                psn,
                bytes: hexadecimal(&psn.to_le_bytes()),
                ends_transaction,
            },
        }
    };
    Records::new(payload)
        .map(|record| record.map(entry))
        .collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes all");
            text
        })
}

/// The start of the existing log.
struct Start {
    position: Option<LogPosition>,
    /// Segment files, and those before the beginning.
    segments: u64,
    not_read: Vec<String>,
}

impl Start {
    fn find(disk: &Arc<dyn Disk>, manifest: &Manifest) -> Result<Start, LogError> {
        let layout = manifest.log_layout();
        let mut numbers: Vec<u64> = disk
            .list(LOG_DIRECTORY)?
            .iter()
            .filter_map(|name| segment_of_file(name))
            .collect();
        numbers.sort_unstable();
        let mut start = Start {
            position: None,
            segments: numbers.len() as u64,
            not_read: Vec::new(),
        };
        let mut first_bytes = AlignedBuffer::zeroed(DIRECT_ALIGNMENT);
        for number in numbers {
            let file = disk.open(&segment_file(number), Access::Direct, Create::No)?;
            first_bytes.fill(0);
            file.read_at(0, &mut first_bytes)?;
            let here = layout.segment_start(number);
            let first = GroupHeader::decode(&first_bytes)
                .filter(|header| header.identity == layout.identity && header.lsn == here);
            match first {
                Some(header) if start.position.is_none() => {
                    start.position = Some(LogPosition {
                        lsn: here,
                        group: header.number,
                        transactions: header.first_transaction,
                        incarnation: header.incarnation,
                    });
                }
                None if start.position.is_none() => start.not_read.push(file.display_name()),
                _ => {}
            }
        }
        if start.position.is_none() {
            // Only prepared segments: a log without a group.
            start.not_read.clear();
        }
        Ok(start)
    }

    fn reader(&self, files: &Files, manifest: &Manifest) -> Result<Option<LogReader>, LogError> {
        let open = |from| LogReader::open(&files.disk, manifest.log_layout(), from);
        let reader = self.position.map(open).transpose()?;
        Ok(match files.beside_writer() {
            true => reader.map(LogReader::beside_writer),
            false => reader,
        })
    }
}

/// The log in a few figures.
#[derive(Debug, Serialize)]
pub struct Summary {
    segments: u64,
    /// Segment files before the first whole group: torn, or not written yet.
    not_read: Vec<String>,
    groups: u64,
    first_group: u64,
    transactions: u64,
    record_bytes: u64,
    from_lsn: u64,
    to_lsn: u64,
    /// The error that ended the reading, if it was not the log's end.
    pub error: Option<String>,
}

impl Summary {
    /// Reads the whole log.
    ///
    /// # Errors
    /// The disk's; damage is in the summary.
    pub fn of(files: &Files, manifest: &Manifest) -> anyhow::Result<Self> {
        let start = Start::find(&files.disk, manifest)?;
        let from = start.position.unwrap_or(LogPosition::START);
        let mut summary = Summary {
            segments: start.segments,
            not_read: start.not_read.clone(),
            groups: 0,
            first_group: from.group,
            transactions: 0,
            record_bytes: 0,
            from_lsn: from.lsn.0,
            to_lsn: from.lsn.0,
            error: None,
        };
        let Some(mut reader) = start.reader(files, manifest)? else {
            return Ok(summary);
        };
        loop {
            match reader.next_group() {
                Ok(Some((header, _))) => {
                    summary.groups += 1;
                    summary.transactions += u64::from(header.transactions);
                    summary.record_bytes += u64::from(header.payload_bytes);
                    summary.to_lsn = header.end().0;
                }
                Ok(None) => return Ok(summary),
                Err(error) => {
                    let error = anyhow::Error::from(error);
                    if exit::of_error(&error, &[crate::exit::of]) != Exit::Found {
                        return Err(error);
                    }
                    summary.error = Some(exit::message(&error));
                    return Ok(summary);
                }
            }
        }
    }

    /// Adds it to a sheet.
    pub fn print(&self, sheet: &mut Sheet) {
        sheet.heading("Log");
        sheet.figure("segment files", units::count(self.segments));
        for file in &self.not_read {
            sheet.remarked("not read", file.clone(), "no whole group at its start");
        }
        let remark = format!("from group {}", units::count(self.first_group));
        sheet.remarked("groups", units::count(self.groups), remark);
        sheet.figure("transactions", units::count(self.transactions));
        let remark = format!("LSN {} to {}", self.from_lsn, self.to_lsn);
        sheet.remarked("bytes", units::bytes(self.to_lsn - self.from_lsn), remark);
        sheet.figure("bytes of records", units::bytes(self.record_bytes));
        if let Some(error) = &self.error {
            sheet.figure("DAMAGED", error.clone());
        }
    }
}
