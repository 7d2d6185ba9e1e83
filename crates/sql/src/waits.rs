//! Waits of a statement, for advisory locks, by `pg_sleep`, and for the end of a session. A statement keeps no snapshot
//! while it waits, since that would cost memory, and at the bound end other readers.
//!
//! So a call that would wait ends the evaluation. The session waits, and evaluates the statement again over a new snapshot.
//! The results of the calls before are recorded, so that each takes or releases its lock once. If the next evaluation makes
//! another call in the place of a recorded one, rows that the statement reads have changed: it fails.
//!
//! Invariant: a statement is evaluated at most [`RECORDED_MAX`] times. Calls beyond that wait within the evaluation.

use crate::activity::Found;
use crate::advisory::{Key, Locker, Mode};
use crate::error::{SqlError, code};
use sardonyx::schema::Value;
use sardonyx_base::waiting::{BETWEEN_LOOKS, aside};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most calls of a statement whose results are recorded.
const RECORDED_MAX: usize = 100;

/// The condition that a call waits for.
#[derive(Clone, Debug)]
pub(crate) enum Awaited {
    Lock(Key, Mode),
    Time(Duration),
    /// The end of a session, for some time.
    End(Found, Duration),
}

/// A call, by what it does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Call {
    Take(Key, Mode),
    TryTake(Key, Mode),
    /// `true` of a shared lock.
    Release(Key, bool),
    ReleaseAll,
    Sleep,
    /// A session, by its process.
    Cancel(u32),
    /// The same, and the milliseconds for which the call waits.
    Terminate(u32, i64),
    Blocking(u32),
}

impl Call {
    /// True if it never waits, so that it can be made in any statement of a session.
    pub fn is_immediate(self) -> bool {
        match self {
            Call::TryTake(..) | Call::Release(..) | Call::ReleaseAll => true,
            Call::Cancel(_) | Call::Terminate(_, 0) | Call::Blocking(_) => true,
            Call::Take(..) | Call::Sleep | Call::Terminate(..) => false,
        }
    }

    /// True if it concerns a session, and no lock.
    pub fn is_of_session(self) -> bool {
        matches!(
            self,
            Call::Cancel(_) | Call::Terminate(..) | Call::Blocking(_)
        )
    }
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) enum Called {
    Done(Value),
    /// Its result is an empty text, once it has waited; of a session's end, true if it has ended.
    Waits(Awaited),
}

#[derive(Debug, Default)]
struct Record {
    results: Vec<(Call, Value)>,
    /// The number of the next call in this evaluation.
    next: usize,
    awaited: Option<(Call, Awaited)>,
}

/// The waits of a statement.
#[derive(Debug)]
pub(crate) struct Waits {
    locker: Locker,
    record: Mutex<Record>,
}

