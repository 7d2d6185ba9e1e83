//! Debit-credit on the pages of nodes: where each record is, the transaction, and the sums that prove it.
//!
//! Key is place: a record's page and offset follow from its number, so the bank needs neither loading nor an index. A
//! new database is all zero, and so are its sums. A transaction adds an amount to an account, a teller and a branch, in
//! the paper's order ([`debit_credit_pages`](sardonyx_workload::debit_credit_pages)), and appends to HISTORY. Each
//! client appends at an end of its own, so that no two wait for a page there (the GEM paper uses latches).
//!
//! A HISTORY page begins with the number of its last record; numbers of an end's records are 1, 2, 3 … So the pages
//! alone give the number of transactions of each client. When an end is full its oldest page is used again.

use crate::coupled::CoupledNode;
use crate::setting::Setting;
use sardonyx_sharing::node::{NodeError, Transaction};
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_workload::debit_credit_pages::{
    ACCOUNT, BRANCH, DebitCreditPages, HISTORY, PageScale, PageScaleError, TELLER,
};
use sardonyx_workload::random::Random;
use sardonyx_workload::reference::PageNumber;
use serde::{Deserialize, Serialize};

/// Bytes before a HISTORY page's records.
const HISTORY_HEAD: usize = 16;
/// Bytes of a HISTORY record without its filler.
const HISTORY_RECORD: usize = 40;

/// The place of each page of the bank among the nodes' pages.
#[derive(Clone, Debug)]
pub struct Bank {
    scale: PageScale,
    /// The first page of each partition, and the page behind the last.
    first: Vec<u64>,
    history_pages: u64,
}

/// A transaction: places of 8 bytes, and the amount added to each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transfer {
    /// The branch, from 0.
    pub branch: u32,
    /// Page and offset of the account, the teller and the branch.
    pub places: [(u64, usize); 3],
    /// The amount added.
    pub amount: i64,
}

/// Draws transfers without end; the same seed draws the same ones (I11).
#[derive(Clone, Debug)]
pub struct Transfers {
    pages: DebitCreditPages,
    random: Random,
}

/// One client's end of HISTORY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryEnd {
    end: u64,
    /// Records so far.
    pub records: u64,
}

/// A record of HISTORY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HistoryRecord {
    /// The record's number at its end, from 1.
    pub number: u64,
    /// The amount added.
    pub amount: i64,
}

/// The bank's sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Sums {
    /// The sum of the balances of accounts.
    pub accounts: i64,
    /// The sum of the balances of tellers.
    pub tellers: i64,
    /// The sum of the balances of branches.
    pub branches: i64,
    /// Transactions that HISTORY counts.
    pub transactions: u64,
}

impl Sums {
    /// True if every transaction is in the sums whole or not at all.
    pub fn are_equal(&self) -> bool {
        self.accounts == self.tellers && self.tellers == self.branches
    }
}

impl Transfers {
    /// Transfers on a bank of this scale.
    ///
    /// # Errors
    /// If the scale is not possible.
    pub fn new(scale: PageScale, seed: u64) -> Result<Self, PageScaleError> {
        Ok(Transfers {
            pages: DebitCreditPages::new(scale, seed)?,
            random: Random::new(seed.rotate_left(32) ^ 0x5eed),
        })
    }

    /// The next one.
    pub fn draw(&mut self, bank: &Bank) -> Transfer {
        let scale = &bank.scale;
        let draw = self.pages.draw();
        let [account, _, teller, _] = draw.references;
        let mut below = |count: u32| self.random.below(count.into()) as usize;
        let account_at = below(scale.account_blocking) * cell(scale.account_blocking);
        let group = if scale.clustered {
            1 + scale.tellers_per_branch
        } else {
            1
        };
        let branch_at = (draw.branch % scale.branch_blocking * group) as usize * 8;
        let teller_at = match scale.clustered {
            true => branch_at + 8 * (1 + below(scale.tellers_per_branch)),
            false => 8 * below(scale.teller_blocking),
        };
        let branch = PageNumber::new(BRANCH, draw.branch / scale.branch_blocking);
        let amount = self.random.below(1999) as i64 - 999;
        Transfer {
            branch: draw.branch,
            places: [
                (bank.page(account.page), account_at),
                (bank.page(teller.page), teller_at),
                (bank.page(branch), branch_at),
            ],
            amount,
        }
    }
}

/// Bytes of a record, if a page has so many.
fn cell(blocking: u32) -> usize {
    PAGE_SIZE / blocking as usize / 8 * 8
}

fn number(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_le_bytes)
}

impl Bank {
    /// Lays the partitions out one behind the other.
    pub fn new(setting: &Setting) -> Self {
        let mut next = 0;
        let mut first = Vec::new();
        for (_, pages) in setting.partitions() {
            first.push(next);
            next += pages;
        }
        first.push(next);
        Bank {
            scale: setting.scale.pages(),
            first,
            history_pages: setting.history_pages.into(),
        }
    }

