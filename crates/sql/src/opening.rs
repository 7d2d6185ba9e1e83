//! Opening of a database for SQL by programs.

use crate::checks::enforce_checks;
use crate::database::Database;
use crate::declared::{drop_unused, tell_all};
use crate::defaults::Computing;
use crate::error::SqlError;
use sardonyx::Tables;
use std::sync::Arc;

impl Database {
    /// Speaks SQL to these tables. A table of SQL's own is created where absent: `sql.objects`. From then on conditions of
    /// tables that are written in SQL are tested in this process, and defaults in SQL are computed, for rows of every program.
    ///
    /// Temporary tables that are there are of sessions that ended, and are dropped: so a program has one database over the
    /// same tables at a time.
    ///
    /// # Errors
    /// An error of the engine; `XX001` if that table cannot be read.
    pub fn new(tables: Arc<Tables>) -> Result<Arc<Database>, SqlError> {
        enforce_checks();
        let database = Database::over(tables.clone())?;
        drop_unused(&tables)?;
        tell_all(&tables)?;
        let computing = Arc::new(Computing::of(&database));
        tables.read(|view| {
            view.compute_defaults_by(computing);
            Ok(())
        })?;
        Ok(database)
    }

    /// Speaks SQL to the tables of a node, closely or loosely coupled, as [`Database::new`] does to those in main memory.
    /// Sessions of several nodes on one database, in whichever processes, are serializable together.
    ///
    /// # Errors
    /// The node's.
    #[cfg(feature = "nodes")]
    pub fn of_node(
        node: impl sardonyx::nodes::TableNode + Send + Sync + 'static,
    ) -> Result<Arc<Database>, SqlError> {
        enforce_checks();
        let node = crate::store::store_of(node);
        let database = Database::over_node(node.clone())?;
        node.compute_defaults_by(Arc::new(Computing::of(&database)));
        Ok(database)
    }
}
