//! Records of 8 bytes in an area, and operations that add to them.

use sardonyx_base::random::Random;
use sardonyx_multilevel::{
    Area, Database, DatabaseError, Inverse, LockRequests, LockSpace, Mode, Operation, Options,
    PAGE_SIZE, PageId, PageLog, Pages, Recorded, Stop, Strategy,
};
use sardonyx_storage::disk::SimulatedDisk;
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use std::sync::Arc;

/// Reading excludes adding; adding goes with adding.
pub const READ: Mode = Mode(0);
pub const ADD: Mode = Mode(1);
pub static RECORDS: LockSpace = LockSpace::new("records", &[&[true, false], &[false, true]]);

/// Records on a page: spread, so that few records take many pages.
pub const RECORDS_PER_PAGE: u64 = 4;

pub fn place(pages: &dyn Pages, area: Area, record: u64) -> Result<(PageId, usize), Stop> {
    let page = pages.page(area, record / RECORDS_PER_PAGE)?;
    let room = PAGE_SIZE / RECORDS_PER_PAGE as usize;
    Ok((page, (record % RECORDS_PER_PAGE) as usize * room))
}

/// Adds an amount to several records: a subtransaction on several pages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Add {
    pub area: Area,
    pub amount: i64,
    pub records: Vec<u64>,
}

impl Operation for Add {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        for record in &self.records {
            locks.request(&RECORDS, *record, ADD);
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        for record in &self.records {
            let (page, at) = place(pages, self.area, *record)?;
            let value = pages.write(page, at..at + 8)?;
            let sum = i64::from_le_bytes(value.try_into().expect("8 bytes")) + self.amount;
            value.copy_from_slice(&sum.to_le_bytes());
        }
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        Some(Inverse::of(&Add {
            amount: -self.amount,
            ..self.clone()
        }))
    }
}

impl Recorded for Add {
    const NAME: &str = "add";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.amount.to_le_bytes());
        for record in &self.records {
            into.extend(record.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, rest) = bytes.split_first_chunk()?;
        let (amount, rest) = rest.split_first_chunk()?;
        let records = rest.chunks(8).map(|c| c.try_into().map(u64::from_le_bytes));
        Some(Add {
            area: Area(u16::from_le_bytes(*area)),
            amount: i64::from_le_bytes(*amount),
            records: records.collect::<Result<_, _>>().ok()?,
        })
    }
}

#[derive(Clone, Debug)]
pub struct Read {
    pub area: Area,
    pub records: Vec<u64>,
}

impl Operation for Read {
    type Output = Vec<i64>;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        for record in &self.records {
            locks.request(&RECORDS, *record, READ);
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<Vec<i64>, Stop> {
        let read = self.records.iter().map(|record| {
            let (page, at) = place(pages, self.area, *record)?;
            Ok(i64::from_le_bytes(pages.read_bytes(page, at)?))
        });
        read.collect()
    }
}

/// All strategies, with the page logs that differ.
pub fn ways() -> Vec<(Strategy, PageLog)> {
    let strategies = [
        Strategy::SingleLevel,
        Strategy::ForcedSubtransactions,
        Strategy::SPHERES,
        Strategy::PersistenceSpheres { pages_max: 2 },
        Strategy::OrderedLog,
    ];
    let logs = [PageLog::ByteRanges, PageLog::AfterImages];
    let both = |strategy| logs.map(|log| (strategy, log));
    strategies.into_iter().flat_map(both).collect()
}

/// A small database without threads of its own.
pub fn small() -> StorageOptions {
    StorageOptions {
        segment_bytes: 1 << 20,
        block_bytes: 64 << 10,
        identity: Some(7),
        log_bytes_max: 8 << 20,
        log_bytes_prepared: 2 << 20,
        // Whole from the start, and closed without a checkpoint: the growth of a small log, and the effects of a
        // close, are explored elsewhere. Here each step of the disk costs thousands of runs.
        log_bytes_first: 1 << 20,
        closing_checkpoint: std::time::Duration::ZERO,
        memory_bytes_max: 64 << 20,
        limits: GroupLimits {
            group_bytes: 64 << 10,
            transaction_bytes: 256 << 10,
            ..GroupLimits::default()
        },
        threaded: false,
        workers: 1,
        ..StorageOptions::default()
    }
}

pub fn options((strategy, page_log): (Strategy, PageLog)) -> Options {
    Options::new()
        .strategy(strategy)
        .page_log(page_log)
        .register::<Add>()
        .storage(small())
}

pub fn open(
    way: (Strategy, PageLog),
    disk: &SimulatedDisk,
) -> Result<(Database, Area), DatabaseError> {
    let database = options(way).open_on(Arc::new(disk.clone()))?;
    let area = database.area("records", 4)?;
    Ok((database, area))
}

/// Draws of numbers below a bound: the remainders of a seed's numbers.
pub struct Numbers(Random);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Numbers(Random::new(seed))
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.next() % bound
    }

    pub fn index(&mut self, bound: usize) -> usize {
        self.below(bound as u64) as usize
    }
}
