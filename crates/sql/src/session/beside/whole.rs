//! A statement that takes many rows of its table. The table's next content is made beside it, in calls of a bounded
//! number of rows, and one short call replaces the old one.
//!
//! Each row of the next content depends on one row of the table only. So rows that were changed since they were read
//! are taken out and made again. That happens in separate calls while they are many; the call that replaces the content
//! makes the last ones.

use super::made::{Came, Changes, Made, Ran, slice_of};
use super::pace::Pace;
use crate::database::{BesideLimits, Database};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Kept};
use crate::plan::write::whole;
use crate::rows::InputRow;
use crate::source::Source;
use crate::write_target::with_objects;
use sardonyx::errors::SnapshotEnded;
use sardonyx::low_level::{Beside, Turn};
use sardonyx::schema::{Schema, Value};
use sardonyx::{Durability, Error, Snapshot, Tables, Transaction};
use sardonyx_base::waiting::{BETWEEN_LOOKS, Interrupt};
use sardonyx_rows::{Conflict, ConflictWith, ScanPlace, TableError};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// The most rows that the last call looks at again, if others do not change more in each round.
pub(super) const LAST_ROWS: usize = 200;
/// Transactions that wait for the stage after a call go before the next one, unless they take longer to arrive.
pub(super) const OTHERS_FIRST: Duration = Duration::from_millis(10);
/// A call for which others wait ends at the next multiple of this many rows.
const AT_LEAST: usize = 100;
/// The rounds before the last call, each of which makes rows again that were changed meanwhile.
pub(super) const ROUNDS: usize = 8;

/// The end of a call.
#[derive(Debug)]
pub(super) enum Stop {
    Engine(Error),
    Statement(SqlError),
    /// The statement runs as an open transaction.
    Open,
    /// The statement has waited for another one, and begins again.
    Waited,
    /// The end of the transaction: its reads are released, so it cannot run in another way.
    Ended(SqlError),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Engine(error)
    }
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Self {
        Stop::Statement(error)
    }
}

impl From<TableError> for Stop {
    fn from(error: TableError) -> Self {
        Stop::Engine(error.into())
    }
}

impl Stop {
    /// If a snapshot was ended, the error is not the statement's, which can be run in the stage.
    pub fn unless_ended(self, read: &[&Snapshot]) -> Stop {
        match self {
            Stop::Statement(error)
                if !error.is_interruption() && read.iter().any(|read| read.is_ended()) =>
            {
                Stop::Engine(TableError::SnapshotEnded(SnapshotEnded).into())
            }
            stop => stop,
        }
    }

    /// The same if no other way can be tried.
    pub fn ended(self) -> Stop {
        match self {
            Stop::Engine(error) => Stop::Ended(error.into()),
            Stop::Statement(error) => Stop::Ended(error),
            stop => stop,
        }
    }

    /// A statement's error is that of its snapshot, and is returned. The engine's errors are about the content.
    pub fn came<T>(self) -> Result<Came<T>, SqlError> {
        match self {
            Stop::Engine(error) => Came::of(error),
            // In the stage it needs less.
            Stop::Statement(error) if error.code == code::OUT_OF_MEMORY => Ok(Came::InStage),
            Stop::Statement(error) | Stop::Ended(error) => Err(error),
            Stop::Open => Ok(Came::Open),
            Stop::Waited => Ok(Came::Waited),
        }
    }
}

/// The inputs of a table's next content.
#[derive(Debug)]
pub(super) struct Whole<'w> {
    pub database: &'w Arc<Database>,
    pub limits: &'w BesideLimits,
    pub with: Environment<'w>,
    pub made: Made<'w>,
    /// The table's present schema.
    pub schema: Arc<Schema>,
    /// The version of the catalogue for which the statement was compiled. None if nothing was compiled.
    pub version: Option<u64>,
    /// Another table that must not change.
    pub other: Option<(u16, Arc<Schema>)>,
    /// The sets of the statement's lists, for all calls.
    pub kept: Kept,
    pub pace: Pace,
}

