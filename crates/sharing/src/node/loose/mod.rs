//! Loosely coupled nodes for real (GEM paper, section 3.2, primary copy locking): processes, on one host or several, that
//! share nothing but connections. Each has a buffer of its own and the lock authority for a part of the pages.
//!
//! ```no_run
//! use sardonyx_sharing::node::loose::{LooseNode, LooseOptions, OneHost, PageServer, Serving};
//! use sardonyx_sharing::node::NodeError;
//! use sardonyx_storage::engine::StorageOptions;
//! use std::net::TcpListener;
//!
//! // One process has the pages …
//! let server = PageServer::open("bank.sdx", 1024, StorageOptions::default())?;
//! let listener = TcpListener::bind("127.0.0.1:7410").unwrap();
//! let serving = Serving::start(server, listener, None)?;
//! // … and others run transactions on them.
//! let members = OneHost::open("/run/bank")?;
//! let node = LooseNode::join(Box::new(members), LooseOptions::new(serving.address()))?;
//! node.run(|tx| {
//!     let balance = tx.read_to_change(7, 0..8)?;
//!     tx.write(7, 8, &balance)
//! })?; // on stable storage when this returns
//! # Ok::<(), NodeError>(())
//! ```
//!
//! ```text
//!  node: buffer · machine of primary copy locking · authority for its parts
//!    │ messages, pages (frames over TCP, numbered: Channel)        │ redo, pages
//!  node ── node                                              page server: a log for each node,
//!    └───────── register: view, parts, who is there ─────────┘     stored pages, one engine
//! ```
//!
//! - `frame`, `coding`, `call`, `wire`: the messages and their encoding; - `link`, `peer`: the way to another node;
//! - `server`, `serve`: the page server; `remote`, `commit`, `jobs`: a node's end of it; `rows`: of journals;
//! - `coupling`, `speaking`, `absence`: a node's part below its shell; `member`, `watching`: its threads;
//! - `store`: the membership, as a trait; `one_host`: on one host. Another implementation is `sardonyx-etcd`.
//!
//! Bounds (I10): a frame, a backlog and a group have a most. Messages under way to a node are a window. Connections to
//! the page server and to a node are counted. Waiting for a page, for the server and for a greeting ends with an error.

mod absence;
mod call;
mod coding;
mod commit;
mod coupling;
mod frame;
mod jobs;
mod link;
mod member;
mod one_host;
mod peer;
mod remote;
mod rows;
mod serve;
mod server;
mod speaking;
mod store;
mod watching;
mod wire;

#[cfg(test)]
pub(super) mod tests;

pub use coding::{decode_view_bytes, encode_view};
pub use frame::FrameError;
pub use member::{LooseNode, LooseOptions};
pub use one_host::{OneHost, STOPPED_PROCESS_WAIT_MIN};
pub use serve::Serving;
pub(super) use server::place_of_page;
pub use server::{PAGES_MAX, PageServer};
pub use store::Register;
