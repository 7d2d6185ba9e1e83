//! The one error that a user meets: a kind for what can be done about it, and the whole text of where
//! it came from.
//!
//! Every crate keeps an error type of its own, precise and for its tests, and says, next to it, of which
//! kind each of its variants is (`impl From<CrateError> for Error`). A program sees the kind, the text and
//! the causes; the crate's error can still be had by [`Error::downcast_ref`].
//!
//! A program's own error goes in by [`Error::other`], or by `?` where the program has
//! `impl From<Mine> for Error`, and comes out again by [`Error::downcast`].

use crate::process::Forked;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The origin of an [`Error`]: its text, its causes, and the typed error of a crate or of the program.
pub struct Cause(Box<dyn StdError + Send + Sync>);

impl Cause {
    /// The error itself.
    pub fn get(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<E: Into<Box<dyn StdError + Send + Sync>>> From<E> for Cause {
    fn from(error: E) -> Self {
        Cause(error.into())
    }
}

/// A kind of [`Error`]: what makes one of a cause.
pub type Kind = fn(Cause) -> Error;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// The kinds of a database's errors, by their remedy. Its text says what happened, where, and what
        /// to do; so does its `Debug`, with the causes below it, since that is what
        /// `fn main() -> Result<(), Error>` prints.
        ///
        /// ```
        /// # use sardonyx_base::error as sardonyx;
        /// use sardonyx::Error;
        ///
        /// #[derive(Debug, thiserror::Error)]
        /// #[error("{0} is out of stock")]
        /// struct OutOfStock(&'static str);
        ///
        /// fn take() -> Result<(), Error> {
        ///     Err(Error::other(OutOfStock("bolts")))
        /// }
        /// let error = take().unwrap_err();
        /// assert!(!error.is_conflict());
        /// assert_eq!(error.to_string(), "bolts is out of stock");
        /// assert_eq!(error.downcast::<OutOfStock>().unwrap().0, "bolts");
        /// ```
        #[non_exhaustive]
        pub enum Error {
            $($(#[$doc])* $kind(Cause),)*
        }

        impl Error {
            /// Its origin.
            pub fn cause(&self) -> &Cause {
                match self {
                    $(Error::$kind(cause) => cause,)*
                }
            }

            /// Its origin.
            fn into_cause(self) -> Cause {
                match self {
                    $(Error::$kind(cause) => cause,)*
                }
            }

            /// Its kind: what makes an error of that kind of a cause.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Error::$kind(_) => Error::$kind,)*
                }
            }
        }
    };
}

kinds! {
    /// Another transaction was in the way: a conflict, or a deadlock that this one was chosen to end. It
    /// had no effect; run it again.
    Conflict,
    /// A row with this key exists: of the primary key, or of the unique index that the text names.
    Duplicate,
    /// There is no such database. Nothing was made.
    NotFound,
    /// The row violates a condition or a foreign key: change the data. Or the request can never be met: a table
    /// that is declared otherwise, a handle of another database, a stale row, an option that cannot work. Then
    /// change the program.
    Refused,
    /// Too much at once: a transaction, a name or a record is beyond a limit, which the text names.
    Limit,
    /// No room: memory, log or disk is full. Nothing is broken; free something, or raise the limit that
    /// the text names.
    Full,
    /// Something else has to happen first: a stopped process has to continue, a reader to release old versions,
    /// a store to answer. Try again then.
    Unavailable,
    /// Another process, or another handle, has the database open in a way that excludes this one.
    Locked,
    /// Files or pages are damaged; the text says where. Restore a backup.
    Damaged,
    /// Writing failed, or a thread of the engine died: what was not acknowledged may or may not be there.
    /// Open the database again.
    Poisoned,
    /// The operating system refused.
    System,
    /// The database was called by code that it runs itself, and would have waited for that code's end.
    /// Nothing was done; use the transaction that the code was given.
    Nested,
    /// The database was closed.
    Closed,
    /// This process was forked from the one that opened the database. Nothing was done.
    Forked,
    /// The transaction's code panicked; what it did was undone.
    Panicked,
    /// An error of the program's own, with which it ended a transaction.
    Other,
}

impl Error {
    /// An error of the program's own. In a transaction it undoes what that did, and the caller of `run`
    /// gets it back: [`Error::downcast`]. A text will do: `Error::other("out of stock")`.
    pub fn other(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Error {
        Error::Other(Cause(error.into()))
    }

    /// True if the transaction is to be run again.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Error::Conflict(_))
    }

