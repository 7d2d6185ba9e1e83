//! The figures of a benchmark. Times are in seconds unless their name says otherwise.

use super::curve::OpenLoopFigures;
use super::follower::Followed;
use super::model::Sums;
use super::options::{Configuration, LocatingStage};
use super::plan::Plan;
use super::proof::Proof;
use super::requests::Scale;
use super::run::{Mode, Outcome, Slice, Until};
use crate::floor::{BarePipeline, SyncLatency};
use crate::responses::Summary;
use crate::written::CountedBy;
use sardonyx::Durability;
use sardonyx::disk::GroupPolicy;
use sardonyx::reports::Statistics;
use sardonyx_results::recovery::RecoveryFigures;
use sardonyx_storage::checkpoint::CheckpointTotals;
use sardonyx_storage::log::LogPosition;
use sardonyx_storage::remote_log::in_store::{InStoreState, Sent};
use serde::Serialize;
use std::time::Duration;

/// A benchmark: its settings, and a run for each configuration.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// As the command line has them, with defaults.
    pub settings: Settings,
    /// The disk's bare latency, before the runs.
    pub sync_latency: SyncLatency,
    /// The bare durable pipeline, after the runs, if requested.
    pub bare_pipeline: Option<BarePipeline>,
    /// One for each configuration, in turn.
    pub runs: Vec<Run>,
}

/// The settings of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Settings {
    /// The machine's processors.
    pub processors: usize,
    /// True if a core was kept awake.
    pub spinner: bool,
    /// The size of the tables.
    pub scale: Scale,
    /// Transactions to run, if their number ended the run.
    pub transactions: Option<u64>,
    /// Time to run, if the time ended the run.
    pub seconds: Option<f64>,
    /// The address for clients of other processes, if they were served.
    pub listen: Option<String>,
    /// The stage whose threads located their requests' records.
    pub located_by: Option<LocatingStage>,
    /// Clients, each a thread; none when serving.
    pub clients: usize,
    /// Requests in a batch; absent if closures were run one at a time, and when serving.
    pub batch: Option<usize>,
    /// Batches that each client had in flight.
    pub batches_in_flight: Option<usize>,
    /// `durable` or `deferred`.
    pub durability: &'static str,
    /// The TPK paper's TransactionsPerGroup, if fixed.
    pub transactions_per_group: Option<u32>,
    /// The TPK paper's TimePerGroup, if fixed.
    pub time_per_group: Option<f64>,
    /// The share of accounts of another branch.
    pub other_branch_percent: u32,
    /// The store of the log, if there was one.
    pub store: Option<String>,
    /// The places where a transaction was durable when it was acknowledged: `local`, `both` or `remote`.
    pub durable_at: Option<&'static str>,
    /// The imposed least time of a put into the store, in seconds.
    pub put_seconds: Option<f64>,
    /// The share of requests with a wrong code, in percent.
    pub wrong_code_percent: u32,
    /// The seed of the requests.
    pub seed: u64,
}

/// The run of one configuration, from the empty database to the proof.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// The TPK paper's configuration.
    pub configuration: Configuration,
    /// Threads of the input and of the output stage; none if coalesced.
    pub stage_threads: Option<(usize, usize)>,
    /// Loading the tables.
    pub loading: Loading,
    /// Transactions acknowledged as committed.
    pub committed: u64,
    /// Requests that were undone.
    pub refused: u64,
    /// Wall time.
    pub seconds: f64,
    /// Committed transactions a second.
    pub transactions_per_second: f64,
    /// Response times; absent if no transaction was acknowledged, and in an open loop, which has its own.
    pub responses: Option<Responses>,
    /// The figures at each arrival rate, in an open loop.
    pub open_loop: Option<OpenLoopFigures>,
    /// The time that each stage was busy.
    pub stages: Stages,
    /// Commit groups.
    pub groups: Groups,
    /// Bytes for a transaction, and in all.
    pub log: Logged,
    /// Checkpoints during the run.
    pub checkpoints: Checkpoints,
    /// The bytes written to the disk for both, if the system reports them.
    pub device: Option<DeviceWrites>,
    /// Records, pages, indexes, and the process at its largest.
    pub memory: Memory,
    /// The time of closing the database.
    pub close_seconds: f64,
    /// The time of opening it again, with recovery and rebuilding the indexes.
    pub open_seconds: f64,
    /// Of the second opening.
    pub recovery: RecoveryFigures,
    /// The other host, in configuration C.
    pub other_host: Option<OtherHostFigures>,
    /// The proof of the outcome.
    pub proof: ProofFigures,
    /// The directory of the database, if it was kept.
    pub kept_in: Option<String>,
}

