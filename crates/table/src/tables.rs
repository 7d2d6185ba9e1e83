//! The states of all tables, by number; which of them may have changed since the last snapshot, their references, and the
//! names of their indexes.
//!
//! Whatever changes a state gets it by [`Tables::get_mut`], which notes it. So a snapshot looks at the noted ones only,
//! and its time does not grow with the number of tables.

use crate::index_names::IndexNames;
use crate::references::References;
use crate::table::TableState;
use std::ops::Deref;

/// The states of all tables; `None` for journals, areas and what was dropped.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    all: Vec<Option<TableState>>,
    is_touched: Vec<bool>,
    touched: Vec<u16>,
    references: References,
    index_names: IndexNames,
}

impl Tables {
    pub fn new(all: Vec<Option<TableState>>) -> Self {
        let mut tables = Tables::default();
        all.into_iter().for_each(|state| tables.push(state));
        for number in 0..tables.len() as u16 {
            tables.note_references(number);
        }
        tables
    }

    /// The place of a table, to be changed.
    #[inline]
    pub fn get_mut(&mut self, table: u16) -> Option<&mut Option<TableState>> {
        let place = usize::from(table);
        let is_touched = self.is_touched.get_mut(place)?;
        if !*is_touched {
            *is_touched = true;
            self.touched.push(table);
        }
        self.all.get_mut(place)
    }

    /// A table, to be changed.
    #[inline]
    pub fn state_mut(&mut self, table: u16) -> Option<&mut TableState> {
        self.get_mut(table)?.as_mut()
    }

    pub fn push(&mut self, state: Option<TableState>) {
        self.touched.push(self.all.len() as u16);
        self.is_touched.push(true);
        self.all.push(state);
    }

    /// Removes the last one.
    pub fn pop(&mut self) -> Option<TableState> {
        let state = self.all.pop()?;
        self.references.set(self.all.len() as u16, None);
        self.index_names.set(self.all.len() as u16, None);
        if self.is_touched.pop() == Some(true) {
            let last = self.all.len() as u16;
            self.touched.retain(|table| *table != last);
        }
        state
    }

    /// The tables that may have changed since this was last called.
    pub fn take_touched(&mut self) -> Vec<u16> {
        let touched = std::mem::take(&mut self.touched);
        for table in &touched {
            self.is_touched[usize::from(*table)] = false;
        }
        touched
    }

    /// The references between the tables.
    pub fn references(&self) -> &References {
        &self.references
    }

    /// Finds the table of an index by its name alone.
    pub fn index_names(&self) -> &IndexNames {
        &self.index_names
    }

    /// Updates the notes of a table whose state or schema has changed. It notes its kinds of checks, its generated
    /// columns and the names of its indexes. For tables to which it refers, or did, it notes that others refer to them.
    pub fn note_references(&mut self, table: u16) {
        let state = self.all.get(usize::from(table)).and_then(Option::as_ref);
        let schema = state.map(|state| &*state.schema);
        self.index_names.set(table, schema);
        let mut changed = self.references.set(table, schema);
        if let Some(state) = self.state_mut(table) {
            let schema = &state.schema;
            state.is_checked = !schema.foreign_keys.is_empty()
                || !schema.checks.is_empty()
                || schema.indexes.iter().any(|index| index.deferrable);
            state.is_declared = !schema.declared.is_empty();
            let mut declared = schema.declared.iter();
            state.is_generated = declared.any(|there| there.generated().is_some());
        }
        changed.push(table);
        for of in changed {
            let is_referenced = !self.references.to(of).is_empty();
            if let Some(state) = self.state_mut(of) {
                state.is_referenced = is_referenced;
            }
        }
    }
}

impl Deref for Tables {
    type Target = [Option<TableState>];

    #[inline]
    fn deref(&self) -> &[Option<TableState>] {
        &self.all
    }
}

impl<'t> IntoIterator for &'t Tables {
    type Item = &'t Option<TableState>;
    type IntoIter = std::slice::Iter<'t, Option<TableState>>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}
