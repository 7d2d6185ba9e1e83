//! Transfers between pages that all nodes use. A transaction adds an amount to an account, a teller and a branch, and
//! to the worker's own page, where it counts, too. So the sums over each are equal if every transaction is whole.

use crate::node::{NodeError, TableNode};
use sardonyx_base::random::Random;

const ACCOUNTS: std::ops::Range<u64> = 0..6;
const TELLERS: std::ops::Range<u64> = 6..9;
const BRANCHES: std::ops::Range<u64> = 9..11;
const OWN: u64 = 16;

/// A number that begins there.
pub fn value(bytes: &[u8]) -> i64 {
    i64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// The number of a worker's transfers.
pub fn count(node: &impl TableNode, worker: u64) -> u64 {
    value(&node.run(|tx| tx.read(OWN + worker, 0..8)).unwrap()) as u64
}

/// One transfer of a worker; its count.
pub fn transfer(node: &impl TableNode, worker: u64, random: &mut Random) -> Result<u64, NodeError> {
    let mut pick = |pages: std::ops::Range<u64>| {
        let page = pages.start + random.below(pages.end - pages.start);
        (page, random.below(40) as usize * 8)
    };
    let places = [pick(ACCOUNTS), pick(TELLERS), pick(BRANCHES)];
    let amount = random.below(1000) as i64 - 500;
    node.run(|tx| {
        let own = OWN + worker;
        let count = value(&tx.read_to_change(own, 0..8)?) + 1;
        for (page, offset) in places.into_iter().chain([(own, 8)]) {
            let before = value(&tx.read_to_change(page, offset..offset + 8)?);
            tx.write(page, offset, &(before + amount).to_le_bytes())?;
        }
        tx.write(own, 0, &count.to_le_bytes())?;
        Ok(count as u64)
    })
}

fn sum(node: &impl TableNode, pages: std::ops::Range<u64>) -> i64 {
    let sum = node.run(|tx| {
        let mut sum = 0;
        for page in pages.clone() {
            let bytes = tx.read(page, 0..4096)?;
            sum += bytes.chunks(8).map(value).sum::<i64>();
        }
        Ok::<_, NodeError>(sum)
    });
    sum.unwrap()
}

/// Each worker has counted the witnessed transactions, and the sums are equal.
pub fn check(node: &impl TableNode, witnessed: &[u64]) {
    let mut own = 0;
    for (worker, witnessed) in witnessed.iter().enumerate() {
        let page = OWN + worker as u64;
        let bytes = node.run(|tx| tx.read(page, 0..16)).unwrap();
        assert_eq!(value(&bytes[..8]), *witnessed as i64, "of worker {worker}");
        own += value(&bytes[8..]);
    }
    println!("{witnessed:?} transactions; sums {own}");
    for pages in [ACCOUNTS, TELLERS, BRANCHES] {
        assert_eq!(sum(node, pages.clone()), own, "{pages:?}");
    }
}
