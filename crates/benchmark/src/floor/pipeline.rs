//! Two threads: one runs debit-credit and fills groups with after-images, one writes the groups durably. It is the
//! least cost of a durable transaction on this machine, with the TPK paper's pipeline reduced to execution and logging
//! (000, section 2).
//!
//! A fixed number of groups goes round between the two threads, so the first waits when the disk is
//! slower (invariant I10). A transaction counts when its group is stable (I1).

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::{Duration, Instant};

use crate::debit_credit::requests::Scale;
use sardonyx_base::resident::Resident;

use crate::floor::bank::{AFTER_IMAGES_BYTES, BATCH, Bank, requests};
use crate::floor::error::FloorError;
use crate::floor::region::Region;
use crate::floor::ring_file::{MEBIBYTE, RingFile};

/// The size of the file in which the groups are written: 1 GiB, so that no cache below holds it all; a test needs no
/// such size.
const RING_BYTES: u64 = if cfg!(test) { 4 << 20 } else { 1 << 30 };

/// The number of groups that are filled, waiting or being written.
const GROUPS: usize = 8;

/// The figures of the bare pipeline.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct BarePipeline {
    /// The number of accounts, of 128 bytes each.
    pub accounts: u64,
    /// Durable transactions a second.
    pub transactions_per_second: f64,
    /// The number of transactions that became durable.
    pub transactions: u64,
    /// 10^9 bytes of groups a second.
    pub gigabytes_per_second: f64,
    /// True if the writes bypassed the page cache; false if the file system does not support that.
    pub direct: bool,
}

/// One group's after-images, at the start of a buffer of 1 MiB.
struct Group {
    buffer: Region<u8>,
    transactions: u64,
}

/// Runs debit-credit with a durable log in `directory` for `time` (at least one group).
///
/// # Errors
/// [`FloorError`] if `accounts` is not possible, memory or a thread is refused, the file cannot be created or written,
/// or the balances are wrong.
pub fn bare_pipeline(
    accounts: u64,
    time: Duration,
    directory: &Path,
) -> Result<BarePipeline, FloorError> {
    pipeline_in(accounts, time, RingFile::create(directory, RING_BYTES)?)
}

fn pipeline_in(accounts: u64, time: Duration, file: RingFile) -> Result<BarePipeline, FloorError> {
    let scale = Scale::of_accounts(accounts)?;
    let direct = file.is_direct();
    let mut bank = Bank::new(scale)?;
    let requests = requests(scale);
    let (to_log, log_queue) = mpsc::sync_channel(GROUPS);
    let (to_reuse, free_groups) = mpsc::sync_channel(GROUPS);
    for _ in 0..GROUPS {
        let group = Group {
            buffer: Region::new(MEBIBYTE)?,
            transactions: 0,
        };
        to_reuse.send(group).expect("the receiver is in scope");
    }
    let start = Instant::now();
    let (transactions, bytes) = std::thread::scope(|scope| {
        let logging = std::thread::Builder::new()
            .name("logging".into())
            .spawn_scoped(scope, move || write_groups(file, log_queue, to_reuse))
            .map_err(|source| FloorError::Thread { source })?;
        fill_groups(&mut bank, &requests, &free_groups, to_log, start + time);
        logging
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    let seconds = start.elapsed().as_secs_f64();
    bank.check()?;
    Ok(BarePipeline {
        accounts,
        transactions_per_second: transactions as f64 / seconds,
        transactions,
        gigabytes_per_second: bytes as f64 / seconds / 1e9,
        direct,
    })
}

/// The execution stage: fills one group after the other until `end`, or until logging has failed and accepts no more.
/// The queue closes at the end.
fn fill_groups(
    bank: &mut Bank,
    requests: &[crate::debit_credit::requests::Request],
    free_groups: &Receiver<Group>,
    to_log: SyncSender<Group>,
    end: Instant,
) {
    let mut batches = requests.chunks(BATCH).cycle();
    let mut first = true;
    while first || Instant::now() < end {
        first = false;
        let Ok(mut group) = free_groups.recv() else {
            return;
        };
        group.transactions = 0;
        let mut room = group.buffer.chunks_exact_mut(AFTER_IMAGES_BYTES);
        while room.len() >= BATCH {
            let Some(batch) = batches.next() else { return };
            bank.run_batch(batch, |after| {
                let place = room.next().expect("there was room for a batch");
                place.copy_from_slice(after.as_bytes());
            });
            group.transactions += batch.len() as u64;
        }
        if to_log.send(group).is_err() {
            return;
        }
    }
}

/// The logging stage: writes every group of the queue durably; counts transactions and bytes.
fn write_groups(
    mut file: RingFile,
    log_queue: Receiver<Group>,
    to_reuse: SyncSender<Group>,
) -> Result<(u64, u64), FloorError> {
    let (mut transactions, mut bytes) = (0, 0);
    for group in log_queue {
        file.write_durably(&group.buffer)?;
        transactions += group.transactions;
        bytes += group.buffer.len() as u64;
        // The execution stage may have ended already; then the group is not needed.
        let _ = to_reuse.send(group);
    }
    Ok((transactions, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_groups_are_counted_when_written() {
        let directory = tempfile::tempdir().unwrap();
        let file = RingFile::create(directory.path(), 4 * MEBIBYTE as u64).unwrap();
        let result = pipeline_in(1_000, Duration::ZERO, file).unwrap();
        let group = (MEBIBYTE / AFTER_IMAGES_BYTES / BATCH * BATCH) as u64;
        assert_eq!(result.transactions, group);
        assert!(result.transactions_per_second > 0.0);
    }
}
