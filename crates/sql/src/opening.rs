//! How programs open a database to speak SQL.

use crate::checks::enforce_checks;
use crate::database::Database;
use crate::error::SqlError;
use sardonyx::Tables;
use std::sync::Arc;

impl Database {
    /// Speaks SQL to these tables. A table of SQL's own is created where absent: `sql.objects`. From then on conditions of
    /// tables that are written in SQL are tested in this process, whoever writes the rows.
    ///
    /// # Errors
    /// What the engine says; `XX001` if that table cannot be read.
    pub fn new(tables: Arc<Tables>) -> Result<Arc<Database>, SqlError> {
        enforce_checks();
        Database::over(tables)
    }
}
