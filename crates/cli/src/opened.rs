//! A database that a verb speaks SQL to: tables in main memory, or those of a node, which may be one of several.

use crate::store::StoreOption;
use sardonyx::Tables;
use sardonyx_command::directories::Directories;
use sardonyx_sql::Database;
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

/// The first option that is for tables in main memory alone, of those that are given.
pub fn of_tables_alone(
    moved: &Directories,
    store: &StoreOption,
    wait: Option<Duration>,
) -> Option<&'static str> {
    let options = [
        (moved.log_directory.is_some(), "--log-directory"),
        (moved.backup_directory.is_some(), "--backup-directory"),
        (!moved.stripe_directory.is_empty(), "--stripe-directory"),
        (store.is_named(), "--store"),
        (wait.is_some(), "--wait"),
    ];
    let found = options.into_iter().find(|(is_given, _)| *is_given);
    found.map(|(_, option)| option)
}

/// A database that was opened.
pub struct Opened {
    database: Arc<Database>,
    tables: Option<Arc<Tables>>,
    /// The nodes' shared memory, dropped after the node.
    _nodes: Option<Box<dyn Any>>,
}

impl Opened {
    /// Tables in main memory.
    ///
    /// # Errors
    /// The tables cannot be spoken to by SQL.
    pub fn of_tables(tables: Tables) -> anyhow::Result<Opened> {
        let tables = Arc::new(tables);
        Ok(Opened {
            database: Database::new(tables.clone())?,
            tables: Some(tables),
            _nodes: None,
        })
    }

    /// A node's.
    #[cfg_attr(not(feature = "nodes"), allow(dead_code))]
    pub fn of_node(database: Arc<Database>, nodes: Box<dyn Any>) -> Opened {
        Opened {
            database,
            tables: None,
            _nodes: Some(nodes),
        }
    }

    /// The database.
    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// Closes it: everything is durable.
    ///
    /// # Errors
    /// The engine's.
    pub fn close(self) -> anyhow::Result<()> {
        drop(self.database);
        match self.tables {
            Some(tables) => Ok(tables.close()?),
            None => Ok(()),
        }
    }
}
