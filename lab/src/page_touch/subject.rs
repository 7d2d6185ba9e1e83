//! The subjects: a segment by one of its mechanisms, or the recipe of the LIBXAC thesis.
//!
//! The memory is the same for all: an integer at the start of each of n consecutive pages. A transaction loads from the
//! first pages and stores into those after them; every stored value is new, so that every written page has changed. The
//! expected values are kept separately and compared.

use super::Advice;
use crate::error::{ExperimentError, equal};
use crate::floor::libxac::Recipe;
use sardonyx_mapped::{
    Access, MechanismKind, Memory, MemoryAccess, Options, P, Segment, Session, Transaction,
};
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::time::{Duration, Instant};

const PAGE_BYTES: u64 = 4096;

/// Pages before the first that is touched: a typed place cannot be at 0.
const PAGES_BEFORE: u64 = 1;

/// A number of transactions that means all.
const EVER: u32 = u32::MAX;

/// The subject that runs the transactions.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A segment with the asynchronous mechanism by default: pages read stay in the read set until another session
    /// changes them.
    AsynchronousRetained,
    /// The same, with exact sets: the read set is cleared after each transaction.
    AsynchronousExact,
    /// A segment with signals and changes of protection.
    Signal,
    /// A segment by typed reads and writes, which the program announces itself.
    Explicit,
    /// The recipe of the LIBXAC thesis, built again.
    Libxac,
}

impl Subject {
    /// All of them, the baseline last.
    pub const ALL: [Subject; 5] = [
        Subject::AsynchronousRetained,
        Subject::AsynchronousExact,
        Subject::Signal,
        Subject::Explicit,
        Subject::Libxac,
    ];

    /// Its name in files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Subject::AsynchronousRetained => "asynchronous-retained",
            Subject::AsynchronousExact => "asynchronous-exact",
            Subject::Signal => "signal",
            Subject::Explicit => "explicit",
            Subject::Libxac => "libxac",
        }
    }

    /// Returns true if that kind of advice has an effect.
    pub fn takes(self, advice: Advice) -> bool {
        match self {
            Subject::AsynchronousRetained | Subject::AsynchronousExact | Subject::Signal => true,
            Subject::Explicit => advice == Advice::None,
            Subject::Libxac => advice != Advice::Range,
        }
    }

    /// The segment's mechanism; `None` for the recipe.
    pub(super) fn mechanism(self) -> Option<MechanismKind> {
        match self {
            Subject::AsynchronousRetained | Subject::AsynchronousExact => {
                Some(MechanismKind::Asynchronous)
            }
            Subject::Signal => Some(MechanismKind::Signal),
            Subject::Explicit => Some(MechanismKind::Explicit),
            Subject::Libxac => None,
        }
    }
}

/// The pages of a transaction: loads from those before `reads`, stores into the next `writes`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Touch {
    pub reads: usize,
    pub writes: usize,
    pub advice: Advice,
}

/// The time of one transaction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Took {
    /// From begin to commit, which is durable if the segment is.
    pub total: Duration,
    /// The part in which the recipe copied committed pages back.
    pub copy_back: Duration,
}

/// A subject at work.
pub(super) enum Runner {
    Segment(Box<SegmentRunner>),
    Recipe(Box<Recipe>),
}

impl Runner {
    /// Makes memory of `pages` pages; in `directory`, durably, if one is given.
    pub(super) fn new(
        subject: Subject,
        pages: usize,
        directory: Option<&Path>,
    ) -> Result<Self, ExperimentError> {
        let Some(mechanism) = subject.mechanism() else {
            return Ok(Runner::Recipe(Box::new(Recipe::new(pages)?)));
        };
        let runner = SegmentRunner::new(subject, mechanism, pages, directory)?;
        Ok(Runner::Segment(Box::new(runner)))
    }

    pub(super) fn run(&mut self, touch: Touch) -> Result<Took, ExperimentError> {
        match self {
            Runner::Segment(runner) => runner.run(touch),
            Runner::Recipe(recipe) => {
                let advised = touch.advice != Advice::None;
                let took = recipe.mixed_transaction(touch.reads, touch.writes, advised)?;
                Ok(Took {
                    total: took.total,
                    copy_back: took.copy_back,
                })
            }
        }
    }

    /// Compares all of the memory, as other sessions see it, with the committed values.
    pub(super) fn check(&mut self) -> Result<(), ExperimentError> {
        match self {
            Runner::Segment(runner) => runner.check(),
            // Reads all pages that it ever wrote, and compares the sum.
            Runner::Recipe(recipe) => {
                recipe.measure(crate::floor::libxac::Access::Read, false, 1, 1)?;
                Ok(())
            }
        }
    }

    /// Another session of the same segment stores into the first `writes` pages.
    pub(super) fn changed_by_another(&mut self, writes: usize) -> Result<(), ExperimentError> {
        match self {
            Runner::Segment(runner) => runner.changed_by_another(writes),
            Runner::Recipe(_) => Ok(()),
        }
    }
}

/// A segment and the session in which its transactions run.
pub(super) struct SegmentRunner {
    segment: Segment,
    session: Session,
    other: Session,
    typed: bool,
    durable: bool,
    /// The last committed value of each page.
    committed: Vec<i32>,
    /// The number of transactions that wrote: the next one's values differ from those before.
    writes: i32,
}