/// Loading the tables.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Loading {
    /// Records inserted.
    pub records: u64,
    /// The time until all were durable.
    pub seconds: f64,
    /// The time of the checkpoint after it.
    pub checkpoint_seconds: f64,
}

/// Response times.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Responses {
    /// Average and percentiles.
    #[serde(flatten)]
    pub summary: Summary,
    /// The share within one second, 0 to 1: the benchmark demands 0.95.
    pub share_within_1_s: f64,
    /// The share within ten milliseconds.
    pub share_within_10_ms: f64,
}

/// The TPK paper's break-down of the time. A stage of several threads counts the sum over them.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Stages {
    /// Wall time.
    pub total: f64,
    /// Decoding and checking requests.
    pub input: f64,
    /// Running transactions.
    pub execute: f64,
    /// Checksumming and writing groups, waiting for the disk included.
    pub log: f64,
    /// Sending results to clients.
    pub output: f64,
    /// Applying changes to the checkpointer's copy, and writing blocks.
    pub checkpoint: f64,
}

/// Commit groups.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Groups {
    /// The number written.
    pub count: u64,
    /// Transactions in a group, on average.
    pub mean: f64,
    /// The most transactions in one group, loading included.
    pub largest: u64,
}

/// The log of a run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Logged {
    /// Before headers and padding.
    pub record_bytes_per_transaction: f64,
    /// Bytes on disk for each transaction: with headers and padding.
    pub disk_bytes_per_transaction: f64,
    /// The same of the whole run.
    pub disk_bytes: u64,
}

/// Checkpoints during the run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Checkpoints {
    /// Counts complete checkpoints.
    pub completed: u64,
    /// Bytes written to the backup.
    pub bytes: u64,
    /// Time from the beginning to the end of the writeouts, summed over stripes.
    pub writeout_seconds: f64,
    /// Throughput in slices of time during the whole of which a checkpoint was being written.
    pub transactions_per_second_during: Option<f64>,
    /// Throughput in slices of time during which none was.
    pub transactions_per_second_between: Option<f64>,
}

/// The bytes written to the disk.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DeviceWrites {
    /// The source of the counts.
    pub counted_by: CountedBy,
    /// During the run, for each committed transaction.
    pub bytes_per_transaction: f64,
    /// During the run.
    pub run: Written,
    /// From the creation of the database to the end of the run.
    pub since_creation: Written,
}

/// Bytes written to the disk, by purpose.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Written {
    /// Everything that was written.
    pub bytes: u64,
    /// Bytes of commit groups.
    pub log_bytes: u64,
    /// Bytes of the backup, of completed checkpoints.
    pub checkpoint_bytes: u64,
    /// Bytes of the journals' archive.
    pub archive_bytes: u64,
    /// Write amplification: the whole divided by the log's part.
    pub per_log_byte: f64,
    /// The same without the backup and the archive.
    pub of_log_per_log_byte: f64,
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug, Default)]
pub struct WrittenSoFar {
    /// The counter's bytes.
    pub bytes: u64,
    /// The length of the archive.
    pub archive_bytes: u64,
}

/// In bytes, of this process.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    /// Records: the user's data.
    pub record_bytes: u64,
    /// Pages of the database.
    pub page_bytes: u64,
    /// The checkpointer's copy of them, in this process.
    pub copy_bytes: u64,
    /// All indexes of all tables together.
    pub index_bytes: u64,
    /// The most memory the process had, with clients and measurement.
    pub peak_resident_bytes: Option<u64>,
}

/// The log sent to the other host's store, and the part that the store did not have when the last transaction was
/// acknowledged: a loss of the disk here at that moment would have lost that part.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct OtherHostFigures {
    /// Commit groups.
    pub lag_groups: u64,
    /// Transactions in them.
    pub lag_transactions: u64,
    /// Bytes of log.
    pub lag_bytes: u64,
    /// Commit groups that were sent during the run.
    pub sent_groups: u64,
    /// The sent groups that had to be read back from disk.
    pub read_back_groups: u64,
    /// The time that the store took.
    pub sending_seconds: f64,
    /// Checkpoints that the follower completed, loading included.
    pub checkpoints: u64,
    /// Bytes of them.
    pub checkpoint_bytes: u64,
}

