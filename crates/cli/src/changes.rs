//! `changes`: each committed transaction's changes of rows, as lines of JSON.

use crate::end_request::end_requested;
use crate::store::StoreOption;
use crate::target::Target;
use anyhow::Context;
use sardonyx::changes::{Change, Changes};
use sardonyx::journals::JournalPosition;
use sardonyx::rows::{OneRow, RowRef};
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_interchange::value_to_json;
use sardonyx_results::units::parse_time;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::journal::LogEndBeside;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::places::find_for_reading;
use sardonyx_storage::remote_log::known::STORE_FILE;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The most readings without progress, when files change under the reader.
const READINGS_MAX: usize = 8;

/// Print committed changes of rows as JSON.
///
/// Each changed row is a line, in the order of commits, with the row before and after. First name a table with --keep:
/// its later changes are kept, in the log and in the archive of journals, and take disk space. While a server has the
/// database open, all transactions committed so far are printed. With --follow the later ones are printed, too, until
/// an interrupt or a termination signal. Continue with --from and the "next" of the last line that you handled: no
/// change is lost or comes twice. A position older than the kept changes is an error that names the oldest one.
///
/// Each host of a database whose log is in a store has the changes, at the same positions: continue on another host when
/// one fails. A change is printed when the store has it, so no host continues without it.
///
/// Examples:
///   sardonyx changes bank.sdx --keep accounts
///   sardonyx changes bank.sdx --table accounts --follow
///   sardonyx changes bank.sdx --from 17:4
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(flatten)]
    target: Target,
    /// Print changes of this table only, by its name at the time of the change; may be repeated
    #[arg(long, value_name = "NAME")]
    table: Vec<String>,
    /// Begin at this position, such as 17:4 [default: at the oldest kept change]
    #[arg(long, value_name = "POSITION")]
    from: Option<JournalPosition>,
    /// With --table: after changes of other tables, print a line with "next" alone, to continue after them
    #[arg(long, requires = "table")]
    positions: bool,
    /// Wait for later commits, and print their changes, too
    #[arg(long)]
    follow: bool,
    /// The time between two checks with --follow
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "100ms", requires = "follow")]
    poll: Duration,
    /// End when standard input ends, too: for programs that start this
    #[arg(long, requires = "follow")]
    until_input_ends: bool,
    /// Keep the changes of this table from now on; the database must not be open elsewhere
    #[arg(long, value_name = "NAME", conflicts_with_all = ["forget", "follow", "from", "table"])]
    keep: Option<String>,
    /// Stop keeping the changes of this table; those kept so far stay
    #[arg(long, value_name = "NAME", conflicts_with_all = ["follow", "from", "table"])]
    forget: Option<String>,
    #[command(flatten)]
    store: StoreOption,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    position: String,
    next: String,
    transaction: String,
    table: &'a str,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Map<String, Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Map<String, Json>>,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        if let Some(table) = self.keep.as_ref().or(self.forget.as_ref()) {
            return self.choose(table, output);
        }
        if self.store.is_named() {
            let text = "changes are read from the directory: --store goes with --keep and --forget";
            return Err(UsageError::Arguments(text.into()).into());
        }
        let from = self.from.unwrap_or(JournalPosition::START);
        if !self.follow {
            let files = self.target.files(output)?;
            let manifest = Manifest::read(&*files.disk)?;
            let is_of_store = || anyhow::Ok(files.disk.list("")?.iter().any(|it| it == STORE_FILE));
            let up_to = match files.beside_writer() || is_of_store()? {
                true => UpTo::Durable,
                false => UpTo::LogEnd,
            };
            let reading = Reading::new(files.disk.clone(), manifest, from, up_to);
            self.print(reading, None, output)?;
            return Ok(Exit::Done);
        }
        let end = end_requested(self.until_input_ends);
        // Without the database's lock: a server may open and close it meanwhile, and put it into a store.
        let home = self.target.disk()?;
        let manifest = Manifest::read(&*home)?;
        let disk = find_for_reading(&home, &manifest)?;
        let reading = Reading::new(disk, manifest, from, UpTo::Durable);
        self.print(reading, Some(&end), output)?;
        Ok(Exit::Done)
    }

    fn choose(&self, table: &str, output: &mut Output) -> anyhow::Result<Exit> {
        let tables = self.target.database(&Directories::default(), &self.store)?;
        let chosen = match self.keep.is_some() {
            true => tables.keep_changes(table),
            false => tables.forget_changes(table),
        };
        tables.close()?;
        let (is_kept, has_changed) = (self.keep.is_some(), chosen?);
        output.line(
            &json!({ "table": table, "kept": is_kept, "was_kept": is_kept != has_changed }),
        )?;
        Ok(Exit::Done)
    }

    fn print(
        &self,
        mut reading: Reading,
        end: Option<&Receiver<()>>,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let mut printed = reading.from;
        loop {
            reading.read(|change| {
                let is_wanted =
                    self.table.is_empty() || self.table.iter().any(|table| table == change.table());
                if is_wanted {
                    output.line(&line_of(change)?)?;
                    printed = change.next();
                }
                Ok(())
            })?;
            if self.positions && printed < reading.from {
                printed = reading.from;
                output.line(&json!({ "next": printed.to_string() }))?;
            }
            output.finish()?;
            match end.map(|end| end.recv_timeout(self.poll)) {
                Some(Err(RecvTimeoutError::Timeout)) => {}
                _ => return Ok(()),
            }
        }
    }
}

