//! The server over sockets: each protocol, rights and passwords, reloading, and its metrics and logs.

mod common;
mod constraints;
mod copies;
mod cursors;
mod ending;
mod following;
mod functions;
mod http;
mod keys_by_sql;
mod long_statements;
mod memory;
mod notifications;
mod older_keys;
mod postgres;
mod redis;
mod reload;
mod spans;
mod startup;
