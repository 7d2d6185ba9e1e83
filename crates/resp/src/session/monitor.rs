//! `MONITOR`: a client receives the commands of all clients, as soon as they are planned.

use super::Session;
use super::connection::selected;
use crate::channels::{monitor_address, shown};
use crate::command::line::Line;
use crate::command::{ADMIN, Command};
use crate::reply::Reply;
use sardonyx_base::channels::Message;
use std::fmt::Write as _;
use std::sync::Arc;

/// Commands that are shown elsewhere: `EXEC` behind those that it runs.
const NOT_SHOWN: [&str; 1] = ["exec"];

impl Session {
    /// The client receives the commands of all from here on.
    pub(super) fn monitor(&mut self) -> Reply {
        if self.monitoring.is_none() {
            self.hear_of(monitor_address());
            self.monitoring = Some(self.keyspace.shared().clients.begin_to_monitor());
        }
        Reply::Ok
    }

    /// Shows a command to monitoring clients.
    #[inline]
    pub(super) fn show(&self, command: &Command, line: &Line, now: i64) {
        if self.keyspace.shared().clients.are_watched()
            && !command.is(ADMIN)
            && !NOT_SHOWN.contains(&command.name)
        {
            let secret = hides_from(command, line);
            let parts = line.parts(0).enumerate().map(|(place, part)| match secret {
                Some(from) if place >= from => &b"(redacted)"[..],
                _ => part,
            });
            let database = match command.name {
                // The command is shown with the database that it selects.
                "select" => selected(line).unwrap_or_else(|_| self.database.get()),
                _ => self.database.get(),
            };
            self.show_parts(parts, database, now);
        }
    }

    /// The same of one that is known by its name alone.
    pub(super) fn show_by_name(&self, name: &str, now: i64) {
        if self.keyspace.shared().clients.are_watched() {
            self.show_parts([name.as_bytes()].into_iter(), self.database.get(), now);
        }
    }

    #[cold]
    fn show_parts<'l>(&self, parts: impl Iterator<Item = &'l [u8]>, database: u8, now: i64) {
        let message = monitored(parts, database, &self.client.address_text(), now);
        if let Some(posted) = self.keyspace.shared().posting.post([message].iter()) {
            posted.durable_alone();
        }
    }
}

/// The line that monitors receive for a command, in a database, of a client at an address or of a script.
pub(crate) fn monitored<'l>(
    parts: impl Iterator<Item = &'l [u8]>,
    database: u8,
    address: &str,
    now: i64,
) -> Arc<Message> {
    let (seconds, millis) = (now.div_euclid(1000), now.rem_euclid(1000));
    let mut text = format!("{seconds}.{millis:03}000 [{database} {address}]");
    for part in parts {
        text.push_str(" \"");
        quote(&mut text, part);
        text.push('"');
    }
    shown(text.into_bytes())
}

/// The first part of a command that others must not see.
pub(super) fn hides_from(command: &Command, line: &Line) -> Option<usize> {
    match command.name {
        "auth" => Some(1),
        "hello" if line.len() > 2 => Some(2),
        _ => None,
    }
}

/// Bytes in quotes, as people read them.
fn quote(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' | b'"' => {
                text.push('\\');
                text.push(char::from(*byte));
            }
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            0x07 => text.push_str("\\a"),
            0x08 => text.push_str("\\b"),
            b' '..=b'~' => text.push(char::from(*byte)),
            // Writing to a string cannot fail.
            byte => {
                let _ = write!(text, "\\x{byte:02x}");
            }
        }
    }
}
