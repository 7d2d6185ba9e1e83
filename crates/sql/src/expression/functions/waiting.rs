//! Functions that wait: advisory locks and `pg_sleep`. They run in a statement of their own, outside of the serial stage.

use super::definition::*;
use crate::advisory::{Key, Locker, Mode};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use sardonyx::schema::{Value, ValueRef};
use sardonyx_base::waiting::{BETWEEN_LOOKS, aside};
use std::time::{Duration, Instant};

/// The longest sleep, in seconds: a year.
const SLEEP_SECONDS_MAX: f64 = 366.0 * 86_400.0;

pub(super) static TABLE: &[Definition] = functions! {
    pg_advisory_lock(INT8) -> VOID, |a, with| wait(a, with, SESSION), "takes a lock, and waits for it", volatile, session;
    pg_advisory_lock(INT4, INT4) -> VOID, |a, with| wait(a, with, SESSION), "takes a lock, and waits for it", volatile, session;
    pg_advisory_lock_shared(INT8) -> VOID, |a, with| wait(a, with, SESSION_SHARED), "takes a lock with others, and waits for it", volatile, session;
    pg_advisory_lock_shared(INT4, INT4) -> VOID, |a, with| wait(a, with, SESSION_SHARED), "takes a lock with others, and waits for it", volatile, session;
    pg_advisory_unlock(INT8) -> BOOL, |a, with| release(a, with, false), "gives a lock back; false if the session does not have it", volatile, session;
    pg_advisory_unlock(INT4, INT4) -> BOOL, |a, with| release(a, with, false), "gives a lock back; false if the session does not have it", volatile, session;
    pg_advisory_unlock_all() -> VOID, unlock_all, "gives all locks of the session back", volatile, session;
    pg_advisory_unlock_shared(INT8) -> BOOL, |a, with| release(a, with, true), "gives a shared lock back", volatile, session;
    pg_advisory_unlock_shared(INT4, INT4) -> BOOL, |a, with| release(a, with, true), "gives a shared lock back", volatile, session;
    pg_advisory_xact_lock(INT8) -> VOID, |a, with| wait(a, with, TRANSACTION), "takes a lock until the transaction's end, and waits for it", volatile, session;
    pg_advisory_xact_lock(INT4, INT4) -> VOID, |a, with| wait(a, with, TRANSACTION), "takes a lock until the transaction's end, and waits for it", volatile, session;
    pg_advisory_xact_lock_shared(INT8) -> VOID, |a, with| wait(a, with, TRANSACTION_SHARED), "takes a lock with others until the transaction's end", volatile, session;
    pg_advisory_xact_lock_shared(INT4, INT4) -> VOID, |a, with| wait(a, with, TRANSACTION_SHARED), "takes a lock with others until the transaction's end", volatile, session;
    pg_sleep(FLOAT8) -> VOID, sleep, "waits for so many seconds", volatile, session;
    pg_try_advisory_lock(INT8) -> BOOL, |a, with| take(a, with, SESSION), "takes a lock if it is free", volatile, session;
    pg_try_advisory_lock(INT4, INT4) -> BOOL, |a, with| take(a, with, SESSION), "takes a lock if it is free", volatile, session;
    pg_try_advisory_lock_shared(INT8) -> BOOL, |a, with| take(a, with, SESSION_SHARED), "takes a lock with others if that can be", volatile, session;
    pg_try_advisory_lock_shared(INT4, INT4) -> BOOL, |a, with| take(a, with, SESSION_SHARED), "takes a lock with others if that can be", volatile, session;
    pg_try_advisory_xact_lock(INT8) -> BOOL, |a, with| take(a, with, TRANSACTION), "takes a lock until the transaction's end if it is free", volatile, session;
    pg_try_advisory_xact_lock(INT4, INT4) -> BOOL, |a, with| take(a, with, TRANSACTION), "takes a lock until the transaction's end if it is free", volatile, session;
    pg_try_advisory_xact_lock_shared(INT8) -> BOOL, |a, with| take(a, with, TRANSACTION_SHARED), "the same with others", volatile, session;
    pg_try_advisory_xact_lock_shared(INT4, INT4) -> BOOL, |a, with| take(a, with, TRANSACTION_SHARED), "the same with others", volatile, session;
};

const SESSION: Mode = Mode {
    is_shared: false,
    of_transaction: false,
};
const SESSION_SHARED: Mode = Mode {
    is_shared: true,
    ..SESSION
};
const TRANSACTION: Mode = Mode {
    of_transaction: true,
    ..SESSION
};
const TRANSACTION_SHARED: Mode = Mode {
    of_transaction: true,
    ..SESSION_SHARED
};

fn key(a: Arguments<'_>) -> Key {
    match a.given_int(1) {
        Some(second) => Key::Two(a.int(0) as i32, second as i32),
        None => Key::One(a.int(0)),
    }
}

fn locker<'e>(with: &'e Environment<'_>) -> Result<&'e Locker, SqlError> {
    with.context.locker.as_ref().ok_or_else(|| {
        SqlError::unsupported("advisory locks and pg_sleep are for statements of their own")
            .hint("Send SELECT of the function alone, without FROM, and not behind other statements of one text.")
    })
}

fn take(a: Arguments<'_>, with: &Environment<'_>, mode: Mode) -> Answer {
    Ok(Value::Bool(locker(with)?.try_take(key(a), mode)?))
}

fn wait(a: Arguments<'_>, with: &Environment<'_>, mode: Mode) -> Answer {
    let locker = locker(with)?;
    if !locker.try_take(key(a), mode)? {
        let look = || with.context.check_interrupted();
        aside(|| locker.take(key(a), mode, look))?;
    }
    text("")
}

fn release(a: Arguments<'_>, with: &Environment<'_>, is_shared: bool) -> Answer {
    Ok(Value::Bool(locker(with)?.release(key(a), is_shared)))
}

fn unlock_all(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    locker(with)?.release_session();
    text("")
}

fn sleep(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    locker(with)?;
    let ValueRef::Float(seconds) = a.value(0) else {
        return text("");
    };
    let seconds = seconds.clamp(0.0, SLEEP_SECONDS_MAX);
    if seconds.is_nan() {
        return Err(SqlError::new(
            code::INVALID_PARAMETER_VALUE,
            "a sleep has a number of seconds",
        ));
    }
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    aside(|| {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return text("");
            }
            std::thread::sleep(left.min(BETWEEN_LOOKS));
            with.context.check_interrupted()?;
        }
    })
}
