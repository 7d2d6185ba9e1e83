//! `concurrency`: independent transactions of several processes on one segment.
//!
//! [`present`] prints what the crate `experiments` found and makes files of it.
//!
//! Source: the thesis on memory-mapped transactions (paper 002), section 4.4.

mod present;

use crate::debit_credit::place::Place;
use crate::debit_credit::progress;
use crate::exit::Exit;
use crate::experiment_worker::{Experiment, program};
use crate::output::{Output, files::write_all};
use anyhow::Context;
use clap::ValueEnum;
use sardonyx_lab::concurrency::{self, Mechanism, Options, Test};
use sardonyx_lab::floor::Face;
use std::path::PathBuf;

/// Run independent transactions by several processes on one segment, and measure the speedup.
///
/// Each process has a page of its own. A transaction increments the page's first integer (test A),
/// all of its integers (B), or all of them a thousand times (C), with the page announced, as in the
/// thesis. The same number of transactions is run by one process and shared by several; all begin
/// together. Afterwards every integer must have been incremented as often as was committed. With
/// --durable each transaction waits until it is on stable storage, and the time of a bare durable
/// write in the same run stands beside it.
///
/// Examples:
///   sardonyx concurrency
///   sardonyx concurrency --durable ./segments --busy --test a --processes 1,2,4
///   sardonyx concurrency --mechanism explicit --runs 9 --output concurrency
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment, after_help = crate::exit::EXIT_CODES)]
pub struct Arguments {
    /// Run only this test; repeatable
    #[arg(long, value_enum)]
    test: Vec<TestChoice>,
    /// By this mechanism; repeatable [default: asynchronous]
    #[arg(long, value_enum)]
    mechanism: Vec<MechanismChoice>,
    /// Numbers of processes; the speedup is to the first [default: 1,2; durable: 1,2,4]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    processes: Vec<u64>,
    /// Transactions, all processes together
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    transactions: u64,
    /// How often each is run, in turns; the median is reported
    #[arg(long, value_name = "N", default_value_t = 5)]
    runs: usize,
    /// Do not announce the page
    #[arg(long)]
    no_advice: bool,
    /// Make the segments in a new directory, which is removed at the end, and wait for durability
    #[arg(long, value_name = "DIR")]
    durable: Option<PathBuf>,
    /// Keep a core awake with a thread of the lowest priority: on virtual machines an idle core may
    /// notice a finished write only at its timer tick, milliseconds late
    #[arg(long)]
    busy: bool,
    /// Write the table as CSV and a picture as SVG to a directory
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// The thesis' tests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum TestChoice {
    /// Increments the first integer of a page
    A,
    /// Increments every integer
    B,
    /// Increments every integer a thousand times
    C,
}

/// How pages are found out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum MechanismChoice {
    /// Asynchronous write protection
    Asynchronous,
    /// SIGSEGV and changes of protection
    Signal,
    /// Typed accesses, announced by the program
    Explicit,
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        let place = self.durable.as_deref().map(Place::claim).transpose()?;
        if let Some(place) = &place {
            let path = place.path();
            std::fs::create_dir_all(path)
                .with_context(|| format!("making the directory {}", path.display()))?;
        }
        let options = Options {
            tests: self.tests(),
            mechanisms: self.mechanisms(),
            processes: self.processes(),
            transactions: self.transactions,
            runs: self.runs,
            advice: !self.no_advice,
            durable: place.as_ref().map(|place| place.path().to_path_buf()),
            face: if self.busy { Face::Busy } else { Face::Idle },
            program: program(Experiment::Concurrency)?,
        };
        let bar = progress::bar("running", 1);
        let report = concurrency::run(&options, |done, all| {
            bar.set_length(all);
            bar.set_position(done);
        });
        bar.finish_and_clear();
        let report = report?;
        if output.is_json() {
            output.value(&report)?;
        } else {
            present::print(&report, output)?;
        }
        if let Some(directory) = &self.output {
            let written = write_all(directory, present::files(&report))?;
            crate::page_touch::present::written(&written, output)?;
        }
        Ok(Exit::Done)
    }

    fn tests(&self) -> Vec<Test> {
        let chosen = self.test.iter().map(|test| match test {
            TestChoice::A => Test::A,
            TestChoice::B => Test::B,
            TestChoice::C => Test::C,
        });
        match self.test.is_empty() {
            true => Test::ALL.to_vec(),
            false => chosen.collect(),
        }
    }

    fn mechanisms(&self) -> Vec<Mechanism> {
        let chosen = self.mechanism.iter().map(|mechanism| match mechanism {
            MechanismChoice::Asynchronous => Mechanism::Asynchronous,
            MechanismChoice::Signal => Mechanism::Signal,
            MechanismChoice::Explicit => Mechanism::Explicit,
        });
        match self.mechanism.is_empty() {
            true => vec![Mechanism::Asynchronous],
            false => chosen.collect(),
        }
    }

    fn processes(&self) -> Vec<u64> {
        match (self.processes.is_empty(), &self.durable) {
            (false, _) => self.processes.clone(),
            (true, None) => vec![1, 2],
            (true, Some(_)) => vec![1, 2, 4],
        }
    }
}
