//! The end of a node's log: how a survivor closes it, and how the node finds out (I12).
//!
//! A log takes a group only at its end: *append at this place* succeeds if the place is free, and is refused otherwise
//! with the group there. The keeper of the log ensures that: a killed process's disk files, a store by put-if-absent,
//! a server that compares the place. Then no clock and no lease can let two write. A survivor appends a *closing
//! group* of a later epoch at the end, and nothing behind that is ever a part of the log. The node, be it slow or
//! stopped for hours, is refused at that very place when it appends its next group. It must not acknowledge anything
//! that it does not know to be durable.
//!
//! ```
//! use sardonyx_sharing::protocol::fence::{Appender, Closer, Occupied};
//! use sardonyx_sharing::protocol::Epoch;
//!
//! let (mut node, mut survivor) = (Appender::new(1), Closer::new(1));
//! // The node's first group is there before the survivor's, which then goes behind it.
//! assert_eq!(node.place().unwrap(), 1);
//! node.answer(Ok(())).unwrap();
//! assert_eq!(survivor.answer(Err(Occupied::Redo)), None);
//! assert_eq!((survivor.place(), survivor.answer(Ok(()))), (2, Some(2)));
//! // The node's second group finds the fence.
//! assert_eq!(node.place().unwrap(), 2);
//! assert!(node.answer(Err(Occupied::Closing(Epoch(5)))).is_err());
//! assert!(node.place().is_err(), "for ever");
//! ```

use super::Epoch;

/// The group at the place of an append.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Occupied {
    /// A group with transactions.
    Redo,
    /// The group of this epoch that closes the log.
    Closing(Epoch),
}

/// A node's log takes nothing from it any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Fenced {
    /// A survivor has closed it.
    #[error(
        "this node's log was closed at group {place} in epoch {epoch}: the other nodes believe that it failed. What \
         it had not acknowledged did not happen; it may join again under a new number"
    )]
    Closed {
        /// The place of the closing group.
        place: u64,
        /// The epoch of the closing group.
        epoch: Epoch,
    },
    /// Another node appends to it.
    #[error("group {place} of this node's log is not its own: two nodes were given the same log")]
    Foreign {
        /// The place of the group.
        place: u64,
    },
}

/// A node's own end of its log: one group at a time.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Appender {
    next: u64,
    fenced: Option<Fenced>,
}

impl Appender {
    /// The end of a log whose next group is this.
    pub fn new(next: u64) -> Self {
        Appender { next, fenced: None }
    }

    /// The place of the next group.
    ///
    /// # Errors
    /// [`Fenced`]: nowhere, for ever.
    pub fn place(&self) -> Result<u64, Fenced> {
        self.fenced.map_or(Ok(self.next), Err)
    }

    /// The result of the group at [`Appender::place`]. If it is there it is durable, and its transactions may be
    /// acknowledged.
    ///
    /// # Errors
    /// [`Fenced`]: its transactions did not happen.
    pub fn answer(&mut self, appended: Result<(), Occupied>) -> Result<(), Fenced> {
        let place = self.place()?;
        let fenced = match appended {
            Ok(()) => {
                self.next += 1;
                return Ok(());
            }
            Err(Occupied::Closing(epoch)) => Fenced::Closed { place, epoch },
            Err(Occupied::Redo) => Fenced::Foreign { place },
        };
        self.fenced = Some(fenced);
        Err(fenced)
    }
}

/// A survivor that closes another node's log.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Closer {
    place: u64,
}

impl Closer {
    /// Begins at this group or any later one that is known to be in the log.
    pub fn new(place: u64) -> Self {
        Closer { place }
    }

    /// The place at which the closing group is to be appended.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// The result of that append. Returns the closing group's number if the log is closed now: by this survivor, or by
    /// one that died before it could say so. Otherwise the node was faster, and the closing group goes behind its own.
    pub fn answer(&mut self, appended: Result<(), Occupied>) -> Option<u64> {
        match appended {
            Ok(()) | Err(Occupied::Closing(_)) => Some(self.place),
            Err(Occupied::Redo) => {
                self.place += 1;
                None
            }
        }
    }
}
