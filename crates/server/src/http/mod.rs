//! HTTP/1.1: whether the server lives and is ready, metrics, its state as JSON, and a page that shows it.
//!
//! | path | what |
//! | --- | --- |
//! | `/livez` | 200 while the server answers |
//! | `/readyz` | 200 if clients can be served; 503 with the reasons if not |
//! | `/metrics` | OpenMetrics, or Prometheus' text format ([`exposition`], [`figures`]) |
//! | `/api/state` | a [`State`](crate::state::State) |
//! | `/` | the page (`page.html`) |
//!
//! Nothing is changed by any request. [`route`] decides without I/O what is asked for, [`access`] who may ask,
//! [`connection`] has the socket, and [`observer`] reads the state for all who ask at the same time, once.

pub mod access;
pub mod connection;
pub mod exposition;
pub mod figures;
pub mod following;
pub mod observer;
mod page;
mod patient;
pub mod route;
