//! Parameter files that come with the program.

use super::Parameters;
use super::read::{Layers, ParameterError};

/// A parameter file that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// What it describes, in a few words.
    pub what: &'static str,
    /// The file, commented. All but the paper's hold only what differs from the paper's.
    pub text: &'static str,
}

/// All presets; the first is the paper's.
pub const PRESETS: &[Preset] = &[Preset {
    name: "paper",
    what: "the paper's hardware and debit-credit workload (Table 4.1)",
    text: include_str!("../../presets/paper.toml"),
}];

/// The preset of that name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

impl Preset {
    /// Its parameters.
    ///
    /// # Errors
    /// None for those in [`PRESETS`], which a test shows.
    pub fn parameters(&self) -> Result<Parameters, ParameterError> {
        Layers::of_preset(self)?.read()
    }
}
