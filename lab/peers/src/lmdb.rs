//! LMDB, by `heed`: one named database each with integer keys; a group is one write transaction.
//!
//! LMDB syncs at every commit by default, which is not changed. Its map must be sized in advance: it gets 64 GiB of
//! address space, of which the file uses what it needs.

use std::path::Path;

use heed::byteorder::NativeEndian;
use heed::types::{Bytes, U64};
use heed::{CommitOrAbort, Database, Env, EnvOpenOptions, IntegerComparator, PutFlags, RwTxn};
use sardonyx_base::resident::Resident;
use sardonyx_benchmark::debit_credit::model::Sums;
use sardonyx_benchmark::debit_credit::record::{History, Record};
use sardonyx_benchmark::debit_credit::requests::{Request, Scale};
use sardonyx_lab::product::Product;

use crate::peer::{Failure, Peer};

type Table = Database<'static, U64<NativeEndian>, Bytes, IntegerComparator>;

const NAMES: [&str; 4] = ["account", "teller", "branch", "history"];
const MAP_BYTES: usize = 64 << 30;

/// Opens an environment with room for so many named databases, in a directory that was created for one run alone.
pub(crate) fn environment(directory: &Path, databases: u32) -> Result<Env, Failure> {
    let mut options = EnvOpenOptions::new();
    options.map_size(MAP_BYTES).max_dbs(databases);
    // SAFETY: the directory was created for this run alone. Only LMDB itself, in this process or in workers of the run
    // that it coordinates, changes the mapped file, and the flags are the defaults.
    Ok(unsafe { options.open(directory)? })
}

pub(crate) struct Lmdb {
    environment: Env,
    /// Accounts, tellers, branches.
    tables: [Table; 3],
    history: Table,
    lines: u64,
}

impl Product for Lmdb {
    fn name() -> &'static str {
        "LMDB"
    }

    fn settings() -> &'static str {
        "default sync (data and meta page at every commit), integer keys, history appended, \
         map 64 GiB"
    }
}

impl Peer for Lmdb {
    fn open(directory: &Path, scale: Scale) -> Result<Self, Failure> {
        let environment = environment(directory, NAMES.len() as u32)?;
        let [account, teller, branch, history] = open_tables(&environment)?;
        let mut bank = Lmdb {
            environment,
            tables: [account, teller, branch],
            history,
            lines: 0,
        };
        bank.fill(scale)?;
        bank.lines = bank.history_lines()?;
        Ok(bank)
    }

    fn run_group(&mut self, requests: &[Request]) -> Result<(), Failure> {
        let mut transaction = self.environment.write_txn()?;
        let [account, teller, branch] = &self.tables;
        for (request, sequence) in requests.iter().zip(self.lines + 1..) {
            let amount = request.amount;
            add(&mut transaction, account, request.account, amount)?;
            add(&mut transaction, teller, request.teller.into(), amount)?;
            add(&mut transaction, branch, request.branch.into(), amount)?;
            let line = History::new(request);
            let bytes = line.as_bytes();
            self.history
                .put_with_flags(&mut transaction, PutFlags::APPEND, &sequence, bytes)?;
        }
        transaction.commit()?;
        self.lines += requests.len() as u64;
        Ok(())
    }

    fn sums(&mut self) -> Result<Sums, Failure> {
        let transaction = self.environment.read_txn()?;
        let mut sums = [0; 3];
        for (table, sum) in self.tables.iter().zip(&mut sums) {
            for entry in table.iter(&transaction)? {
                *sum += record(entry?.1)?.balance;
            }
        }
        let mut history = 0;
        for entry in self.history.iter(&transaction)? {
            let line = History::read_from_bytes(entry?.1).ok_or("a line is not 24 bytes")?;
            history += line.amount;
        }
        let [accounts, tellers, branches] = sums;
        Ok(Sums {
            accounts,
            tellers,
            branches,
            history,
        })
    }

    fn history_lines(&mut self) -> Result<u64, Failure> {
        let transaction = self.environment.read_txn()?;
        Ok(self.history.len(&transaction)?)
    }
}

impl Lmdb {
    /// Fills the tables if they are empty.
    fn fill(&mut self, scale: Scale) -> Result<(), Failure> {
        let mut transaction = self.environment.write_txn()?;
        let counts = [scale.accounts(), scale.tellers(), scale.branches()];
        for (table, count) in self.tables.iter().zip(counts) {
            if table.is_empty(&transaction)? {
                for id in 1..=count {
                    let record = Record::new(id);
                    let bytes = record.as_bytes();
                    table.put_with_flags(&mut transaction, PutFlags::APPEND, &id, bytes)?;
                }
            }
        }
        Ok(transaction.commit()?)
    }
}

fn open_tables(environment: &Env) -> Result<[Table; 4], Failure> {
    let transaction = environment.write_txn()?;
    let created = environment.create_databases_and_commit(transaction, |opener, transaction| {
        let mut create = |name| {
            let mut options = opener.database_options().types().key_comparator();
            options.name(name).create(transaction)
        };
        let [account, teller, branch, history] = NAMES;
        let tables = [
            create(account)?,
            create(teller)?,
            create(branch)?,
            create(history)?,
        ];
        Ok::<_, heed::Error>(CommitOrAbort::<_, ()>::Commit(tables))
    })?;
    Ok(created.unwrap_commit())
}

/// Adds `amount` to a record.
fn add(transaction: &mut RwTxn<'_>, table: &Table, id: u64, amount: i64) -> Result<(), Failure> {
    let mut record = record(table.get(transaction, &id)?.ok_or("a record is missing")?)?;
    record.balance += amount;
    table.put(transaction, &id, record.as_bytes())?;
    Ok(())
}

fn record(bytes: &[u8]) -> Result<Record, Failure> {
    Ok(Record::read_from_bytes(bytes).ok_or("a record is not 128 bytes")?)
}
