//! `SET CONSTRAINTS` in a transaction: the constraints that are checked at its end.

use crate::parse::SetConstraints;
use crate::relation::ReferenceNotes;
use std::collections::BTreeMap;

/// `SET CONSTRAINTS` in a transaction.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ConstraintModes {
    all: Option<bool>,
    named: BTreeMap<String, bool>,
}

impl ConstraintModes {
    /// Notes the modes of a statement.
    pub fn set(&mut self, command: &SetConstraints) {
        match &command.names {
            None => {
                self.named.clear();
                self.all = Some(command.is_deferred);
            }
            Some(names) => {
                let names = names.iter().cloned();
                self.named
                    .extend(names.map(|name| (name, command.is_deferred)));
            }
        }
    }

    /// True if a reference is checked at the transaction's end only.
    pub fn is_deferred(&self, name: &str, notes: &ReferenceNotes) -> bool {
        let said = self.named.get(name).copied().or(self.all);
        notes.deferrable && said.unwrap_or(notes.deferred)
    }
}
