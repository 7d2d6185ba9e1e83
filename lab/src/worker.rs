//! `experiment-worker`: a process of an experiment, started by the program itself.

use crate::tree_inserts::{self, segment_trees};
use crate::{Program, concurrency};
use anyhow::Context;
use clap::ValueEnum;

/// Do a part of an experiment; the task comes from standard input.
#[derive(Clone, Debug, clap::Args)]
pub struct Worker {
    /// The experiment
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
    /// The reason why it cannot do its part.
    pub fn run(&self) -> anyhow::Result<()> {
        // Not locked: a worker prints only its side of the exchange.
        let (input, output) = (std::io::stdin().lock(), std::io::stdout());
        match self.experiment {
            Role::Concurrency => concurrency::serve(input, output)?,
            Role::TreeInserts => tree_inserts::serve(&segment_trees(), input, output)?,
        }
        Ok(())
    }
}

impl Role {
    /// This program, as a worker of the experiment.
    ///
    /// # Errors
    /// The system does not report this program's path.
    pub fn program(self) -> anyhow::Result<Program> {
        let name = self.to_possible_value();
        let name = name.context("every experiment has a name")?;
        Ok(Program {
            path: std::env::current_exe().context("this program's own path, for its processes")?,
            arguments: vec!["experiment-worker".into(), name.get_name().into()],
        })
    }
}
