//! Response times: a histogram that takes a whole commit group in one call.
//!
//! The transactions of one group are acknowledged together, so a driver measures once per batch and
//! records the time for all of them. Resolution: a time is kept to three significant digits (within
//! 0.1 percent), from 1 nanosecond to [`MAX_RESPONSE`]; a longer one counts as that long. Average
//! and maximum are exact. A histogram takes about a quarter of a megabyte; give each thread its own
//! and [`Responses::merge`] them at the end.

use std::time::Duration;

use hdrhistogram::Histogram;

/// The longest response time that is distinguished from longer ones: one hour.
pub const MAX_RESPONSE: Duration = Duration::from_secs(3_600);

/// A histogram of response times.
#[derive(Clone, Debug)]
pub struct Responses {
    histogram: Histogram<u64>,
    sum_nanoseconds: u128,
    max: Duration,
}

/// The figures of a [`Responses`] that a report shows. All times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Summary {
    /// The number of recorded transactions.
    pub count: u64,
    /// The arithmetic mean over all requests.
    pub average_microseconds: f64,
    /// Half of the transactions took no longer.
    pub p50_microseconds: f64,
    /// 95 percent took no longer.
    pub p95_microseconds: f64,
    /// 99 percent took no longer.
    pub p99_microseconds: f64,
    /// The longest.
    pub max_microseconds: f64,
}

impl Responses {
    /// No response times yet.
    pub fn new() -> Self {
        let most = MAX_RESPONSE.as_nanos() as u64;
        let histogram = Histogram::new_with_bounds(1, most, 3)
            .expect("constant bounds with three digits are valid");
        Responses {
            histogram,
            sum_nanoseconds: 0,
            max: Duration::ZERO,
        }
    }

    /// Records that each of `count` transactions took `duration`. A count of zero has no effect.
    pub fn record_n(&mut self, duration: Duration, count: u64) {
        if count == 0 {
            return;
        }
        let duration = duration.min(MAX_RESPONSE);
        self.histogram
            .saturating_record_n(duration.as_nanos() as u64, count);
        self.sum_nanoseconds += duration.as_nanos() * u128::from(count);
        self.max = self.max.max(duration);
    }

    /// Adds all response times of `other`.
    pub fn merge(&mut self, other: &Responses) {
        self.histogram
            .add(&other.histogram)
            .expect("all histograms here have the same bounds");
        self.sum_nanoseconds += other.sum_nanoseconds;
        self.max = self.max.max(other.max);
    }

    /// The number of recorded transactions.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The average, exact to the nanosecond; `None` if nothing was recorded.
    pub fn average(&self) -> Option<Duration> {
        let count = u128::from(self.count());
        (count > 0).then(|| Duration::from_nanos((self.sum_nanoseconds / count) as u64))
    }

    /// The time that half of the transactions did not exceed; `None` if nothing was recorded.
    pub fn p50(&self) -> Option<Duration> {
        self.quantile(0.50)
    }

    /// The time that 95 percent did not exceed; `None` if nothing was recorded.
    pub fn p95(&self) -> Option<Duration> {
        self.quantile(0.95)
    }

    /// The time that 99 percent did not exceed; `None` if nothing was recorded.
    pub fn p99(&self) -> Option<Duration> {
        self.quantile(0.99)
    }

    /// The longest time, exact; `None` if nothing was recorded.
    pub fn max(&self) -> Option<Duration> {
        (self.count() > 0).then_some(self.max)
    }

    /// The share, 0.0 to 1.0, of transactions that took at most `duration` (times within its resolution count, too);
    /// `None` if nothing was recorded.
    pub fn share_within(&self, duration: Duration) -> Option<f64> {
        let within = self
            .histogram
            .count_between(0, duration.min(MAX_RESPONSE).as_nanos() as u64);
        (self.count() > 0).then(|| within as f64 / self.count() as f64)
    }

    /// The figures of a report; `None` if nothing was recorded.
    pub fn summary(&self) -> Option<Summary> {
        let microseconds = |duration: Duration| duration.as_nanos() as f64 / 1_000.0;
        Some(Summary {
            count: self.count(),
            average_microseconds: microseconds(self.average()?),
            p50_microseconds: microseconds(self.p50()?),
            p95_microseconds: microseconds(self.p95()?),
            p99_microseconds: microseconds(self.p99()?),
            max_microseconds: microseconds(self.max()?),
        })
    }

    fn quantile(&self, share: f64) -> Option<Duration> {
        let nanoseconds = self.histogram.value_at_quantile(share);
        // A bucket's upper edge may lie above the longest time that fell into it.
        (self.count() > 0).then(|| Duration::from_nanos(nanoseconds).min(self.max))
    }
}

impl Default for Responses {
    fn default() -> Self {
        Responses::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within_resolution(found: Option<Duration>, expected_microseconds: u64) {
        let found = found.unwrap().as_nanos() as f64;
        let expected = expected_microseconds as f64 * 1_000.0;
        assert!(
            (found / expected - 1.0).abs() <= 0.001,
            "{found} for {expected}"
        );
    }

    #[test]
    fn nothing_recorded_has_no_figures() {
        let mut responses = Responses::new();
        responses.record_n(Duration::from_secs(1), 0);
        assert_eq!(responses.count(), 0);
        assert_eq!(responses.average(), None);
        assert_eq!(responses.p50(), None);
        assert_eq!(responses.max(), None);
        assert_eq!(responses.share_within(Duration::from_secs(1)), None);
        assert_eq!(responses.summary(), None);
    }

    #[test]
    fn percentiles_of_a_ramp_are_known() {
        let mut responses = Responses::new();
        for microseconds in 1..=1_000 {
            responses.record_n(Duration::from_micros(microseconds), 3);
        }
        within_resolution(responses.p50(), 500);
        within_resolution(responses.p95(), 950);
        within_resolution(responses.p99(), 990);
        assert_eq!(responses.max(), Some(Duration::from_micros(1_000)));
        assert_eq!(responses.average(), Some(Duration::from_nanos(500_500)));
        assert_eq!(responses.count(), 3_000);
        let share = responses.share_within(Duration::from_micros(250)).unwrap();
        assert!((share - 0.25).abs() < 0.002, "{share}");
    }

    #[test]
    fn merging_equals_recording_together() {
        let (mut one, mut other, mut both) = (Responses::new(), Responses::new(), Responses::new());
        for (part, milliseconds, count) in [(0, 3, 10), (1, 700, 2), (0, 15, 1), (1, 1, 90)] {
            let duration = Duration::from_millis(milliseconds);
            [&mut one, &mut other][part].record_n(duration, count);
            both.record_n(duration, count);
        }
        one.merge(&other);
        assert_eq!(one.summary(), both.summary());
        assert_eq!(one.count(), 103);
    }

    #[test]
    fn the_endless_counts_as_an_hour_and_the_instant_as_within() {
        let mut responses = Responses::new();
        responses.record_n(Duration::MAX, 1);
        responses.record_n(Duration::ZERO, 1);
        assert_eq!(responses.max(), Some(MAX_RESPONSE));
        assert_eq!(responses.share_within(Duration::ZERO), Some(0.5));
        assert_eq!(responses.share_within(Duration::MAX), Some(1.0));
    }
}
