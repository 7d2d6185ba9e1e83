//! Tests that see the room from inside.

mod coding;
mod doubts;
mod links;
mod partitions;
pub mod processes;
pub mod proxy;
mod questions;
mod together;

use crate::node::NodeError;
use crate::node::loose::{FrameError, LooseNode, LooseOptions, OneHost};
use std::path::Path;
use std::time::Duration;

/// Longer than any wait on a busy machine.
pub const LONG: Duration = Duration::from_secs(600);

/// The register in a directory; its node is not taken for stopped, however busy the machine is.
pub fn register(members: impl AsRef<Path>) -> Result<Box<OneHost>, NodeError> {
    let register = OneHost::open(members)?;
    Ok(Box::new(register.with_stopped_process_wait(LONG)))
}

/// Joins with a node; again, if a busy machine let the time of a greeting pass.
pub fn join(members: impl AsRef<Path>, options: &LooseOptions) -> LooseNode {
    loop {
        match LooseNode::join(register(&members).unwrap(), options.clone()) {
            Err(NodeError::Unreachable { .. } | NodeError::Frame(FrameError::Silent)) => {}
            joined => return joined.unwrap(),
        }
    }
}
