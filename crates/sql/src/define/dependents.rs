//! The objects that cannot be without a type: domains over it, columns, functions.

use super::function;
use super::type_names::columns_of_type;
use crate::define_target::DefineTarget;
use crate::error::SqlError;
use crate::path::{shown, written};
use crate::result::Notice;
use crate::routines::{RoutineDefinition, all};
use crate::user_types::UserTypes;

/// The notice of the objects that are dropped with another one.
pub(super) fn cascades_to(dropped: &[String]) -> Option<Notice> {
    match dropped {
        [] => None,
        [one] => Some(Notice::note("00000", format!("drop cascades to {one}"))),
        several => {
            let text = format!("drop cascades to {} other objects", several.len());
            Some(Notice::note("00000", text))
        }
    }
}

/// The objects that cannot be without a type.
#[derive(Default)]
pub(super) struct Dependents {
    /// Their descriptions, each with the type that it needs.
    pub shown: Vec<(String, String)>,
    pub domains: Vec<String>,
    pub columns: Vec<(String, String)>,
    pub functions: Vec<RoutineDefinition>,
}

impl Dependents {
    /// Adds the objects that need a type, and those that need these.
    ///
    /// # Errors
    /// Read errors.
    pub fn add(&mut self, tx: &dyn DefineTarget, name: &str) -> Result<(), SqlError> {
        let types = UserTypes::of(tx.view())?;
        let Some(there) = types.types.get(name) else {
            return Ok(());
        };
        let numbers = there.oid..=there.oid + 1;
        for (domain, definition) in &types.types {
            let base = definition.domain.as_ref().map(|domain| domain.base);
            // A domain has no arrays: the number behind its own is of no type.
            if there.domain.is_none() && base.is_some_and(|base| numbers.contains(&base)) {
                self.shown
                    .push((format!("type {}", shown(domain)), name.into()));
                self.domains.push(domain.clone());
                self.add(tx, domain)?;
            }
        }
        for (table, column) in columns_of_type(tx, name)? {
            // A column of a domain has the domain's base, too.
            let is_there = self
                .columns
                .iter()
                .any(|(of, known)| *of == table && *known == column);
            if !is_there {
                let what = format!("column {column} of table {}", written(&table));
                self.shown.push((what, name.into()));
                self.columns.push((table, column));
            }
        }
        for routine in all(tx.view())? {
            if routine.has_type(there.oid) {
                let what = function::shown(tx.view(), &routine)?;
                self.shown.push((format!("function {what}"), name.into()));
                self.functions.push(routine);
            }
        }
        Ok(())
    }
}
