//! Queries that lock rows, run. Rows are claimed in the order of the result and below `LIMIT`, as by PostgreSQL's
//! `LockRows`: so `LIMIT` counts rows that the query has got.
//!
//! `SKIP LOCKED` runs twice. The first run claims rows; it is repeated if others claimed a row first that was free when
//! it was read, or if a claimed row of the snapshot has changed since. The second one gives the claimed rows. Its reads
//! are those that the commit compares: rows that were left out, and the order of all rows, are no part of the answer.

use super::repeatable::steady_parts;
use super::row_lock::{Meeting, RowLock};
use super::select_run::RowSink;
use super::tree::{Input, SelectPlan};
use crate::advisory::Claim;
use crate::claiming::{Admitted, Claiming, Recorded, Row};
use crate::claims::TableId;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::memory::{bytes_of, check_bytes};
use crate::rows::{EachRow, InputRow};
use crate::source::Source;
use crate::values::equality_keys::key_of;
use sardonyx::schema::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::sync::Arc;

/// The most repetitions of a run that got too few rows. Each follows a claim, or a commit, of another transaction.
const ROUNDS_MAX: usize = 100;

/// The rows that a run may give.
pub(crate) enum Admission<'a> {
    /// The rows that it got before.
    Only(&'a Admitted, &'a Claiming, Vec<TableId>),
    /// The rows that it claims.
    Claim(Box<Round<'a>>),
}

/// The keys of a row in the tables that are locked.
pub(crate) type LockedRow = Vec<(Row, Vec<Value>)>;

/// A run that claims rows.
pub(crate) struct Round<'a> {
    with: &'a Environment<'a>,
    claiming: &'a Claiming,
    locks: &'a [RowLock],
    /// The tables of the locks.
    tables: Vec<TableId>,
    /// The bytes of the keys.
    bytes: Cell<usize>,
    got: RefCell<Admitted>,
    /// The claims of this statement, with their keys: those that it had before are not given back.
    new: RefCell<Vec<(Row, Vec<Value>)>>,
    /// Rows that have changed since the snapshot.
    stale: RefCell<HashSet<Row>>,
    /// True if a row could not be claimed any more when the rows had been sorted: others may have been dropped for it.
    has_lost: Cell<bool>,
    /// The number of new claims that were not compared with a state that is newer than they are.
    unconfirmed: Cell<usize>,
}

/// The tables of locks in a state.
fn tables_of(source: &dyn Source, locks: &[RowLock]) -> Vec<TableId> {
    let definitions = source.definitions();
    let locks = locks.iter();
    locks
        .map(|lock| TableId::of(definitions, lock.table))
        .collect()
}

fn locked_row(
    (locks, tables): (&[RowLock], &[TableId]),
    claiming: &Claiming,
    row: &dyn InputRow,
) -> Result<LockedRow, SqlError> {
    let mut keys = Vec::with_capacity(locks.len());
    for (lock, table) in locks.iter().zip(tables) {
        let (mut key, mut bytes) = (Vec::with_capacity(lock.key.len()), Vec::new());
        for place in &lock.key {
            let value = row.value(*place)?;
            key_of(value, &mut bytes);
            key.push(value.to_value());
        }
        keys.push(((*table, claiming.locker.hash_of(&bytes)), key));
    }
    Ok(keys)
}

