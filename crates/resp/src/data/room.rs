//! Room for the memory in which a command gathers its answer: a client that requests a large value many times must not
//! take all memory.
//!
//! Gathering takes room for each value and stops when there is no more; once the command has run, one check tells if
//! there was enough. The command may have written by then, so that it is undone.
//!
//! One command at a time runs in the serial stage, so that it is enough to know the available memory when it begins.
//! Several commands may run beside a long transaction: their room has a share of the memory, which grows.

use crate::failure::Failure;
use crate::pending::SMALL_BYTES;
use crate::reply::Reply;
use sardonyx_base::memory::{Exhausted, Share};
use std::cell::{Cell, RefCell};
use std::time::Instant;

/// Room for an answer; for all those of an `EXEC` together.
#[derive(Debug)]
pub(crate) struct Room {
    most: Cell<usize>,
    /// None: there was not enough.
    left: Cell<Option<usize>>,
    /// Why there is no more, if that is not the bound of an answer.
    memory: Cell<Option<Exhausted>>,
    /// The memory that is taken, where others take some at the same time.
    share: Option<RefCell<Share>>,
    #[cfg_attr(not(feature = "lua"), expect(dead_code))]
    pub scripts: Cell<Spent>,
    /// Elements that commands have made of payloads, which say so in few bytes.
    pub elements: Cell<usize>,
}

/// The memory and steps that the scripts of a transaction have taken together.
#[derive(Clone, Copy, Default, Debug)]
#[cfg_attr(not(feature = "lua"), expect(dead_code))]
pub(crate) struct Spent {
    pub steps: i64,
    /// When the first began.
    pub since: Option<Instant>,
}

/// Gathered data takes its bytes twice: as values, and as the answer made of them.
const COPIES: usize = 2;

impl Room {
    /// For so many bytes.
    pub fn new(most: usize) -> Room {
        Room {
            most: Cell::new(most),
            left: Cell::new(Some(most)),
            memory: Cell::new(None),
            share: None,
            scripts: Cell::default(),
            elements: Cell::new(0),
        }
    }

    /// For so many bytes, since there is no memory for more.
    pub fn bounded(most: usize, memory: Exhausted) -> Room {
        Room {
            memory: Cell::new(Some(memory)),
            ..Room::new(most)
        }
    }

    /// For so many bytes, each of which is taken of the memory before it is gathered.
    pub fn counted(most: usize, memory: Share) -> Room {
        Room {
            share: Some(RefCell::new(memory)),
            ..Room::new(most)
        }
    }

    /// The same room for another answer, of at most so many bytes. Returns the memory of the one before.
    pub fn renew(&self, most: usize, memory: Share) -> Option<Share> {
        self.most.set(most);
        self.left.set(Some(most));
        self.memory.set(None);
        let share = self.share.as_ref();
        share.map(|share| share.replace(memory))
    }

    /// Takes room for a value of so many bytes. False if there was not enough: then the caller stops gathering.
    #[inline]
    pub fn take(&self, bytes: usize) -> bool {
        let bytes = bytes + size_of::<Reply>();
        let left = self.left.get().and_then(|left| left.checked_sub(bytes));
        self.left.set(left);
        match (left, &self.share) {
            (Some(left), Some(share)) => self.cover(self.most.get() - left, share),
            (left, _) => left.is_some(),
        }
    }

    #[cold]
    fn cover(&self, gathered: usize, share: &RefCell<Share>) -> bool {
        let covered = match gathered <= SMALL_BYTES {
            true => Ok(()),
            false => share.borrow_mut().cover(gathered.saturating_mul(COPIES)),
        };
        if let Err(memory) = covered {
            self.memory.set(Some(memory));
            self.left.set(None);
        }
        covered.is_ok()
    }

    /// Checks that there was enough room for all.
    ///
    /// # Errors
    /// [`Failure::AnswerBytes`] or [`Failure::Memory`] if there was not.
    #[inline]
    pub fn check(&self) -> Result<(), Failure> {
        match (self.left.get(), self.memory.get()) {
            (Some(_), _) => Ok(()),
            (None, Some(memory)) => Err(Failure::Memory(memory)),
            (None, None) => Err(Failure::AnswerBytes(self.most.get())),
        }
    }
}
