//! A station's report: the figures of the GEM paper, section 4 ("device utilization, waiting times,
//! queue lengths").

use crate::time::Span;

/// The measurements of a station since its last reset.
///
/// Means over no customers or no time are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerStatistics {
    /// The length of the measurement.
    pub measured: Span,
    /// The number of the station's servers.
    pub servers: u32,
    /// Customers that came.
    pub arrivals: u64,
    /// The number that were served and left.
    pub completions: u64,
    /// The number that left half-way.
    pub abandoned: u64,
    /// The share of the servers' time in which they were busy, from 0 to 1.
    pub utilisation: f64,
    /// Mean length of the queue over time, without those being served.
    pub mean_waiting: f64,
    /// Mean number in the station over time, with those being served.
    pub mean_in_station: f64,
    /// The longest queue.
    pub most_waiting: u64,
    /// The most that were in the station at one time.
    pub most_in_station: u64,
    /// Mean time in the queue, in seconds, of those whose service began.
    pub mean_wait_seconds: f64,
    /// Mean time in the station, in seconds, of the customers that were served and left.
    pub mean_stay_seconds: f64,
    /// Little's law for the queue alone.
    pub queue_little: Little,
    /// Little's law for the whole station.
    pub station_little: Little,
}

/// Little's law in its exact form, over any window of time: the integral of the level (the number
/// present) equals the sum of the times that all customers spent there within the window.
///
/// Divided by the window's length this is *L = λW*. The two sides are kept by separate accounts, so
/// that a fault in either shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Little {
    /// The level integrated over time, in customers times picoseconds.
    pub level_integral: u128,
    /// The time of all customers within the window, in picoseconds.
    pub customer_time: u128,
}

impl Little {
    /// True if the law holds, to the picosecond. If not, the station's accounts are wrong.
    pub fn holds(&self) -> bool {
        self.level_integral == self.customer_time
    }
}

impl ServerStatistics {
    /// Completions per second.
    pub fn throughput(&self) -> f64 {
        if self.measured == Span::ZERO {
            return 0.0;
        }
        self.completions as f64 / self.measured.as_seconds()
    }
}

/// `sum / count`, or zero if `count` is.
pub(super) fn mean(sum: u128, count: u128) -> f64 {
    if count == 0 {
        return 0.0;
    }
    sum as f64 / count as f64
}
