//! A bank that several processes of one host work on at once. Each is a node with a buffer of its own on one database,
//! and its transactions are acknowledged when they are on stable storage.
//!
//! ```text
//! cargo run --release -p sardonyx --features nodes --example nodes [DIRECTORY [PROCESSES]]
//! ```
//!
//! Run it twice on the same directory: the second run goes on where the first ended. Kill one of the processes: the
//! others go on, and none of its acknowledged transactions is lost.

use sardonyx::nodes::{Node, NodeJournal, NodeOptions, Nodes, TableNode};
use sardonyx::{Error, Table, record};
use std::path::{Path, PathBuf};
use std::process::Command;

record! {
    #[table("accounts", key = number)]
    struct Account {
        number: u64,
        cents: i64,
    }
}

record! {
    /// Appended with each transfer: one order over all nodes.
    #[journal("entries")]
    struct Entry {
        node: u64,
        from: u64,
        to: u64,
        cents: i64,
    }
}

const ACCOUNTS: u64 = 10_000;
const TRANSFERS: u64 = 1_000;

struct Bank {
    node: Node,
    accounts: Table<Account>,
    entries: NodeJournal<Entry>,
}

impl Bank {
    fn open(directory: &Path) -> Result<Bank, Error> {
        let options = NodeOptions {
            pages: 4096,
            ..NodeOptions::default()
        };
        let node = Nodes::open(directory, options)?.join()?;
        let (accounts, entries) = (node.table()?, node.journal()?);
        Ok(Bank {
            node,
            accounts,
            entries,
        })
    }

    /// Creates the accounts, if they do not exist.
    fn prepare(&self) -> Result<(), Error> {
        for first in (0..ACCOUNTS).step_by(1000) {
            self.node.run(|tx| {
                for number in first..first + 1000 {
                    if tx.get(self.accounts, number)?.is_none() {
                        let cents = 10_000;
                        tx.insert(self.accounts, &Account { number, cents })?;
                    }
                }
                Ok::<(), Error>(())
            })?;
        }
        Ok(())
    }

    /// One transfer; an error of your own would undo it.
    fn transfer(&self, from: u64, to: u64, cents: i64) -> Result<(), Error> {
        let node = self.node.slot() as u64;
        self.node.run(|tx| {
            // `update` reads records that will be changed, since it locks their pages for writing at once.
            let mut has = 0;
            tx.update(self.accounts, from, |account| {
                account.cents -= cents;
                has = account.cents;
            })?;
            if has < 0 {
                return Err(Error::other(format!("account {from} has too little")));
            }
            tx.update(self.accounts, to, |account| account.cents += cents)?;
            let entry = Entry {
                node,
                from,
                to,
                cents,
            };
            tx.append(&self.entries, &entry)?;
            Ok(())
        }) // on stable storage when this returns
    }

    fn work(&self, seed: u64) -> Result<u64, Error> {
        // Others each time.
        let mut state = seed << 32 | u64::from(std::process::id());
        let mut declined = 0;
        let mut random = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        for _ in 0..TRANSFERS {
            let (from, to) = (random(ACCOUNTS), random(ACCOUNTS));
            match self.transfer(from, to, 1 + random(5_000) as i64) {
                Err(Error::Other(_)) => declined += 1,
                done => done?,
            }
        }
        Ok(declined)
    }

    /// All accounts at one moment, in order.
    fn report(&self) -> Result<(), Error> {
        let (count, sum) = self.node.run(|tx| {
            let (mut count, mut sum) = (0, 0);
            for account in tx.scan(self.accounts)? {
                count += 1;
                sum += account?.cents;
            }
            Ok::<_, Error>((count, sum))
        })?;
        let mut by_node = [0; 64];
        for entry in self.node.journal_range(self.entries, ..)? {
            by_node[entry?.1.node as usize % 64] += 1;
        }
        println!("{count} accounts with {sum} cents; entries by node:");
        for (node, entries) in by_node.iter().enumerate().filter(|(_, n)| **n > 0) {
            println!("  {node}: {entries}");
        }
        assert_eq!(sum, ACCOUNTS as i64 * 10_000, "money came or went");
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().map_or_else(
        || std::env::temp_dir().join("sardonyx-example-nodes.sdx"),
        PathBuf::from,
    );
    let processes: u64 = arguments.next().map_or(4, |n| n.parse().expect("a number"));
    if let Some(seed) = arguments.next() {
        // One of the other processes.
        let seed = seed.parse().expect("a number");
        let declined = Bank::open(&directory)?.work(seed)?;
        println!("{TRANSFERS} transfers by process {seed}, {declined} of them declined");
        return Ok(());
    }
    let bank = Bank::open(&directory)?;
    bank.prepare()?;
    let program = std::env::current_exe().map_err(Error::other)?;
    let start = |seed: u64| {
        let mut command = Command::new(&program);
        command.arg(&directory).arg(processes.to_string());
        command.arg(seed.to_string()).spawn().map_err(Error::other)
    };
    let mut others = (1..processes).map(start).collect::<Result<Vec<_>, _>>()?;
    bank.work(processes)?;
    for other in &mut others {
        other.wait().map_err(Error::other)?;
    }
    bank.report()
}
