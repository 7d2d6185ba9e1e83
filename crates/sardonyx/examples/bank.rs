//! A small bank: transfers that hold together, a statement of account, and a restart.
//!
//! ```text
//! cargo run -p sardonyx --example bank [DIRECTORY]
//! ```
//!
//! Run it twice on the same directory: the second run goes on where the first ended.

use sardonyx::procedures::{Procedure, TableSpace};
use sardonyx::{Error, Journal, Table, Tables, Transaction, record};
use std::path::PathBuf;

record! {
    #[table("accounts", key = number)]
    struct Account {
        number: u64,
        cents: i64,
    }
}

record! {
    /// A line of the statement: appended with each transfer, kept on disk, never in memory.
    #[journal("entries")]
    struct Entry {
        from: u64,
        to: u64,
        cents: i64,
    }
}

/// The reason why a transfer did not take place. An error of your own undoes the transaction.
#[derive(Debug, thiserror::Error)]
enum Declined {
    #[error("there is no account {0}")]
    NoAccount(u64),
    #[error("account {account} has {has} cents, {needs} are needed")]
    NotEnough { account: u64, has: i64, needs: i64 },
    #[error(transparent)]
    Engine(#[from] Error),
}

/// The transfer, as a procedure that can be called in batches.
#[derive(Clone, Copy)]
struct Transfer {
    accounts: Table<Account>,
    entries: Journal<Entry>,
}

impl Transfer {
    fn book(&self, entry: &Entry, transaction: &mut Transaction<'_>) -> Result<(), Declined> {
        let (from, to) = (entry.from, entry.to);
        let has = transaction
            .get(self.accounts, from)?
            .ok_or(Declined::NoAccount(from))?
            .cents;
        transaction.update(self.accounts, from, |account| account.cents -= entry.cents)?;
        let paid = transaction.update(self.accounts, to, |account| account.cents += entry.cents)?;
        if paid.is_none() {
            return Err(Declined::NoAccount(to)); // the debit of `from` is undone
        }
        if has < entry.cents {
            let needs = entry.cents;
            return Err(Declined::NotEnough {
                account: from,
                has,
                needs,
            });
        }
        transaction.append(self.entries, entry)?;
        Ok(())
    }
}

impl Procedure for Transfer {
    type Arguments = Entry;
    type Output = ();
    type Error = Declined;
    type Located = ();

    fn name(&self) -> &str {
        "transfer"
    }

    fn locate(&self, _entry: &Entry, _space: &TableSpace) {}

    fn execute(
        &self,
        entry: &Entry,
        _located: (),
        transaction: &mut Transaction<'_>,
    ) -> Result<(), Declined> {
        self.book(entry, transaction)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = tempfile::tempdir()?;
    let directory = std::env::args_os().nth(1).map(PathBuf::from);
    let directory = directory.unwrap_or_else(|| temporary.path().join("bank.sdx"));

    let bank = Tables::open(&directory)?;
    let transfer = Transfer {
        accounts: bank.table()?,
        entries: bank.journal()?,
    };
    open_accounts(&bank, &transfer)?;

    // A closure as a transaction: on stable storage when `run` returns.
    let lunch = Entry {
        from: 1,
        to: 2,
        cents: 1_250,
    };
    bank.transaction()
        .errors()
        .run(|transaction| transfer.book(&lunch, transaction))?;

    // Too much: everything that the transaction did is undone.
    let house = Entry {
        from: 2,
        to: 1,
        cents: 30_000_000,
    };
    match bank
        .transaction()
        .errors()
        .run(|transaction| transfer.book(&house, transaction))
    {
        Err(Declined::NotEnough { .. }) => println!("the house was declined"),
        other => other?,
    }

    // The same transfer a thousand times, as one batch: one sync for all of them.
    let registered = bank.register(transfer)?;
    let coffee = Entry {
        from: 2,
        to: 3,
        cents: 1,
    };
    let outcomes = bank
        .submit_batch(&registered, vec![coffee; 1000], 0)
        .wait()?;
    let booked = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    println!("{booked} coffees were booked");

    print_accounts(&bank, &transfer)?;
    bank.close()?;

    // Everything is there again: the balances from the backup and the log, the entries from the log
    // and the archive.
    let bank = Tables::open(&directory)?;
    let entries = bank.journal::<Entry>()?;
    let mut statement = Vec::new();
    bank.journal_rows(entries, |entry| {
        if entry.from == 1 || entry.to == 1 {
            statement.push(entry);
        }
        true
    })?;
    println!("statement of account 1, read back after a restart:");
    for entry in statement {
        println!("  {} -> {}: {} cents", entry.from, entry.to, entry.cents);
    }
    bank.close()?;
    Ok(())
}

/// Opens the accounts unless an earlier run did.
fn open_accounts(bank: &Tables, transfer: &Transfer) -> Result<(), Error> {
    bank.run(|transaction| {
        for number in 1..=3 {
            if transaction.get(transfer.accounts, number)?.is_none() {
                let cents = 1_000_000;
                transaction.insert(transfer.accounts, &Account { number, cents })?;
            }
        }
        Ok(())
    })
}

fn print_accounts(bank: &Tables, transfer: &Transfer) -> Result<(), Error> {
    let mut accounts: Vec<Account> = bank.read(|view| {
        view.scan(transfer.accounts)?
            .map(|account| account.copied())
            .collect()
    })?;
    accounts.sort_by_key(|account| account.number);
    for Account { number, cents } in accounts {
        println!("account {number}: {cents} cents");
    }
    Ok(())
}
