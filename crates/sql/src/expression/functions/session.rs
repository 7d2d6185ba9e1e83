//! Functions of the server, the session and its sequences; random identities.

use super::definition::*;
use super::numbers::random_bits;
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::routines::other_owners;
use crate::text::text_of;
use crate::types::SqlType;
use crate::values::arrays::written;
use crate::values::random::Generator;
use sardonyx::schema::{Value, ValueRef};

/// The text of `version()`.
const VERSION: &str = concat!("PostgreSQL 15.0 (Sardonyx ", env!("CARGO_PKG_VERSION"), ")");

pub(super) static TABLE: &[Definition] = functions! {
    current_catalog() -> NAME, |_, with| database(with), "name of the database, as the session connected to it", stable;
    current_database() -> NAME, |_, with| database(with), "name of the database, as the session connected to it", stable;
    current_role() -> NAME, user, "name of the user", stable;
    current_schema() -> NAME, |_, with| current_schema(with), "first schema of the path that is there; null if none is", stable;
    current_schemas(BOOL) -> TEXTS, current_schemas, "schemas of the path that are there; with `true`, with those that it does not name", stable;
    current_setting(TEXT) -> TEXT, current_setting, "value of a parameter", stable, session;
    current_setting(TEXT, BOOL) -> TEXT, current_setting, "value of a parameter; with `true`, null if there is none", stable, session;
    current_user() -> NAME, user, "name of the user", stable;
    currval(REGCLASS) -> INT8, currval, "number that the session drew last from a sequence", volatile, session;
    gen_random_uuid() -> UUID, uuid, "random identity of version 4", volatile;
    inet_server_addr() -> INET, |_, _| Ok(Value::Null), "null: a session does not know its connection", stable;
    inet_server_port() -> INT4, |_, _| Ok(Value::Null), "null: a session does not know its connection", stable;
    lastval() -> INT8, |_, with| int(with.context.draws.borrow().last()?), "number that the session drew last", volatile, session;
    nextval(REGCLASS) -> INT8, nextval, "next number of a sequence", volatile, session;
    pg_backend_pid() -> INT4, |_, with| int(with.context.process()), "number of the session", stable;
    pg_current_xact_id() -> INT8, |_, with| int(with.context.transaction.number), "number of the transaction", stable;
    pg_current_xact_id_if_assigned() -> INT8, |_, with| int(with.context.transaction.number), "number of the transaction, which it has from its beginning on", stable;
    pg_is_in_recovery() -> BOOL, |_, with| is_in_recovery(with), "whether the server follows the database, and only reads it", stable;
    pg_listening_channels() -> TEXT, listening, "channels that the session listens to, in rows", stable, rows;
    pg_notification_queue_usage() -> FLOAT8, usage, "part of its bound, from 0 to 1, that waits for the session that is most behind", volatile;
    pg_notify(TEXT, TEXT) -> VOID, notify, "notifies the sessions that listen to a channel", volatile, session, on_null;
    session_user() -> NAME, user, "name of the user", stable;
    set_config(TEXT, TEXT, BOOL) -> TEXT, set_config, "sets a parameter; with `true`, for the transaction", volatile, session;
    setseed(FLOAT8) -> VOID, set_seed, "begins the session's random numbers at a seed from -1 to 1", volatile, session;
    setval(REGCLASS, INT8) -> INT8, setval, "sets a sequence's number, which was drawn", volatile, session;
    setval(REGCLASS, INT8, BOOL) -> INT8, setval, "sets a sequence's number; with `false`, it is drawn next", volatile, session;
    txid_current() -> INT8, |_, with| int(with.context.transaction.number), "number of the transaction", stable;
    txid_current_if_assigned() -> INT8, |_, with| int(with.context.transaction.number), "number of the transaction, which it has from its beginning on", stable;
    user() -> NAME, user, "name of the user", stable;
    uuid_generate_v4() -> UUID, uuid, "random identity of version 4", volatile;
    version() -> TEXT, |_, _| text(VERSION), "the version of PostgreSQL whose meaning is kept, and of Sardonyx", stable;
};

/// `nextval` for a column that draws from its sequence, by the kept name.
pub(crate) static NEXT: Definition = Definition::new(
    "nextval",
    &[REGCLASS],
    INT8,
    |a, with| next_of(a.text(0), with),
    "",
)
.volatile()
.session();

pub(super) fn user(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    text(&*with.context.user)
}

