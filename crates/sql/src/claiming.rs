//! The claims of a statement, and the record of the rows that it got by `SKIP LOCKED`.
//!
//! A transaction may be run again before its commit. Its claims are there by then, and those of others have changed. So
//! a statement that is run again looks at no claims: it gets the rows that are recorded, as far as they still meet its
//! conditions, and the comparison of answers finds a difference.
//!
//! A snapshot may be older than a claim's end. So rows of one are compared with the newest state after they are claimed;
//! `SKIP LOCKED` leaves out the rows that have changed.

mod calls;

use crate::activity::Seen;
use crate::advisory::{Claim, Key, Listed, Locker};
use crate::claims::{RowHash, TableId};
use crate::error::{SqlError, code};
use crate::expression::StatementContext;
use crate::lock_modes::RowMode;
use crate::memory::bytes_of;
use crate::source::Source;
use crate::waits::{Call, Called};
use calls::{CallLog, Calls, Rounds};
use sardonyx::Snapshot;
use sardonyx::schema::Value;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A row, by its table and the hash of its key.
pub(crate) type Row = (TableId, RowHash);

/// The rows that a query with `SKIP LOCKED` got.
#[derive(Debug, Default)]
pub(crate) struct Admitted {
    /// Tables are known by their numbers: a transaction that is run again makes its own tables again.
    pub rows: HashSet<(u16, RowHash)>,
    /// The keys in the order of their claims, if the query locks rows of one table.
    pub keys: Vec<Vec<Value>>,
}

/// The outcome of a query that looked at claims, for the time when it is run again.
#[derive(Clone, Debug)]
pub(crate) enum Recorded {
    /// `SKIP LOCKED` got these rows.
    Rows(Arc<Admitted>),
    /// `NOWAIT` met no claim.
    All,
    /// `NOWAIT` was refused, or a query with `SKIP LOCKED` failed before it had its rows.
    Failed(SqlError),
}

/// The record of a statement.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClaimLog {
    /// The outcomes of its queries, in the order of their runs.
    queries: Vec<Recorded>,
    /// The calls of advisory functions.
    calls: CallLog,
    /// The lists that parts of it read.
    listings: Vec<Listing>,
    /// The states of sequences that it read, in the order of the reads.
    sequences: Vec<(Box<str>, SequenceState)>,
}

/// The last number of a sequence, and true if it was drawn.
type SequenceState = (i64, bool);

/// The most states of sequences that a statement records.
const SEQUENCES_MAX: usize = 100_000;

/// The answers about sessions that a part of a statement read: the same each time.
#[derive(Clone, Debug, Default)]
struct Listing {
    locks: OnceLock<Arc<[Listed]>>,
    sessions: OnceLock<Arc<[Seen]>>,
    awaited: OnceLock<Arc<BTreeMap<u64, Key>>>,
    counts: OnceLock<Counts>,
}

/// The transactions that changed something, and the sessions so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    pub committed: Option<u64>,
    pub sessions: u64,
}

impl Listing {
    fn is_empty(&self) -> bool {
        self.locks.get().is_none()
            && self.sessions.get().is_none()
            && self.awaited.get().is_none()
            && self.counts.get().is_none()
    }

    fn bytes(&self) -> usize {
        let locks = self.locks.get().map_or(0, |locks| size_of_val(&**locks));
        let sessions = self.sessions.get().into_iter().flat_map(|all| all.iter());
        let sessions = sessions.map(|seen| size_of::<Seen>() + seen.doing.text().len());
        let awaited = self.awaited.get().map_or(0, |awaited| awaited.len());
        locks + sessions.sum::<usize>() + awaited * size_of::<(u64, Key)>()
    }
}

/// The bytes that a record takes.
pub(crate) fn bytes_of_log(log: &ClaimLog) -> usize {
    let of_one = |one: &Recorded| match one {
        Recorded::Rows(admitted) => {
            let keys = admitted.keys.iter().map(|key| bytes_of(key));
            keys.sum::<usize>() + 2 * admitted.rows.len() * size_of::<(u16, RowHash)>()
        }
        Recorded::All => 0,
        Recorded::Failed(error) => error.message.len(),
    };
    let queries = log.queries.as_slice();
    size_of_val(queries)
        + queries.iter().map(of_one).sum::<usize>()
        + size_of_val(log.calls.as_slice())
        + log.listings.iter().map(Listing::bytes).sum::<usize>()
        + size_of_val(log.sequences.as_slice())
}

