//! Cursors of SQL: `DECLARE`, `FETCH`, `MOVE` and `CLOSE`. A cursor is a portal with a name, as in PostgreSQL: its
//! query runs when it is declared, and its rows are read in portions as they are fetched.
//!
//! A cursor ends with its transaction, and by a rollback to a savepoint that was set before it. A cursor declared `WITH
//! HOLD` stays after the commit. Its rows are those of the state that the transaction saw.
//!
//! Invariant: these statements are taken when all before them have run, so that the set of cursors is known.

use super::answering::{Reply, Sent, send_kept, send_rows};
use super::scrolling::Scrolling;
use super::statements::{Formats, Portal, PortalState, too_many};
use super::{STATEMENTS_MAX, Session, answering};
use crate::postgres::answer::Answers;
use crate::postgres::message::Codes;
use crate::postgres::portions::Portions;
use bytes::BytesMut;
use sardonyx::schema::Value;
use sardonyx_sql::{
    CursorCommand, Direction, ListedCursor, Outcome, Prepared, ResultColumn, SavepointStep,
    SqlError, Step, TransactionStatus,
};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The state of a portal that is a cursor.
#[derive(Debug)]
pub(super) struct Cursor {
    /// Its number among the session's cursors, in the order of their declaration.
    number: u64,
    /// `WITH HOLD`.
    is_held: bool,
    /// When it was declared, in microseconds since 1970.
    created: i64,
    /// It stays after the transaction.
    is_kept: bool,
    /// Its position, if it goes back and forth.
    scrolling: Option<Scrolling>,
    /// Known when its query has run.
    columns: Arc<[ResultColumn]>,
}

/// The form in which a client sends a statement of a cursor.
pub(super) struct Asked {
    pub formats: Formats,
    /// True for the simple protocol, which describes rows without a request.
    pub described: bool,
    pub parameters: Vec<Value>,
}

/// A cursor that is declared.
#[derive(Debug)]
pub(super) struct Declared {
    pub cursor: String,
    pub query: Arc<Prepared>,
}

/// A fetch from a cursor.
#[derive(Debug)]
pub(super) struct Fetch {
    cursor: String,
    direction: Direction,
    /// The rows are skipped.
    is_move: bool,
    formats: Formats,
    described: bool,
}

/// The time, in microseconds since 1970.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    })
}

fn unknown_cursor(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}

impl Portal {
    /// Returns true if the cursor stays after the transaction.
    pub(super) fn is_kept(&self) -> bool {
        self.cursor.as_ref().is_some_and(|cursor| cursor.is_kept)
    }
}

impl Session {
    /// The portal of a cursor's name.
    ///
    /// # Errors
    /// `34000` if there is no cursor of this name.
    pub(super) fn cursor(&self, name: &str) -> Result<&Portal, SqlError> {
        self.portals.get(name).ok_or_else(|| unknown_cursor(name))
    }

    /// Has the session's catalogue list its cursors.
    pub(super) fn list_cursors(&mut self) {
        let portals = self.portals.iter();
        let mut cursors: Vec<(u64, ListedCursor)> = portals
            .filter_map(|(name, portal)| {
                let cursor = portal.cursor.as_ref()?;
                let statement = portal.statement.as_ref().map_or("", |query| query.text());
                let listed = ListedCursor {
                    name: name.clone(),
                    statement: statement.into(),
                    is_holdable: cursor.is_held,
                    is_scrollable: cursor.scrolling.is_some(),
                    created: cursor.created,
                };
                Some((cursor.number, listed))
            })
            .collect();
        cursors.sort_by_key(|(number, _)| *number);
        let cursors = cursors.into_iter().map(|(_, cursor)| cursor);
        self.sql.list_cursors(cursors.collect());
    }

