//! PostgreSQL clients: their protocol, versions 3.0 and 3.2, simple and extended queries, copies, cancelling.
//!
//! - `message`: messages of clients; - `answer`: messages to clients;
//! - `session`: the machine between both and the SQL layer; - `portions`: rows on their way out; - `copying`: data on
//!   its way in;
//! - `startup`: TLS and authentication; - `connection`: a socket and a session.

mod answer;
pub(crate) mod connection;
mod copying;
pub mod message;
mod portions;
mod session;
pub(crate) mod startup;
mod startup_options;
