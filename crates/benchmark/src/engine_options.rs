//! The default options of an experiment's database.

use sardonyx::Options;
use sardonyx::disk::GroupLimits;

/// The default size of an experiment's log, in bytes.
pub const LOG_BYTES: u64 = 2 << 30;
/// Below this a loading transaction would not fit.
pub const LOG_BYTES_MIN: u64 = 32 << 20;
const SEGMENT_BYTES_MAX: u64 = 64 << 20;
const PREPARED_BYTES_MAX: u64 = 512 << 20;

/// Options with a log of so many bytes, at least [`LOG_BYTES_MIN`], a good part of it prepared.
pub fn with_log(log_bytes: u64) -> Options {
    let segment_bytes = (log_bytes / 4).min(SEGMENT_BYTES_MAX) / 4096 * 4096;
    Options::new()
        .group_limits(GroupLimits::for_segments(segment_bytes))
        .segment_bytes(segment_bytes)
        .log_bytes_max(log_bytes)
        .log_bytes_prepared((log_bytes / 4).min(PREPARED_BYTES_MAX))
}
