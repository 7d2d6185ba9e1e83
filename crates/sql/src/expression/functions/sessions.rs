//! Functions on the sessions of the database: their ends, and the sessions for which one waits.
//!
//! A call has an effect, or a result that changes, whatever becomes of its transaction. So it is made once, and recorded.

use super::definition::*;
use super::waiting::call;
use crate::activity::{ClientAddress, Found, Identity};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::rights::Access;
use crate::types::SqlType;
use crate::values::arrays::array_of;
use crate::values::networks;
use crate::waits::{Awaited, Call, Called};
use sardonyx::schema::{Value, ValueRef};
use sardonyx_rows::networks::Network;
use std::time::Duration;

pub(super) static TABLE: &[Definition] = functions! {
    inet_client_addr() -> INET, client_address, "address of the client; null at a socket in the file system", stable;
    inet_client_port() -> INT4, client_port, "port of the client; null at a socket in the file system", stable;
    pg_blocking_pids(INT4) -> INTS, blocking, "numbers of the sessions whose locks a session waits for, or that wait for the lock before it", volatile;
    pg_cancel_backend(INT4) -> BOOL, cancel, "cancels the statement of a session; false if there is none of the number. A user without the right `own` may do so for sessions of its own", volatile, session;
    pg_conf_load_time() -> TIMESTAMPTZ, |_, with| Ok(Value::Timestamp(with.context.database()?.configured())), "when the server read its users last", stable;
    pg_postmaster_start_time() -> TIMESTAMPTZ, |_, with| Ok(Value::Timestamp(with.context.database()?.opened())), "when the database was opened", stable;
    pg_terminate_backend(INT4) -> BOOL, |a, with| terminate(a, with, 0), "ends a session; rights as of `pg_cancel_backend`", volatile, session;
    pg_terminate_backend(INT4, INT8) -> BOOL, |a, with| terminate(a, with, a.int(1)), "the same, and waits so many milliseconds for its end; false if it has not ended by then", volatile, session;
};

/// The results of calls that signal a session.
const UNKNOWN: i128 = 0;
const SIGNALLED: i128 = 1;

/// The address of a client, as `inet`.
pub(crate) fn address_of(client: ClientAddress) -> Value {
    match client {
        ClientAddress::Remote(address) => {
            let text = address.ip().to_canonical().to_string();
            Network::parse(&text, false).map_or(Value::Null, networks::value)
        }
        ClientAddress::Local | ClientAddress::Program => Value::Null,
    }
}

fn own(with: &Environment<'_>) -> Option<Identity> {
    let sessions = with.context.database.as_ref()?.sessions();
    let own = sessions.find(with.context.process())?;
    Some(own.identity().clone())
}

fn client_address(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    Ok(own(with).map_or(Value::Null, |own| address_of(own.client)))
}

fn client_port(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    match own(with).map(|own| own.client) {
        Some(ClientAddress::Remote(address)) => int(address.port()),
        _ => Ok(Value::Null),
    }
}

/// The session of a number, if the user may signal it. `None` if there is none.
fn signalled(
    process: i64,
    with: &Environment<'_>,
    (verb, verbed): (&str, &str),
) -> Result<Option<Found>, SqlError> {
    let context = with.context;
    let found = u32::try_from(process).ok();
    let found = found.and_then(|process| context.database.as_ref()?.sessions().find(process));
    let Some(found) = found else {
        return Ok(None);
    };
    let user = &found.identity().user;
    if *user == context.user || context.rights.borrow().elsewhere() == Access::Define {
        return Ok(Some(found));
    }
    let object = if verb == "cancel" { "query" } else { "process" };
    let is_owner = context.database()?.users().may_define(user);
    let text = match is_owner {
        true => format!("must be a superuser to {verb} superuser {object}"),
        false => format!(
            "must be a member of the role whose {object} is being {verbed} or member of pg_signal_backend"
        ),
    };
    let detail = "The user needs the right \"own\" for all tables.";
    Err(SqlError::new(code::INSUFFICIENT_PRIVILEGE, text).detail(detail))
}

/// The warning of a call that found no session.
fn unknown(process: i64, with: &Environment<'_>) -> Answer {
    let text = format!("PID {process} is not a PostgreSQL backend process");
    with.context.tell(("WARNING", "01000", text))?;
    Ok(Value::Bool(false))
}

fn cancel(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let process = a.int(0);
    let number = u32::try_from(process).unwrap_or_default();
    let done = call(with, Call::Cancel(number), |_| {
        let found = signalled(process, with, ("cancel", "canceled"))?;
        Ok(Called::Done(Value::Int(match &found {
            Some(found) => {
                found.cancel();
                SIGNALLED
            }
            None => UNKNOWN,
        })))
    })?;
    // It may have cancelled its own statement.
    with.context.check_interrupted()?;
    match done {
        Value::Int(UNKNOWN) => unknown(process, with),
        _ => Ok(Value::Bool(true)),
    }
}

fn terminate(a: Arguments<'_>, with: &Environment<'_>, milliseconds: i64) -> Answer {
    let process = a.int(0);
    let number = u32::try_from(process).unwrap_or_default();
    let Ok(time) = u64::try_from(milliseconds) else {
        let text = "\"timeout\" must not be negative";
        return Err(SqlError::new(code::OUT_OF_RANGE, text));
    };
    let done = call(with, Call::Terminate(number, milliseconds), |_| {
        let found = signalled(process, with, ("terminate", "terminated"))?;
        let Some(found) = found else {
            return Ok(Called::Done(Value::Int(UNKNOWN)));
        };
        found.terminate();
        Ok(match time {
            0 => Called::Done(Value::Int(SIGNALLED)),
            time => Called::Waits(Awaited::End(found, Duration::from_millis(time))),
        })
    })?;
    // It may have ended its own session.
    with.context.check_interrupted()?;
    match done {
        Value::Int(UNKNOWN) => unknown(process, with),
        Value::Bool(false) => {
            let unit = if time == 1 { "" } else { "s" };
            let text = format!(
                "backend with PID {process} did not terminate within {time} millisecond{unit}"
            );
            with.context.tell(("WARNING", "01000", text))?;
            Ok(Value::Bool(false))
        }
        _ => Ok(Value::Bool(true)),
    }
}

fn blocking(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    let Ok(process) = u32::try_from(a.int(0)) else {
        return Ok(array_of(SqlType::Int4, std::iter::empty()));
    };
    let list = || {
        let database = with.context.database.as_ref();
        let blocking = database.map(|database| database.advisory().blocking(process));
        let blocking = blocking.unwrap_or_default().into_iter();
        let blocking = blocking.map(|process| ValueRef::Int(process.into()));
        array_of(SqlType::Int4, blocking)
    };
    match &with.context.claims {
        Some(_) => call(with, Call::Blocking(process), |_| Ok(Called::Done(list()))),
        None => Ok(list()),
    }
}
