//! Independent transactions of several processes on one segment (LIBXAC thesis, section 4.4).
//!
//! Tests A, B and C of Figures 4-5 and 4-6: each process has a page of its own. A transaction increments its first
//! integer (A), all its integers (B), or all of them a thousand times (C), with the advisory function, as there. One
//! process runs all transactions; several share them. The time is from the instant at which all begin until the last
//! has finished, over all transactions. The speedup is the time of one process over that (Tables 4.9 and 4.10).
//!
//! Afterwards every page is read in a snapshot: each integer must have been incremented exactly as
//! often as there were transactions.

mod options;
mod show;
mod worker;

pub use options::Options;
pub use show::findings;
pub use worker::serve;

use crate::crew::{self, Program};
use crate::error::{ExperimentError, equal};
use crate::experiment::Report;
use crate::place::Place;
use sardonyx_mapped::{MechanismKind, Memory, MemoryAccess, Options as SegmentOptions, Segment};
use std::path::Path;
use worker::{INTEGERS, Outcome, PAGE_BYTES, Task, integer};

/// The most processes at once.
pub const PROCESSES_LIMIT: u64 = 64;

/// The increments of a transaction on its page.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
pub enum Test {
    /// Increments the first integer.
    A,
    /// Increments every integer.
    B,
    /// Increments every integer a thousand times.
    C,
}

impl Test {
    /// All three.
    pub const ALL: [Test; 3] = [Test::A, Test::B, Test::C];

    /// Its letter.
    pub fn name(self) -> &'static str {
        match self {
            Test::A => "A",
            Test::B => "B",
            Test::C => "C",
        }
    }

    /// The number of integers of the page that are incremented.
    fn integers(self) -> usize {
        match self {
            Test::A => 1,
            Test::B | Test::C => INTEGERS,
        }
    }

    /// The increments of each, in one transaction.
    fn times(self) -> i32 {
        match self {
            Test::A | Test::B => 1,
            Test::C => 1_000,
        }
    }
}

/// The mechanism that finds a transaction's pages.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Mechanism {
    /// Asynchronous write protection.
    Asynchronous,
    /// SIGSEGV and changes of protection.
    Signal,
    /// Typed accesses, announced by the program.
    Explicit,
}

impl Mechanism {
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Asynchronous => "asynchronous",
            Mechanism::Signal => "signal",
            Mechanism::Explicit => "explicit",
        }
    }

    fn kind(self) -> MechanismKind {
        match self {
            Mechanism::Asynchronous => MechanismKind::Asynchronous,
            Mechanism::Signal => MechanismKind::Signal,
            Mechanism::Explicit => MechanismKind::Explicit,
        }
    }
}

/// The times of one test by one mechanism on a number of processes.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Row {
    pub mechanism: Mechanism,
    pub test: Test,
    pub processes: u64,
    pub transactions: u64,
    /// Nanoseconds a transaction of each run: the time of all of them over all transactions.
    pub runs_nanoseconds: Vec<f64>,
    /// The median of the runs.
    pub nanoseconds: f64,
    /// Transactions a second, all together, in the median run.
    pub per_second: f64,
    /// The median time of the first number of processes over this one.
    pub speedup: f64,
    /// Transactions that were run again because of a conflict, in all runs. They are independent, so
    /// there should be none.
    pub conflicts: u64,
}

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figures {
    /// True if transactions were durable.
    pub durable: bool,
    /// True if the advisory function was called.
    pub advice: bool,
    /// The tests.
    pub rows: Vec<Row>,
}

