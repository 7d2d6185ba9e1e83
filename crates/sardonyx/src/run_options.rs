//! [`RunOptions`]: options of one transaction, in one place for all ways into a database, instead of a verb for each
//! combination of choices.

use crate::Error;
use crate::error::Typed;
use crate::tables::Tables;
use crate::ticket::Ticket;
use sardonyx_serial::Durability;
use sardonyx_table::Transaction;
use std::marker::PhantomData;

/// Options of one transaction, which `transaction()` of a database returns. `W` is the way into the database, `E` the
/// type of the closure's errors, `D` the choice of when `run` returns.
///
/// ```
/// use sardonyx::{Durability, Error, Tables, record};
///
/// record! { #[table("articles", key = code)] struct Article { code: u64, stock: u64 } }
///
/// #[derive(Debug)]
/// enum Sold {
///     OutOfStock,
///     Engine(Error),
/// }
/// impl From<Error> for Sold {
///     fn from(error: Error) -> Self {
///         Sold::Engine(error)
///     }
/// }
///
/// # fn main() -> Result<(), Error> {
/// # let directory = tempfile::tempdir()?;
/// # let shop = Tables::open(directory.path().join("shop.sdx"))?;
/// let articles = shop.table::<Article>()?;
/// // Returns when the row is there; a crash may lose it, with everything after it.
/// let later = shop.transaction().durability(Durability::Deferred);
/// later.run(|tx| tx.insert(articles, &Article { code: 7, stock: 0 }))?;
/// // The closure's own errors undo the transaction, and keep their type.
/// let sold = shop.transaction().errors::<Sold>().run(|tx| match tx.get(articles, 7)? {
///     Some(article) if article.stock > 0 => Ok(()),
///     _ => Err(Sold::OutOfStock),
/// });
/// assert!(matches!(sold, Err(Sold::OutOfStock)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is run before `run` or `submit`"]
pub struct RunOptions<'a, W, E = Error, D = ()> {
    way: &'a W,
    durability: D,
    errors: PhantomData<fn() -> E>,
}

/// A choice of when `run` returns: none, which is on stable storage, or a [`Durability`].
pub trait Choice: sealed::Sealed {}

impl Choice for () {}
impl Choice for Durability {}

mod sealed {
    use sardonyx_serial::Durability;

    pub trait Sealed {
        fn durability(&self) -> Durability;
    }

    impl Sealed for () {
        #[inline]
        fn durability(&self) -> Durability {
            Durability::Durable
        }
    }

    impl Sealed for Durability {
        #[inline]
        fn durability(&self) -> Durability {
            *self
        }
    }
}

impl<'a, W> RunOptions<'a, W> {
    pub(crate) fn new(way: &'a W) -> Self {
        RunOptions {
            way,
            durability: (),
            errors: PhantomData,
        }
    }
}

impl<'a, W, E, D> RunOptions<'a, W, E, D> {
    /// Uses a type of the program's own for errors. The engine's errors are converted to it; it needs only a
    /// `#[from] sardonyx::Error`.
    pub fn errors<F>(self) -> RunOptions<'a, W, F, D> {
        RunOptions {
            way: self.way,
            durability: self.durability,
            errors: PhantomData,
        }
    }
}

impl<'a, W: Deferring, E> RunOptions<'a, W, E> {
    /// Chooses when [`run`](RunOptions::run) returns. (For submitted transactions, the ticket reports that they are on
    /// stable storage.)
    pub fn durability(self, durability: Durability) -> RunOptions<'a, W, E, Durability> {
        RunOptions {
            way: self.way,
            durability,
            errors: PhantomData,
        }
    }
}

/// A way whose transactions may return before they are on stable storage.
pub trait Deferring: deferring::Sealed {}

impl<W: deferring::Sealed> Deferring for W {}

mod deferring {
    pub trait Sealed {}
    impl Sealed for crate::tables::Tables {}
    #[cfg(feature = "memory")]
    impl Sealed for crate::Memory {}
}

impl<E: From<Error>, D: Choice> RunOptions<'_, Tables, E, D> {
    /// Runs a closure as a transaction; see [`Tables::run`].
    ///
    /// # Errors
    /// As [`Tables::run`].
    ///
    /// # Panics
    /// With the closure's panic, after everything it did was undone.
    pub fn run<T>(self, body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E>) -> Result<T, E> {
        let body = |transaction: &mut Transaction<'_>| body(transaction).map_err(Typed);
        let outcome = self.way.kernel.run(self.durability.durability(), body);
        outcome.map_err(|Typed(error)| error)
    }
}

impl<E: Send + 'static> RunOptions<'_, Tables, E> {
    /// Submits a closure as a transaction; see [`Tables::submit`]. The ticket's result is the closure's, unless the engine has
    /// an error.
    pub fn submit<T: Send + 'static>(
        self,
        body: impl FnOnce(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Ticket<Result<T, E>> {
        Ticket::of_value(self.way.kernel.submit(body))
    }
}

#[cfg(feature = "memory")]
impl<E: From<Error>, D: Choice> RunOptions<'_, crate::Memory, E, D> {
    /// Runs a closure as a transaction; see [`Memory::run`](crate::Memory::run).
    ///
    /// # Errors
    /// As [`Memory::run`](crate::Memory::run).
    ///
    /// # Panics
    /// With the closure's panic, after everything it did was undone.
    pub fn run<T>(
        self,
        body: impl FnMut(&mut crate::memory::Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.way.run_typed(self.durability.durability(), body)
    }
}

#[cfg(feature = "operations")]
impl<E: From<Error>> RunOptions<'_, crate::Operations, E> {
    /// Runs a closure as a transaction; see [`Operations::run`](crate::Operations::run).
    ///
    /// # Errors
    /// As [`Operations::run`](crate::Operations::run).
    ///
    /// # Panics
    /// With the closure's panic, after everything it did was undone.
    pub fn run<T>(
        self,
        body: impl FnMut(&crate::operations::Transaction<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        self.way.run_typed(body)
    }
}
