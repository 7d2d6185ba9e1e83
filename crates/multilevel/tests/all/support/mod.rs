//! Cells: numbers with a copy of themselves on the same page, several cells to a page. Their operations let others
//! come in between at every possible point. A reader that sees a cell that differs from its copy has seen half an
//! operation.

use sardonyx_base::sync::thread;
use sardonyx_multilevel::{
    Area, CallError, Change, CommitError, Database, DatabaseError, Inverse, LockRequests,
    LockSpace, Mode, Operation, Options, PAGE_SIZE, PageId, PageLog, Pages, Recorded, Release,
    Stop, Strategy,
};
use sardonyx_storage::disk::SimulatedDisk;
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;
use std::sync::Arc;

/// Reading excludes all changes; adding is compatible with adding.
pub const READ: Mode = Mode(0);
pub const ADD: Mode = Mode(1);
pub const WRITE: Mode = Mode(2);
pub static CELLS: LockSpace = LockSpace::new(
    "cells",
    &[
        &[true, false, false],
        &[false, true, false],
        &[false, false, false],
    ],
);
/// Cells whose changes are admitted by their bounds.
pub static BOUNDED: LockSpace = LockSpace::new("bounded cells", &[&[true]]);

pub const CELLS_PER_PAGE: u64 = 4;
const ROOM: usize = PAGE_SIZE / CELLS_PER_PAGE as usize;
/// The distance of the copy: not so near that one redo record takes both.
const COPY: usize = 64;

fn place(pages: &dyn Pages, area: Area, cell: u64) -> Result<(PageId, usize), Stop> {
    let page = pages.page(area, cell / CELLS_PER_PAGE)?;
    Ok((page, (cell % CELLS_PER_PAGE) as usize * ROOM))
}

fn get(pages: &dyn Pages, area: Area, cell: u64) -> Result<i64, Stop> {
    let (page, at) = place(pages, area, cell)?;
    let value = i64::from_le_bytes(pages.read_bytes(page, at)?);
    let copy = i64::from_le_bytes(pages.read_bytes(page, at + COPY)?);
    assert_eq!(value, copy, "half an operation on cell {cell}");
    Ok(value)
}

fn set(pages: &mut dyn Pages, area: Area, cell: u64, value: i64) -> Result<(), Stop> {
    let (page, at) = place(pages, area, cell)?;
    pages.write_bytes(page, at, &value.to_le_bytes())?;
    thread::yield_now();
    pages.write_bytes(page, at + COPY, &value.to_le_bytes())
}

/// Reads cells.
#[derive(Clone, Debug)]
pub struct Get {
    pub area: Area,
    pub cells: Vec<u64>,
}

impl Operation for Get {
    type Output = Vec<i64>;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        for cell in &self.cells {
            locks.request(&CELLS, *cell, READ);
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<Vec<i64>, Stop> {
        let cells = self.cells.iter();
        cells.map(|cell| get(pages, self.area, *cell)).collect()
    }
}

/// Adds to cells, in the order given. If `reads`, it also reads the page of this cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Add {
    pub area: Area,
    pub amount: i64,
    pub cells: Vec<u64>,
}

impl Operation for Add {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        for cell in &self.cells {
            locks.request(&CELLS, *cell, ADD);
        }
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        for cell in &self.cells {
            // As updates do, lest two of them have to restart on one page.
            pages.read_to_write(place(pages, self.area, *cell)?.0)?;
            let sum = get(pages, self.area, *cell)? + self.amount;
            set(pages, self.area, *cell, sum)?;
        }
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let (area, amount, mut cells) = (self.area, -self.amount, self.cells.clone());
        cells.reverse();
        Some(Inverse::of(&Add {
            area,
            amount,
            cells,
        }))
    }
}

impl Recorded for Add {
    const NAME: &str = "add to cells";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.amount.to_le_bytes());
        for cell in &self.cells {
            into.extend(cell.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, rest) = bytes.split_first_chunk()?;
        let (amount, rest) = rest.split_first_chunk()?;
        let cells = rest.chunks(8).map(|c| c.try_into().map(u64::from_le_bytes));
        Some(Add {
            area: Area(u16::from_le_bytes(*area)),
            amount: i64::from_le_bytes(*amount),
            cells: cells.collect::<Result<_, _>>().ok()?,
        })
    }
}

/// Overwrites a cell. Returns its former content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Put {
    pub area: Area,
    pub cell: u64,
    pub value: i64,
}

impl Operation for Put {
    type Output = i64;
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&CELLS, self.cell, WRITE);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        let old = get(pages, self.area, self.cell)?;
        set(pages, self.area, self.cell, self.value)?;
        Ok(old)
    }

    fn inverse(&self, old: &i64) -> Option<Inverse> {
        let (area, cell, value) = (self.area, self.cell, *old);
        Some(Inverse::of(&Put { area, cell, value }))
    }
}

