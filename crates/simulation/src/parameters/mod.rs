//! The parameters of a simulation: each with its unit and its limits.
//!
//! The defaults are the GEM paper's (Table 4.1), kept in one place, the commented file `presets/paper.toml`. A user
//! names only differences: another [`preset`], a file, single keys. [`read`] lays them over each other and checks the
//! result, so that a [`Parameters`] is always complete and within its limits.

pub mod limits;
pub mod preset;
pub mod read;

use sardonyx_workload::debit_credit_pages::PageScale;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All parameters of a simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// Processing nodes that share the database.
    pub nodes: u32,
    /// The coupling of the nodes.
    pub coupling: Coupling,
    /// The time when modified pages are written.
    pub update: Update,
    /// To which node a transaction goes.
    pub routing: Routing,
    /// The length, the replications and the seed.
    pub run: Run,
    /// The arrival of transactions.
    pub arrival: Arrival,
    /// The transactions of all nodes, drawn or from a trace.
    pub workload: Workload,
    /// Alike for all nodes.
    pub node: Node,
    /// The network, and the costs of messages.
    pub messages: Messages,
    /// Global Extended Memory.
    pub gem: Gem,
    /// Database disks.
    pub disk: Disk,
    /// The place of each node's log.
    pub log: Log,
    /// Concurrency control.
    pub locking: Locking,
    /// Files by name; `default` for those without an entry of their own.
    pub partition: BTreeMap<String, PartitionEntry>,
}

/// The coupling of the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coupling {
    /// Closely: a global lock table in GEM.
    Close,
    /// Loosely: primary copy locking by messages.
    Loose,
}

/// The time when modified pages are written to permanent storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// Before commit.
    Force,
    /// When they are replaced in the buffer; at commit only the log is written.
    Noforce,
}

/// To which node a transaction goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Routing {
    /// By its references: the branch, or its type by a routing table.
    Affinity,
    /// To any node, all alike.
    Random,
}

/// The length, the replications and the seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The same seed gives the same run (I11).
    pub seed: u64,
    /// Simulated seconds before measuring.
    pub warm_up_seconds: f64,
    /// Simulated seconds measured, in each replication.
    pub measured_seconds: f64,
    /// Wanted half width of the 95% interval of the mean response time, as a share of the mean.
    pub precision: f64,
    /// Run before the interval is compared with `precision`.
    pub least_replications: u32,
    /// The point ends then, with the interval that it has.
    pub most_replications: u32,
    /// Transactions in the system at most: a run with more of them ends early, as saturated.
    pub most_in_system: u64,
}

/// The arrival of transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// Transactions per second and node.
    pub rate_per_node: f64,
    /// The distribution of the times between arrivals.
    pub process: ArrivalProcess,
    /// Stages of the Erlang distribution.
    pub stages: u32,
    /// Coefficient of variation of the hyperexponential distribution.
    pub variation: f64,
    /// Rate within a burst over the mean rate.
    pub burst_factor: f64,
    /// Mean length of a burst.
    pub burst_seconds: f64,
}

/// The distribution of the times between arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalProcess {
    /// Exponential times: independent clients.
    Poisson,
    /// Equal times.
    Deterministic,
    /// Sums of exponential times: more regular than Poisson.
    Erlang,
    /// Mixed exponential times: more variable than Poisson.
    Hyperexponential,
    /// Poisson in bursts, with silence between them.
    OnOff,
}

/// The work of transactions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Debit-credit or a trace.
    pub kind: WorkloadKind,
    /// BRANCH records per node.
    pub branches_per_node: u32,
    /// TELLER records per BRANCH record.
    pub tellers_per_branch: u32,
    /// ACCOUNT records per BRANCH record.
    pub accounts_per_branch: u32,
    /// BRANCH records in a page.
    pub branch_blocking: u32,
    /// TELLER records in a page.
    pub teller_blocking: u32,
    /// ACCOUNT records in a page.
    pub account_blocking: u32,
    /// HISTORY records in a page.
    pub history_blocking: u32,
    /// True if TELLER records are in their branch's page.
    pub clustered: bool,
    /// Share of accounts that belong to another branch.
    pub other_branch_percent: u32,
    /// The trace's file.
    pub trace: String,
    /// The file with the routing and authority tables of a trace; empty: they are computed.
    pub tables: String,
    /// Arrivals per second and node of a trace's types by name; empty: the whole trace in its
    /// order.
    pub type_rates: BTreeMap<String, f64>,
}

