//! The argument that names the places where a transaction must be durable before it is acknowledged.

use clap::ValueEnum;
use sardonyx::hosts::DurableAt;

/// The places where a transaction is durable.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum DurableAtChoice {
    /// In the directory; the store follows
    Local,
    /// In the directory and in the store
    Both,
    /// In the store; a sync of the directory follows
    Remote,
}

impl From<DurableAtChoice> for DurableAt {
    fn from(choice: DurableAtChoice) -> Self {
        match choice {
            DurableAtChoice::Local => DurableAt::Local,
            DurableAtChoice::Both => DurableAt::Both,
            DurableAtChoice::Remote => DurableAt::Remote,
        }
    }
}
