//! The quantity of a statement: a figure of one point, or arithmetic on figures of several.

use crate::figures::{Configuration, Estimate, Needs, Study};
use crate::measurement::Measurement;
use crate::parameters::Parameters;
use crate::search::SearchError;
use crate::statistics::{Interval, Tally};
use std::ops::{Add, Div, Mul, Sub};

/// A number that follows from a study, with its uncertainty.
#[derive(Clone, Debug)]
pub enum Quantity {
    /// A figure of the outcome at a point: mean and interval over its replications.
    Measured {
        /// The point.
        at: Configuration,
        /// The figure.
        read: fn(&Measurement) -> f64,
    },
    /// The rate per node at a CPU utilisation of [`crate::figures::TARGET_CPU`].
    Throughput(Configuration),
    /// The value of the study's parameters, by arithmetic.
    Parameter(fn(&Parameters) -> f64),
    /// The sum of two.
    Sum(Box<Quantity>, Box<Quantity>),
    /// The difference of two.
    Difference(Box<Quantity>, Box<Quantity>),
    /// The quotient of two.
    Quotient(Box<Quantity>, Box<Quantity>),
    /// The quantity times the number.
    Multiple(Box<Quantity>, f64),
}

/// The reason why a quantity has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unknown {
    /// The study does not have the point.
    #[error("not simulated")]
    NotSimulated,
    /// There is no rate at which the processors are used as much as asked for: something else is
    /// saturated before.
    #[error("{0}")]
    OutOfReach(String),
    /// The search for that rate did not end.
    #[error("{0}")]
    NotFound(String),
}

impl Quantity {
    /// The points it needs.
    pub fn needs(&self, needs: &mut Needs) {
        match self {
            Quantity::Measured { at, .. } => needs.outcome(*at),
            Quantity::Throughput(at) => needs.throughput(*at),
            Quantity::Parameter(_) => {}
            Quantity::Sum(one, other)
            | Quantity::Difference(one, other)
            | Quantity::Quotient(one, other) => {
                one.needs(needs);
                other.needs(needs);
            }
            Quantity::Multiple(one, _) => one.needs(needs),
        }
    }

    /// Its value in `study`, with the 95% interval of the whole expression.
    ///
    /// The replications of one number share their random numbers in all points (common random numbers: the same
    /// arrivals, references, path lengths and disk times). So the common part of several points cancels in a
    /// difference. Therefore the expression is evaluated on paired replications. The jackknife leaves out one number
    /// after another. For a difference that is exactly Student's interval of the paired differences, and for a
    /// quotient that of its linearisation. Of points with different numbers of replications the common ones count.
    ///
    /// # Errors
    /// [`Unknown`] if the study lacks a point, or a throughput could not be reached.
    pub fn value(&self, study: &Study) -> Result<Estimate, Unknown> {
        let mut leaves = Vec::new();
        self.leaves(study, &mut leaves)?;
        let measured = leaves.iter().filter_map(|leaf| match leaf {
            Leaf::Replications(values) => Some(values.len()),
            Leaf::Constant(_) => None,
        });
        let Some(common) = measured.min() else {
            return Ok(Estimate::exactly(self.over(&leaves, &[])));
        };
        let all: Vec<bool> = vec![true; common];
        let whole = self.over(&leaves, &all);
        let count = common as f64;
        let without = (0..common).map(|left_out| {
            let mut chosen = all.clone();
            chosen[left_out] = false;
            count * whole - (count - 1.0) * self.over(&leaves, &chosen)
        });
        let half_width = Interval::of(without).half_width;
        // A constant value leaves the rounding of these sums.
        let rounding = half_width <= 1e-12 * count * whole.abs();
        Ok(Estimate::new(
            whole,
            if rounding { 0.0 } else { half_width },
        ))
    }

    /// Its value on the means of the chosen replications.
    fn over(&self, leaves: &[Leaf], chosen: &[bool]) -> f64 {
        let means: Vec<f64> = leaves.iter().map(|leaf| leaf.mean(chosen)).collect();
        self.evaluate(&mut means.into_iter())
    }

