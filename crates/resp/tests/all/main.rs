//! Redis' commands without a server's sockets: transcripts, a model with failures, arbitrary bytes, and a server that is killed.

mod arbitrary;
mod beside;
mod blocking;
mod bounds;
mod clients;
mod common;
mod databases;
mod direct;
mod drawn;
mod durability;
mod events;
mod followed;
mod golden;
mod import;
mod keyspaces;
mod killed;
#[cfg(feature = "lua")]
mod libraries;
mod long_strings;
mod messages;
mod model;
mod older;
mod payloads;
#[cfg(feature = "lua")]
mod scripts;
mod statistics;
mod streams;
mod tracking;
