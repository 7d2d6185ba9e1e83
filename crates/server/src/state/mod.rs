//! The state of a server and its database as one value that can be sent. The page, `sardonyx top` and `/metrics` show
//! only this, so they agree.
//!
//! Counts grow from the server's start (those of the engine from the opening of the database). Rates are the
//! differences of two states ([`Rates`]). Times are seconds, sizes bytes. Fields may be added; readers skip unknown
//! ones.

mod host;
mod observed;
mod rates;
mod reading;

pub use host::{Host, SeesHost};
pub use observed::Observed;
pub use rates::{ClientRates, Rates, StageLoads};

use serde::{Deserialize, Serialize};

/// A server and its database. Each number is correct, but they are not all of the same moment.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// The program's version.
    pub version: String,
    /// The time of reading, in seconds since 1970.
    pub unix_seconds: f64,
    /// The time for which the server had run, by a monotonic clock.
    pub uptime_seconds: f64,
    /// The readiness for clients.
    pub readiness: Readiness,
    /// Committed transactions with changes.
    pub transactions: u64,
    /// The logging stage.
    pub log: Log,
    /// The time for which each stage was busy.
    pub stages: Stages,
    /// The checkpointing stage.
    pub checkpoint: Checkpoint,
    /// This server's host, if the database's log is in a store, or if it follows a program that has the database open.
    #[serde(default)]
    pub host: Option<Host>,
    /// The store of the log, if there is one.
    pub store: Option<Store>,
    /// The use of memory.
    pub memory: Memory,
    /// Figures of the recovery.
    pub recovery: Recovery,
    /// The largest tables, and those that were changed most, largest first.
    pub tables: Vec<Table>,
    /// The number of all tables, also those left out here.
    pub tables_total: u64,
    /// Clients, by protocol.
    pub clients: Vec<Clients>,
    /// Clients that were refused.
    pub refused: u64,
    /// Errors sent to clients, by the class of their SQLSTATE; classes without errors are left out.
    pub errors: Vec<Errors>,
    /// The slowest statements of the last hour, slowest first; `None` for clients that may not read all tables.
    pub slow_statements: Option<Vec<Statement>>,
    /// Since the server started; the list has the last ones only.
    pub slow_total: u64,
}

/// The readiness for clients.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Readiness {
    /// True if clients can be served.
    pub ready: bool,
    /// The obstacles, as sentences that name no file.
    pub obstacles: Vec<String>,
}

/// The logging stage.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// Groups written: each by one write and one sync.
    pub groups: u64,
    /// Bytes of records in them.
    pub payload_bytes: u64,
    /// Bytes written, headers and padding included.
    pub written_bytes: u64,
    /// The times of the writes, syncs included.
    pub write: Histogram,
    /// The most transactions in one group.
    pub largest_group: u64,
    /// Groups that are sealed and not durable yet.
    pub outstanding_groups: u64,
    /// The most bytes of log on disk.
    #[serde(default)]
    pub limit_bytes: u64,
    /// True if nothing is acknowledged before a copy in a store has it.
    pub has_remote_copy: bool,
    /// True if an error closed the log.
    pub poisoned: bool,
}

/// The time for which each stage was busy, in seconds, summed over its threads.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Stages {
    /// Decoding and checking requests.
    pub input: f64,
    /// Running transactions.
    pub execution: f64,
    /// Checksumming and writing groups, waiting for the disk included.
    pub logging: f64,
    /// Sending results to clients.
    pub output: f64,
    /// Applying changes to the copy, and writing blocks of the backup.
    pub checkpoint: f64,
}

impl Stages {
    /// The stages by name, in the order in which a transaction passes them.
    pub fn named(&self) -> [(&'static str, f64); 5] {
        [
            ("input", self.input),
            ("execution", self.execution),
            ("logging", self.logging),
            ("output", self.output),
            ("checkpoint", self.checkpoint),
        ]
    }
}

/// The progress of checkpoints, and what they have written.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Counts those since the database was opened.
    pub completed: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes written to the backup.
    pub written_bytes: u64,
    /// Total time from the beginning to the end of the checkpoints.
    pub writeout_seconds: f64,
    /// True if a checkpoint is being written.
    pub running: bool,
    /// The time for which a checkpoint has been waiting for room on the disk.
    pub waiting_seconds: Option<f64>,
    /// True if checkpointing stopped for good.
    pub stopped: bool,
    /// The log that a recovery would have to read now, from the oldest needed place to the end.
    pub lag_bytes: u64,
    /// Transactions in that log.
    pub lag_transactions: u64,
}

/// The store of the log.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Store {
    /// True if it answered its last request.
    pub answers: bool,
    /// The durable log that the store does not have yet: what a takeover would lose with `--durable-at local`,
    /// otherwise 0.
    pub lag_bytes: u64,
    /// Transactions in that log.
    pub lag_transactions: u64,
}

/// The use of memory, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Pages of tables and journals.
    pub pages: u64,
    /// Bytes of all indexes, in memory.
    pub indexes: u64,
}

/// Figures of the recovery.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// The time of recovery: loading the backup, redoing the log, making it stable.
    pub seconds: f64,
    /// The time of rebuilding the indexes.
    pub index_seconds: f64,
    /// Transactions redone.
    pub transactions: u64,
}

/// A line of the page's list of tables.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// With its schema, as programs name it.
    pub name: String,
    /// As of the moment of the state.
    pub rows: u64,
    /// Bytes of its pages.
    pub bytes: u64,
    /// Rows inserted, changed and deleted since the database was opened, also by transactions that were undone.
    pub changes: u64,
}

/// The clients of a protocol.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Clients {
    /// The protocol: `postgres`, `redis` or `http`.
    pub protocol: String,
    /// Open connections.
    pub open: u64,
    /// Connections opened so far.
    pub opened: u64,
    /// Statements or commands.
    pub statements: u64,
    /// The times of flights: requests that arrived and ran together, until the last answer. Its count is the number of
    /// flights.
    pub flights: Histogram,
}

/// Times by classes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper bounds of the classes, in seconds.
    pub bounds: Vec<f64>,
    /// The number in each class and, last, above all bounds.
    pub classes: Vec<u64>,
    /// The sum of all times, in seconds.
    pub sum: f64,
}

impl Histogram {
    /// The number of times in all classes.
    pub fn count(&self) -> u64 {
        self.classes.iter().sum()
    }
}

/// Errors of a class.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Errors {
    /// The first two characters of SQLSTATE, or `other`.
    pub class: String,
    /// The number of errors sent to clients.
    pub count: u64,
}

/// A statement that was slow.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Statement {
    /// The statement's text, which may be cut.
    pub text: String,
    /// The user who ran it last.
    pub user: String,
    /// The number of slow runs.
    pub times: u64,
    /// The time of the slowest run, in seconds.
    pub slowest_seconds: f64,
    /// The total time of the slow runs, in seconds.
    pub total_seconds: f64,
    /// The time of the last slow run, in seconds since 1970.
    pub last_unix_seconds: f64,
}
