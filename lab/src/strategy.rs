//! The strategies of multi-level transactions by their names on the command line.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sardonyx_multilevel::Strategy;

/// All of them, in the order in which experiments run them.
pub const ALL: [Strategy; 4] = [
    Strategy::SingleLevel,
    Strategy::ForcedSubtransactions,
    Strategy::SPHERES,
    Strategy::OrderedLog,
];

/// A parser of a strategy's name.
pub fn parser() -> impl TypedValueParser<Value = Strategy> {
    PossibleValuesParser::new([
        PossibleValue::new("s1").help("Single-level: locks on pages to the end of the transaction"),
        PossibleValue::new("s2").help("Two-level, the log forced at the end of every operation"),
        PossibleValue::new("s2-ps")
            .alias("spheres")
            .help("Two-level, with persistence spheres"),
        PossibleValue::new("ordered-log").help("Two-level, on one ordered log"),
    ])
    .map(|name| match name.as_str() {
        "s1" => Strategy::SingleLevel,
        "s2" => Strategy::ForcedSubtransactions,
        "ordered-log" => Strategy::OrderedLog,
        _ => Strategy::SPHERES,
    })
}
