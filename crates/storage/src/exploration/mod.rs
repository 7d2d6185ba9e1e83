//! Crash explorations of the storage in the [crash world](crate::crashes): a crash, a kill or a failed sync at any step.
//!
//! - [`lives`]: a log, checkpoints and recovery, without an engine; [`succession`] and [`damage`] on it;
//! - [`shared_world`]: several processes on one log, opened as they open it, and alone; [`shared_log`] and
//!   [`shared_failures`] on it;
//! - [`mortal`]: processes that are killed at any of their operations on the disk.

mod damage;
pub(crate) mod lives;
pub(crate) mod mortal;
mod shared_failures;
mod shared_log;
mod shared_world;
mod succession;
