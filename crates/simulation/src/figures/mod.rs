//! The GEM paper's Figures 4.1 to 4.7 as data: their curves, and the points of these (GEM paper, section 4).
//!
//! A [`Figure`] describes a drawing; a [`Study`] holds the simulated outcomes for it. Neither simulates:
//! the caller gives [`Study::run`] a function that does, and draws with [`crate::report`]. All
//! figures share one study, in which points that several figures need are simulated once.
//!
//! ```
//! use sardonyx_simulation::figures::{self, Needs};
//!
//! let figure = figures::find("4.1")?;
//! let mut needs = Needs::default();
//! figure.needs(&mut needs);
//! assert_eq!(needs.outcomes().len(), 4 * 10);
//! # Ok::<(), sardonyx_simulation::figures::UnknownFigure>(())
//! ```

mod configuration;
mod debit_credit;
mod gem_uses;
mod study;
mod trace;

pub use configuration::{Buffer, Configuration};
pub use sardonyx_results::Estimate;
pub use study::{Needs, Study};

/// The CPU utilisation at which throughputs are compared (Figure 4.6).
pub const TARGET_CPU: f64 = 0.80;

/// A figure of the GEM paper.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its number in the GEM paper.
    pub id: &'static str,
    /// Its meaning.
    pub title: &'static str,
    /// Under which conditions.
    pub caption: &'static str,
    /// The meaning of the y axis.
    pub reading: Reading,
    /// Its parts, drawn with the same scale.
    pub panels: Vec<Panel>,
}

/// The meaning of a figure's y axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// [`crate::outcome::Outcome::response`].
    Response,
    /// Transactions per second and node at a CPU utilisation of [`TARGET_CPU`].
    Throughput,
}

/// A part of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Its distinction; empty if it is the only one.
    pub title: String,
    /// In the order of the legend.
    pub curves: Vec<Curve>,
}

/// Configurations that differ in the number of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Its name.
    pub label: String,
    /// Curves of one group have colour and marker in common.
    pub group: usize,
    /// Random routing: dashed, with hollow markers.
    pub dashed: bool,
    /// Its points, from left to right: the x of each is its number of nodes.
    pub points: Vec<Configuration>,
}

/// There is no such figure.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no figure \"{asked}\": choose one of {known}")]
pub struct UnknownFigure {
    /// The requested name.
    pub asked: String,
    /// The known names.
    pub known: String,
}

/// All figures, in the GEM paper's order; then ours of its statements without a figure.
pub fn all() -> Vec<Figure> {
    vec![
        debit_credit::figure_4_1(),
        debit_credit::figure_4_2(),
        debit_credit::figure_4_3(),
        debit_credit::figure_4_4(),
        debit_credit::figure_4_5(),
        debit_credit::figure_4_6(),
        trace::figure_4_7(),
        gem_uses::transfers(),
        gem_uses::messages(),
        gem_uses::caches(),
    ]
}

/// The figure with that number.
///
/// # Errors
/// [`UnknownFigure`], which names the existing ones.
pub fn find(id: &str) -> Result<Figure, UnknownFigure> {
    let figures = all();
    let known: Vec<_> = figures.iter().map(|figure| figure.id).collect();
    let unknown = UnknownFigure {
        asked: id.to_string(),
        known: known.join(", "),
    };
    let mut figures = figures.into_iter();
    figures.find(|figure| figure.id == id).ok_or(unknown)
}

impl Figure {
    /// The points it needs.
    pub fn needs(&self, needs: &mut Needs) {
        for point in self.curves().flat_map(|curve| &curve.points) {
            match self.reading {
                Reading::Response => needs.outcome(*point),
                Reading::Throughput => needs.throughput(*point),
            }
        }
    }

    /// The y value of `point`, if the study has it.
    pub fn read(&self, study: &Study, point: &Configuration) -> Option<Estimate> {
        match self.reading {
            Reading::Response => {
                let response = study.outcome(point)?.response();
                Some(Estimate::new(response.mean, response.half_width))
            }
            Reading::Throughput => Some(study.throughput(point)?.ok()?.rate_per_node),
        }
    }

    /// The curves of all panels.
    pub fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.panels.iter().flat_map(|panel| &panel.curves)
    }
}

impl Reading {
    /// The label of the y axis.
    pub fn label(self) -> &'static str {
        match self {
            Reading::Response => "mean response time (ms)",
            Reading::Throughput => "transactions per second and node at 80% CPU utilisation",
        }
    }
}

