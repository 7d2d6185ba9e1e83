//! The bank on plain arrays: three arrays of 128-byte records and a hash index over the account
//! ids.
//!
//! TPK paper, section 4: arrays, and hash tables from ids to positions. Tellers and branches are so few that their ids
//! are positions here. The index is open addressing over 64-bit entries, at most half full. An entry holds a tag of the
//! id's hash next to the position, so that a collision rarely needs a second access to a record.

use crate::debit_credit::model::Sums;
use crate::debit_credit::record::Record;
use crate::debit_credit::requests::{Generator, Request, Scale};
use sardonyx_base::hash::scattered;

use crate::floor::error::FloorError;
use crate::floor::prefetch::prefetch;
use crate::floor::region::Region;

/// The number of transactions that are located together.
pub(crate) const BATCH: usize = 64;

/// The bytes of a transaction's three after-images: for each a place, a length and a balance.
pub(crate) const AFTER_IMAGES_BYTES: usize = 72;

/// The low bits of an index entry: position plus one; zero is an empty entry.
const POSITION_BITS: u32 = 33;
const POSITION_MASK: u64 = (1 << POSITION_BITS) - 1;

/// All records and their index.
pub(crate) struct Bank {
    accounts: Region<Record>,
    tellers: Region<Record>,
    branches: Region<Record>,
    index: Region<u64>,
    /// The right shift that maps a hash to a place in the index.
    index_shift: u32,
    history_sum: i64,
}

impl Bank {
    /// A bank with all balances zero.
    pub(crate) fn new(scale: Scale) -> Result<Self, FloorError> {
        let index_length = (scale.accounts() as usize * 2).next_power_of_two();
        let mut bank = Bank {
            accounts: records(scale.accounts())?,
            tellers: records(scale.tellers())?,
            branches: records(scale.branches())?,
            index: Region::new(index_length)?,
            index_shift: 64 - index_length.trailing_zeros(),
            history_sum: 0,
        };
        for position in 0..bank.accounts.len() {
            let hash = hash(bank.accounts[position].id);
            let mut place = bank.place(hash);
            while bank.index[place] != 0 {
                place = (place + 1) & (index_length - 1);
            }
            bank.index[place] = hash & !POSITION_MASK | (position as u64 + 1);
        }
        Ok(bank)
    }

    /// Runs one transaction: locates and modifies its records.
    #[inline]
    pub(crate) fn run(&mut self, request: &Request) {
        let position = self.locate(request.account);
        self.modify(request, position);
    }

    /// Runs up to [`BATCH`] transactions: prefetches the index entries, then the records, then modifies in order.
    /// `after` sees the positions and balances of each.
    #[inline(always)]
    pub(crate) fn run_batch(&mut self, batch: &[Request], mut after: impl FnMut(&AfterImages)) {
        let mut positions = [0; BATCH];
        for request in batch {
            prefetch(&self.index, self.place(hash(request.account)));
        }
        for (request, position) in batch.iter().zip(&mut positions) {
            *position = self.locate(request.account);
            prefetch(&self.accounts, *position);
        }
        for (request, &position) in batch.iter().zip(&positions) {
            after(&self.modify(request, position));
        }
    }

    /// The four sums.
    pub(crate) fn sums(&self) -> Sums {
        let sum = |records: &[Record]| records.iter().map(|record| record.balance).sum();
        Sums {
            accounts: sum(&self.accounts),
            tellers: sum(&self.tellers),
            branches: sum(&self.branches),
            history: self.history_sum,
        }
    }

    /// Fails unless the four sums agree.
    pub(crate) fn check(&self) -> Result<(), FloorError> {
        let sums = self.sums();
        if sums.agree() {
            Ok(())
        } else {
            Err(FloorError::Sums { sums })
        }
    }

    #[inline]
    fn place(&self, hash: u64) -> usize {
        (hash >> self.index_shift) as usize
    }

    #[inline]
    fn locate(&self, account: u64) -> usize {
        let hash = hash(account);
        let mut place = self.place(hash);
        loop {
            let entry = self.index[place];
            assert!(entry != 0, "requests name existing accounts only");
            let position = (entry & POSITION_MASK) as usize - 1;
            if (entry ^ hash) & !POSITION_MASK == 0 && self.accounts[position].id == account {
                return position;
            }
            place = (place + 1) & (self.index.len() - 1);
        }
    }

    #[inline(always)]
    fn modify(&mut self, request: &Request, position: usize) -> AfterImages {
        let (teller, branch) = (request.teller as usize - 1, request.branch as usize - 1);
        let mut images = [0; 9];
        let records = [
            (0, &mut self.accounts[position], position),
            (1, &mut self.tellers[teller], teller),
            (2, &mut self.branches[branch], branch),
        ];
        for (table, record, position) in records {
            record.balance += request.amount;
            images[table * 3] = (table as u64) << 56 | position as u64;
            images[table * 3 + 1] = 8;
            images[table * 3 + 2] = record.balance as u64;
        }
        self.history_sum += request.amount;
        AfterImages(images)
    }
}

/// The log record of one transaction.
#[derive(Clone, Copy, sardonyx_base::resident::Resident)]
#[repr(transparent)]
pub(crate) struct AfterImages([u64; 9]);

const _: () = assert!(size_of::<AfterImages>() == AFTER_IMAGES_BYTES);

/// Requests drawn in advance, enough that none is in the caches when they are repeated.
pub(crate) fn requests(scale: Scale) -> Vec<Request> {
    let count = (scale.accounts() * 4).clamp(1 << 16, 1 << 22) as usize;
    Generator::standard(scale, 1).take(count).collect()
}

fn records(count: u64) -> Result<Region<Record>, FloorError> {
    let mut records = Region::new(count as usize)?;
    for (record, id) in records.iter_mut().zip(1..) {
        *record = Record::new(id);
    }
    Ok(records)
}

/// Two multiplications by 2^64 over the golden ratio and a fold between them. One alone would spread ids without holes
/// so evenly that they never collide, unlike arbitrary ids.
#[inline]
fn hash(id: u64) -> u64 {
    let product = scattered(id);
    scattered(product ^ (product >> 32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::debit_credit::model::Model;

    fn balances(records: &[Record]) -> Vec<i64> {
        records.iter().map(|record| record.balance).collect()
    }

    #[test]
    fn one_at_a_time_and_in_batches_it_equals_the_model() {
        let scale = Scale::new(5_000, 30, 7).unwrap();
        let mut model = Model::new(scale);
        let mut single = Bank::new(scale).unwrap();
        let mut batched = Bank::new(scale).unwrap();
        let requests: Vec<_> = Generator::standard(scale, 8).take(10_007).collect();
        let mut account_balances = Vec::new();
        for request in &requests {
            single.run(request);
            account_balances.push(model.apply(request).unwrap() as u64);
        }
        let mut logged = Vec::new();
        for batch in requests.chunks(BATCH) {
            batched.run_batch(batch, |after| logged.push(after.0[2]));
        }
        for bank in [&single, &batched] {
            assert_eq!(balances(&bank.accounts), model.accounts(), "seed 8");
            assert_eq!(balances(&bank.tellers), model.tellers(), "seed 8");
            assert_eq!(balances(&bank.branches), model.branches(), "seed 8");
            assert_eq!(bank.sums(), model.sums());
            bank.check().unwrap();
        }
        assert_eq!(logged, account_balances);
    }

    #[test]
    fn a_lost_change_is_noticed() {
        let mut bank = Bank::new(Scale::paper()).unwrap();
        bank.tellers[0].balance += 1;
        assert!(matches!(bank.check(), Err(FloorError::Sums { .. })));
    }
}