impl Recorded for Put {
    const NAME: &str = "put into a cell";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.cell.to_le_bytes());
        into.extend(self.value.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, rest) = bytes.split_first_chunk()?;
        let (cell, rest) = rest.split_first_chunk()?;
        Some(Put {
            area: Area(u16::from_le_bytes(*area)),
            cell: u64::from_le_bytes(*cell),
            value: i64::from_le_bytes(rest.try_into().ok()?),
        })
    }
}

/// Adds to a cell that must stay within bounds in every outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bounded {
    pub area: Area,
    pub cell: u64,
    pub amount: i64,
    pub low: i64,
    pub high: i64,
}

impl Operation for Bounded {
    type Output = i64;
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        pages.read_to_write(place(pages, self.area, self.cell)?.0)?;
        let value = get(pages, self.area, self.cell)?;
        let change = Change {
            value,
            change: self.amount,
            low: self.low,
            high: self.high,
        };
        pages.reserve(&BOUNDED, self.cell, change)?;
        let sum = value + self.amount;
        assert!(
            (self.low..=self.high).contains(&sum),
            "{sum} is out of bounds"
        );
        set(pages, self.area, self.cell, sum)?;
        Ok(sum)
    }

    fn inverse(&self, _: &i64) -> Option<Inverse> {
        // While a transaction is being undone step by step, the cell may be out of its bounds.
        Some(Inverse::of(&Bounded {
            amount: -self.amount,
            low: i64::MIN,
            high: i64::MAX,
            ..*self
        }))
    }
}

impl Recorded for Bounded {
    const NAME: &str = "add to a bounded cell";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.area.0.to_le_bytes());
        into.extend(self.cell.to_le_bytes());
        for number in [self.amount, self.low, self.high] {
            into.extend(number.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (area, rest) = bytes.split_first_chunk()?;
        let (cell, rest) = rest.split_first_chunk()?;
        let mut numbers = rest.chunks(8).map(|c| c.try_into().map(i64::from_le_bytes));
        let mut number = || numbers.next()?.ok();
        Some(Bounded {
            area: Area(u16::from_le_bytes(*area)),
            cell: u64::from_le_bytes(*cell),
            amount: number()?,
            low: number()?,
            high: number()?,
        })
    }
}

/// The options with which a database runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    pub strategy: Strategy,
    pub page_log: PageLog,
    pub release: Release,
    pub threaded: bool,
}

pub const STRATEGIES: [Strategy; 5] = [
    Strategy::SingleLevel,
    Strategy::ForcedSubtransactions,
    Strategy::SPHERES,
    Strategy::PersistenceSpheres { pages_max: 2 },
    Strategy::OrderedLog,
];

/// Every strategy with both kinds of release; the other choices vary with them.
pub fn ways() -> Vec<Way> {
    let mut ways = Vec::new();
    for strategy in STRATEGIES {
        for release in [Release::Appended, Release::Durable] {
            let even = ways.len() % 2 == 0;
            let page_log = if (ways.len() / 2) % 2 == 0 {
                PageLog::ByteRanges
            } else {
                PageLog::AfterImages
            };
            ways.push(Way {
                strategy,
                page_log,
                release,
                threaded: even != (ways.len() % 4 < 2),
            });
        }
    }
    ways
}

impl Way {
    pub fn options(self, storage: StorageOptions) -> Options {
        Options::new()
            .strategy(self.strategy)
            .page_log(self.page_log)
            .release(self.release)
            .register::<Add>()
            .register::<Put>()
            .register::<Bounded>()
            .storage(StorageOptions {
                threaded: self.threaded,
                ..storage
            })
    }

    /// Opens a database with an area of cells.
    pub fn open(
        self,
        disk: &SimulatedDisk,
        storage: StorageOptions,
    ) -> Result<(Arc<Database>, Area), DatabaseError> {
        let database = self.options(storage).open_on(Arc::new(disk.clone()))?;
        let area = database.area("cells", 4)?;
        Ok((Arc::new(database), area))
    }
}

/// A small database.
pub fn small() -> StorageOptions {
    StorageOptions {
        segment_bytes: 256 << 10,
        block_bytes: 64 << 10,
        identity: Some(7),
        log_bytes_max: 4 << 20,
        log_bytes_prepared: 512 << 10,
        memory_bytes_max: 16 << 20,
        limits: GroupLimits {
            group_bytes: 32 << 10,
            transaction_bytes: 128 << 10,
            ..GroupLimits::default()
        },
        workers: 1,
        ..StorageOptions::default()
    }
}

/// A closure's error in [`Database::run`].
pub type Called<T> = Result<T, CallError<Stop>>;

/// The reason why a transaction was ended on purpose.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    #[error(transparent)]
    Call(#[from] CallError<Stop>),
    #[error(transparent)]
    Commit(#[from] CommitError),
    #[error("it was to be so")]
    OnPurpose,
}

/// The content of some cells.
pub fn read(database: &Database, area: Area, cells: std::ops::Range<u64>) -> Vec<i64> {
    let cells = cells.collect();
    let get = Get { area, cells };
    let read: Called<_> = database.run(|tx| tx.call(&get));
    read.expect("readable")
}
