//! An index that is built beside those of its table. Any number of transactions build it, and one then adds it to the
//! table. Before that, readers and writers of the table do not see it. It is not logged, as no index is.
//!
//! Its tree has the rows of a snapshot: first those of the one that it is filled from, in sorted runs
//! ([`IndexRun`](crate::IndexRun)). Rows that have changed until a later snapshot are removed, and inserted with that
//! one's keys. The transaction that adds it to the table applies the last changes, up to the current rows.
//!
//! Invariant: entries are compared by rows of a snapshot, or of now, in which every entry's row has the key that it
//! was inserted with. So the rows that changed between two states are all removed, by the earlier one. Only then the
//! first of them is inserted, by the later one.

use super::Transaction;
use crate::IndexRun;
use crate::made_beside::MadeIndex;
use crate::secondary::{RowKeys, Secondary, What, ensure_room};
use crate::snapshot::SpaceSnapshot;
use crate::space::TableSpace;
use crate::undo::Step;
use sardonyx_base::error::Error;
use sardonyx_rows::key::{KeyBytes, KeyShape};
use sardonyx_rows::schema::{IndexDefinition, Schema};
use sardonyx_rows::{Conflict, ConflictWith, TableError};
use sardonyx_storage::page::Address;
use sardonyx_storage::store::{PageRead, SnapshotEnded};
use std::sync::Arc;

/// An index of a table that is being built. Dropping this handle abandons it.
#[derive(Debug)]
pub struct IndexBeside {
    table: u16,
    /// The life of the table.
    life: u32,
    /// The table's schema when this began.
    schema: Arc<Schema>,
    /// The definition of the index, without entries.
    index: Secondary,
    owner: Arc<()>,
}

/// Rows whose keys in an index have changed.
#[derive(Debug)]
pub struct IndexChanges {
    /// Rows that were there.
    pub gone: Vec<Address>,
    /// Rows that are inserted.
    pub come: Vec<Address>,
}

/// The same during the search.
pub(crate) struct Noting<'n> {
    of: &'n IndexBeside,
    most: usize,
    changes: IndexChanges,
}

impl IndexBeside {
    /// The number of the table whose rows its entries have.
    #[inline]
    pub fn table(&self) -> u16 {
        self.table
    }

    #[inline]
    pub(crate) fn index(&self) -> &Secondary {
        &self.index
    }

    /// No changes, of at most so many rows.
    #[inline]
    pub(crate) fn no_changes(&self, most: usize) -> Noting<'_> {
        Noting {
            of: self,
            most,
            changes: IndexChanges {
                gone: Vec::new(),
                come: Vec::new(),
            },
        }
    }

    #[cold]
    fn conflict(&self, with: ConflictWith) -> TableError {
        let table = format!("number {}", self.table);
        TableError::Conflict(Box::new(Conflict::new(table, with)))
    }
}

impl Noting<'_> {
    /// Notes a row of before and of now, in the pages of each state. Returns the number of addresses noted for it.
    pub fn note<A: PageRead + ?Sized, B: PageRead + ?Sized>(
        &mut self,
        was: Option<(&A, Address)>,
        is: Option<(&B, Address)>,
    ) -> Result<usize, TableError>
    where
        TableError: From<A::Error> + From<B::Error>,
    {
        let shape = &self.of.index.what.shape;
        if let (Some((before, was)), Some((after, is))) = (was, is) {
            let (mut one, mut other) = (KeyBytes::default(), KeyBytes::default());
            shape.of_row(before, was, &mut one)?;
            shape.of_row(after, is, &mut other)?;
            if was == is && *one == *other {
                return Ok(0);
            }
        }
        let more = usize::from(was.is_some()) + usize::from(is.is_some());
        let IndexChanges { gone, come } = &mut self.changes;
        gone.extend(was.map(|(_, at)| at));
        come.extend(is.map(|(_, at)| at));
        match gone.len() + come.len() <= self.most {
            true => Ok(more),
            false => Err(self.of.conflict(ConflictWith::Scan)),
        }
    }

    #[inline]
    pub fn done(self) -> IndexChanges {
        self.changes
    }
}