    /// Counts of branches, tellers and accounts.
    pub fn scale(&self) -> PageScale {
        self.scale
    }

    /// The size of all partitions together.
    pub fn pages(&self) -> u64 {
        self.first.last().copied().unwrap_or_default()
    }

    /// The place of a page.
    pub fn page(&self, page: PageNumber) -> u64 {
        self.first[usize::from(page.partition)] + u64::from(page.page)
    }

    /// The partition of a page, and the place in it.
    pub fn number_of(&self, page: u64) -> PageNumber {
        let partition = self.first.partition_point(|&first| first <= page) - 1;
        PageNumber::new(partition as u16, (page - self.first[partition]) as u32)
    }

    fn range(&self, partition: u16) -> std::ops::Range<u64> {
        let at = usize::from(partition);
        match self.first.get(at + 1) {
            Some(&next) => self.first[at]..next,
            None => 0..0,
        }
    }

    /// Records that an end of HISTORY holds before its oldest page is used again.
    pub fn history_records_max(&self) -> u64 {
        self.history_pages * u64::from(self.scale.history_blocking)
    }

    fn history_page(&self, end: u64, record: u64) -> u64 {
        let page = record / u64::from(self.scale.history_blocking) % self.history_pages;
        self.range(HISTORY).start + end * self.history_pages + page
    }

    fn history_offset(&self, record: u64) -> usize {
        let blocking = self.scale.history_blocking;
        let bytes = (PAGE_SIZE - HISTORY_HEAD) / blocking as usize / 8 * 8;
        HISTORY_HEAD + (record % u64::from(blocking)) as usize * bytes
    }

    /// Reads the state of an end of HISTORY.
    ///
    /// # Errors
    /// As [`CoupledNode::transact`].
    pub fn history_end(&self, node: &CoupledNode, end: u64) -> Result<HistoryEnd, NodeError> {
        let mut records = 0;
        for page in 0..self.history_pages {
            let at = self.history_page(end, page * u64::from(self.scale.history_blocking));
            let last = number(&node.transact(0, |tx| tx.read(at, 0..8))?);
            if last <= records {
                break;
            }
            records = last;
        }
        Ok(HistoryEnd { end, records })
    }

    /// Page and offset of 8 bytes beside an end of HISTORY that the bank does not use.
    pub fn beside_history(&self, end: u64) -> (u64, usize) {
        (self.history_page(end, 0), HISTORY_HEAD - 8)
    }

    /// Does a transfer, and appends its record at the client's end, which is then one further. If the transaction is
    /// run again, a second call does the same.
    ///
    /// # Errors
    /// As [`Transaction::write`].
    pub fn transfer(
        &self,
        tx: &mut Transaction<'_>,
        transfer: &Transfer,
        end: &HistoryEnd,
    ) -> Result<(), NodeError> {
        let [account, teller, branch] = transfer.places;
        self.add(tx, account, transfer.amount)?;
        let page = self.history_page(end.end, end.records);
        let mut record = [0; HISTORY_RECORD];
        let words = [
            end.records + 1,
            account.0 << 12 | account.1 as u64,
            teller.0 << 12 | teller.1 as u64,
            branch.0 << 12 | branch.1 as u64,
            transfer.amount as u64,
        ];
        for (bytes, word) in record.as_chunks_mut::<8>().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
        tx.write(page, self.history_offset(end.records), &record)?;
        tx.write(page, 0, &(end.records + 1).to_le_bytes())?;
        self.add(tx, teller, transfer.amount)?;
        self.add(tx, branch, transfer.amount)
    }

    fn add(
        &self,
        tx: &mut Transaction<'_>,
        (page, offset): (u64, usize),
        amount: i64,
    ) -> Result<(), NodeError> {
        let before = number(&tx.read_to_change(page, offset..offset + 8)?) as i64;
        tx.write(page, offset, &before.wrapping_add(amount).to_le_bytes())
    }

    /// All sums, page by page. Call it only while no transaction runs.
    ///
    /// # Errors
    /// As [`CoupledNode::transact`].
    pub fn sums(&self, node: &CoupledNode) -> Result<Sums, NodeError> {
        let mut sums = Sums::default();
        let scale = &self.scale;
        let all = |page: u64| node.transact(0, |tx| tx.read(page, 0..PAGE_SIZE));
        let values = |bytes: &[u8], every: usize, count: u32| -> i64 {
            let cells = bytes.chunks(every).take(count as usize);
            let value = |cell: &[u8]| number(&cell[..8]) as i64;
            cells.map(value).fold(0, i64::wrapping_add)
        };
        for page in self.range(ACCOUNT) {
            let blocking = scale.account_blocking;
            sums.accounts += values(&all(page)?, cell(blocking), blocking);
        }
        for page in self.range(BRANCH) {
            let tellers = if scale.clustered {
                scale.tellers_per_branch
            } else {
                0
            };
            let group = 8 * (1 + tellers as usize);
            let bytes = all(page)?;
            for branch in bytes.chunks(group).take(scale.branch_blocking as usize) {
                sums.branches += number(&branch[..8]) as i64;
                sums.tellers += values(&branch[8..], 8, tellers);
            }
        }
        for page in self.range(TELLER) {
            sums.tellers += values(&all(page)?, 8, scale.teller_blocking);
        }
        sums.transactions = self.history_counts(node)?.iter().sum();
        Ok(sums)
    }

