//! Advisory locks and `pg_sleep`. Functions that may wait run in a statement of their own, outside the serial stage. The
//! others run in any statement of a session.

use super::definition::*;
use crate::advisory::{Key, Locker, Mode};
use crate::error::{SqlError, code};
use crate::expression::Environment;
use crate::lock_modes::TableMode;
use crate::waits::{Awaited, Call, Called};
use sardonyx::schema::{Value, ValueRef};
use std::time::Duration;

/// The longest sleep, in seconds: a year.
const SLEEP_SECONDS_MAX: f64 = 366.0 * 86_400.0;

/// The most warnings of a statement.
const WARNINGS_MAX: usize = 100;

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
    lock: TableMode::Exclusive,
    of_transaction: false,
};
const SESSION_SHARED: Mode = Mode {
    lock: TableMode::Share,
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

/// Makes a call.
pub(super) fn call(
    with: &Environment<'_>,
    call: Call,
    make: impl FnOnce(&Locker) -> Result<Called, SqlError>,
) -> Answer {
    let context = with.context;
    if let Some(waits) = &context.waits {
        return waits.call(call, make, || context.check_interrupted());
    }
    if let (true, Some(claiming)) = (call.is_immediate(), &context.claims) {
        if !call.is_of_session() {
            context.database()?.tables_in_memory("an advisory lock")?;
        }
        // It is not undone with the statement, so a unit that the stage tries runs to its end from here on.
        context.interrupt.take_rows_max();
        return claiming.call(call, make);
    }
    Err(SqlError::unsupported(
        "advisory locks that wait, pg_sleep, and pg_terminate_backend with a time are for statements of their own",
    )
    .hint("Send SELECT of the function alone, without FROM, and not behind other statements of one text; or call pg_try_advisory_lock."))
}

fn take(a: Arguments<'_>, with: &Environment<'_>, mode: Mode) -> Answer {
    call(with, Call::TryTake(key(a), mode), |locker| {
        let is_taken = locker.try_take(key(a), mode)?;
        Ok(Called::Done(Value::Bool(is_taken)))
    })
}

fn wait(a: Arguments<'_>, with: &Environment<'_>, mode: Mode) -> Answer {
    call(with, Call::Take(key(a), mode), |locker| {
        Ok(match locker.try_take(key(a), mode)? {
            true => Called::Done(text("")?),
            false => Called::Waits(Awaited::Lock(key(a), mode)),
        })
    })
}

fn release(a: Arguments<'_>, with: &Environment<'_>, is_shared: bool) -> Answer {
    let released = call(with, Call::Release(key(a), is_shared), |locker| {
        let is_released = locker.release(key(a), is_shared);
        Ok(Called::Done(Value::Bool(is_released)))
    })?;
    // Noted by each evaluation: the answer of the last one is the client's.
    let not_held = &mut with.context.draws.borrow_mut().not_held;
    if released == Value::Bool(false) && not_held.len() < WARNINGS_MAX {
        not_held.push(is_shared);
    }
    Ok(released)
}

fn unlock_all(_: Arguments<'_>, with: &Environment<'_>) -> Answer {
    call(with, Call::ReleaseAll, |locker| {
        locker.release_session();
        Ok(Called::Done(text("")?))
    })
}

fn sleep(a: Arguments<'_>, with: &Environment<'_>) -> Answer {
    call(with, Call::Sleep, |_| {
        let ValueRef::Float(seconds) = a.value(0) else {
            return Ok(Called::Done(text("")?));
        };
        let seconds = seconds.clamp(0.0, SLEEP_SECONDS_MAX);
        if seconds.is_nan() {
            return Err(SqlError::new(
                code::INVALID_PARAMETER_VALUE,
                "a sleep has a number of seconds",
            ));
        }
        let time = Duration::from_secs_f64(seconds);
        Ok(match time.is_zero() {
            true => Called::Done(text("")?),
            false => Called::Waits(Awaited::Time(time)),
        })
    })
}
