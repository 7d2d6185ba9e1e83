//! `tree-inserts`: durable random inserts into trees that were written for plain memory.
//!
//! [`present`] makes files of what the crate `experiments` found. The same experiment on other
//! people's engines is the program `tree-inserts` of the crate `peers`.

mod present;

use crate::debit_credit::progress;
use crate::exit::{Exit, UsageError};
use crate::experiment_worker::{Experiment, program};
use crate::output::{Output, files::write_all};
use clap::ValueEnum;
use sardonyx_lab::floor::Face;
use sardonyx_lab::tree_inserts::{
    self, Budget, Options, TreeEngine, VALUE_BYTES_MAX, Workers, segment_trees, table,
};
use std::io::Write;
use std::path::PathBuf;

/// Insert random keys durably into a B+-tree and a cache-oblivious B-tree in a mapped segment.
///
/// The trees are serial code for plain memory. Each insert is a transaction of its own, by ordinary
/// loads and stores, and is on stable storage when it returns. Processes share one tree. Afterwards
/// the tree is opened again, its entries are counted, and a sample of each process' keys is compared
/// with its values. The time of a bare durable write in the same run stands above the table.
///
/// Examples:
///   sardonyx tree-inserts --busy
///   sardonyx tree-inserts --tree b-plus --processes 1,2,4 --seconds 5 --output trees
///   sardonyx tree-inserts --preload 1000000 --value-bytes 8 --inserts 100000
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = crate::exit::EXIT_CODES)]
pub struct Arguments {
    /// Only this tree; repeatable
    #[arg(long, value_enum)]
    tree: Vec<Tree>,
    /// Numbers of processes
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2])]
    processes: Vec<u64>,
    /// Threads of one process instead of processes
    #[arg(long)]
    threads: bool,
    /// How long the inserts go on, for each tree and number of processes
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// End after so many inserts, all processes together
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    inserts: Option<u64>,
    /// Entries that the tree holds before
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    preload: u64,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 100)]
    value_bytes: usize,
    /// The seed of the keys and values
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Where to make the trees (they are removed) [default: the system's temporary directory]
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Keep a core awake with a thread of the lowest priority: on virtual machines an idle core may
    /// notice a finished write only at its timer tick, milliseconds late
    #[arg(long)]
    busy: bool,
    /// Write the table as CSV and a picture as SVG to a directory
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Tree {
    /// The B+-tree
    BPlus,
    /// The cache-oblivious B-tree
    CacheOblivious,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let options = self.options()?;
        let bar = progress::spinner("running");
        let report = tree_inserts::run(&options, |what| bar.set_message(what.to_string()));
        bar.finish_and_clear();
        let report = report?;
        if output.is_json() {
            output.value(&report)?;
        } else {
            write!(output, "{}", table(&report))?;
        }
        if let Some(directory) = &self.output {
            let written = write_all(directory, present::files(&report))?;
            crate::page_touch::present::written(&written, output)?;
        }
        Ok(Exit::Done)
    }

    fn options(&self) -> anyhow::Result<Options> {
        let usage = |message: String| Err(UsageError::Arguments(message).into());
        if !(0.0..=3_600.0).contains(&self.seconds) {
            return usage(format!("--seconds {}: choose 0 to 3600", self.seconds));
        }
        if self.value_bytes > VALUE_BYTES_MAX {
            let given = self.value_bytes;
            return usage(format!(
                "--value-bytes {given}: choose at most {VALUE_BYTES_MAX}"
            ));
        }
        if let Some(processes) = self.processes.iter().find(|one| !(1..=64).contains(*one)) {
            return usage(format!("--processes {processes}: choose 1 to 64"));
        }
        Ok(Options {
            engines: self.engines(),
            workers: if self.threads {
                Workers::Threads
            } else {
                Workers::Processes
            },
            worker_counts: self.processes.clone(),
            budget: match self.inserts {
                Some(inserts) => Budget::Inserts(inserts),
                None => Budget::Seconds(self.seconds),
            },
            preload: self.preload,
            value_bytes: self.value_bytes,
            face: if self.busy { Face::Busy } else { Face::Idle },
            directory: self.directory.clone().unwrap_or_else(std::env::temp_dir),
            seed: self.seed,
            program: program(Experiment::TreeInserts)?,
        })
    }

    fn engines(&self) -> Vec<TreeEngine> {
        let trees = [Tree::BPlus, Tree::CacheOblivious];
        let both = trees.into_iter().zip(segment_trees());
        both.filter(|(tree, _)| self.tree.is_empty() || self.tree.contains(tree))
            .map(|(_, engine)| engine)
            .collect()
    }
}