/// Runs the tests, and reports the progress: runs done, and in all.
///
/// # Errors
/// [`ExperimentError::Argument`] for numbers that are not possible; [`ExperimentError::Worker`] if a process failed;
/// [`ExperimentError::Wrong`] if an integer differs from the committed increments.
pub fn run(
    options: &Options,
    program: &Program,
    mut tell: impl FnMut(u64, u64),
) -> Result<Report<Figures>, ExperimentError> {
    options.check()?;
    let place = Place::directory(options.durable.as_deref())?;
    let run = Run {
        options,
        program,
        directory: place.as_ref().map(Place::path),
    };
    Report::measured(options.conditions.face(), run.directory, || {
        let (tests, numbers) = (options.tests(), options.processes());
        let kinds = options.mechanisms.len() * tests.len() * numbers.len();
        let (mut done, all) = (0, (kinds * options.runs) as u64);
        let mut rows = Vec::new();
        for &mechanism in &options.mechanisms {
            for &test in &tests {
                let mut times = vec![(Vec::new(), 0); numbers.len()];
                for number in 0..options.runs {
                    for (place, &processes) in numbers.iter().enumerate() {
                        let (time, conflicts) = run.once(mechanism, test, processes, number)?;
                        times[place].0.push(time);
                        times[place].1 += conflicts;
                        done += 1;
                        tell(done, all);
                    }
                }
                rows.extend(rows_of(options, mechanism, test, times));
            }
        }
        Ok(Figures {
            durable: run.directory.is_some(),
            advice: !options.no_advice,
            rows,
        })
    })
}

fn rows_of(
    options: &Options,
    mechanism: Mechanism,
    test: Test,
    times: Vec<(Vec<f64>, u64)>,
) -> Vec<Row> {
    let first = times.first().map_or(0.0, |(runs, _)| median(runs));
    let row = |(&processes, (runs, conflicts)): (&u64, (Vec<f64>, u64))| {
        let nanoseconds = median(&runs);
        Row {
            mechanism,
            test,
            processes,
            transactions: options.transactions,
            runs_nanoseconds: runs,
            nanoseconds,
            per_second: 1e9 / nanoseconds,
            speedup: first / nanoseconds,
            conflicts,
        }
    };
    options.processes().iter().zip(times).map(row).collect()
}

/// The middle one; of an even number the lower of the two.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

/// A run in progress.
struct Run<'a> {
    options: &'a Options,
    program: &'a Program,
    /// For segments whose transactions are durable.
    directory: Option<&'a Path>,
}

impl Run<'_> {
    /// One run: nanoseconds a transaction, and conflicts.
    fn once(
        &self,
        mechanism: Mechanism,
        test: Test,
        processes: u64,
        run: usize,
    ) -> Result<(f64, u64), ExperimentError> {
        let name = format!(
            "sardonyx-concurrency-{}-{}-{}-{processes}-{run}",
            std::process::id(),
            mechanism.name(),
            test.name(),
        );
        let options = self.options;
        let directory = self.directory.map(|directory| directory.join(&name));
        let tasks: Vec<Task> = (0..processes)
            .map(|process| Task {
                mechanism,
                test,
                advice: !options.no_advice,
                transactions: share(options.transactions, process, processes),
                page: 1 + process,
                name: name.clone(),
                directory: directory.clone(),
            })
            .collect();
        let segment = open(mechanism, &name, directory.as_deref())?;
        let bytes = (1 + processes) * PAGE_BYTES as u64;
        segment.run(|tx| Ok::<_, ExperimentError>(tx.grow_to(bytes)?))?;
        let who = format!("test {} by {} processes", test.name(), processes);
        let outcomes: Vec<Outcome> = crew::run_together(self.program, &who, &tasks)?;
        verify(&segment, &tasks)?;
        drop(segment);
        if let Some(directory) = directory {
            // Remaining files are removed with the directory around it.
            let _ = std::fs::remove_dir_all(directory);
        }
        let began = outcomes.iter().map(|outcome| outcome.began).min();
        let ended = outcomes.iter().map(|outcome| outcome.ended).max();
        let elapsed = ended.zip(began).map_or(0, |(ended, began)| ended - began);
        let conflicts = outcomes.iter().map(|outcome| outcome.conflicts).sum();
        Ok((elapsed as f64 / options.transactions as f64, conflicts))
    }
}

