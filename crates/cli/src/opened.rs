//! A database that a verb uses by SQL: tables in main memory, or those of a node, which may be one of several.

use crate::nodes::NodeOption;
use crate::store::{Held, StoreOption};
use sardonyx::hosts::Term;
use sardonyx::{Options, Tables};
use sardonyx_command::directories::Directories;
use sardonyx_command::exit::UsageError;
use sardonyx_sql::{Database, FollowOptions};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The first of the given options that applies only to tables in main memory.
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
    /// The term by which a verb keeps hosts from taking over.
    term: Option<Arc<Term>>,
    /// The nodes' shared memory, dropped after the node.
    _nodes: Option<Box<dyn Any>>,
}

impl Opened {
    /// Tables in main memory.
    ///
    /// # Errors
    /// The tables cannot be used by SQL.
    pub fn of_tables(held: Held) -> anyhow::Result<Opened> {
        let (tables, term) = held.into_parts();
        let tables = Arc::new(tables);
        Ok(Opened {
            database: Database::new(tables.clone())?,
            tables: Some(tables),
            term: term.map(Arc::new),
            _nodes: None,
        })
    }

    /// Tables that another program has open, for reading. `of_writer`: a given option that applies only to that
    /// program.
    ///
    /// # Errors
    /// Such an option is given; the tables cannot be followed.
    pub fn following(
        path: &Path,
        of_writer: Option<&'static str>,
        node: &NodeOption,
    ) -> anyhow::Result<Opened> {
        if let Some(option) = of_writer {
            let text = format!("{option} is of the writer: leave it out with --follow");
            return Err(UsageError::Arguments(text).into());
        }
        node.refuse("--follow")?;
        let follower = Arc::new(Options::new().follow_tables(path)?);
        Ok(Opened {
            database: Database::follow(follower, FollowOptions::default()),
            tables: None,
            term: None,
            _nodes: None,
        })
    }

    /// A node's database.
    #[cfg_attr(not(feature = "nodes"), allow(dead_code))]
    pub fn of_node(database: Arc<Database>, nodes: Box<dyn Any>) -> Opened {
        Opened {
            database,
            tables: None,
            term: None,
            _nodes: Some(nodes),
        }
    }

    pub fn database(&self) -> &Arc<Database> {
        &self.database
    }

    /// The tables in main memory, if they are this process' own.
    pub fn tables(&self) -> Option<&Arc<Tables>> {
        self.tables.as_ref()
    }

    /// The term of this process, if it is a verb's and the log is in a store.
    pub fn term(&self) -> Option<&Arc<Term>> {
        self.term.as_ref()
    }

    /// Closes it at the end of a host's term, and lets another host serve as soon as that can; this host serves again
    /// only if no other one comes, if the term goes `to_others`.
    ///
    /// # Errors
    /// As [`Opened::close`].
    pub fn close_term(self, term: Term, to_others: bool) -> anyhow::Result<()> {
        drop(self.database);
        match (self.tables, to_others) {
            (Some(tables), false) => term.close(&tables)?,
            (Some(tables), true) => term.close_to_others(&tables)?,
            (None, false) => term.release(),
            (None, true) => term.release_to_others(),
        }
        Ok(())
    }

    /// Closes it: everything is durable.
    ///
    /// # Errors
    /// The engine's.
    pub fn close(self) -> anyhow::Result<()> {
        drop(self.database);
        let closed = self.tables.map_or(Ok(()), |tables| tables.close());
        if let Some(term) = self.term.and_then(Arc::into_inner) {
            term.release();
        }
        Ok(closed?)
    }
}