    /// The transactions that each end of HISTORY counts.
    ///
    /// # Errors
    /// As [`CoupledNode::transact`].
    pub fn history_counts(&self, node: &CoupledNode) -> Result<Vec<u64>, NodeError> {
        (0..self.history_ends())
            .map(|end| Ok(self.history_end(node, end)?.records))
            .collect()
    }

    /// Ends of HISTORY.
    pub fn history_ends(&self) -> u64 {
        let range = self.range(HISTORY);
        (range.end - range.start) / self.history_pages
    }

    /// The records of an end of HISTORY, in order, without overwritten ones.
    ///
    /// # Errors
    /// As [`CoupledNode::transact`].
    pub fn history(&self, node: &CoupledNode, end: u64) -> Result<Vec<HistoryRecord>, NodeError> {
        let last = self.history_end(node, end)?.records;
        let blocking = u64::from(self.scale.history_blocking);
        let kept = (self.history_pages - 1) * blocking;
        let mut record = match last <= self.history_records_max() {
            true => 0,
            false => (last - kept).next_multiple_of(blocking),
        };
        let mut found = Vec::new();
        while record < last {
            let page = self.history_page(end, record);
            let bytes = node.transact(0, |tx| tx.read(page, 0..PAGE_SIZE))?;
            for one in record..last.min(record + blocking) {
                let at = self.history_offset(one);
                let word = |n: usize| number(&bytes[at + 8 * n..at + 8 * n + 8]);
                found.push(HistoryRecord {
                    number: word(0),
                    amount: word(4) as i64,
                });
            }
            record += blocking;
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::Scale;
    use std::collections::BTreeMap;

    fn bank(scale: Scale) -> Bank {
        let setting = Setting {
            history_pages: 3,
            clients_max: 2,
            scale,
            ..Setting::new(2)
        };
        setting.check().unwrap();
        Bank::new(&setting)
    }

    #[test]
    fn each_record_has_a_place_of_its_own_within_its_partition() {
        let clustered = Scale {
            branch_blocking: 2,
            ..Scale::paper(2)
        };
        let apart = Scale {
            clustered: false,
            tellers_per_branch: 25,
            ..Scale::paper(2)
        };
        for (scale, teller_partition) in [(clustered, BRANCH), (apart, TELLER)] {
            let bank = bank(scale);
            let mut transfers = Transfers::new(bank.scale(), 7).unwrap();
            // The kind of record found at each place.
            let mut kinds: BTreeMap<(u64, usize), u16> = BTreeMap::new();
            for _ in 0..5000 {
                let transfer = transfers.draw(&bank);
                let partitions = [ACCOUNT, teller_partition, BRANCH];
                for (kind, (place, partition)) in
                    (0u16..).zip(transfer.places.into_iter().zip(partitions))
                {
                    assert!(place.1 <= PAGE_SIZE - 8 && place.1 % 8 == 0, "{transfer:?}");
                    let page = bank.number_of(place.0);
                    assert_eq!((page.partition, bank.page(page)), (partition, place.0));
                    assert_eq!(*kinds.entry(place).or_insert(kind), kind, "{transfer:?}");
                }
                let page = bank.number_of(transfer.places[2].0);
                let first = transfer.branch / bank.scale().branch_blocking;
                assert_eq!(page.page, first);
            }
            let count = |kind| kinds.values().filter(|&&found| found == kind).count();
            assert_eq!(count(2), 200, "each branch was drawn, and has one place");
            assert!(count(1) > 1800, "nearly every teller was drawn");
        }
    }

    #[test]
    fn ends_of_history_share_no_page_and_use_their_oldest_again() {
        let bank = bank(Scale::paper(2));
        assert_eq!((bank.history_ends(), bank.history_records_max()), (4, 60));
        let mut pages = BTreeMap::new();
        for end in 0..4 {
            for record in 0..60 {
                let page = bank.history_page(end, record);
                assert_eq!(bank.number_of(page).partition, HISTORY);
                assert_eq!(*pages.entry(page).or_insert(end), end);
                let last = bank.history_offset(record) + HISTORY_RECORD;
                assert!(bank.history_offset(record) >= HISTORY_HEAD && last <= PAGE_SIZE);
            }
            assert_eq!(bank.history_page(end, 60), bank.history_page(end, 0));
        }
        assert_eq!(pages.len(), 12);
        let distinct: std::collections::BTreeSet<usize> =
            (0..20).map(|record| bank.history_offset(record)).collect();
        assert_eq!(distinct.len(), 20);
    }
}