impl Transaction<'_> {
    /// Begins to build an index of a table, which has no rows yet.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such table, or it cannot have the index. Nothing is changed then.
    #[doc(hidden)]
    #[inline]
    pub fn begin_index_beside(
        &mut self,
        table: u16,
        definition: IndexDefinition,
    ) -> Result<IndexBeside, Error> {
        self.forget_indexes_beside();
        let state = self.row_state(table)?;
        let mut with_it = (*state.schema).clone();
        with_it.indexes.push(definition.clone());
        with_it.check().map_err(|source| TableError::Schema {
            table: state.name.to_string(),
            source: Box::new(source),
        })?;
        let shape = KeyShape::new(&with_it, &definition);
        let index = Secondary::new(What { definition, shape });
        let (life, schema) = (state.life, Arc::clone(&state.schema));
        let owner = Arc::new(());
        self.space.made_indexes.push(MadeIndex {
            owner: Arc::downgrade(&owner),
            index: index.clone(),
        });
        Ok(IndexBeside {
            table,
            life,
            schema,
            index,
            owner,
        })
    }

    /// Inserts rows of a run, from one on and at most so many, into an index. They are of the snapshot that it is
    /// filled from, and rows of the first run are inserted from the first to the last. Returns their number.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if it is unique, and another run had a row with the same key; [`Error::Conflict`] if the
    /// table was changed other than its rows; [`Error::Full`]; an error if the snapshot was ended. The index is
    /// unusable then.
    #[doc(hidden)]
    #[inline]
    pub fn load_index_beside(
        &mut self,
        beside: &IndexBeside,
        snapshot: &SpaceSnapshot,
        (run, from, most): (&IndexRun, usize, usize),
    ) -> Result<usize, Error> {
        let entries = run.entries.get(from..).unwrap_or_default();
        let entries = &entries[..entries.len().min(most)];
        if !run.is_first {
            let rows = entries.iter().map(|entry| entry.address);
            self.index_beside(beside, snapshot, rows)?;
            return Ok(entries.len());
        }
        let made = self.made_index(beside)?;
        let TableSpace {
            indexes,
            made_indexes,
            ..
        } = &mut *self.space;
        let index = &mut made_indexes[made].index;
        let keys = RowKeys {
            shape: &index.what.shape,
            rows: &*snapshot.rows,
        };
        let loaded = index.tree.append(indexes, &keys, entries);
        loaded.map_err(TableError::from)?;
        // Their keys are those of the snapshot's rows.
        check_read(snapshot)?;
        Ok(entries.len())
    }

    /// Puts rows of a snapshot into an index.
    ///
    /// # Errors
    /// As [`Transaction::load_index_beside`].
    #[doc(hidden)]
    pub fn index_beside(
        &mut self,
        beside: &IndexBeside,
        snapshot: &SpaceSnapshot,
        rows: impl IntoIterator<Item = Address>,
    ) -> Result<(), Error> {
        let made = self.made_index(beside)?;
        let TableSpace {
            indexes,
            made_indexes,
            tables,
            ..
        } = &mut *self.space;
        let (index, state) = (
            &mut made_indexes[made].index,
            &tables[beside.table as usize],
        );
        let name = || {
            state
                .as_ref()
                .map_or_else(String::new, |state| state.name.to_string())
        };
        for row in rows {
            index.insert(indexes, &*snapshot.rows, row, &name)?;
        }
        check_read(snapshot)
    }

    /// Takes rows of a snapshot out of an index.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the table has changed but for its rows, or the index does not have a row; that the snapshot was
    /// ended. The index is not to be used any more then.
    #[doc(hidden)]
    #[inline]
    pub fn unindex_beside(
        &mut self,
        beside: &IndexBeside,
        snapshot: &SpaceSnapshot,
        rows: &[Address],
    ) -> Result<(), Error> {
        let made = self.made_index(beside)?;
        let TableSpace {
            indexes,
            made_indexes,
            ..
        } = &mut *self.space;
        let index = &mut made_indexes[made].index;
        for row in rows {
            if !index.take_out(indexes, &*snapshot.rows, *row)? {
                check_read(snapshot)?;
                return Err(beside.conflict(ConflictWith::Scan).into());
            }
        }
        check_read(snapshot)
    }

    /// Makes an index, which has the rows of a snapshot, one of its table. The schema with this index must be stored
    /// after it in the transaction; otherwise the index is dropped again.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the table was changed other than its rows, or more than `most` rows have changed since
    /// the snapshot; [`Error::Duplicate`] if the index is unique and rows have one key by now; [`Error::Full`]; an
    /// error if the snapshot was ended. The caller rolls the transaction back to before it then, or ends it.
    #[doc(hidden)]
    #[inline]
    pub fn take_index_over(
        &mut self,
        beside: IndexBeside,
        snapshot: &SpaceSnapshot,
        most: usize,
    ) -> Result<(), Error> {
        self.made_index(&beside)?;
        let mut changes = beside.no_changes(most);
        snapshot.changed_rows(beside.table, self.view(), |was, is| {
            let was = was.map(|row| (&*snapshot.rows, row.address()));
            let is = is.map(|row| (self.space.store.bytes(), row.address()));
            changes.note(was, is).map(drop)
        })?;
        let IndexChanges { gone, come } = changes.done();
        self.unindex_beside(&beside, snapshot, &gone)?;
        let made = self.made_index(&beside)?;
        let TableSpace {
            store,
            indexes,
            made_indexes,
            tables,
            undo,
            may_be_indexed,
            ..
        } = &mut *self.space;
        let state = tables.state_mut(beside.table);
        let state = state.ok_or_else(|| beside.conflict(ConflictWith::Schema))?;
        let index = &mut made_indexes[made].index;
        let name = || state.name.to_string();
        for row in come {
            index.insert(indexes, store.bytes(), row, &name)?;
        }
        ensure_room(indexes, undo.count_index_changes(1))?;
        let index = made_indexes.swap_remove(made).index;
        state.secondary.push(index);
        undo.push(Step::IndexCreated {
            table: beside.table,
        });
        *may_be_indexed = true;
        Ok(())
    }

    /// Gives back the memory of indexes that are not built any more.
    #[doc(hidden)]
    #[inline]
    pub fn forget_indexes_beside(&mut self) {
        let TableSpace {
            made_indexes,
            leaving,
            ..
        } = &mut *self.space;
        made_indexes.retain_mut(|made| {
            let is_built = made.owner.strong_count() > 0;
            if !is_built {
                leaving.push(std::mem::take(&mut made.index.tree));
            }
            is_built
        });
    }

    /// The number of an index among those that are being built.
    #[inline]
    fn made_index(&self, beside: &IndexBeside) -> Result<usize, TableError> {
        let state = self.row_state(beside.table)?;
        let is_table = state.life == beside.life && Arc::ptr_eq(&state.schema, &beside.schema);
        let owner = Arc::as_ptr(&beside.owner);
        let mut made = self.space.made_indexes.iter();
        let made = made.position(|made| made.owner.as_ptr() == owner);
        made.filter(|_| is_table)
            .ok_or_else(|| beside.conflict(ConflictWith::Schema))
    }
}

/// Values read from a snapshot are valid only if it was not ended.
#[inline]
fn check_read(snapshot: &SpaceSnapshot) -> Result<(), Error> {
    match snapshot.is_ended() {
        true => Err(TableError::SnapshotEnded(SnapshotEnded).into()),
        false => Ok(()),
    }
}
