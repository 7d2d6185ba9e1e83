//! Service times: a mean, a distribution, and a stream of random numbers of their own.

use crate::parameters::Distribution;
use crate::time::Span;
use sardonyx_workload::arrival::exponential;
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

    /// The next time of the service's own stream.
    pub fn draw(&self) -> Span {
        self.draw_from(&mut self.random.borrow_mut())
    }

    /// A time by another stream: that of a transaction, to which the same happens then in every
    /// configuration.
    pub fn draw_from(&self, random: &mut Random) -> Span {
        if self.distribution == Distribution::Constant {
            return self.mean;
        }
        let factor = factor(self.distribution, random);
        Span::from_seconds(self.mean.as_seconds() * factor)
    }
}

/// A number of `distribution` with mean 1.
pub fn factor(distribution: Distribution, random: &mut Random) -> f64 {
    match distribution {
        Distribution::Constant => 1.0,
        Distribution::Exponential => exponential(random, 1.0),
        Distribution::Uniform => 2.0 * random.fraction(),
    }
}
