//! The endpoints of a node's server. Of the default ones it opens those that it serves, and that no other program has: several
//! servers of one host work on a database, each with the same command but for PostgreSQL's port.

use super::Arguments;
use sardonyx_server::{Doors, Endpoint, Options, ServerError};
use std::io::ErrorKind;

impl Arguments {
    /// Binds the endpoints of a node's server. The default ones that it leaves out are no defaults of its later configurations
    /// either; the server refuses others of Redis clients.
    pub(super) fn doors_of_node(
        &self,
        options: &mut Options,
        defaults: &mut Options,
    ) -> anyhow::Result<Doors> {
        defaults.redis.clear();
        let of_node = self.options_over(defaults.clone())?;
        if of_node.redis.is_empty() && !options.redis.is_empty() {
            tracing::warn!(
                "a node does not serve Redis clients: their default address is not opened; --redis off ends this message"
            );
        }
        options.redis = of_node.redis;
        let error = match Doors::open(options) {
            Ok(doors) => return Ok(doors),
            Err(error) => error,
        };
        let Some(endpoint) = taken(&error).filter(|taken| options.http.contains(taken)) else {
            return Err(error.into());
        };
        defaults.http.clear();
        if !self.options_over(defaults.clone())?.http.is_empty() {
            return Err(error.into());
        }
        tracing::warn!(
            %endpoint,
            "another program has the default address of HTTP, which is not opened: give this node one with --http, or --http off"
        );
        options.http.clear();
        Ok(Doors::open(options)?)
    }
}

/// The endpoint that another program has.
fn taken(error: &ServerError) -> Option<&Endpoint> {
    match error {
        ServerError::Listen { endpoint, source } if source.kind() == ErrorKind::AddrInUse => {
            Some(endpoint)
        }
        _ => None,
    }
}
