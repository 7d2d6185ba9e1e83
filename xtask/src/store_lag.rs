//! The lag of a copy that follows a store, while the store's database works as fast as it can.
//!
//! An entry has the time of its creation. A copy has it when its groups are applied and in the copy's own log. The
//! difference is the lag, by one clock, since both are on this machine, whose cores and disk the copy shares.

use anyhow::Context;
use sardonyx::hosts::RemoteLog;
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_storage::disk::{Disk, RealDisk};
use sardonyx_storage::engine::{StorageOptions, follow_store, stored_manifest, take_lock};
use sardonyx_storage::log::policy::GroupLimits;
use sardonyx_storage::remote_log::shell::now;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between two checks for new entries, after one without any.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The lags of all entries, in order.
#[derive(Debug)]
pub struct StoreLag(Vec<Duration>);

impl StoreLag {
    /// The largest lag of this part of the entries, in milliseconds.
    pub fn milliseconds(&self, part: f64) -> f64 {
        let rank = (self.0.len() as f64 * part).ceil() as usize;
        let lag = self.0.get(rank.max(1) - 1);
        lag.map_or(f64::NAN, |lag| lag.as_secs_f64() * 1000.0)
    }
}

/// Runs `work`, which writes a database's log at a place, while a copy in a directory follows it.
///
/// # Errors
/// The errors of `work`; the copy cannot follow.
pub fn beside<T>(
    place: &str,
    directory: &Path,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<(T, StoreLag)> {
    std::fs::create_dir_all(directory)?;
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let copy = scope.spawn(|| follow(place, directory, &ended));
        let worked = work();
        ended.store(true, Ordering::SeqCst);
        let lag = copy
            .join()
            .map_err(|_| anyhow::anyhow!("the copy panicked"))?;
        Ok((worked?, lag.context("the copy")?))
    })
}

fn follow(place: &str, directory: &Path, ended: &AtomicBool) -> anyhow::Result<StoreLag> {
    let remote = RemoteLog::new(open(place, &RemoteOptions::from_environment()?)?);
    let manifest = loop {
        if let Some(manifest) = stored_manifest(&remote)? {
            break manifest;
        }
        anyhow::ensure!(!ended.load(Ordering::SeqCst), "{place} has no database");
        std::thread::sleep(LOOK_EVERY);
    };
    let options = StorageOptions {
        limits: GroupLimits::for_segments(manifest.segment_bytes),
        log_bytes_max: manifest.segment_bytes.saturating_mul(8).max(2 << 30),
        remote: Some(remote),
        ..StorageOptions::default()
    };
    let home: Arc<dyn Disk> = Arc::new(RealDisk::open(directory)?);
    let lock = take_lock(&home, Duration::ZERO)?;
    let (mut replica, mut follower) = follow_store(&home, &options, lock)?;
    let mut lags = Vec::new();
    loop {
        // Read before the check, so that the entries up to the end are included.
        let is_last = ended.load(Ordering::SeqCst);
        match follower.next_entry()? {
            Some(entry) => {
                let made = entry.head().time;
                replica.apply(&entry)?;
                lags.push(Duration::from_micros(now().saturating_sub(made)));
            }
            None if is_last => break,
            None => std::thread::sleep(LOOK_EVERY),
        }
    }
    replica.close();
    lags.sort();
    Ok(StoreLag(lags))
}
