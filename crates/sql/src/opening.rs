//! Opening of a database for SQL by programs.

use crate::checks::enforce_checks;
use crate::database::Database;
use crate::declared::{drop_unused, tell_all};
use crate::defaults::Computing;
use crate::error::SqlError;
use sardonyx::Tables;
use std::sync::Arc;

impl Database {
    /// Speaks SQL to these tables. SQL's own table `sql.objects` is created if it does not exist. From then on this
    /// process tests conditions in SQL, and computes defaults in SQL, for rows of every program.
    ///
    /// Existing temporary tables belong to sessions that ended, and are dropped. So a program may have only one
    /// database over the same tables at a time.
    ///
    /// # Errors
    /// An error of the engine; `XX001` if that table cannot be read.
    pub fn new(tables: Arc<Tables>) -> Result<Arc<Database>, SqlError> {
        enforce_checks();
        crate::running::install();
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

    /// Speaks SQL to the tables of a node, closely or loosely coupled, as [`Database::new`] does to those in main
    /// memory. Sessions of several nodes on one database, in any processes, are serializable together.
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
