//! A parameter with its origin, as the catalogue shows it.

use super::known::{FIXED, ISOLATION};
use super::{Settings, known};

/// A parameter's value and its origin.
pub(crate) struct ShownSetting {
    pub value: String,
    /// The value of a database without any settings.
    pub usual: &'static str,
    /// The value to which `RESET` goes back.
    pub reset: String,
    /// `default`, `client` for a value with which the session began, `session` for one that was set.
    pub source: &'static str,
}

impl Settings {
    /// A parameter as the catalogue shows it; `None` if there is none of the name.
    pub fn shown(&self, name: &str) -> Option<ShownSetting> {
        let (name, usual) = known(name)?;
        let values = self.values();
        let initial = values.initial.get(name);
        let source = match (values.set.get(name), initial) {
            _ if *name == ISOLATION => "override",
            _ if FIXED.contains(name) => "default",
            (Some(_), _) => "session",
            (None, Some(_)) => "client",
            (None, None) => "default",
        };
        Some(ShownSetting {
            value: self.get(name).ok()?,
            usual,
            reset: initial.map_or_else(|| usual.to_string(), Clone::clone),
            source,
        })
    }
}
