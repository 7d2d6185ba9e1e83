//! The figures at one arrival rate.

use super::drive::Offered;
use crate::responses::{Responses, Summary};
use serde::Serialize;
use std::time::Duration;

/// The generator counts as lagging if it was late by more than this part of the average response.
const LAG_SHARE: f64 = 0.1;

/// The figures at one arrival rate.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Point {
    /// The requested rate, a second.
    pub arrival_rate: f64,
    /// The time for which requests arrived, in seconds.
    pub seconds: f64,
    /// Requests that arrived.
    pub arrivals: u64,
    /// Requests that arrived, a second.
    pub offered_per_second: f64,
    /// Requests that were answered while others arrived, a second.
    pub completed_per_second: f64,
    /// Requests that had arrived and were not answered when the last one arrived.
    pub backlog: u64,
    /// Requests that were given up: their age then counts as their response time, which is a lower bound.
    pub given_up: u64,
    /// Response times from the intended arrival; absent if nothing arrived.
    pub responses: Option<Summary>,
    /// The average delay by the generator's own fault, in microseconds. It is part of the response times.
    pub generator_late_microseconds: f64,
    /// True if that is more than a tenth of the average response, so that the generator was measured, too.
    pub generator_lagged: bool,
}

/// One generator's requests and their answers.
#[derive(Clone, Debug)]
pub struct Part {
    /// The offered requests.
    pub offered: Offered,
    /// The response times of the answered requests.
    pub responses: Responses,
    /// The number that was answered while others arrived.
    pub answered_in_time: u64,
}

impl Point {
    /// The sum over the generators of one run.
    pub fn of(arrival_rate: f64, length: Duration, parts: &[Part]) -> Self {
        let seconds = length.as_secs_f64();
        let (mut responses, mut late) = (Responses::new(), Responses::new());
        for part in parts {
            responses.merge(&part.responses);
            responses.merge(&part.offered.left);
            late.merge(&part.offered.late);
        }
        let sum = |of: fn(&Part) -> u64| parts.iter().map(of).sum::<u64>();
        let arrivals = sum(|part| part.offered.arrivals);
        let in_time = sum(|part| part.answered_in_time);
        let average = |of: &Responses| {
            of.average()
                .map_or(0.0, |time| time.as_nanos() as f64 / 1e3)
        };
        Point {
            arrival_rate,
            seconds,
            arrivals,
            offered_per_second: arrivals as f64 / seconds,
            completed_per_second: in_time as f64 / seconds,
            backlog: arrivals - in_time,
            given_up: sum(|part| part.offered.left.count()),
            responses: responses.summary(),
            generator_late_microseconds: average(&late),
            generator_lagged: average(&late) > LAG_SHARE * average(&responses),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_up_is_in_the_response_times_and_in_the_backlog() {
        let recorded = |milliseconds, count| {
            let mut responses = Responses::new();
            responses.record_n(Duration::from_millis(milliseconds), count);
            responses
        };
        let part = Part {
            offered: Offered {
                arrivals: 100,
                submitted: 90,
                left: recorded(500, 10),
                late: recorded(1, 90),
            },
            responses: recorded(2, 90),
            answered_in_time: 80,
        };
        let point = Point::of(50.0, Duration::from_secs(2), &[part.clone(), part]);
        assert_eq!(
            (point.arrivals, point.backlog, point.given_up),
            (200, 40, 20)
        );
        assert_eq!(point.offered_per_second, 100.0);
        assert_eq!(point.completed_per_second, 80.0);
        let responses = point.responses.unwrap();
        assert_eq!(responses.count, 200);
        assert!(responses.p95_microseconds > 4e5);
        assert!(!point.generator_lagged, "1 ms of 51.8 ms");
        let quick = Part {
            offered: Offered {
                arrivals: 90,
                submitted: 90,
                left: Responses::new(),
                late: recorded(1, 90),
            },
            responses: recorded(2, 90),
            answered_in_time: 90,
        };
        assert!(Point::of(1.0, Duration::from_secs(1), &[quick]).generator_lagged);
    }
}
