//! What a server and its database are doing, as one value that can be sent: the page, `sardonyx top` and `/metrics` show
//! nothing else, so they agree.
//!
//! Counts go up from the server's start (those of the engine from the opening of the database), and rates are what two
//! states differ by ([`Rates`]). Times are seconds, sizes bytes. Fields may be added; readers pass over what they do not
//! know.

mod host;
mod observed;
mod rates;
mod reading;

pub use host::{Host, SeesHost};
pub use observed::Observed;
pub use rates::{ClientRates, Rates, StageLoads};

use serde::{Deserialize, Serialize};

/// A server and its database at a moment. Each number is right; together they are not one moment's.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct State {
    /// The program's version.
    pub version: String,
    /// When it was read, in seconds since 1970.
    pub unix_seconds: f64,
    /// For how long the server had run, by a clock that nobody sets.
    pub uptime_seconds: f64,
    /// Whether clients can be served.
    pub readiness: Readiness,
    /// Transactions committed, that changed something.
    pub transactions: u64,
    /// The logging stage.
    pub log: Log,
    /// For how long each stage was busy.
    pub stages: Stages,
    /// The checkpointing stage.
    pub checkpoint: Checkpoint,
    /// The host that this server is, if the database's log is in a store, or if it follows a program that has the database
    /// open.
    #[serde(default)]
    pub host: Option<Host>,
    /// The store that has the log, too, if there is one.
    pub store: Option<Store>,
    /// What memory is used for.
    pub memory: Memory,
    /// How the database was opened.
    pub recovery: Recovery,
    /// The largest tables, and those that were changed most: from the largest on.
    pub tables: Vec<Table>,
    /// How many tables there are, with those that are left out here.
    pub tables_total: u64,
    /// Clients, by protocol.
    pub clients: Vec<Clients>,
    /// Clients that were not let in.
    pub refused: u64,
    /// Errors that clients were told, by the class of their SQLSTATE; classes without any are left out.
    pub errors: Vec<Errors>,
    /// The slowest statements of the last hour, from the slowest on; `None` for those who have not shown that they may
    /// read all tables.
    pub slow_statements: Option<Vec<Statement>>,
    /// How many statements were slow in all.
    pub slow_total: u64,
}

/// Whether clients can be served.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Readiness {
    /// Whether they can.
    pub ready: bool,
    /// Why not, as sentences that name no file.
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
    /// How long the writes took, syncs included.
    pub write: Histogram,
    /// The most transactions in one group.
    pub largest_group: u64,
    /// Groups that are sealed and not durable yet.
    pub outstanding_groups: u64,
    /// Whether nothing is durable before a copy in a store has it.
    pub has_remote_copy: bool,
    /// Whether an error closed the log.
    pub poisoned: bool,
}

/// For how long each stage was busy, in seconds, summed over its threads.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Stages {
    /// Taking and checking requests.
    pub input: f64,
    /// Running transactions.
    pub execution: f64,
    /// Checksumming and writing groups, waiting for the disk included.
    pub logging: f64,
    /// Giving results to clients.
    pub output: f64,
    /// Installing changes into the copy, and writing blocks of the backup.
    pub checkpoint: f64,
}

impl Stages {
    /// The stages by their names, in the order in which a transaction passes them.
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

/// The checkpointing stage.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Checkpoints completed.
    pub completed: u64,
    /// Blocks written.
    pub blocks: u64,
    /// Bytes written to the backup.
    pub written_bytes: u64,
    /// Time from the beginning to the end of the checkpoints, summed.
    pub writeout_seconds: f64,
    /// Whether one is being written.
    pub running: bool,
    /// For how long one has been waiting for room on the disk.
    pub waiting_seconds: Option<f64>,
    /// Whether checkpointing stopped for good.
    pub stopped: bool,
    /// The log that a recovery would have to read now: from the oldest place that is needed to the end.
    pub lag_bytes: u64,
    /// Transactions in it.
    pub lag_transactions: u64,
}

/// The store that has the log, too.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Store {
    /// True if it answers, as far as it was asked.
    pub answers: bool,
    /// The durable log that it has not yet: what a takeover would lose with `--durable-at local`, else none.
    pub lag_bytes: u64,
    /// Transactions in it.
    pub lag_transactions: u64,
}

/// What memory is used for, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Memory {
    /// Pages of tables and journals.
    pub pages: u64,
    /// Indexes.
    pub indexes: u64,
}

/// How the database was opened.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Recovery {
    /// How long recovery took: loading the backup, redoing the log, making it stable.
    pub seconds: f64,
    /// How long rebuilding the indexes took.
    pub index_seconds: f64,
    /// Transactions redone.
    pub transactions: u64,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// How many rows it has.
    pub rows: u64,
    /// Bytes of the pages that it uses.
    pub bytes: u64,
    /// Rows inserted, changed and deleted since the database was opened, also by transactions that were undone.
    pub changes: u64,
}

/// The clients of a protocol.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Clients {
    /// The protocol: `postgres`, `redis` or `http`.
    pub protocol: String,
    /// Connections that are open.
    pub open: u64,
    /// Connections that were opened.
    pub opened: u64,
    /// Statements or commands.
    pub statements: u64,
    /// How long flights took: what arrived and was run together, until its last answer. Its count is how many
    /// there were.
    pub flights: Histogram,
}

/// Times by classes.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper bounds of the classes, in seconds.
    pub bounds: Vec<f64>,
    /// How many were in each class, and, last, above all bounds.
    pub classes: Vec<u64>,
    /// All of them added, in seconds.
    pub sum: f64,
}

impl Histogram {
    /// How many there are.
    pub fn count(&self) -> u64 {
        self.classes.iter().sum()
    }
}

/// Errors of a class.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Errors {
    /// The first two characters of SQLSTATE, or `other`.
    pub class: String,
    /// How many clients were told.
    pub count: u64,
}

/// A statement that was slow.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Statement {
    /// Its text, which may be cut.
    pub text: String,
    /// Whose it was, the last time.
    pub user: String,
    /// How often it was slow.
    pub times: u64,
    /// The longest that it took, in seconds.
    pub slowest_seconds: f64,
    /// All the times that it was slow added, in seconds.
    pub total_seconds: f64,
    /// When it was slow last, in seconds since 1970.
    pub last_unix_seconds: f64,
}
