//! Functions of the catalogue about functions and triggers of users: their definitions as SQL.

use super::catalogue::type_name;
use super::definition::*;
use super::objects::arguments_of;
use super::whole_names::{finds_public, whole};
use crate::error::SqlError;
use crate::expression::Environment;
use crate::path::{written, written_whole};
use crate::relation::{Relation, trigger_of_number};
use crate::routines::{Naming, RoutineDefinition, numbered, trigger_as_sql};
use sardonyx::schema::Value;
use std::cell::Cell;

pub(super) static TABLE: &[Definition] = functions! {
    pg_get_function_arg_default(OID, INT4) -> TEXT, argument_default, "default of a function's argument; null without one", stable;
    pg_get_function_arguments(OID) -> TEXT, |a, with| arguments(a, with, true), "types of a function's arguments; null of an aggregate", stable;
    pg_get_function_identity_arguments(OID) -> TEXT, |a, with| arguments(a, with, false), "types of a function's arguments; null of an aggregate", stable;
    pg_get_function_result(OID) -> TEXT, result, "type of the result of a user's function; null of a procedure", stable;
    pg_get_functiondef(OID) -> TEXT, |a, with| of_routine(a, with, |of| of.as_sql(&Seen(with))), "function of a user as SQL", stable;
    pg_get_triggerdef(OID) -> TEXT, |a, with| trigger(a, with, true), "trigger as SQL", stable;
    pg_get_triggerdef(OID, BOOL) -> TEXT, |a, with| trigger(a, with, !a.is_true(1)), "trigger as SQL", stable;
    pg_trigger_depth() -> INT4, |_, _| int(TRIGGER_DEPTH.get()), "number of triggers that run inside of each other", stable;
};

thread_local! {
    /// The number of triggers that run inside of each other.
    static TRIGGER_DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// A running trigger, until it is dropped.
pub(crate) struct TriggerDepth(u32);

impl TriggerDepth {
    pub fn enter() -> TriggerDepth {
        let before = TRIGGER_DEPTH.get();
        TRIGGER_DEPTH.set(before + 1);
        TriggerDepth(before)
    }
}

impl Drop for TriggerDepth {
    fn drop(&mut self) {
        TRIGGER_DEPTH.set(self.0);
    }
}

/// Names as the session finds them.
struct Seen<'a>(&'a Environment<'a>);

impl Naming for Seen<'_> {
    fn type_name(&self, number: u32) -> Result<String, SqlError> {
        type_name(number, -1, self.0)
    }

    fn table_name(&self, kept: &str) -> Result<String, SqlError> {
        Ok(match finds_public(self.0)? {
            true => written(kept),
            false => written_whole(kept),
        })
    }

    fn expression(&self, text: &str) -> Result<String, SqlError> {
        match whole(Value::Text(text.to_string()), self.0)? {
            Value::Text(text) => Ok(text),
            _ => Ok(text.to_string()),
        }
    }
}

/// A text about a function of a user; null for another function.
fn of_routine(
    a: Arguments<'_>,
    with: &Environment<'_>,
    text: impl FnOnce(&RoutineDefinition) -> Result<String, SqlError>,
) -> Answer {
    let (Some(number), Some(reading)) = (a.oid(0), with.reading) else {
        return Ok(Value::Null);
    };
    match numbered(reading.source, number)? {
        Some(of) => Ok(Value::Text(text(&of)?)),
        None => Ok(Value::Null),
    }
}

fn result(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let is_procedure = of_routine(a, with, |of| Ok(of.is_procedure().to_string()))?;
    match is_procedure == Value::Text("true".to_string()) {
        true => Ok(Value::Null),
        false => of_routine(a, with, |of| of.result_as_sql(&Seen(with))),
    }
}

fn arguments(a: Arguments<'_>, with: &Environment<'_>, with_defaults: bool) -> Answer {
    let of_user = of_routine(a, with, |of| {
        of.parameters_as_sql(&Seen(with), with_defaults)
    })?;
    if of_user != Value::Null {
        return Ok(of_user);
    }
    let kinds = a.oid(0).map(|oid| arguments_of(oid, with)).transpose()?;
    let kinds = kinds.flatten().map(|kinds| Value::Text(kinds.join(", ")));
    Ok(kinds.unwrap_or(Value::Null))
}

/// The default of the argument at a place, from 1, among all arguments.
fn argument_default(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (Some(number), Some(reading)) = (a.oid(0), with.reading) else {
        return Ok(Value::Null);
    };
    let of = numbered(reading.source, number)?;
    let place = usize::try_from(a.int(1)).ok();
    let place = place.and_then(|place| place.checked_sub(1));
    let default = of.as_ref().zip(place);
    let default = default.and_then(|(of, place)| of.default_at(place));
    Ok(default.map_or(Value::Null, |text| Value::Text(text.to_string())))
}

fn trigger(a: Arguments<'_>, with: &Environment<'_>, is_whole: bool) -> Answer {
    let (Some(number), Some(reading)) = (a.oid(0), with.reading) else {
        return Ok(Value::Null);
    };
    let found = trigger_of_number(number).and_then(|(table, place)| {
        let relation = Relation::numbered(reading.source, table).ok()?;
        Some((relation, place))
    });
    let Some((relation, place)) = found else {
        return Ok(Value::Null);
    };
    let Some((name, notes)) = relation.notes.triggers.iter().nth(place) else {
        return Ok(Value::Null);
    };
    let text = trigger_as_sql(reading.source, &relation, (name, notes), is_whole)?;
    whole(text.map_or(Value::Null, Value::Text), with)
}
