//! An axis: from values to places, and where its ticks are.

/// The label and the scale of one direction of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Its meaning, with the unit.
    pub label: String,
    /// True if equal factors are equally far apart. Only for values above 0.
    pub logarithmic: bool,
    /// Names of the values 1, 2, 3, …; without any they are written as numbers.
    pub names: Vec<String>,
}

impl Axis {
    /// Equal differences are equally far apart.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis {
            label: label.into(),
            logarithmic: false,
            names: Vec::new(),
        }
    }

    /// Equal factors are equally far apart; for values above 0.
    pub fn logarithmic(label: impl Into<String>) -> Self {
        Axis {
            logarithmic: true,
            ..Axis::linear(label)
        }
    }

    /// An axis of what has names: the first is at 1, the second at 2.
    pub fn named(label: impl Into<String>, names: &[String]) -> Self {
        Axis {
            names: names.to_vec(),
            ..Axis::linear(label)
        }
    }

    pub(super) fn tick_label(&self, tick: f64) -> String {
        let name = (tick >= 1.0).then(|| self.names.get(tick as usize - 1));
        name.flatten().cloned().unwrap_or_else(|| tick_label(tick))
    }
}

/// The values that an axis shows, and where.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scale {
    logarithmic: bool,
    /// The values at the axis's two ends.
    ends: (f64, f64),
    places: (f64, f64),
    /// The values that are written.
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// From 0 to at least `most`, ending at a tick.
    pub(super) fn from_zero(most: f64, places: (f64, f64)) -> Self {
        let most = if most > 0.0 { most } else { 1.0 };
        let step = round_step(most / 7.0);
        let count = (most / step - 1e-9).ceil().max(1.0) as usize;
        let ticks: Vec<f64> = (0..=count).map(|at| at as f64 * step).collect();
        Scale {
            logarithmic: false,
            ends: (0.0, count as f64 * step),
            places,
            ticks,
        }
    }

    /// From below the least of `values` to above the most, both of them above 0, at ticks where equal factors are
    /// equally far apart.
    pub(super) fn by_factors(values: &[f64], places: (f64, f64)) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let powers = least.log10().floor() as i32..=most.log10().ceil() as i32;
        // Over many powers only they are written.
        let steps: &[f64] = match powers.clone().count() {
            0..=4 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        let all: Vec<f64> = all.collect();
        let first = all.iter().rposition(|tick| *tick <= least).unwrap_or(0);
        let last = all.iter().position(|tick| *tick >= most);
        let ticks = all[first..=last.unwrap_or(all.len() - 1)].to_vec();
        let ends = (ticks[0], ticks[ticks.len() - 1]);
        Scale {
            logarithmic: true,
            ends: (
                ends.0,
                if ends.1 > ends.0 {
                    ends.1
                } else {
                    2.0 * ends.0
                },
            ),
            places,
            ticks,
        }
    }

    /// Around `values`, with a little room at both ends.
    pub(super) fn around(values: &[f64], logarithmic: bool, places: (f64, f64)) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let logarithmic = logarithmic && least > 0.0;
        let (least, most) = match least <= most {
            true => (least, most),
            false => (0.0, 1.0),
        };
        let along = |value: f64| if logarithmic { value.ln() } else { value };
        let width = along(most) - along(least);
        let room = if width > 0.0 { 0.04 * width } else { 0.5 };
        let ends = (along(least) - room, along(most) + room);
        let ticks = match logarithmic {
            true => logarithmic_ticks(values, least, most),
            false => {
                let whole = values.iter().all(|value| value.fract() == 0.0);
                linear_ticks(least, most, whole)
            }
        };
        let ends = match logarithmic {
            true => (ends.0.exp(), ends.1.exp()),
            false => ends,
        };
        Scale {
            logarithmic,
            ends,
            places,
            ticks,
        }
    }

    pub(super) fn place(&self, value: f64) -> f64 {
        let along = |value: f64| if self.logarithmic { value.ln() } else { value };
        let (low, high) = (along(self.ends.0), along(self.ends.1));
        let share = (along(value) - low) / (high - low);
        self.places.0 + share * (self.places.1 - self.places.0)
    }
}

/// The least of 1, 2 and 5 times a power of ten that is not below `step`.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powi(step.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0];
    let round = steps
        .into_iter()
        .find(|round| round * power >= step * (1.0 - 1e-9));
    round.unwrap_or(10.0) * power
}

/// Round values from `least` to `most`; between `whole` values there is nothing to write.
pub(super) fn linear_ticks(least: f64, most: f64, whole: bool) -> Vec<f64> {
    let width = most - least;
    if width <= 0.0 {
        return vec![least];
    }
    let step = match whole {
        // Few are all written: nodes, processors.
        true if width <= 12.0 => 1.0,
        true => round_step(width / 7.0).max(1.0),
        false => round_step(width / 7.0),
    };
    let first = (least / step - 1e-9).ceil() as i64;
    let last = (most / step + 1e-9).floor() as i64;
    (first..=last).map(|at| at as f64 * step).collect()
}

