//! The numbers and names of tables, views, sequences and indexes, for statements with values of type `regclass`.

use crate::error::SqlError;
use crate::names::quoted;
use crate::path::{kept, local, written_whole};
use crate::search_path::SearchPath;
use std::collections::HashMap;

/// The numbers of relations, by the names under which they are kept, and back.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableNames {
    numbers: HashMap<String, u32>,
    names: HashMap<u32, String>,
}

impl TableNames {
    /// Adds a relation, unless the name is known.
    pub fn add(&mut self, kept: String, number: u32) {
        if !self.numbers.contains_key(&kept) {
            self.names.insert(number, kept.clone());
            self.numbers.insert(kept, number);
        }
    }

    /// Adds a table of the catalogue.
    pub fn add_of_catalogue(&mut self, schema: &str, name: &str, number: u32) {
        self.add(kept(schema, name), number);
    }

    /// The number of the relation that a text names.
    ///
    /// # Errors
    /// `42602` for a text that is no name.
    pub fn number(&self, path: &SearchPath, text: &str) -> Result<Option<u32>, SqlError> {
        let found = path.find_in(text, |kept| self.numbers.contains_key(kept))?;
        Ok(found.and_then(|kept| self.numbers.get(&kept)).copied())
    }

    /// A relation's name in SQL: with its schema, if the name alone finds another one.
    pub fn name(&self, path: &SearchPath, number: u32) -> Option<String> {
        let kept = self.names.get(&number)?;
        Some(match self.finds(path, kept) {
            true => quoted(local(kept)),
            false => written_whole(kept),
        })
    }

    /// True if a relation is found by its unqualified name; none without a relation of the number.
    pub fn is_visible(&self, path: &SearchPath, number: u32) -> Option<bool> {
        let kept = self.names.get(&number)?;
        Some(self.finds(path, kept))
    }

    fn finds(&self, path: &SearchPath, kept: &str) -> bool {
        let found = path.find_local(local(kept), |kept| self.numbers.contains_key(kept));
        found.as_deref() == Some(kept)
    }
}
