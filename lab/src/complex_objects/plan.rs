//! The runs: sweeps over one parameter, and those of the DASDBS paper's figures.

use crate::ExperimentError;
use crate::complex_objects::workload::Mix;

/// The parameter that a sweep varies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Parameter {
    /// The degree of multiprogramming: the number of concurrent transactions.
    Multiprogramming,
    /// u, the percentage of accesses that change a subobject.
    UpdatePercent,
    /// o, accesses of an operation to own subobjects.
    OwnAccesses,
    /// c, operations of a transaction.
    Operations,
    /// f, accesses of an operation to foreign subobjects; o is the rest of the point's o + f.
    ForeignOfAll,
}

impl Parameter {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Multiprogramming => "DMP",
            Parameter::UpdatePercent => "u",
            Parameter::OwnAccesses => "o",
            Parameter::Operations => "c",
            Parameter::ForeignOfAll => "f",
        }
    }

    pub fn meaning(self) -> &'static str {
        match self {
            Parameter::Multiprogramming => "degree of multiprogramming",
            Parameter::UpdatePercent => "updates, percent (u)",
            Parameter::OwnAccesses => "own accesses of an operation (o)",
            Parameter::Operations => "operations of a transaction (c)",
            Parameter::ForeignOfAll => "foreign accesses of an operation (f)",
        }
    }
}

/// One setting of all parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Point {
    /// The number of concurrent transactions.
    pub multiprogramming: u32,
    /// The mix of the transactions.
    #[serde(flatten)]
    pub mix: Mix,
}

impl Point {
    /// The same with another value of a parameter.
    pub fn with(self, parameter: Parameter, value: u32) -> Point {
        let mut point = self;
        match parameter {
            Parameter::Multiprogramming => point.multiprogramming = value,
            Parameter::UpdatePercent => point.mix.update_percent = value,
            Parameter::OwnAccesses => point.mix.own_accesses = value,
            Parameter::Operations => point.mix.operations = value,
            Parameter::ForeignOfAll => {
                point.mix.own_accesses = self.mix.accesses().saturating_sub(value);
                point.mix.foreign_accesses = value;
            }
        }
        point
    }
}

/// One parameter varied, all others kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sweep {
    /// The varied parameter.
    pub over: Parameter,
    /// Its values, in order.
    pub values: Vec<u32>,
    /// All other parameters.
    pub base: Point,
}

impl Sweep {
    /// The values with their points.
    pub fn points(&self) -> impl Iterator<Item = (u32, Point)> {
        let (base, over) = (self.base, self.over);
        let point = move |&value: &u32| (value, base.with(over, value));
        self.values.iter().map(point)
    }
}

/// The DASDBS paper's degrees of multiprogramming: up to 20 on 12 processors.
pub const MULTIPROGRAMMING: [u32; 9] = [1, 2, 4, 8, 10, 12, 14, 16, 20];

/// The DASDBS paper's figures with measurements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// The baseline, c = 12, o = 10, f = 0, u = 20%, over the degree of multiprogramming.
    Seven,
    /// The baseline with other u, o and c, at a degree of multiprogramming of 12.
    Eight,
    /// Foreign subobjects, o = 0 and f = 10, over the degree of multiprogramming.
    Nine,
    /// o + f = 10 with f from 0 to 10, at a degree of multiprogramming of 12.
    Ten,
}

impl Figure {
    /// All of them.
    pub const ALL: [Figure; 4] = [Figure::Seven, Figure::Eight, Figure::Nine, Figure::Ten];

    /// Its number in the DASDBS paper.
    pub fn number(self) -> u32 {
        match self {
            Figure::Seven => 7,
            Figure::Eight => 8,
            Figure::Nine => 9,
            Figure::Ten => 10,
        }
    }

    /// The figure of that number.
    ///
    /// # Errors
    /// [`ExperimentError::Argument`] if the DASDBS paper has no such figure with measurements.
    pub fn numbered(number: u32) -> Result<Figure, ExperimentError> {
        let found = Figure::ALL.into_iter().find(|one| one.number() == number);
        found.ok_or(ExperimentError::Argument {
            what: "figure",
            given: number.into(),
            limits: "the DASDBS paper's measurements are in figures 7, 8, 9 and 10".into(),
        })
    }

    /// Its runs. The values of u, o, c and f in figures 8 and 10 are ours: the DASDBS paper's text does not
    /// name them.
    pub fn sweeps(self) -> Vec<Sweep> {
        let baseline = Point {
            multiprogramming: 12,
            mix: Mix::paper(),
        };
        let sweep = |over, values: &[u32], base| Sweep {
            over,
            values: values.to_vec(),
            base,
        };
        match self {
            Figure::Seven => vec![sweep(
                Parameter::Multiprogramming,
                &MULTIPROGRAMMING,
                baseline,
            )],
            Figure::Eight => vec![
                sweep(Parameter::UpdatePercent, &[0, 10, 20, 30, 40], baseline),
                sweep(Parameter::OwnAccesses, &[5, 10, 15, 20], baseline),
                sweep(Parameter::Operations, &[4, 8, 12, 16], baseline),
            ],
            Figure::Nine => vec![sweep(
                Parameter::Multiprogramming,
                &MULTIPROGRAMMING,
                baseline.with(Parameter::ForeignOfAll, 10),
            )],
            Figure::Ten => vec![sweep(
                Parameter::ForeignOfAll,
                &[0, 2, 4, 6, 8, 10],
                baseline,
            )],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_papers_settings() {
        let [seven] = &Figure::Seven.sweeps()[..] else {
            panic!("one sweep");
        };
        let (dmp, point) = seven.points().nth(5).unwrap();
        assert_eq!((dmp, point.multiprogramming), (12, 12));
        assert_eq!(point.mix, Mix::paper());
        let nine = &Figure::Nine.sweeps()[0];
        let mix = nine.points().last().unwrap().1.mix;
        assert_eq!((mix.own_accesses, mix.foreign_accesses), (0, 10));
        let ten = &Figure::Ten.sweeps()[0];
        for (f, point) in ten.points() {
            assert_eq!(point.mix.foreign_accesses, f);
            assert_eq!(point.mix.accesses(), 10);
            assert_eq!(point.multiprogramming, 12);
        }
        let varied: Vec<Parameter> = Figure::Eight.sweeps().iter().map(|s| s.over).collect();
        assert_eq!(varied.len(), 3);
    }

    #[test]
    fn figures_are_found_by_number() {
        for figure in Figure::ALL {
            assert_eq!(Figure::numbered(figure.number()).unwrap(), figure);
        }
        let error = Figure::numbered(6).unwrap_err().to_string();
        assert!(error.contains("7, 8, 9 and 10"), "{error}");
    }

    #[test]
    fn each_parameter_changes_what_it_says() {
        let base = Figure::Seven.sweeps()[0].base;
        assert_eq!(base.with(Parameter::UpdatePercent, 5).mix.update_percent, 5);
        assert_eq!(base.with(Parameter::Operations, 5).mix.operations, 5);
        assert_eq!(base.with(Parameter::OwnAccesses, 5).mix.own_accesses, 5);
    }
}