impl<'w> Whole<'w> {
    /// Makes the table's next content, and has the table take it over in one call with `finish`. `finish` gets the
    /// number of rows that the statement took. Returns its result.
    pub fn make<T>(
        &self,
        finish: impl FnOnce(&mut Transaction<'_>, i64) -> Result<T, SqlError>,
    ) -> Result<Came<Ran<T>>, SqlError> {
        let done = self.begin().and_then(|beside| {
            let snapshot = self.newest()?;
            let taken = self.fill_from(&beside, &snapshot)?;
            let (last, more, count) = self.catch_up(&beside, snapshot)?;
            self.take_over(
                beside,
                (last, count),
                |_| Ok(()),
                |tx, last| Ok(finish(tx, taken + more + last)?),
            )
        });
        match done {
            Ok(done) => Ok(Came::Done(done)),
            Err(stop) => {
                // The content is abandoned.
                self.give_up();
                stop.came()
            }
        }
    }

    /// The schema of the content.
    pub fn next_schema(&self) -> &Schema {
        self.made.next_schema().unwrap_or(&self.schema)
    }

    /// Begins. The table is what it was from here on, or it takes nothing over. While another statement makes a content
    /// of the table, this one waits for its end, without the stage.
    pub fn begin(&self) -> Result<Beside, Stop> {
        let table = self.made.table();
        self.begin_with(|tx| tx.begin_beside(table), true)
    }

    /// The same of a content that is begun so. After a wait it begins only if it `goes_on`: otherwise the statement begins
    /// again, since it has read rows before the other one's end. If a third statement has come first by then, this one
    /// runs in the stage: others that follow each other would keep it waiting for ever.
    pub fn begin_with(
        &self,
        mut begin: impl FnMut(&mut Transaction<'_>) -> Result<Beside, Error>,
        goes_on: bool,
    ) -> Result<Beside, Stop> {
        let table = self.made.table();
        let mut waits_for = None;
        loop {
            let begun = self.turn()?.run(Durability::Deferred, |tx| {
                Ok(match tx.made_beside(table) {
                    Some(other) => Err(other),
                    None if waits_for.is_some() && !goes_on => return Err(Stop::Waited),
                    None => Ok(begin(tx)?),
                })
            });
            match begun {
                Ok(Ok(begun)) => return Ok(begun),
                Ok(Err(_)) if IS_PAUSE.get() => {
                    return Err(Stop::Engine(Error::Refused("a pause has no end".into())));
                }
                Ok(Err(other)) if waits_for.is_some_and(|before| before != other) => {
                    let refused = "another statement came first again";
                    return Err(Stop::Engine(Error::Refused(refused.into())));
                }
                Ok(Err(other)) => {
                    waits_for = Some(other);
                    self.limits.pause(&self.with)?;
                    std::thread::sleep(BETWEEN_LOOKS);
                }
                // The table has no next contents, or the definition was tried on another schema.
                Err(Stop::Engine(Error::Conflict(error))) => {
                    return Err(Stop::Engine(Error::Refused(error)));
                }
                Err(stop) => return Err(stop),
            }
        }
    }

    /// Has the table take the content over, in one call. `check` looks at the tables before that: afterwards all rows
    /// of the table are other ones. `finish` comes after it, and gets the number of further rows. About `count` rows
    /// are made again in the call.
    pub fn take_over<T>(
        &self,
        beside: Beside,
        (last, count): (Snapshot, usize),
        check: impl FnOnce(&Transaction<'_>) -> Result<(), Stop>,
        finish: impl FnOnce(&mut Transaction<'_>, i64) -> Result<T, Stop>,
    ) -> Result<Ran<T>, Stop> {
        let turn = self.turn()?;
        commit(turn, self.limits, count, |tx: &mut Transaction<'_>| {
            self.check_table(tx)?;
            check(tx)?;
            let changes = self.last_changes(tx, &last)?;
            // The snapshot ends, so that nothing is copied for it.
            drop(last);
            take_over_with(tx, (&self.schema, beside), &changes)?;
            finish(tx, changes.taken)
        })
    }

    /// The rows that others have changed since a state, in the call that takes the content over.
    pub fn last_changes(&self, tx: &Transaction<'_>, last: &Snapshot) -> Result<Changes<'w>, Stop> {
        let table = self.made.table();
        let source: &dyn Source = tx;
        let with = &self.with.over(source, &self.kept);
        let mut changes = Changes::with(self.with.memory());
        let compared = last.space().changed_rows(table, tx.view(), |was, is| {
            let was = was.as_ref().map(|row| row as &dyn InputRow);
            let is = is.as_ref().map(|row| row as &dyn InputRow);
            self.changed(&mut changes, with, was, is)
        });
        compared.map_err(|stop: Stop| stop.unless_ended(&[last]))?;
        Ok(changes)
    }

    /// Checks that the table has not changed.
    pub fn check_table(&self, tx: &Transaction<'_>) -> Result<(), Stop> {
        self.check_same(self.database.version(), tx)
    }

    /// Checks that a state has the same table, under a version of the catalogue.
    fn check_same(&self, version: u64, source: &dyn Source) -> Result<(), Stop> {
        // An open transaction compares the definitions that concern it itself.
        let is_open = matches!(self.made, Made::Open { .. });
        let holds = is_open || self.version.is_none_or(|compiled| compiled == version);
        let this = (self.made.table(), &self.schema);
        let other = self.other.iter().map(|(table, schema)| (*table, schema));
        let mut tables = other.chain([this]);
        match holds && tables.all(|(table, schema)| source.has_schema(table, schema)) {
            true => Ok(()),
            false => Err(self.conflict()),
        }
    }

    pub fn tables(&self) -> Result<&Tables, SqlError> {
        Ok(self.database.tables_in_memory("a next content")?)
    }

    pub fn turn(&self) -> Result<Turn<'_>, SqlError> {
        turn(self.database, &self.with)
    }

    /// Drops the abandoned content.
    pub fn give_up(&self) {
        give_up(self.database, self.made.table());
    }

    #[cold]
    pub fn conflict(&self) -> Stop {
        let table = format!("number {}", self.made.table());
        let conflict = Conflict::new(table, ConflictWith::Schema);
        Stop::Engine(TableError::Conflict(Box::new(conflict)).into())
    }

    fn changed(
        &self,
        changes: &mut Changes<'_>,
        with: &Environment<'_>,
        was: Option<&dyn InputRow>,
        is: Option<&dyn InputRow>,
    ) -> Result<(), Stop> {
        for row in [was, is].into_iter().flatten() {
            if self.made.has_own(row)? {
                return Err(self.conflict());
            }
        }
        if let Some(row) = was {
            changes.take_out(row, &self.made, with)?;
        }
        if let Some(row) = is {
            changes.put_in(row, &self.made, with)?;
        }
        match changes.len() <= self.limits.keys_max {
            true => Ok(()),
            false => Err(self.conflict()),
        }
    }

    /// Makes rows again that were changed since a state, until few are left. Returns their state, the number of further
    /// rows taken, and the number of rows of the last round.
    pub fn catch_up(
        &self,
        beside: &Beside,
        mut snapshot: Snapshot,
    ) -> Result<(Snapshot, i64, usize), Stop> {
        let (mut taken, mut count) = (0, 0);
        for _ in 0..ROUNDS {
            let (next, more, made) = self.catch_up_once(beside, &snapshot)?;
            (snapshot, count) = (next, made);
            taken += more;
            if count < LAST_ROWS {
                break;
            }
        }
        Ok((snapshot, taken, count))
    }

    /// One round of that.
    pub fn catch_up_once(
        &self,
        beside: &Beside,
        snapshot: &Snapshot,
    ) -> Result<(Snapshot, i64, usize), Stop> {
        let next = self.newest()?;
        let (before, after) = (snapshot.space(), next.space());
        let source = &**after;
        let with = &self.with.over(&source, &self.kept);
        let mut changes = Changes::with(self.with.memory());
        let compared = before.rows_changed_until(self.made.table(), after, |was, is| {
            self.with.context.look_at_row()?;
            let was = was.as_ref().map(|row| row as &dyn InputRow);
            let is = is.as_ref().map(|row| row as &dyn InputRow);
            self.changed(&mut changes, with, was, is)
        });
        compared.map_err(|stop: Stop| stop.unless_ended(&[snapshot, &next]))?;
        let count = changes.len();
        let taken = self.put_in_turns(beside, &changes)?;
        Ok((next, taken, count))
    }

    /// Makes all rows of a state. Returns the number of rows taken.
    pub fn fill_from(&self, beside: &Beside, snapshot: &Snapshot) -> Result<i64, Stop> {
        let (mut taken, mut place) = (0, ScanPlace::default());
        let source = &**snapshot.space();
        let with = &self.with.over(&source, &self.kept);
        loop {
            let mut changes = Changes::with(self.with.memory());
            let scanned = Source::scan_from(&source, self.made.table(), &mut place, &mut |row| {
                self.with.context.look_at_row()?;
                changes.put_in(row, &self.made, with)?;
                Ok(!changes.is_slice(self.limits.slice))
            });
            let is_end = scanned.map_err(|error| Stop::from(error).unless_ended(&[snapshot]))?;
            taken += self.put_in_turns(beside, &changes)?;
            // In the stage it needs less.
            let memory = self.database.memory().check();
            memory.map_err(|error| Stop::Engine(Error::Full(error.into())))?;
            if is_end {
                return Ok(taken);
            }
        }
    }

    /// The newest state, in which the table has not changed.
    pub fn newest(&self) -> Result<Snapshot, Stop> {
        let newest = self.database.committed(&self.with.context.interrupt)?;
        let source = &**newest.snapshot.space();
        self.check_same(newest.version, &source)?;
        Ok(newest.snapshot)
    }

    /// Puts rows into the content, in slices.
    pub fn insert_in_turns(&self, beside: &Beside, come: Vec<Vec<Value>>) -> Result<(), Stop> {
        self.put_in_turns(beside, &Changes::of(come)).map(drop)
    }

    /// Changes the content, in slices. Returns the number of rows taken.
    fn put_in_turns(&self, beside: &Beside, changes: &Changes<'_>) -> Result<i64, Stop> {
        let (mut all_gone, mut all_come) = (&changes.gone[..], &changes.come[..]);
        let tables = self.tables()?;
        while !all_gone.is_empty() || !all_come.is_empty() {
            let gone = &all_gone[..slice_of(all_gone, self.limits.slice)];
            let come = match gone.is_empty() {
                true => &all_come[..slice_of(all_come, self.limits.slice)],
                false => &[],
            };
            let (rows, left) = match gone.is_empty() {
                false => (gone.len(), all_gone.len()),
                true => (come.len(), all_come.len()),
            };
            // A slice of fewer rows ends at the bound on bytes.
            let is_long = rows < self.limits.slice.min(left);
            let turn = self.turn()?;
            let (done, durable) = turn.run_later(|tx| {
                let goes_on = || !tables.has_waiting();
                take_out_and_put(tx, (self.next_schema(), beside), (gone, come), goes_on)
            })?;
            match gone.is_empty() {
                false => all_gone = &all_gone[done..],
                true => all_come = &all_come[done..],
            }
            tables.let_others_go_first(OTHERS_FIRST);
            let interrupt = &self.with.context.interrupt;
            self.pace.after(done, is_long, durable, interrupt);
            self.limits.pause(&self.with)?;
        }
        Ok(changes.taken)
    }
}

/// Waits for a turn.
pub(super) fn turn<'d>(
    database: &'d Database,
    with: &Environment<'_>,
) -> Result<Turn<'d>, SqlError> {
    database.turn(&with.context.interrupt)
}

/// A table takes its next content over, with these changes.
pub(super) fn take_over_with(
    tx: &mut Transaction<'_>,
    (schema, beside): (&Schema, Beside),
    changes: &Changes<'_>,
) -> Result<(), Error> {
    put_last(tx, (schema, &beside), changes)?;
    tx.take_over(beside)
}

/// Makes the last changes of a content, in the call in which the table takes it over.
pub(super) fn put_last(
    tx: &mut Transaction<'_>,
    of: (&Schema, &Beside),
    changes: &Changes<'_>,
) -> Result<(), Error> {
    let rows = (&changes.gone[..], &changes.come[..]);
    take_out_and_put(tx, of, rows, || true).map(drop)
}

/// Rows go before others come, which may have their keys. After some rows it ends before all are done, unless it `goes_on`.
/// Returns how many are done.
fn take_out_and_put(
    tx: &mut Transaction<'_>,
    (schema, beside): (&Schema, &Beside),
    (gone, come): (&[Vec<Value>], &[Vec<Value>]),
    goes_on: impl Fn() -> bool,
) -> Result<usize, Error> {
    let mut done = 0;
    let mut is_end = || {
        done += 1;
        done % AT_LEAST == 0 && !goes_on()
    };
    for key in gone {
        let key: Vec<_> = key.iter().map(Value::as_ref).collect();
        tx.delete_beside(beside, &key)?;
        if is_end() {
            return Ok(done);
        }
    }
    for row in come {
        tx.insert_beside(beside, whole(schema, row))?;
        if is_end() {
            return Ok(done);
        }
    }
    Ok(done)
}

/// Drops a table's abandoned content. If that fails, the table's next large statement drops it.
pub(super) fn give_up(database: &Database, table: u16) {
    if let Ok(turn) = database.turn(&Arc::<Interrupt>::default()) {
        let _ = turn.run(Durability::Deferred, |tx| tx.forget_beside(table));
    }
}

/// Has a transaction store the bounds of drawn numbers, and publishes its other effects: the last step of the call that
/// commits.
pub(super) fn note_drawn(
    tx: &mut Transaction<'_>,
    database: &Database,
    with: &Environment<'_>,
) -> Result<(), SqlError> {
    let mut draws = with.context.draws.borrow_mut();
    if draws.has_drawn() {
        with_objects(tx, |objects| {
            draws.make_usable(database.counters(), objects)
        })?;
    }
    drop(database.effects_committed(std::mem::take(&mut draws.changes)));
    Ok(())
}

/// Runs the call that commits and changes this many rows. If they are more than a slice, others read the state before
/// it meanwhile.
pub(super) fn commit<T, E: From<Error>>(
    mut turn: Turn<'_>,
    limits: &BesideLimits,
    rows: usize,
    body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>,
) -> Result<Ran<T>, E> {
    let begun = (rows > limits.slice).then(|| turn.set_out());
    turn.run_later(|tx| {
        if let Some(within) = &limits.within {
            within();
        }
        let done = body(tx);
        drop(begun);
        done
    })
}

thread_local! {
    /// True while a test runs other statements between two calls of one. They cannot wait for its end.
    static IS_PAUSE: Cell<bool> = const { Cell::new(false) };
}

impl BesideLimits {
    /// Lets others have the stage, and ends the statement on request.
    pub(super) fn pause(&self, with: &Environment<'_>) -> Result<(), SqlError> {
        if let Some(between) = &self.between {
            // One of the other statements may pause, too.
            let before = IS_PAUSE.replace(true);
            between();
            IS_PAUSE.set(before);
        }
        with.context.between_rows()
    }
}
