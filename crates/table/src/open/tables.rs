//! The tables of an open transaction, made as they are used.
//!
//! A transaction begins with a word for some tables together, so that its beginning costs no more with ten thousand.

use super::OpenTable;
use std::cell::OnceCell;

/// Tables that are made together.
const PART: usize = 16;

/// The transaction's part of each table, by number.
#[derive(Debug, Default)]
pub(super) struct OpenTables {
    parts: Vec<OnceCell<Box<[OpenTable; PART]>>>,
    len: usize,
}

impl OpenTables {
    /// So many tables, which are unused.
    #[inline]
    pub fn new(len: usize) -> Self {
        let mut tables = OpenTables::default();
        tables.resize(len);
        tables
    }

    /// Has so many: those behind are forgotten, new ones are unused.
    #[inline]
    pub fn resize(&mut self, len: usize) {
        self.parts.resize_with(len.div_ceil(PART), OnceCell::new);
        // The last part may have places behind the last table.
        for place in len..self.len.min(self.parts.len() * PART) {
            if let Some(part) = self.parts[place / PART].get_mut() {
                part[place % PART] = OpenTable::default();
            }
        }
        self.len = len;
    }

    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn get(&self, table: u16) -> Option<&OpenTable> {
        let place = usize::from(table);
        if place >= self.len {
            return None;
        }
        let part = self.parts.get(place / PART)?;
        Some(&part.get_or_init(Box::default)[place % PART])
    }

    #[inline]
    pub fn get_mut(&mut self, table: u16) -> Option<&mut OpenTable> {
        self.get(table)?;
        let place = usize::from(table);
        let part = self.parts.get_mut(place / PART)?.get_mut()?;
        part.get_mut(place % PART)
    }

    /// The tables that were used, and some beside them, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &OpenTable)> {
        let parts = self.parts.iter().enumerate();
        let parts = parts.filter_map(|(number, part)| Some((number * PART, part.get()?)));
        let tables = parts.flat_map(|(first, part)| (first..).zip(part.iter()));
        tables.map(|(number, table)| (number as u16, table))
    }
}
