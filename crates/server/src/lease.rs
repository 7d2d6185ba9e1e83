//! The right of a server to answer. A host of a database whose log is in a store has it as long as no other host
//! serves.
//!
//! Each answer checks the lease when it is ready, before it is sent. The answer's content was true while the lease was
//! held. So no client sees a state from before another host began to serve, however long this process was stopped.

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
    /// A lease that is held as long as `is_held` returns true: a cheap function, called for each answer.
    pub fn while_held(is_held: impl Fn() -> bool + Send + Sync + 'static) -> Lease {
        Lease {
            is_held: Some(Arc::new(is_held)),
            ..Lease::default()
        }
    }

    /// Adds the host that has the lease, which the metrics show.
    pub fn of_host(mut self, host: SeesHost) -> Lease {
        Arc::make_mut(&mut self.of).host = Some(host);
        self
    }

    /// The lease of a host that answers reads while another one serves, which `who_serves` names: `/readyz` is for the
    /// serving host.
    pub fn beside(mut self, who_serves: impl Fn() -> String + Send + Sync + 'static) -> Lease {
        Arc::make_mut(&mut self.of).who_serves = Some(Arc::new(who_serves));
        self
    }

    /// A sentence that names the serving host, if it is another one.
    pub fn who_serves(&self) -> Option<String> {
        self.of.who_serves.as_ref().map(|says| says())
    }

    /// `None` if the server is not one of several hosts.
    pub fn host(&self) -> Option<&SeesHost> {
        self.of.host.as_ref()
    }

    /// Returns true if the server may answer now. Without a lease it always may.
    pub fn is_held(&self) -> bool {
        self.is_held.as_ref().is_none_or(|is_held| is_held())
    }

    /// Returns an error, which ends the connection, if the server may not answer.
    pub(crate) fn check(&self) -> io::Result<()> {
        match self.is_held() {
            true => Ok(()),
            false => Err(io::Error::new(
                io::ErrorKind::ConnectionAborted,
                "this host's lease has run out: it sends no answers",
            )),
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.is_held()).finish()
    }
}
