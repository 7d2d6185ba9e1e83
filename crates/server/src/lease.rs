//! The right of a server to answer: a host of a database whose log is in a store has it as long as no other one serves.
//!
//! Each answer asks that when it is ready, before it is sent. What it says was true when the lease was still there, so no
//! client is shown what was before another host began to serve, however long this process was stopped in between.

use std::fmt;
use std::io;
use std::sync::Arc;

/// The right of a server to answer.
#[derive(Clone, Default)]
pub struct Lease(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl Lease {
    /// As long as this says so: a cheap question, asked for each answer.
    pub fn while_held(is_held: impl Fn() -> bool + Send + Sync + 'static) -> Lease {
        Lease(Some(Arc::new(is_held)))
    }

    /// Returns true if it may answer now. Without a lease it always may.
    pub fn is_held(&self) -> bool {
        self.0.as_ref().is_none_or(|is_held| is_held())
    }

    /// An error that ends the connection, if it may not.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.is_held() {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "this host's lease has run out: it answers nothing",
            )),
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.is_held()).finish()
    }
}
