//! SQL without sockets: scripts of statements, random statements beside models, interactive transactions, flights and portions.

mod changes;
mod checks;
mod common;
mod copies;
mod flights;
mod following;
mod functions;
mod generated;
mod large;
mod large_crashes;
mod large_defining;
mod large_open;
mod large_values;
mod lists;
mod long_reads;
mod long_writes;
mod model;
mod notifications;
mod open_defining;
mod programs;
mod queries;
mod rights;
mod schemas;
mod scripts;
mod serializable;
mod streams;
