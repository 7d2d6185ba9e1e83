//! The cost of finding the pages of a transaction (LIBXAC thesis, sections 4.2 and 4.3).
//!
//! - The page-touch experiment: transactions read or write n consecutive pages, n from 1 to 1,024 in powers of two:
//!   plainly (Figure 4-1), and announced by the advisory function (Figure 4-3). [`Cell`].
//! - Pages read again in the next transaction, with nothing changed and with all changed by another
//!   session in between: [`Revisit`].
//! - The additive model `aR + bW + c` over transactions that read R pages and write W: [`Model`].
//! - The steps of the cost per page, Tables 4.3 to 4.6: [`Estimate`].
//! - The time of opening a large snapshot of unchanged pages: [`SnapshotOpening`].
//!
//! Each [`Subject`] runs the same transactions in the same run, one after the other for each number of pages. So
//! disturbances of the machine affect all of them. Each kind of transaction has memory of its own, so that earlier
//! writes of others have no effect on it.

mod estimate;
mod model;
mod options;
mod show;
mod snapshot;
mod subject;

pub use estimate::Estimate;
pub use model::{Model, Point};
pub use options::Options;
pub use show::findings;
pub use snapshot::SnapshotOpening;
pub use subject::Subject;

use crate::error::ExperimentError;
use crate::experiment::Report;
use crate::floor::Distribution;
use crate::floor::decomposition::{Decomposition, decompose};
use crate::floor::libxac::Access;
use crate::place::Place;
use std::path::Path;
use subject::{Runner, Took, Touch};

/// Transactions that are run before those that are timed.
const WARM_UP: usize = 2;

/// The most pages of a transaction.
pub const PAGES_LIMIT: usize = 1 << 16;

/// The most measurements of each step of the decomposition.
const DECOMPOSITION_REPETITIONS: usize = 501;

/// The way in which a transaction announces its pages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Advice {
    /// Not at all (Figure 4-1).
    None,
    /// Each page before its access (Figure 4-3).
    Page,
    /// All of them at once, before the first access.
    Range,
}

impl Advice {
    /// Its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Advice::None => "none",
            Advice::Page => "page",
            Advice::Range => "range",
        }
    }
}

/// The transactions of the page-touch experiment, in order.
const KINDS: [(Access, Advice); 6] = [
    (Access::Read, Advice::None),
    (Access::Write, Advice::None),
    (Access::Read, Advice::Page),
    (Access::Write, Advice::Page),
    (Access::Read, Advice::Range),
    (Access::Write, Advice::Range),
];

/// The times of one transaction by one subject.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Cell {
    pub subject: Subject,
    /// The access to the pages.
    pub access: Access,
    pub advice: Advice,
    pub pages: usize,
    /// The number of runs.
    pub repetitions: usize,
    /// The whole transaction, begin and commit with it, over its pages.
    pub per_page: Distribution,
    /// The part of it in which the recipe of the LIBXAC thesis copied committed pages back, over its pages; the thesis
    /// does not count it. 0 for the others.
    pub copy_back_nanoseconds: f64,
}

/// Pages that were read in the last transaction and are read again in the next.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Revisit {
    pub subject: Subject,
    /// True if another session changed all of them in between.
    pub changed: bool,
    pub pages: usize,
    /// The number of runs.
    pub repetitions: usize,
    /// The whole second transaction over its pages.
    pub per_page: Distribution,
}

/// All figures of one run.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figures {
    /// True if transactions were durable.
    pub durable: bool,
    /// The page-touch experiment.
    pub cells: Vec<Cell>,
    /// Pages read again.
    pub revisits: Vec<Revisit>,
    /// The additive model.
    pub models: Vec<Model>,
    /// The cost of each step by itself (Tables 4.3 to 4.5).
    pub decomposition: Decomposition,
    /// The sums of the steps, and the measured cost (Table 4.6).
    pub estimates: Vec<Estimate>,
    pub snapshot: Option<SnapshotOpening>,
}

/// The progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Steps done.
    pub done: u64,
    /// Steps in all.
    pub all: u64,
}

/// Runs the experiments, and reports the progress after each step.
///
/// # Errors
/// [`ExperimentError::Argument`] for numbers that are not possible; errors of a segment, the recipe or the directory;
/// [`ExperimentError::Wrong`] if memory differs from the committed values.
pub fn run(
    options: &Options,
    tell: impl FnMut(Progress),
) -> Result<Report<Figures>, ExperimentError> {
    options.check()?;
    let place = Place::directory(options.durable.as_deref())?;
    let directory = place.as_ref().map(Place::path);
    let mut run = Run::new(options, directory, tell);
    Report::measured(options.conditions.face(), directory, || {
        let decomposition = decompose(options.repetitions.min(DECOMPOSITION_REPETITIONS))?;
        run.step();
        let cells = run.page_touch()?;
        let revisits = run.with_runners("revisits", Run::revisits)?;
        let models = run.with_runners("model", Run::models)?;
        let snapshot = match options.snapshot_bytes {
            0 => None,
            bytes => Some(snapshot::measure(bytes, options.repetitions)?),
        };
        run.step();
        Ok(Figures {
            durable: directory.is_some(),
            estimates: estimate::all(&cells, &decomposition, options.pages),
            cells,
            revisits,
            models,
            decomposition,
            snapshot,
        })
    })
}

