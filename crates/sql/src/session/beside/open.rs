//! Statements of any other form, run as an open transaction of one statement ([`OpenRows`]): on a snapshot, with their
//! changes beside it. `UPDATE … FROM`, `DELETE … USING`, subqueries, `RETURNING`, `ON CONFLICT` and references work as
//! in each such transaction.
//!
//! The call at its end compares the rows that were read. If the changes are few, it makes them. A table with many
//! changed rows gets a next content, made of the snapshot's rows and of those of the transaction. Changes of others
//! meanwhile go into that content, too. A row that both have changed is a conflict: the statement begins again.

use super::made::{Came, Made, Ran, SLICE_BYTES, Work};
use super::pace::Pace;
use super::whole::{
    LAST_ROWS, ROUNDS, Stop, Whole, commit, give_up, note_drawn, take_over_with, turn,
};
use crate::constraints::{at_commit, in_statement};
use crate::copy;
use crate::database::{BesideLimits, CALL_SHARE, Database};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Kept};
use crate::plan::write::whole_row;
use crate::result::{Complete, Tag};
use crate::running::{Read, fire, run_plan};
use crate::session::execute::check_parameters;
use crate::session::given::Given;
use crate::session::telling::count;
use crate::source::Source;
use crate::violations::explained;
use sardonyx::low_level::{Beside, Committed, LeftRows};
use sardonyx::rows::OpenRows;
use sardonyx::{Snapshot, Ticket, Transaction};
use sardonyx_rows::TableError;
use std::sync::Arc;

/// The most bytes that a statement keeps of its reads and changes.
const BYTES_MAX: usize = 1 << 30;

/// A table's next content, while it is made.
struct Content {
    beside: Beside,
    /// The state of the others' rows in it.
    last: Snapshot,
    /// The number of rows that were made again in the last round.
    count: usize,
}

/// The open transaction, once its statement has run.
struct Opened<'o> {
    database: &'o Arc<Database>,
    limits: &'o BesideLimits,
    with: &'o Environment<'o>,
    version: u64,
}

/// Tries once, on the state at its beginning.
pub(super) fn run(
    database: &Arc<Database>,
    begun: Committed,
    limits: &BesideLimits,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    check_parameters(given)?;
    let (version, snapshot) = (begun.version, begun.snapshot);
    database.memory().check()?;
    let mut rows = match snapshot.open() {
        Ok(rows) => rows
            .with_bytes_max(BYTES_MAX)
            .counted_in(database.memory().clone()),
        Err(error) => return Came::of(error),
    };
    let ran = read_and_change(&mut rows, (database, limits), version, given, with);
    let ran = match ran {
        Ok(Some(ran)) => ran,
        Ok(None) => return Ok(Came::InStage),
        // In the stage it needs less.
        Err(error)
            if error.is_end()
                || matches!(error.code, code::PROGRAM_LIMIT | code::OUT_OF_MEMORY) =>
        {
            return Ok(Came::InStage);
        }
        Err(error) => return Err(explained(&rows, error)),
    };
    let opened = Opened {
        database,
        limits,
        with,
        version,
    };
    let mut work = Some(Work { rows, snapshot });
    match opened.install(&mut work, &|tx| note_drawn(tx, database, with)) {
        Ok(durable) => Ok(Came::Done((ran, durable))),
        Err(stop) => stop.came(),
    }
}

/// Commits an open transaction of a client, if it has changed so many rows that next contents are made for them. `last`
/// is the last step of the call that commits. `work` is taken when the changes are made.
pub(super) fn commit_many(
    database: &Arc<Database>,
    (work, version): (&mut Option<Work>, u64),
    with: &Environment<'_>,
    last: Last<'_>,
) -> Result<Came<Ticket<()>>, SqlError> {
    let limits = database.beside();
    let opened = Opened {
        database,
        limits: &limits,
        with,
        version,
    };
    let many = work.as_ref().map(|work| opened.many(work));
    if many.is_none_or(|many| many.is_ok_and(|(many, _)| many.is_empty())) {
        return Ok(Came::InStage);
    }
    match opened.install(work, last) {
        Ok(durable) => Ok(Came::Done(durable)),
        Err(stop) => stop.came(),
    }
}

