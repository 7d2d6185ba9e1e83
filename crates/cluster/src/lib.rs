//! Closely or loosely coupled nodes as processes of one host (GEM paper): started, loaded with debit-credit on pages,
//! measured, and set beside what the simulation predicts.
//!
//! It is a crate of its own, since the product's command uses it, so that it cannot be in `lab`. A node
//! ([`sardonyx_sharing::node`]) knows neither workloads nor started processes.
//!
//! - [`setting`], [`places`]: how the nodes are, and where everything of them is;
//! - [`bank`], [`routing`], [`load`]: what their transactions do, where they run, and a load on one node;
//! - [`coupled`]: a node of either coupling; [`authority`]: where loosely coupled ones have the lock authority;
//! - `page_server`: what loosely coupled ones have the pages from;
//! - [`connecting`]: whether those use TLS, and etcd;
//! - [`request`], [`process`]: a node's process, and what it is asked;
//! - [`nodes`], `conversation`: all of them, from outside; - [`figures`]: what they did;
//! - [`loading`], [`proof`]: one load at a time on all of them, and the proof of its sums;
//! - `recording`: traces of a run;
//! - `parameters`, `compare`, `experiments`: beside the simulation (feature `lab`);
//! - [`command`]: the verbs that run nodes; - [`exit`]: exit codes of errors;
//! - [`takeover`]: how long others wait for what a killed node held.

#![forbid(unsafe_code)]

pub mod authority;
pub mod bank;
pub mod command;
#[cfg(feature = "lab")]
pub mod compare;
pub mod connecting;
mod conversation;
pub mod coupled;
mod error;
pub mod exit;
#[cfg(feature = "lab")]
pub mod experiments;
pub mod figures;
pub mod load;
pub mod loading;
pub mod nodes;
mod page_server;
#[cfg(feature = "lab")]
pub mod parameters;
pub mod places;
pub mod process;
pub mod proof;
#[cfg(feature = "lab")]
mod recording;
#[cfg(not(feature = "lab"))]
#[path = "without_recording.rs"]
mod recording;
pub mod request;
pub mod routing;
pub mod setting;
pub mod takeover;

pub use error::ClusterError;