    /// Takes a statement of a cursor.
    ///
    /// # Errors
    /// `34000` if there is no cursor of the name, `42P03` if there is one already; `25P01` outside of a transaction,
    /// `25P02` in a failed one.
    pub(super) fn of_cursor(
        &mut self,
        command: CursorCommand,
        asked: Asked,
    ) -> Result<(), SqlError> {
        if self.sql.status() == TransactionStatus::Failed {
            return Err(SqlError::in_failed_transaction());
        }
        match command {
            CursorCommand::Declare {
                name,
                query,
                is_held,
                scrolls,
            } => {
                let is_idle = self.sql.status() == TransactionStatus::Idle;
                // Earlier statements without an end form a transaction with it.
                let is_outside = is_idle && !self.has_unfinished() && !self.part.has_begun();
                if is_outside && !is_held {
                    let text = "DECLARE CURSOR can only be used in transaction blocks";
                    return Err(SqlError::new("25P01", text.to_string()));
                }
                if self.portals.contains_key(&name) {
                    let text = format!("cursor \"{name}\" already exists");
                    return Err(SqlError::new("42P03", text));
                }
                if self.portals.len() >= STATEMENTS_MAX {
                    return Err(too_many("portals"));
                }
                self.steps.push(Step::Execute {
                    statement: query.clone(),
                    parameters: asked.parameters,
                    rows_max: 1,
                });
                let number = self.cursors_declared;
                self.cursors_declared += 1;
                let cursor = Cursor {
                    number,
                    is_held,
                    created: now(),
                    // Outside of a transaction it is a transaction of its own.
                    is_kept: is_outside,
                    scrolling: scrolls.then(Scrolling::default),
                    columns: Arc::default(),
                };
                let portal = Portal {
                    statement: Some(query.clone()),
                    parameters: Vec::new(),
                    formats: Formats::default(),
                    state: PortalState::Queued,
                    syncs: self.syncs,
                    cursor: Some(cursor),
                };
                self.portals.insert(name.clone(), portal);
                self.replies.push(Reply::Declared(Declared {
                    cursor: name,
                    query,
                }));
            }
            CursorCommand::Fetch {
                name,
                direction,
                is_move,
            } => {
                let cursor = self.cursor(&name)?.cursor.as_ref();
                let scrolls = cursor.is_some_and(|cursor| cursor.scrolling.is_some());
                if !scrolls && !matches!(direction, Direction::Forward(_)) {
                    return Err(CursorCommand::forward_only());
                }
                self.replies.push(Reply::Fetched(Fetch {
                    cursor: name,
                    direction,
                    is_move,
                    formats: asked.formats,
                    described: asked.described,
                }));
                self.has_ungiven = true;
            }
            CursorCommand::Close(Some(name)) => {
                self.cursor(&name)?;
                self.portals.remove(&name);
                self.replies.push(Reply::Complete("CLOSE CURSOR"));
            }
            CursorCommand::Close(None) => {
                self.portals.retain(|_, portal| portal.cursor.is_none());
                self.replies.push(Reply::Complete("CLOSE CURSOR ALL"));
            }
        }
        Ok(())
    }

    /// Ends the declaration of a cursor, after its query ran or failed.
    pub(super) fn declared(
        &mut self,
        name: &str,
        outcome: Option<Outcome>,
        is_skipped: bool,
        output: &mut BytesMut,
    ) -> Sent {
        let done = match outcome {
            Some(Outcome::Done(complete)) if !is_skipped => Ok(complete),
            Some(Outcome::Failed(error)) if !is_skipped => Err(Some(error)),
            _ => Err(None),
        };
        let rows = done.and_then(|complete| {
            let mut answers = Answers(output);
            (complete.notices.iter()).for_each(|notice| answers.notice(notice));
            let memory = complete.memory;
            complete.rows.map(|rows| (rows, memory)).ok_or(None)
        });
        let error = match (rows, self.portals.get_mut(name)) {
            (Ok((rows, memory)), Some(portal)) => {
                let columns = rows.columns.clone();
                let mut rows = Portions::of(rows, memory);
                let mut kept = Ok(());
                if let Some(cursor) = &mut portal.cursor {
                    cursor.columns = columns;
                    if cursor.scrolling.is_some() {
                        kept = rows.keep();
                    }
                }
                match kept {
                    Ok(()) => {
                        portal.state = PortalState::Ran(rows, "SELECT".into());
                        Answers(output).complete(&"DECLARE CURSOR");
                        return Sent::All(0);
                    }
                    Err(error) => Some(error),
                }
            }
            (Ok(_), None) => return Sent::All(0),
            (Err(error), _) => error,
        };
        self.portals.remove(name);
        error.map_or(Sent::All(0), Sent::Failed)
    }

    /// Writes the columns of a cursor.
    pub(super) fn say_columns_of(&self, name: &str, formats: &Formats, output: &mut BytesMut) {
        let columns = self.portals.get(name).and_then(|portal| {
            let of_cursor = portal.cursor.as_ref().map(|cursor| &*cursor.columns);
            let of_statement = || portal.statement.as_ref()?.columns();
            of_cursor.or_else(of_statement)
        });
        match columns {
            Some(columns) => Answers(output).columns(columns, formats.codes()),
            None => Answers(output).no_data(),
        }
    }