type Runners = [(Subject, Runner)];

struct Run<'a, F> {
    options: &'a Options,
    directory: Option<&'a Path>,
    subjects: Vec<Subject>,
    progress: Progress,
    tell: F,
}

impl<'a, F: FnMut(Progress)> Run<'a, F> {
    fn new(options: &'a Options, directory: Option<&'a Path>, tell: F) -> Self {
        let subjects = options.chosen();
        let mut run = Run {
            options,
            directory,
            subjects,
            progress: Progress { done: 0, all: 0 },
            tell,
        };
        let cells = KINDS.len() * sizes(options.pages).count() * run.subjects.len();
        let others = 2 * run.subjects.len();
        run.progress.all = (cells + others + 2) as u64;
        run
    }

    fn step(&mut self) {
        self.progress.done += 1;
        (self.tell)(self.progress);
    }

    /// Makes new memory for all subjects, so that earlier steps have no effect, and removes its files afterwards.
    fn with_runners<T>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Self, &mut Runners) -> Result<T, ExperimentError>,
    ) -> Result<T, ExperimentError> {
        let directory = self.directory.map(|directory| directory.join(name));
        let mut runners = Vec::new();
        for &subject in &self.subjects {
            let runner = Runner::new(subject, self.options.pages, directory.as_deref())?;
            runners.push((subject, runner));
        }
        let outcome = body(self, &mut runners);
        for (_, runner) in &mut runners {
            runner.check()?;
        }
        drop(runners);
        if let Some(directory) = directory {
            // Remaining files are removed with the directory around it.
            let _ = std::fs::remove_dir_all(directory);
        }
        outcome
    }

    fn page_touch(&mut self) -> Result<Vec<Cell>, ExperimentError> {
        let mut cells = Vec::new();
        for (access, advice) in KINDS {
            let verb = match access {
                Access::Read => "read",
                Access::Write => "write",
            };
            let name = format!("{verb}-{}", advice.name());
            self.with_runners(&name, |run, runners| {
                for pages in sizes(run.options.pages) {
                    run.cells_of(runners, (access, advice), pages, &mut cells)?;
                }
                Ok(())
            })?;
        }
        Ok(cells)
    }

    fn cells_of(
        &mut self,
        runners: &mut Runners,
        (access, advice): (Access, Advice),
        pages: usize,
        cells: &mut Vec<Cell>,
    ) -> Result<(), ExperimentError> {
        let repetitions = self.options.repetitions;
        let (reads, writes) = match access {
            Access::Read => (pages, 0),
            Access::Write => (0, pages),
        };
        let touch = Touch {
            reads,
            writes,
            advice,
        };
        for (subject, runner) in runners {
            self.step();
            if !subject.takes(advice) {
                continue;
            }
            let took = repeat(runner, touch, repetitions)?;
            let copy_back = took.iter().map(|took| per_page(took.copy_back, pages));
            cells.push(Cell {
                subject: *subject,
                access,
                advice,
                pages,
                repetitions,
                copy_back_nanoseconds: Distribution::of(copy_back.collect()).median_nanoseconds,
                per_page: distribution(&took, pages),
            });
        }
        Ok(())
    }

    fn revisits(&mut self, runners: &mut Runners) -> Result<Vec<Revisit>, ExperimentError> {
        let mut revisits = Vec::new();
        let (pages, repetitions) = (self.options.pages, self.options.repetitions);
        let touch = Touch {
            reads: pages,
            writes: 0,
            advice: Advice::None,
        };
        for (subject, runner) in runners {
            self.step();
            if *subject == Subject::Libxac {
                continue;
            }
            for changed in [false, true] {
                let mut took = Vec::with_capacity(repetitions);
                for _ in 0..repetitions {
                    runner.run(touch)?;
                    if changed {
                        runner.changed_by_another(pages)?;
                    }
                    took.push(runner.run(touch)?);
                }
                runner.check()?;
                revisits.push(Revisit {
                    subject: *subject,
                    changed,
                    pages,
                    repetitions,
                    per_page: distribution(&took, pages),
                });
            }
        }
        Ok(revisits)
    }

    fn models(&mut self, runners: &mut Runners) -> Result<Vec<Model>, ExperimentError> {
        let mut models = Vec::new();
        for (subject, runner) in runners {
            self.step();
            models.extend(model::fit(*subject, runner, self.options)?);
            runner.check()?;
        }
        Ok(models)
    }
}

/// The powers of two up to `most`.
fn sizes(most: usize) -> impl Iterator<Item = usize> {
    let doubled = |size: &usize| size.checked_mul(2);
    std::iter::successors(Some(1), doubled).take_while(move |size| *size <= most)
}

/// Runs a transaction, first as a warm-up, then repeatedly.
fn repeat(
    runner: &mut Runner,
    touch: Touch,
    repetitions: usize,
) -> Result<Vec<Took>, ExperimentError> {
    for _ in 0..WARM_UP {
        runner.run(touch)?;
    }
    (0..repetitions).map(|_| runner.run(touch)).collect()
}

fn per_page(time: std::time::Duration, pages: usize) -> f64 {
    time.as_nanos() as f64 / pages as f64
}

fn distribution(took: &[Took], pages: usize) -> Distribution {
    Distribution::of(
        took.iter()
            .map(|took| per_page(took.total, pages))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
