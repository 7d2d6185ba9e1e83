//! `experiment-worker`: a process of an experiment, started by the program itself.

use crate::tree_inserts::{self, segment_trees};
use crate::{Program, concurrency};
use anyhow::Context;
use clap::ValueEnum;

/// Do a part of an experiment that is told on standard input.
#[derive(Clone, Debug, clap::Args)]
pub struct Worker {
    /// Which experiment
    #[arg(value_enum)]
    pub experiment: Role,
}

/// The experiments that start processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Role {
    /// `sardonyx concurrency`
    Concurrency,
    /// `sardonyx tree-inserts`
    TreeInserts,
}

impl Worker {
    /// Serves the process that started this one.
    ///
    /// # Errors
    /// Whatever keeps it from doing its part.
    pub fn run(&self) -> anyhow::Result<()> {
        // Not locked: what a worker prints is only its side of the talk.
        let (input, output) = (std::io::stdin().lock(), std::io::stdout());
        match self.experiment {
            Role::Concurrency => concurrency::serve(input, output)?,
            Role::TreeInserts => tree_inserts::serve(&segment_trees(), input, output)?,
        }
        Ok(())
    }
}

impl Role {
    /// How this program is started as a worker of the experiment.
    ///
    /// # Errors
    /// If the system does not say which program this is.
    pub fn program(self) -> anyhow::Result<Program> {
        let name = self.to_possible_value();
        let name = name.context("every experiment has a name")?;
        Ok(Program {
            path: std::env::current_exe().context("this program's own path, for its processes")?,
            arguments: vec!["experiment-worker".into(), name.get_name().into()],
        })
    }
}