    /// Sends rows of a cursor, or skips them.
    ///
    /// # Errors
    /// The client does not read them.
    pub(super) async fn fetched(
        &mut self,
        fetch: Fetch,
        may_fail: bool,
        output: &mut BytesMut,
        to: &mut impl answering::Send,
    ) -> std::io::Result<Sent> {
        let name = &fetch.cursor;
        if fetch.described && !fetch.is_move {
            self.say_columns_of(name, &fetch.formats, output);
        }
        let Some(portal) = self.portals.get_mut(name) else {
            return Ok(Sent::Failed(unknown_cursor(name)));
        };
        let most = match fetch.direction {
            Direction::Forward(Some(most)) => usize::try_from(most).unwrap_or(usize::MAX),
            _ => usize::MAX,
        };
        let mut scrolling = None;
        let columns = match (&mut portal.cursor, &portal.statement) {
            (Some(cursor), _) => {
                scrolling = cursor.scrolling.as_mut();
                &*cursor.columns
            }
            (None, Some(statement)) => statement.columns().unwrap_or_default(),
            (None, None) => &[],
        };
        let flag = may_fail.then_some(&*self.interrupt);
        let codes = match fetch.described {
            true => Codes::default(),
            false => fetch.formats.codes(),
        };
        let sent = match (&mut portal.state, scrolling) {
            (PortalState::Ran(rows, _), Some(scrolling)) => {
                match scrolling.go(fetch.direction, rows, flag).await {
                    Ok(found) if fetch.is_move => Sent::All(found.count()),
                    Ok(found) => send_kept(columns, codes, rows, found, output, to).await?,
                    Err(error) => Sent::Failed(error),
                }
            }
            (PortalState::Ran(rows, _), None) if fetch.is_move => pass_over(rows, most).await,
            (PortalState::Ran(rows, _), None) => {
                send_rows(columns, codes, rows, most, flag, output, to).await?
            }
            (
                PortalState::New | PortalState::Queued | PortalState::Done(_) | PortalState::Spent,
                _,
            ) => Sent::All(0),
        };
        let count = match &sent {
            Sent::All(count) => *count,
            Sent::Some => most,
            Sent::Failed(_) => {
                portal.state = PortalState::Done("SELECT".into());
                return Ok(sent);
            }
        };
        let word = if fetch.is_move { "MOVE" } else { "FETCH" };
        Answers(output).complete(&format_args!("{word} {count}"));
        Ok(sent)
    }

    /// Ends or keeps cursors after a statement that may end a transaction.
    pub(super) fn end_cursors(&mut self, statement: &Prepared, word: &str) {
        if let Some((step, name)) = statement.savepoint() {
            self.at_savepoint(step, name);
            return;
        }
        if matches!(word, "COMMIT" | "ROLLBACK") {
            self.savepoints.clear();
        }
        match word {
            "COMMIT" => self.portals.retain(|_, portal| {
                let Some(cursor) = &mut portal.cursor else {
                    return true;
                };
                cursor.is_kept = cursor.is_held;
                cursor.is_held
            }),
            // The session may be in the next transaction by now.
            "ROLLBACK" if statement.ends_transaction() => {
                let is_of_another = |portal: &Portal| portal.cursor.is_none() || portal.is_kept();
                self.portals.retain(|_, portal| is_of_another(portal));
            }
            "DISCARD ALL" => self.portals.retain(|_, portal| portal.cursor.is_none()),
            _ => {}
        }
    }
}

impl Session {
    /// Notes a savepoint that was set, released or rolled back to: a rollback ends the cursors that were declared
    /// since.
    fn at_savepoint(&mut self, step: SavepointStep, name: String) {
        let found = self
            .savepoints
            .iter()
            .rposition(|(there, _)| *there == name);
        match (step, found) {
            (SavepointStep::Set, _) => self.savepoints.push((name, self.cursors_declared)),
            (SavepointStep::Release, Some(at)) => self.savepoints.truncate(at),
            (SavepointStep::Back, Some(at)) => {
                let first = self.savepoints[at].1;
                self.savepoints.truncate(at + 1);
                self.portals.retain(|_, portal| {
                    let cursor = portal.cursor.as_ref();
                    cursor.is_none_or(|cursor| cursor.is_kept || cursor.number < first)
                });
            }
            (SavepointStep::Release | SavepointStep::Back, None) => {}
        }
    }
}

/// Reads at most `most` rows and discards them.
async fn pass_over(rows: &mut Portions, most: usize) -> Sent {
    let mut left = most;
    while left > 0 {
        rows.ready().await;
        match rows.next(left) {
            Ok(Some(portion)) => left -= portion.count(),
            Ok(None) => break,
            Err(error) => return Sent::Failed(error),
        }
    }
    Sent::All(most - left)
}
