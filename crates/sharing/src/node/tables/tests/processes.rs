//! Debit-credit on typed rows by processes that are killed at random points. The sums over accounts, tellers, branches
//! and the history are equal, and every acknowledged transaction is in the history and in the journal once. The
//! history's rows are of any length, and are deleted again. So trees grow and shrink, and values in pages of their own
//! come and go.

use super::place::BUFFER_PAGES;
use super::verbs::account;
use crate::node::loose::tests::processes as loose;
use crate::node::tests::processes as close;
use crate::node::{NodeError, NodeJournal, Nodes, TableNode};
use crate::protocol::UpdateStrategy;
use sardonyx_base::random::Random;
use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{Schema, Type, Value};
use sardonyx_rows::{PlainJournalRow, Record, Table, record};

use super::verbs::Account;

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Teller {
    id: u64,
    balance: i64,
}

record!(Teller { table: "tellers", key: id: u64, fields: { id: u64, balance: i64 } });

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Branch {
    id: u64,
    balance: i64,
}

record!(Branch { table: "branches", key: id: u64, fields: { id: u64, balance: i64 } });

const ACCOUNTS: u64 = 400;
/// The number of rows kept of a worker's history.
const KEPT: u64 = 40;

/// A transfer, and its worker.
#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
struct Transfer {
    worker: u64,
    count: u64,
}

impl PlainJournalRow for Transfer {
    const NAME: &'static str = "transfers";
}

struct Bank {
    transfers: NodeJournal<Transfer>,
    accounts: Table<Account>,
    tellers: Table<Teller>,
    branches: Table<Branch>,
}

fn history() -> sardonyx_rows::schema::SchemaBuilder {
    Schema::new()
        .column("worker", Type::U64)
        .column("count", Type::U64)
        .column("amount", Type::I64)
        .column("sum", Type::I64)
        .column("note", Type::Text)
        .primary_key(["worker", "count"])
        .ordered()
        .index("by_amount", ["amount", "worker"])
        .index("by_sum", ["worker", "sum desc", "count"])
        .unique()
}

impl Bank {
    fn open(node: &impl TableNode) -> Result<Bank, NodeError> {
        node.create_table("history", history())?;
        Ok(Bank {
            transfers: node.journal()?,
            accounts: node.table()?,
            tellers: node.table()?,
            branches: node.table()?,
        })
    }

    /// One transfer of a worker: its count.
    fn transfer(
        &self,
        node: &impl TableNode,
        worker: u64,
        random: &mut Random,
    ) -> Result<u64, NodeError> {
        let amount = random.below(1000) as i64 - 500;
        let ids = [random.below(ACCOUNTS), random.below(4), random.below(2)];
        let length = random.below(60) + 900 * random.below(2) * random.below(9);
        node.run(|tx| {
            // Accounts come when they are first used.
            if tx
                .update(self.accounts, ids[0], |account| account.balance += amount)?
                .is_none()
            {
                tx.insert(self.accounts, &account(ids[0], amount))?;
            }
            let teller = Teller {
                id: ids[1],
                balance: amount,
            };
            if tx
                .update(self.tellers, ids[1], |teller| teller.balance += amount)?
                .is_none()
            {
                tx.insert(self.tellers, &teller)?;
            }
            let branch = Branch {
                id: ids[2],
                balance: amount,
            };
            if tx
                .update(self.branches, ids[2], |branch| branch.balance += amount)?
                .is_none()
            {
                tx.insert(self.branches, &branch)?;
            }
            let (last, sum) = last(tx, worker)?;
            let count = last + 1;
            tx.append(&self.transfers, &Transfer { worker, count })?;
            let mut rows = tx.rows("history")?;
            rows.insert(&[
                ("worker", worker.into()),
                ("count", count.into()),
                ("amount", amount.into()),
                ("sum", (sum + amount).into()),
                ("note", "n".repeat(length as usize).into()),
            ])?;
            if count > KEPT {
                assert!(rows.delete(&[worker.into(), (count - KEPT).into()])?);
            }
            Ok(count)
        })
    }
}

/// A worker's last count, and the sum of its amounts.
fn last(tx: &mut crate::node::Transaction<'_>, worker: u64) -> Result<(u64, i64), NodeError> {
    let rows = tx.rows("history")?;
    let by_key = rows.index("primary")?;
    let last = by_key.range(worker..=worker)?.next_back().transpose()?;
    let Some(row) = last else {
        return Ok((0, 0));
    };
    match (row.get("count")?, row.get("sum")?) {
        (Value::Int(count), Value::Int(sum)) => Ok((count as u64, sum as i64)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn child() {
    if let Some(told) = close::Told::here() {
        let nodes = Nodes::open(&told.directory, told.options.clone()).unwrap();
        let node = nodes.join().unwrap();
        let (worker, bank) = (told.worker, Bank::open(&node).unwrap());
        let (count, _) = node.run(|tx| last(tx, worker)).unwrap();
        told.work(count, |random| {
            bank.transfer(&node, worker, random).unwrap()
        });
    } else if let Some(told) = loose::Told::here() {
        let node = told.join(BUFFER_PAGES);
        let (worker, bank) = (told.worker, Bank::open(&node).unwrap());
        let (count, _) = node.run(|tx| last(tx, worker)).unwrap();
        told.work(node, count, |node, random| {
            bank.transfer(node, worker, random).unwrap()
        });
    }
}

fn sum<R: Record>(node: &impl TableNode, table: Table<R>, balance: fn(&R) -> i64) -> i64 {
    let sum = node.run(|tx| {
        let mut sum = 0;
        for row in tx.scan(table)? {
            sum += balance(&row?);
        }
        Ok::<i64, NodeError>(sum)
    });
    sum.unwrap()
}

fn check(node: &impl TableNode, witnessed: &[u64]) {
    let bank = Bank::open(node).unwrap();
    let mut all = 0;
    for worker in 0..witnessed.len() as u64 {
        let (count, sum) = node.run(|tx| last(tx, worker)).unwrap();
        assert_eq!(count, witnessed[worker as usize], "of worker {worker}");
        all += sum;
        let rows = node.run(|tx| {
            let rows = tx.rows("history")?;
            rows.index("primary")?.count_range(worker..=worker)
        });
        assert_eq!(rows.unwrap(), count.min(KEPT));
    }
    let mut journal = vec![0; witnessed.len()];
    for row in node.journal_range(bank.transfers, ..).unwrap() {
        let (_, Transfer { worker, count }) = row.unwrap();
        let last = &mut journal[worker as usize];
        *last += 1;
        assert_eq!(count, *last, "in the journal, of worker {worker}");
    }
    assert_eq!(journal, witnessed);
    assert_eq!(sum(node, bank.accounts, |row| row.balance), all);
    assert_eq!(sum(node, bank.tellers, |row| row.balance), all);
    assert_eq!(sum(node, bank.branches, |row| row.balance), all);
    let pages = node.check_tables().unwrap();
    println!("{witnessed:?} transactions, sum {all}, {pages:?}");
    assert!(pages.values > 0 && pages.free > 0);
}

#[test]
fn i9_debit_credit_by_processes_that_are_killed_force() {
    close::run(&child, UpdateStrategy::Force, 3, check);
}

#[test]
fn i9_debit_credit_by_processes_that_are_killed_noforce() {
    close::run(&child, UpdateStrategy::NoForce, 4, check);
}

#[test]
fn i9_debit_credit_by_loosely_coupled_processes_that_are_killed() {
    loose::run(&child, 3, false, check);
}

#[test]
fn i9_debit_credit_with_page_servers_that_are_killed() {
    loose::run(&child, 4, true, check);
}
