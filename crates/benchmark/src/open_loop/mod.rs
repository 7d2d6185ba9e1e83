//! An open loop: requests arrive whether or not earlier ones were answered, as terminals send them.
//!
//! - [`arrivals`]: the moments at which requests are meant to arrive, drawn beforehand from a seed;
//! - [`clock`]: the time that passes, of the machine or of a test;
//! - [`mod@drive`]: hands over what is due, and counts how late that was;
//! - [`point`]: what came out at one arrival rate.
//!
//! A response time counts from the *intended* arrival. A system that stands still for a second is thereby
//! seen by every request that was meant to arrive in that second, and not by the one alone that a closed loop
//! would have had on its way (coordinated omission). Requests that were never handed over, since the system
//! was that far behind, are recorded with their age when the run gave up: a lower bound.

pub mod arrivals;
pub mod clock;
pub mod drive;
pub mod point;

pub use arrivals::Arrivals;
pub use clock::{Clock, WallClock};
pub use drive::{Limits, Offered, Service, drive};
pub use point::Point;
