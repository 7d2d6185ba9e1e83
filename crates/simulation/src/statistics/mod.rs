//! Statistics of a run and over runs.
//!
//! - [`Tally`]: mean, variance and extremes of observations.
//! - [`TimeWeighted`]: a level that changes at instants, averaged over virtual time.
//! - [`Histogram`]: percentiles of lengths of time.
//! - [`Interval`]: the 95% confidence interval of a mean over independent replications.
//!
//! Intervals come from independent replications and not from batches of one long run: replications
//! run on all cores, and they are independent by construction, which batches are only nearly.
//! Everything here depends on the order of the observations alone, so the same seed gives the same
//! bytes (invariant I11). Functions of the C library, which differ between machines, are not used.

mod histogram;
mod interval;
mod tally;
mod time_weighted;

pub use self::histogram::Histogram;
pub use self::interval::{Interval, student_t_95};
pub use self::tally::Tally;
pub use self::time_weighted::TimeWeighted;