/// The source of the transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkloadKind {
    /// Drawn: account, history, teller, branch.
    DebitCredit,
    /// Read from a file.
    Trace,
}

/// A processing node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Transactions that run at once; more wait in the input queue.
    pub multiprogramming_level: u32,
    /// Each serves one request at a time; all have one queue.
    pub processors: u32,
    /// Million instructions per second of one processor.
    pub mips: f64,
    /// Mean instructions to begin a transaction.
    pub begin_instructions: f64,
    /// Mean instructions for a record access.
    pub access_instructions: f64,
    /// Mean instructions to end a transaction.
    pub end_instructions: f64,
    /// Distribution of these three.
    pub path_lengths: Distribution,
    /// Page frames of the database buffer.
    pub buffer_pages: u32,
    /// The transactions that wait for the write of a modified page that is replaced.
    pub replacement_writes: ReplacementWrites,
    /// Modified pages that are written when one has to be replaced (NOFORCE). With more than one, pages that are not
    /// modified are replaced first, and of the modified ones the least recently used are written together.
    pub write_back_pages: u32,
    /// The order of FORCE's writes.
    pub force_writes: ForceWrites,
    /// True if a page begun at the end of a sequential file is read from storage first.
    pub new_page_reads: bool,
}

/// The transactions that wait for the write of a modified page that is replaced (NOFORCE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplacementWrites {
    /// None.
    Asynchronous,
    /// The transaction that needs the frame.
    Synchronous,
}

/// The order of FORCE's writes of one transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForceWrites {
    /// One after the other.
    Sequential,
    /// All at once.
    Parallel,
}

/// The network, and the costs of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Messages {
    /// Bandwidth, in 10^6 bytes a second.
    pub megabytes_per_second: f64,
    /// Delay beside the transmission.
    pub latency_microseconds: f64,
    /// Length of a short message.
    pub short_bytes: u32,
    /// Length of a page in a long message.
    pub long_bytes: u32,
    /// Instructions to send or to receive a short message.
    pub short_instructions: f64,
    /// Instructions to send or to receive a long message.
    pub long_instructions: f64,
    /// The medium that carries them.
    pub medium: MessageMedium,
    /// Instructions to send or to receive a message through GEM, beside the accesses to it.
    pub gem_instructions: f64,
}

/// The medium of messages between nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageMedium {
    /// Messages are sent over it, with a time of transmission.
    Network,
    /// GEM: the sender writes a message there, the receiver reads it there, both synchronously.
    Gem,
}

/// The way of a page from its owner to another node (GEM locking, NOFORCE).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PageTransfer {
    /// In a long message.
    Message,
    /// Across GEM: the owner writes it there, the other node reads it there.
    Gem,
}

/// Global Extended Memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gem {
    /// Accesses served at once.
    pub servers: u32,
    /// Mean time of a page access.
    pub page_microseconds: f64,
    /// Mean time of an entry access.
    pub entry_microseconds: f64,
    /// Instructions to begin a page access.
    pub page_instructions: f64,
    /// Distribution of the times.
    pub distribution: Distribution,
}

/// The distribution of service times around their mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Always the mean.
    Constant,
    /// Often short, sometimes long: the standard deviation is the mean.
    Exponential,
    /// From 0 to twice the mean, all alike.
    Uniform,
}

/// Database disks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// Instructions for the I/O of a page.
    pub instructions: f64,
    /// Mean access time.
    pub access_milliseconds: f64,
    /// Time at the controller.
    pub controller_milliseconds: f64,
    /// Time to transfer a page.
    pub transfer_milliseconds: f64,
    /// Distribution of the access time.
    pub distribution: Distribution,
    /// The disk that serves a page, also for the log.
    pub queues: DiskQueues,
}

/// The one of a file's disks, and of their controllers, that serves a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskQueues {
    /// Any that is free: one queue for all.
    Common,
    /// Always the same one: a queue each.
    PerDisk,
}

/// The place of each node's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The kind of storage.
    pub storage: Storage,
    /// Mean access time of log disks.
    pub access_milliseconds: f64,
    /// They take the writes of the log.
    pub disks_per_node: u32,
    /// Shared by the log disks of a node.
    pub controllers_per_node: u32,
    /// Pages in the cache of a node's log disks.
    pub cache_pages_per_node: u32,
}