/// The end of what is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum UpTo {
    /// Of the log, which no other process writes.
    LogEnd,
    /// Of its durable part: another process may have the database open. With a store, of the part that is there, too: what
    /// only this directory has may be cut off.
    Durable,
}

impl UpTo {
    fn end(self, disk: &Arc<dyn Disk>, manifest: &Manifest) -> Option<LogEndBeside> {
        match self {
            UpTo::LogEnd => None,
            UpTo::Durable => Some(LogEndBeside::new(disk, manifest)),
        }
    }
}

/// A place in the changes of a database's files.
struct Reading {
    disk: Arc<dyn Disk>,
    manifest: Manifest,
    /// The next position.
    from: JournalPosition,
    up_to: UpTo,
    end: Option<LogEndBeside>,
    changes: Option<Changes>,
}

impl Reading {
    fn new(disk: Arc<dyn Disk>, manifest: Manifest, from: JournalPosition, up_to: UpTo) -> Reading {
        Reading {
            up_to,
            end: up_to.end(&disk, &manifest),
            disk,
            manifest,
            from,
            changes: None,
        }
    }

    /// Reads the changes that exist now. Files that changed during the reading are read again.
    fn read(&mut self, mut each: impl FnMut(&Change) -> anyhow::Result<()>) -> anyhow::Result<()> {
        let mut failures = 0;
        loop {
            let before = self.from;
            let Err(error) = self.try_read(&mut each)? else {
                return Ok(());
            };
            failures = if self.from == before { failures + 1 } else { 0 };
            if self.end.is_none() || failures == READINGS_MAX {
                return Err(error).context("reading the changes");
            }
            // A server may have opened it since.
            self.manifest = Manifest::read(&*self.disk)?;
            self.end = self.up_to.end(&self.disk, &self.manifest);
        }
    }

    fn try_read(
        &mut self,
        each: &mut impl FnMut(&Change) -> anyhow::Result<()>,
    ) -> anyhow::Result<Result<(), anyhow::Error>> {
        let before_group = match &mut self.end {
            Some(end) => match end.look() {
                Ok(group) => Some(group),
                Err(error) => return Ok(Err(error.into())),
            },
            None => None,
        };
        if before_group.is_some_and(|group| group <= self.from.group) {
            return Ok(Ok(()));
        }
        let range = self.from..;
        // Earlier readings know the tables.
        let changes = match self.changes.take() {
            Some(mut changes) => changes.go_on(range, before_group).map(|()| changes),
            None => Changes::of_files(&self.disk, &self.manifest, range, before_group),
        };
        let mut changes = match changes {
            Ok(changes) => changes,
            Err(error) => return Ok(Err(error.into())),
        };
        for change in &mut changes {
            let change = match change {
                Ok(change) => change,
                Err(error) => return Ok(Err(error.into())),
            };
            each(&change)?;
            self.from = change.next();
        }
        if let Some(group) = before_group {
            // The groups before have no further changes: a log that ended earlier would be an error.
            self.from = self.from.max(JournalPosition { group, row: 0 });
        }
        self.changes = Some(changes);
        Ok(Ok(()))
    }
}

fn line_of(change: &Change) -> anyhow::Result<Line<'_>> {
    let (group, number) = change.transaction();
    Ok(Line {
        position: change.position().to_string(),
        next: change.next().to_string(),
        transaction: format!("{group}:{number}"),
        table: change.table(),
        change: change.kind().word(),
        before: change.before()?.as_ref().map(object_of).transpose()?,
        after: change.after()?.as_ref().map(object_of).transpose()?,
    })
}

fn object_of(row: &RowRef<'_, OneRow>) -> anyhow::Result<Map<String, Json>> {
    let mut object = Map::new();
    for (number, column) in row.schema().live_columns() {
        if !sardonyx_sql::is_hidden(row.schema(), number) {
            object.insert(column.name.clone(), value_to_json(row.get_at(number)?));
        }
    }
    Ok(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sardonyx::Tables;
    use sardonyx::record;
    use sardonyx_storage::disk::RealDisk;

    record! {
        #[table("items", key = id)]
        #[derive(Debug)]
        struct Item {
            id: u64,
        }
    }

    #[test]
    fn i12_a_reader_goes_on_where_the_log_ended_and_not_where_it_should_have() {
        let machine = tempfile::tempdir().unwrap();
        let path = machine.path().join("bank.sdx");
        let commit = |id| {
            let tables = Tables::open(&path).unwrap();
            let items = tables.table::<Item>().unwrap();
            tables.keep_changes("items").unwrap();
            tables.run(|tx| tx.insert(items, &Item { id })).unwrap();
            tables.close().unwrap();
        };
        commit(1);
        let disk: Arc<dyn Disk> = Arc::new(RealDisk::open(&path).unwrap());
        // A directory that is made anew had a later end before.
        let mut manifest = Manifest::read(&*disk).unwrap();
        let end = manifest.log_end.group;
        manifest.log_end.group += 50;
        let start = JournalPosition::START;
        let mut reading = Reading::new(disk, manifest, start, UpTo::Durable);
        let mut read = || {
            let mut count = 0;
            let each = |_: &Change| {
                count += 1;
                Ok(())
            };
            reading.read(each).unwrap();
            (count, reading.from.group)
        };
        assert_eq!(read(), (1, end));
        assert_eq!(read(), (0, end));
        commit(2);
        let (count, group) = read();
        assert!(count == 1 && group > end && group < end + 50, "{group}");
    }
}
