//! The operations of a node on tables and journals, of any coupling: they are opened by name, examined, read.

use super::super::NodeError;
use super::super::running::{self, Runs};
use super::super::transaction::Transaction;
use super::check::{self, PagesInUse};
use super::dropping;
use super::handle;
use super::journal::{self, NodeJournal, NodeJournalRows};
use super::known::Tables;
use super::store::NodeTables;
use super::view::View;
use sardonyx_rows::constraints::ComputeDefaults;
use sardonyx_rows::schema::IntoSchema;
use sardonyx_rows::{JournalRow, Record, Table, record_schema};
use sardonyx_storage::journal::JournalPosition;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The runner of a node's transactions; opaque to others.
#[derive(Debug)]
pub struct Seated<'a>(pub(in crate::node) &'a dyn Runs);

/// A node that runs transactions; only nodes of this crate are that.
pub trait Seat {
    /// The runner.
    #[doc(hidden)]
    fn member(&self) -> Seated<'_>;
}

/// A node with tables, closely coupled ([`Node`](crate::node::Node)) or loosely
/// ([`LooseNode`](crate::node::loose::LooseNode)). A handle is good at every node of the database that gave it.
pub trait TableNode: Seat {
    /// Runs a transaction: as [`Node::run`](crate::node::Node::run) and
    /// [`LooseNode::run`](crate::node::loose::LooseNode::run).
    ///
    /// # Errors
    /// As those.
    fn run<R, E: From<NodeError>>(
        &self,
        work: impl FnMut(&mut Transaction<'_>) -> Result<R, E>,
    ) -> Result<R, E> {
        running::run(self.member().0, work)
    }

    /// As [`Node::check`](crate::node::Node::check), of any coupling, and without waiting for what is in doubt, or for pages.
    ///
    /// # Errors
    /// Why it does not go on.
    #[doc(hidden)]
    fn check_runs(&self) -> Result<(), NodeError> {
        self.member().0.check_runs()
    }

    /// The table of this record type, made where absent. The type's fields are compared with the columns that the
    /// database has: by name and type, and those of plain records by place.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if the database has a table of this name with other columns, which the error names,
    /// or no table can have the type's; [`NodeError::PagesFull`]; those of [`TableNode::run`].
    fn table<R: Record>(&self) -> Result<Table<R>, NodeError> {
        let node = self.member().0;
        let info = match record_schema::<R>() {
            Some(schema) => handle::open_or_make(node, R::TABLE, schema)?,
            None => handle::open_or_make(node, R::TABLE, R::declared())?,
        };
        info.check::<R>()?;
        Ok(handle::handle_of(&info))
    }

    /// Makes a table with a schema that is known at run time, where absent, and says its number.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if no table can have the schema, or there is something else of this name;
    /// [`NodeError::PagesFull`]; those of [`TableNode::run`].
    fn create_table(&self, name: &str, schema: impl IntoSchema) -> Result<u16, NodeError> {
        running::run(self.member().0, |tx| {
            let mut tables = NodeTables::of(tx)?;
            tables.create_table(name, schema.clone())
        })
    }

    /// Drops a table. Returns false if there is none of this name. Transactions that use it are waited for. A later use
    /// of a handle of it returns [`NodeError::Dropped`], also if another table has its name. The pages go back in many
    /// small transactions, which the next drop goes on with if this process dies.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if it is a journal; [`NodeError::PagesFull`]: for a moment a page more is needed for each of
    /// the table's trees, so delete some rows; those of [`TableNode::run`].
    fn drop_table(&self, name: &str) -> Result<bool, NodeError> {
        dropping::drop_table(self.member().0, name)
    }

    /// The names of all tables.
    ///
    /// # Errors
    /// The errors of [`TableNode::run`].
    fn table_names(&self) -> Result<Vec<String>, NodeError> {
        running::run(self.member().0, |tx| {
            let mut names: Vec<_> = Tables::of(tx)?
                .all()
                .map(|info| info.format.table().to_string())
                .collect();
            names.sort_unstable();
            Ok(names)
        })
    }

    /// Has defaults in SQL computed so in this node's transactions: the program that speaks SQL says how.
    #[doc(hidden)]
    fn compute_defaults_by(&self, computes: Arc<dyn ComputeDefaults>) {
        self.member().0.known().compute_by(computes);
    }

    /// The journal of this row type, made where absent.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if there is something else of this name, or rows of another length; those of
    /// [`TableNode::run`].
    fn journal<J: JournalRow>(&self) -> Result<NodeJournal<J>, NodeError> {
        journal::open_or_make(self.member().0)
    }

    /// The rows of a journal at the positions of a range that are durable now: of all nodes, in the order of the
    /// commits. Reading delays no transaction.
    ///
    /// # Errors
    /// [`NodeError::Rows`] if the handle is another database's; [`NodeError::Journal`] if the database keeps no rows.
    /// While rows are read: damage, with file and offset, and that rows of the range were removed. On a loosely coupled
    /// node these are what its page server says ([`NodeError::Refused`]); and [`NodeError::Unreachable`].
    fn journal_range<J: JournalRow>(
        &self,
        journal: NodeJournal<J>,
        range: impl RangeBounds<JournalPosition>,
    ) -> Result<NodeJournalRows<J>, NodeError> {
        journal.check(self.member().0.database())?;
        let range = JournalPosition::half_open(range);
        let rows = self.member().0.journal_rows(journal.number(), range)?;
        Ok(NodeJournalRows::new(rows))
    }

    /// Checks all pages of all tables, and says what they are used for. For tests and for people with doubts: it
    /// reads, and locks, all of them.
    ///
    /// # Errors
    /// [`NodeError::DamagedPage`] or [`NodeError::Rows`] with the first thing that is not as it should be; those of
    /// [`TableNode::run`].
    fn check_tables(&self) -> Result<PagesInUse, NodeError> {
        running::run(self.member().0, |tx| check::check(&View::new(tx)))
    }
}

impl<N: Seat> TableNode for N {}
