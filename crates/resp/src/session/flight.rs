//! Flights: commands that were received together, and the rest of the flight before.

use crate::command;
use crate::command::line::Line;
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
