//! A Redis' file: its keys and its libraries of functions.

use super::{Arguments, OnError, TOLD_MAX};
use crate::export::{is_standard, progress};
use crate::opened::Opened;
use anyhow::Context;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_resp::import::{ImportError, Imported, Importer, RefusedItem};
use sardonyx_resp::rdb::file::RdbFile;
use sardonyx_resp::{Clock, Keyspace, SystemClock};
use sardonyx_results::units;
use serde_json::json;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};

/// So many bytes are read at once.
const READ_BYTES: usize = 1 << 20;

impl Arguments {
    /// Imports the keys of the file.
    pub(super) fn keys(&self, output: &mut Output) -> anyhow::Result<Exit> {
        self.check_keys()?;
        let name = || self.file().display().to_string();
        if !self.create {
            // The database must exist.
            self.target.disk()?;
        }
        // A damaged file is found before the database is opened, or made.
        let (mut source, length): (Box<dyn BufRead>, u64) = match is_standard(self.file()) {
            true => (Box::new(BufReader::new(io::stdin())), 0),
            false => {
                let file = File::open(self.file()).with_context(name)?;
                let length = file.metadata().with_context(name)?.len();
                if file.metadata().with_context(name)?.is_file() {
                    let mut whole = RdbFile::new(buffered(&file)).with_context(name)?;
                    while whole.next_item().with_context(name)?.is_some() {}
                    io::Seek::rewind(&mut &file).with_context(name)?;
                }
                (Box::new(BufReader::with_capacity(READ_BYTES, file)), length)
            }
        };
        let held = match self.create {
            true => self.target.database_or_new(&self.moved, &self.store)?,
            false => self.target.database(&self.moved, &self.store)?,
        };
        let opened = Opened::of_tables(held)?;
        let bar = progress(length, "bytes");
        let imported = self.stored(&opened, &mut source, output, |at| bar.set_position(at));
        bar.finish_and_clear();
        let imported = imported?;
        // Nothing waited for the disk so far.
        opened.close()?;
        report(imported, output)?;
        Ok(match imported.refused {
            0 => Exit::Done,
            _ => Exit::Found,
        })
    }

    /// Refuses options of rows.
    fn check_keys(&self) -> anyhow::Result<()> {
        let of_rows = [
            (self.delimiter.is_some(), "--delimiter"),
            (!self.key.is_empty(), "--key"),
            (self.batch.is_some(), "--batch"),
        ];
        if let Some((_, option)) = of_rows.iter().find(|(is_given, _)| *is_given) {
            let text = format!("{option} is for rows, and an RDB file has keys");
            return Err(UsageError::Arguments(text).into());
        }
        self.node.refuse("an RDB file")?;
        Ok(())
    }

    /// Stores the items of the file.
    fn stored(
        &self,
        opened: &Opened,
        source: &mut dyn BufRead,
        output: &Output,
        position: impl Fn(u64),
    ) -> anyhow::Result<Imported> {
        let name = self.file().display().to_string();
        let tables = opened
            .tables()
            .context("the tables are not in this process")?;
        let mut count = 0;
        let refused = |item: &RefusedItem| {
            if self.on_error == OnError::Stop {
                return false;
            }
            count += 1;
            match count {
                ..=TOLD_MAX => output.note(&format!("{name}, {item}")),
                count if count == TOLD_MAX + 1 => output.note("more bad keys are counted only"),
                _ => {}
            }
            true
        };
        let keyspace = Keyspace::open(tables.clone())?;
        let mut importer = Importer::new(keyspace, SystemClock.now(), refused)?;
        let mut file = RdbFile::new(source).with_context(|| name.clone())?;
        loop {
            let item = file.next_item().with_context(|| {
                let keys = units::count(importer.stored().keys);
                format!("{name}: {keys} keys before were stored")
            })?;
            let done = match item {
                Some(item) => importer.add(item).map(|()| None),
                None => importer.finish().map(Some),
            };
            match done {
                Ok(None) => position(file.position()),
                Ok(Some(imported)) => return Ok(imported),
                Err(ImportError::Refused(item)) => anyhow::bail!(
                    "{name}, {item}; {} keys of earlier transactions were stored (--on-error skip leaves bad keys out)",
                    units::count(importer.stored().keys)
                ),
                Err(error) => return Err(error).with_context(|| name.clone()),
            }
        }
    }
}

fn buffered(file: &File) -> BufReader<&File> {
    BufReader::with_capacity(READ_BYTES, file)
}

fn report(imported: Imported, output: &mut Output) -> anyhow::Result<()> {
    let Imported {
        keys,
        expired,
        libraries,
        refused,
    } = imported;
    if output.is_json() {
        return output.value(&json!({
            "keys": keys, "expired_keys": expired, "libraries": libraries, "bad_keys": refused,
        }));
    }
    let [keys, expired, libraries, refused] = [keys, expired, libraries, refused].map(units::count);
    Ok(writeln!(
        output,
        "{keys} keys and {libraries} libraries stored, {expired} expired keys left out, {refused} bad keys"
    )?)
}
