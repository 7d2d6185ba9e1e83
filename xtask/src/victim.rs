//! The process that torture kills: opens the database, runs debit-credit from several clients, and
//! tells the witness, over its standard output, how many transactions of each client were
//! acknowledged. It tells after each acknowledgement and before the next request of that client
//! counts, so what the witness knows is never more than what was acknowledged.

use anyhow::Context;
use clap::Args;
use sardonyx::{Options, Shape};
use sardonyx_benchmark::load::load;
use sardonyx_benchmark::schema::Schema;
use sardonyx_benchmark::transaction::{DebitCredit, Numbered};
use sardonyx_workload::debit_credit::{Generator, OTHER_BRANCH_PERCENT, Scale};
use std::collections::VecDeque;
use std::io::Write;
use std::path::PathBuf;

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
    /// 0: coalesced, 1: pipelined, 2: threadless.
    #[arg(long)]
    shape: u64,
    /// Only open, and close.
    #[arg(long)]
    recover_only: bool,
}

/// The size of the tortured database.
pub fn scale() -> Scale {
    Scale::new(20_000, 100, 10).expect("a valid scale")
}

/// The options that every life uses: a small log, so that it is recycled all the time.
pub fn options(shape: u64) -> Options {
    let shape = match shape % 3 {
        0 => Shape::Coalesced,
        1 => Shape::Pipelined {
            input_threads: 2,
            output_threads: 2,
        },
        _ => Shape::Threadless,
    };
    let limits = sardonyx::GroupLimits {
        group_bytes: 512 << 10,
        transaction_bytes: 4 << 20,
        ..Default::default()
    };
    Options::new()
        .shape(shape)
        .group_limits(limits)
        .segment_bytes(8 << 20)
        .block_bytes(64 << 10)
        .stripes(2)
        .log_bytes_max(64 << 20)
        .log_bytes_prepared(16 << 20)
}

impl Victim {
    /// Runs until killed.
    pub fn run(&self) -> anyhow::Result<()> {
        let database = options(self.shape).open(&self.path)?;
        let schema = Schema::of(&database)?;
        if database.read(|view| view.count(schema.branches)) == 0 {
            load(&database, &schema, &scale(), |_| {})?;
        }
        if self.recover_only {
            return database.close().context("closing");
        }
        let procedure = database.register(DebitCredit::new(schema))?;
        std::thread::scope(|scope| {
            for client in 0..self.clients {
                let (database, procedure) = (&database, &procedure);
                let number = self.first_client + client;
                scope.spawn(move || -> anyhow::Result<()> {
                    let seed = self.seed.wrapping_add(client as u64);
                    let mut requests = Generator::new(scale(), OTHER_BRANCH_PERCENT, seed)?;
                    let (mut sent, mut acknowledged) = (0u64, 0u64);
                    let mut window = VecDeque::new();
                    let size = 1 + (seed % 400);
                    loop {
                        let batch = (0..size)
                            .map(|n| Numbered {
                                transaction: ((number as u64) << 48) | (sent + n),
                                request: requests.request(),
                            })
                            .collect();
                        sent += size;
                        window.push_back(database.submit_batch(procedure, batch, client));
                        if window.len() > 4 {
                            let ticket = window.pop_front().expect("not empty");
                            ticket.wait()?;
                            acknowledged += size;
                            tell(number as u64, acknowledged)?;
                        }
                    }
                });
            }
        });
        Ok(())
    }
}

/// One line of 16 bytes; pipes take up to 4096 bytes whole.
fn tell(client: u64, acknowledged: u64) -> std::io::Result<()> {
    let mut line = [0u8; 16];
    line[..8].copy_from_slice(&client.to_le_bytes());
    line[8..].copy_from_slice(&acknowledged.to_le_bytes());
    let mut out = std::io::stdout().lock();
    out.write_all(&line)?;
    out.flush()
}