    /// Its parts, in the order of [`Quantity::evaluate`].
    fn leaves(&self, study: &Study, leaves: &mut Vec<Leaf>) -> Result<(), Unknown> {
        match self {
            Quantity::Measured { at, read } => {
                let outcome = study.outcome(at).ok_or(Unknown::NotSimulated)?;
                leaves.push(Leaf::Replications(
                    outcome.replications.iter().map(read).collect(),
                ));
            }
            Quantity::Throughput(at) => {
                let found = study.throughput(at).ok_or(Unknown::NotSimulated)?;
                let found = found.map_err(Unknown::from)?;
                leaves.push(Leaf::Replications(found.rates_per_node()));
            }
            Quantity::Parameter(read) => leaves.push(Leaf::Constant(read(study.base()))),
            Quantity::Sum(one, other)
            | Quantity::Difference(one, other)
            | Quantity::Quotient(one, other) => {
                one.leaves(study, leaves)?;
                other.leaves(study, leaves)?;
            }
            Quantity::Multiple(one, _) => one.leaves(study, leaves)?,
        }
        Ok(())
    }

    /// The expression on the means of its leaves.
    fn evaluate(&self, means: &mut impl Iterator<Item = f64>) -> f64 {
        match self {
            Quantity::Measured { .. } | Quantity::Throughput(_) | Quantity::Parameter(_) => {
                means.next().expect("a mean for each leaf")
            }
            Quantity::Sum(one, other) => one.evaluate(means) + other.evaluate(means),
            Quantity::Difference(one, other) => one.evaluate(means) - other.evaluate(means),
            Quantity::Quotient(one, other) => one.evaluate(means) / other.evaluate(means),
            Quantity::Multiple(one, factor) => one.evaluate(means) * *factor,
        }
    }
}

/// A number in an expression.
enum Leaf {
    Replications(Vec<f64>),
    /// The same in each.
    Constant(f64),
}

impl Leaf {
    fn mean(&self, chosen: &[bool]) -> f64 {
        match self {
            Leaf::Constant(value) => *value,
            Leaf::Replications(values) => {
                let of_those = values.iter().zip(chosen).filter(|(_, chosen)| **chosen);
                let of_those: Tally = of_those.map(|(value, _)| *value).collect();
                of_those.mean()
            }
        }
    }
}

impl From<&SearchError> for Unknown {
    fn from(error: &SearchError) -> Self {
        match error {
            SearchError::Saturated { .. } => Unknown::OutOfReach(error.to_string()),
            _ => Unknown::NotFound(error.to_string()),
        }
    }
}

impl Add for Quantity {
    type Output = Quantity;

    fn add(self, other: Quantity) -> Quantity {
        Quantity::Sum(Box::new(self), Box::new(other))
    }
}

impl Sub for Quantity {
    type Output = Quantity;

    fn sub(self, other: Quantity) -> Quantity {
        Quantity::Difference(Box::new(self), Box::new(other))
    }
}

impl Div for Quantity {
    type Output = Quantity;

    fn div(self, other: Quantity) -> Quantity {
        Quantity::Quotient(Box::new(self), Box::new(other))
    }
}

impl Mul<f64> for Quantity {
    type Output = Quantity;

    fn mul(self, factor: f64) -> Quantity {
        Quantity::Multiple(Box::new(self), factor)
    }
}

/// A figure of the outcome at `at`.
pub(super) fn measured(at: Configuration, read: fn(&Measurement) -> f64) -> Quantity {
    Quantity::Measured { at, read }
}

/// The mean response time at `at`, in milliseconds.
pub(super) fn response(at: Configuration) -> Quantity {
    measured(at, |one| one.response.normalised)
}

/// The rate per node at which the processors are 80% used.
pub(super) fn throughput(at: Configuration) -> Quantity {
    Quantity::Throughput(at)
}

/// A value of the parameters.
pub(super) fn parameter(read: fn(&Parameters) -> f64) -> Quantity {
    Quantity::Parameter(read)
}

/// By how many per cent `one` differs from `other`; negative if it is less.
pub(super) fn percent_above(one: Quantity, other: Quantity) -> Quantity {
    one / other * 100.0 - parameter(|_| 100.0)
}

/// By how many per cent `one` is less than `other`.
pub(super) fn percent_below(one: Quantity, other: Quantity) -> Quantity {
    percent_above(one, other) * -1.0
}