impl Curve {
    /// A curve through `at` of each of `nodes`.
    fn new(
        label: impl Into<String>,
        group: usize,
        dashed: bool,
        nodes: &[u32],
        at: impl Fn(u32) -> Configuration,
    ) -> Self {
        Curve {
            label: label.into(),
            group,
            dashed,
            points: nodes.iter().map(|nodes| at(*nodes)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{Coupling, Parameters, Routing, Storage, Update};
    use std::collections::HashSet;

    /// The values that one switch takes over all points of a figure.
    fn values<T: std::hash::Hash + Eq>(
        figure: &Figure,
        of: impl Fn(&Configuration) -> T,
    ) -> HashSet<T> {
        let points = figure.curves().flat_map(|curve| &curve.points);
        points.map(of).collect()
    }

    #[test]
    fn every_figure_varies_what_it_names() {
        let count = |id: &str| {
            let figure = find(id).unwrap();
            (
                figure.curves().count(),
                values(&figure, |point| point.coupling).len(),
                values(&figure, |point| point.update).len(),
                values(&figure, |point| point.routing).len(),
                values(&figure, |point| point.buffer).len(),
                values(&figure, |point| point.branch_teller).len(),
            )
        };
        assert_eq!(count("4.1"), (4, 1, 2, 2, 1, 1));
        assert_eq!(count("4.2"), (4, 1, 2, 1, 2, 1));
        assert_eq!(count("4.3"), (8, 1, 2, 2, 1, 2));
        assert_eq!(count("4.4"), (8, 1, 1, 2, 1, 4));
        assert_eq!(count("4.5"), (16, 2, 2, 2, 2, 1));
        assert_eq!(count("4.6"), (8, 2, 2, 2, 1, 1));
        assert_eq!(count("4.7"), (4, 2, 1, 2, 1, 1));
    }

    #[test]
    fn fixed_switches_are_the_papers() {
        let of = |id: &str| find(id).unwrap();
        assert!(values(&of("4.2"), |p| p.routing).contains(&Routing::Random));
        assert!(values(&of("4.4"), |p| p.update).contains(&Update::Force));
        assert!(values(&of("4.4"), |p| p.branch_teller).contains(&Storage::VolatileCache));
        assert!(values(&of("4.1"), |p| p.coupling).contains(&Coupling::Close));
        for id in ["4.3", "4.4", "4.6", "4.7"] {
            assert!(
                values(&of(id), |p| p.buffer).contains(&Buffer::Large),
                "{id}"
            );
        }
        let one_to_ten: HashSet<u32> = (1..=10).collect();
        assert_eq!(values(&of("4.1"), |p| p.nodes), one_to_ten);
        assert_eq!(values(&of("4.7"), |p| p.nodes).iter().max(), Some(&8));
    }

    #[test]
    fn labels_and_points_are_not_there_twice() {
        for figure in all() {
            for panel in &figure.panels {
                let labels: HashSet<_> = panel.curves.iter().map(|curve| &curve.label).collect();
                assert_eq!(labels.len(), panel.curves.len(), "{}", figure.id);
                let looks: HashSet<_> = panel.curves.iter().map(|c| (c.group, c.dashed)).collect();
                assert_eq!(looks.len(), panel.curves.len(), "{}", figure.id);
                let points: HashSet<_> = panel.curves.iter().map(|curve| &curve.points).collect();
                assert_eq!(points.len(), panel.curves.len(), "{}", figure.id);
            }
        }
    }

    #[test]
    fn all_points_are_within_the_limits_of_the_model() {
        let paper = Parameters::paper();
        for figure in all() {
            for point in figure.curves().flat_map(|curve| &curve.points) {
                let parameters = point.parameters(&paper);
                let text = toml::to_string(&parameters).unwrap();
                let file = tempfile::NamedTempFile::new().unwrap();
                std::fs::write(file.path(), text).unwrap();
                let mut layers = crate::parameters::read::Layers::named("paper").unwrap();
                layers.file(file.path()).unwrap();
                let again = layers
                    .read()
                    .unwrap_or_else(|error| panic!("{}: {error}", figure.id));
                let same =
                    again.partition("branch_teller") == parameters.partition("branch_teller");
                assert!(same && again.nodes == point.nodes, "{}", figure.id);
            }
        }
    }

    #[test]
    fn an_unknown_figure_names_the_known_ones() {
        let error = find("4.8").unwrap_err().to_string();
        assert!(
            error.contains("\"4.8\"") && error.contains("4.1, 4.2"),
            "{error}"
        );
    }
}