/// The user of a number: the session's, or one whose rights a function has.
pub(super) fn user_numbered(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    if let (Some(number), Some(reading)) = (a.oid(0), with.reading) {
        let others = other_owners(reading.source, &with.context.user)?;
        if let Some((name, _)) = others.iter().find(|(_, own)| **own == number) {
            return text(name.as_str());
        }
    }
    text(&*with.context.user)
}

/// The name of the session's database.
fn database(with: &Environment<'_>) -> Answer {
    text(with.context.settings.borrow().database())
}

/// The schemas of the session's path that are there.
fn schemas(has_catalogue: bool, with: &Environment<'_>) -> Result<Vec<String>, SqlError> {
    match with.reading {
        Some(reading) => with.context.path().all(reading.source, has_catalogue),
        None => Err(SqlError::unsupported(
            "schemas cannot be asked for where no table is read",
        )),
    }
}

fn current_schema(with: &Environment<'_>) -> Answer {
    let first = schemas(false, with)?.into_iter().next();
    first.map_or(Ok(Value::Null), text)
}

fn current_schemas(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let schemas = schemas(a.is_true(0), with)?.into_iter();
    text(written(schemas.map(Some)))
}

fn notify(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    with.context.notify(a.text(0), a.text(1))?;
    // It is not null: some conditions test for null.
    text("")
}

/// The channels as an array, whose elements are the rows.
fn listening(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let inbox = with.context.inbox.as_ref();
    let channels = inbox.map(|inbox| inbox.channels()).unwrap_or_default();
    let channels = channels
        .iter()
        .map(|channel| String::from_utf8_lossy(channel));
    text(written(channels.map(|channel| Some(channel.into_owned()))))
}

fn usage(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    Ok(Value::Float(with.context.database()?.hub().usage()))
}

fn uuid(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let bits = u128::from(random_bits(with)) << 64 | u128::from(random_bits(with));
    // Version 4, variant 1.
    let bits = bits & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
    Ok(Value::Uuid(bits.to_be_bytes()))
}

fn set_seed(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let ValueRef::Float(seed) = a.value(0) else {
        return Ok(Value::Null);
    };
    if !(-1.0..=1.0).contains(&seed) {
        let shown = text_of(SqlType::Float8, a.value(0)).unwrap_or_default();
        let text = format!("setseed parameter {shown} is out of allowed range [-1,1]");
        return Err(SqlError::new(code::INVALID_PARAMETER_VALUE, text));
    }
    let mut settings = with.context.settings.borrow_mut();
    settings.seed(Generator::seeded(seed));
    // It is not null: some conditions test for null.
    text("")
}

fn set_config(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let mut settings = with.context.settings.borrow_mut();
    settings.set(a.text(0), a.text(1), a.is_true(2))?;
    text(a.text(1))
}

pub(super) fn is_in_recovery(with: &Environment<'_>) -> Answer {
    let database = with.context.database.as_ref();
    let follows = database.is_some_and(|database| database.followed().is_some());
    Ok(Value::Bool(follows))
}

fn current_setting(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match with.context.settings.borrow().get(a.text(0)) {
        Ok(value) => text(value),
        Err(_) if a.is_true(1) => Ok(Value::Null),
        Err(error) => Err(error),
    }
}

/// The name under which a sequence is kept.
fn sequence(a: Arguments<'_>, with: &Environment<'_>) -> Result<String, SqlError> {
    if let Some(number) = a.oid(0) {
        return Ok(number.to_string());
    }
    let (text, counters) = (a.text(0), with.context.database()?.counters());
    let path = with.context.path();
    let draws = with.context.draws.borrow();
    let is_there = |name: &str| draws.has_sequence(counters, name);
    let found = path.find_in(text, is_there)?;
    let found = found.ok_or_else(|| SqlError::unknown_table(text))?;
    path.check_own(&found)?;
    Ok(found)
}

fn nextval(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    next_of(&sequence(a, with)?, with)
}

fn next_of(name: &str, with: &Environment<'_>) -> Answer {
    let context = with.context;
    let mut draws = context.draws.borrow_mut();
    int(draws.next(context.database()?.counters(), name)?)
}

fn currval(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let name = sequence(a, with)?;
    int(with.context.draws.borrow().current(&name)?)
}

fn setval(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let (context, value) = (with.context, a.int(1));
    let is_called = a.len() < 3 || a.is_true(2);
    let name = sequence(a, with)?;
    let mut draws = context.draws.borrow_mut();
    let counters = context.database()?.counters();
    draws.set(counters, &name, value, is_called)?;
    int(value)
}