impl OtherHostFigures {
    /// The lag at the end of a log that is durable here up to `durable`, and the log sent since.
    pub fn new(durable: LogPosition, before: &Sent, after: &InStoreState) -> Self {
        let (sent, end) = (&after.sent, after.end);
        OtherHostFigures {
            sent_groups: sent.groups - before.groups,
            read_back_groups: sent.groups_read_back - before.groups_read_back,
            sending_seconds: sent.time.saturating_sub(before.time).as_secs_f64(),
            lag_groups: durable.group.saturating_sub(end.group),
            lag_transactions: durable.transactions.saturating_sub(end.transactions),
            lag_bytes: durable.lsn.0.saturating_sub(end.lsn.0),
            checkpoints: 0,
            checkpoint_bytes: 0,
        }
    }

    /// Adds the follower's work.
    pub fn followed(self, followed: Followed) -> Self {
        OtherHostFigures {
            checkpoints: followed.checkpoints,
            checkpoint_bytes: followed.bytes,
            ..self
        }
    }
}

/// The proof of the outcome.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ProofFigures {
    /// True if the sums agree, and no transaction is lost, doubled or wrong.
    pub holds: bool,
    /// The four sums.
    pub sums: Sums,
    /// Rows in the history.
    pub rows: u64,
    /// Acknowledged transactions that are missing.
    pub missing: u64,
    /// Transactions that were found more than once.
    pub twice: u64,
    /// Refused requests that were found all the same.
    pub refused_but_there: u64,
    /// Transactions that were found but not acknowledged.
    pub unacknowledged: u64,
    /// The time of the proof.
    pub seconds: f64,
}

impl Figures {
    /// Returns true if every run's proof holds.
    pub fn holds(&self) -> bool {
        self.runs.iter().all(|run| run.proof.holds)
    }
}

impl Settings {
    /// Returns true if clients ran closures here, whose stages are not timed.
    pub fn is_of_closures(&self) -> bool {
        self.batch.is_none() && self.listen.is_none()
    }

    /// As a report shows them.
    pub fn of(plan: &Plan) -> Self {
        let load = &plan.load;
        let listen = plan.listen.as_ref().map(|address| address.to_string());
        let (batch, batches_in_flight) = match load.mode {
            _ if listen.is_some() => (None, None),
            Mode::Batches {
                requests,
                in_flight,
            } => (Some(requests), Some(in_flight)),
            Mode::OneAtATime => (None, None),
        };
        let (transactions, seconds) = match load.until {
            _ if listen.is_some() => (None, plan.serving_time.map(|time| time.as_secs_f64())),
            Until::Transactions(transactions) => (Some(transactions), None),
            Until::Time(time) => (None, Some(time.as_secs_f64())),
        };
        let (transactions_per_group, time_per_group) = match plan.policy {
            GroupPolicy::Fixed { transactions, time } => {
                (Some(transactions), Some(time.as_secs_f64()))
            }
            GroupPolicy::Adaptive => (None, None),
        };
        Settings {
            processors: plan.processors,
            spinner: plan.spinner,
            scale: load.scale,
            transactions,
            seconds,
            clients: if listen.is_some() { 0 } else { load.clients },
            located_by: listen.is_some().then_some(plan.locate),
            listen,
            batch,
            batches_in_flight,
            durability: match load.durability {
                Durability::Durable => "durable",
                Durability::Deferred => "deferred",
            },
            transactions_per_group,
            time_per_group,
            other_branch_percent: load.other_branch_percent,
            store: plan.store.store.clone(),
            put_seconds: plan.store.put_time.map(|time| time.as_secs_f64()),
            durable_at: (plan.store.store.as_ref()).map(|_| plan.store.durable_at()),
            wrong_code_percent: load.wrong_code_percent,
            seed: load.seed,
        }
    }
}

impl Responses {
    /// The figures of a run's response times; `None` if no transaction was acknowledged.
    pub fn of(outcome: &Outcome) -> Option<Self> {
        let responses = &outcome.responses;
        Some(Responses {
            summary: responses.summary()?,
            share_within_1_s: responses.share_within(Duration::from_secs(1))?,
            share_within_10_ms: responses.share_within(Duration::from_millis(10))?,
        })
    }
}

impl Stages {
    /// The difference of two readings.
    pub fn between(total: Duration, before: &Statistics, after: &Statistics) -> Self {
        let (before, after) = (&before.stages, &after.stages);
        let added = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
        Stages {
            total: total.as_secs_f64(),
            input: added(before.input, after.input),
            execute: added(before.execution, after.execution),
            log: added(before.logging, after.logging),
            output: added(before.output, after.output),
            checkpoint: added(before.checkpoint, after.checkpoint),
        }
    }
}

