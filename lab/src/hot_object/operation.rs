//! The operations: adding to a record, and reading one.
//!
//! A record is a number of 8 bytes in a room of 64. Record 0 is the counter and has the first page to
//! itself; the cold ones follow from the second page on.

use sardonyx_multilevel::{
    Area, Inverse, LockRequests, LockSpace, Mode, Operation, PAGE_SIZE, PageId, Pages, Recorded,
    Stop,
};

/// No other access.
pub(super) const EXCLUSIVE: Mode = Mode(0);

/// Additions are compatible with each other.
pub(super) const ADD: Mode = Mode(1);

static RECORDS: LockSpace = LockSpace::new("hot records", &[&[false, false], &[false, true]]);

const ROOM_BYTES: usize = 64;

/// The number of cold records in a page.
pub const RECORDS_PER_PAGE: u64 = (PAGE_SIZE / ROOM_BYTES) as u64;

/// The number of pages of the counter and so many cold records.
pub(super) fn pages_for(cold_records: u64) -> u64 {
    1 + cold_records.div_ceil(RECORDS_PER_PAGE)
}

fn place(pages: &dyn Pages, area: Area, record: u64) -> Result<(PageId, usize), Stop> {
    let Some(cold) = record.checked_sub(1) else {
        return Ok((pages.page(area, 0)?, 0));
    };
    let page = pages.page(area, 1 + cold / RECORDS_PER_PAGE)?;
    Ok((page, (cold % RECORDS_PER_PAGE) as usize * ROOM_BYTES))
}

/// Adds to a record. Its inverse is to add the opposite.
#[derive(Clone, Copy, Debug)]
pub(super) struct Add {
    pub area: Area,
    pub record: u64,
    pub amount: i64,
    /// The mode of its lock.
    pub mode: Mode,
}

impl Operation for Add {
    type Output = ();
    type Error = Stop;

    fn locks(&self, locks: &mut LockRequests) {
        locks.request(&RECORDS, self.record, self.mode);
    }

    fn execute(&self, pages: &mut dyn Pages) -> Result<(), Stop> {
        let (page, at) = place(pages, self.area, self.record)?;
        let value = pages.write(page, at..at + 8)?;
        let old = i64::from_le_bytes(value.try_into().expect("8 bytes"));
        value.copy_from_slice(&old.wrapping_add(self.amount).to_le_bytes());
        Ok(())
    }

    fn inverse(&self, (): &()) -> Option<Inverse> {
        let amount = -self.amount;
        Some(Inverse::of(&Add { amount, ..*self }))
    }
}

impl Recorded for Add {
    const NAME: &str = "add to a record";

    fn encode(&self, into: &mut Vec<u8>) {
        into.extend(self.record.to_le_bytes());
        into.extend(self.amount.to_le_bytes());
        into.extend(self.area.0.to_le_bytes());
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let (record, rest) = bytes.split_first_chunk()?;
        let (amount, rest) = rest.split_first_chunk()?;
        Some(Add {
            area: Area(u16::from_le_bytes(rest.try_into().ok()?)),
            record: u64::from_le_bytes(*record),
            amount: i64::from_le_bytes(*amount),
            // As an inverse it takes no lock.
            mode: EXCLUSIVE,
        })
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub area: Area,
    pub first: u64,
    pub count: u64,
}

impl Operation for Sum {
    type Output = i64;
    type Error = Stop;

    fn execute(&self, pages: &mut dyn Pages) -> Result<i64, Stop> {
        (self.first..self.first + self.count).try_fold(0, |sum: i64, record| {
            let (page, at) = place(pages, self.area, record)?;
            let value = i64::from_le_bytes(pages.read_bytes(page, at)?);
            Ok(sum.wrapping_add(value))
        })
    }
}