/// The part of a session's state that concerns claims.
#[derive(Debug, Default)]
pub(crate) struct SessionClaims {
    /// The session's way to the claims; `None` without a session.
    pub locker: Option<Locker>,
    /// True if rows that a statement changes are claimed: its transaction may stay open.
    pub of_changes: bool,
    /// The snapshot that the statement reads; `None` for the live state.
    pub base: Option<Snapshot>,
    /// The record of the statement, if it is run again.
    again: Option<Arc<ClaimLog>>,
    next: usize,
    next_listing: usize,
    next_sequence: usize,
    log: ClaimLog,
    /// The calls of the statement. A part of it that runs has them.
    calls: Mutex<Calls>,
}

/// Takes the calls out.
fn taken(calls: &Mutex<Calls>) -> Calls {
    std::mem::take(&mut *calls.lock().unwrap_or_else(PoisonError::into_inner))
}

impl SessionClaims {
    /// The same between two statements.
    pub fn fresh(&self) -> SessionClaims {
        SessionClaims {
            locker: self.locker.clone(),
            ..SessionClaims::default()
        }
    }

    /// Begins a statement, or runs one again by its record.
    pub fn begin(&mut self, again: Option<&Arc<ClaimLog>>, of_changes: bool) {
        self.again = again.cloned();
        self.of_changes = of_changes;
        self.next = 0;
        self.next_listing = 0;
        self.next_sequence = 0;
        self.log = ClaimLog::default();
        self.calls = Mutex::new(match again {
            Some(again) => Calls::repeating(&again.calls),
            None => Calls::default(),
        });
    }

    /// The record of the statement.
    pub fn take_log(&mut self) -> Arc<ClaimLog> {
        self.log.calls = taken(&self.calls).made;
        Arc::new(std::mem::take(&mut self.log))
    }

    /// The claims for a part of the statement.
    ///
    /// Changes are claimed only of tables in main memory: no query asks for other claims.
    pub fn claiming(
        &self,
        only_reads: bool,
        in_memory: bool,
        transaction: i64,
    ) -> Option<Claiming> {
        let locker = self.locker.clone()?;
        locker.note_transaction(transaction);
        Some(Claiming {
            locker,
            of_changes: in_memory && self.of_changes && self.again.is_none(),
            only_reads,
            base: self.base.clone(),
            calls: RefCell::new(taken(&self.calls)),
            again: self.again.clone(),
            next: Cell::new(self.next),
            next_sequence: Cell::new(self.next_sequence),
            sequences: RefCell::default(),
            recorded: (self.again.as_ref())
                .and_then(|again| again.listings.get(self.next_listing))
                .cloned(),
            listing: Listing::default(),
            log: RefCell::default(),
            newest: RefCell::default(),
        })
    }

    /// Takes the record of a part of the statement back.
    pub fn take_back(&mut self, claiming: Option<Claiming>) {
        if let Some(claiming) = claiming {
            self.next = claiming.next.get();
            self.log.queries.append(&mut claiming.log.into_inner());
            self.next_sequence = claiming.next_sequence.get();
            let sequences = &mut claiming.sequences.into_inner();
            self.log.sequences.append(sequences);
            self.calls = Mutex::new(claiming.calls.into_inner());
            if !claiming.listing.is_empty() {
                self.next_listing += 1;
                self.log.listings.push(claiming.listing);
            }
        }
    }

    /// Notes that the statement empties tables.
    pub fn empties(&self, tables: &[TableId]) {
        if let (true, None, Some(locker)) = (self.of_changes, &self.again, &self.locker) {
            tables.iter().for_each(|table| locker.hold_changed(*table));
        }
    }

    /// The place to which the transaction's locks can be given back.
    pub fn mark(&self) -> usize {
        self.locker.as_ref().map_or(0, Locker::mark)
    }

    /// Gives back the locks and claims that the transaction has taken since a mark.
    pub fn return_to(&self, mark: usize) {
        if let Some(locker) = &self.locker {
            locker.return_to(mark);
        }
    }
}

