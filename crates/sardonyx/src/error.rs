//! Errors: the one type, and its conversion to a program's own.

use sardonyx_base::error::CrateError;
pub use sardonyx_base::error::Error;
use sardonyx_base::waiting::Reason;
use sardonyx_rows::TableError;
use sardonyx_storage::log::LogError;

/// An error of the program's own type, or a crate's, converted to it.
pub(crate) struct Typed<E>(pub E);

impl<E: From<Error>, R: CrateError> From<R> for Typed<E> {
    fn from(error: R) -> Self {
        Typed(E::from(error.into()))
    }
}

/// The reason of an interruption, if the error is one: of the wait for a turn or a page, or of the work in a turn.
#[doc(hidden)]
pub fn interruption(error: &Error) -> Option<Reason> {
    #[cfg(all(feature = "nodes", not(shuttle)))]
    if let Some(crate::nodes::NodeError::Interrupted(reason)) = error.downcast_ref() {
        return Some(*reason);
    }
    match (error.downcast_ref(), error.downcast_ref()) {
        (Some(LogError::Interrupted(reason)), _)
        | (_, Some(TableError::Log(LogError::Interrupted(reason)))) => Some(*reason),
        _ => None,
    }
}