impl Waits {
    /// Of a statement of the session.
    pub fn of(locker: Locker) -> Waits {
        Waits {
            locker,
            record: Mutex::default(),
        }
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call of a function, or returns the result that it had in an evaluation before.
    ///
    /// # Errors
    /// The error of `make`; one of no meaning if it is to wait: [`Waits::awaited`]; that of `look`; `40001` if another call
    /// is recorded.
    pub fn call(
        &self,
        call: Call,
        make: impl FnOnce(&Locker) -> Result<Called, SqlError>,
        look: impl Fn() -> Result<(), SqlError>,
    ) -> Result<Value, SqlError> {
        let mut record = self.record();
        let number = record.next;
        record.next += 1;
        if let Some((recorded, result)) = record.results.get(number) {
            return match *recorded == call {
                true => Ok(result.clone()),
                false => Err(SqlError::new(
                    code::SERIALIZATION_FAILURE,
                    "could not serialize access: rows changed while a statement that reads them waited for a lock",
                )
                .hint("Read the rows first, and take the locks by statements without FROM.")),
            };
        }
        match make(&self.locker)? {
            Called::Done(value) => {
                if number < RECORDED_MAX {
                    record.results.push((call, value.clone()));
                }
                Ok(value)
            }
            Called::Waits(awaited) if number < RECORDED_MAX => {
                record.awaited = Some((call, awaited));
                Err(SqlError::new(code::INTERNAL, "the statement waits"))
            }
            Called::Waits(awaited) => {
                drop(record);
                self.wait(awaited, look)
            }
        }
    }

    /// The condition for which an evaluation ended: the session waits for it, and evaluates the statement again.
    pub fn awaited(&self) -> Option<(Call, Awaited)> {
        self.record().awaited.take()
    }

    /// Waits without a snapshot, and records that.
    ///
    /// # Errors
    /// `40P01`, `53200`; that of `look`.
    pub fn wait_between(
        &self,
        (call, awaited): (Call, Awaited),
        look: impl Fn() -> Result<(), SqlError>,
    ) -> Result<(), SqlError> {
        let result = self.wait(awaited, look)?;
        let mut record = self.record();
        record.results.push((call, result));
        record.next = 0;
        Ok(())
    }

    fn wait(
        &self,
        awaited: Awaited,
        look: impl Fn() -> Result<(), SqlError>,
    ) -> Result<Value, SqlError> {
        let waited = |()| Value::Text(String::new());
        aside(|| match awaited {
            Awaited::Lock(key, mode) => self.locker.take(key, mode, look).map(waited),
            Awaited::Time(time) => sleep(time, look).map(waited),
            Awaited::End(found, time) => found.wait_for_end(time, look).map(Value::Bool),
        })
    }
}

fn sleep(time: Duration, look: impl Fn() -> Result<(), SqlError>) -> Result<(), SqlError> {
    let until = Instant::now() + time;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(BETWEEN_LOOKS));
        look()?;
    }
}

#[cfg(test)]
mod tests {
    use super::{Awaited, Call, Called, RECORDED_MAX, Waits};
    use crate::advisory::{AdvisoryLocks, Key};
    use crate::error::code;
    use sardonyx::schema::Value;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn each_call_is_made_once_and_evaluations_are_bounded() {
        let waits = Waits::of(Arc::new(AdvisoryLocks::default()).enter(1));
        let (mut evaluations, mut made) = (0, 0);
        let calls = 2 * RECORDED_MAX;
        loop {
            evaluations += 1;
            let mut results = Vec::new();
            for number in 0..calls {
                let call = |_: &_| {
                    made += 1;
                    Ok(match number % 2 {
                        0 => Called::Done(Value::Int(number as i128)),
                        _ => Called::Waits(Awaited::Time(Duration::ZERO)),
                    })
                };
                match waits.call(Call::Sleep, call, || Ok(())) {
                    Ok(value) => results.push(value),
                    Err(_) => break,
                }
            }
            match waits.awaited() {
                Some(awaited) => waits
                    .wait_between(awaited, || Ok(()))
                    .expect("it has waited"),
                None => {
                    let texts = results
                        .iter()
                        .filter(|value| matches!(value, Value::Text(_)));
                    assert_eq!((results.len(), texts.count()), (calls, RECORDED_MAX));
                    break;
                }
            }
        }
        assert_eq!((made, evaluations), (calls, RECORDED_MAX / 2 + 1));
    }
    #[test]
    fn another_call_has_no_recorded_result() {
        let waits = Waits::of(Arc::new(AdvisoryLocks::default()).enter(1));
        let done = |_: &_| Ok(Called::Done(Value::Bool(true)));
        let key = |number| Call::Release(Key::One(number), false);
        waits.call(key(1), done, || Ok(())).expect("it is made");
        let awaited = Awaited::Time(Duration::ZERO);
        waits
            .call(Call::Sleep, |_| Ok(Called::Waits(awaited)), || Ok(()))
            .expect_err("it waits");
        let awaited = waits.awaited().expect("it waits");
        waits
            .wait_between(awaited, || Ok(()))
            .expect("it has waited");
        let other = waits.call(key(2), done, || Ok(())).expect_err("another");
        assert_eq!(other.code, code::SERIALIZATION_FAILURE);
    }
}
