//! The additive model of sections 4.2.1 and 4.3: a transaction that reads R pages and writes W takes `aR + bW`, and
//! also `c` if it is durable.
//!
//! A transaction has a cost of its own without durability, too (begin, commit), so the model is fitted twice: without a
//! constant, and with one. If transactions are durable, the constant applies only to those that write, since a
//! read-only one does not wait. The fit uses medians, as single times have outliers that the squares would follow.

use super::subject::{Runner, Subject, Touch};
use super::{Advice, Options, repeat};
use crate::error::ExperimentError;
use crate::floor::Distribution;
use crate::least_squares;

/// Numbers of pages read and of pages written: all pairs of them that fit.
const GRID: [usize; 6] = [0, 1, 4, 16, 64, 256];

/// A mixed transaction, with its measured and its fitted time.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Point {
    /// Pages read.
    pub reads: usize,
    /// Other pages written.
    pub writes: usize,
    /// The median time of the transaction.
    pub measured_nanoseconds: f64,
    /// The model's.
    pub fitted_nanoseconds: f64,
}

/// The model fitted to one subject.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Model {
    /// The subject of the transactions.
    pub subject: Subject,
    /// `aR + bW`, `aR + bW + c`, or, durable, `aR + bW + c if W`.
    pub form: &'static str,
    /// The cost of a page read.
    pub a_nanoseconds: f64,
    /// The cost of a page written.
    pub b_nanoseconds: f64,
    /// The cost of the transaction.
    pub c_nanoseconds: Option<f64>,
    /// The largest difference between measured and fitted.
    pub residual_max_nanoseconds: f64,
    /// The root of the mean square of the differences.
    pub residual_rms_nanoseconds: f64,
    /// The share of the variation that the model explains.
    pub r_squared: Option<f64>,
    /// The fitted points.
    pub points: Vec<Point>,
}

/// Runs mixed transactions and fits the model's two forms.
pub(super) fn fit(
    subject: Subject,
    runner: &mut Runner,
    options: &Options,
) -> Result<Vec<Model>, ExperimentError> {
    let repetitions = options.repetitions.div_ceil(10);
    let mut measured = Vec::new();
    for (reads, writes) in grid(options.pages) {
        let touch = Touch {
            reads,
            writes,
            advice: Advice::None,
        };
        let took = repeat(runner, touch, repetitions)?;
        // The LIBXAC thesis leaves copying pages back to a checkpoint.
        let times = took
            .iter()
            .map(|took| (took.total - took.copy_back).as_nanos() as f64);
        let median = Distribution::of(times.collect()).median_nanoseconds;
        measured.push((reads, writes, median));
    }
    let constant = match options.durable {
        None => Constant::Always,
        Some(_) => Constant::OfWriters,
    };
    let models = [Constant::None, constant].map(|constant| model(subject, &measured, constant));
    Ok(models.into_iter().flatten().collect())
}

fn grid(pages_max: usize) -> impl Iterator<Item = (usize, usize)> {
    let pairs = GRID.into_iter().flat_map(|r| GRID.map(|w| (r, w)));
    pairs.filter(move |(r, w)| (1..=pages_max).contains(&(r + w)))
}

/// The transactions with the constant cost.
#[derive(Clone, Copy)]
enum Constant {
    None,
    Always,
    OfWriters,
}

/// `None` if there are too few points.
fn model(subject: Subject, measured: &[(usize, usize, f64)], constant: Constant) -> Option<Model> {
    let row = |(reads, writes, _): &(usize, usize, f64)| {
        let mut row = vec![*reads as f64, *writes as f64];
        match constant {
            Constant::None => (),
            Constant::Always => row.push(1.0),
            Constant::OfWriters => row.push(if *writes > 0 { 1.0 } else { 0.0 }),
        }
        row
    };
    let rows: Vec<_> = measured.iter().map(row).collect();
    let times: Vec<_> = measured.iter().map(|point| point.2).collect();
    let fit = least_squares::fit(&rows, &times)?;
    let points = measured.iter().zip(&fit.residuals);
    Some(Model {
        subject,
        form: match constant {
            Constant::None => "aR + bW",
            Constant::Always => "aR + bW + c",
            Constant::OfWriters => "aR + bW + c if W",
        },
        a_nanoseconds: fit.coefficients[0],
        b_nanoseconds: fit.coefficients[1],
        c_nanoseconds: fit.coefficients.get(2).copied(),
        residual_max_nanoseconds: fit.residual_max,
        residual_rms_nanoseconds: fit.residual_rms,
        r_squared: fit.r_squared,
        points: points
            .map(|(&(reads, writes, time), residual)| Point {
                reads,
                writes,
                measured_nanoseconds: time,
                fitted_nanoseconds: time - residual,
            })
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_all_pairs_that_fit_but_the_empty_one() {
        assert_eq!(grid(1_024).count(), 35);
        assert_eq!(grid(1).collect::<Vec<_>>(), [(0, 1), (1, 0)]);
    }

    #[test]
    fn a_constant_is_found_and_is_missed_where_there_is_none() {
        let measured = [(1, 0), (0, 1), (4, 1), (1, 4)];
        let measured = measured.map(|(r, w)| (r, w, 2.0 * r as f64 + 5.0 * w as f64 + 100.0));
        let with = model(Subject::Signal, &measured, Constant::Always).unwrap();
        assert!((with.c_nanoseconds.unwrap() - 100.0).abs() < 1e-9);
        assert!((with.b_nanoseconds - 5.0).abs() < 1e-9);
        assert!(with.residual_max_nanoseconds < 1e-9);
        let without = model(Subject::Signal, &measured, Constant::None).unwrap();
        assert_eq!(without.c_nanoseconds, None);
        assert!(without.residual_rms_nanoseconds > 1.0);
        assert!(model(Subject::Signal, &measured[..2], Constant::Always).is_none());
    }

    #[test]
    fn durable_transactions_that_only_read_do_not_wait() {
        let measured = [(1, 0), (4, 0), (0, 1), (4, 1), (1, 4)];
        let time = |r: usize, w: usize| 2 * r + 5 * w + if w > 0 { 1_000 } else { 0 };
        let measured = measured.map(|(r, w)| (r, w, time(r, w) as f64));
        let fit = model(Subject::Explicit, &measured, Constant::OfWriters).unwrap();
        assert!((fit.c_nanoseconds.unwrap() - 1_000.0).abs() < 1e-6);
        assert!((fit.a_nanoseconds - 2.0).abs() < 1e-6);
        assert!(fit.residual_max_nanoseconds < 1e-6);
    }
}
