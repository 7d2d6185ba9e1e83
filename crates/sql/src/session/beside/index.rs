//! An index of a table with many rows, filled beside the table ([`IndexBeside`]) from a snapshot. Rows are read and
//! sorted without the stage, and put into it in short calls. Rows that others have changed meanwhile are put in again,
//! in rounds while they are many. The last call puts in the last ones, and runs the statement, which finds its index
//! complete.

use super::made::Ran;
use super::whole::{LAST_ROWS, OTHERS_FIRST, ROUNDS, Stop, Whole, commit};
use crate::define::{IndexToMake, Rule};
use crate::error::SqlError;
use crate::source::Source;
use crate::violations::explained;
use sardonyx::low_level::{Address, IndexBeside, IndexRun};
use sardonyx::{Durability, Error, Snapshot, Transaction};
use sardonyx_rows::ScanPlace;
use std::sync::Arc;

/// A call puts this many times more rows into an empty index than a call changes: nothing is logged for them.
const APPENDED: usize = 4;
/// The most rows that others have changed that one call takes out of an index, or puts in: they are in no order.
const MOVED: usize = 100;

/// Rows of a state after the beginning of the statement have one key: the statement fails as if it had run in that
/// state.
fn of_build(stop: Stop, index: &IndexToMake, source: &dyn Source) -> Stop {
    match stop {
        Stop::Engine(error @ Error::Duplicate(_)) => {
            let error = SqlError::from(error).of_index_build(index.names.clone());
            Stop::Statement(explained(source, error))
        }
        stop => stop,
    }
}

/// The same for a snapshot, unless it was ended.
fn in_state(stop: Stop, index: &IndexToMake, snapshot: &Snapshot) -> Stop {
    of_build(stop, index, &&**snapshot.space()).unless_ended(&[snapshot])
}

impl Whole<'_> {
    /// Builds an index, which becomes one of the table in one call with `finish`. All rows have to meet a rule by then.
    pub fn with_index<T>(
        &self,
        index: &IndexToMake,
        rule: Option<&Rule>,
        finish: impl FnOnce(&mut Transaction<'_>) -> Result<T, Stop>,
    ) -> Result<Ran<T>, Stop> {
        let made = self.make_index(index, rule, finish);
        if made.is_err() {
            self.forget_index();
        }
        made
    }

    fn make_index<T>(
        &self,
        index: &IndexToMake,
        rule: Option<&Rule>,
        finish: impl FnOnce(&mut Transaction<'_>) -> Result<T, Stop>,
    ) -> Result<Ran<T>, Stop> {
        let table = self.made.table();
        let begin =
            |tx: &mut Transaction<'_>| tx.begin_index_beside(table, index.definition.clone());
        let beside = self.turn()?.run(Durability::Deferred, begin)?;
        let snapshot = self.newest()?;
        if let Some(rule) = rule {
            self.all_meet(rule, &snapshot)?;
        }
        let filled = self.fill_index(&beside, &snapshot);
        filled.map_err(|stop| in_state(stop, index, &snapshot))?;
        let (last, count) = self.catch_index_up((&beside, index), rule, snapshot)?;
        let turn = self.turn()?;
        commit(turn, self.limits, count, |tx: &mut Transaction<'_>| {
            self.check_table(tx)?;
            if let Some(rule) = rule {
                self.meet_now(rule, &last, tx)?;
            }
            let taken = tx.take_index_over(beside, last.space(), self.limits.keys_max);
            taken.map_err(|error| of_build(error.into(), index, &*tx))?;
            // The snapshot ends before pages change, so that none is copied for it.
            drop(last);
            match rule {
                Some(_) => tx.with_checked_rows(table, finish),
                None => finish(tx),
            }
        })
    }

    /// Puts all rows of a snapshot into an index.
    fn fill_index(&self, beside: &IndexBeside, snapshot: &Snapshot) -> Result<(), Stop> {
        let mut place = ScanPlace::default();
        loop {
            let mut memory = self.with.memory();
            let run =
                snapshot
                    .space()
                    .index_run(beside, &mut place, self.limits.run_bytes, |bytes| {
                        self.with.context.look_at_row()?;
                        Ok::<_, Stop>(memory.take_bytes(bytes)?)
                    })?;
            let Some(run) = run else {
                return Ok(());
            };
            self.load_index(beside, snapshot, &run)?;
            // In the stage it needs less.
            let memory = self.database.memory().check();
            memory.map_err(|error| Stop::Engine(Error::Full(error.into())))?;
        }
    }

    fn load_index(
        &self,
        beside: &IndexBeside,
        snapshot: &Snapshot,
        run: &IndexRun,
    ) -> Result<(), Stop> {
        let slice = match run.is_first() {
            true => self.limits.slice.saturating_mul(APPENDED),
            false => self.limits.slice,
        };
        let mut loaded = 0;
        while loaded < run.len() {
            let part = (run, loaded, slice);
            loaded += self.in_turn(|tx| tx.load_index_beside(beside, snapshot.space(), part))?;
        }
        Ok(())
    }

    /// Makes the changes in an index that others have made since a snapshot, in rounds until one has few. All changed
    /// rows have to meet a rule. Returns the snapshot of the index's rows, and the number of changes of the last round.
    fn catch_index_up(
        &self,
        (beside, index): (&IndexBeside, &IndexToMake),
        rule: Option<&Rule>,
        mut snapshot: Snapshot,
    ) -> Result<(Snapshot, usize), Stop> {
        let mut count = 0;
        for _ in 0..ROUNDS {
            let next = self.newest()?;
            if let Some(rule) = rule {
                self.changed_meet(rule, &snapshot, &next)?;
            }
            let (before, after) = (snapshot.space(), next.space());
            let mut memory = self.with.memory();
            let most = self.limits.run_bytes / size_of::<Address>();
            let changes = beside.changes(before, after, most, |bytes| {
                self.with.context.look_at_row()?;
                Ok::<_, Stop>(memory.take_bytes(bytes)?)
            })?;
            let slice = self.limits.slice.min(MOVED);
            for gone in changes.gone.chunks(slice) {
                self.in_turn(|tx| tx.unindex_beside(beside, before, gone))?;
            }
            for come in changes.come.chunks(slice) {
                let come =
                    |tx: &mut Transaction<'_>| tx.index_beside(beside, after, come.iter().copied());
                let done = self.in_turn(come);
                done.map_err(|stop| in_state(stop, index, &next))?;
            }
            count = changes.gone.len() + changes.come.len();
            snapshot = next;
            if count < LAST_ROWS {
                break;
            }
        }
        Ok((snapshot, count))
    }

    /// Runs a call that logs nothing. Waiting transactions go before the next one.
    fn in_turn<T>(
        &self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, Error>,
    ) -> Result<T, Stop> {
        let done = self.turn()?.run(Durability::Deferred, body)?;
        self.tables()?.let_others_go_first(OTHERS_FIRST);
        self.limits.pause(&self.with)?;
        Ok(done)
    }

    /// Frees the memory of abandoned indexes. If that fails, the next builder frees it.
    fn forget_index(&self) {
        if let Ok(turn) = self.database.turn(&Arc::default()) {
            let forget = |tx: &mut Transaction<'_>| {
                tx.forget_indexes_beside();
                Ok::<_, Error>(())
            };
            let _ = turn.run(Durability::Deferred, forget);
        }
    }
}
