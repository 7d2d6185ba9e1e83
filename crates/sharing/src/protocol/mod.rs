//! The protocols by which nodes share one database: concurrency and coherency control as pure state
//! machines (GEM paper, sections 2 and 3.2).
//!
//! A machine is fed an [`Input`] and answers with [`Output`]s. It has no clock, socket or thread. The shell around it
//! is the simulation, a test or a real node. It carries messages, holds the entries of the global lock table, keeps the
//! page buffer and does the I/O.
//!
//! It has two protocols, both page locking with strict two-phase locks, FORCE or NOFORCE. [`gem::GemLocking`] is for
//! nodes that share memory, and [`primary_copy::PrimaryCopy`] for nodes that only send messages. Invariants of both: a
//! page locked for writing is locked by no other transaction. The version that a grant names is the newest committed
//! one, and is at the granted place. Storage never gets an older version over a newer one. The machines' answers depend
//! on their inputs only (I11).
//!
//! Each [`Input`] and [`Output`] states the shell's duties. Above all, each message arrives exactly once, in any order;
//! [`channel`] ensures it on a bad network. A modified copy stays in its buffer until it is on storage
//! ([`Input::WrittenBack`]) or another node answers for it ([`Output::Discard`]). A read from storage that was begun
//! for a transaction and outlives it is dropped. A failed node that comes back has a new [`NodeId`].
//!
//! Two more machines provide the protocols' assumptions about a failed node. By [`membership`], all nodes know the
//! members, and one of them recovers each failed node. By [`fence`], a node that was shut out, but lives, has no more
//! effect.

pub mod assignment;
pub mod channel;
pub mod counters;
pub mod division;
pub mod entry;
pub mod epoch;
mod error;
pub mod event;
pub mod fence;
pub mod gem;
mod home;
pub mod identity;
pub mod membership;
pub mod message;
pub mod mode;
pub mod primary_copy;
pub mod probe;
pub mod store;

pub use assignment::Assignment;
pub use counters::Counters;
pub use division::{Division, DivisionError};
pub use entry::Entry;
pub use epoch::Epoch;
pub use error::{AccessError, ForeignMessage};
pub use event::{Input, Output};
pub use gem::{GemLocking, GemOptions};
pub use identity::{NodeId, PageId, Psn, TransactionId};
pub use message::{Declared, Message, Versions};
pub use mode::{LockMode, Outcome, PageSource, PageTransfer, UpdateStrategy};
pub use primary_copy::{PrimaryCopy, PrimaryCopyOptions};
pub use probe::Probe;
pub use store::{EntryStore, MemoryEntries};

/// One node's machine.
pub trait Protocol {
    /// Takes one event, and appends to `outputs` what the shell is to do, in this order.
    ///
    /// # Errors
    /// [`ForeignMessage`]: the sender runs another protocol. Nothing is done.
    ///
    /// # Panics
    /// If the shell breaks a rule in a way that would destroy data: a second request for a page
    /// while the transaction's first one is open.
    fn handle(&mut self, input: Input, outputs: &mut Vec<Output>) -> Result<(), ForeignMessage>;

    /// Its counts so far.
    fn counters(&self) -> &Counters;

    /// True if it has nothing under way: no transaction holds or wants a lock here, and nothing is expected from the
    /// shell. (Another node's message may still come.)
    fn is_idle(&self) -> bool;
}
