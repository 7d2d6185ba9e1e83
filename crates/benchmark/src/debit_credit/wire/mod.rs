//! Debit-credit over sockets: the TPK paper's terminals, in other processes.
//!
//! The protocol knows no socket: [`frame`] cuts bytes into frames, [`message`] decodes them, [`session`] checks the
//! order of both sides' messages. Around it are [`address`] (TCP or Unix sockets) and the two sides. On the server's
//! side: `connection` (a socket, its limits and its answers), `visit` (an exchange of the engine's: requests are
//! received and decoded on the input stage's threads, answers encoded and sent on the output stage's), `shared` and
//! [`server`] (the connections, and the end). On the client's side: [`client`] and `load`.
//!
//! An answer means that its transaction is on stable storage.
//!
//! Source: TPK paper, section 2, "Transaction Input and Output".

pub mod address;
pub mod client;
mod connection;
pub mod frame;
mod load;
pub mod message;
pub mod server;
pub mod session;
mod shared;
#[cfg(test)]
mod tests;
mod visit;

pub use address::{Address, Listener};
pub use client::{Client, ClientError};
pub use load::{ClientLoad, run_clients};
pub use server::{Limits, ServeError, Stop, serve};
pub use visit::{as_decoded, located};
