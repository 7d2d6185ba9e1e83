//! A snapshot: the effects of all transactions that had committed by one moment, and of no others. Any thread reads it
//! for any time, while transactions continue.
//!
//! It is the state that recovery would make of that moment. The pen is held for some microseconds. Under it the pages
//! are frozen as the ended operations left them ([`crate::frames`]), and the inverses of running transactions'
//! operations are noted. Without it these inverses are executed in the reverse order of the ends, as the undo pass
//! does. They run on copies of the pages that are the snapshot's own (`view`). No transaction waits for that, and it
//! waits for none: a page that an operation is at work on is read when the operation has ended.
//!
//! *Why it is of one commit.* Locks on objects are kept until transactions end, so the order of their ends is
//! one in which they could have run one after another. Ends are in the log's order, and the snapshot is
//! between two of them. The inverses that undo running work commute with later operations of others on the
//! same objects, as at a crash there. With a single level there are no inverses, and none are needed: pages
//! are frozen as they were before the transactions that go on.
//!
//! Commits are on stable storage when the snapshot exists. Invariant: its content depends on nothing that happens
//! later, except that it may be ended, and then its reads return an error.

mod copies;
mod records;
mod view;

pub use records::Records;

use crate::areas::Areas;
use crate::error::{CallError, DatabaseError};
use crate::nesting::{executing, is_executing};
use crate::operation::Operation;
use crate::pages::Stop;
use crate::records::Table;
use crate::records::memory::TableMemory;
use crate::shared::Shared;
use sardonyx_base::hash::IntegerMap;
use sardonyx_rows::{Record, TableError};
use sardonyx_storage::log::LogError;
use sardonyx_storage::store::{PageSnapshot, SnapshotEnded};
use std::sync::Arc;
use view::{Private, View};

/// The state of a database at one commit: [`Database::snapshot`](crate::Database::snapshot). It is read by
/// operations that change nothing; they ask for no locks. Clones are the same snapshot.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// Until it is dropped.
    state: Option<Arc<State>>,
}

#[derive(Debug)]
struct State {
    frozen: Frozen,
    private: Private,
}

/// The state when it was taken.
#[derive(Debug)]
struct Frozen {
    shared: Arc<Shared>,
    /// True if pages are an operation's until it ends, or else a transaction's.
    two_levels: bool,
    pages: Arc<PageSnapshot>,
    areas: Arc<Areas>,
    tables: IntegerMap<u16, Arc<TableMemory>>,
}

impl Snapshot {
    pub(crate) fn take(shared: &Arc<Shared>, two_levels: bool) -> Result<Snapshot, DatabaseError> {
        shared.check_process()?;
        if is_executing() {
            return Err(DatabaseError::Nested);
        }
        shared.check()?;
        let mut unit_log = shared.unit_log()?;
        if unit_log.closed {
            return Err(LogError::Closed.into());
        }
        let open = unit_log.open_operations()?;
        let areas = shared.areas();
        let show = |table: &Arc<TableMemory>| {
            let shows = TableMemory::show(table.clone(), areas.clone());
            (table.number(), Arc::new(shows))
        };
        let frozen = Frozen {
            shared: shared.clone(),
            two_levels,
            pages: shared.frames.snapshot()?,
            tables: areas.tables().map(show).collect(),
            areas: areas.clone(),
        };
        let group = unit_log.last_group();
        shared.force(unit_log, group)?;
        let mut private = Private::behind(frozen.pages.pages());
        for (operation, bytes) in open {
            let mut view = View::of(&frozen, &mut private);
            let undone = shared.operations.execute(operation, &bytes, &mut view);
            if view.is_ended() {
                return Err(TableError::from(SnapshotEnded).into());
            }
            undone?;
        }
        let state = Some(Arc::new(State { frozen, private }));
        Ok(Snapshot { state })
    }

    fn state(&self) -> &State {
        self.state
            .as_deref()
            .expect("it is there until it is dropped")
    }

    /// Executes an operation on it. The pages that it reads are kept in memory until it ends.
    ///
    /// # Errors
    /// [`CallError::Failed`] with the operation's own error: of [`Stop::SnapshotEnded`] if the snapshot was
    /// ended, of [`Stop::ReadOnly`] if the operation changes something. [`CallError::Nested`] within an
    /// operation. [`CallError::Engine`] in a forked child.
    pub fn call<O: Operation>(&self, operation: &O) -> Result<O::Output, CallError<O::Error>> {
        let State { frozen, private } = self.check()?;
        let mut view = View::of(frozen, private);
        let outcome = executing(|| operation.execute(&mut view));
        frozen.shared.check_process()?;
        if view.is_ended() {
            return Err(CallError::Failed(Stop::from(SnapshotEnded).into()));
        }
        outcome.map_err(CallError::Failed)
    }

    /// Looks whether reading may begin.
    fn check<E: std::error::Error + 'static>(&self) -> Result<&State, CallError<E>> {
        if is_executing() {
            return Err(CallError::Nested);
        }
        let state = self.state();
        state.frozen.shared.check_process()?;
        Ok(state)
    }

    /// All records of a table, in no particular order.
    pub fn records<R: Record>(&self, table: Table<R>) -> Records<'_, R> {
        Records::new(self, table)
    }

    /// True if it was ended: every read returns an error, except those of unchanged pages.
    pub fn is_ended(&self) -> bool {
        let frozen = &self.state().frozen;
        frozen.pages.is_ended() || frozen.tables.values().any(|table| table.check().is_err())
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let state = self.state.take();
        if state
            .as_ref()
            .is_some_and(|state| state.frozen.shared.is_forked())
        {
            // Others may have had its locks.
            std::mem::forget(state);
        }
    }
}
