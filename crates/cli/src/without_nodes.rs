//! Replaces `nodes` in a build without the feature of that name: each use is refused, and the error names the feature.

use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use std::ffi::OsString;

#[cfg(feature = "sql")]
#[path = "without_nodes/tables.rs"]
mod tables;
#[cfg(feature = "sql")]
pub use tables::{FrozenTables, NodeOption, Opened, declared, other_way};

/// Run several nodes that share a database (needs the feature `nodes`).
#[derive(Debug, clap::Args)]
pub struct Cluster {
    /// Not used
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// One node (needs the feature `nodes`).
#[derive(Debug, clap::Args)]
pub struct Node {
    /// Not used
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

impl Cluster {
    /// Refuses the verb.
    pub fn run(&self, _: &mut Output) -> anyhow::Result<Exit> {
        Err(missing("nodes are").into())
    }
}

impl Node {
    /// Refuses the verb.
    pub fn run(&self) -> anyhow::Result<Exit> {
        Err(missing("nodes are").into())
    }
}

fn missing(what: &'static str) -> UsageError {
    UsageError::MissingFeature {
        what,
        feature: "nodes",
    }
}

/// The exit codes of nodes' errors, which this build does not have.
pub mod exit {
    use sardonyx_command::exit::Exit;

    /// None.
    pub fn of(_: &(dyn std::error::Error + 'static)) -> Option<Exit> {
        None
    }
}

/// Shared memory of nodes, which this build does not search.
pub mod leftovers {
    use sardonyx_base::leftovers::Leftover;
    use std::io;
    use std::path::Path;

    /// None.
    pub fn find(_: &Path) -> io::Result<Vec<Leftover>> {
        Ok(Vec::new())
    }

    /// None.
    pub fn remove(_: &Path) -> io::Result<Vec<Leftover>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn nodes_are_refused_by_the_name_of_the_feature() {
        let asked = ["cluster up --nodes 4", "cluster status", "node --slot 1"];
        for words in asked {
            let words = ["sardonyx"].into_iter().chain(words.split(' '));
            let parsed = crate::Arguments::try_parse_from(words).unwrap();
            let mut output = Output::to_stdout("sardonyx", false);
            let error = sardonyx_command::program::Program::run(&parsed, &mut output).unwrap_err();
            assert!(error.to_string().contains("--features nodes"), "{error}");
        }
    }
}
