//! Crashes of a small bank on a simulated disk, and damage of its files: beside a model that says what must be left.
//!
//! - [`exploration`]: random transactions on a simulated disk that crashes;
//! - [`damage`]: damaged files; opening or verifying must report the damage.

pub mod damage;
pub mod exploration;
