//! The records of a durable group, sorted by their stripe: read once for all stripes, by the first checkpointer that
//! comes. So a stripe's work is its own records, however many stripes there are; and the place of a record in its
//! stripe is computed once, too.
//!
//! It takes 16 bytes for each write, for as long as the group is in memory; those are bounded in number (I10).

use super::record::{Body, RecordError, Records};
use sardonyx_base::sync::Mutex;
use std::sync::Arc;

/// The distribution of pages to stripes: in blocks, in turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stripes {
    pub count: u32,
    pub block_bytes: u32,
}

/// A write in the payload of a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Write {
    /// The place of its first byte in the stripe.
    pub place: u64,
    /// The start of its bytes in the payload.
    start: u32,
    length: u32,
}

impl Write {
    #[inline(always)]
    pub fn bytes<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        &payload[self.start as usize..(self.start + self.length) as usize]
    }
}

/// The records of a group.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Split {
    /// The writes of each stripe, in the log's order.
    pub writes: Vec<Vec<Write>>,
    /// The places of the journals' encoded records in the payload.
    pub journal: Vec<(u32, u32)>,
    pub transactions: u64,
}

impl Split {
    /// Sorts a payload's records.
    pub fn of(payload: &[u8], stripes: Stripes) -> Result<Split, RecordError> {
        let (count, block_bytes) = (u64::from(stripes.count), u64::from(stripes.block_bytes));
        // The number for a stripe if they have alike, of records of 16 bytes.
        let usual = payload.len() / 16 / stripes.count as usize;
        let mut split = Split {
            writes: vec![Vec::with_capacity(usual); stripes.count as usize],
            ..Split::default()
        };
        let mut records = Records::new(payload);
        loop {
            let start = records.offset();
            let Some(record) = records.next() else {
                return Ok(split);
            };
            let record = record?;
            split.transactions += u64::from(record.ends_transaction);
            match record.body {
                Body::Write { address, bytes } => {
                    let block = address.0 / block_bytes;
                    let write = Write {
                        place: block / count * block_bytes + address.0 % block_bytes,
                        start: (start + super::record::RECORD_HEAD_BYTES) as u32,
                        length: bytes.len() as u32,
                    };
                    split.writes[(block % count) as usize].push(write);
                }
                Body::Journal { .. } => {
                    split.journal.push((start as u32, records.offset() as u32));
                }
                Body::Version { .. } => {}
            }
        }
    }
}

/// A group's [`Split`], once it was requested.
#[derive(Debug, Default)]
pub(super) struct LazySplit(Mutex<Option<Arc<Split>>>);

impl LazySplit {
    /// The records of the group with this payload. A second caller waits for the first one, which is shorter than to
    /// do it again.
    pub fn get(&self, payload: &[u8], stripes: Stripes) -> Result<Arc<Split>, RecordError> {
        let mut split = self.0.lock();
        if let Some(split) = &*split {
            return Ok(split.clone());
        }
        let new = Arc::new(Split::of(payload, stripes)?);
        *split = Some(new.clone());
        Ok(new)
    }
}

#[cfg(all(test, not(shuttle)))]
mod tests {
    use super::*;
    use crate::log::seal::GroupBuilder;
    use crate::page::Address;
    use proptest::prelude::*;

    const BLOCK_BYTES: u32 = 3 * 4096;

    /// A payload of these writes, each a transaction with a journal row.
    fn payload(writes: &[(u64, u8)]) -> Vec<u8> {
        let mut group = GroupBuilder::with_capacity(1 << 20);
        for &(word, byte) in writes {
            group.push_write(Address(word * 8), &[byte; 8]);
            group.push_journal(3, &[byte; 5]);
            group.end_transaction();
        }
        group.payload().to_vec()
    }

    proptest! {
        #[test]
        fn every_write_is_in_its_stripe_once_and_in_order(
            writes in prop::collection::vec((0u64..60 * 512, any::<u8>()), 0..200),
            count in 1u32..9,
        ) {
            let payload = payload(&writes);
            let split = Split::of(&payload, Stripes { count, block_bytes: BLOCK_BYTES }).unwrap();
            let (stripes, block) = (u64::from(count), u64::from(BLOCK_BYTES));
            for stripe in 0..stripes {
                let found: Vec<(u64, u8)> = (split.writes[stripe as usize].iter())
                    .map(|write| {
                        let of_stripe = write.place / block * stripes + stripe;
                        (of_stripe * block + write.place % block, write.bytes(&payload)[0])
                    })
                    .collect();
                let expected: Vec<(u64, u8)> = (writes.iter())
                    .map(|&(word, byte)| (word * 8, byte))
                    .filter(|(address, _)| address / block % stripes == stripe)
                    .collect();
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(split.journal.len(), writes.len());
            prop_assert_eq!(split.transactions, writes.len() as u64);
        }
    }

    #[test]
    fn a_group_is_read_once_for_all_stripes_and_a_broken_one_for_none() {
        let payload = payload(&[(1, 1), (5000, 2)]);
        let stripes = Stripes {
            count: 2,
            block_bytes: BLOCK_BYTES,
        };
        let lazy = LazySplit::default();
        let first = lazy.get(&payload, stripes).unwrap();
        // A second request does not read the payload.
        let second = lazy.get(&[], stripes).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let broken = LazySplit::default();
        assert!(broken.get(&payload[..payload.len() - 3], stripes).is_err());
        assert!(broken.get(&payload, stripes).is_ok());
    }
}
