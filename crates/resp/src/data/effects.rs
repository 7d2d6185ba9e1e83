//! The effects of a transaction's commands besides their changes and messages. Few commands have any, so that the others
//! neither make nor drop these lists: with short commands, that is a tenth of the time in the stage.

use super::Filled;
use crate::blocking::{Claim, Served};
use crate::command::line::Line;

/// The effects, made by the first command that has one.
#[derive(Default)]
pub(crate) struct Effects(Option<Box<Listed>>);

/// The effects of the commands that have some.
#[derive(Default)]
pub(crate) struct Listed {
    /// Actions to run once the transaction commits.
    pub committed: Vec<Box<dyn FnOnce()>>,
    /// Commands that took long, with how many microseconds.
    pub slow: Vec<(Line, i64)>,
    /// Lists, sorted sets and streams that came, and streams that got entries or went, while clients wait for some.
    pub filled: Filled,
    /// The command that waits, if it is not the one that was sent.
    pub waits: Option<Line>,
    /// Clients served from `filled`, with their answers.
    pub served: Vec<(Claim, Served)>,
}

impl Effects {
    /// The lists, to add to them.
    pub fn listed(&mut self) -> &mut Listed {
        self.0.get_or_insert_default()
    }

    #[inline]
    pub fn there(&mut self) -> Option<&mut Listed> {
        self.0.as_deref_mut()
    }

    #[inline]
    pub fn take(&mut self) -> Option<Box<Listed>> {
        self.0.take()
    }
}