impl Admission<'_> {
    /// True if the rows are only claimed and counted: their values are computed when they are given.
    pub fn only_counts(&self, locks: &[RowLock]) -> bool {
        let skips = || locks.iter().any(|lock| lock.meeting == Meeting::Skips);
        matches!(self, Admission::Claim(_)) && skips()
    }

    /// The keys of a row, if it can be given so far; it is not claimed yet.
    ///
    /// # Errors
    /// `55P03` if others have claimed it, and the query does not wait.
    pub fn look(
        &self,
        locks: &[RowLock],
        row: &dyn InputRow,
    ) -> Result<Option<LockedRow>, SqlError> {
        match self {
            Admission::Only(admitted, claiming, tables) => {
                let keys = locked_row((locks, tables), claiming, row)?;
                let is_admitted =
                    |(row, _): &(Row, Vec<Value>)| admitted.rows.contains(&(row.0.number, row.1));
                let is_admitted = keys.iter().all(is_admitted);
                Ok(is_admitted.then_some(keys))
            }
            Admission::Claim(round) => {
                let keys = locked_row((locks, &round.tables), round.claiming, row)?;
                let stale = round.stale.borrow();
                for (lock, (row, _)) in locks.iter().zip(&keys) {
                    let is_free = lock.meeting != Meeting::Skips
                        || !stale.contains(row)
                            && !round.claiming.locker.is_claimed(*row, lock.mode);
                    if !is_free {
                        return Ok(None);
                    }
                }
                Ok(Some(keys))
            }
        }
    }

    /// Notes that a row could not be claimed after the rows were sorted.
    pub fn has_lost(&self) {
        if let Admission::Claim(round) = self {
            round.has_lost.set(true);
        }
    }

    /// Claims a row that is to be given. False if that cannot be.
    ///
    /// # Errors
    /// `55P03` if others have claimed it, and the query does not wait; `53400` beyond the bound of claims.
    pub fn take(&self, keys: &LockedRow) -> Result<bool, SqlError> {
        match self {
            Admission::Only(..) => Ok(true),
            Admission::Claim(round) => round.claim(keys),
        }
    }
}

impl<'a> Round<'a> {
    fn new(
        with: &'a Environment<'a>,
        source: &dyn Source,
        claiming: &'a Claiming,
        locks: &'a [RowLock],
    ) -> Round<'a> {
        Round {
            with,
            claiming,
            locks,
            tables: tables_of(source, locks),
            bytes: Cell::new(0),
            got: RefCell::default(),
            new: RefCell::default(),
            stale: RefCell::default(),
            has_lost: Cell::new(false),
            unconfirmed: Cell::new(0),
        }
    }

    fn claim(&self, keys: &LockedRow) -> Result<bool, SqlError> {
        let before = self.new.borrow().len();
        for (lock, (row, key)) in self.locks.iter().zip(keys) {
            let urgent = lock.meeting == Meeting::Claims;
            let claim = self.claiming.claim(*row, lock.mode, urgent)?;
            match claim {
                Claim::Had => continue,
                Claim::Refused if lock.meeting == Meeting::Fails => {
                    return Err(not_available(&lock.name));
                }
                Claim::Refused => {
                    self.give_back_since(before);
                    return Ok(false);
                }
                Claim::New => {}
            }
            if lock.meeting != Meeting::Skips {
                continue;
            }
            self.new.borrow_mut().push((*row, key.clone()));
            let is_compared = !self.claiming.has_newest();
            if self
                .claiming
                .is_stale(self.with.context, row.0.number, key)?
            {
                self.stale.borrow_mut().insert(*row);
                self.give_back_since(before);
                return Ok(false);
            }
            if !is_compared {
                self.unconfirmed.set(self.unconfirmed.get() + 1);
            }
        }
        let mut got = self.got.borrow_mut();
        for (row, key) in keys {
            self.bytes.set(self.bytes.get() + bytes_of(key));
            got.rows.insert((row.0.number, row.1));
        }
        check_bytes(self.bytes.get())?;
        if let [(_, key)] = &keys[..] {
            got.keys.push(key.clone());
        }
        Ok(true)
    }

    fn give_back_since(&self, place: usize) {
        for (row, _) in self.new.borrow_mut().drain(place..) {
            self.claiming.locker.give_back(row);
        }
    }

    /// Compares the claimed rows with a state that is newer than their claims. True if all are as in the snapshot; the
    /// claims of others are given back.
    fn confirm(&self) -> Result<bool, SqlError> {
        if !self.claiming.reads_snapshot() || self.unconfirmed.take() == 0 {
            return Ok(true);
        }
        let context = self.with.context;
        self.claiming.renew(context)?;
        let mut kept = Vec::new();
        let mut is_fresh = true;
        for (row, key) in self.new.take() {
            context.look_at_row()?;
            if self.claiming.is_stale(context, row.0.number, &key)? {
                self.claiming.locker.give_back(row);
                self.stale.borrow_mut().insert(row);
                is_fresh = false;
            } else {
                kept.push((row, key));
            }
        }
        self.new.replace(kept);
        Ok(is_fresh)
    }

    /// Begins the run again; claims that were made stay.
    fn again(&self) {
        self.has_lost.set(false);
        self.bytes.set(0);
        self.got.take();
    }
}