/// The claims of a part of a statement.
#[derive(Debug)]
pub(crate) struct Claiming {
    pub locker: Locker,
    of_changes: bool,
    only_reads: bool,
    base: Option<Snapshot>,
    again: Option<Arc<ClaimLog>>,
    next: Cell<usize>,
    log: RefCell<Vec<Recorded>>,
    next_sequence: Cell<usize>,
    sequences: RefCell<Vec<(Box<str>, SequenceState)>>,
    calls: RefCell<Calls>,
    /// The lists that this part read before, if the statement is run again.
    recorded: Option<Listing>,
    /// The answers that it reads.
    listing: Listing,
    /// A state that is newer than the snapshot, in which claimed rows are compared.
    newest: RefCell<Option<Snapshot>>,
}

impl Claiming {
    /// Checks that the transaction may lock rows.
    ///
    /// # Errors
    /// `25006` if it only reads.
    pub fn check(&self, mode: RowMode) -> Result<(), SqlError> {
        match self.only_reads {
            false => Ok(()),
            true => Err(SqlError::new(
                code::READ_ONLY_TRANSACTION,
                format!(
                    "cannot execute SELECT {} in a read-only transaction",
                    mode.word()
                ),
            )),
        }
    }

    /// True if the statement is run again: it makes no claims.
    pub fn is_again(&self) -> bool {
        self.again.is_some()
    }

    /// The outcome that the next query had before.
    ///
    /// # Errors
    /// `40001` if it did not run.
    pub fn recorded(&self) -> Result<Recorded, SqlError> {
        let number = self.next.replace(self.next.get() + 1);
        let log = self.again.as_ref();
        let recorded = log.and_then(|log| log.queries.get(number)).cloned();
        recorded.ok_or_else(SqlError::not_serializable)
    }

    /// The locks of all sessions. A statement that is run again lists those that it listed before.
    pub fn locks(&self, list: impl FnOnce() -> Vec<Listed>) -> Arc<[Listed]> {
        let recorded = || self.recorded.as_ref()?.locks.get().cloned();
        let locks = &self.listing.locks;
        let locks = locks.get_or_init(|| recorded().unwrap_or_else(|| list().into()));
        locks.clone()
    }

    /// All sessions, in the same way.
    pub fn sessions(&self, list: impl FnOnce() -> Vec<Seen>) -> Arc<[Seen]> {
        let recorded = || self.recorded.as_ref()?.sessions.get().cloned();
        let sessions = &self.listing.sessions;
        let sessions = sessions.get_or_init(|| recorded().unwrap_or_else(|| list().into()));
        sessions.clone()
    }

    /// The locks for which sessions wait, in the same way.
    pub fn awaited(&self, list: impl FnOnce() -> BTreeMap<u64, Key>) -> Arc<BTreeMap<u64, Key>> {
        let recorded = || self.recorded.as_ref()?.awaited.get().cloned();
        let awaited = &self.listing.awaited;
        let awaited = awaited.get_or_init(|| recorded().unwrap_or_else(|| list().into()));
        awaited.clone()
    }

    /// The counts of the database, in the same way.
    pub fn counts(&self, count: impl FnOnce() -> Counts) -> Counts {
        let recorded = || self.recorded.as_ref()?.counts.get().copied();
        let counts = &self.listing.counts;
        *counts.get_or_init(|| recorded().unwrap_or_else(count))
    }

    /// The state of a sequence. A statement that is run again gets those that it got before.
    pub fn sequence_state(
        &self,
        name: &str,
        read: impl FnOnce() -> Option<SequenceState>,
    ) -> Option<SequenceState> {
        if let Some(again) = &self.again {
            let number = self.next_sequence.replace(self.next_sequence.get() + 1);
            let recorded = again.sequences.get(number);
            return match recorded.filter(|(of, _)| **of == *name) {
                Some((_, state)) => Some(*state),
                None => read(),
            };
        }
        let state = read()?;
        let mut sequences = self.sequences.borrow_mut();
        if sequences.len() < SEQUENCES_MAX {
            sequences.push((name.into(), state));
        }
        Some(state)
    }

