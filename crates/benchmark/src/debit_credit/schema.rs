//! The tables of the debit-credit benchmark: records of 128 bytes, as the benchmark requires, and
//! the account history as a journal.
//!
//! Source: TPK paper (Li & Naughton), section 4, Figure 4.

use sardonyx::journals::PlainJournalRow;
use sardonyx::{Error, Journal, Table, Tables, record};
use sardonyx_base::hash::scattered;
use sardonyx_base::resident::Resident;

/// An account, a teller or a branch: the TPK paper's record definition is the same for all three.
macro_rules! balance_record {
    ($name:ident, $table:literal) => {
        #[doc = concat!("A row of the table `", $table, "`.")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[derive(Resident)]
        #[repr(C)]
        pub struct $name {
            /// Its number, the primary key.
            pub id: u64,
            /// Its balance, in the smallest unit of money.
            pub balance: i64,
            /// The password that verifies the right to use it.
            pub code: u64,
            /// The branch that it belongs to.
            pub branch: u64,
            /// Brings the record to the 128 bytes that the benchmark requires.
            pub filler: [u8; 96],
        }
        record!($name { table: $table, key: id: u64 });

        impl $name {
            /// A new record with a balance of zero.
            pub fn new(id: u64, branch: u64) -> Self {
                $name { id, balance: 0, code: code_of(id), branch, filler: [0; 96] }
            }
        }
    };
}

balance_record!(Account, "accounts");
balance_record!(Teller, "tellers");
balance_record!(Branch, "branches");

/// The password of a record.
#[inline]
pub fn code_of(id: u64) -> u64 {
    scattered(id) ^ 0x5a5a
}

/// A row of the account history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Resident)]
#[repr(C)]
pub struct HistoryRow {
    /// The transaction: the client's number in the upper 16 bits, its running number from 0 in the
    /// lower 48.
    pub transaction: u64,
    /// The account whose balance changed.
    pub account: u64,
    /// The amount added to the balances.
    pub amount: i64,
    /// The teller who served the client.
    pub teller: u32,
    /// The teller's branch.
    pub branch: u32,
}

impl PlainJournalRow for HistoryRow {
    const NAME: &'static str = "history";
}

/// The handles of all tables.
#[derive(Clone, Copy, Debug)]
pub struct Schema {
    /// The bank's clients.
    pub accounts: Table<Account>,
    /// Some for each branch.
    pub tellers: Table<Teller>,
    /// The fewest rows, and the most often changed.
    pub branches: Table<Branch>,
    /// The account history.
    pub history: Journal<HistoryRow>,
}

impl Schema {
    /// Declares the tables that are absent.
    pub fn of(database: &Tables) -> Result<Schema, Error> {
        Ok(Schema {
            accounts: database.table()?,
            tellers: database.table()?,
            branches: database.table()?,
            history: database.journal()?,
        })
    }
}
