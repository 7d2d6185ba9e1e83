//! Closely or loosely coupled nodes as processes of one host (GEM paper): started, loaded with debit-credit on pages,
//! measured, and compared with the simulation's prediction.
//!
//! It is a crate of its own, since the product's command uses it, so that it cannot be in `lab`. A node
//! ([`sardonyx_sharing::node`]) knows neither workloads nor started processes.
//!
//! - [`setting`], [`places`]: the options of nodes, and the places of their files;
//! - [`bank`], [`routing`], [`load`]: their transactions, the routing of these, and a load on one node;
//! - [`coupled`]: a node of either coupling; [`authority`]: the place of loosely coupled nodes' lock authority;
//! - `page_server`: the source of loosely coupled nodes' pages;
//! - [`connecting`]: TLS and etcd for those;
//! - [`request`], [`process`]: a node's process, and the requests to it;
//! - [`nodes`], `conversation`: all of them, from outside; - [`figures`]: their counts;
//! - [`loading`], [`proof`]: one load at a time on all of them, and the proof of its sums;
//! - `recording`: traces of a run;
//! - `parameters`, `compare`, `experiments`: the comparison with the simulation (feature `lab`);
//! - [`command`]: the verbs that run nodes; - [`exit`]: exit codes of errors;
//! - [`takeover`]: the time until others have the locks and pages of a killed node.

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
