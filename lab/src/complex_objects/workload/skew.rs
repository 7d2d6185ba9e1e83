//! The rules by which some objects are chosen more often than others.
//!
//! The DASDBS paper: "the 80-20 rule and the 50-50 rule were implemented by applying a linear transformation to a
//! normal distribution of random numbers". So here a number is `n/2 + s·Z`, with Z of the standard normal distribution.
//! `s` is such that the named share of all numbers is in the named share of objects around the middle. For 80-20 that
//! is s = 0.078·n, and numbers outside of 0 to n do not occur in practice. For 50-50 it is s = 0.371·n, and 18% of the
//! numbers are outside. They are wrapped around, so that the middle half of the objects gets 54% and not 50%; leaving
//! them out would give it 61%. (A rule of a-a without any skew would be the uniform distribution; the DASDBS paper says
//! that it did not use that.)

use sardonyx_workload::random::Random;

/// A normal distribution over objects.
///
/// ```
/// use sardonyx_lab::complex_objects::workload::Skew;
/// use sardonyx_workload::random::Random;
///
/// let (skew, mut random) = (Skew::EIGHTY_TWENTY, Random::new(1));
/// let hot = (0..1000).filter(|_| (40..60).contains(&skew.draw(&mut random, 100))).count();
/// assert!((750..850).contains(&hot));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Skew {
    /// The standard deviation, as a share of the number of objects.
    deviation: f64,
}

impl Skew {
    /// 80% of the choices are of 20% of the objects: 0.1 / 1.281552, the quantile of 0.9.
    pub const EIGHTY_TWENTY: Skew = Skew {
        deviation: 0.1 / 1.281_551_565_544_6,
    };

    /// 50% of the choices, and those that wrap around, are of 50% of the objects: 0.25 / 0.674490, the quantile of
    /// 0.75.
    pub const FIFTY_FIFTY: Skew = Skew {
        deviation: 0.25 / 0.674_489_750_196_08,
    };

    /// Draws one of `0..objects`; 0 if there is none.
    pub fn draw(self, random: &mut Random, objects: u32) -> u32 {
        let place = 0.5 + self.deviation * standard_normal(random);
        let within = place - libm::floor(place);
        // A place just below 1 may be rounded up to the number of objects.
        ((within * f64::from(objects)) as u32).min(objects.saturating_sub(1))
    }
}

/// A number of the standard normal distribution, by the method of Box and Muller; `libm` gives the
/// same bits on every machine.
fn standard_normal(random: &mut Random) -> f64 {
    // In (0, 1], so that the logarithm is finite.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.fraction()));
    radius * libm::cos(std::f64::consts::TAU * random.fraction())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(skew: Skew, objects: u32, middle: f64) -> f64 {
        let mut random = Random::new(3);
        let half = 0.5 * middle * f64::from(objects);
        let centre = 0.5 * f64::from(objects);
        let draws = 200_000;
        let hits = (0..draws)
            .map(|_| skew.draw(&mut random, objects))
            .filter(|&drawn| {
                assert!(drawn < objects);
                (f64::from(drawn) + 0.5 - centre).abs() < half
            })
            .count();
        hits as f64 / f64::from(draws)
    }

    #[test]
    fn eighty_percent_go_to_twenty_percent() {
        for objects in [100, 1_000] {
            let share = share(Skew::EIGHTY_TWENTY, objects, 0.2);
            assert!((0.797..0.803).contains(&share), "{share}");
        }
    }

    #[test]
    fn half_and_what_comes_round_go_to_half() {
        let share = share(Skew::FIFTY_FIFTY, 1_000, 0.5);
        // For a normal distribution: 0.5 within, and 2·(Φ(3.3725) − Φ(2.0235)) = 0.0423 after one wrap.
        assert!((0.538..0.547).contains(&share), "{share}");
    }

    #[test]
    fn every_object_can_be_drawn_by_fifty_fifty() {
        let mut random = Random::new(5);
        let mut seen = [0u32; 20];
        for _ in 0..20_000 {
            seen[Skew::FIFTY_FIFTY.draw(&mut random, 20) as usize] += 1;
        }
        assert!(seen.iter().all(|&count| count > 500), "{seen:?}");
        assert!(seen[10] > seen[0], "{seen:?}");
    }

    #[test]
    fn few_objects_are_no_trouble() {
        let mut random = Random::new(6);
        for skew in [Skew::EIGHTY_TWENTY, Skew::FIFTY_FIFTY] {
            assert_eq!(skew.draw(&mut random, 0), 0);
            assert_eq!(skew.draw(&mut random, 1), 0);
            assert!((0..100).all(|_| skew.draw(&mut random, 2) < 2));
        }
    }

    #[test]
    fn the_normal_distribution_is_one() {
        let mut random = Random::new(7);
        let drawn: Vec<f64> = (0..100_000).map(|_| standard_normal(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let square = drawn.iter().map(|z| z * z).sum::<f64>() / 1e5;
        let fourth = drawn.iter().map(|z| z.powi(4)).sum::<f64>() / 1e5;
        assert!(
            mean.abs() < 0.01 && (square - 1.0).abs() < 0.02,
            "{mean} {square}"
        );
        assert!((fourth - 3.0).abs() < 0.15, "{fourth}");
    }
}
