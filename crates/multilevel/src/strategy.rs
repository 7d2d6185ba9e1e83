//! The strategies: the release of locks on pages, and the time at which changes reach the log.
//!
//! ```text
//!                          page locks until    in the log            forced
//!   SingleLevel (S1)       EOT                 a unit at EOT         at EOT
//!   ForcedSubtransactions  EOS                 a unit at each EOS    at each EOS, and at EOT
//!   (S2)
//!   PersistenceSpheres     EOS                 a unit for the        at EOT
//!   (S2/PS)                                    spheres at EOT
//!   OrderedLog             EOS                 a unit at each EOS    the log up to here, at EOT
//! ```
//!
//! EOS is the end of a subtransaction, EOT that of a transaction. The log keeps a *unit* whole or not at all: redo
//! records, undo entries and the ends of transactions together.
//!
//! Each strategy's own part is a module, behind one trait, `Protocol`: `single_level`, `forced`, `spheres`, `ordered`.
//! A transaction calls its protocol at four moments: before the first change of a page, at the end of an operation, at
//! the end of a compensation, and at its own end.
//!
//! Source: DASDBS paper, section 3.1 (Figure 5), and section 4: the prefix flush of one ordered log is
//! its "emulation of ARIES".

mod forced;
pub(crate) mod ordered;
mod single_level;
mod spheres;

use crate::changes::Changed;
use crate::error::DatabaseError;
use crate::pages::Stop;
use crate::shared::Shared;
use crate::subtransaction::Subtransaction;
use crate::transaction::{Completed, Progress, Transaction};
use crate::unit_log::UnitLog;
use sardonyx_storage::log::LogError;
use sardonyx_storage::log::record::RECORD_HEAD_BYTES;
use sardonyx_storage::page::PageId;
use std::fmt;
use std::sync::Arc;

/// The strategy by which transactions lock pages and write the log. It is chosen at each opening; the format on disk is
/// the same for all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// S1: page-oriented single-level transactions, strict two-phase locking on pages. Locks on
    /// objects are not taken, nor are inverses kept: a transaction is undone by its before-images.
    SingleLevel,
    /// S2: two-level transactions, the log forced at the end of every subtransaction that changed
    /// something.
    ForcedSubtransactions,
    /// S2/PS: two-level transactions, writing deferred to the end of the transaction by means of
    /// persistence spheres.
    PersistenceSpheres {
        /// A sphere that grows beyond so many pages is written at once, without waiting for it. So are all spheres
        /// when together they are a quarter of the largest unit. So the spheres with which a transaction ends always
        /// fit into one unit.
        pages_max: usize,
    },
    /// Two-level transactions on one ordered log. A subtransaction is appended when it ends. It becomes durable when a
    /// later end of a transaction, or a full group, takes the log so far to the disk. The default: it writes more
    /// bytes than spheres do where transactions change the same pages. But byte ranges are small, and nothing has to
    /// be kept track of.
    #[default]
    OrderedLog,
}

impl Strategy {
    /// [`Strategy::PersistenceSpheres`] with spheres of at most 256 pages.
    pub const SPHERES: Strategy = Strategy::PersistenceSpheres { pages_max: 256 };

    /// The DASDBS paper's name, or ours.
    pub fn name(self) -> &'static str {
        match self {
            Strategy::SingleLevel => "S1",
            Strategy::ForcedSubtransactions => "S2",
            Strategy::PersistenceSpheres { .. } => "S2/PS",
            Strategy::OrderedLog => "ordered log",
        }
    }

    /// Its protocol for transactions.
    pub(crate) fn protocol(self) -> Box<dyn Protocol> {
        match self {
            Strategy::SingleLevel => Box::new(single_level::SingleLevel),
            Strategy::ForcedSubtransactions => Box::new(forced::Forced),
            Strategy::PersistenceSpheres { pages_max } => {
                Box::new(spheres::InSpheres { pages_max })
            }
            Strategy::OrderedLog => Box::new(ordered::Ordered),
        }
    }
}

/// The part of a changed page that goes to the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PageLog {
    /// The whole page, as in the DASDBS paper (the DB Cache method).
    AfterImages,
    /// The ranges of bytes that changed.
    #[default]
    ByteRanges,
}

/// The time when a committing transaction releases its locks on objects (and, in [`Strategy::SingleLevel`], on pages).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Release {
    /// When its end is in the log, before that is durable. A transaction that then reads its writes is behind it in the
    /// log, and so is never durable without it. One that only reads waits until the data that it read is durable.
    #[default]
    Appended,
    /// When it is durable, as usual.
    Durable,
}

/// The inverse of an operation that ends: its number and its bytes.
pub(crate) type NumberedInverse = (u32, Arc<[u8]>);

/// Refuses an operation whose changes do not fit into a unit with its inverse, or whose inverse might not: it may take so
/// many pages.
fn check_size(
    unit_log: &UnitLog<'_>,
    changed: &[Changed],
    inverse: Option<&NumberedInverse>,
    inverse_pages: u64,
) -> Result<(), DatabaseError> {
    let inverse = inverse.map_or(0, |(_, bytes)| bytes.len());
    let puts_back = unit_log.put_back_bytes(inverse, inverse_pages);
    let bytes = unit_log.log_bytes(changed) + inverse.max(puts_back);
    let limit = unit_log.change_bytes_max();
    if bytes + RECORD_HEAD_BYTES <= limit {
        return Ok(());
    }
    Err(DatabaseError::TooLarge { bytes, limit })
}

/// The acts of a strategy at the moments of a transaction.
pub(crate) trait Protocol: fmt::Debug + Send + Sync {
    /// True if pages are an operation's until it ends, and objects the transaction's until that ends. If not, pages are
    /// the transaction's, and it has neither locks on objects nor inverses.
    fn has_two_levels(&self) -> bool {
        true
    }

    /// Before a subtransaction first changes a page, which it has locked exclusively.
    fn begin_to_write(&self, shared: &Shared, page: PageId) -> Result<(), Stop> {
        let _ = (shared, page);
        Ok(())
    }

    /// A subtransaction was undone: these pages, which it has locked still, are as before.
    fn undone(&self, shared: &Shared, pages: &mut dyn Iterator<Item = PageId>) {
        let _ = (shared, pages);
    }

    /// The end of an operation that changed something, while its pages are locked. With an error it is
    /// to be undone; the inner error is the log's after the operation has ended.
    fn end_of_operation(
        &self,
        transaction: &Transaction<'_>,
        operation: &mut Subtransaction<'_>,
        inverse: Option<NumberedInverse>,
    ) -> Result<Result<(), LogError>, DatabaseError>;

    /// The end of the compensation of the operation that ended last, while its pages are locked.
    fn end_of_compensation(
        &self,
        compensation: &mut Subtransaction<'_>,
        of: &Completed,
        unit_log: &mut UnitLog<'_>,
        progress: &mut Progress,
    ) -> Result<(), DatabaseError>;

    /// The end of a transaction, committed or with all of its operations compensated. Returns the group that must be
    /// durable before the transaction is, and true if it wrote. If it wrote nothing, the group is that of the newest
    /// change that it can have read.
    fn end_of_transaction(
        &self,
        transaction: &Transaction<'_>,
        unit_log: &mut UnitLog<'_>,
        committed: bool,
    ) -> Result<(u64, bool), DatabaseError>;
}
