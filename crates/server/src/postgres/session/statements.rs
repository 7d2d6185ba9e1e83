//! Statements and portals of a session: prepared, bound to their parameters, described, and queued to run.
//!
//! A portal ends at the Sync after it was created, unless a transaction is open then, or it is a cursor declared `WITH
//! HOLD`.

use super::answering::{Execution, Reply};
use super::cursors::{Asked, Cursor};
use super::{STATEMENTS_MAX, Session};
use crate::postgres::copying::Copying;
use crate::postgres::message::{Bind, Codes, Format, Target};
use crate::postgres::portions::Portions;
use sardonyx::schema::Value;
use sardonyx_sql::{
    CursorCommand, Prepared, SqlError, SqlType, Step, TransactionStatus, as_text, code,
    decode_binary,
};
use std::sync::Arc;

/// A statement with its parameters.
#[derive(Debug)]
pub(super) struct Portal {
    pub(super) statement: Option<Arc<Prepared>>,
    pub(super) parameters: Vec<Value>,
    pub(super) formats: Formats,
    pub(super) state: PortalState,
    /// The number of Syncs when it was created: the next one ends it, unless a transaction is open.
    pub(super) syncs: u64,
    /// The state of a cursor of SQL, if it is one.
    pub(super) cursor: Option<Cursor>,
}

#[derive(Debug)]
pub(super) enum PortalState {
    New,
    /// A step of the next flight runs it.
    Queued,
    /// The rows that were not given yet, and the protocol's word for the statement.
    Ran(Portions, String),
    /// All rows were given.
    Done(String),
    /// It has run and returns no rows.
    Spent,
}

/// Formats of a result's columns, as the client sent them.
#[derive(Clone, Debug, Default)]
pub(super) struct Formats(Vec<u8>);

impl Formats {
    /// The formats in the protocol's form.
    pub fn codes(&self) -> Codes<'_, 2> {
        Codes::of(&self.0)
    }
}

impl Session {
    pub(super) fn parse(&mut self, name: &str, query: &str, types: Codes<'_, 4>) -> bool {
        let types: Vec<Option<SqlType>> = types.iter().map(SqlType::from_oid).collect();
        let prepared = self.sql.prepare(query, &types).and_then(|mut found| {
            let statement = found.pop().filter(|statement| !statement.is_empty());
            match found.is_empty() {
                true => Ok(statement),
                false => Err(SqlError::new(
                    "42601",
                    "cannot insert multiple commands into a prepared statement".to_string(),
                )),
            }
        });
        let statement = match prepared {
            Ok(statement) => statement,
            Err(_) if self.has_unfinished() => return false,
            Err(error) => {
                if name.is_empty() {
                    self.statements.remove(name);
                }
                self.fail(error);
                return true;
            }
        };
        // A name is taken only if the client receives the message that it is.
        if !name.is_empty() && self.may_be_skipped() {
            return false;
        }
        let has_name = self.statements.contains_key(name) || self.sql.named(name).is_some();
        if !name.is_empty() && has_name {
            let text = format!("prepared statement \"{name}\" already exists");
            self.fail(SqlError::new("42P05", text));
        } else if self.statements.len() >= STATEMENTS_MAX {
            self.fail(too_many("prepared statements"));
        } else if let (false, Some(one)) = (name.is_empty(), &statement)
            && let Err(error) = self.sql.name_statement(name, one.clone())
        {
            self.fail(error);
        } else {
            let may_run = may_run_in_failure(statement.as_ref()) || statement.is_none();
            self.statements.insert(name.to_string(), statement);
            self.replies.push(Reply::Parsed { may_run });
        }
        true
    }

