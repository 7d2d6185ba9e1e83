//! An open loop: requests arrive independently of earlier answers, as terminals send them.
//!
//! - [`arrivals`]: the intended arrivals of requests, drawn in advance from a seed;
//! - [`clock`]: the time that passes, of the machine or of a test;
//! - [`mod@drive`]: hands over due requests, and measures the delay;
//! - [`point`]: the figures at one arrival rate.
//!
//! A response time counts from the *intended* arrival. If a system stops for a second, every request that was meant to
//! arrive in that second shows it. In a closed loop only the one in flight would (coordinated omission). Requests that
//! were never handed over, since the system was too far behind, are recorded with their age when the run gave up: a
//! lower bound.

pub mod arrivals;
pub mod clock;
pub mod drive;
pub mod point;

pub use arrivals::Arrivals;
pub use clock::{Clock, WallClock};
pub use drive::{Limits, Offered, Service, drive};
pub use point::Point;
