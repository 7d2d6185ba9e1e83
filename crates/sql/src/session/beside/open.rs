//! Statements of any other form, run as an open transaction of one statement ([`OpenRows`]): on a snapshot, with what they
//! change beside it. `UPDATE … FROM`, `DELETE … USING`, subqueries, `RETURNING`, `ON CONFLICT` and references are what they
//! are in each such transaction.
//!
//! The call at its end compares what was read. It makes the changes, where they are few. A table of which many rows are
//! changed takes over a next content, which is made of the snapshot's rows and of those of the transaction. What others
//! change meanwhile is in that content, too: a row that both have changed is a conflict, and the statement begins again.

use super::made::{Came, Made, Ran, SLICE_BYTES};
use super::whole::{LAST_ROWS, ROUNDS, Stop, Whole, commit, give_up, note_drawn};
use crate::constraints::{at_commit, in_statement};
use crate::copy;
use crate::database::{BesideLimits, Database};
use crate::error::{SqlError, code};
use crate::expression::{Environment, Kept};
use crate::plan::write::whole_row;
use crate::result::{Complete, Tag};
use crate::running::{Read, run_plan};
use crate::session::execute::check_parameters;
use crate::session::given::Given;
use crate::session::telling::count;
use crate::source::Source;
use crate::violations::explained;
use sardonyx::low_level::{Beside, Committed};
use sardonyx::rows::OpenRows;
use sardonyx::{Snapshot, Ticket, Transaction};
use sardonyx_rows::TableError;
use std::sync::Arc;

/// The most bytes that a statement keeps of what it reads and changes.
const BYTES_MAX: usize = 1 << 30;

/// A table's next content that is made.
struct Content {
    beside: Beside,
    /// The state in which the rows of others are that it has.
    last: Snapshot,
    /// The number of rows that were made again in the last round.
    count: usize,
}

/// The open transaction, once its statement has run.
struct Opened<'o> {
    database: &'o Arc<Database>,
    limits: &'o BesideLimits,
    with: &'o Environment<'o>,
    rows: &'o OpenRows,
    snapshot: &'o Snapshot,
    version: u64,
}

/// Tries once, from the state that has begun it.
pub(super) fn run(
    database: &Arc<Database>,
    begun: Committed,
    given: &Given<'_>,
    with: &Environment<'_>,
) -> Result<Came<Ran<Read>>, SqlError> {
    check_parameters(given)?;
    let (version, snapshot) = (begun.version, begun.snapshot);
    let limits = database.beside();
    database.memory().check()?;
    let mut rows = match snapshot.open() {
        Ok(rows) => rows
            .with_bytes_max(BYTES_MAX)
            .counted_in(database.memory().clone()),
        Err(error) => return Came::of(error),
    };
    let ran = read_and_change(&mut rows, (database, &limits), version, given, with);
    let ran = match ran {
        Ok(Some(ran)) => ran,
        Ok(None) => return Ok(Came::InStage),
        // In the stage it needs less.
        Err(error) if matches!(error.code, code::PROGRAM_LIMIT | code::OUT_OF_MEMORY) => {
            return Ok(Came::InStage);
        }
        Err(error) => return Err(explained(&rows, error)),
    };
    let opened = Opened {
        database,
        limits: &limits,
        with,
        rows: &rows,
        snapshot: &snapshot,
        version,
    };
    match opened.install(&|tx| note_drawn(tx, database, with)) {
        Ok(durable) => Ok(Came::Done((ran, durable))),
        Err(stop) => stop.came(),
    }
}

/// Commits an open transaction that a client has begun, if it has changed so many rows that next contents are made for
/// that. `last` is the last step of the call that commits.
pub(super) fn commit_many(
    database: &Arc<Database>,
    (rows, snapshot, version): (&OpenRows, &Snapshot, u64),
    with: &Environment<'_>,
    last: Last<'_>,
) -> Result<Came<Ticket<()>>, SqlError> {
    let limits = database.beside();
    let opened = Opened {
        database,
        limits: &limits,
        with,
        rows,
        snapshot,
        version,
    };
    if opened.many().is_ok_and(|(many, _)| many.is_empty()) {
        return Ok(Came::InStage);
    }
    match opened.install(last) {
        Ok(durable) => Ok(Came::Done(durable)),
        Err(stop) => stop.came(),
    }
}