/// The error of a row that others have claimed.
fn not_available(table: &str) -> SqlError {
    SqlError::new(
        code::LOCK_NOT_AVAILABLE,
        format!("could not obtain lock on row in relation \"{table}\""),
    )
}

impl SelectPlan {
    /// [`SelectPlan::rows`] of a query that locks rows.
    ///
    /// # Errors
    /// The errors of [`SelectPlan::rows`] and [`Admission::take`]; `25006` in a transaction that only reads.
    pub(super) fn locked_rows(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        most: u64,
        sink: RowSink<'_>,
    ) -> Result<(), SqlError> {
        let is = |meeting: Meeting| self.locks.iter().any(|lock| lock.meeting == meeting);
        let (skips, fails) = (is(Meeting::Skips), is(Meeting::Fails));
        let Some(claiming) = claiming_of(with, skips)? else {
            return self.rows_of(source, with, (most, None), sink);
        };
        if let Some(lock) = self.locks.first() {
            claiming.check(lock.mode)?;
        }
        if claiming.is_again() {
            return match (skips || fails).then(|| claiming.recorded()).transpose()? {
                Some(Recorded::Rows(admitted)) => {
                    self.give(source, with, (most, &admitted, claiming), sink)
                }
                Some(Recorded::Failed(error)) => Err(error),
                Some(Recorded::All) | None => self.rows_of(source, with, (most, None), sink),
            };
        }
        if skips {
            return self.skipping(source, with, (most, claiming), sink);
        }
        let place = fails.then(|| claiming.record(Recorded::All));
        let admission = Admission::Claim(Box::new(Round::new(with, source, claiming, &self.locks)));
        let ran = self.rows_of(source, with, (most, Some(&admission)), sink);
        if let (Some(place), Err(error)) = (place, &ran)
            && error.code == code::LOCK_NOT_AVAILABLE
        {
            claiming.record_at(place, Recorded::Failed(error.clone()));
        }
        ran
    }

    /// Claims rows, and gives them.
    fn skipping(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        (most, claiming): (u64, &Claiming),
        sink: RowSink<'_>,
    ) -> Result<(), SqlError> {
        self.check_repeatable()?;
        let place = claiming.record(Recorded::All);
        match self.claimed(source, with, (most, claiming)) {
            Ok(admitted) => {
                let admitted = Arc::new(admitted);
                claiming.record_at(place, Recorded::Rows(admitted.clone()));
                self.give(source, with, (most, &admitted, claiming), sink)
            }
            // The rows that were left out when it failed are not known later.
            Err(error) => {
                claiming.record_at(place, Recorded::Failed(error.clone()));
                Err(error)
            }
        }
    }

    /// Claims rows: those that the query gives.
    fn claimed(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        (most, claiming): (u64, &Claiming),
    ) -> Result<Admitted, SqlError> {
        let wanted = self.limits(with)?.1.min(most);
        let admission = Admission::Claim(Box::new(Round::new(with, source, claiming, &self.locks)));
        let Admission::Claim(round) = &admission else {
            return Ok(Admitted::default());
        };
        let mut rounds = claiming.rounds();
        for _ in 0..ROUNDS_MAX {
            let (mut count, mut ran) = (0, Ok(()));
            source.unnoted(&mut || {
                ran = self.run_unseen(source, with, (most, &admission), &mut count);
            });
            if let Err(error) = ran {
                // The failure is an answer: what it follows from is compared at the commit.
                if !error.is_interruption() && error.code != code::LOCK_NOT_AVAILABLE {
                    claiming.rewind(&mut rounds);
                    let _: Result<(), SqlError> =
                        self.run_unseen(source, with, (most, &admission), &mut count);
                }
                return Err(error);
            }
            let is_fresh = round.confirm()?;
            if is_fresh && (count >= wanted || !round.has_lost.get()) {
                break;
            }
            round.again();
            claiming.rewind(&mut rounds);
        }
        claiming.go_on(rounds);
        Ok(round.got.take())
    }

