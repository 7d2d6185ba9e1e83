//! HTTP/1.1: liveness and readiness, metrics, the state as JSON, and a page that shows it.
//!
//! | path | what |
//! | --- | --- |
//! | `/livez` | 200 while the server answers |
//! | `/readyz` | 200 if clients can be served; 503 with the reasons if not |
//! | `/metrics` | OpenMetrics, or Prometheus' text format ([`exposition`], [`figures`]) |
//! | `/api/state` | a [`State`](crate::state::State) |
//! | `/` | the page (`page.html`) |
//!
//! All requests are read-only. [`route`] reads a request without I/O, [`access`] controls access, [`connection`] has
//! the socket. [`observer`] reads the state once for all clients that ask at the same time.

pub mod access;
pub mod connection;
pub mod exposition;
pub mod figures;
pub mod following;
pub mod observer;
mod page;
mod patient;
pub mod route;