impl SegmentRunner {
    fn new(
        subject: Subject,
        mechanism: MechanismKind,
        pages: usize,
        directory: Option<&Path>,
    ) -> Result<Self, ExperimentError> {
        let options = Options::new()
            .mechanism(mechanism)
            .address_space_bytes(1 << 30);
        let segment = match directory {
            Some(directory) => options.open(directory.join(subject.name()))?,
            None => options.open_private()?,
        };
        if let (Some(directory), false) = (directory, segment.is_durable()) {
            let directory = directory.join(subject.name());
            return Err(ExperimentError::NotDurable { directory });
        }
        let bytes = (PAGES_BEFORE + pages as u64) * PAGE_BYTES;
        segment.run(|tx| Ok::<_, ExperimentError>(tx.grow_to(bytes)?))?;
        let mut session = segment.session()?;
        let other = segment.session()?;
        if subject == Subject::AsynchronousExact {
            session.read_exactly(EVER);
        }
        Ok(SegmentRunner {
            typed: subject == Subject::Explicit,
            durable: directory.is_some(),
            committed: vec![0; pages],
            writes: 0,
            segment,
            session,
            other,
        })
    }

    fn run(&mut self, touch: Touch) -> Result<Took, ExperimentError> {
        let Touch { reads, writes, .. } = touch;
        if writes > 0 {
            self.writes = self.writes.wrapping_add(1);
        }
        let start = Instant::now();
        let mut transaction = Transaction::begin(&mut self.session, Default::default())?;
        let sum = match self.typed {
            true => typed(&mut transaction, touch, self.writes)?,
            false => ordinary(&mut transaction, touch, self.writes)?,
        };
        let position = transaction.commit()?;
        if self.durable {
            self.segment.ticket(position).wait()?;
        }
        let total = start.elapsed();
        for page in reads..reads + writes {
            self.committed[page] = value(page, self.writes);
        }
        let expected = self.committed[..reads].iter().copied().map(i64::from).sum();
        equal(|| "the sum of the pages read".into(), expected, sum)?;
        Ok(Took {
            total,
            copy_back: Duration::ZERO,
        })
    }

    fn changed_by_another(&mut self, writes: usize) -> Result<(), ExperimentError> {
        self.writes = self.writes.wrapping_add(1);
        let mut transaction = Transaction::begin(&mut self.other, Default::default())?;
        for page in 0..writes {
            transaction.write(place(page), value(page, self.writes))?;
            self.committed[page] = value(page, self.writes);
        }
        transaction.commit()?;
        Ok(())
    }

    /// As if a committed page had not been committed.
    #[cfg(test)]
    pub(super) fn forget_a_commit(&mut self) {
        self.committed[1] = -7;
    }

    fn check(&mut self) -> Result<(), ExperimentError> {
        let snapshot = self.segment.snapshot()?;
        for (page, &expected) in self.committed.iter().enumerate() {
            let found = snapshot.read(place(page))?;
            equal(|| format!("page {page}"), expected.into(), found.into())?;
        }
        Ok(())
    }
}

/// Figures 4-1 and 4-3 store the page's number; with the transaction's added, a lost store shows.
fn value(page: usize, transaction: i32) -> i32 {
    (page as i32).wrapping_add(transaction)
}

fn place(page: usize) -> P<i32> {
    P::from_offset((PAGES_BEFORE + page as u64) * PAGE_BYTES)
}

fn bytes_of(page: usize) -> Range<usize> {
    let start = place(page).offset() as usize;
    start..start + size_of::<i32>()
}

/// Ordinary loads and stores, as in Figures 4-1 and 4-3.
fn ordinary(tx: &mut Transaction<'_>, touch: Touch, number: i32) -> Result<i64, ExperimentError> {
    let Touch {
        reads,
        writes,
        advice,
    } = touch;
    advise_all(tx, 0..reads, Access::Read, advice)?;
    let mut sum = 0;
    for page in 0..reads {
        advise_one(tx, page, Access::Read, advice)?;
        let mut integer = [0; size_of::<i32>()];
        integer.copy_from_slice(&tx.bytes()[bytes_of(page)]);
        sum += i64::from(black_box(i32::from_ne_bytes(integer)));
    }
    advise_all(tx, reads..reads + writes, Access::Write, advice)?;
    for page in reads..reads + writes {
        advise_one(tx, page, Access::Write, advice)?;
        let integer = black_box(value(page, number)).to_ne_bytes();
        tx.bytes_mut()[bytes_of(page)].copy_from_slice(&integer);
    }
    Ok(sum)
}

fn advise_one(
    tx: &mut Transaction<'_>,
    page: usize,
    access: Access,
    advice: Advice,
) -> Result<(), ExperimentError> {
    if advice == Advice::Page {
        let place = place(page).offset();
        tx.touch(place..place + PAGE_BYTES, access)?;
    }
    Ok(())
}

fn advise_all(
    tx: &mut Transaction<'_>,
    pages: Range<usize>,
    access: Access,
    advice: Advice,
) -> Result<(), ExperimentError> {
    if advice == Advice::Range && !pages.is_empty() {
        tx.touch(
            place(pages.start).offset()..place(pages.end).offset(),
            access,
        )?;
    }
    Ok(())
}

/// Typed reads and writes.
fn typed(tx: &mut Transaction<'_>, touch: Touch, number: i32) -> Result<i64, ExperimentError> {
    let mut sum = 0;
    for page in 0..touch.reads {
        sum += i64::from(black_box(tx.read(place(page))?));
    }
    for page in touch.reads..touch.reads + touch.writes {
        tx.write(place(page), black_box(value(page, number)))?;
    }
    Ok(sum)
}
