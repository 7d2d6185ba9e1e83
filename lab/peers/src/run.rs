//! The comparison: every engine, every group size, each cell for a fixed time, checked afterwards.
//!
//! A cell is a closed loop with one client that hands over a whole group and waits: the response time of a transaction
//! is the time of its group. Drawing the requests is not counted.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sardonyx_benchmark::debit_credit::requests::{Generator, Scale};
use sardonyx_benchmark::floor::Face;
use sardonyx_benchmark::place::Place;
use sardonyx_benchmark::responses::{Responses, Summary};
use sardonyx_lab::Report;

use crate::peer::{Engine, Failure, Peer, PeerError};

/// The plan of a run.
#[derive(Clone)]
pub struct Options {
    /// The engines, in the order in which they run.
    pub engines: Vec<Engine>,
    /// The numbers of records of the bank.
    pub scale: Scale,
    /// The numbers of transactions that share a sync: one cell each.
    pub groups: Vec<usize>,
    /// The time of a cell, not counting the drawing of requests; at least one group is run.
    pub time: Duration,
    /// The state of the disk during the whole run.
    pub face: Face,
    /// The directory for the banks (one after the other, each removed after its cells).
    pub directory: PathBuf,
    /// The seed of the requests.
    pub seed: u64,
}

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figures {
    /// The numbers of records of the bank.
    pub scale: Scale,
    /// The engines, in order.
    pub peers: Vec<PeerReport>,
}

/// The figures of one engine.
#[derive(Clone, Debug, serde::Serialize)]
pub struct PeerReport {
    pub name: &'static str,
    pub settings: &'static str,
    /// The time of making the bank, in seconds.
    pub load_seconds: f64,
    /// One cell for each group size, in order.
    pub cells: Vec<Cell>,
}

/// The figures of one engine at one group size.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Cell {
    /// The number of transactions that shared a sync.
    pub group: usize,
    /// Durable transactions a second.
    pub transactions_per_second: f64,
    /// Response times.
    pub responses: Summary,
}

impl PeerReport {
    /// The cell with the highest rate; `None` if there is no cell.
    pub fn best(&self) -> Option<&Cell> {
        let rate = |cell: &&Cell| cell.transactions_per_second;
        self.cells
            .iter()
            .max_by(|one, other| rate(one).total_cmp(&rate(other)))
    }
}

/// Runs all cells and calls `progress` with each step that begins.
///
/// # Errors
/// [`PeerError`] at the first engine that fails, or that does not hold the acknowledged transactions; its directory is
/// removed then, too.
pub fn run(
    options: &Options,
    mut progress: impl FnMut(&str),
) -> Result<Report<Figures>, PeerError> {
    let nothing = options.engines.is_empty() || options.groups.is_empty();
    if nothing || options.groups.contains(&0) {
        return Err(PeerError::Nothing);
    }
    progress("bare durable writes");
    Report::measured(options.face, Some(&options.directory), || {
        let mut peers = Vec::with_capacity(options.engines.len());
        for engine in &options.engines {
            peers.push(run_engine(engine, options, &mut progress)?);
        }
        Ok(Figures {
            scale: options.scale,
            peers,
        })
    })
}

fn run_engine(
    engine: &Engine,
    options: &Options,
    progress: &mut impl FnMut(&str),
) -> Result<PeerReport, PeerError> {
    let in_directory = |source| PeerError::Directory {
        engine: engine.name,
        source,
    };
    let directory =
        Place::temporary(&options.directory, "sardonyx-peers-").map_err(in_directory)?;
    progress(&format!("{}: making the bank", engine.name));
    let start = Instant::now();
    let mut bank = Bank::open(engine, directory.path(), options)?;
    let load_seconds = start.elapsed().as_secs_f64();
    let mut cells = Vec::with_capacity(options.groups.len());
    for &group in &options.groups {
        progress(&format!("{}: {group} transactions a sync", engine.name));
        cells.push(bank.run_cell(group, options.time)?);
        bank.check()?;
    }
    bank.reopen(directory.path(), options)?.check()?;
    directory.close().map_err(in_directory)?;
    Ok(PeerReport {
        name: engine.name,
        settings: engine.settings,
        load_seconds,
        cells,
    })
}

/// A peer together with its expected contents.
struct Bank<'a> {
    engine: &'a Engine,
    peer: Box<dyn Peer>,
    generator: Generator,
    transactions: u64,
    amount: i64,
}

impl<'a> Bank<'a> {
    fn open(engine: &'a Engine, directory: &Path, options: &Options) -> Result<Self, PeerError> {
        let peer = (engine.open)(directory, options.scale)
            .map_err(|source| failed(engine, "open the bank", source))?;
        let generator = Generator::standard(options.scale, options.seed);
        Ok(Bank {
            engine,
            peer,
            generator,
            transactions: 0,
            amount: 0,
        })
    }

    /// Closes the bank and opens it again, to check the contents of the disk.
    fn reopen(self, directory: &Path, options: &Options) -> Result<Self, PeerError> {
        let Bank {
            engine,
            peer,
            transactions,
            amount,
            ..
        } = self;
        drop(peer);
        Ok(Bank {
            transactions,
            amount,
            ..Bank::open(engine, directory, options)?
        })
    }

    fn run_cell(&mut self, group: usize, time: Duration) -> Result<Cell, PeerError> {
        let mut responses = Responses::new();
        let mut requests = Vec::with_capacity(group);
        let mut busy = Duration::ZERO;
        while responses.count() == 0 || busy < time {
            requests.clear();
            self.generator.fill(&mut requests, group);
            let start = Instant::now();
            self.peer
                .run_group(&requests)
                .map_err(|source| failed(self.engine, "run a group", source))?;
            let elapsed = start.elapsed();
            busy += elapsed;
            responses.record_n(elapsed, group as u64);
            self.transactions += group as u64;
            self.amount += requests.iter().map(|request| request.amount).sum::<i64>();
        }
        Ok(Cell {
            group,
            transactions_per_second: responses.count() as f64 / busy.as_secs_f64(),
            responses: responses
                .summary()
                .expect("at least one group was recorded"),
        })
    }

    /// Compares the bank with all acknowledged transactions.
    fn check(&mut self) -> Result<(), PeerError> {
        let check = |source| failed(self.engine, "check the bank", source);
        let sums = self.peer.sums().map_err(check)?;
        let lines = self.peer.history_lines().map_err(check)?;
        let right = sums.agree() && sums.history == self.amount && lines == self.transactions;
        if right {
            return Ok(());
        }
        Err(PeerError::Wrong {
            engine: self.engine.name,
            sums,
            lines,
            transactions: self.transactions,
            amount: self.amount,
        })
    }
}

fn failed(engine: &Engine, operation: &'static str, source: Failure) -> PeerError {
    PeerError::Engine {
        engine: engine.name,
        operation,
        source,
    }
}
