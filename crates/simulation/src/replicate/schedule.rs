//! The next replication to run, and the end of a point.
//!
//! Replications that are needed for certain come first, those of the first points before the
//! others. These are the first `least` of each point, and the one after a complete prefix that was
//! not enough. Only when none is left do threads run ahead, and only as far as the interval so far
//! lets expect.

use super::{Plan, Progress};
use crate::statistics::{Interval, Tally};

/// One replication of one point.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Job {
    pub(super) point: usize,
    pub(super) replication: u32,
}

/// All points of a plan.
pub(super) struct Schedule<R> {
    plan: Plan,
    points: Vec<Point<R>>,
    done: usize,
    finished: u64,
    /// The sum of the expected numbers of all points.
    expected: u64,
}

struct Point<R> {
    /// The replications that were handed out are numbered below this.
    issued: u32,
    /// Their results and figures, as far as they have finished.
    results: Vec<Option<(R, f64)>>,
    /// The figures of the complete prefix.
    prefix: Tally,
    done: bool,
}

impl<R> Schedule<R> {
    pub(super) fn new(points: usize, plan: &Plan) -> Schedule<R> {
        let fresh = || Point {
            issued: 0,
            results: Vec::new(),
            prefix: Tally::new(),
            done: plan.most == 0,
        };
        let points: Vec<Point<R>> = (0..points).map(|_| fresh()).collect();
        Schedule {
            done: points.iter().filter(|point| point.done).count(),
            expected: points
                .iter()
                .map(|point| u64::from(point.expected(plan)))
                .sum(),
            points,
            finished: 0,
            plan: plan.clone(),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        self.done == self.points.len()
    }

    /// Hands out the next replication; absent if it is better to wait for those under way.
    pub(super) fn take(&mut self) -> Option<Job> {
        let plan = &self.plan;
        let certain = self
            .points
            .iter()
            .position(|point| point.issued < point.certain(plan));
        let ahead = || {
            self.points
                .iter()
                .position(|point| point.issued < point.expected(plan))
        };
        let point = certain.or_else(ahead)?;
        let replication = self.points[point].issued;
        self.points[point].issued += 1;
        self.points[point].results.push(None);
        Some(Job { point, replication })
    }

    /// Notes a result, and whether its point is done with it.
    pub(super) fn finish(&mut self, job: Job, result: R, figure: f64) {
        self.finished += 1;
        let point = &mut self.points[job.point];
        if point.done {
            return;
        }
        self.expected -= u64::from(point.expected(&self.plan));
        point.results[job.replication as usize] = Some((result, figure));
        point.extend_prefix(&self.plan);
        self.expected += u64::from(point.expected(&self.plan));
        self.done += usize::from(point.done);
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            points: self.points.len(),
            points_done: self.done,
            replications: self.finished,
            expected: self.expected.max(self.finished),
        }
    }

    /// The results of every point that is done.
    pub(super) fn into_results(self) -> Vec<Vec<R>> {
        let results = |point: Point<R>| {
            let complete = point.prefix.count() as usize;
            let results = point.results.into_iter().take(complete).flatten();
            results.map(|(result, _)| result).collect()
        };
        self.points.into_iter().map(results).collect()
    }
}

impl<R> Point<R> {
    /// Follows the finished replications in order of their numbers, up to the first sufficient count. This alone
    /// decides the result.
    fn extend_prefix(&mut self, plan: &Plan) {
        while !self.done {
            let next = self.results.get(self.prefix.count() as usize);
            let Some(Some((_, figure))) = next else {
                return;
            };
            self.prefix.add(*figure);
            self.done = self.is_enough(plan);
        }
    }

    fn is_enough(&self, plan: &Plan) -> bool {
        let count = self.prefix.count();
        if count >= u64::from(plan.most) {
            return true;
        }
        let relative = Interval::from_tally(&self.prefix).relative();
        count >= u64::from(plan.least) && relative <= plan.precision
    }

    /// The number of replications needed for any results.
    fn certain(&self, plan: &Plan) -> u32 {
        let prefix = self.prefix.count() as u32;
        if self.done {
            return prefix;
        }
        plan.least.max(prefix + 1).min(plan.most)
    }

    /// The number of replications needed if the next ones scatter like those so far: the width of
    /// an interval falls with the root of their number.
    fn expected(&self, plan: &Plan) -> u32 {
        let certain = self.certain(plan);
        let count = self.prefix.count();
        if self.done || count < 2 {
            return certain;
        }
        let excess = Interval::from_tally(&self.prefix).relative() / plan.precision;
        // The cast saturates: a precision of zero expects the most. Not a number expects none.
        let needed = (count as f64 * excess * excess).ceil() as u32;
        needed.clamp(certain, plan.most)
    }
}