/// The values themselves if they are few, as sweeps have factors that make no powers of ten.
fn logarithmic_ticks(values: &[f64], least: f64, most: f64) -> Vec<f64> {
    let mut own = values.to_vec();
    own.sort_by(f64::total_cmp);
    own.dedup();
    if own.len() <= 10 {
        return own;
    }
    let powers = least.log10().floor() as i32..=most.log10().ceil() as i32;
    let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|step| step * 10_f64.powi(power)));
    let inside = |value: &f64| least * 0.999 <= *value && *value <= most * 1.001;
    let ticks: Vec<f64> = all.filter(inside).collect();
    match ticks.len() {
        0 => vec![least, most],
        _ => ticks,
    }
}

/// A value as its tick is labelled: no more digits than it needs.
pub(super) fn tick_label(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return format!("{value:e}");
    }
    let digits = if size >= 100.0 { 1 } else { 5 };
    let text = format!("{value:.digits$}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    let (sign, whole) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let (whole, fraction) = whole.split_once('.').unwrap_or((whole, ""));
    let point = if fraction.is_empty() { "" } else { "." };
    if whole == "0" && fraction.is_empty() {
        return "0".to_string();
    }
    format!("{sign}{}{point}{fraction}", grouped(whole))
}

/// Digits in groups of three, if there are more than four.
fn grouped(digits: &str) -> String {
    if digits.len() <= 4 {
        return digits.to_string();
    }
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_from_zero_end_at_a_round_tick() {
        let scale = Scale::from_zero(87.3, (300.0, 0.0));
        assert_eq!(scale.ticks, [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!((scale.place(0.0), scale.place(100.0)), (300.0, 0.0));
        assert_eq!(Scale::from_zero(0.0, (1.0, 0.0)).ticks.first(), Some(&0.0));
        assert_eq!(Scale::from_zero(60.0, (1.0, 0.0)).ticks.last(), Some(&60.0));
    }

    #[test]
    fn few_whole_numbers_are_all_written() {
        let nodes: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(Scale::around(&nodes, false, (0.0, 100.0)).ticks, nodes);
        assert_eq!(linear_ticks(1.0, 3.0, true), [1.0, 2.0, 3.0]);
        assert_eq!(linear_ticks(1.0, 1.6, false).len(), 7);
        assert_eq!(linear_ticks(0.0, 1000.0, true).len(), 6);
        assert_eq!(linear_ticks(5.0, 5.0, true), [5.0]);
    }

    #[test]
    fn equal_factors_are_equally_far_apart() {
        let scale = Scale::around(&[100.0, 200.0, 400.0, 800.0], true, (0.0, 100.0));
        let places: Vec<f64> = scale.ticks.iter().map(|tick| scale.place(*tick)).collect();
        let step = places[1] - places[0];
        assert!(
            places
                .windows(2)
                .all(|two| (two[1] - two[0] - step).abs() < 1e-9)
        );
        assert!(places[0] > 0.0 && places[3] < 100.0);
    }

    #[test]
    fn an_axis_of_factors_has_all_values_between_its_ticks() {
        let scale = Scale::by_factors(&[0.3, 7.0], (100.0, 0.0));
        assert_eq!(scale.ticks, [0.2, 0.5, 1.0, 2.0, 5.0, 10.0]);
        assert_eq!((scale.place(0.2), scale.place(10.0)), (100.0, 0.0));
        let wide = Scale::by_factors(&[0.003, 7000.0], (100.0, 0.0));
        assert_eq!(wide.ticks.len(), 8);
        for one in [1.0, 0.02, 30.0] {
            assert!(
                Scale::by_factors(&[one], (100.0, 0.0))
                    .place(one)
                    .is_finite()
            );
        }
    }

    #[test]
    fn no_value_and_one_value_have_an_axis_too() {
        let empty = Scale::around(&[], false, (0.0, 100.0));
        assert!(empty.place(0.5).is_finite());
        let single = Scale::around(&[7.0], true, (0.0, 100.0));
        assert!((single.place(7.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn ticks_have_no_more_digits_than_they_need() {
        let labels = [0.0, 0.25, 20.0, 1500.0, 25_000.0, 1_000_000.0, 1e9, -3.5].map(tick_label);
        assert_eq!(
            labels,
            [
                "0",
                "0.25",
                "20",
                "1500",
                "25,000",
                "1,000,000",
                "1e9",
                "-3.5"
            ]
        );
    }
}
