//! The process that torture kills. It opens the database and runs debit-credit from several clients. Over its standard
//! output it reports the number of acknowledged transactions of each client to the witness. It reports after each
//! acknowledgement and before the next request of that client counts. So the witness never knows more than the
//! acknowledged ones.
//!
//! With `--deferred`, only the last transaction of each batch of a client is waited for. When it is durable, the engine
//! guarantees that all earlier ones are, too.

use crate::torture::remove;
use crate::victim_follower::OtherHost;
use anyhow::Context;
use clap::Args;
use sardonyx::procedures::{Procedure, Registered};
use sardonyx::{Durability, Error, Options, Shape, Tables};
use sardonyx_base::victims::acknowledge;
use sardonyx_benchmark::debit_credit::load::load;
use sardonyx_benchmark::debit_credit::requests::{Generator, OTHER_BRANCH_PERCENT, Scale};
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_benchmark::debit_credit::transaction::{DebitCredit, Numbered};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Options of `victim`.
#[derive(Args)]
pub struct Victim {
    path: PathBuf,
    /// The number of this life's first client.
    #[arg(long)]
    first_client: usize,
    #[arg(long)]
    clients: usize,
    #[arg(long)]
    seed: u64,
    #[command(flatten)]
    setting: Setting,
    /// Only the last transaction of a batch is waited for.
    #[arg(long)]
    deferred: bool,
    /// Only open, and close.
    #[arg(long)]
    recover_only: bool,
}

/// The size of the tortured database.
pub fn scale() -> Scale {
    Scale::new(20_000, 100, 10).expect("a valid scale")
}

/// The options by which a victim, or the judge of its files, opens the database.
#[derive(Args, Clone)]
pub struct Setting {
    /// 0: coalesced, 1: pipelined, 2: threadless.
    #[arg(long)]
    pub shape: u64,
    /// A checkpoint begins after so many transactions.
    #[arg(long)]
    checkpoint_transactions: Option<u64>,
    /// A copy in this directory takes the checkpoints: it follows the log in a store over TCP, all in the same process.
    #[arg(long)]
    pub follower: Option<PathBuf>,
}

/// An open database, and the other host's part, if there is one.
pub struct Opened {
    pub database: Tables,
    other: Option<OtherHost>,
}

impl Opened {
    /// Closes both. Then the copy has everything that was durable here.
    pub fn close(self) -> anyhow::Result<()> {
        self.database.close().context("closing")?;
        self.other.map_or(Ok(()), OtherHost::close)
    }
}

impl Setting {
    /// The setting with this shape and defaults.
    pub fn of_shape(shape: u64) -> Setting {
        Setting {
            shape,
            checkpoint_transactions: None,
            follower: None,
        }
    }

    /// Removes the database, the copy and its store.
    pub fn remove(&self, path: &Path) -> anyhow::Result<()> {
        remove(path)?;
        self.follower.as_deref().map_or(Ok(()), OtherHost::remove)
    }

    /// Opens the database with a small log, so that it is recycled all the time.
    pub fn open(&self, path: &Path) -> anyhow::Result<Opened> {
        let shape = match self.shape % 3 {
            0 => Shape::Coalesced,
            1 => Shape::Pipelined {
                input_threads: 2,
                output_threads: 2,
            },
            _ => Shape::Threadless,
        };
        let limits = sardonyx::disk::GroupLimits {
            group_bytes: 512 << 10,
            transaction_bytes: 4 << 20,
            ..Default::default()
        };
        let mut options = Options::new()
            .shape(shape)
            .group_limits(limits)
            .segment_bytes(8 << 20)
            .block_bytes(64 << 10)
            .stripes(2)
            .log_bytes_max(64 << 20)
            .log_bytes_prepared(16 << 20);
        if let Some(transactions) = self.checkpoint_transactions {
            options = options.checkpoint_interval_transactions(transactions);
        }
        let mut other = match &self.follower {
            Some(directory) => Some(OtherHost::start(directory, self.checkpoint_transactions)?),
            None => None,
        };
        if let Some(other) = &other {
            options = options.store(other.remote()).checkpoints_at_followers();
        }
        let database = options.open_tables(path)?;
        // The store has a database now.
        if let Some(other) = &mut other {
            other.follow()?;
        }
        Ok(Opened { database, other })
    }
}

impl Victim {
    /// Runs until killed.
    pub fn run(&self) -> anyhow::Result<()> {
        let opened = self.setting.open(&self.path)?;
        let database = &opened.database;
        let schema = Schema::of(database)?;
        if database.read(|view| view.count(schema.branches))? == 0 {
            load(database, &schema, &scale(), |_| {})?;
        }
        if self.recover_only {
            return opened.close();
        }
        let transaction = DebitCredit::new(schema);
        let procedure = database.register(transaction)?;
        std::thread::scope(|scope| {
            for client in 0..self.clients {
                let procedure = &procedure;
                scope.spawn(move || match self.deferred {
                    true => self.defer(database, &schema, &transaction, client),
                    false => self.submit(database, procedure, client),
                });
            }
        });
        Ok(())
    }

    /// The number of a life's client among all, its requests, and the number of requests in a batch.
    fn client(&self, client: usize) -> anyhow::Result<(u64, Generator, u64)> {
        let seed = self.seed.wrapping_add(client as u64);
        let requests = Generator::new(scale(), OTHER_BRANCH_PERCENT, seed)?;
        let number = (self.first_client + client) as u64;
        Ok((number, requests, 1 + (seed % 400)))
    }

    /// Submits batches, some of them at once.
    fn submit(
        &self,
        database: &Tables,
        procedure: &Registered<DebitCredit>,
        client: usize,
    ) -> anyhow::Result<()> {
        let (number, mut requests, size) = self.client(client)?;
        let (mut sent, mut acknowledged) = (0u64, 0u64);
        let mut window = VecDeque::new();
        loop {
            let batch = (0..size)
                .map(|n| Numbered {
                    transaction: (number << 48) | (sent + n),
                    request: requests.request(),
                })
                .collect();
            sent += size;
            window.push_back(database.submit_batch(procedure, batch, client));
            if window.len() > 4 {
                let ticket = window.pop_front().expect("not empty");
                ticket.wait()?;
                acknowledged += size;
                acknowledge(number, acknowledged)?;
            }
        }
    }

    /// Runs one after the other, and waits only for the last of each batch.
    fn defer(
        &self,
        database: &Tables,
        schema: &Schema,
        transaction: &DebitCredit,
        client: usize,
    ) -> anyhow::Result<()> {
        let (number, mut requests, size) = self.client(client)?;
        let mut run = 0;
        loop {
            for left in (0..size).rev() {
                let numbered = Numbered {
                    transaction: (number << 48) | run,
                    request: requests.request(),
                };
                let durability = match left {
                    0 => Durability::Durable,
                    _ => Durability::Deferred,
                };
                database.transaction().durability(durability).run(|tx| {
                    let request = &numbered.request;
                    let rows = (
                        tx.find(schema.accounts, request.account),
                        tx.find(schema.tellers, u64::from(request.teller)),
                        tx.find(schema.branches, u64::from(request.branch)),
                    );
                    transaction
                        .execute(&numbered, rows, tx)
                        .map_err(Error::other)
                })?;
                run += 1;
            }
            acknowledge(number, run)?;
        }
    }
}
