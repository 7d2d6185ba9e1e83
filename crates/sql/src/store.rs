//! The store of a database's tables. In main memory, sessions take turns in one serial stage. On a node, sessions run
//! side by side with those of other nodes, under page locks. A database that another program has open is followed.
//!
//! A session's open transaction holds nothing between two flights in either: it is run again, and compared. So a node's
//! transaction begins and ends in one call.

use crate::database::Database;
use crate::error::{SqlError, code};
use crate::followed::Followed;
use crate::source::Source;
use crate::write_target::WriteTarget;
use sardonyx::{Error, Tables};
use sardonyx_base::waiting::{self, Interrupt, interruptible};
use sardonyx_rows::constraints::ComputeDefaults;
use std::cell::Cell;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The most runs of a transaction that deadlocks end, before its client gets the error.
pub(crate) const TRIES: usize = 32;

thread_local! {
    /// True if this thread runs a node's transaction.
    static RUNS: Cell<bool> = const { Cell::new(false) };
}

/// True if this thread runs a node's transaction. A nested one would deadlock with it.
pub(crate) fn runs_on_node() -> bool {
    RUNS.get()
}

/// The bits of a version that belong to the process.
const OWN_BITS: u32 = 24;

/// The store of a database's tables.
#[derive(Debug)]
pub(crate) enum Store {
    /// Main memory.
    Memory(Arc<Tables>),
    /// A node, with the number of changes of the catalogue by sessions of this process.
    Node(Arc<dyn NodeStore>, AtomicU64),
    /// Tables that another program has open, to be read.
    Followed(Followed),
}

/// A node's transactions.
pub(crate) trait NodeStore: Debug + Send + Sync {
    /// Runs a function in a transaction, once. The transaction commits if the function returns true, and is undone
    /// otherwise. Returns its result.
    ///
    /// # Errors
    /// [`Error::Conflict`] if a deadlock chose it, with any result; [`Error::Nested`] if this thread runs one already;
    /// the reason for which the node stopped. Nothing is committed then, unless the error allows for a commit.
    fn run(&self, act: &mut dyn FnMut(&mut dyn WriteTarget) -> bool) -> Result<bool, Error>;

    /// Checks that the node still runs transactions.
    ///
    /// # Errors
    /// The reason for which it stopped.
    fn check_runs(&self) -> Result<(), Error>;

    /// Sets the function that computes defaults in SQL.
    #[cfg_attr(not(feature = "nodes"), allow(dead_code))]
    fn compute_defaults_by(&self, computes: Arc<dyn ComputeDefaults>);
}

impl Database {
    /// The tables in main memory; `None` if a node has them, or another program.
    pub fn tables(&self) -> Option<&Arc<Tables>> {
        match self.store() {
            Store::Memory(tables) => Some(tables),
            Store::Node(..) | Store::Followed(_) => None,
        }
    }

    /// The same, for operations on tables of this process only.
    ///
    /// # Errors
    /// `0A000` if a node has the tables; `25006` if they are followed.
    pub fn tables_in_memory(&self, what: &str) -> Result<&Arc<Tables>, SqlError> {
        match self.store() {
            Store::Memory(tables) => Ok(tables),
            Store::Node(..) => Err(SqlError::unsupported(format!(
                "{what} is not supported on a nodes' database"
            ))),
            Store::Followed(followed) => Err(followed.refused(what)),
        }
    }

    /// Checks that the node that has the tables still runs transactions; `None` if no node has them.
    pub fn check_node(&self) -> Option<Result<(), Error>> {
        self.node().map(|node| node.check_runs())
    }

    /// Lets threads run that wait for this processor ([`waiting::let_others_run`]). Returns true if it did. It does not
    /// if they may wait for this thread, which has the stage or a node's locks of pages.
    pub(crate) fn let_others_run(&self) -> bool {
        match self.store() {
            Store::Memory(tables) => tables.let_others_run(),
            Store::Node(..) => !runs_on_node() && waiting::let_others_run(),
            Store::Followed(_) => waiting::let_others_run(),
        }
    }

