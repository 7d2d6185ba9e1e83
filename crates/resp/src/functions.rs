//! Other functions that `FCALL` calls: a session has them besides those that are registered with the keyspace.
//!
//! A server puts its database's procedures behind this interface, which hides them from the commands. A call is a part
//! of the transaction of its command, or of its `EXEC`. Its effects outside of the tables do not count before that
//! commits.

use crate::failure::Failure;
use crate::reply::Reply;
use sardonyx::Transaction;
use sardonyx::low_level::Committed;
use std::sync::Arc;

/// Functions that clients call by name.
pub trait Functions: Send + Sync {
    /// Calls a function as a part of the transaction; `None` if there is none of this name.
    ///
    /// # Errors
    /// The failure of the call, in Redis' words. A failure that [undoes](Failure::undoes) undoes the whole
    /// transaction; with others nothing may have been written. [`Failure::Writes`] if [`FunctionCall::only_reads`] and
    /// the function does not.
    fn call(
        &self,
        call: &FunctionCall<'_>,
        transaction: &mut Transaction<'_>,
    ) -> Result<Option<Called>, Failure>;

    /// Calls a function that [only reads](FunctionCall::only_reads) in the state committed before a long transaction;
    /// `None` if there is no function of this name. Nothing is to be done after the call.
    ///
    /// # Errors
    /// The errors of [`Functions::call`].
    fn read(
        &self,
        call: &FunctionCall<'_>,
        committed: &Committed,
    ) -> Result<Option<Reply>, Failure>;

    /// True if there is a function of this name. If the number of keys is wrong as well, a missing function is
    /// reported first.
    ///
    /// # Errors
    /// The functions cannot be read.
    fn has(&self, name: &[u8], within: &Within<'_, '_>) -> Result<bool, Failure>;

    /// True if a call of the function of this name may take long. Meanwhile other commands read the state committed
    /// before.
    fn may_take_long(&self, name: &[u8]) -> bool;

    /// The functions' entries in `FUNCTION LIST`, in the order of their names.
    ///
    /// # Errors
    /// The functions cannot be listed.
    fn list(&self, within: &Within<'_, '_>) -> Result<Vec<Listed>, Failure>;
}

/// The state in which a function is called.
#[derive(Debug)]
pub enum Within<'w, 'a> {
    /// In a transaction.
    Transaction(&'w Transaction<'a>),
    /// In the state committed before a long transaction.
    Committed(&'w Committed),
}

/// A call of a function.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct FunctionCall<'c> {
    /// The function's name.
    pub name: &'c [u8],
    /// The keys, then the arguments, that the client gave.
    pub given: &'c [&'c [u8]],
    /// The number of arguments that are keys.
    pub keys: usize,
    /// The caller: the name that the client gave, or `default`.
    pub user: &'c str,
    /// It is to be done only if it changes nothing.
    pub only_reads: bool,
    /// The time, in milliseconds since 1970.
    pub now: i64,
    /// The seed of its random numbers.
    pub seed: [u64; 2],
}

/// The result of a function.
pub struct Called {
    /// The answer.
    pub reply: Reply,
    /// An action to run once the transaction commits, in the serial stage; not if it is undone.
    pub committed: Option<Box<dyn FnOnce()>>,
}

impl std::fmt::Debug for Called {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Called")
            .field("reply", &self.reply)
            .finish_non_exhaustive()
    }
}

/// A function's entry in `FUNCTION LIST`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listed {
    /// The name under which `FCALL` finds it.
    pub name: String,
    /// The engine that runs it, such as `SQL`.
    pub engine: &'static str,
}

/// A caller of functions: its name, and its functions besides those of the keyspace.
pub(crate) struct Caller {
    pub user: String,
    pub functions: Option<Arc<dyn Functions>>,
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
