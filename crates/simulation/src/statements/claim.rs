//! One checkable part of a statement: a quantity and its bounds.
//!
//! The whole 95% interval decides. If it lies within the bounds the claim is met; if it lies outside
//! the claim is missed. If it reaches over a bound the claim is undecided, and more replications may
//! decide it. So a claim about an ordering, which is a difference above (or below) 0, does not count
//! if it could be chance.
//!
//! A claim that no run can miss, since it follows from the parameters or from the model's
//! construction, is *arithmetic*: it checks the parameters or the program, and proves nothing about the systems.

use super::quantity::{Quantity, Unknown};
use crate::figures::{Estimate, Needs, Study};
use serde::Serialize;

/// The bounds of a quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// The whole interval between these, both included.
    Within(f64, f64),
    /// The whole interval above.
    Above(f64),
    /// The whole interval below.
    Below(f64),
}

/// One checkable part of a statement.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The measured quantity, and its points.
    pub what: String,
    /// The same as arithmetic.
    pub quantity: Quantity,
    /// The claim holds if the interval is within them.
    pub bounds: Bounds,
    /// Its unit; empty for a plain number.
    pub unit: &'static str,
    /// True if no run can miss it.
    pub arithmetic: bool,
}

/// The result of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The quantity's value, if it has one.
    pub value: Result<Estimate, Unknown>,
    /// The comparison with its bounds.
    pub met: Met,
}

/// The comparison of a quantity with its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Met {
    /// It does.
    Yes,
    /// Its interval lies on both sides of a bound, or its search did not end: more replications could decide.
    Undecided,
    /// It does not.
    No,
    /// It was not simulated.
    Unknown,
}

/// A part of a statement.
pub(super) fn claim(
    what: impl Into<String>,
    quantity: Quantity,
    bounds: Bounds,
    unit: &'static str,
) -> Claim {
    let mut needs = Needs::default();
    quantity.needs(&mut needs);
    Claim {
        what: what.into(),
        quantity,
        bounds,
        unit,
        arithmetic: needs.outcomes().is_empty() && needs.throughputs().is_empty(),
    }
}

impl Bounds {
    /// The comparison of `value` with them.
    pub fn met(self, value: Estimate) -> Met {
        if !value.mean.is_finite() || value.half_width.is_nan() {
            return Met::No;
        }
        let (inside, outside) = match self {
            Bounds::Within(least, most) => (
                least <= value.low() && value.high() <= most,
                value.high() < least || most < value.low(),
            ),
            Bounds::Above(bound) => (value.low() > bound, value.high() <= bound),
            Bounds::Below(bound) => (value.high() < bound, value.low() >= bound),
        };
        match (inside, outside) {
            (true, _) => Met::Yes,
            (_, true) => Met::No,
            _ => Met::Undecided,
        }
    }

    fn in_words(self, unit: &str) -> String {
        let unit = spaced(unit);
        match self {
            Bounds::Within(least, most) => {
                format!("{} to {}{unit}", rounded(least), rounded(most))
            }
            Bounds::Above(bound) => format!("above {}{unit}", rounded(bound)),
            Bounds::Below(bound) => format!("below {}{unit}", rounded(bound)),
        }
    }
}

/// To nine digits: further ones come from the arithmetic.
fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

impl Claim {
    /// The same as arithmetic: it is measured, but no run can miss it.
    pub(super) fn into_arithmetic(self) -> Claim {
        Claim {
            arithmetic: true,
            ..self
        }
    }

    /// Its result in `study`.
    pub fn judge(&self, study: &Study) -> Finding {
        let value = self.quantity.value(study);
        let met = match value {
            Ok(value) => self.bounds.met(value),
            Err(Unknown::NotSimulated) => Met::Unknown,
            Err(Unknown::NotFound(_)) => Met::Undecided,
            // If another resource is the limit before the processors, the claim about the rate is
            // missed.
            Err(Unknown::OutOfReach(_)) => Met::No,
        };
        Finding { value, met }
    }

    /// The description of its check.
    pub fn check(&self) -> String {
        let kind = if self.arithmetic { " (arithmetic)" } else { "" };
        format!("{}{kind}: {}", self.what, self.bounds.in_words(self.unit))
    }