    /// The tables of another program, which are followed.
    pub(crate) fn followed(&self) -> Option<&Followed> {
        match self.store() {
            Store::Followed(followed) => Some(followed),
            Store::Memory(_) | Store::Node(..) => None,
        }
    }

    /// The node that has the tables.
    pub(crate) fn node(&self) -> Option<&Arc<dyn NodeStore>> {
        match self.store() {
            Store::Node(node, _) => Some(node),
            Store::Memory(_) | Store::Followed(_) => None,
        }
    }

    /// The version of the catalogue that plans depend on, as a transaction sees it.
    pub(crate) fn version_in(&self, tx: &dyn WriteTarget) -> u64 {
        match tx.version() {
            // No plan of undone definitions is left here.
            Some(version) => version << OWN_BITS | self.version() & ((1 << OWN_BITS) - 1),
            None => self.version(),
        }
    }

    /// Looks at the newest state of a node's tables, with the version of the catalogue. It waits for pages, so a thread
    /// that serves others steps aside.
    ///
    /// # Errors
    /// The error of `look`; an interruption; the reason for which the node stopped.
    pub(crate) fn look_at_node<R>(
        &self,
        node: &dyn NodeStore,
        interrupt: &Arc<Interrupt>,
        mut look: impl FnMut(&dyn Source, u64) -> Result<R, SqlError>,
    ) -> Result<R, SqlError> {
        let mut tries = 0;
        loop {
            let mut found = None;
            let ran = waiting::aside(|| {
                interruptible(interrupt, None, || {
                    node.run(&mut |tx| {
                        let version = self.version_in(tx);
                        found = Some(look(&*tx, version));
                        true
                    })
                })
            });
            tries += 1;
            match (ran, found) {
                (Err(Error::Conflict(_)), _) if tries < TRIES => {}
                (Err(error), _) => return Err(error.into()),
                (Ok(_), Some(found)) => return found,
                (Ok(_), None) => {
                    return Err(SqlError::new(code::INTERNAL, "nothing was looked at"));
                }
            }
        }
    }
}

#[cfg(feature = "nodes")]
mod of_node {
    use super::*;
    use sardonyx::nodes::{NodeError, TableNode};
    use sardonyx_storage::log::LogError;

    /// A node, closely or loosely coupled.
    struct OfNode<N>(N);

    impl<N> Debug for OfNode<N> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("OfNode").finish_non_exhaustive()
        }
    }

    /// The end of a transaction that does not commit.
    enum End {
        Undone,
        Node(NodeError),
    }

    impl From<NodeError> for End {
        fn from(error: NodeError) -> Self {
            End::Node(error)
        }
    }

    /// This thread runs a transaction.
    struct Running;

    impl Running {
        fn begin() -> Result<Running, Error> {
            match RUNS.replace(true) {
                true => Err(LogError::Nested.into()),
                false => Ok(Running),
            }
        }
    }

    impl Drop for Running {
        fn drop(&mut self) {
            RUNS.set(false);
        }
    }

    impl<N: TableNode + Send + Sync> NodeStore for OfNode<N> {
        fn run(&self, act: &mut dyn FnMut(&mut dyn WriteTarget) -> bool) -> Result<bool, Error> {
            let _running = Running::begin()?;
            let mut ran = false;
            let done = self.0.run(|tx| {
                if ran {
                    // A deadlock's victim.
                    return Err(End::Node(NodeError::Deadlock));
                }
                let mut tables = tx.tables()?;
                ran = true;
                match act(&mut tables) {
                    true => Ok(()),
                    false => Err(End::Undone),
                }
            });
            match done {
                Ok(()) => Ok(true),
                Err(End::Undone) => Ok(false),
                Err(End::Node(error)) => Err(error.into()),
            }
        }

        fn check_runs(&self) -> Result<(), Error> {
            Ok(self.0.check_runs()?)
        }

        fn compute_defaults_by(&self, computes: Arc<dyn ComputeDefaults>) {
            self.0.compute_defaults_by(computes);
        }
    }

    pub(crate) fn store_of(node: impl TableNode + Send + Sync + 'static) -> Arc<dyn NodeStore> {
        Arc::new(OfNode(node))
    }
}

#[cfg(feature = "nodes")]
pub(crate) use of_node::store_of;
