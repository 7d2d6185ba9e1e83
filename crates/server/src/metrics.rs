//! The counts of the server, read on request: a statement costs only additions.
//!
//! Errors are counted by the class of their SQLSTATE, its first two characters. The set of classes is fixed
//! ([`ERROR_CLASSES`]), so that no client can make the counts grow. Slow statements are kept by their texts
//! ([`SlowStatements`]).

use crate::slow_statements::{SlowStatement, SlowStatements};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The label of metrics, by which clients are counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protocol {
    /// PostgreSQL's.
    Postgres,
    /// RESP2 and RESP3.
    Redis,
    /// The page, the metrics and the probes.
    Http,
}

impl Protocol {
    /// In the order of the page and of the metrics.
    pub const ALL: [Protocol; 3] = [Protocol::Postgres, Protocol::Redis, Protocol::Http];

    /// The protocol's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Postgres => "postgres",
            Protocol::Redis => "redis",
            Protocol::Http => "http",
        }
    }
}

/// The classes of errors that are counted separately: those of SQLSTATE, and `other` for any other error.
pub const ERROR_CLASSES: [&str; 26] = [
    "08", "0A", "0L", "20", "21", "22", "23", "25", "26", "27", "28", "2B", "2D", "34", "3B", "3D",
    "3F", "40", "42", "53", "54", "55", "57", "58", "XX", "other",
];

/// Upper bounds of the classes of response times, in microseconds; the last class has none.
pub const FLIGHT_MICROSECONDS: [u64; 14] = [
    50, 100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 25_600, 51_200, 102_400, 409_600,
    1_638_400,
];

/// The counts of a server.
#[derive(Debug, Default)]
pub struct Metrics {
    protocols: [ProtocolMetrics; 3],
    refused: AtomicU64,
    errors: [AtomicU64; ERROR_CLASSES.len()],
    slow: SlowStatements,
}

/// The counts of a protocol.
#[derive(Debug, Default)]
pub struct ProtocolMetrics {
    opened: AtomicU64,
    closed: AtomicU64,
    flights: AtomicU64,
    statements: AtomicU64,
    microseconds: AtomicU64,
    classes: [AtomicU64; FLIGHT_MICROSECONDS.len() + 1],
}

/// The counts of a protocol at a moment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProtocolCounts {
    /// Connections opened so far.
    pub opened: u64,
    /// Open connections.
    pub open: u64,
    /// Flights: requests that arrived and ran together.
    pub flights: u64,
    /// Statements or commands in them.
    pub statements: u64,
    /// The time of all flights, from the first byte understood to the last answer.
    pub microseconds: u64,
    /// Flights in each class of [`FLIGHT_MICROSECONDS`], and above.
    pub classes: Vec<u64>,
}

/// An open connection, until it is dropped.
#[derive(Debug)]
pub struct OpenConnection<'a>(&'a ProtocolMetrics);

impl Metrics {
    fn of(&self, protocol: Protocol) -> &ProtocolMetrics {
        &self.protocols[protocol as usize]
    }

    /// Counts a new connection.
    pub fn opened(&self, protocol: Protocol) -> OpenConnection<'_> {
        let metrics = self.of(protocol);
        metrics.opened.fetch_add(1, Ordering::Relaxed);
        OpenConnection(metrics)
    }

    /// Counts a client that was refused.
    pub fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts an error with this SQLSTATE, sent to a client; any other text is counted as `other`.
    pub fn error(&self, code: &str) {
        let class = code.get(..2).unwrap_or_default();
        let known = ERROR_CLASSES.iter().position(|known| *known == class);
        let class = known.unwrap_or(ERROR_CLASSES.len() - 1);
        self.errors[class].fetch_add(1, Ordering::Relaxed);
    }

    /// Counts errors without a code, as those of Redis' protocol.
    pub fn errors_without_code(&self, count: u64) {
        if count > 0 {
            self.errors[ERROR_CLASSES.len() - 1].fetch_add(count, Ordering::Relaxed);
        }
    }

    /// Notes and logs a user's statement that took longer than
    /// [`Limits::slow_statement`](crate::Limits::slow_statement), which the caller has compared.
    pub fn slow(&self, user: &str, text: &str, took: Duration) {
        self.slow.note(user, text, took);
    }

    /// The slowest statements, slowest first, and the number of slow ones in all.
    pub fn slow_statements(&self) -> (Vec<SlowStatement>, u64) {
        (self.slow.slowest(), self.slow.total())
    }

    /// The number of errors sent to clients, by each of [`ERROR_CLASSES`].
    pub fn errors(&self) -> [(&'static str, u64); ERROR_CLASSES.len()] {
        std::array::from_fn(|class| {
            let count = self.errors[class].load(Ordering::Relaxed);
            (ERROR_CLASSES[class], count)
        })
    }

    /// Counts an answered flight of so many statements.
    pub fn flight(&self, protocol: Protocol, statements: usize, took: Duration) {
        let metrics = self.of(protocol);
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = FLIGHT_MICROSECONDS.partition_point(|bound| *bound < microseconds);
        let add = |count: &AtomicU64, number| count.fetch_add(number, Ordering::Relaxed);
        add(&metrics.flights, 1);
        add(&metrics.statements, statements as u64);
        add(&metrics.microseconds, microseconds);
        add(&metrics.classes[class], 1);
    }

    /// The current counts of a protocol.
    pub fn counts(&self, protocol: Protocol) -> ProtocolCounts {
        let metrics = self.of(protocol);
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (closed, opened) = (read(&metrics.closed), read(&metrics.opened));
        ProtocolCounts {
            opened,
            open: opened.saturating_sub(closed),
            flights: read(&metrics.flights),
            statements: read(&metrics.statements),
            microseconds: read(&metrics.microseconds),
            classes: metrics.classes.iter().map(read).collect(),
        }
    }

    /// The number of clients that were refused.
    pub fn refusals(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.closed.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flights_are_counted_by_their_time() {
        let metrics = Metrics::default();
        let open = metrics.opened(Protocol::Redis);
        metrics.flight(Protocol::Redis, 3, Duration::from_micros(50));
        metrics.flight(Protocol::Redis, 4, Duration::from_micros(51));
        metrics.flight(Protocol::Redis, 5, Duration::from_secs(100));
        let counts = metrics.counts(Protocol::Redis);
        assert_eq!((counts.open, counts.flights, counts.statements), (1, 3, 12));
        assert_eq!((counts.classes[0], counts.classes[1]), (1, 1));
        assert_eq!(counts.classes[FLIGHT_MICROSECONDS.len()], 1);
        assert_eq!(counts.opened, 1);
        drop(open);
        assert_eq!(metrics.counts(Protocol::Redis).open, 0);
        assert_eq!(
            metrics.counts(Protocol::Postgres),
            ProtocolCounts {
                classes: vec![0; 15],
                ..ProtocolCounts::default()
            }
        );
    }

    #[test]
    fn errors_are_counted_by_their_class_and_no_text_makes_another_one() {
        let metrics = Metrics::default();
        for code in ["40001", "40P01", "23505", "", "4", "日本", "zz999"] {
            metrics.error(code);
        }
        let counted: Vec<_> = metrics
            .errors()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .collect();
        assert_eq!(counted, [("23", 1), ("40", 2), ("other", 4)]);
    }
}
