//! Room for what a command gathers in memory for its answer: whoever asks for a large value many times must not take all
//! memory there is.
//!
//! What gathers values takes room for each and stops when there is none; whether there was enough is checked once, when
//! the command has run. It may have written by then, so that it is undone.

use crate::failure::Failure;
use crate::reply::Reply;
use sardonyx_base::memory::Exhausted;
use std::cell::Cell;

/// Room for an answer; for all those of an `EXEC` together.
#[derive(Debug)]
pub(crate) struct Room {
    most: usize,
    /// None: there was not enough.
    left: Cell<Option<usize>>,
    /// Why there is no more, if that is not the bound of an answer.
    memory: Option<Exhausted>,
}

impl Room {
    /// For so many bytes.
    pub fn new(most: usize) -> Room {
        Room {
            most,
            left: Cell::new(Some(most)),
            memory: None,
        }
    }

    /// For so many bytes, since there is no memory for more.
    pub fn bounded(most: usize, memory: Exhausted) -> Room {
        Room {
            memory: Some(memory),
            ..Room::new(most)
        }
    }

    /// Takes room for a value of so many bytes. Returns whether there was enough, for what gathers to stop.
    #[inline]
    pub fn take(&self, bytes: usize) -> bool {
        let bytes = bytes + size_of::<Reply>();
        let left = self.left.get().and_then(|left| left.checked_sub(bytes));
        self.left.set(left);
        left.is_some()
    }

    /// Whether there was enough for all.
    ///
    /// # Errors
    /// [`Failure::AnswerBytes`] or [`Failure::Memory`] if there was not.
    #[inline]
    pub fn check(&self) -> Result<(), Failure> {
        match (self.left.get(), self.memory) {
            (Some(_), _) => Ok(()),
            (None, Some(memory)) => Err(Failure::Memory(memory)),
            (None, None) => Err(Failure::AnswerBytes(self.most)),
        }
    }
}