/// The part of one of `processes`, counted from 0.
fn share(all: u64, process: u64, processes: u64) -> u64 {
    all / processes + u64::from(process < all % processes)
}

/// Opens the segment of a run, in the process that measures and in the workers.
fn open(
    mechanism: Mechanism,
    name: &str,
    directory: Option<&Path>,
) -> Result<Segment, ExperimentError> {
    let options = SegmentOptions::new()
        .mechanism(mechanism.kind())
        .address_space_bytes(1 << 30);
    let Some(directory) = directory else {
        return Ok(options.open_volatile(name)?);
    };
    let segment = options.open(directory)?;
    match segment.is_durable() {
        true => Ok(segment),
        false => Err(ExperimentError::NotDurable {
            directory: directory.into(),
        }),
    }
}

/// Every integer of every process' page has the value that its transactions must give.
fn verify(segment: &Segment, tasks: &[Task]) -> Result<(), ExperimentError> {
    let snapshot = segment.snapshot()?;
    for task in tasks {
        let sum = task.transactions as i64 * i64::from(task.test.times());
        for place in 0..INTEGERS {
            let expected = if place < task.test.integers() { sum } else { 0 };
            let found = snapshot.read(integer(task.page, place))?;
            let what = || format!("integer {place} of page {}", task.page);
            equal(what, expected, found.into())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        crate::experiment::options("--test a --processes 1,2 --transactions 10 --runs 1")
    }

    fn program() -> Program {
        Program {
            path: "/missing/program".into(),
            arguments: Vec::new(),
        }
    }

    #[test]
    fn shares_add_up() {
        let shares: Vec<_> = (0..3).map(|process| share(11, process, 3)).collect();
        assert_eq!(shares, [4, 4, 3]);
    }

    #[test]
    fn the_speedup_is_to_the_first_and_of_medians() {
        let times = vec![
            (vec![900.0, 400.0, 500.0], 0),
            (vec![250.0, 1_000.0, 200.0], 3),
        ];
        let rows = rows_of(&options(), Mechanism::Signal, Test::B, times);
        assert_eq!((rows[0].nanoseconds, rows[0].speedup), (500.0, 1.0));
        assert_eq!((rows[1].nanoseconds, rows[1].speedup), (250.0, 2.0));
        assert_eq!((rows[1].per_second, rows[1].conflicts), (4e6, 3));
    }

    #[test]
    fn numbers_that_cannot_work_are_refused() {
        for bad in [
            Options {
                processes: vec![1, 0],
                ..options()
            },
            Options {
                processes: vec![PROCESSES_LIMIT + 1],
                ..options()
            },
            Options {
                transactions: 1,
                ..options()
            },
            Options {
                transactions: 3_000_000,
                ..options()
            },
            Options {
                runs: 0,
                ..options()
            },
        ] {
            let refused = run(&bad, &program(), |_, _| ());
            assert!(
                matches!(refused, Err(ExperimentError::Argument { .. })),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn a_lost_increment_has_no_figure() {
        let name = format!("sardonyx-concurrency-test-{}", std::process::id());
        let segment = open(Mechanism::Explicit, &name, None).unwrap();
        segment
            .run(|tx| {
                tx.grow_to(2 * PAGE_BYTES as u64)?;
                Ok::<_, ExperimentError>(tx.write(integer(1, 0), 4)?)
            })
            .unwrap();
        let task = |transactions| Task {
            mechanism: Mechanism::Explicit,
            test: Test::A,
            advice: true,
            transactions,
            page: 1,
            name: name.clone(),
            directory: None,
        };
        verify(&segment, &[task(4)]).unwrap();
        let wrong = verify(&segment, &[task(5)]).unwrap_err();
        assert!(
            matches!(
                wrong,
                ExperimentError::Wrong {
                    expected: 5,
                    found: 4,
                    ..
                }
            ),
            "{wrong}"
        );
    }
}
