//! A store's settings from variables of the environment, and from the files that they name.
//!
//! An empty variable is one that is not set. Errors name the store's place and the variable, and never its value, which may be
//! a secret.

use sardonyx_storage::remote_log::store::StoreError;

/// The variables for the store at a place.
pub(crate) struct Variables<'p, V> {
    place: &'p str,
    variable: V,
}

impl<'p, V: Fn(&str) -> Option<String>> Variables<'p, V> {
    pub fn new(place: &'p str, variable: V) -> Self {
        Variables { place, variable }
    }

    pub fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// The error of a wrong setting.
    pub fn wrong(&self, reason: impl Into<String>) -> StoreError {
        StoreError::Place {
            place: self.place.into(),
            reason: reason.into(),
        }
    }

    /// The content of the file that a variable names.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn file(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let read = self.get(name).map(std::fs::read).transpose();
        read.map_err(|error| {
            self.wrong(format!(
                "the file that {name} names cannot be read: {error}"
            ))
        })
    }

    /// Two values that belong together.
    ///
    /// # Errors
    /// Only one is set.
    pub fn both(&self, one: &str, other: &str) -> Result<Option<(String, String)>, StoreError> {
        match (self.get(one), self.get(other)) {
            (Some(one), Some(other)) => Ok(Some((one, other))),
            (None, None) => Ok(None),
            _ => Err(self.wrong(format!("{one} and {other} are set together or not"))),
        }
    }
}