    /// Runs the query to claim its rows, and counts them. Nothing stays of it besides: neither results of queries inside
    /// it, which the run that gives the rows reads and notes itself, nor random numbers.
    fn run_unseen(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        (most, admission): (u64, &Admission<'_>),
        count: &mut u64,
    ) -> Result<(), SqlError> {
        let context = with.context;
        let (made, seeded) = (context.made.get(), context.settings.borrow().generator());
        let kept = with.reading.map(|reading| reading.kept.branch());
        let inside = match (with.reading, &kept) {
            (Some(reading), Some(kept)) => Environment {
                of_parts: with.of_parts.map(|_| kept),
                ..with.over(reading.source, kept)
            },
            _ => *with,
        };
        let ran = self.rows_of(source, &inside, (most, Some(admission)), &mut |_| {
            *count += 1;
            Ok(*count < most)
        });
        context.made.set(made);
        if let Some(seeded) = seeded {
            context.settings.borrow_mut().seed(seeded);
        }
        ran
    }

    /// Gives the rows that a run has claimed, as far as they meet the condition.
    fn give(
        &self,
        source: &dyn Source,
        with: &Environment<'_>,
        (most, admitted, claiming): (u64, &Admitted, &Claiming),
        sink: RowSink<'_>,
    ) -> Result<(), SqlError> {
        let tables = tables_of(source, &self.locks);
        let admission = Admission::Only(admitted, claiming, tables);
        self.rows_of(source, with, (most, Some(&admission)), sink)
    }

    /// Calls `each` with the claimed rows of the query's table, by their keys. False if it reads more than a table.
    pub(super) fn walk_admitted(
        &self,
        admission: Option<&Admission<'_>>,
        source: &dyn Source,
        with: &Environment<'_>,
        each: EachRow<'_>,
    ) -> Result<bool, SqlError> {
        let (Some(Admission::Only(admitted, ..)), Input::Table(access), [_]) =
            (admission, &self.input, &self.locks[..])
        else {
            return Ok(false);
        };
        let mut more = true;
        let mut conditions = Vec::new();
        for condition in [&access.condition, &self.filter].into_iter().flatten() {
            steady_parts(condition, &mut conditions);
        }
        for key in &admitted.keys {
            if !more {
                break;
            }
            source.point(access.table, key, &mut |row| {
                with.context.look_at_row()?;
                for condition in &conditions {
                    if !condition.holds(row, with)? {
                        return Ok(true);
                    }
                }
                more = each(row)?;
                Ok(more)
            })?;
        }
        Ok(true)
    }
}

/// The claims of the statement. `None` where rows are not claimed: without a session, and on nodes.
///
/// # Errors
/// `0A000` if the query skips rows there.
fn claiming_of<'w>(with: &Environment<'w>, skips: bool) -> Result<Option<&'w Claiming>, SqlError> {
    let context = with.context;
    let database = context.database.as_ref();
    let is_in_memory = database.is_some_and(|database| database.tables().is_some());
    let why = match (is_in_memory, &context.claims) {
        (true, Some(claiming)) => return Ok(Some(claiming)),
        (true, None) => "without a session",
        (false, _) => "here: it needs tables in main memory",
    };
    match skips {
        false => Ok(None),
        true => Err(SqlError::unsupported(format!(
            "SELECT with SKIP LOCKED is not supported {why}"
        ))),
    }
}
