//! `SET CONSTRAINTS` in a transaction: the constraints that are checked at its end.

use crate::relation::ReferenceNotes;
use std::collections::BTreeMap;

/// `SET CONSTRAINTS` in a transaction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ConstraintModes {
    all: Option<bool>,
    /// By the constraints' names with their schemas.
    named: BTreeMap<String, bool>,
}

impl ConstraintModes {
    /// Notes the mode of the named constraints, or of all.
    pub fn set(&mut self, names: Option<Vec<String>>, is_deferred: bool) {
        match names {
            None => {
                self.named.clear();
                self.all = Some(is_deferred);
            }
            Some(names) => {
                let names = names.into_iter();
                self.named.extend(names.map(|name| (name, is_deferred)));
            }
        }
    }

    /// True if a constraint, named with its schema, is checked at the transaction's end only.
    pub fn is_deferred(&self, name: &str, notes: &ReferenceNotes) -> bool {
        let said = self.named.get(name).copied().or(self.all);
        notes.deferrable && said.unwrap_or(notes.deferred)
    }
}