    /// The statement of a name. Named statements are also the SQL session's, where `DEALLOCATE` removes them.
    fn statement(&self, name: &str) -> Result<Option<Arc<Prepared>>, SqlError> {
        if !name.is_empty()
            && let Some(statement) = self.sql.named(name)
        {
            return Ok(Some(statement.clone()));
        }
        self.statements.get(name).cloned().ok_or_else(|| {
            let text = match name {
                "" => "unnamed prepared statement does not exist".into(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            SqlError::new("26000", text)
        })
    }

    /// Forgets the statements whose names `DEALLOCATE` or `DISCARD` removed.
    pub(super) fn forget_deallocated(&mut self) {
        let sql = &self.sql;
        self.statements.retain(|name, statement| {
            name.is_empty() || statement.is_none() || sql.named(name).is_some()
        });
    }

    pub(super) fn bind(&mut self, bind: &Bind<'_>) -> Result<(), SqlError> {
        let statement = self.statement(bind.statement)?;
        let types = statement.as_ref().map_or(&[][..], |one| one.parameters());
        if types.len() != bind.count() {
            let text = format!(
                "bind message supplies {} parameters, but prepared statement \"{}\" requires {}",
                bind.count(),
                bind.statement,
                types.len()
            );
            return Err(SqlError::new(code::PROTOCOL_VIOLATION, text));
        }
        let may_run = may_run_in_failure(statement.as_ref());
        if !may_run && self.sql.status() == TransactionStatus::Failed && !self.has_unfinished() {
            return Err(SqlError::in_failed_transaction());
        }
        let columns = statement.as_ref().and_then(|one| one.columns());
        let columns = columns.map_or(0, <[_]>::len);
        let formats = bind.result_formats;
        // The columns of FETCH are its cursor's.
        let is_of_cursor = statement.as_ref().is_some_and(|one| one.cursor().is_some());
        if formats.len() > 1 && formats.len() != columns && !is_of_cursor {
            let text = format!(
                "bind message has {} result formats but query has {columns} columns",
                formats.len()
            );
            return Err(SqlError::new(code::PROTOCOL_VIOLATION, text));
        }
        let parameters = bind.parameters().zip(types).enumerate();
        let parameters = parameters.map(|(at, ((format, bytes), kind))| {
            let value = bytes.map_or(Ok(Value::Null), |bytes| {
                self.read_value(format, *kind, bytes)
            });
            value.map_err(|error| of_parameter(error, bind.portal, at + 1))
        });
        let portal = Portal {
            parameters: parameters.collect::<Result<_, _>>()?,
            statement,
            formats: Formats(formats.bytes().to_vec()),
            state: PortalState::New,
            syncs: self.syncs,
            cursor: None,
        };
        if !bind.portal.is_empty() && self.portals.contains_key(bind.portal) {
            let text = format!("cursor \"{}\" already exists", bind.portal);
            return Err(SqlError::new("42P03", text));
        }
        if self.portals.len() >= STATEMENTS_MAX {
            return Err(too_many("portals"));
        }
        match self.portals.get_mut(bind.portal) {
            Some(place) => *place = portal,
            None => drop(self.portals.insert(bind.portal.to_string(), portal)),
        }
        self.replies.push(Reply::Bound { may_run });
        Ok(())
    }

    pub(super) fn describe(&mut self, target: Target, name: &str) -> Result<(), SqlError> {
        let (statement, formats) = match target {
            Target::Statement => {
                let statement = self.statement(name)?;
                self.replies.push(match &statement {
                    Some(statement) => Reply::Parameters(statement.clone()),
                    None => Reply::NoParameters,
                });
                (statement, Formats::default())
            }
            Target::Portal => {
                let portal = self.portals.get(name).ok_or_else(|| unknown_portal(name))?;
                (portal.statement.clone(), portal.formats.clone())
            }
        };
        self.replies.push(
            match statement.as_ref().and_then(|statement| statement.cursor()) {
                Some(CursorCommand::Fetch {
                    name,
                    is_move: false,
                    ..
                }) => {
                    self.cursor(name)?;
                    Reply::CursorColumns(name.clone(), formats)
                }
                _ => Reply::Columns(statement, formats),
            },
        );
        Ok(())
    }

    /// Queues a portal's run. Returns false if it was queued before: then the earlier run must come first.
    pub(super) fn execute(&mut self, name: &str, rows_max: u32) -> bool {
        let rows_max = match rows_max {
            0 => usize::MAX,
            most => most as usize,
        };
        let Some(portal) = self.portals.get_mut(name) else {
            self.fail(unknown_portal(name));
            return true;
        };
        match portal.state {
            PortalState::New => {}
            PortalState::Queued => return false,
            PortalState::Spent => {
                let text = format!("portal \"{name}\" cannot be run");
                self.fail(SqlError::new("55000", text));
                return true;
            }
            PortalState::Ran(..) | PortalState::Done(_) => {
                let portal = name.to_string();
                self.replies.push(Reply::More { portal, rows_max });
                self.has_ungiven = true;
                return true;
            }
        }
        let Some(statement) = portal.statement.clone() else {
            self.replies.push(Reply::Empty);
            return true;
        };
        if statement.is_copy_in() {
            if let Err(error) = self.sql.check_copy_in() {
                self.fail(error);
                return true;
            }
            self.begin_copying(Copying::of_portal(statement, self.memory()));
            return true;
        }
        if let Some(command) = statement.cursor().cloned() {
            if self.may_move_cursors() {
                return false;
            }
            let Some(portal) = self.portals.get_mut(name) else {
                return true;
            };
            let asked = Asked {
                formats: portal.formats.clone(),
                described: false,
                parameters: std::mem::take(&mut portal.parameters),
            };
            portal.state = PortalState::Done("FETCH".into());
            if let Err(error) = self.of_cursor(command, asked) {
                self.fail(error);
            }
            return true;
        }
        portal.state = PortalState::Queued;
        let parameters = std::mem::take(&mut portal.parameters);
        let formats = portal.formats.clone();
        self.changes_names |= statement.changes_names();
        self.list_cursors();
        self.steps.push(Step::Execute {
            statement: statement.clone(),
            parameters,
            rows_max: if rows_max == usize::MAX {
                0
            } else {
                rows_max as u64
            },
        });
        self.replies.push(Reply::Executed(Execution {
            statement,
            formats,
            described: false,
            portal: Some(name.to_string()),
            rows_max,
        }));
        true
    }
}

impl Session {
    fn read_value(&self, format: Format, kind: SqlType, bytes: &[u8]) -> Result<Value, SqlError> {
        match format {
            Format::Text => self.sql.decode_text(kind, as_text(bytes)?),
            Format::Binary => decode_binary(kind, bytes),
        }
    }
}

/// Returns true if a statement may run in a failed transaction.
fn may_run_in_failure(statement: Option<&Arc<Prepared>>) -> bool {
    statement.is_some_and(|statement| statement.ends_failure())
}

/// An error of a value that a client sent, with its parameter.
#[cold]
fn of_parameter(mut error: SqlError, portal: &str, number: usize) -> SqlError {
    if error.code == code::INVALID_BINARY {
        error.message = format!("{} in bind parameter {number}", error.message);
    }
    error.within(|| match portal {
        "" => format!("unnamed portal parameter ${number}"),
        portal => format!("portal \"{portal}\" parameter ${number}"),
    })
}

pub(super) fn unknown_portal(name: &str) -> SqlError {
    SqlError::new("34000", format!("portal \"{name}\" does not exist"))
}

pub(super) fn too_many(what: &str) -> SqlError {
    let text = format!("a session has at most {STATEMENTS_MAX} {what}: close some");
    SqlError::new("53400", text)
}
