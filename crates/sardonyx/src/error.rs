//! Errors: the one type, and its conversion to a program's own.

use sardonyx_base::error::CrateError;
pub use sardonyx_base::error::Error;

/// An error of the program's own type, or a crate's, converted to it.
pub(crate) struct Typed<E>(pub E);

impl<E: From<Error>, R: CrateError> From<R> for Typed<E> {
    fn from(error: R) -> Self {
        Typed(E::from(error.into()))
    }
}
