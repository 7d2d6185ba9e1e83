//! Errors of hosts. Apart from [`crate::hosts`], which is not built for Shuttle: [`crate::Options`] returns one of these,
//! too.

use crate::Error;
use std::time::Duration;

/// The least time after which a host counts as failed: with less, a busy host would.
pub const WAIT_MIN: Duration = Duration::from_millis(200);

/// Errors of hosts that cannot work together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The options name no store.
    #[error("hosts need a log in a store: name it by `Options::store`")]
    NoStore,
    /// A name that no host can have.
    #[error("no host can be called {name:?}: take 1 to 200 letters, digits, `.`, `_` and `-`")]
    Name {
        /// The given value.
        name: String,
    },
    /// The time is too short.
    #[error(
        "a host cannot count as failed after {wait:?}: take at least {WAIT_MIN:?}, at most a day"
    )]
    Wait {
        /// The given value.
        wait: Duration,
    },
    /// The store has no database.
    #[error("{place} has no database")]
    NoDatabase {
        /// The store.
        place: String,
    },
    /// No host ever served.
    #[error("no host has served the database in {place} yet: start one")]
    NoHost {
        /// The store.
        place: String,
    },
    /// A named host was wanted, and another one began to serve.
    #[error(
        "{host} began to serve meanwhile, and {wanted} does not: {wanted} did not take over in time, or the request was \
         lost with the host that served before. Find out if {wanted} runs, and repeat the command"
    )]
    OtherServes {
        /// It serves.
        host: String,
        /// The wanted one.
        wanted: String,
    },
}

impl From<HostError> for Error {
    fn from(error: HostError) -> Self {
        match error {
            HostError::NoStore | HostError::Name { .. } | HostError::Wait { .. } => {
                Error::Refused(error.into())
            }
            HostError::NoDatabase { .. } | HostError::NoHost { .. } => {
                Error::NotFound(error.into())
            }
            HostError::OtherServes { .. } => Error::Unavailable(error.into()),
        }
    }
}
