//! Ordered indexes in transactions: kept as rows come, change and go, created and dropped while they are in use.

use super::Transaction;
use crate::index::HashIndex;
use crate::index_builds::build_hashed;
use crate::index_store::IndexStore;
use crate::ordered_build::{Unfit, build_secondary};
use crate::secondary::{VacantKey, ensure_room, wanted};
use crate::space::TableSpace;
use crate::table::TableState;
use crate::undo::{HashedBefore, Step, Undo, chosen};
use sardonyx_base::error::Error;
use sardonyx_rows::constraints::{check_changed_row, check_schema, check_unreferenced};
use sardonyx_rows::schema::IndexDefinition;
use sardonyx_rows::{DefineRows, TableError};
use sardonyx_storage::page::Address;
use std::sync::Arc;

impl Transaction<'_> {
    /// Returns true if a change of a row needs more than its bytes: the table has ordered indexes, references from or to
    /// others, conditions, or kept changes.
    #[inline]
    pub(crate) fn has_ordered(&self, table: u16) -> bool {
        debug_assert!(self.space.may_be_indexed || !self.state(table).is_indexed());
        self.space.may_be_indexed && self.state(table).is_indexed()
    }

    /// Sets bytes of a row's fixed part, in a table that [has indexes or references](Self::has_ordered). Not
    /// inlined: the change of a field in a table without any is as short as can be.
    #[cold]
    #[inline(never)]
    pub(crate) fn set_indexed(
        &mut self,
        table: u16,
        at: Address,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), TableError> {
        self.keeping(table, at, |tx| tx.set_unkept(table, at, offset, bytes))
    }

    /// The same, whether changes are kept or not.
    #[inline]
    fn set_unkept(
        &mut self,
        table: u16,
        at: Address,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), TableError> {
        let touched = self.indexes_touched(table, offset, bytes.len());
        let state = self.state(table);
        if state.is_declared {
            let mut changed = self.row_there(table, at)?.fixed().to_vec();
            changed[offset..offset + bytes.len()].copy_from_slice(bytes);
            self.check_declared(table, &changed)?;
        }
        let change = |this: &mut Self| {
            if !bytes.is_empty() {
                this.write(Address(at.0 + offset as u64), bytes);
            }
        };
        let is_more = state.is_checked || state.is_referenced || state.is_generated;
        if touched == 0 && !is_more {
            change(self);
            return Ok(());
        }
        let schema = state.schema.clone();
        let changes = |column: usize| {
            let column = &schema.columns[column];
            offset < column.offset + column.kind.bytes() && column.offset < offset + bytes.len()
        };
        self.change_indexed(table, at, touched, &changes, change)
    }

    /// All ordered indexes of a table, as bits.
    pub(crate) fn all_indexes(&self, table: u16) -> u32 {
        u32::MAX.unbounded_shr(32 - self.state(table).secondary.len() as u32)
    }

    /// The ordered indexes in whose keys two versions of a row's fixed part differ, as bits. Text and bytes differ
    /// if their references do.
    pub(crate) fn indexes_that_differ(&self, table: u16, before: &[u8], after: &[u8]) -> u32 {
        let indexes = self.state(table).secondary.iter().enumerate();
        indexes.fold(0, |bits, (number, index)| {
            bits | u32::from(index.what.shape.differs(before, after)) << number
        })
    }

    /// The ordered indexes in whose keys bytes of a row's fixed part are, as bits.
    #[inline]
    pub(crate) fn indexes_touched(&self, table: u16, offset: usize, length: usize) -> u32 {
        let indexes = self.state(table).secondary.iter().enumerate();
        indexes.fold(0, |bits, (number, index)| {
            bits | u32::from(index.what.shape.touches(offset, length)) << number
        })
    }

    /// The ordered indexes whose keys have one of these columns, as bits.
    pub(crate) fn indexes_of_columns(&self, table: u16, is_set: impl Fn(usize) -> bool) -> u32 {
        let indexes = self.state(table).secondary.iter().enumerate();
        indexes.fold(0, |bits, (number, index)| {
            let key = &index.what.definition.key;
            bits | u32::from(key.iter().any(|part| is_set(part.column))) << number
        })
    }

    /// The ordered indexes whose keys have generated columns, as bits.
    fn indexes_of_generated(&self, table: u16) -> u32 {
        let state = self.state(table);
        if !state.is_generated {
            return 0;
        }
        self.indexes_of_columns(table, |column| {
            let declared = state.schema.declared(column);
            declared.is_some_and(|declared| declared.generated().is_some())
        })
    }

    /// Inserts an existing row, with its new bytes, into these of the table's ordered indexes.
    ///
    /// # Errors
    /// [`TableError::DuplicateValue`], [`TableError::KeyTooLong`], [`TableError::Store`]. Some indexes have the row then:
    /// the caller rolls back to a savepoint from before.
    #[inline(never)]
    pub(crate) fn index_row(
        &mut self,
        table: u16,
        address: Address,
        indexes: u32,
    ) -> Result<(), TableError> {
        if indexes == 0 {
            return Ok(());
        }
        let (rows, store, state, undo) = self.parts_to_index(table, indexes)?;
        let name = || state.name.to_string();
        for (number, index) in state.secondary.iter_mut().enumerate() {
            if indexes >> number & 1 == 0 {
                continue;
            }
            index.insert(store, rows, address, &name)?;
            undo.push(Step::Indexed {
                table,
                address,
                indexes: 1 << number,
            });
        }
        Ok(())
    }

    /// Inserts a new row into all ordered indexes of the table. `vacant` is the place of its key in the first one, if it
    /// was found before.
    ///
    /// # Errors
    /// The errors of [`Transaction::index_row`].
    #[inline]
    pub(super) fn index_new_row(
        &mut self,
        table: u16,
        address: Address,
        vacant: Option<&VacantKey>,
    ) -> Result<(), TableError> {
        let indexes = self.all_indexes(table);
        let Some(vacant) = vacant else {
            return self.index_row(table, address, indexes);
        };
        let (rows, store, state, undo) = self.parts_to_index(table, 1)?;
        state.secondary[0].insert_vacant(store, rows, vacant, address)?;
        undo.push(Step::Indexed {
            table,
            address,
            indexes: 1,
        });
        self.index_row(table, address, indexes & !1)
    }

    /// Removes an existing row, with its indexed bytes, from these of the table's ordered indexes.
    ///
    /// # Errors
    /// [`TableError::Store`] if there is no memory for undoing it; nothing has changed then.
    #[inline(never)]
    pub(crate) fn unindex_row(
        &mut self,
        table: u16,
        address: Address,
        indexes: u32,
    ) -> Result<(), TableError> {
        if indexes == 0 {
            return Ok(());
        }
        let (rows, store, state, undo) = self.parts_to_index(table, indexes)?;
        for index in chosen(&mut state.secondary, indexes) {
            index.remove(store, rows, address)?;
        }
        undo.push(Step::Unindexed {
            table,
            address,
            indexes,
        });
        Ok(())
    }

    /// Changes a row and its keys in these ordered indexes. `changes` returns true for the columns that change.
    ///
    /// # Errors
    /// The errors of [`Transaction::index_row`], [`TableError::Referenced`], [`TableError::NoSuchReference`]; nothing
    /// has changed then.
    #[inline(never)]
    pub(crate) fn change_indexed(
        &mut self,
        table: u16,
        address: Address,
        indexes: u32,
        changes: &dyn Fn(usize) -> bool,
        change: impl FnOnce(&mut Self),
    ) -> Result<(), TableError> {
        if self.state(table).is_referenced {
            check_unreferenced(self, table, address, changes)?;
        }
        // The key of an index can have columns that change, and others that are generated of them: the row is put in once both
        // are as they shall be.
        let indexes = indexes | self.indexes_of_generated(table);
        let point = self.undo_point();
        self.unindex_row(table, address, indexes)?;
        change(self);
        self.regenerate(table, address)
            .and_then(|()| self.index_row(table, address, indexes))
            .and_then(|()| match self.state(table).is_checked {
                true => check_changed_row(self, table, address, changes),
                false => Ok(()),
            })
            .inspect_err(|_| self.undo_to(point))
    }

    /// The parts that changing these indexes of a table needs: the rows, the memory of indexes, the table, and the
    /// steps to undo. The memory has room for the changes and for undoing them.
    fn parts_to_index(
        &mut self,
        table: u16,
        indexes: u32,
    ) -> Result<(&[u8], &mut IndexStore, &mut TableState, &mut Undo), TableError> {
        let TableSpace {
            store,
            tables,
            indexes: index_store,
            undo,
            ..
        } = &mut *self.space;
        ensure_room(index_store, undo.count_index_changes(indexes.count_ones()))?;
        let state = tables.state_mut(table).expect("it is a table");
        Ok((store.bytes(), index_store, state, undo))
    }

    /// Gives a table another index, built of its rows. The other indexes and their readers are not concerned.
    ///
    /// # Errors
    /// [`Error::Duplicate`] if it is unique and rows have one key; [`Error::Refused`] if the table cannot have it;
    /// [`Error::Limit`] if a key is too long, or there are too many indexes; [`Error::Full`]. Nothing has changed then.
    #[inline]
    pub fn create_index(&mut self, table: u16, definition: IndexDefinition) -> Result<(), Error> {
        DefineRows::create_index(self, table, definition)
    }

    /// Takes an index from a table.
    ///
    /// # Errors
    /// [`Error::Refused`] if there is no such index, or a reference needs it; [`Error::Limit`] if the transaction is too
    /// large. Nothing has changed then.
    #[inline]
    pub fn drop_index(&mut self, table: u16, name: &str) -> Result<(), Error> {
        DefineRows::drop_index(self, table, name)
    }

    /// Creates, renames and drops ordered indexes of a table until they are those of its schema, which has just changed. Only
    /// those whose keys are new are built.
    ///
    /// # Errors
    /// The errors of [`Transaction::create_index`]; the caller rolls back to a savepoint from before.
    pub(crate) fn match_indexes(&mut self, table: u16) -> Result<(), TableError> {
        let TableSpace {
            store,
            tables,
            indexes,
            leaving,
            catalogue,
            undo,
            workers,
            ..
        } = &mut *self.space;
        let state = tables.state_mut(table).expect("it is a table");
        let (was_hashed, key_before) = (state.is_hashed, state.hashed_key.clone());
        state.note_hashed();
        if (state.is_hashed, state.hashed_key.is_some()) != (was_hashed, key_before.is_some()) {
            let definition = &catalogue.definitions[usize::from(table)];
            let built = match state.is_hashed {
                true => build_hashed(store.bytes(), definition, state, indexes, *workers)?,
                false => HashIndex::new(),
            };
            let before = HashedBefore {
                index: std::mem::replace(&mut state.index, built),
                is_hashed: was_hashed,
                key: key_before,
            };
            undo.push_hash(table, before);
        }
        let mut wanted = wanted(&state.schema, state.is_hashed);
        let is_kept: Vec<bool> = (state.secondary.iter())
            .map(|there| {
                let at = wanted.iter().position(|what| *what == *there.what);
                at.map(|at| wanted.remove(at)).is_some()
            })
            .collect();
        for number in (0..state.secondary.len()).rev() {
            if is_kept[number] {
                continue;
            }
            let there = &mut state.secondary[number];
            match wanted.iter().position(|what| what.renames(&there.what)) {
                Some(at) => {
                    let renamed = Arc::new(wanted.remove(at));
                    let before = std::mem::replace(&mut there.what, renamed);
                    undo.push_renamed(table, number as u8, before);
                }
                None => {
                    let index = state.secondary.remove(number);
                    undo.push_index(table, number as u8, index);
                }
            }
        }
        if !wanted.is_empty() {
            // To build takes as many steps as to give this back.
            leaving.give_all_back(indexes);
        }
        for what in wanted {
            let (name, shape) = (what.definition.name.clone(), what.shape.clone());
            let built = build_secondary(indexes, store.bytes(), state, what, *workers);
            let index = built.map_err(|unfit| {
                let table = catalogue.definitions[usize::from(table)].name.clone();
                match unfit {
                    Unfit::Duplicate(row) => TableError::DuplicateValue {
                        table,
                        index: name,
                        key: shape.describe(store.bytes(), row),
                        values: shape.values_of_row(store.bytes(), row).into(),
                    },
                    Unfit::Key(bytes) => TableError::KeyTooLong {
                        table,
                        index: name,
                        bytes,
                    },
                    Unfit::Table(error) => error,
                }
            })?;
            state.secondary.push(index);
            undo.push(Step::IndexCreated { table });
        }
        self.space.note_indexed(table);
        check_schema(self, table)
    }

    /// Gives back the memory of indexes that the transaction dropped, at its end.
    #[cold]
    pub(super) fn free_dropped_indexes(&mut self) {
        while let Some(index) = self.space.undo.dropped_index() {
            self.space.leaving.push(index.tree);
        }
        while let Some(mut index) = self.space.undo.replaced_hash() {
            index.clear(&mut self.space.indexes);
        }
    }

    /// Gives back some memory of indexes that no table has any more.
    #[cold]
    pub(super) fn free_leaving(&mut self) {
        let TableSpace {
            indexes, leaving, ..
        } = &mut *self.space;
        leaving.step(indexes);
    }
}
