//! The registered procedures, by name.
//!
//! A procedure is registered for as long as a handle can call it; the handles here do not keep it. Names are the process'
//! alone. No record of the log has one, so recovery needs none.

use sardonyx_base::sync::futex::Mutex;
use sardonyx_serial::{Procedure, Registered, SerialError, WeakRegistered};
use std::collections::HashMap;

/// Procedures by name.
#[derive(Debug, Default)]
pub(super) struct Procedures(Mutex<HashMap<String, WeakRegistered>>);

impl Procedures {
    /// Has this one registered.
    ///
    /// # Errors
    /// [`SerialError::Refused`] if one of its name is.
    pub fn add<P: Procedure>(
        &self,
        procedure: Registered<P>,
    ) -> Result<Registered<P>, SerialError> {
        self.enter(procedure, |_| None)
    }

    /// Returns the registered procedure of this one's name, or registers this one.
    ///
    /// # Errors
    /// [`SerialError::Refused`] if one of its name is that is of another type.
    pub fn add_or_share<P: Procedure>(
        &self,
        procedure: Registered<P>,
    ) -> Result<Registered<P>, SerialError> {
        self.enter(procedure, WeakRegistered::upgrade)
    }

    fn enter<P: Procedure>(
        &self,
        procedure: Registered<P>,
        shared: impl FnOnce(&WeakRegistered) -> Option<Registered<P>>,
    ) -> Result<Registered<P>, SerialError> {
        let name = procedure.procedure().name().to_string();
        let mut named = self.0.lock();
        // A procedure that is registered no more takes no memory, under any name.
        named.retain(|_, there| there.is_registered());
        if let Some(there) = named.get(&name) {
            if let Some(shared) = shared(there) {
                return Ok(shared);
            }
            // It may have ended just now.
            if there.is_registered() {
                let reason = format!("a procedure named {name:?} is registered already");
                return Err(SerialError::Refused { reason });
            }
        }
        named.insert(name, procedure.downgrade());
        Ok(procedure)
    }
}
