//! The time of one durable write, and the bytes a second of consecutive ones.
//!
//! A disk may have two states (see [`Spinner`]): the latency is measured in both.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::floor::error::FloorError;
use crate::floor::region::Region;
use crate::floor::ring_file::{MEBIBYTE, RingFile};
use crate::floor::spinner::Spinner;

/// The size of the file for single writes: 16 MiB.
const LATENCY_FILE_BYTES: u64 = 16 * MEBIBYTE as u64;

/// The size of the file for large writes: 256 MiB.
const SEQUENTIAL_FILE_BYTES: u64 = 256 * MEBIBYTE as u64;

/// The state of the disk during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Face {
    /// The cores as they are; idle unless something else runs.
    Idle,
    /// A [`Spinner`] keeps a core awake.
    Busy,
}

impl Face {
    /// Brings the machine into this state for as long as the result lives.
    ///
    /// # Errors
    /// The operating system's error, if it refused the spinner.
    pub fn enter(self) -> Result<Option<Spinner>, FloorError> {
        match self {
            Face::Idle => Ok(None),
            Face::Busy => {
                let spinner = Spinner::start().map_err(|source| FloorError::Thread { source })?;
                Ok(Some(spinner))
            }
        }
    }
}

impl std::fmt::Display for Face {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Face::Idle => "cores as they are",
            Face::Busy => "a core kept busy",
        })
    }
}

/// The times of a durable write of 4 KiB.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Latency {
    /// Half took no longer.
    pub median_microseconds: f64,
    /// 90 percent took no longer.
    pub p90_microseconds: f64,
    /// 99 percent took no longer.
    pub p99_microseconds: f64,
}

/// The latency in both states.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct SyncLatency {
    /// The number of writes timed in each state.
    pub count: usize,
    /// With the cores as they are.
    pub idle: Latency,
    /// With a core kept busy.
    pub busy: Latency,
    /// True if the writes bypassed the page cache; false if the file system does not support that.
    pub direct: bool,
}

/// The rate of large durable writes.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct SequentialWrites {
    /// 10^9 bytes a second, in writes of 1 MiB, each durable before the next.
    pub gigabytes_per_second: f64,
    /// True if the writes bypassed the page cache; false if the file system does not support that.
    pub direct: bool,
}

/// Times `count` durable overwrites of 4 KiB in each state (at least one).
///
/// # Errors
/// [`FloorError`] if the file cannot be created in `directory` or written, or the system refuses memory or the
/// spinner's thread.
pub fn sync_latency(directory: &Path, count: usize) -> Result<SyncLatency, FloorError> {
    let mut file = RingFile::create(directory, LATENCY_FILE_BYTES)?;
    let count = count.max(1);
    let mut latency = |face: Face| {
        let _face = face.enter()?;
        time_writes(&mut file, count)
    };
    let (idle, busy) = (latency(Face::Idle)?, latency(Face::Busy)?);
    Ok(SyncLatency {
        count,
        idle,
        busy,
        direct: file.is_direct(),
    })
}

/// Writes 1 MiB durably, again and again until `time` is over (at least once).
///
/// # Errors
/// [`FloorError`] if the file cannot be created in `directory` or written, or memory is refused.
pub fn sequential_writes(directory: &Path, time: Duration) -> Result<SequentialWrites, FloorError> {
    let mut file = RingFile::create(directory, SEQUENTIAL_FILE_BYTES)?;
    let buffer = Region::<u8>::new(MEBIBYTE)?;
    let mut bytes = 0;
    let start = Instant::now();
    while bytes == 0 || start.elapsed() < time {
        file.write_durably(&buffer)?;
        bytes += MEBIBYTE;
    }
    // Bytes per nanosecond are 10^9 bytes per second.
    let gigabytes_per_second = bytes as f64 / start.elapsed().as_nanos() as f64;
    Ok(SequentialWrites {
        gigabytes_per_second,
        direct: file.is_direct(),
    })
}

fn time_writes(file: &mut RingFile, count: usize) -> Result<Latency, FloorError> {
    let page = Region::<u8>::new(4_096)?;
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let start = Instant::now();
        file.write_durably(&page)?;
        times.push(start.elapsed());
    }
    Ok(Latency::of(times))
}

impl Latency {
    /// The nearest-rank percentiles of `times`, which must not be empty.
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (times.len() * percent).div_ceil(100);
            times[rank - 1].as_nanos() as f64 / 1_000.0
        };
        Latency {
            median_microseconds: percentile(50),
            p90_microseconds: percentile(90),
            p99_microseconds: percentile(99),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let times = (1..=200).rev().map(Duration::from_micros).collect();
        let expected = Latency {
            median_microseconds: 100.0,
            p90_microseconds: 180.0,
            p99_microseconds: 198.0,
        };
        assert_eq!(Latency::of(times), expected);
        assert_eq!(
            Latency::of(vec![Duration::from_micros(5)]).p99_microseconds,
            5.0
        );
    }

    #[test]
    fn only_the_busy_face_has_a_spinner() {
        assert!(Face::Idle.enter().unwrap().is_none());
        assert!(Face::Busy.enter().unwrap().is_some());
    }
}
