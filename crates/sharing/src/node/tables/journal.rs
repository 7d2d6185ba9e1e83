//! Journals: rows that are only appended. They are in the log that all nodes share, in the order of the commits. Later
//! they are in its archive, as those of every way of running transactions.
//!
//! They are not in pages, one journal for each node, for two reasons. A row takes no lock, so appending never waits for
//! another transaction of any node. And one order holds over all nodes. (A program that wants a journal for each node
//! gives its rows the node's slot.)
//!
//! Rows are read from files ([`super::log_rows`]), without locks, in the state that was durable when reading began. A
//! loosely coupled node, which has no files, asks its page server for them.

use super::super::NodeError;
use super::super::running::{self, Runs};
use super::super::transaction::Transaction;
use super::catalogue::{self, Definition, differs};
use super::log_rows::JournalSource;
use super::view::View;
use sardonyx_rows::{JournalRow, TableError, check_name, definition_of_journal};
use sardonyx_storage::journal::JournalPosition;
use std::fmt;
use std::marker::PhantomData;

/// A handle of a journal; valid for the database that gave it.
pub struct NodeJournal<J> {
    number: u16,
    database: u64,
    of: PhantomData<fn() -> J>,
}

impl<J> NodeJournal<J> {
    /// Its number in the catalogue.
    pub fn number(self) -> u16 {
        self.number
    }

    /// Refuses a handle of another database.
    pub(super) fn check(self, database: u64) -> Result<(), NodeError> {
        let number = self.number;
        match self.database == database {
            true => Ok(()),
            false => Err(TableError::UnknownHandle { number }.into()),
        }
    }
}

impl<J> Clone for NodeJournal<J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J> Copy for NodeJournal<J> {}

impl<J> fmt::Debug for NodeJournal<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeJournal {}", self.number)
    }
}

/// The journal of a row type, made where absent.
pub(super) fn open_or_make<J: JournalRow>(node: &dyn Runs) -> Result<NodeJournal<J>, NodeError> {
    check_name(J::NAME)?;
    let declared = definition_of_journal::<J>();
    let row_bytes = declared.record_bytes;
    declared.check().map_err(TableError::from)?;
    let (number, database) = running::run(node, |tx| {
        let database = tx.database();
        let mut view = View::new(tx);
        let number = match catalogue::find(&view, J::NAME, database)? {
            Some(Definition::Journal {
                number,
                row_bytes: there,
            }) if there as usize == row_bytes => number,
            Some(Definition::Journal {
                row_bytes: there, ..
            }) => {
                let bytes = |bytes: usize| match bytes {
                    0 => "any length".to_string(),
                    bytes => format!("{bytes} bytes"),
                };
                let (there, program) = (bytes(there as usize), bytes(row_bytes));
                let text = format!("its rows have {there}, the program's {program}");
                return Err(differs(J::NAME, &text));
            }
            Some(_) => {
                return Err(differs(J::NAME, "there is a table of this name"));
            }
            None => catalogue::make_journal(&mut view, J::NAME, row_bytes as u32)?,
        };
        view.finish()?;
        tx.used.defined();
        Ok((number, database))
    })?;
    Ok(NodeJournal {
        number,
        database,
        of: PhantomData,
    })
}

impl Transaction<'_> {
    /// Appends a row to a journal. It locks nothing.
    ///
    /// # Errors
    /// [`NodeError::TransactionTooLarge`]; [`NodeError::Rows`] if the row is too long, or the handle is another database's.
    pub fn append<J: JournalRow>(
        &mut self,
        journal: &NodeJournal<J>,
        row: &J,
    ) -> Result<(), NodeError> {
        journal.check(self.database())?;
        let row = row.to_row().map_err(NodeError::from)?;
        self.append_row(journal.number, &row)
    }
}

/// Rows of a journal with their positions, oldest first: [`TableNode::journal_range`](super::TableNode::journal_range).
/// An error is returned once: it is the end. The rows are those that were durable when it was made.
pub struct NodeJournalRows<J> {
    rows: Option<Box<dyn JournalSource>>,
    of: PhantomData<fn() -> J>,
}

impl<J: JournalRow> NodeJournalRows<J> {
    pub(super) fn new(rows: Box<dyn JournalSource>) -> Self {
        NodeJournalRows {
            rows: Some(rows),
            of: PhantomData,
        }
    }

    fn read(&mut self) -> Result<Option<(JournalPosition, J)>, NodeError> {
        let Some(rows) = &mut self.rows else {
            return Ok(None);
        };
        let Some((position, bytes)) = rows.next_row()? else {
            self.rows = None;
            return Ok(None);
        };
        Ok(Some((position, J::from_row(&bytes)?)))
    }
}

impl<J: JournalRow> Iterator for NodeJournalRows<J> {
    type Item = Result<(JournalPosition, J), NodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.read();
        if row.is_err() {
            self.rows = None;
        }
        row.transpose()
    }
}

impl<J> fmt::Debug for NodeJournalRows<J> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeJournalRows").finish_non_exhaustive()
    }
}