/// Runs the statement over the rows of an open transaction. None if that is as soon done in the stage.
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
        (Complete::of(Tag::rows("COPY", copied)), None)
    } else {
        let snapshot = rows.snapshot().clone();
        let source = &*snapshot;
        let planned = given.statement.planned(version, &source)?;
        if limits.is_small(&planned, &source) {
            planned.was_short();
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
            planned.was_short();
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
    fn many(&self) -> Result<(Vec<u16>, usize), SqlError> {
        let source = &**self.snapshot.space();
        let (mut many, mut few) = (Vec::new(), 0);
        for (table, changed) in self.rows.changed_tables() {
            let there = Source::count(&source, table)?;
            let makes = |all_new| self.limits.makes_content(changed as u64, there, all_new);
            // Rows are looked up only if it matters that the table has none of them.
            let is_many = makes(true) || (makes(false) && !self.rows.has_only_new(table)?);
            match is_many {
                true => many.push(table),
                false => few += changed,
            }
        }
        Ok((many, few))
    }

    /// Makes the changes, and next contents of the tables in which they are many.
    fn install(&self, last: Last<'_>) -> Result<Ticket<()>, Stop> {
        let (many, few) = self.many()?;
        let installed = self.install_with(&many, few, last);
        if installed.is_err() {
            for table in many {
                give_up(self.database, table);
            }
        }
        installed
    }

    fn install_with(&self, many: &[u16], few: usize, last: Last<'_>) -> Result<Ticket<()>, Stop> {
        self.limits.pause(self.with)?;
        let mut wholes = Vec::with_capacity(many.len());
        for table in many {
            wholes.push(self.whole(*table)?);
        }
        let mut contents = Vec::with_capacity(many.len());
        for whole in &wholes {
            contents.push(self.content(whole)?);
        }
        self.catch_up(&wholes, &mut contents)?;
        let count = few + contents.iter().map(|content| content.count).sum::<usize>();
        let turn = self.database.turn(&self.with.context.interrupt)?;
        let ((), durable) = commit(turn, self.limits, count, |tx: &mut Transaction<'_>| {
            for whole in &wholes {
                whole.check_table(tx)?;
            }
            let changes = self.rows.compared(tx, many)?;
            let mut made = Vec::with_capacity(contents.len());
            for (whole, content) in wholes.iter().zip(&contents) {
                made.push(whole.last_changes(tx, &content.last)?);
            }
            for ((whole, content), changes) in wholes.iter().zip(contents).zip(made) {
                whole.take_over_with(tx, content.beside, changes)?;
            }
            changes.make(tx)?;
            Ok::<_, Stop>(last(tx)?)
        })?;
        Ok(durable)
    }

    fn whole(&self, table: u16) -> Result<Whole<'_>, Stop> {
        let source = &**self.snapshot.space();
        let schema = Source::schema(&source, table);
        let schema = schema.ok_or(TableError::UnknownHandle { number: table })?;
        Ok(Whole {
            database: self.database,
            limits: self.limits,
            with: *self.with,
            made: Made::Open {
                table,
                schema: schema.clone(),
                rows: self.rows,
            },
            schema,
            version: self.version,
            kept: Kept::default(),
        })
    }

    /// Makes a table's next content.
    fn content(&self, whole: &Whole<'_>) -> Result<Content, Stop> {
        let table = whole.made.table();
        let beside = whole.begin(&[])?;
        // The table is what it was in the transaction's state.
        whole.newest()?;
        whole.fill_from(&beside, self.snapshot)?;
        let mut come = Vec::new();
        let mut memory = self.with.memory();
        self.rows.inserted_rows(table, |row| {
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
            last: self.snapshot.clone(),
            count: 0,
        })
    }

    /// Makes rows again that others have changed, in rounds over all contents: one waits for the others in each.
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
