//! The common part of all experiments: their names and papers, their conditions, and their reports.
//!
//! An experiment is the type of its options: [`Experiment::run`] measures, checks the results, and returns
//! [`Findings`], which are printed and written in one place ([`run`]).

use crate::error::BenchmarkError;
use crate::floor::{Face, SyncLatency, sync_latency};
use anyhow::Context;
use sardonyx_results::Findings;
use sardonyx_results::findings::make_directory;
use sardonyx_results::units::time;
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The number of bare durable writes timed in each state of the disk.
const SYNC_COUNT: usize = 200;

/// The papers that experiments come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paper {
    /// Li & Naughton, *Multiprocessor Main Memory Transaction Processing*.
    Tpk,
    /// The LIBXAC thesis on memory-mapped transactions.
    Libxac,
    /// Hasse & Weikum, *A Performance Evaluation of Multi-Level Transaction Management*.
    Dasdbs,
}

impl fmt::Display for Paper {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Paper::Tpk => "TPK paper",
            Paper::Libxac => "LIBXAC thesis",
            Paper::Dasdbs => "DASDBS paper",
        })
    }
}

/// An experiment's name and source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct About {
    /// Its name, which is its verb.
    pub name: &'static str,
    /// The paper and the sections whose measurements it repeats; `None` for one of our own.
    pub source: Option<(Paper, &'static str)>,
}

impl fmt::Display for About {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Some((paper, sections)) => write!(formatter, "{} ({paper}, {sections})", self.name),
            None => write!(formatter, "{}", self.name),
        }
    }
}

/// An experiment, which is the type of its options.
pub trait Experiment: clap::Args {
    /// Its name and source.
    const ABOUT: About;

    /// Its common options.
    fn conditions(&self) -> &Conditions;

    /// Measures, and checks the results.
    ///
    /// # Errors
    /// The reason why it has no figures: [`BenchmarkError`] for reasons that any experiment can have.
    fn run(&self) -> anyhow::Result<Findings>;
}

/// Options that all experiments have.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Conditions {
    /// Keep a core awake by a thread of the lowest priority: idle virtual cores may notice a finished write late
    #[arg(long, visible_alias = "spinner")]
    pub busy: bool,
    /// Write tables as CSV and pictures as SVG to a directory
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

impl Conditions {
    /// The state of the disk in which the experiment runs.
    pub fn face(&self) -> Face {
        if self.busy { Face::Busy } else { Face::Idle }
    }
}

/// Options of experiments that make databases for themselves and remove them.
#[derive(Clone, Debug, clap::Args)]
pub struct OwnDatabases {
    /// The seed of the draws; the same seed draws the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// The directory for the databases, which are removed [default: the system's temporary directory]
    #[arg(long, value_name = "DIR", default_value_os_t = std::env::temp_dir())]
    #[arg(hide_default_value = true)]
    pub directory: PathBuf,
    /// The common options of experiments.
    #[command(flatten)]
    pub conditions: Conditions,
}

/// Figures with the state of the disk in which they were measured.
#[derive(Clone, Debug, Serialize)]
pub struct Report<F> {
    /// The state of the disk during the whole run.
    pub face: Face,
    /// Bare durable writes of the same run, in both states; absent if nothing was durable.
    pub sync_latency: Option<SyncLatency>,
    /// The figures.
    #[serde(flatten)]
    pub figures: F,
}

impl<F> Report<F> {
    /// Times bare durable writes in `directory`, if one is given, and then measures in this state.
    ///
    /// # Errors
    /// The error of the disk, the system or `measure`.
    pub fn measured<E: From<BenchmarkError>>(
        face: Face,
        directory: Option<&Path>,
        measure: impl FnOnce() -> Result<F, E>,
    ) -> Result<Self, E> {
        let latency = |directory| sync_latency(directory, SYNC_COUNT);
        let sync_latency = directory.map(latency).transpose();
        let sync_latency = sync_latency.map_err(BenchmarkError::from)?;
        let _face = face.enter().map_err(BenchmarkError::from)?;
        Ok(Report {
            face,
            sync_latency,
            figures: measure()?,
        })
    }

    /// The bare durable write of the same run, for people; empty if nothing was durable.
    pub fn sync_line(&self) -> String {
        let Some(latency) = &self.sync_latency else {
            return String::new();
        };
        format!(
            "bare durable write of 4 KiB: median {} with the cores as they are, {} with a core kept \
             busy; this run: {}\n",
            time(latency.idle.median_microseconds / 1e6),
            time(latency.busy.median_microseconds / 1e6),
            self.face,
        )
    }
}

/// Runs an experiment; prints the findings, as `json` or as text, and writes them to files if the options ask for it.
/// Returns true if the claim of the experiment holds.
///
/// # Errors
/// The experiment's own, and those of printing and writing.
pub fn run<E: Experiment>(
    experiment: &E,
    json: bool,
    output: &mut impl Write,
) -> anyhow::Result<bool> {
    let directory = experiment.conditions().output.as_deref();
    // Before the long part.
    directory.map(make_directory).transpose()?;
    let findings = experiment.run()?;
    findings.print(json, &mut *output)?;
    let written = findings.write(directory).context("after the run")?;
    // Programs know the files; their JSON has nothing else.
    for file in written.iter().filter(|_| !json) {
        writeln!(output, "written: {}", file.display())?;
    }
    Ok(findings.holds())
}

/// Refuses a number of seconds that no run can last.
///
/// # Errors
/// [`BenchmarkError::Usage`], which names the option.
pub fn check_seconds(seconds: f64) -> Result<(), BenchmarkError> {
    match (0.0..=3_600.0).contains(&seconds) {
        true => Ok(()),
        false => Err(BenchmarkError::Usage(format!(
            "--seconds {seconds}: choose 0 to 3600"
        ))),
    }
}

/// Options as the command line gives them, for tests.
///
/// # Panics
/// The line is not valid for these options.
#[doc(hidden)]
pub fn options<O: clap::Args>(line: &str) -> O {
    let command = O::augment_args(clap::Command::new("experiment"));
    let words = ["experiment"].into_iter().chain(line.split_whitespace());
    let matches = command.try_get_matches_from(words);
    O::from_arg_matches(&matches.expect("a command line")).expect("options")
}
