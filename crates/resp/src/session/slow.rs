//! `SLOWLOG`: which commands took long.

use super::Session;
use super::monitor::hides_from;
use crate::command::line::Line;
use crate::command::words::is;
use crate::command::{Command, subcommands};
use crate::failure::Failure;
use crate::number::parse_integer;
use crate::reply::Reply;
use crate::slow::{Entry, SLOWER_THAN};
use std::time::Instant;

/// So many entries are said, unless more are asked for.
const SAID: usize = 10;

impl Session {
    pub(super) fn slowlog(&self, line: &Line) -> Result<Reply, Failure> {
        let log = &self.keyspace.shared().slow;
        match line.part(1) {
            word if is(word, "len") => Ok(Reply::count(log.len())),
            word if is(word, "reset") => {
                log.reset();
                Ok(Reply::Ok)
            }
            word if is(word, "get") && line.len() > 3 => {
                let word = String::from_utf8_lossy(word);
                Err(Failure::Said(format!(
                    "ERR unknown subcommand or wrong number of arguments for '{word}'. Try SLOWLOG HELP."
                )))
            }
            word if is(word, "get") => {
                let count = match line.len() {
                    2 => SAID,
                    _ => match parse_integer(line.part(2)).filter(|count| *count >= -1) {
                        Some(-1) => usize::MAX,
                        Some(count) => count as usize,
                        None => {
                            return Err(Failure::Told(
                                "ERR count should be greater than or equal to -1",
                            ));
                        }
                    },
                };
                Ok(Reply::Array(log.newest(count).iter().map(said).collect()))
            }
            _ => Ok(subcommands::help("slowlog")),
        }
    }

    /// True if commands are noted that are fast, if they took long nevertheless.
    pub(super) fn notes_fast(&self) -> bool {
        let slower_than = self.keyspace.shared().slow.slower_than();
        (0..SLOWER_THAN).contains(&slower_than)
    }

    /// Notes a command of the connection that took long, if those that are fast are to be kept.
    pub(super) fn note_slow(&self, command: &Command, line: &Line, began: Instant) {
        if !self.notes_fast() || command.name == "exec" {
            return;
        }
        let slower_than = self.keyspace.shared().slow.slower_than();
        let micros = i64::try_from(began.elapsed().as_micros()).unwrap_or(i64::MAX);
        if micros >= slower_than {
            let parts = line.parts(0).enumerate();
            let secret = hides_from(command, line).unwrap_or(usize::MAX);
            let parts = parts.map(|(place, part)| match place < secret {
                true => part,
                false => b"(redacted)",
            });
            let line = Line::of(&parts.collect::<Vec<_>>());
            self.pending.keep_slow(vec![(line, micros)]);
        }
    }

    /// Keeps the commands of a flight that took long.
    pub(super) fn keep_slow(&self) {
        if let Some(slow) = self.pending.take_slow() {
            let log = &self.keyspace.shared().slow;
            let now = self.options.clock.now();
            let name = self.client.identity().name;
            for (line, micros) in slow {
                log.keep(&line, micros, now, self.client.address_text(), name.clone());
            }
        }
    }
}

fn said(entry: &Entry) -> Reply {
    Reply::Array(vec![
        Reply::Int(entry.id),
        Reply::Int(entry.at / 1000),
        Reply::Int(entry.micros),
        Reply::bulks(entry.parts.iter().cloned()),
        Reply::Bulk(entry.address.clone().into_bytes()),
        Reply::Bulk(entry.name.clone()),
    ])
}
