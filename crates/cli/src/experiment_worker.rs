//! `experiment-worker`: a process of an experiment, started by the program itself.

use crate::exit::Exit;
use anyhow::Context;
use clap::ValueEnum;
use sardonyx_lab::tree_inserts::{self, segment_trees};
use sardonyx_lab::{Program, concurrency};

/// Do a part of an experiment that is told on standard input.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Which experiment
    #[arg(value_enum)]
    experiment: Experiment,
}

/// The experiments that start processes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Experiment {
    /// `sardonyx concurrency`
    Concurrency,
    /// `sardonyx tree-inserts`
    TreeInserts,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self) -> anyhow::Result<Exit> {
        // Not locked: what a worker prints is only its side of the talk.
        let (input, output) = (std::io::stdin().lock(), std::io::stdout());
        match self.experiment {
            Experiment::Concurrency => concurrency::serve(input, output)?,
            Experiment::TreeInserts => tree_inserts::serve(&segment_trees(), input, output)?,
        }
        Ok(Exit::Done)
    }
}

/// How this program is started as a worker of an experiment.
pub fn program(experiment: Experiment) -> anyhow::Result<Program> {
    let name = experiment.to_possible_value();
    let name = name.context("every experiment has a name")?;
    Ok(Program {
        path: std::env::current_exe().context("this program's own path, for its processes")?,
        arguments: vec!["experiment-worker".into(), name.get_name().into()],
    })
}
