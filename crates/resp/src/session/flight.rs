//! Flights: commands that were received together, and the rest of the flight before; lines that end one, or that are none.

use super::counted::Counted;
use crate::command::line::{Line, ProtocolError};
use crate::command::{self, waiting};
use crate::reply::{Reply, Version};
use crate::request::{Selected, What};

/// Commands that were received together.
#[derive(Debug, Default)]
pub struct Flight {
    /// The rest of the flight before.
    pub(super) rest: Vec<Rest>,
    pub(super) lines: Vec<Line>,
}

/// A command of a flight that was answered in part.
#[derive(Debug)]
pub(super) struct Rest {
    pub what: RestOf,
    /// `None` if its client wants no answer.
    pub version: Option<Version>,
    pub counted: Counted,
}

#[derive(Debug)]
pub(super) enum RestOf {
    Answered(Reply),
    Postponed(What, Selected),
}

impl Flight {
    /// The number of commands.
    pub fn len(&self) -> usize {
        self.rest.len() + self.lines.len()
    }

    /// True if there are no commands.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty() && self.lines.is_empty()
    }

    /// The name of its first command: one of the known names, so that it reveals nothing of the received text.
    pub fn first_name(&self) -> &'static str {
        let first = self.lines.first();
        let command = first.and_then(|line| command::find(line.part(0)));
        command.map_or("unknown", |command| command.name)
    }

    /// The commands, in their order.
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }
}

/// True if a command may authenticate the client.
pub(super) fn says_who(line: &Line) -> bool {
    let command = command::find(line.part(0));
    command.is_some_and(|command| matches!(command.name, "auth" | "hello"))
}

/// True if a command may wait.
pub(super) fn may_wait(line: &Line) -> bool {
    // Few names are looked for.
    waiting::is_of_blocking(line.part(0))
        && command::find(line.part(0)).is_some_and(|command| waiting::may_wait(command, line))
}

/// Refuses the first line of an HTTP request with a body, and the header that every request has.
///
/// A web page of any site can make a browser send such a request, with commands as its body, to a port on the user's
/// own machine. Redis ends the connection at the same two words.
pub(super) fn not_http(line: Option<Line>) -> Result<Option<Line>, ProtocolError> {
    let is_http = |line: &Line| {
        let word = line.part(0);
        word.eq_ignore_ascii_case(b"post") || word.eq_ignore_ascii_case(b"host:")
    };
    match line {
        Some(line) if is_http(&line) => Err(ProtocolError::Http),
        line => Ok(line),
    }
}
