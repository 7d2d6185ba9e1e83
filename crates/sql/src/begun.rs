//! The beginning of a transaction: its moment, and the number by which programs tell it from others.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

/// The beginning of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Begun {
    /// When it began, in microseconds since 1970.
    pub moment: i64,
    /// Its number, which no other transaction of this process has.
    pub number: i64,
}

impl Begun {
    /// Of a transaction that begins at a moment. Numbers grow. A process begins with the number of its first moment. So they
    /// exceed the numbers of earlier processes, if these had fewer than a million transactions a second.
    pub fn at(moment: i64) -> Begun {
        static FIRST: OnceLock<i64> = OnceLock::new();
        static COUNT: AtomicI64 = AtomicI64::new(0);
        let first = *FIRST.get_or_init(|| moment);
        Begun {
            moment,
            number: first.saturating_add(COUNT.fetch_add(1, Ordering::Relaxed)),
        }
    }
}
