//! What a statement is about: a figure of one point, or arithmetic on figures of several.

use crate::figures::{Configuration, Estimate, Needs, Study};
use crate::measurement::Measurement;
use crate::parameters::Parameters;
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
    /// What the study's parameters give, by arithmetic.
    Parameter(fn(&Parameters) -> f64),
    /// The sum of two.
    Sum(Box<Quantity>, Box<Quantity>),
    /// The difference of two.
    Difference(Box<Quantity>, Box<Quantity>),
    /// The quotient of two.
    Quotient(Box<Quantity>, Box<Quantity>),
    /// A multiple.
    Multiple(Box<Quantity>, f64),
}

/// Why a quantity has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unknown {
    /// The study does not have the point.
    #[error("not simulated")]
    NotSimulated,
    /// There is no rate at which the processors are used as much as asked for.
    #[error("{0}")]
    NoThroughput(String),
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

    /// Its value in `study`.
    ///
    /// # Errors
    /// [`Unknown`] if the study lacks a point, or a throughput could not be reached.
    pub fn value(&self, study: &Study) -> Result<Estimate, Unknown> {
        Ok(match self {
            Quantity::Measured { at, read } => {
                let outcome = study.outcome(at).ok_or(Unknown::NotSimulated)?;
                outcome.estimate(read)
            }
            Quantity::Throughput(at) => {
                let found = study.throughput(at).ok_or(Unknown::NotSimulated)?;
                let found = found.map_err(|error| Unknown::NoThroughput(error.to_string()))?;
                found.rate_per_node
            }
            Quantity::Parameter(read) => Estimate::exactly(read(study.base())),
            Quantity::Sum(one, other) => one.value(study)? + other.value(study)?,
            Quantity::Difference(one, other) => one.value(study)? - other.value(study)?,
            Quantity::Quotient(one, other) => one.value(study)? / other.value(study)?,
            Quantity::Multiple(one, factor) => one.value(study)? * *factor,
        })
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

/// What the parameters give.
pub(super) fn parameter(read: fn(&Parameters) -> f64) -> Quantity {
    Quantity::Parameter(read)
}

/// By how many per cent `one` differs from `other`; negative if it is less.
pub(super) fn percent_above(one: Quantity, other: Quantity) -> Quantity {
    // One quotient, so that the interval does not count `other` twice.
    one / other * 100.0 - parameter(|_| 100.0)
}

/// By how many per cent `one` is less than `other`.
pub(super) fn percent_below(one: Quantity, other: Quantity) -> Quantity {
    percent_above(one, other) * -1.0
}
