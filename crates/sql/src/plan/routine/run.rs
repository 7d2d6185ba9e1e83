//! The steps of a function's body, run on a frame of variables.

mod rows;

use super::code::{Code, GivenRow, Message, Place, Query, Shape, Step};
use super::host::{Given, Host, Outcome};
use crate::check_interrupted;
use crate::error::{ErrorFields, SqlError, code};
use crate::expression::Environment;
use crate::memory::Memory;
use crate::rows::{Table, Values};
use crate::text::{decode_text_in, text_in};
use crate::types::{SqlType, TypeSpec};
use crate::values::cast::{Coercion, can_cast, cast_in};
use crate::values::objects;
use sardonyx::schema::Value;
use std::cell::Cell;

/// The most calls inside of each other: each takes the stack of the one around it.
const DEPTH_MAX: u32 = 24;
/// The most steps of a call.
const STEPS_MAX: usize = 100_000;

thread_local! {
    /// The number of calls inside of each other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A call inside of another one, until it is dropped.
struct Deeper(u32);

impl Deeper {
    fn enter() -> Result<Deeper, SqlError> {
        let before = DEPTH.get();
        if before >= DEPTH_MAX {
            return Err(SqlError::new(
                code::TOO_COMPLEX,
                format!("functions and triggers call each other at most {DEPTH_MAX} deep"),
            ));
        }
        DEPTH.set(before + 1);
        Ok(Deeper(before))
    }
}

impl Drop for Deeper {
    fn drop(&mut self) {
        DEPTH.set(self.0);
    }
}

/// The way on behind a step.
#[derive(PartialEq, Eq)]
enum Flow {
    On,
    Exit,
    Continue,
    Return,
}

struct Running<'r, 'e> {
    code: &'r Code,
    frame: Vec<Value>,
    parameters: &'r [Value],
    with: &'r Environment<'e>,
    value: Value,
    row: Option<Vec<Value>>,
    /// True if a trigger has a new row, and an old one: the event has it, or a value was assigned to a column of it.
    has_rows: (bool, bool),
    table: Table,
    count: u64,
    steps: usize,
    handled: Option<SqlError>,
    /// That of the result's rows.
    memory: Memory<'e>,
}

/// Runs a body.
///
/// # Errors
/// The errors of its steps; `54000` beyond the bounds; `2F005` without a result.
pub(super) fn run(
    code: &Code,
    host: &mut dyn Host,
    given: Given<'_>,
    with: &Environment<'_>,
) -> Result<Outcome, SqlError> {
    let _deeper = Deeper::enter()?;
    let mut frame = vec![Value::Null; code.width];
    for (place, value) in frame.iter_mut().zip(given.parameters) {
        place.clone_from(value);
    }
    if let Some(places) = &code.trigger {
        let mut fill = |first: usize, values: &[Value]| {
            for (place, value) in frame.iter_mut().skip(first).zip(values) {
                place.clone_from(value);
            }
        };
        fill(places.new, given.rows.0.unwrap_or_default());
        fill(places.old, given.rows.1.unwrap_or_default());
        fill(places.about, given.about);
    }
    if let Some(found) = frame.get_mut(code.found) {
        *found = Value::Bool(false);
    }
    let mut running = Running {
        code,
        frame,
        parameters: given.parameters,
        with,
        value: Value::Null,
        row: None,
        has_rows: (given.rows.0.is_some(), given.rows.1.is_some()),
        table: Table {
            width: match &code.result {
                Shape::Rows(columns) | Shape::OneRow(columns) => columns.len(),
                _ => 1,
            },
            ..Table::default()
        },
        count: 0,
        steps: 0,
        handled: None,
        memory: with.memory(),
    };
    let flow = running.all(host, &code.steps)?;
    match (&code.result, &code.outs[..]) {
        (Shape::Value(_), [out, ..]) => {
            running.value = running.frame.get(*out).cloned().unwrap_or_default();
            return Ok(Outcome::Value(running.value));
        }
        (Shape::OneRow(_), outs @ [_, ..]) => running.next(outs)?,
        _ => {}
    }
    match &code.result {
        Shape::Void => Ok(Outcome::Value(Value::Null)),
        Shape::Rows(_) => Ok(Outcome::Rows(running.table)),
        Shape::OneRow(_) if flow == Flow::Return || !code.outs.is_empty() => {
            Ok(Outcome::Rows(running.table))
        }
        _ if flow != Flow::Return => Err(SqlError::new(
            "2F005",
            match &code.result {
                Shape::Row => "control reached end of trigger procedure without RETURN",
                _ => "control reached end of function without RETURN",
            },
        )),
        Shape::Row => Ok(Outcome::Row(running.row)),
        Shape::Value(_) => Ok(Outcome::Value(running.value)),
        Shape::OneRow(_) => Ok(Outcome::Rows(running.table)),
    }
}

/// A value as one of another type: cast, or read from its text as assignments of PL/pgSQL do.
fn converted(
    value: Value,
    from: SqlType,
    to: TypeSpec,
    with: &Environment<'_>,
) -> Result<Value, SqlError> {
    if value == Value::Null || from == to.kind && to.modifier < 0 {
        return Ok(value);
    }
    let zone = with.context.zone();
    match can_cast(from, to.kind, Coercion::Explicit) {
        true => cast_in(value.as_ref(), from, to, to.modifier < 0, zone.as_ref()),
        false => {
            let text = text_in(from, value.as_ref(), zone.as_ref()).unwrap_or_default();
            let value = decode_text_in(to.kind, &text, zone.as_ref())?;
            cast_in(value.as_ref(), to.kind, to, false, zone.as_ref())
        }
    }
}

impl Running<'_, '_> {
    fn all(&mut self, host: &mut dyn Host, steps: &[Step]) -> Result<Flow, SqlError> {
        for step in steps {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                let text = format!("a call of a function runs at most {STEPS_MAX} steps");
                return Err(SqlError::new(code::PROGRAM_LIMIT, text));
            }
            check_interrupted()?;
            self.with.context.look_at_row()?;
            let flow = self.step(host, step)?;
            if flow != Flow::On {
                return Ok(flow);
            }
        }
        Ok(Flow::On)
    }

    fn step(&mut self, host: &mut dyn Host, step: &Step) -> Result<Flow, SqlError> {
        match step {
            Step::Run(query) => {
                let (count, _) = self.ran(host, query)?;
                self.note(count);
            }
            Step::Into {
                query,
                places,
                is_strict,
                finds,
            } => self.into(host, query, places, (*is_strict, *finds))?,
            Step::If(branches, otherwise) => {
                for (condition, steps) in branches {
                    if self.holds(host, condition)? {
                        return self.all(host, steps);
                    }
                }
                return self.all(host, otherwise);
            }
            Step::While(condition, steps) => loop {
                if let Some(condition) = condition
                    && !self.holds(host, condition)?
                {
                    break;
                }
                // A loop without a step has a bound, too.
                self.steps += 1;
                match self.all(host, steps)? {
                    Flow::Return => return Ok(Flow::Return),
                    Flow::Exit => break,
                    Flow::On | Flow::Continue => {}
                }
                if self.steps > STEPS_MAX {
                    let text = format!("a call of a function runs at most {STEPS_MAX} steps");
                    return Err(SqlError::new(code::PROGRAM_LIMIT, text));
                }
            },
            Step::For(query, places, steps) => return self.rows(host, query, places, steps),
            Step::Count {
                place,
                from,
                to,
                by,
                is_reverse,
                steps,
            } => {
                let range = (from, to, by.as_ref(), *is_reverse);
                return self.counted(host, *place, range, steps);
            }
            Step::Leave { continues, when } => {
                let leaves = match when {
                    Some(condition) => self.holds(host, condition)?,
                    None => true,
                };
                return Ok(match (leaves, continues) {
                    (false, _) => Flow::On,
                    (true, true) => Flow::Continue,
                    (true, false) => Flow::Exit,
                });
            }
            Step::Give(query) => {
                if let (Some(query), Shape::Value(spec)) = (query, &self.code.result) {
                    let spec = *spec;
                    self.value = self.value_of(host, query, spec)?;
                }
                return Ok(Flow::Return);
            }
            Step::GiveRow(row) => {
                self.give_row(*row);
                return Ok(Flow::Return);
            }
            Step::GiveRows(query) => {
                let (count, table) = self.ran(host, query)?;
                self.take(table, &query.columns)?;
                self.note(count);
            }
            Step::GiveNext(places) => self.next(places)?,
            Step::GiveNextOf(query) => {
                let (_, table) = self.ran(host, query)?;
                self.take(table, &query.columns)?;
            }
            Step::Raise(message) => self.raise(host, message)?,
            Step::Block(steps, handlers) if handlers.is_empty() => return self.all(host, steps),
            Step::Block(steps, handlers) => {
                let mut flow = Flow::On;
                let with = self.with;
                let tried = host.attempt(with, &mut |host| {
                    flow = self.all(host, steps)?;
                    Ok(())
                });
                let Err(error) = tried else {
                    return Ok(flow);
                };
                // Variables keep their values, as in PostgreSQL.
                let caught = |catches: &Vec<crate::conditions::Caught>| {
                    catches.iter().any(|one| one.catches(error.code))
                };
                let handler = handlers.iter().find(|(catches, _)| caught(catches));
                let Some((_, steps)) = handler.filter(|_| !error.is_of_the_engine()) else {
                    return Err(error);
                };
                let (number, text) = self.code.error;
                self.set(number, Value::Text(error.code.to_string()));
                self.set(text, Value::Text(error.message.clone()));
                let around = self.handled.replace(error);
                let flow = self.all(host, steps);
                self.handled = around;
                return flow;
            }
            Step::CountOfRows(place) => {
                let count = Value::Int(self.count.into());
                let value = converted(count, SqlType::Int8, place.spec, self.with)?;
                self.set(place.at, value);
            }
        }
        Ok(Flow::On)
    }

    fn set(&mut self, at: usize, value: Value) {
        if let Some(place) = self.frame.get_mut(at) {
            *place = value;
        }
        if let Some(places) = &self.code.trigger {
            let is_of = |first: usize| (first..first + places.width).contains(&at);
            self.has_rows.0 |= is_of(places.new);
            self.has_rows.1 |= is_of(places.old);
        }
    }

    /// Notes the rows of a statement.
    fn note(&mut self, count: u64) {
        self.count = count;
        self.set(self.code.found, Value::Bool(count > 0));
    }

    /// Runs a statement. Returns the number of its rows, and the rows.
    fn ran(&self, host: &mut dyn Host, query: &Query) -> Result<(u64, Table), SqlError> {
        let row = Values(&self.frame);
        let mut outer = Vec::with_capacity(query.asked.len());
        for asked in &query.asked {
            outer.push(asked.expr.evaluate(&row, self.with)?.into_value());
        }
        let mut with = Environment::new(self.parameters, self.with.context);
        with.outer = &outer;
        let (count, mut table) = match query.plan.writes() {
            true => host.change(&*query.plan, &with)?,
            false => {
                let table = query.plan.read(host.source(), &with)?;
                (table.rows, table)
            }
        };
        objects::within(&mut table.values, &query.columns);
        Ok((count, table))
    }

    fn value_of(
        &self,
        host: &mut dyn Host,
        query: &Query,
        to: TypeSpec,
    ) -> Result<Value, SqlError> {
        let (_, table) = self.ran(host, query)?;
        let value = table.values.into_iter().next().unwrap_or(Value::Null);
        let from = query.columns.first().copied().unwrap_or(SqlType::Text);
        converted(value, from, to, self.with)
    }

    fn text_of(&self, host: &mut dyn Host, query: &Query) -> Result<Option<String>, SqlError> {
        let text = TypeSpec::plain(SqlType::Text);
        Ok(match self.value_of(host, query, text)? {
            Value::Text(text) => Some(text),
            _ => None,
        })
    }

    fn holds(&self, host: &mut dyn Host, query: &Query) -> Result<bool, SqlError> {
        let value = self.value_of(host, query, TypeSpec::plain(SqlType::Bool))?;
        Ok(value == Value::Bool(true))
    }

    fn into(
        &mut self,
        host: &mut dyn Host,
        query: &Query,
        places: &[Place],
        (is_strict, finds): (bool, bool),
    ) -> Result<(), SqlError> {
        let (count, table) = self.ran(host, query)?;
        if is_strict && count != 1 {
            return Err(match count {
                0 => SqlError::new("P0002", "query returned no rows"),
                _ => SqlError::new("P0003", "query returned more than one row")
                    .hint("Make sure the query returns a single row, or use LIMIT 1."),
            });
        }
        self.put(places, table.values.into_iter(), &query.columns)?;
        if finds {
            self.note(count);
        }
        Ok(())
    }

    /// Puts the values of a row into places; nulls if there are fewer.
    fn put(
        &mut self,
        places: &[Place],
        mut values: impl Iterator<Item = Value>,
        kinds: &[SqlType],
    ) -> Result<(), SqlError> {
        for (number, place) in places.iter().enumerate() {
            let value = match kinds.get(number) {
                Some(from) => {
                    let value = values.next().unwrap_or(Value::Null);
                    converted(value, *from, place.spec, self.with)?
                }
                None => Value::Null,
            };
            if let (Value::Null, Some(name)) = (&value, &place.not_null) {
                let text = format!(
                    "null value cannot be assigned to variable \"{name}\" declared NOT NULL"
                );
                return Err(SqlError::new(code::NULL_NOT_ALLOWED, text));
            }
            self.set(place.at, value);
        }
        Ok(())
    }

    /// Runs steps for each row of a query. All of its rows are read first.
    fn rows(
        &mut self,
        host: &mut dyn Host,
        query: &Query,
        places: &[Place],
        steps: &[Step],
    ) -> Result<Flow, SqlError> {
        let (count, table) = self.ran(host, query)?;
        let width = table.width.max(1);
        for row in table.values.chunks(width) {
            self.put(places, row.iter().cloned(), &query.columns)?;
            match self.all(host, steps)? {
                Flow::Return => return Ok(Flow::Return),
                Flow::Exit => break,
                Flow::On | Flow::Continue => {}
            }
        }
        if count == 0 {
            // Without a row, the record has nulls.
            self.put(places, std::iter::empty(), &query.columns)?;
        }
        self.note(count);
        Ok(Flow::On)
    }

    fn counted(
        &mut self,
        host: &mut dyn Host,
        place: usize,
        (from, to, by, is_reverse): (&Query, &Query, Option<&Query>, bool),
        steps: &[Step],
    ) -> Result<Flow, SqlError> {
        let bound = |running: &Self, host: &mut dyn Host, query: &Query, of: &str| {
            let spec = TypeSpec::plain(SqlType::Int4);
            match running.value_of(host, query, spec)? {
                Value::Int(value) => Ok(value),
                _ => {
                    let text = format!("{of} of FOR loop cannot be null");
                    Err(SqlError::new(code::NULL_NOT_ALLOWED, text))
                }
            }
        };
        let mut now = bound(self, host, from, "lower bound")?;
        let to = bound(self, host, to, "upper bound")?;
        let by = match by {
            Some(by) => bound(self, host, by, "BY value")?,
            None => 1,
        };
        if by <= 0 {
            let text = "BY value of FOR loop must be greater than zero";
            return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
        }
        let mut found = false;
        while if is_reverse { now >= to } else { now <= to } {
            found = true;
            self.steps += 1;
            self.set(place, Value::Int(now));
            match self.all(host, steps)? {
                Flow::Return => return Ok(Flow::Return),
                Flow::Exit => break,
                Flow::On | Flow::Continue => {}
            }
            if self.steps > STEPS_MAX {
                let text = format!("a call of a function runs at most {STEPS_MAX} steps");
                return Err(SqlError::new(code::PROGRAM_LIMIT, text));
            }
            now += if is_reverse { -by } else { by };
        }
        self.set(self.code.found, Value::Bool(found));
        Ok(Flow::On)
    }

    fn give_row(&mut self, row: GivenRow) {
        let Some(places) = &self.code.trigger else {
            return;
        };
        // Of a deleted row there is no new one, and of an inserted row no old one: such a row is null.
        let at = |first: usize, is_there: bool| {
            let row = self.frame.get(first..first + places.width);
            row.filter(|_| is_there).map(<[Value]>::to_vec)
        };
        let new = || at(places.new, self.has_rows.0);
        let old = || at(places.old, self.has_rows.1);
        self.row = match row {
            GivenRow::New => new(),
            GivenRow::Old => old(),
            GivenRow::Either => new().or_else(old),
            GivenRow::None => None,
        };
    }

    fn raise(&mut self, host: &mut dyn Host, message: &Message) -> Result<(), SqlError> {
        let Some(format) = &message.format else {
            return Err(match (self.handled.clone(), message.code) {
                (Some(error), None) => error,
                (_, Some(code)) => SqlError::new(code, code),
                (None, None) => SqlError::new(
                    "0Z002",
                    "RAISE without parameters cannot be used outside an exception handler",
                ),
            });
        };
        let mut arguments = Vec::with_capacity(message.arguments.len());
        for argument in &message.arguments {
            let text = self.text_of(host, argument)?;
            arguments.push(text.unwrap_or_else(|| "<NULL>".into()));
        }
        let text = crate::parse::filled(format, arguments);
        let mut others = [None, None];
        for (value, query) in others.iter_mut().zip([&message.detail, &message.hint]) {
            if let Some(query) = query {
                *value = self.text_of(host, query)?;
            }
        }
        if message.level == "EXCEPTION" {
            let mut error = SqlError::new(message.code.unwrap_or(code::RAISED), text);
            let fields: &mut ErrorFields = &mut error;
            [fields.detail, fields.hint] = others;
            return Err(error);
        }
        let is_warning = message.level == "WARNING";
        let number = if is_warning { "01000" } else { "00000" };
        let number = message.code.unwrap_or(number);
        self.with.context.tell((message.level, number, text))
    }
}
