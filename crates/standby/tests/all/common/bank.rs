//! A bank: transaction `n` moves money between two accounts that follow from `n`, and writes `n`
//! into a journal. So what a database holds is either the state after exactly the first `j`
//! transactions, or wrong.

use sardonyx::disk::GroupLimits;
use sardonyx::journals::PlainJournalRow;
use sardonyx::{Error, Journal, Options, Shape, Table, Tables, record};
use sardonyx_storage::checkpoint::RemoteCheckpointer;
use sardonyx_storage::disk::SimulatedDisk;
use sardonyx_storage::log::LogError;
use std::sync::Arc;
use std::time::Instant;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const ACCOUNTS: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Account {
    id: u64,
    balance: i64,
    filler: [u8; 496],
}
record!(Account { table: "accounts", key: id: u64 });

#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Move {
    number: u64,
    filler: [u64; 31],
}

impl PlainJournalRow for Move {
    const NAME: &'static str = "moves";
}

pub struct Bank {
    pub database: Tables,
    accounts: Table<Account>,
    moves: Journal<Move>,
    /// Transactions that were acknowledged.
    pub done: u64,
}

pub fn options(identity: u64) -> Options {
    let limits = GroupLimits {
        group_bytes: 8 << 10,
        transaction_bytes: 16 << 10,
        depth: 2,
        buffers: 6,
    };
    Options::new()
        .shape(Shape::Coalesced)
        .segment_bytes(32 << 10)
        .block_bytes(16 << 10)
        .stripes(2)
        .log_bytes_max(256 << 10)
        .log_bytes_prepared(0)
        .memory_bytes_max(64 << 20)
        .group_limits(limits)
        .identity(identity)
}

/// The two accounts of a transaction, and the amount.
fn moved(number: u64) -> (u64, u64, i64) {
    let mixed = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let (from, step) = (mixed >> 58, (mixed >> 40) % (ACCOUNTS - 1));
    (
        from,
        (from + 1 + step) % ACCOUNTS,
        (mixed >> 20) as i64 & 0xff,
    )
}

impl Bank {
    /// Opens the bank with its checkpoints at this standby.
    pub fn at(disk: &SimulatedDisk, standby: Arc<dyn RemoteCheckpointer>) -> Result<Bank, Error> {
        Self::open(disk, options(7).checkpoint_at(standby))
    }

    pub fn open(disk: &SimulatedDisk, options: Options) -> Result<Bank, Error> {
        let database = options.open_tables_on(Arc::new(disk.clone()))?;
        let (accounts, moves) = (database.table()?, database.journal()?);
        let mut bank = Bank {
            database,
            accounts,
            moves,
            done: 0,
        };
        bank.done = bank.journal_rows();
        Ok(bank)
    }

    fn journal_rows(&self) -> u64 {
        let mut rows = 0;
        let read = self.database.journal_rows(self.moves, |_| {
            rows += 1;
            true
        });
        // The primary's journal is read from its log alone; what was freed is at the standby.
        if read.is_err() {
            self.moves_by_balances()
        } else {
            rows
        }
    }

    /// Without the journal: the number of transactions after which the balances are these.
    fn moves_by_balances(&self) -> u64 {
        let found = self.balances();
        let mut balances = vec![0; ACCOUNTS as usize];
        for number in 0.. {
            if balances == found {
                return number;
            }
            assert!(number < 1_000_000, "the balances are those of no prefix");
            apply(&mut balances, number);
        }
        unreachable!()
    }

    fn balances(&self) -> Vec<i64> {
        let mut balances = vec![0; ACCOUNTS as usize];
        self.database
            .read(|view| {
                for account in view.scan(self.accounts)? {
                    let account = account?;
                    balances[account.id as usize] = account.balance;
                }
                Ok(())
            })
            .expect("open");
        balances
    }

    /// Runs the next transaction, durably.
    pub fn transact(&mut self) -> Result<(), Error> {
        let number = self.done;
        let (from, to, amount) = moved(number);
        let (accounts, moves) = (self.accounts, self.moves);
        self.database.run(|tx| {
            for (id, change) in [(from, -amount), (to, amount)] {
                let updated = tx.update(accounts, id, |account| account.balance += change)?;
                if updated.is_none() {
                    let filler = [number as u8; 496];
                    let balance = change;
                    tx.insert(
                        accounts,
                        &Account {
                            id,
                            balance,
                            filler,
                        },
                    )?;
                }
            }
            let filler = [number; 31];
            tx.append(moves, &Move { number, filler })?;
            Ok::<_, Error>(())
        })?;
        self.done += 1;
        Ok(())
    }

    /// Runs so many transactions. Refusals because the log is full are waited out.
    pub fn transact_patiently(&mut self, count: u64) {
        let until = self.done + count;
        let give_up = Instant::now() + super::LONG;
        while self.done < until {
            match self.transact() {
                Ok(()) => {}
                Err(error) if is_full(&error) && Instant::now() < give_up => {
                    std::thread::yield_now();
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Runs transactions until the log is full. Returns the refusal.
    pub fn transact_until_full(&mut self) -> Error {
        for _ in 0..100_000 {
            if let Err(error) = self.transact() {
                return error;
            }
        }
        panic!("the log was never full");
    }

    /// Whether the database holds exactly the first `j` transactions, and how many that is. With
    /// the journal, each of them once and in order.
    pub fn check(&self) -> u64 {
        let mut rows = 0;
        let read = self.database.journal_rows(self.moves, |row| {
            assert_eq!(
                (row.number, row.filler),
                (rows, [rows; 31]),
                "a row of the journal"
            );
            rows += 1;
            true
        });
        read.expect("the journal can be read");
        assert_eq!(rows, self.moves_at_least(rows), "rows of the journal");
        rows
    }

    fn moves_at_least(&self, rows: u64) -> u64 {
        let mut balances = vec![0; ACCOUNTS as usize];
        (0..rows).for_each(|number| apply(&mut balances, number));
        assert_eq!(
            balances,
            self.balances(),
            "the balances after {rows} transactions"
        );
        rows
    }

    /// The same where the journal is at the standby: `done` transactions are there.
    pub fn check_balances(&self) {
        self.moves_at_least(self.done);
    }
}

fn apply(balances: &mut [i64], number: u64) {
    let (from, to, amount) = moved(number);
    balances[from as usize] -= amount;
    balances[to as usize] += amount;
}

pub fn is_full(error: &Error) -> bool {
    matches!(error.downcast_ref(), Some(LogError::Full { .. }))
}

/// Opens a standby's directory as the database, and checks it. Returns how many transactions it
/// has.
pub fn fail_over(disk: &SimulatedDisk) -> u64 {
    let bank = Bank::open(disk, options(7)).expect("the standby's directory opens");
    let found = bank.check();
    bank.database.close().expect("it closes");
    found
}