    /// The value found, with the interval and the unit.
    pub fn found(&self, finding: &Finding) -> String {
        match &finding.value {
            Ok(value) => format!("{}: {}", self.what, in_words(*value, self.unit)),
            Err(unknown) => format!("{}: {unknown}", self.what),
        }
    }

    /// The reason why it is not met; nothing if it is.
    pub fn objection(&self, finding: &Finding) -> Option<String> {
        let (what, bounds) = (&self.what, self.bounds.in_words(self.unit));
        match (finding.met, &finding.value) {
            (Met::Yes, _) => None,
            (_, Err(unknown)) => Some(format!("{what}: {unknown}")),
            (Met::Undecided, Ok(value)) => {
                let value = in_words(*value, self.unit);
                Some(format!("{what}: {value} may or may not be {bounds}"))
            }
            (_, Ok(value)) => {
                let value = in_words(*value, self.unit);
                Some(format!("{what}: {value} is not {bounds}"))
            }
        }
    }
}

fn spaced(unit: &str) -> String {
    match unit {
        "" => String::new(),
        unit => format!(" {unit}"),
    }
}

/// A figure with its interval, in as many digits as the interval is good for.
pub fn in_words(value: Estimate, unit: &str) -> String {
    let unit = spaced(unit);
    let Estimate { mean, half_width } = value;
    if !mean.is_finite() {
        return "not defined".to_string();
    }
    if half_width == 0.0 {
        let rounded = (mean * 1000.0).round() / 1000.0;
        return format!("{}{unit}", rounded + 0.0);
    }
    if !half_width.is_finite() {
        return format!("{mean:.3}{unit} ± unknown");
    }
    let digits = (1.0 - half_width.log10().floor()).clamp(0.0, 4.0) as usize;
    format!("{mean:.digits$} ± {half_width:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ordering_needs_the_whole_interval() {
        let above = Bounds::Above(0.0);
        assert_eq!(above.met(Estimate::new(1.0, 0.9)), Met::Yes);
        assert_eq!(above.met(Estimate::new(1.0, 1.1)), Met::Undecided);
        assert_eq!(above.met(Estimate::new(-1.0, 1.1)), Met::Undecided);
        assert_eq!(above.met(Estimate::new(-1.0, 0.9)), Met::No);
        assert_eq!(above.met(Estimate::exactly(0.0)), Met::No);
        let below = Bounds::Below(2.0);
        assert_eq!(below.met(Estimate::new(1.0, 0.9)), Met::Yes);
        assert_eq!(below.met(Estimate::new(2.5, 0.9)), Met::Undecided);
        assert_eq!(below.met(Estimate::new(3.0, 0.9)), Met::No);
    }

    #[test]
    fn a_number_needs_its_whole_interval_within_the_tolerance() {
        let within = Bounds::Within(10.0, 16.0);
        assert_eq!(within.met(Estimate::new(15.0, 1.0)), Met::Yes);
        assert_eq!(within.met(Estimate::new(15.9, 1.0)), Met::Undecided);
        assert_eq!(within.met(Estimate::new(16.1, 1.0)), Met::Undecided);
        assert_eq!(within.met(Estimate::new(17.1, 1.0)), Met::No);
        assert_eq!(within.met(Estimate::new(8.9, 1.0)), Met::No);
        assert_eq!(within.met(Estimate::new(f64::NAN, 1.0)), Met::No);
        assert_eq!(
            within.met(Estimate::new(12.0, f64::INFINITY)),
            Met::Undecided
        );
        assert_eq!(
            Bounds::Above(0.0).met(Estimate::new(f64::INFINITY, 0.0)),
            Met::No
        );
    }

    #[test]
    fn figures_have_the_digits_that_their_interval_is_good_for() {
        assert_eq!(
            in_words(Estimate::new(71.2345, 0.31), "%"),
            "71.23 ± 0.31 %"
        );
        assert_eq!(in_words(Estimate::new(1234.5, 12.3), ""), "1234 ± 12");
        assert_eq!(
            in_words(Estimate::exactly(26_000.0), "instructions"),
            "26000 instructions"
        );
        assert_eq!(in_words(Estimate::exactly(-0.0), "ms"), "0 ms");
        assert_eq!(in_words(Estimate::exactly(f64::NAN), "ms"), "not defined");
    }
}
