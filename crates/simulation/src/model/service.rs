//! Service times: a mean, a distribution, and a stream of random numbers of their own.

use crate::parameters::Distribution;
use crate::time::Span;
use sardonyx_workload::random::Random;
use std::cell::RefCell;

/// Draws the service times of one kind of service.
#[derive(Debug)]
pub struct Service {
    distribution: Distribution,
    mean: Span,
    random: RefCell<Random>,
}

impl Service {
    /// Times of `distribution` around `mean`.
    pub fn new(distribution: Distribution, mean: Span, random: Random) -> Self {
        Service {
            distribution,
            mean,
            random: RefCell::new(random),
        }
    }

    /// The next time.
    pub fn draw(&self) -> Span {
        let factor = match self.distribution {
            Distribution::Constant => return self.mean,
            Distribution::Exponential => exponential(&mut self.random.borrow_mut()),
            Distribution::Uniform => 2.0 * self.random.borrow_mut().fraction(),
        };
        Span::from_seconds(self.mean.as_seconds() * factor)
    }
}

/// An exponentially distributed number with mean 1.
pub fn exponential(random: &mut Random) -> f64 {
    // `fraction` is below 1, so the logarithm is of a positive number; `libm`'s is the same on every
    // machine (I11).
    -libm::log(1.0 - random.fraction())
}
