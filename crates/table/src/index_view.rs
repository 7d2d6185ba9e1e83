//! Reading by ordered indexes, live or of a snapshot: [`TreeEntries`], from which an [`Index`] and its ranges are made as in
//! any store of rows.

mod entries;
mod many;

use crate::secondary::Secondary;
use crate::space::{TableSpace, View};
use crate::transaction::Transaction;
pub(crate) use entries::Origin;
pub use entries::TreeEntries;
use sardonyx_base::error::Error;
use sardonyx_rows::record::{Record, Table};
use sardonyx_rows::{Index, TableError};

impl<'a> View<'a> {
    /// An ordered index of a table: one of its schema's, or that of its primary key if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(
        &self,
        table: Table<R>,
        name: &str,
    ) -> Result<Index<TreeEntries<'a>, R>, Error> {
        Ok(Index::new(live(self.space(), table, name)?)?)
    }
}

impl Transaction<'_> {
    /// An ordered index of a table: one of its schema's, or that of its primary key if it is ordered.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or the handle is another database's.
    pub fn index<R: Record>(
        &self,
        table: Table<R>,
        name: &str,
    ) -> Result<Index<TreeEntries<'_>, R>, Error> {
        Ok(Index::new(live(&*self.space, table, name)?)?)
    }
}

/// The entries of an index of a live table.
fn live<'a, R: Record>(
    space: &'a TableSpace,
    table: Table<R>,
    name: &str,
) -> Result<TreeEntries<'a>, TableError> {
    let number = table.number();
    let state = space
        .state(table)
        .ok_or(TableError::UnknownHandle { number })?;
    Ok(TreeEntries {
        nodes: space.indexes.bytes(),
        rows: space.store.bytes(),
        index: named(&state.secondary, &state.name, name)?,
        schema: &state.schema,
        table: &state.name,
        origin: Origin {
            table: number,
            epoch: space.epoch,
        },
    })
}

/// A table's ordered index with this name.
#[inline]
pub(crate) fn named<'a>(
    indexes: &'a [Secondary],
    table: &str,
    name: &str,
) -> Result<&'a Secondary, TableError> {
    let mut indexes = indexes.iter();
    let index = indexes.find(|index| index.what.definition.name == name);
    index.ok_or_else(|| TableError::UnknownIndex {
        table: table.to_string(),
        index: name.to_string(),
    })
}