/// Runs the statement over the rows of an open transaction. `None` if the stage is as fast.
fn read_and_change(
    rows: &mut OpenRows,
    (database, limits): (&Database, &BesideLimits),
    version: u64,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Option<Read>, SqlError> {
    let mut ran = if given.statement.is_copy_in() {
        let Some(data) = given.data else {
            return Ok(None);
        };
        let copied = in_statement(rows, with, |tx| {
            copy::from_client(tx, given.statement, version, data, with)
        })?;
        fire(rows, with)?;
        (Complete::of(Tag::rows("COPY", copied)), None)
    } else {
        let snapshot = rows.snapshot().clone();
        let source = &*snapshot;
        let planned = given.statement.planned(version, &source)?;
        if limits.is_small(&planned, &source) {
            planned.was_short(true);
            return Ok(None);
        }
        let looked_at = with.context.looked_at.get();
        let ran = run_plan(rows, &planned.plan, with)?;
        let looked_at = with.context.looked_at.get().wrapping_sub(looked_at);
        let changed = rows
            .changed_tables()
            .into_iter()
            .map(|(_, rows)| rows as u64);
        if u64::from(looked_at).max(changed.sum()) < limits.few.min(limits.from) {
            planned.was_short(true);
        }
        ran
    };
    at_commit(rows)?;
    count(&mut ran.0, ran.1.as_ref(), database.memory())?;
    Ok(Some(ran))
}

/// The last step of the call that commits.
pub(super) type Last<'l> = &'l dyn Fn(&mut Transaction<'_>) -> Result<(), SqlError>;

impl Opened<'_> {
    /// The tables that get next contents, and the number of the other changed rows.
    fn many(&self, work: &Work) -> Result<(Vec<u16>, usize), SqlError> {
        let source = &**work.snapshot.space();
        let (mut many, mut few) = (Vec::new(), Vec::new());
        let most = self.limits.call_bytes / CALL_SHARE;
        let is_heavy = work.rows.bytes() > most;
        for (table, changed) in work.rows.changed_tables() {
            let there = Source::count(&source, table)?;
            let makes = |all_new| self.limits.makes_content(changed as u64, there, all_new);
            // Rows are looked up only if it matters that all of them are new to the table.
            let is_many = makes(true) || (makes(false) && !work.rows.has_only_new(table)?);
            match is_many {
                true => many.push(table),
                false if is_heavy => few.push((work.rows.changed_bytes(table), changed, table)),
                false => few.push((0, changed, table)),
            }
        }
        // Those of most bytes get next contents, too, if one call could not make all.
        few.sort_unstable();
        let (mut bytes, mut count) = (0, 0);
        for (more, changed, table) in few {
            bytes += more;
            match bytes > most {
                true => many.push(table),
                false => count += changed,
            }
        }
        Ok((many, count))
    }

    /// Makes the changes, and next contents of the tables in which they are many.
    fn install(&self, work: &mut Option<Work>, last: Last<'_>) -> Result<Ticket<()>, Stop> {
        let Some(there) = work.as_ref() else {
            return Err(Stop::Open);
        };
        let (many, few) = self.many(there)?;
        let made = self.contents(there, &many);
        let installed = made.and_then(|contents| self.commit(work, (&many, few), contents, last));
        if installed.is_err() {
            for table in many {
                give_up(self.database, table);
            }
        }
        installed
    }

    /// The next contents of tables, with the changes of others.
    fn contents(&self, work: &Work, many: &[u16]) -> Result<Vec<Content>, Stop> {
        self.limits.pause(self.with)?;
        let mut wholes = Vec::with_capacity(many.len());
        for table in many {
            wholes.push(self.whole(work, *table)?);
        }
        let mut contents = Vec::with_capacity(many.len());
        for whole in &wholes {
            contents.push(self.content(work, whole)?);
        }
        self.catch_up(&wholes, &mut contents)?;
        Ok(contents)
    }

    /// The last call: it compares the reads, makes the changes, and has the tables take over their contents.
    fn commit(
        &self,
        work: &mut Option<Work>,
        (many, few): (&[u16], usize),
        contents: Vec<Content>,
        last: Last<'_>,
    ) -> Result<Ticket<()>, Stop> {
        let count = few + contents.iter().map(|content| content.count).sum::<usize>();
        let turn = turn(self.database, self.with)?;
        // It takes long to free that.
        let (mut left, mut read) = (LeftRows::default(), Vec::with_capacity(contents.len()));
        let ((), durable) = commit(turn, self.limits, count, |tx: &mut Transaction<'_>| {
            let Some(there) = work.as_ref() else {
                return Err(Stop::Open);
            };
            let mut made = Vec::with_capacity(contents.len());
            for (table, content) in many.iter().zip(contents) {
                let whole = self.whole(there, *table)?;
                whole.check_table(tx)?;
                let changes = whole.last_changes(tx, &content.last)?;
                made.push((whole.schema.clone(), content.beside, changes.uncounted()));
                read.push(content.last);
            }
            let changes = there.rows.compared(tx, many)?;
            // The snapshot ends before pages change, so that none is copied for it.
            if let Some(Work { rows, snapshot }) = work.take() {
                drop(snapshot);
                left = rows.let_go();
            }
            read.clear();
            let make = |tx: &mut Transaction<'_>| {
                for (schema, beside, changes) in made {
                    take_over_with(tx, (&schema, beside), &changes)?;
                }
                changes.make(tx)?;
                Ok::<_, Stop>(last(tx)?)
            };
            make(tx).map_err(Stop::ended)
        })?;
        drop(left);
        Ok(durable)
    }

    fn whole<'w>(&'w self, work: &'w Work, table: u16) -> Result<Whole<'w>, Stop> {
        let source = &**work.snapshot.space();
        let schema = Source::schema(&source, table);
        let schema = schema.ok_or(TableError::UnknownHandle { number: table })?;
        Ok(Whole {
            database: self.database,
            limits: self.limits,
            with: *self.with,
            made: Made::Open {
                table,
                schema: schema.clone(),
                rows: &work.rows,
            },
            schema,
            version: Some(self.version),
            other: None,
            kept: Kept::default(),
            pace: Pace::default(),
        })
    }

    /// Makes a table's next content.
    fn content(&self, work: &Work, whole: &Whole<'_>) -> Result<Content, Stop> {
        let table = whole.made.table();
        let begin = |tx: &mut Transaction<'_>| tx.begin_beside(table);
        let beside = whole.begin_with(begin, false)?;
        // The table is the same as in the transaction's state.
        whole.newest()?;
        whole.fill_from(&beside, &work.snapshot)?;
        let mut come = Vec::new();
        let mut memory = self.with.memory();
        work.rows.inserted_rows(table, |row| {
            let row = whole_row(&row, whole.schema.columns.len())?;
            memory.take(&row)?;
            come.push(row);
            if come.len() >= self.limits.slice || memory.bytes() >= SLICE_BYTES {
                memory.give_back(memory.bytes());
                whole.insert_in_turns(&beside, std::mem::take(&mut come))?;
            }
            Ok::<_, Stop>(())
        })?;
        whole.insert_in_turns(&beside, come)?;
        Ok(Content {
            beside,
            last: work.snapshot.clone(),
            count: 0,
        })
    }

    /// Makes rows again that others have changed, in rounds over all contents: each round covers all of them.
    fn catch_up(&self, wholes: &[Whole<'_>], contents: &mut [Content]) -> Result<(), Stop> {
        for _ in 0..ROUNDS {
            for (whole, content) in wholes.iter().zip(&mut *contents) {
                let round = whole.catch_up_once(&content.beside, &content.last)?;
                (content.last, _, content.count) = round;
            }
            if contents.iter().all(|content| content.count < LAST_ROWS) {
                break;
            }
        }
        Ok(())
    }
}
