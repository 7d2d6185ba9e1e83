//! `DO`: the statements of a block, run in order within one statement.
//!
//! A block with handlers marks its place in the transaction. An error returns to the mark, and the handler's lines run.
//! Handlers do not catch errors of the engine (a full disk, a limit, a cancellation): these end the block.
//!
//! Invariants: a failed block is undone before its handler runs. Numbers that it drew from sequences stay drawn.

use super::aside::own_version;
use super::describing;
use super::execute::{Call, Ran};
use super::given::Given;
use super::history::{Told, is_of_the_engine};
use super::parameters;
use super::state::SessionState;
use crate::check_interrupted;
use crate::class::{Class, change_behind_with};
use crate::error::{ErrorFields, SqlError, code};
use crate::names::quoted_literal;
use crate::parse::{Block, Handler, Line, Raise, Record, filled, with_fields, without_database};
use crate::prepared::Prepared;
use crate::result::{Complete, Notice, Outcome, Tag};
use crate::schemas::schema_names;
use crate::sequences::Done;
use crate::text::text_in;
use crate::types::{SqlType, TypeSpec};
use sardonyx::schema::Value;
use sqlparser::ast::Statement;
use std::borrow::Cow;
use std::sync::Arc;

/// The most bytes of a block's messages, which wait in memory for its end.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// The most rows for which the loops of a block run their lines.
const ROUNDS_MAX: usize = 10_000;
/// The most lines that run, in all loops together.
const LINES_MAX: usize = 100_000;

/// The way on behind a line.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Return,
}

/// The state of a running block, shared by its lines.
struct Running<'r, 'g> {
    given: &'r Given<'g>,
    notices: Vec<Notice>,
    /// Bytes of the messages.
    told: usize,
    /// The numbers that the lines drew from sequences so far.
    drawn: Done,
    /// The rows of the loops around the line.
    records: Vec<Record>,
    /// Rows for which lines ran.
    rounds: usize,
    /// Lines that ran.
    lines: usize,
    handled: Option<SqlError>,
}