    /// The error that this was made of, or one of its causes, if it is of this type.
    pub fn downcast_ref<E: StdError + 'static>(&self) -> Option<&E> {
        let mut error: &(dyn StdError + 'static) = self.cause().get();
        loop {
            let shared = || error.downcast_ref::<Arc<E>>().map(|found| &**found);
            if let Some(found) = error.downcast_ref().or_else(shared) {
                return Some(found);
            }
            error = error.source()?;
        }
    }

    /// The error that this was made of, if it is of this type.
    ///
    /// # Errors
    /// This error, if it was made of another.
    pub fn downcast<E: StdError + 'static>(self) -> Result<E, Error> {
        if !self.cause().0.is::<E>() {
            return Err(self);
        }
        match self.into_cause().0.downcast::<E>() {
            Ok(error) => Ok(*error),
            Err(error) => Err(Error::Other(Cause(error))),
        }
    }

    /// The same, said of something else: `text` goes before its text, and it becomes the cause.
    pub fn context(self, text: impl fmt::Display) -> Error {
        let text = text.to_string();
        self.kind()(Said { text, error: self }.into())
    }
}

/// An error with what it was said of.
#[derive(Debug, thiserror::Error)]
#[error("{text}: {error}")]
struct Said {
    text: String,
    #[source]
    error: Error,
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        // The cause's text is this one's.
        self.cause().0.source()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause().fmt(f)
    }
}

impl fmt::Debug for Error {
    /// The text, and below it the causes that it does not tell already.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut told = self.to_string();
        f.write_str(&told)?;
        let mut next = self.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            if !told.contains(&text) {
                write!(f, "\n  caused by: {text}")?;
                told = text;
            }
            next = cause.source();
        }
        Ok(())
    }
}

/// An error of one of the engine's crates, which says what can be done about it.
pub trait CrateError: StdError + Send + Sync + Sized + 'static {
    /// The constructor of the [`Error`] to which this error belongs.
    fn kind(&self) -> Kind;

    /// The error that a user gets of it. An error that only carries another crate's gives that one.
    fn into_error(self) -> Error {
        self.kind()(self.into())
    }
}

impl<E: CrateError> From<E> for Error {
    #[cold]
    fn from(error: E) -> Self {
        error.into_error()
    }
}

impl<E: CrateError> From<Arc<E>> for Error {
    #[cold]
    fn from(error: Arc<E>) -> Self {
        error.kind()(error.into())
    }
}

impl CrateError for Forked {
    fn kind(&self) -> Kind {
        Error::Forked
    }
}

impl From<Box<dyn StdError + Send + Sync>> for Error {
    fn from(error: Box<dyn StdError + Send + Sync>) -> Self {
        Error::other(error)
    }
}

impl From<String> for Error {
    fn from(text: String) -> Self {
        Error::other(text)
    }
}

impl From<&str> for Error {
    fn from(text: &str) -> Self {
        Error::other(text)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Other(error.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the disk said no")]
    struct Disk;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open")]
    struct Open(#[source] Disk);

    #[derive(Debug, thiserror::Error)]
    #[error(transparent)]
    struct Transparent(#[from] Open);

    #[test]
    fn its_debug_is_its_text_and_the_causes_that_the_text_does_not_tell() {
        let error = Error::System(Transparent(Open(Disk)).into());
        assert_eq!(error.to_string(), "cannot open");
        assert_eq!(
            format!("{error:?}"),
            "cannot open\n  caused by: the disk said no"
        );
        let said = error.context("the shop");
        assert_eq!(
            format!("{said:?}"),
            "the shop: cannot open\n  caused by: the disk said no"
        );
        assert!(matches!(said, Error::System(_)));
    }

    #[test]
    fn the_error_it_was_made_of_comes_out_again_and_others_do_not() {
        let error = Error::System(Open(Disk).into());
        assert!(error.downcast_ref::<Disk>().is_some(), "a cause");
        let error = error.downcast::<Disk>().expect_err("not what it is");
        assert!(matches!(error, Error::System(_)), "as it was");
        error.downcast::<Open>().expect("what it was made of");
    }

    #[test]
    fn a_text_is_an_error_of_ones_own() {
        let refuse = || -> Result<(), Error> { Err("out of stock")? };
        let error = refuse().expect_err("refused");
        assert!(matches!(&error, Error::Other(_)));
        assert_eq!(error.to_string(), "out of stock");
    }
}
