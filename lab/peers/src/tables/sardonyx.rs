//! Sardonyx: accounts are plain records with ordered indexes, read in a snapshot; customers are structs with texts,
//! a closure's transaction for each batch.

use super::database::{AccountOrder, CustomerOrder, Database, OnAccount, OnCustomer};
use super::database::{Reader, Reading};
use super::rows::{Account, Customer};
use sardonyx::low_level::{PageSnapshot, TreeEntries};
use sardonyx::rows::Index;
use sardonyx::schema::{IndexDefinition, IndexKind, KeyPart, PRIMARY};
use sardonyx::{Durability, Record, Snapshot, Table, Tables, Ticket, Transaction};
use sardonyx_lab::product::Product;
use sardonyx_lab::ycsb::Seen;
use sardonyx_lab::ycsb::store::Missing;
use sardonyx_lab::{Failure, engine_options};
use std::collections::VecDeque;
use std::path::Path;

/// Accounts that one transaction of the loading inserts.
const LOADED_TOGETHER: usize = 10_000;
const BY_ID: &str = "by_id";
const BY_BALANCE: &str = "by_balance";
const BY_NAME: &str = "by_name";

pub(super) struct Sardonyx {
    database: Tables,
    accounts: Table<Account>,
    customers: Table<Customer>,
    /// Batches, the oldest first.
    on_their_way: VecDeque<Ticket<()>>,
}

impl Product for Sardonyx {
    fn name() -> &'static str {
        "Sardonyx"
    }

    fn settings() -> &'static str {
        "Durability::Durable, adaptive group commit, log 2 GiB, defaults else; accounts by a snapshot's ordered index"
    }
}

impl Database for Sardonyx {
    fn open(directory: &Path) -> Result<Self, Failure> {
        let options = engine_options::with_log(engine_options::LOG_BYTES);
        let database = options.open_tables(directory.join("tables.sdx"))?;
        let accounts = database.table::<Account>()?;
        let missing = database.read(|view| Ok(view.index(accounts, BY_ID).is_err()))?;
        if missing {
            database.run(|transaction| {
                transaction.create_index(accounts.number(), ordered(BY_ID, 0, true))?;
                transaction.create_index(accounts.number(), ordered(BY_BALANCE, 1, false))
            })?;
        }
        let customers = Customer::declared()
            .ordered()
            .index(BY_BALANCE, ["balance"])
            .ordered()
            .index(BY_NAME, ["name"])
            .ordered();
        database.create_table(Customer::TABLE, customers)?;
        Ok(Sardonyx {
            customers: database.table()?,
            accounts,
            database,
            on_their_way: VecDeque::new(),
        })
    }

    fn load(&mut self, accounts: u64) -> Result<(), Failure> {
        let table = self.accounts;
        for first in (0..accounts).step_by(LOADED_TOGETHER) {
            let mut together = first..accounts.min(first + LOADED_TOGETHER as u64);
            let insert = |transaction: &mut Transaction<'_>| {
                together.try_for_each(|id| transaction.insert(table, &Account::new(id)))
            };
            self.database
                .transaction()
                .durability(Durability::Deferred)
                .run(insert)?;
        }
        Ok(self.database.flush()?)
    }

    fn read(&mut self, reading: &mut Reading<'_>) -> Result<(), Failure> {
        let snapshot = self.database.snapshot()?;
        let by_id = snapshot.index(self.accounts, BY_ID)?;
        reading(&mut Read { by_id })
    }

    fn accounts(&mut self, order: AccountOrder, each: &mut OnAccount<'_>) -> Result<(), Failure> {
        let name = match order {
            AccountOrder::Id => BY_ID,
            AccountOrder::Balance => BY_BALANCE,
        };
        let snapshot: Snapshot = self.database.snapshot()?;
        for account in snapshot.index(self.accounts, name)?.all()? {
            each(&account?)?;
        }
        Ok(())
    }

    fn on_their_way_max(&self) -> usize {
        usize::MAX
    }

    fn insert(&mut self, customers: Vec<Customer>, on_their_way: usize) -> Result<(), Failure> {
        let table = self.customers;
        let insert = move |transaction: &mut Transaction<'_>| {
            let mut customers = customers.iter();
            customers.try_for_each(|customer| transaction.insert(table, customer))
        };
        if on_their_way == 1 {
            return Ok(self.database.run(insert)?);
        }
        self.on_their_way.push_back(self.database.submit(insert));
        if self.on_their_way.len() >= on_their_way
            && let Some(oldest) = self.on_their_way.pop_front()
        {
            oldest.wait()?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), Failure> {
        for ticket in self.on_their_way.drain(..) {
            ticket.wait()?;
        }
        Ok(())
    }

    fn customers(
        &mut self,
        order: CustomerOrder,
        each: &mut OnCustomer<'_>,
    ) -> Result<(), Failure> {
        let index = match order {
            CustomerOrder::Id => PRIMARY,
            CustomerOrder::Balance => BY_BALANCE,
            CustomerOrder::Name => BY_NAME,
        };
        let snapshot = self.database.snapshot()?;
        for customer in snapshot.index(self.customers, index)?.all()? {
            each(&customer?)?;
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<(), Failure> {
        self.database.checkpoint()?;
        Ok(self.database.close()?)
    }
}

fn ordered(name: &str, column: usize, unique: bool) -> IndexDefinition {
    IndexDefinition {
        name: name.into(),
        kind: IndexKind::Ordered,
        unique,
        deferrable: false,
        nulls_equal: false,
        key: vec![KeyPart {
            column,
            descending: false,
        }],
    }
}

struct Read<'a> {
    by_id: Index<TreeEntries<'a, PageSnapshot>, Account>,
}

impl Reader for Read<'_> {
    fn get(&mut self, ids: &[u64]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &key in ids {
            let account = self.by_id.get_by(key)?.ok_or(Missing { key })?;
            account.see(&mut seen);
        }
        Ok(seen)
    }

    fn get_many(&mut self, ids: &[u64]) -> Option<Result<Seen, Failure>> {
        let accounts = self.by_id.get_many(ids.iter().copied());
        let mut seen = Seen::default();
        for (&key, account) in ids.iter().zip(accounts) {
            match account {
                Ok(Some(account)) => account.see(&mut seen),
                Ok(None) => return Some(Err(Missing { key }.into())),
                Err(error) => return Some(Err(error.into())),
            }
        }
        Some(Ok(seen))
    }

    fn scan(&mut self, from: &[u64], length: usize) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for &from in from {
            for account in self.by_id.range(from..)?.take(length) {
                account?.see(&mut seen);
            }
        }
        Ok(seen)
    }
}
