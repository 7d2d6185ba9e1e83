//! The states of the tables in which commands run: a transaction, and the state committed before a long one.
//!
//! Invariant: reading in a snapshot writes nothing, in the tables or beside them, that a transaction reads.

use super::layouts::KeyLayout;
use super::places::{Place, Places};
use super::{Data, Room, engine};
use crate::command::Command;
use crate::command::line::Line;
use crate::failure::Failure;
use crate::reply::Reply;
use sardonyx::Transaction;
use sardonyx::low_level::{Address, FixedRow};
use sardonyx::rows::{ReadRows, SpaceSnapshot};
use sardonyx::schema::Schema;
use sardonyx_rows::WriteRows;
use std::sync::Arc;

/// A state of the tables.
pub(crate) trait State: ReadRows + Sized {
    /// Runs a command in it.
    ///
    /// # Errors
    /// The command's; that it is none for this state.
    fn run(data: &mut Data<'_, Self>, command: &Command, line: &Line) -> Result<Reply, Failure>;

    /// Serves clients that wait for new elements. Their answers take room of their own.
    ///
    /// # Errors
    /// The failure, after which the transaction must be undone.
    fn serve<'t>(data: &mut Data<'t, Self>, room: &'t Room) -> Result<(), Failure>;

    /// The row of a table of keys with this key, of this hash, if it is known.
    ///
    /// # Errors
    /// The row cannot be read.
    fn key_row(
        &self,
        table: u16,
        hash: Option<u64>,
        key: &[u8],
    ) -> Result<Option<Self::Row<'_>>, Failure>;

    /// The row of a table at a hint's address, whichever row it is now; `None` without a hint.
    ///
    /// # Errors
    /// The row cannot be read.
    fn hinted(
        &self,
        places: &Places,
        place: Place,
        table: u16,
    ) -> Result<Option<Self::Row<'_>>, Failure>;

    /// As [`State::key_row`], of a hash that is known, by the places of the columns. [`None`] if that is not known in this
    /// way.
    #[inline]
    fn fixed_key(
        &self,
        _table: u16,
        _hash: u64,
        _key: &[u8],
        _layout: &KeyLayout,
    ) -> Option<Option<FixedRow<'_>>> {
        None
    }

    /// As [`State::hinted`], by the places of a schema's columns. [`None`] if that is not known in this way.
    #[inline]
    fn fixed_hinted(
        &self,
        _places: &Places,
        _place: Place,
        _table: u16,
        _schema: &Arc<Schema>,
    ) -> Option<Option<FixedRow<'_>>> {
        None
    }

    /// Notes where a row of a table was found.
    fn note(&self, places: &Places, place: Place, table: u16, at: Option<Address>);

    /// The number of its changes: of rows, of entries of indexes, and of their pages.
    fn changes(&self) -> usize;
}

/// Keys in a transaction.
pub(crate) type Live<'t, 'a> = Data<'t, Transaction<'a>>;

impl State for Transaction<'_> {
    #[inline]
    fn run(data: &mut Data<'_, Self>, command: &Command, line: &Line) -> Result<Reply, Failure> {
        match command.run {
            Some(run) => run(data, line),
            None => Err(Failure::Told("ERR the command is not one on data")),
        }
    }

    fn serve<'t>(data: &mut Data<'t, Self>, room: &'t Room) -> Result<(), Failure> {
        crate::blocking::serve(data, room)
    }

    #[inline]
    fn key_row(
        &self,
        table: u16,
        hash: Option<u64>,
        key: &[u8],
    ) -> Result<Option<Self::Row<'_>>, Failure> {
        match hash {
            Some(hash) => Ok(self.row_by_hash(table, hash, key)?),
            None => Ok(self.row_by_key(table, key)?),
        }
    }

    #[inline]
    fn hinted(
        &self,
        places: &Places,
        place: Place,
        table: u16,
    ) -> Result<Option<Self::Row<'_>>, Failure> {
        match places.hint(place) {
            Some(at) => engine(self.row_at(table, at)),
            None => Ok(None),
        }
    }

    #[inline]
    fn fixed_key(
        &self,
        table: u16,
        hash: u64,
        key: &[u8],
        layout: &KeyLayout,
    ) -> Option<Option<FixedRow<'_>>> {
        self.fixed_by_hash((table, &layout.schema), hash, (key, layout.key))
    }

    #[inline]
    fn fixed_hinted(
        &self,
        places: &Places,
        place: Place,
        table: u16,
        schema: &Arc<Schema>,
    ) -> Option<Option<FixedRow<'_>>> {
        match places.hint(place) {
            Some(at) => self.fixed_at((table, schema), at),
            None => Some(None),
        }
    }

    #[inline]
    fn note(&self, places: &Places, place: Place, table: u16, at: Option<Address>) {
        if let Some(at) = at {
            places.note(place, at);
            places.suffice_for(|| self.count_rows(table).unwrap_or(0));
        }
    }

    #[inline]
    fn changes(&self) -> usize {
        Transaction::changes(self)
    }
}

/// Hints give the present addresses of rows.
impl State for &SpaceSnapshot {
    fn run(data: &mut Data<'_, Self>, command: &Command, line: &Line) -> Result<Reply, Failure> {
        match command.beside {
            Some(run) => run(data, line),
            None => Err(Failure::Told("ERR the command does not only read")),
        }
    }

    fn serve<'t>(_: &mut Data<'t, Self>, _: &'t Room) -> Result<(), Failure> {
        Ok(())
    }

    fn key_row(
        &self,
        table: u16,
        _: Option<u64>,
        key: &[u8],
    ) -> Result<Option<Self::Row<'_>>, Failure> {
        Ok(self.row_by_key(table, key)?)
    }

    fn hinted(&self, _: &Places, _: Place, _: u16) -> Result<Option<Self::Row<'_>>, Failure> {
        Ok(None)
    }

    fn note(&self, _: &Places, _: Place, _: u16, _: Option<Address>) {}

    fn changes(&self) -> usize {
        0
    }
}
