//! Crashes of a small bank on a simulated disk, and damage of its files, compared with a model of the expected
//! contents.
//!
//! - [`exploration`]: random transactions on a simulated disk that crashes;
//! - [`damage`]: damaged files; opening or verifying must report the damage.

pub mod damage;
pub mod exploration;
