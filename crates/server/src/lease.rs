//! The right of a server to answer: a host of a database whose log is in a store has it as long as no other one serves.
//!
//! Each answer asks that when it is ready, before it is sent. What it says was true when the lease was still there, so no
//! client is shown what was before another host began to serve, however long this process was stopped in between.

use crate::state::SeesHost;
use std::fmt;
use std::io;
use std::sync::Arc;

/// The right of a server to answer.
#[derive(Clone, Default)]
pub struct Lease {
    is_held: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    /// Each connection has a copy of the lease.
    of: Arc<OfHost>,
}

/// The host of a server, as the server knows it.
#[derive(Clone, Default)]
struct OfHost {
    host: Option<SeesHost>,
    who_serves: Option<Arc<dyn Fn() -> String + Send + Sync>>,
}

impl Lease {
    /// As long as this says so: a cheap question, asked for each answer.
    pub fn while_held(is_held: impl Fn() -> bool + Send + Sync + 'static) -> Lease {
        Lease {
            is_held: Some(Arc::new(is_held)),
            ..Lease::default()
        }
    }

    /// The same, with the host that has it, which the metrics show.
    pub fn of_host(mut self, host: SeesHost) -> Lease {
        Arc::make_mut(&mut self.of).host = Some(host);
        self
    }

    /// The same of a host that answers reads while another one serves, which this says: `/readyz` is for the one that
    /// serves.
    pub fn beside(mut self, who_serves: impl Fn() -> String + Send + Sync + 'static) -> Lease {
        Arc::make_mut(&mut self.of).who_serves = Some(Arc::new(who_serves));
        self
    }

    /// A sentence that says which host serves, if it is another one.
    pub fn who_serves(&self) -> Option<String> {
        self.of.who_serves.as_ref().map(|says| says())
    }

    /// The host that has it.
    pub fn host(&self) -> Option<&SeesHost> {
        self.of.host.as_ref()
    }

    /// Returns true if it may answer now. Without a lease it always may.
    pub fn is_held(&self) -> bool {
        self.is_held.as_ref().is_none_or(|is_held| is_held())
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
