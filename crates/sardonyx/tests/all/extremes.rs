//! Every number and duration that a program can give, at 0, 1 and the largest values, alone and in pairs. A database
//! opens with it or refuses with an error that names it. If it opens, committed transactions, a large one among them,
//! are there when it is opened again. No panic, and no endless wait.

use crate::common::{Model, Note, Opened, PIPELINED, options};
use sardonyx::disk::{GroupLimits, GroupPolicy};
use sardonyx::journals::Retention;
use sardonyx::{Error, Options, Shape};
use sardonyx_base::random::Random;
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use std::time::Duration;

/// The option that is varied. `n` goes from 0 to 3: 0, 1, the largest but one, the largest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knob {
    GroupBytes,
    TransactionBytes,
    Depth,
    Buffers,
    GroupTransactions,
    GroupTime,
    LogBytes,
    LogPrepared,
    IntervalBytes,
    IntervalTransactions,
    MemoryBytes,
    Stripes,
    SegmentBytes,
    BlockBytes,
    KeptBytes,
    InputThreads,
    OutputThreads,
}

const KNOBS: [Knob; 17] = [
    Knob::GroupBytes,
    Knob::TransactionBytes,
    Knob::Depth,
    Knob::Buffers,
    Knob::GroupTransactions,
    Knob::GroupTime,
    Knob::LogBytes,
    Knob::LogPrepared,
    Knob::IntervalBytes,
    Knob::IntervalTransactions,
    Knob::MemoryBytes,
    Knob::Stripes,
    Knob::SegmentBytes,
    Knob::BlockBytes,
    Knob::KeptBytes,
    Knob::InputThreads,
    Knob::OutputThreads,
];

/// The given options, with the extremes in place.
#[derive(Clone, Copy, Debug)]
struct Given {
    limits: GroupLimits,
    transactions: Option<u32>,
    time: Option<Duration>,
    threads: (usize, usize),
    shape: Shape,
}

fn u64_of(n: u64) -> u64 {
    [0, 1, u64::MAX - 1, u64::MAX][n as usize]
}

fn u32_of(n: u64) -> u32 {
    [0, 1, u32::MAX - 1, u32::MAX][n as usize]
}

fn time_of(n: u64) -> Duration {
    let tick = Duration::from_nanos(1);
    [Duration::ZERO, tick, Duration::MAX - tick, Duration::MAX][n as usize]
}

impl Given {
    fn new(shape: Shape) -> Given {
        Given {
            limits: GroupLimits {
                group_bytes: 8 << 10,
                transaction_bytes: 16 << 10,
                depth: 2,
                buffers: 6,
            },
            transactions: None,
            time: None,
            threads: (1, 1),
            shape,
        }
    }

    fn set(&mut self, options: Options, knob: Knob, n: u64) -> Options {
        let (long, size) = (u64_of(n), u64_of(n) as usize);
        match knob {
            Knob::GroupBytes => self.limits.group_bytes = size,
            Knob::TransactionBytes => self.limits.transaction_bytes = size,
            Knob::Depth => self.limits.depth = size,
            Knob::Buffers => self.limits.buffers = size,
            Knob::GroupTransactions => self.transactions = Some(u32_of(n)),
            Knob::GroupTime => self.time = Some(time_of(n)),
            Knob::InputThreads => self.threads.0 = size,
            Knob::OutputThreads => self.threads.1 = size,
            Knob::LogBytes => return options.log_bytes_max(long),
            Knob::LogPrepared => return options.log_bytes_prepared(long),
            Knob::IntervalBytes => return options.checkpoint_interval_bytes(long),
            Knob::IntervalTransactions => return options.checkpoint_interval_transactions(long),
            Knob::MemoryBytes => return options.memory_bytes_max(long),
            Knob::Stripes => return options.stripes(u32_of(n)),
            Knob::SegmentBytes => return options.segment_bytes(long),
            Knob::BlockBytes => return options.block_bytes(u32_of(n)),
            Knob::KeptBytes => return options.journal_retention(Retention::KeepBytes(long)),
        }
        options
    }

    fn finish(self, options: Options) -> Options {
        let shape = match self.shape {
            Shape::Pipelined { .. } => Shape::Pipelined {
                input_threads: self.threads.0,
                output_threads: self.threads.1,
            },
            other => other,
        };
        let options = options.shape(shape).group_limits(self.limits);
        if self.transactions.is_none() && self.time.is_none() {
            return options;
        }
        options.group_policy(GroupPolicy::Fixed {
            transactions: self.transactions.unwrap_or(50),
            time: self.time.unwrap_or(Duration::from_millis(1)),
        })
    }
}

/// Opens with the knobs set, and if that is possible writes, closes, and looks.
fn open(shape: Shape, knobs: &[(Knob, u64)]) -> bool {
    let disk = SimulatedDisk::new(
        3,
        Faults {
            // More may be asked to be prepared than there is.
            capacity_bytes: Some(4 << 20),
            ..Faults::default()
        },
    );
    let mut given = Given::new(shape);
    let mut with = options(shape);
    for &(knob, n) in knobs {
        with = given.set(with, knob, n);
    }
    let Ok(opened) = Opened::on(&disk, given.finish(with)) else {
        return false;
    };
    let mut model = Model::default();
    for n in 0..3 {
        if opened.put(n, n).is_ok() {
            model.put(n, n);
        }
    }
    // As large as it may be, up to a few groups.
    let mut large = 1200u64;
    while large > 0 {
        let note = |n| Note {
            account: 77,
            amount: n,
        };
        let outcome = opened.database.run(|transaction| {
            (0..large).try_for_each(|n| transaction.append(opened.notes, &note(n)))?;
            Ok::<_, Error>(())
        });
        if outcome.is_ok() {
            model.notes.extend((0..large).map(|n| (77, n)));
            break;
        }
        large /= 2;
    }
    if opened.put(9, 9).is_ok() {
        model.put(9, 9);
    }
    let keeps_all = knobs.iter().all(|(knob, _)| *knob != Knob::KeptBytes);
    let check = |opened: &Opened, when: &str| {
        let mut found = opened.contents().expect("readable");
        if !keeps_all {
            found.notes.clone_from(&model.notes);
        }
        assert!(found == model, "{shape:?}, {knobs:?}, {when}: {found:?}");
    };
    check(&opened, "before");
    let _ = opened.database.close();
    let disk = disk.restart(Faults::default());
    let opened = Opened::on(&disk, options(shape).log_bytes_max(1 << 30));
    check(&opened.expect("opens as usual"), "after");
    true
}

#[test]
fn every_number_at_its_extremes_opens_or_refuses() {
    let mut works = 0;
    for shape in [Shape::Threadless, Shape::Coalesced, PIPELINED] {
        for knob in KNOBS {
            works += (0..4).filter(|n| open(shape, &[(knob, *n)])).count();
        }
    }
    assert!(works > 60, "{works} of {}", 3 * 4 * KNOBS.len());
}

/// All pairs with `SARDONYX_RUNS=all`; a sample of them otherwise.
#[test]
fn every_two_numbers_at_their_extremes_open_or_refuse() {
    let all = std::env::var("SARDONYX_RUNS").is_ok_and(|runs| runs == "all");
    let mut random = Random::new(11);
    for (first, knob) in KNOBS.into_iter().enumerate() {
        for other in KNOBS.into_iter().skip(first + 1) {
            for n in 0..16 {
                if all || random.chance(1, 8) {
                    let shape = [Shape::Threadless, PIPELINED][random.below(2) as usize];
                    open(shape, &[(knob, n / 4), (other, n % 4)]);
                }
            }
        }
    }
}