/// Concurrency control.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locking {
    /// The time that a transaction waits before a deadlock is looked for.
    pub check_milliseconds: f64,
    /// The time that a deadlock's victim waits before it starts again.
    pub restart_milliseconds: f64,
    /// True if nodes grant read locks locally when authorised in the global lock table.
    pub read_authorisation: bool,
    /// True if nodes grant read locks locally when authorised by the primary copy's node.
    pub read_optimisation: bool,
    /// True if they do so also for a page that is not in their buffer any more.
    pub authorised_without_copy: bool,
    /// True if the primary copy's node answers a release.
    pub acknowledge_release: bool,
    /// Loose coupling, NOFORCE: whether storage has a version as soon as its transaction has committed, since the log is
    /// kept where the pages are. Then pages still come with locks, and no node writes any.
    pub stored_at_commit: bool,
    /// The way of a page from its owner to another node (GEM locking, NOFORCE).
    pub page_transfer: PageTransfer,
    /// True if a node keeps the entries of pages that it owns, and writes these pages back without reading their
    /// entries from GEM.
    pub remembered_entries: bool,
}

/// A file's entry of a partition: absent fields are as in `default`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionEntry {
    /// See [`Partition::locks`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locks: Option<bool>,
    /// See [`Partition::storage`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Storage>,
    /// See [`Partition::disks_per_node`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disks_per_node: Option<u32>,
    /// See [`Partition::controllers_per_node`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controllers_per_node: Option<u32>,
    /// See [`Partition::cache_pages_per_node`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_pages_per_node: Option<u32>,
}

/// A partition (file) of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// True if its pages are locked.
    pub locks: bool,
    /// Its place.
    pub storage: Storage,
    /// Its disks, per node of the system; all nodes reach all of them.
    pub disks_per_node: u32,
    /// Their controllers, per node of the system.
    pub controllers_per_node: u32,
    /// Pages in its disks' cache, per node of the system.
    pub cache_pages_per_node: u32,
}

/// The allocation of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Storage {
    /// Magnetic disks.
    Disk,
    /// Disks with a volatile cache: saves reads.
    VolatileCache,
    /// Disks with a non-volatile cache: saves reads, and writes wait for the cache only.
    NonvolatileCache,
    /// Global Extended Memory, accessed synchronously.
    Gem,
    /// Disks behind a page cache in GEM: saves reads, and writes wait for GEM only; accessed synchronously. A node
    /// brings written pages from there to the disks later.
    GemCache,
}

impl Parameters {
    /// The parameters of the GEM paper (Table 4.1): one node, closely coupled.
    pub fn paper() -> Self {
        preset::find("paper")
            .and_then(|preset| preset.parameters().ok())
            .expect("the GEM paper's preset is complete and valid, which a test shows")
    }

    /// The size of the bank of a debit-credit workload.
    pub fn page_scale(&self) -> PageScale {
        let workload = &self.workload;
        PageScale {
            units: self.nodes,
            branches_per_unit: workload.branches_per_node,
            tellers_per_branch: workload.tellers_per_branch,
            accounts_per_branch: workload.accounts_per_branch,
            branch_blocking: workload.branch_blocking,
            teller_blocking: workload.teller_blocking,
            account_blocking: workload.account_blocking,
            history_blocking: workload.history_blocking,
            clustered: workload.clustered,
            other_branch_percent: workload.other_branch_percent,
        }
    }

    /// The partition `name`, with missing keys taken from `default`.
    pub fn partition(&self, name: &str) -> Partition {
        let named = self.partition.get(name).cloned().unwrap_or_default();
        let fallback = &self.partition["default"];
        let numbers = |of: fn(&PartitionEntry) -> Option<u32>| {
            of(&named).or(of(fallback)).expect("default is complete")
        };
        Partition {
            locks: named.locks.or(fallback.locks).expect("default is complete"),
            storage: named
                .storage
                .or(fallback.storage)
                .expect("default is complete"),
            disks_per_node: numbers(|entry| entry.disks_per_node),
            controllers_per_node: numbers(|entry| entry.controllers_per_node),
            cache_pages_per_node: numbers(|entry| entry.cache_pages_per_node),
        }
    }
}
