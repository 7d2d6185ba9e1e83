//! redb: one table each; a group is one write transaction with `Durability::Immediate`.
//!
//! Its cache holds the whole bank. Commits are of one phase, as is its default: one sync each.

use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata};
use redb::{Table, TableDefinition};
use sardonyx_base::resident::Resident;
use sardonyx_benchmark::debit_credit::model::Sums;
use sardonyx_benchmark::debit_credit::record::{History, Record};
use sardonyx_benchmark::debit_credit::requests::{Request, Scale};
use sardonyx_lab::product::Product;

use crate::peer::{Failure, Peer};

type RecordBytes = [u8; size_of::<Record>()];
type HistoryBytes = [u8; size_of::<History>()];

const TABLES: [TableDefinition<'_, u64, &RecordBytes>; 3] = [
    TableDefinition::new("account"),
    TableDefinition::new("teller"),
    TableDefinition::new("branch"),
];
const HISTORY: TableDefinition<'_, u64, &HistoryBytes> = TableDefinition::new("history");

/// Opens a database with a cache that holds all of it.
pub(crate) fn database(file: &Path) -> Result<Database, Failure> {
    Ok(Database::builder().set_cache_size(1 << 30).create(file)?)
}

/// A value of the same bytes.
fn plain<T: Resident, U: Resident>(value: T) -> U {
    U::read_from_bytes(value.as_bytes()).expect("as many bytes")
}

pub(crate) struct Redb {
    database: Database,
    lines: u64,
}

impl Product for Redb {
    fn name() -> &'static str {
        "redb"
    }

    fn settings() -> &'static str {
        "Durability::Immediate, one-phase commit, cache 1 GiB"
    }
}

impl Peer for Redb {
    fn open(directory: &Path, scale: Scale) -> Result<Self, Failure> {
        let database = database(&directory.join("bank.redb"))?;
        let transaction = database.begin_write()?;
        let counts = [scale.accounts(), scale.tellers(), scale.branches()];
        for (definition, count) in TABLES.into_iter().zip(counts) {
            let mut table = transaction.open_table(definition)?;
            if table.is_empty()? {
                for id in 1..=count {
                    let bytes: RecordBytes = plain(Record::new(id));
                    table.insert(id, &bytes)?;
                }
            }
        }
        let lines = transaction.open_table(HISTORY)?.len()?;
        transaction.commit()?;
        Ok(Redb { database, lines })
    }

    fn run_group(&mut self, requests: &[Request]) -> Result<(), Failure> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        {
            let [account, teller, branch] = TABLES;
            let mut account = transaction.open_table(account)?;
            let mut teller = transaction.open_table(teller)?;
            let mut branch = transaction.open_table(branch)?;
            let mut history = transaction.open_table(HISTORY)?;
            for (request, sequence) in requests.iter().zip(self.lines + 1..) {
                add(&mut account, request.account, request.amount)?;
                add(&mut teller, request.teller.into(), request.amount)?;
                add(&mut branch, request.branch.into(), request.amount)?;
                let line: HistoryBytes = plain(History::new(request));
                history.insert(sequence, &line)?;
            }
        }
        transaction.commit()?;
        self.lines += requests.len() as u64;
        Ok(())
    }

    fn sums(&mut self) -> Result<Sums, Failure> {
        let transaction = self.database.begin_read()?;
        let mut sums = [0; 3];
        for (definition, sum) in TABLES.into_iter().zip(&mut sums) {
            for entry in transaction.open_table(definition)?.iter()? {
                let record: Record = plain(*entry?.1.value());
                *sum += record.balance;
            }
        }
        let mut history = 0;
        for entry in transaction.open_table(HISTORY)?.iter()? {
            let line: History = plain(*entry?.1.value());
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
        Ok(self.database.begin_read()?.open_table(HISTORY)?.len()?)
    }
}

fn add(table: &mut Table<'_, u64, &RecordBytes>, id: u64, amount: i64) -> Result<(), Failure> {
    let mut place = table.get_mut(id)?.ok_or("a record is missing")?;
    let mut record: Record = plain(*place.value());
    record.balance += amount;
    let bytes: RecordBytes = plain(record);
    place.insert(&bytes)?;
    Ok(())
}