impl Groups {
    /// The difference of two readings.
    pub fn between(before: &Statistics, after: &Statistics) -> Self {
        let count = after.log.groups - before.log.groups;
        let transactions = after.log.transactions - before.log.transactions;
        Groups {
            count,
            mean: ratio(transactions, count),
            largest: after.log.largest_group,
        }
    }
}

impl Logged {
    /// The difference of two readings.
    pub fn between(before: &Statistics, after: &Statistics) -> Self {
        let transactions = after.log.transactions - before.log.transactions;
        let disk_bytes = after.log.disk_bytes - before.log.disk_bytes;
        let record_bytes = after.log.payload_bytes - before.log.payload_bytes;
        Logged {
            record_bytes_per_transaction: ratio(record_bytes, transactions),
            disk_bytes_per_transaction: ratio(disk_bytes, transactions),
            disk_bytes,
        }
    }
}

impl Checkpoints {
    /// The difference of two readings, and its cost.
    pub fn between(before: CheckpointTotals, after: CheckpointTotals, slices: &[Slice]) -> Self {
        Checkpoints {
            completed: after.checkpoints - before.checkpoints,
            bytes: after.bytes - before.bytes,
            writeout_seconds: (after.writeout_time - before.writeout_time).as_secs_f64(),
            transactions_per_second_during: throughput_of(slices, (true, true)),
            transactions_per_second_between: throughput_of(slices, (false, false)),
        }
    }

    /// The share by which throughput was lower while a checkpoint was being written, 0 to 1.
    pub fn drop(&self) -> Option<f64> {
        let between = self
            .transactions_per_second_between
            .filter(|&between| between > 0.0)?;
        Some(1.0 - self.transactions_per_second_during? / between)
    }
}

/// Throughput over the slices with this state of checkpointing at both ends; `None` if there is none. Slices in which a
/// checkpoint began or ended count on neither side.
fn throughput_of(slices: &[Slice], checkpointing: (bool, bool)) -> Option<f64> {
    let slices = || {
        slices
            .iter()
            .filter(|slice| slice.checkpointing == checkpointing)
    };
    let time: Duration = slices().map(|slice| slice.time).sum();
    let committed: u64 = slices().map(|slice| slice.committed).sum();
    (!time.is_zero()).then(|| committed as f64 / time.as_secs_f64())
}

impl DeviceWrites {
    /// The differences of the counts at the creation, before the run and after it.
    pub fn between(
        counted_by: CountedBy,
        [created, begun, ended]: [WrittenSoFar; 3],
        before: &Statistics,
        after: &Statistics,
    ) -> Self {
        let nothing = Statistics::default();
        let written = |from: WrittenSoFar, before: &Statistics| {
            let bytes = ended.bytes.saturating_sub(from.bytes);
            let log_bytes = after.log.disk_bytes - before.log.disk_bytes;
            let checkpoint_bytes = after.checkpoint.bytes - before.checkpoint.bytes;
            let archive_bytes = ended.archive_bytes.saturating_sub(from.archive_bytes);
            let of_log = bytes.saturating_sub(checkpoint_bytes + archive_bytes);
            Written {
                bytes,
                log_bytes,
                checkpoint_bytes,
                archive_bytes,
                per_log_byte: ratio(bytes, log_bytes),
                of_log_per_log_byte: ratio(of_log, log_bytes),
            }
        };
        let run = written(begun, before);
        let transactions = after.log.transactions - before.log.transactions;
        DeviceWrites {
            counted_by,
            bytes_per_transaction: ratio(run.bytes, transactions),
            run,
            since_creation: written(created, &nothing),
        }
    }
}

impl Memory {
    /// The peak memory for each byte of pages, if the system reports it.
    pub fn ratio(&self) -> Option<f64> {
        Some(self.peak_resident_bytes? as f64 / self.page_bytes as f64)
    }
}

impl ProofFigures {
    /// As a report shows them.
    pub fn of(proof: &Proof, time: Duration) -> Self {
        ProofFigures {
            holds: proof.holds(),
            sums: proof.sums,
            rows: proof.rows,
            missing: proof.missing,
            twice: proof.twice,
            refused_but_there: proof.refused_but_there,
            unacknowledged: proof.unacknowledged,
            seconds: time.as_secs_f64(),
        }
    }
}

fn ratio(of: u64, to: u64) -> f64 {
    if to == 0 { 0.0 } else { of as f64 / to as f64 }
}

#[cfg(test)]
mod tests;
