//! All experiments, as verbs: running, printing and writing them.

use crate::ending;
use crate::experiment::{About, Experiment, run};
use crate::worker::Worker;
use crate::{
    complex_objects, concurrency, floor, hot_object, page_touch, tpcc, tree_inserts, ycsb,
};
use anyhow::Context;
use std::io::Write;

/// The experiments, each with its options.
#[derive(Debug, clap::Subcommand)]
pub enum Experiments {
    PageTouch(page_touch::Options),
    Concurrency(concurrency::Options),
    TreeInserts(tree_inserts::Options),
    ComplexObjects(Box<complex_objects::Options>),
    HotObject(hot_object::Options),
    Tpcc(Box<tpcc::Options>),
    Ycsb(ycsb::Options),
    Floor(floor::Options),
    #[command(hide = true)]
    ExperimentWorker(Worker),
}

/// The names and sources of the experiments, in the order of the papers.
pub const ABOUT: [About; 8] = [
    page_touch::Options::ABOUT,
    concurrency::Options::ABOUT,
    tree_inserts::Options::ABOUT,
    complex_objects::Options::ABOUT,
    hot_object::Options::ABOUT,
    tpcc::Options::ABOUT,
    ycsb::Options::ABOUT,
    floor::Options::ABOUT,
];

impl Experiments {
    /// Runs the experiment; prints the findings, as `json` or as text, and writes them to files if the options ask for
    /// it. Returns true if the experiment's claim holds.
    ///
    /// # Errors
    /// The reason why it has no figures, or why they cannot be printed or written.
    pub fn run(&self, json: bool, output: &mut impl Write) -> anyhow::Result<bool> {
        match self {
            // The process that started it ends it.
            Experiments::ExperimentWorker(_) => ending::as_usual(),
            _ => ending::watch().context("waiting for signals")?,
        }
        match self {
            Experiments::PageTouch(options) => run(options, json, output),
            Experiments::Concurrency(options) => run(options, json, output),
            Experiments::TreeInserts(options) => run(options, json, output),
            Experiments::ComplexObjects(options) => run(&**options, json, output),
            Experiments::HotObject(options) => run(options, json, output),
            Experiments::Tpcc(options) => run(&**options, json, output),
            Experiments::Ycsb(options) => run(options, json, output),
            Experiments::Floor(options) => run(options, json, output),
            Experiments::ExperimentWorker(worker) => worker.run().map(|()| true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Subcommand;

    #[test]
    fn every_experiment_is_a_verb_of_its_name() {
        let command = Experiments::augment_subcommands(clap::Command::new("lab"));
        command.clone().debug_assert();
        let shown = command.get_subcommands().filter(|verb| !verb.is_hide_set());
        let names: Vec<&str> = shown.map(clap::Command::get_name).collect();
        assert_eq!(names, ABOUT.map(|about| about.name));
    }
}
