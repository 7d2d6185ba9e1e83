//! The records of debit-credit: 128 bytes for an account, a teller or a branch; 48 for history.
//!
//! TPK paper, section 4, figure 4: the three tables share one layout, and the benchmark requires 128 bytes. The
//! figure's password field is part of the filler here, since a request carries no password to check it against.
//!
//! Both are plain bytes without padding, so an engine may keep them, log them and hand them out
//! without converting.

use sardonyx_base::resident::Resident;

use crate::debit_credit::requests::Request;

/// An account, a teller or a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub struct Record {
    /// The primary key: 1 and up; 0 is no record.
    pub id: u64,
    /// The balance in the smallest unit of money.
    pub balance: i64,
    /// Bytes that make the record as long as the benchmark requires.
    pub filler: [u8; 112],
}

impl Record {
    /// A record with balance zero. Its filler is set from `id` so that no two records are alike: an engine that
    /// compresses must not win by records of zeros.
    pub fn new(id: u64) -> Self {
        let mut filler = [0; 112];
        let mut random = sardonyx_workload::random::Random::new(id);
        for word in filler.chunks_exact_mut(8) {
            word.copy_from_slice(&random.next_u64().to_le_bytes());
        }
        Record {
            id,
            balance: 0,
            filler,
        }
    }
}

/// One line of account history, written by every transaction and never changed. Its number, 1 and up without holes, is
/// its key and not repeated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub struct History {
    /// The account that was debited or credited.
    pub account: u64,
    /// The amount, positive or negative.
    pub amount: i64,
    /// The teller who served the client.
    pub teller: u32,
    /// The teller's branch.
    pub branch: u32,
}

impl History {
    /// The line of `request`.
    pub fn new(request: &Request) -> Self {
        History {
            account: request.account,
            amount: request.amount,
            teller: request.teller,
            branch: request.branch,
        }
    }
}

const _: () = assert!(size_of::<Record>() == 128 && size_of::<History>() == 24);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_survives_its_bytes() {
        let record = Record {
            balance: -5,
            ..Record::new(9)
        };
        assert_eq!(Record::read_from_bytes(record.as_bytes()), Some(record));
        assert_eq!(&record.as_bytes()[..8], &9u64.to_le_bytes());
        assert_ne!(record.filler, Record::new(10).filler);
    }
}