impl Call<'_> {
    /// Runs the block of `DO`.
    ///
    /// # Errors
    /// The error of a line that no handler catches.
    pub(super) fn run_block(
        &mut self,
        state: &mut SessionState,
        given: &Given<'_>,
        block: &Block,
    ) -> Result<Ran, SqlError> {
        self.undrawn = std::mem::take(&mut self.drawn);
        let mut running = Running {
            given,
            notices: Vec::new(),
            told: 0,
            drawn: Done::default(),
            records: Vec::new(),
            rounds: 0,
            lines: 0,
            handled: None,
        };
        let ran = self.block(state, &mut running, block);
        self.drawn = running.drawn;
        ran?;
        let mut complete = Complete::of(Tag::plain("DO"));
        complete.notices = running.notices;
        Ok(Ran {
            complete,
            told: Told::default(),
        })
    }

    fn block(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        block: &Block,
    ) -> Result<Flow, SqlError> {
        if block.handlers.is_empty() {
            return self.lines(state, running, &block.lines);
        }
        let before = self.tx.savepoint();
        let effects = self.effects.mark();
        let settings = state.settings.clone();
        let claims = state.claims.mark();
        let error = match self.lines(state, running, &block.lines) {
            Ok(flow) => {
                self.tx.release(before)?;
                return Ok(flow);
            }
            Err(error) => error,
        };
        let caught = |of: &&Handler| of.catches.iter().any(|one| one.catches(error.code));
        let handler = block.handlers.iter().find(caught);
        let Some(handler) = handler.filter(|_| !is_of_the_engine(&error)) else {
            return Err(error);
        };
        self.tx.rollback_to(before)?;
        self.effects.return_to(&effects);
        state.settings.return_to(settings);
        state.claims.return_to(claims);
        // Plans of undone definitions are invalid.
        match &mut self.version {
            Some(version) => *version = own_version(),
            None => self.database.catalogue_changed(),
        }
        let before = running.handled.replace(error);
        let flow = self.lines(state, running, &handler.lines);
        running.handled = before;
        flow
    }

    fn lines(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        lines: &[Line],
    ) -> Result<Flow, SqlError> {
        for line in lines {
            running.lines += 1;
            if running.lines > LINES_MAX {
                let text = format!("a block runs at most {LINES_MAX} lines");
                return Err(SqlError::new(code::PROGRAM_LIMIT, text));
            }
            check_interrupted()?;
            let flow = match line {
                Line::Sql(text) => {
                    let text = in_records(text, running)?;
                    self.sql(state, running, &text)?
                }
                Line::Perform(text) => {
                    self.query(state, running, &format!("SELECT {text}"))?;
                    Flow::On
                }
                Line::Execute(text) => match self.value(state, running, text)? {
                    Some(text) => self.sql(state, running, &text)?,
                    None => {
                        let text = "query string argument of EXECUTE is null";
                        return Err(SqlError::new(code::NULL_NOT_ALLOWED, text));
                    }
                },
                Line::If {
                    branches,
                    otherwise,
                } => {
                    let mut chosen = otherwise;
                    for (condition, lines) in branches {
                        if self.holds(state, running, condition)? {
                            chosen = lines;
                            break;
                        }
                    }
                    self.lines(state, running, chosen)?
                }
                Line::For {
                    variable,
                    query,
                    lines,
                } => self.rows(state, running, (variable, query, lines))?,
                Line::Raise(raise) => {
                    self.raise(state, running, raise)?;
                    Flow::On
                }
                Line::Return => Flow::Return,
                Line::Block(block) => self.block(state, running, block)?,
                _ => {
                    return Err(SqlError::unsupported(
                        "a line of functions is not supported in blocks",
                    ));
                }
            };
            if flow == Flow::Return {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    /// Runs lines for each row of a query. All of its rows are read first.
    fn rows(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        (variable, query, lines): (&str, &str, &[Line]),
    ) -> Result<Flow, SqlError> {
        let complete = self.selected(state, running, query)?;
        let Some(rows) = complete.rows else {
            return Ok(Flow::On);
        };
        for row in rows.values.chunks(rows.width.max(1)) {
            running.rounds += 1;
            if running.rounds > ROUNDS_MAX {
                let text = format!("the loops of a block run at most {ROUNDS_MAX} times");
                return Err(SqlError::new(code::PROGRAM_LIMIT, text));
            }
            let fields = rows.columns.iter().zip(row);
            let fields = fields.map(|(column, value)| {
                let kind = column.spec.kind;
                let value = text_in(kind, value.as_ref(), rows.zone.as_deref());
                let value = value.map_or_else(|| "NULL".to_string(), |text| quoted_literal(&text));
                (
                    column.name.clone(),
                    format!("(({value})::{})", type_of(column.spec)),
                )
            });
            running.records.push(Record {
                name: variable.to_string(),
                fields: fields.collect(),
            });
            let flow = self.lines(state, running, lines);
            running.records.pop();
            if flow? == Flow::Return {
                return Ok(Flow::Return);
            }
        }
        Ok(Flow::On)
    }

    /// A text without the name by which the session connected to the database.
    fn without_database<'t>(
        &self,
        state: &SessionState,
        text: &'t str,
    ) -> Result<Cow<'t, str>, SqlError> {
        let schemas = || schema_names(&*self.tx);
        without_database(text, state.settings.database(), schemas)
    }

    /// Runs a statement.
    fn sql(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        text: &str,
    ) -> Result<Flow, SqlError> {
        let rights = running.given.statement.rights();
        let text = self.without_database(state, text)?;
        for statement in describing::statements_of(&text, &[], &rights)? {
            if let Some(Statement::Query(query)) = statement.statement()
                && change_behind_with(query).is_none()
            {
                return Err(SqlError::syntax("query has no destination for result data")
                    .hint("If you want to discard the results of a SELECT, use PERFORM instead."));
            }
            self.statement(state, running, &statement)?;
        }
        Ok(Flow::On)
    }

    /// Runs a query. Returns its first value.
    fn query(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        text: &str,
    ) -> Result<Option<Value>, SqlError> {
        let complete = self.selected(state, running, text)?;
        Ok(complete
            .rows
            .and_then(|rows| rows.values.into_iter().next()))
    }

    /// Runs a query of the block's text.
    fn selected(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        text: &str,
    ) -> Result<Complete, SqlError> {
        let rights = running.given.statement.rights();
        let text = in_records(text, running)?;
        let text = self.without_database(state, &text)?;
        let statements = describing::statements_of(&text, &[], &rights)?;
        let [statement] = &statements[..] else {
            return Err(SqlError::syntax(format!("not one query: {text}")));
        };
        self.statement(state, running, statement)
    }

    fn statement(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        statement: &Arc<Prepared>,
    ) -> Result<Complete, SqlError> {
        describing::check_access(&state.user, statement)?;
        match statement.class() {
            Class::Read | Class::Write | Class::Define if statement.block().is_none() => {}
            Class::Empty => return Ok(Complete::of(Tag::plain(""))),
            Class::Session if matches!(statement.statement(), Some(Statement::Set(_))) => {
                let database = self.database.clone();
                return match parameters::run(state, (&database, None), statement) {
                    Outcome::Failed(error) => Err(error),
                    _ => Ok(Complete::of(Tag::plain("SET"))),
                };
            }
            Class::Control => {
                return Err(SqlError::new(
                    "2D000",
                    "invalid transaction termination: a block neither begins nor ends transactions",
                ));
            }
            _ => {
                return Err(SqlError::unsupported(
                    "a block runs queries, changes of rows, definitions and SET only",
                ));
            }
        }
        if matches!(statement.statement(), Some(Statement::Copy { .. })) {
            return Err(SqlError::unsupported(
                "COPY from or to the client is not supported in blocks",
            ));
        }
        let given = Given {
            statement,
            parameters: &[],
            data: None,
            rows_max: 0,
            digests: false,
            ..*running.given
        };
        let is_write = statement.class() == Class::Write;
        if is_write {
            self.drawn = std::mem::take(&mut self.undrawn);
        }
        let ran = self.run(state, &given);
        if is_write {
            let drawn = std::mem::take(&mut self.drawn);
            running.drawn = std::mem::take(&mut running.drawn).followed_by(drawn);
        }
        let mut complete = ran?.complete;
        running.notices.append(&mut complete.notices);
        Ok(complete)
    }

    /// An expression's value, as a text.
    fn value(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        expression: &str,
    ) -> Result<Option<String>, SqlError> {
        // The variables of a handler.
        if let Some(error) = &running.handled {
            if expression.eq_ignore_ascii_case("sqlerrm") {
                return Ok(Some(error.message.clone()));
            }
            if expression.eq_ignore_ascii_case("sqlstate") {
                return Ok(Some(error.code.to_string()));
            }
        }
        let value = self.query(state, running, &format!("SELECT ({expression})::text"))?;
        Ok(match value {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        })
    }

    fn holds(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        condition: &str,
    ) -> Result<bool, SqlError> {
        match self.query(state, running, &format!("SELECT {condition}"))? {
            Some(Value::Bool(holds)) => Ok(holds),
            None | Some(Value::Null) => Ok(false),
            Some(_) => Err(SqlError::new(
                code::DATATYPE_MISMATCH,
                format!("the condition {condition} is not boolean"),
            )),
        }
    }

    /// Sends a message, or returns the error.
    fn raise(
        &mut self,
        state: &mut SessionState,
        running: &mut Running<'_, '_>,
        raise: &Raise,
    ) -> Result<(), SqlError> {
        let Some(format) = &raise.format else {
            return Err(match running.handled.clone() {
                Some(error) if raise.code.is_none() => error,
                Some(_) | None if raise.code.is_some() => SqlError::new(
                    raise.code.unwrap_or(code::RAISED),
                    raise.code.unwrap_or_default(),
                ),
                _ => SqlError::new(
                    "0Z002",
                    "RAISE without parameters cannot be used outside an exception handler",
                ),
            });
        };
        let mut arguments = Vec::with_capacity(raise.arguments.len());
        for argument in &raise.arguments {
            let value = self.value(state, running, argument)?;
            arguments.push(value.unwrap_or_else(|| "<NULL>".into()));
        }
        let message = filled(format, arguments);
        let mut others = [None, None];
        for (value, expression) in others.iter_mut().zip([&raise.detail, &raise.hint]) {
            if let Some(expression) = expression {
                *value = self.value(state, running, expression)?;
            }
        }
        let [detail, hint] = others;
        if raise.level == "EXCEPTION" {
            let mut error = SqlError::new(raise.code.unwrap_or(code::RAISED), message);
            let fields: &mut ErrorFields = &mut error;
            (fields.detail, fields.hint) = (detail, hint);
            return Err(error);
        }
        running.told = running.told.saturating_add(message.len());
        if running.told > MESSAGE_BYTES_MAX {
            let text = format!("the messages of a block have at most {MESSAGE_BYTES_MAX} bytes");
            return Err(SqlError::new(code::PROGRAM_LIMIT, text));
        }
        let is_warning = raise.level == "WARNING";
        running.notices.push(Notice {
            severity: raise.level,
            code: raise
                .code
                .unwrap_or(if is_warning { "01000" } else { "00000" }),
            message,
        });
        Ok(())
    }
}

/// A text of the block with the values of the rows around it.
fn in_records<'t>(text: &'t str, running: &Running<'_, '_>) -> Result<Cow<'t, str>, SqlError> {
    Ok(match running.records.is_empty() {
        true => text.into(),
        false => with_fields(text, &running.records)?.into(),
    })
}

/// The type of a field, as SQL: `character` alone has one letter.
fn type_of(spec: TypeSpec) -> Cow<'static, str> {
    match (spec.kind.single(), spec.modifier) {
        (SqlType::Char, -1) if spec.kind == SqlType::Char => "bpchar".into(),
        (SqlType::Char, -1) => "bpchar[]".into(),
        _ => spec.declared().to_string().into(),
    }
}
