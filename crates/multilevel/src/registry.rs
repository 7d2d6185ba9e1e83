//! The operations that can be inverses: by name for the program, by number for undo entries.

use crate::counter;
use crate::error::{CompensationError, DatabaseError};
use crate::index;
use crate::nesting::executing;
use crate::operation::{NAME_BYTES_MAX, Recorded};
use crate::pages::Pages;
use crate::records;
use sardonyx_base::user_code::message_of;
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Executes an inverse from its bytes.
type Execute = fn(&[u8], &mut dyn Pages) -> Result<(), String>;

/// Operations by name.
#[derive(Clone)]
pub(crate) struct Registry {
    operations: HashMap<&'static str, Execute>,
    /// In the order of registration: name and type.
    names: Vec<(&'static str, &'static str)>,
}

impl Default for Registry {
    /// The operations of the ready types.
    fn default() -> Self {
        let mut registry = Registry {
            operations: HashMap::new(),
            names: Vec::new(),
        };
        let ready = [
            registry.register::<counter::Add>(),
            registry.register::<counter::SetBack>(),
            registry.register::<index::Restore<'_>>(),
            registry.register::<records::Restore<'_>>(),
        ];
        debug_assert!(ready.iter().all(Result::is_ok), "{ready:?}");
        registry
    }
}

impl Registry {
    /// Adds an operation; an existing one is not added again.
    pub fn register<O: Recorded>(&mut self) -> Result<(), DatabaseError> {
        let (name, bytes) = (O::NAME, O::NAME.len());
        if bytes == 0 || bytes > NAME_BYTES_MAX {
            let limit = NAME_BYTES_MAX;
            return Err(DatabaseError::Name { name, bytes, limit });
        }
        let of = std::any::type_name::<O>();
        if let Some((_, other)) = self.names.iter().find(|(found, _)| *found == name) {
            if *other == of {
                return Ok(());
            }
            return Err(DatabaseError::RegisteredTwice { name });
        }
        self.operations.insert(name, execute::<O>);
        self.names.push((name, of));
        Ok(())
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.iter().map(|(name, _)| *name)
    }
}

fn execute<O: Recorded>(bytes: &[u8], pages: &mut dyn Pages) -> Result<(), String> {
    let operation =
        O::decode(bytes).ok_or_else(|| "its bytes are not of such an operation".to_string())?;
    let outcome = operation.execute(pages);
    outcome.map(drop).map_err(|error| error.to_string())
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// The operations that a database knows, by number; some perhaps not registered now.
#[derive(Debug, Default)]
pub(crate) struct Numbered {
    numbers: HashMap<&'static str, u32>,
    by_number: Vec<(String, Option<Execute>)>,
}

impl Numbered {
    /// Numbers for the registered operations: those that the database has, and new ones. Returns the new names, in
    /// order.
    pub fn new(known: Vec<String>, registry: &Registry) -> (Numbered, Vec<&'static str>) {
        let mut numbered = Numbered::default();
        for name in known {
            let execute = registry.operations.get_key_value(&*name);
            if let Some((name, _)) = execute {
                let number = numbered.by_number.len() as u32;
                numbered.numbers.insert(name, number);
            }
            let execute = execute.map(|(_, execute)| *execute);
            numbered.by_number.push((name, execute));
        }
        let mut new = Vec::new();
        for name in registry.names() {
            if !numbered.numbers.contains_key(name) {
                let number = numbered.by_number.len() as u32;
                numbered.numbers.insert(name, number);
                let execute = registry.operations[name];
                numbered.by_number.push((name.to_string(), Some(execute)));
                new.push(name);
            }
        }
        (numbered, new)
    }

    /// The number of an operation that is registered.
    #[inline]
    pub fn number(&self, name: &'static str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    /// Executes an inverse by its number, which it was noted with. It may panic: that is an error, too.
    ///
    /// # Panics
    /// If there is no such number.
    pub fn execute(
        &self,
        number: u32,
        bytes: &[u8],
        pages: &mut dyn Pages,
    ) -> Result<(), CompensationError> {
        let (name, execute) = self
            .by_number(number)
            .expect("it was numbered when it was noted");
        let failed = |reason| CompensationError {
            name: name.to_string(),
            reason,
        };
        let Some(execute) = execute else {
            return Err(failed("it is not registered".into()));
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| executing(|| execute(bytes, pages))));
        match outcome {
            Ok(outcome) => outcome.map_err(failed),
            Err(panic) => Err(failed(message_of(panic))),
        }
    }

    /// The name of a number, and how to execute it if it is registered.
    pub fn by_number(&self, number: u32) -> Option<(&str, Option<Execute>)> {
        let (name, execute) = self.by_number.get(number as usize)?;
        Some((name, *execute))
    }
}
