//! Named procedures: transactions that are registered once and then called with arguments, singly
//! or in batches.
//!
//! A procedure may split *locating* its records from *modifying* them (the TPK paper's two-stage execution,
//! section 5). For a whole batch the engine first calls [`Procedure::prefetch_all`], so that the
//! batch's cache misses overlap, then [`Procedure::locate`], then [`Procedure::execute`].

use sardonyx_table::{Prefetch, TableSpace, Transaction};
use std::any::Any;
use std::sync::{Arc, Weak};

/// A transaction that is registered once and then called with arguments, singly or in batches. The module
/// `sardonyx::procedures` has an example.
pub trait Procedure: Send + Sync + 'static {
    /// The caller's arguments.
    type Arguments: Send + 'static;
    /// The result of a successful call.
    type Output: Send + 'static;
    /// The procedure's own error; the transaction is undone.
    type Error: Send + 'static;
    /// The first stage's data for the second, such as rows; `()` if nothing.
    type Located;

    /// The procedure's name, unique in a database among those that are registered.
    fn name(&self) -> &str;

    /// Checks the arguments on the input stage, without the database.
    fn check(&self, _arguments: &Self::Arguments) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Asks the processor for the memory that the transaction will read, by calling
    /// [`TableSpace::prefetch`] with `what` for each record that is likely not to be in the cache.
    fn prefetch(&self, _what: Prefetch, _arguments: &Self::Arguments, _space: &TableSpace) {}

    /// Asks for the memory of all transactions of a batch, in as many steps as they need: by default, by
    /// [`Procedure::prefetch`] for each [`Prefetch`] in turn. What a later step reads, an earlier one asked for.
    fn prefetch_all(&self, batch: &[Self::Arguments], space: &TableSpace) {
        for what in [Prefetch::Index, Prefetch::Record] {
            batch.iter().for_each(|one| self.prefetch(what, one, space));
        }
    }

    /// Finds the records that [`Procedure::execute`] will use. Transactions of the same batch may
    /// run before this one is executed.
    fn locate(&self, arguments: &Self::Arguments, space: &TableSpace) -> Self::Located;

    /// Runs the transaction. An error or a panic undoes it.
    fn execute(
        &self,
        arguments: &Self::Arguments,
        located: Self::Located,
        transaction: &mut Transaction<'_>,
    ) -> Result<Self::Output, Self::Error>;
}

/// A procedure that has been registered with a database. It stays registered as long as a clone of this handle exists.
/// Cheap to clone.
#[derive(Debug)]
pub struct Registered<P>(pub(crate) Arc<P>);

impl<P: Procedure> Registered<P> {
    /// The value that was registered, such as for the handles of tables in it.
    pub fn procedure(&self) -> &P {
        &self.0
    }

    /// A handle that does not keep it registered.
    pub fn downgrade(&self) -> WeakRegistered {
        let weak = Arc::downgrade(&self.0);
        WeakRegistered(weak)
    }
}

/// A procedure of any type that was registered, and may be no more.
#[derive(Clone, Debug)]
pub struct WeakRegistered(Weak<dyn Any + Send + Sync>);

impl WeakRegistered {
    /// True if it is registered: it can be called, or a call is under way.
    pub fn is_registered(&self) -> bool {
        self.0.strong_count() > 0
    }

    /// The procedure, if it is registered and of this type.
    pub fn upgrade<P: Procedure>(&self) -> Option<Registered<P>> {
        let procedure = self.0.upgrade()?.downcast().ok()?;
        Some(Registered(procedure))
    }
}

impl<P> Clone for Registered<P> {
    fn clone(&self) -> Self {
        Registered(self.0.clone())
    }
}
