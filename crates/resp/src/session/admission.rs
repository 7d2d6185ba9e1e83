//! Admission: a command is refused if it is unknown, not permitted, or not allowed at this point.

use super::{Permission, Session};
use crate::command::line::Line;
use crate::command::words::is;
use crate::command::{
    self, ADMIN, ALONE, CALLS, Command, MESSAGES, MORE, NO_KEYS, OPEN, WRITE, subcommands, waiting,
};
use crate::failure::{Failure, NO_MEMORY};
use crate::reply::Reply;

impl Session {
    /// The answer to a command that is refused before it runs: the commands since `MULTI` will not run, either. A refused
    /// `EXEC` ends the transaction.
    pub(super) fn refuse_queue(&mut self, line: &Line, failure: &Failure) -> Reply {
        let text = failure.to_string();
        let is_exec = command::find(line.part(0)).is_some_and(|found| found.name == "exec");
        match &mut self.queue {
            Some(_) if is_exec => {
                self.queue = None;
                self.watched = None;
                let reason = text.strip_prefix("ERR ").unwrap_or(&text);
                Reply::Error(format!(
                    "EXECABORT Transaction discarded because of: {reason}"
                ))
            }
            Some(queue) => {
                queue.refused = true;
                Reply::Error(text)
            }
            None => Reply::Error(text),
        }
    }

    /// The command of a line, if it may be run.
    pub(super) fn admit(&self, line: &Line) -> Result<&'static Command, Failure> {
        let Some(command) = command::of_line(line) else {
            return Err(unknown(line));
        };
        if self.permission.is_none() && !command.is(OPEN) {
            return Err(Failure::Told("NOAUTH Authentication required."));
        }
        if !command.takes(line.len()) {
            return Err(command.wrong_arguments());
        }
        subcommands::check(command, line)?;
        let is_for_admin = is_for_admin(command, line);
        let is_allowed = match self.permission {
            Some(Permission::Nothing) => {
                let tells_of_keys = matches!(command.name, "info" | "lastsave");
                let is_of_connection =
                    command.run.is_none() && command.keys == NO_KEYS && !command.is(MESSAGES);
                is_of_connection && !tells_of_keys && !is_for_admin
            }
            // A user that may only read begins no checkpoint, and changes no setting, either.
            Some(Permission::Read) => {
                let reads_settings = command.name == "config" && !is(line.part(1), "set");
                !(command.is(WRITE) || is_for_admin && !reads_settings)
            }
            Some(Permission::Write) | None => true,
        };
        if !is_allowed {
            let name = match command.is(ADMIN) {
                false if is_for_admin => subcommands::full_name(command, line),
                _ => command.name.to_string(),
            };
            return Err(Failure::Said(format!(
                "NOPERM User has no permissions to run the '{name}' command"
            )));
        }
        self.check_memory(command, line)?;
        let changes = command.is(WRITE) || matches!(command.name, "save" | "bgsave");
        if changes && self.keyspace.only_reads() {
            return Err(Failure::Told(
                "READONLY You can't write against a read only replica.",
            ));
        }
        if command.is(MESSAGES) && self.keyspace.only_reads() {
            return Err(Failure::Told(
                "ERR messages are sent and heard at the server that has the database open: connect to that one",
            ));
        }
        if self.keyspace.only_reads() && waiting::may_wait(command, line) {
            return Err(Failure::Told(
                "ERR a client waits at the server that has the database open: connect to that one, or read without BLOCK",
            ));
        }
        self.check_listens(command, line)?;
        if self.queue.is_some() && command.is(ALONE) {
            return Err(Failure::Told(
                "ERR Command not allowed inside a transaction",
            ));
        }
        Ok(command)
    }
}

impl Session {
    /// True if the client may read keys, and so may learn their names.
    pub(super) fn may_read_keys(&self) -> bool {
        !matches!(self.permission, None | Some(Permission::Nothing))
    }

    /// Refuses commands that may add data if the process takes more than `maxmemory`. Scripts declare themselves if
    /// they add data.
    #[inline]
    fn check_memory(&self, command: &Command, line: &Line) -> Result<(), Failure> {
        match self.keyspace.shared().settings.memory_is_over() && self.may_add(command, line) {
            true => Err(NO_MEMORY),
            false => Ok(()),
        }
    }

    fn may_add(&self, command: &Command, line: &Line) -> bool {
        let adds =
            |command: &Command| command.is(MORE) && !command.is(CALLS) && !is_script(command);
        match command.name {
            "exec" => {
                let mut calls = self.queue.iter().flat_map(|queue| &queue.calls);
                calls.any(|call| adds(call.command))
            }
            "function" => is(line.part(1), "load") || is(line.part(1), "restore"),
            _ => adds(command),
        }
    }
}

fn is_script(command: &Command) -> bool {
    command.name.starts_with("eval")
}

/// The subcommands of `CLIENT` about other clients: as in Redis, they are for administrators.
const OF_OTHERS: [&str; 5] = ["kill", "list", "pause", "unblock", "unpause"];

fn is_for_admin(command: &Command, line: &Line) -> bool {
    command.is(ADMIN)
        || command.name == "client" && OF_OTHERS.iter().any(|name| is(line.part(1), name))
}

/// Redis' error for an unknown command: so many bytes of its name, and of its arguments.
fn unknown(line: &Line) -> Failure {
    const SHOWN_MAX: usize = 128;
    let shown = |part: &[u8], most: usize| {
        String::from_utf8_lossy(&part[..part.len().min(most)]).into_owned()
    };
    let mut arguments = String::new();
    for part in line.parts(1) {
        let Some(most @ 1..) = SHOWN_MAX.checked_sub(arguments.len()) else {
            break;
        };
        arguments.push_str(&format!("'{}' ", shown(part, most)));
    }
    let name = shown(line.part(0), SHOWN_MAX);
    Failure::Said(format!(
        "ERR unknown command '{name}', with args beginning with: {arguments}"
    ))
}