    /// Makes a call of an advisory function that never waits, or repeats it.
    ///
    /// # Errors
    /// As [`Calls::call`].
    pub fn call(
        &self,
        call: Call,
        make: impl FnOnce(&Locker) -> Result<Called, SqlError>,
    ) -> Result<Value, SqlError> {
        let mut calls = self.calls.borrow_mut();
        calls.call((call, &self.locker), self.is_again(), make)
    }

    /// The rounds of a query that begins to claim rows.
    pub fn rounds(&self) -> Rounds {
        self.calls.borrow_mut().rounds()
    }

    /// Begins the next round of a query: it repeats the calls of the rounds before.
    pub fn rewind(&self, rounds: &mut Rounds) {
        self.calls.borrow_mut().rewind(rounds);
    }

    /// Ends the last round of a query: the next calls are not its own.
    pub fn go_on(&self, rounds: Rounds) {
        self.calls.borrow_mut().go_on(rounds);
    }

    /// Records the outcome of a query that begins, unless [`Claiming::record_at`] sets another one. Returns the place of the
    /// record: it comes before those of queries inside this one, as they ask for theirs later.
    pub fn record(&self, recorded: Recorded) -> usize {
        let mut log = self.log.borrow_mut();
        log.push(recorded);
        log.len() - 1
    }

    /// Records the outcome of a query at its place. Records of queries inside it are forgotten: it ran them for itself.
    pub fn record_at(&self, place: usize, recorded: Recorded) {
        let mut log = self.log.borrow_mut();
        log.truncate(place);
        log.push(recorded);
    }

    /// True if rows that the statement changes are claimed.
    pub fn claims_changes(&self) -> bool {
        self.of_changes
    }

    /// Claims a row that the statement changes.
    pub fn changes(&self, table: TableId, key: &[u8], mode: RowMode) {
        if self.of_changes {
            let row = (table, self.locker.hash_of(key));
            self.locker.claim_changed(row, mode);
        }
    }

    /// Notes that the statement inserts rows.
    pub fn inserts(&self, table: TableId) {
        if self.of_changes {
            self.locker.hold_changed(table);
        }
    }

    /// Claims a row.
    ///
    /// # Errors
    /// `53400` beyond the bound.
    pub fn claim(&self, row: Row, mode: RowMode, urgent: bool) -> Result<Claim, SqlError> {
        self.locker.claim(row, mode, urgent)
    }

    /// True if a row of the snapshot, which was claimed just now, has changed in a newer state. That state may be older
    /// than the claim: [`Claiming::renew`] takes another one.
    ///
    /// # Errors
    /// Rows that cannot be read; an interruption.
    pub fn is_stale(
        &self,
        context: &StatementContext,
        table: u16,
        key: &[Value],
    ) -> Result<bool, SqlError> {
        let Some(base) = &self.base else {
            return Ok(false);
        };
        if self.newest.borrow().is_none() {
            self.renew(context)?;
        }
        let newest = self.newest.borrow();
        let Some(newest) = &*newest else {
            return Ok(false);
        };
        Ok(row_of(base, table, key)? != row_of(newest, table, key)?)
    }

    /// True if a state is there with which claimed rows are compared.
    pub fn has_newest(&self) -> bool {
        self.newest.borrow().is_some()
    }

    /// True if rows are read in a snapshot, and claimed rows have to be compared.
    pub fn reads_snapshot(&self) -> bool {
        self.base.is_some()
    }

    /// Takes the newest state for comparisons.
    ///
    /// # Errors
    /// An interruption of the wait for it.
    pub fn renew(&self, context: &StatementContext) -> Result<(), SqlError> {
        if self.base.is_some() {
            let committed = context.database()?.committed(&context.interrupt)?;
            *self.newest.borrow_mut() = Some(committed.snapshot);
        }
        Ok(())
    }
}

/// All columns of a row of a snapshot; empty if there is none.
fn row_of(snapshot: &Snapshot, table: u16, key: &[Value]) -> Result<Vec<Value>, SqlError> {
    let source = &**snapshot.space();
    let mut values = Vec::new();
    let Some(schema) = Source::schema(&source, table) else {
        return Ok(values);
    };
    Source::point(&source, table, key, &mut |row| {
        for column in 0..schema.columns.len() {
            values.push(row.value(column)?.to_value());
        }
        Ok(true)
    })?;
    Ok(values)
}
