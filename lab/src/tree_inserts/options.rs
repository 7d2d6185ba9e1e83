//! The options of inserts into trees, and the experiment as a whole.

use super::{Budget, Plan, VALUE_BYTES_MAX, Workers, run, segment_trees, show};
use crate::ExperimentError;
use crate::experiment::{About, Conditions, Experiment, Paper, check_seconds};
use crate::progress;
use crate::worker::Role;
use clap::ValueEnum;
use sardonyx_results::Findings;
use std::path::PathBuf;

/// Insert into trees in mapped memory (LIBXAC thesis).
///
/// Insert random keys durably into a B+-tree and a cache-oblivious B-tree in a mapped segment.
///
/// The trees are serial code for plain memory. Each insert is a transaction of its own, by ordinary loads and stores,
/// and is on stable storage when it returns. Processes share one tree. Afterwards the tree is opened again, its entries
/// are counted, and a sample of each process' keys is compared with its values. The table's head has the time of a bare
/// durable write in the same run.
///
/// Examples:
///   sardonyx-lab tree-inserts --busy
///   sardonyx-lab tree-inserts --tree b-plus --processes 1,2,4 --seconds 5 --output trees
///   sardonyx-lab tree-inserts --preload 1000000 --value-bytes 8 --inserts 100000
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Options {
    /// Only this tree; repeatable
    #[arg(long = "tree", value_name = "TREE", value_enum)]
    trees: Vec<Tree>,
    /// Numbers of processes
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2])]
    processes: Vec<u64>,
    /// Threads of one process instead of processes
    #[arg(long)]
    threads: bool,
    /// The time of the inserts, for each tree and number of processes
    #[arg(long, value_name = "S", default_value_t = 2.0)]
    seconds: f64,
    /// End after so many inserts, all processes together
    #[arg(long, value_name = "N", conflicts_with = "seconds")]
    inserts: Option<u64>,
    /// Entries in the tree before the measurement
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    preload: u64,
    /// Bytes of a value
    #[arg(long, value_name = "N", default_value_t = 100)]
    value_bytes: usize,
    /// The seed of the keys and values
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The directory for the trees, which are removed [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    #[arg(hide_default_value = true)]
    directory: PathBuf,
    /// The common options of experiments.
    #[command(flatten)]
    conditions: Conditions,
}

/// The trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Tree {
    /// The B+-tree
    BPlus,
    /// The cache-oblivious B-tree
    CacheOblivious,
}

impl Experiment for Options {
    const ABOUT: About = About {
        name: "tree-inserts",
        source: Some((Paper::Libxac, "section 5")),
    };

    fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    fn run(&self) -> anyhow::Result<Findings> {
        let plan = self.plan()?;
        let report = progress::told(|tell| run(&plan, tell))?;
        Ok(show::findings(&report)?)
    }
}

impl Options {
    fn plan(&self) -> anyhow::Result<Plan> {
        check_seconds(self.seconds)?;
        if self.value_bytes > VALUE_BYTES_MAX {
            let given = self.value_bytes;
            let message = format!("--value-bytes {given}: choose at most {VALUE_BYTES_MAX}");
            return Err(ExperimentError::Usage(message).into());
        }
        if let Some(processes) = self.processes.iter().find(|one| !(1..=64).contains(*one)) {
            let message = format!("--processes {processes}: choose 1 to 64");
            return Err(ExperimentError::Usage(message).into());
        }
        let trees = [Tree::BPlus, Tree::CacheOblivious];
        let both = trees.into_iter().zip(segment_trees());
        let chosen = |tree: &Tree| self.trees.is_empty() || self.trees.contains(tree);
        Ok(Plan {
            engines: both
                .filter(|(tree, _)| chosen(tree))
                .map(|(_, engine)| engine)
                .collect(),
            workers: match self.threads {
                true => Workers::Threads,
                false => Workers::Processes,
            },
            worker_counts: self.processes.clone(),
            budget: match self.inserts {
                Some(inserts) => Budget::Inserts(inserts),
                None => Budget::Seconds(self.seconds),
            },
            preload: self.preload,
            value_bytes: self.value_bytes,
            face: self.conditions.face(),
            directory: self.directory.clone(),
            seed: self.seed,
            program: Role::TreeInserts.program()?,
        })
    }
}
