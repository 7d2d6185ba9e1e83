//! The holders and waiters: transactions and their subtransactions.
//!
//! Locks are of two levels, as in the DASDBS paper. Locks on objects belong to a transaction, and are kept until it
//! ends. Locks on pages belong to a subtransaction (one operation of the transaction), and are kept until that ends.
//! At both levels the thread of one subtransaction waits. So each request names the lock's owner and the waiting
//! subtransaction, as an [`Asker`].

use core::fmt;

/// A transaction, or one of its subtransactions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(u64);

/// The bits of an owner that distinguish its subtransactions.
const SUBTRANSACTION_BITS: u32 = 16;

impl Owner {
    /// A transaction.
    ///
    /// # Panics
    /// If the number is 0, or 2^48 or more.
    ///
    /// ```
    /// use sardonyx_lock::Owner;
    ///
    /// let transaction = Owner::transaction(7);
    /// let second = transaction.subtransaction(2);
    /// assert_eq!(second.transaction_of(), transaction);
    /// assert_eq!(second.to_string(), "T7.2");
    /// ```
    pub fn transaction(number: u64) -> Owner {
        assert!(
            0 < number && number < 1 << (u64::BITS - SUBTRANSACTION_BITS),
            "transaction numbers go from 1 to 2^48 - 1, and this is {number}"
        );
        Owner(number << SUBTRANSACTION_BITS)
    }

    /// One of the transaction's subtransactions (of a subtransaction: a sibling).
    ///
    /// # Panics
    /// If `k` is 0.
    pub fn subtransaction(self, k: u16) -> Owner {
        assert!(k > 0, "subtransactions are numbered from 1");
        Owner(self.transaction_of().0 | u64::from(k))
    }

    /// The transaction that it is or belongs to.
    pub fn transaction_of(self) -> Owner {
        Owner(self.0 >> SUBTRANSACTION_BITS << SUBTRANSACTION_BITS)
    }

    /// True if it was made by [`Owner::subtransaction`].
    pub fn is_subtransaction(self) -> bool {
        self != self.transaction_of()
    }

    /// The transaction's number.
    pub fn number(self) -> u64 {
        self.0 >> SUBTRANSACTION_BITS
    }

    /// A number that no other owner has.
    pub(crate) fn bits(self) -> u64 {
        self.0
    }

    /// True if `waiter`'s progress is needed for this owner to end: it is the same, or one of its
    /// subtransactions.
    pub(crate) fn includes(self, waiter: Owner) -> bool {
        self == waiter || self == waiter.transaction_of()
    }

    /// The last owner that it can include, in the order of owners.
    pub(crate) fn last_included(self) -> Owner {
        if self.is_subtransaction() {
            self
        } else {
            self.subtransaction(u16::MAX)
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "T{}", self.number())?;
        match self.0 as u16 {
            0 => Ok(()),
            k => write!(f, ".{k}"),
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The asker of a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asker {
    /// The owner of the lock.
    pub holder: Owner,
    /// The owner whose thread waits: the holder itself, or a subtransaction of it.
    pub waiter: Owner,
    /// A number that grows with each new transaction. A transaction that is run again after a deadlock keeps its
    /// number, so that it becomes the oldest some day and is not chosen again.
    pub age: u64,
    /// True if the request is of an operation that undoes another. It is a victim only if no other request can be.
    pub compensation: bool,
}

/// The way in which a request was granted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Granted {
    /// The holder had no lock on the object: it is to be noted for release.
    New,
    /// The holder has a further mode.
    More,
    /// The holder had all that was asked for.
    Held,
}

/// The order to the thread of a request that was chosen to end a deadlock.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Denied {
    /// Others wait for the pages of this subtransaction only: it releases them and is executed
    /// again.
    ///
    /// Only a subtransaction that has or awaits a page gets this. If it awaited an object, it asks
    /// for that again *before* it is executed again, while it has no pages. Otherwise two
    /// transactions that hold an object each and want the other's could restart for ever: each
    /// would be found with pages first, and never both waiting for objects.
    #[error("the subtransaction was chosen to end a deadlock: execute it again")]
    Restart,
    /// Others wait for this transaction's locks: it must abort.
    #[error("the transaction was chosen to end a deadlock: abort it")]
    Deadlock,
}
