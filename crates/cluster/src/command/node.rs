//! `node`: the process of one of several nodes, or of the page server of loosely coupled ones.

use crate::process;
use sardonyx_command::exit::Exit;
use std::path::PathBuf;

/// Run one node, as `cluster up` does.
///
/// The node joins those of a directory that `cluster up` created, and accepts requests at a socket there. SIGTERM,
/// SIGINT or `cluster drain` stops it in order: its commits are durable, and the others free its locks. The page server
/// of loosely coupled nodes is in the slot after the last node's.
///
/// Example: sardonyx node sardonyx-cluster --slot 2
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    /// The directory of the nodes
    directory: PathBuf,
    /// Number of the node, from 0
    #[arg(long, value_name = "N")]
    slot: usize,
}

impl Arguments {
    /// Runs the node until it leaves.
    ///
    /// # Errors
    /// It cannot join, or ends with an error.
    pub fn run(&self) -> anyhow::Result<Exit> {
        process::run(&self.directory, self.slot)?;
        Ok(Exit::Done)
    }
}
