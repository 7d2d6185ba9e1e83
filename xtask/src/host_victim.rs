//! A host that `torture-takeover` kills and stops: follows the store, and while it serves has clients that count.
//!
//! Each transaction takes the next number and inserts a row of it. So a number that two hosts acknowledge, or a missing
//! one, shows a fault. The host reports each acknowledged number together with its own.

use anyhow::Context;
use clap::Args;
use sardonyx::hosts::{Host, HostOptions, RemoteLog, StopHost, Term};
use sardonyx::{Error, Options, Table, Tables, record};
use sardonyx_base::victims::acknowledge;
use sardonyx_remote::{RemoteOptions, open};
use std::path::{Path, PathBuf};
use std::time::Duration;

record! {
    /// The number of numbers that were taken.
    #[table("counter", key = id)]
    pub struct Counter {
        pub id: u64,
        pub numbers: u64,
    }
}

record! {
    /// A number that was taken.
    #[table("numbers", key = number)]
    pub struct Number {
        pub number: u64,
        /// The host that took it.
        pub host: u64,
        /// Filling, so that checkpoints have enough to write.
        pub filling: [u64; 8],
    }
}

/// Options of `host-victim`.
#[derive(Args)]
pub struct HostVictim {
    /// Its directory.
    directory: PathBuf,
    #[arg(long)]
    store: String,
    /// Its number.
    #[arg(long)]
    host: u64,
    /// Milliseconds without a sign after which a host counts as dead.
    #[arg(long)]
    wait: u64,
    #[arg(long)]
    clients: usize,
}

pub fn name_of(host: u64) -> String {
    format!("host-{host}")
}

/// The options of a host's database: a small log, so that it is reused all the time.
pub fn options(store: &str) -> anyhow::Result<Options> {
    let probe = RemoteOptions {
        probe: false,
        ..RemoteOptions::from_environment()?
    };
    Ok(Options::new()
        .store(RemoteLog::new(open(store, &probe)?))
        .segment_bytes(4 << 20)
        .group_limits(sardonyx::disk::GroupLimits::for_segments(4 << 20))
        .log_bytes_max(16 << 20)
        .closing_checkpoint(Duration::ZERO)
        .wait_for_lock(Duration::from_secs(10)))
}

impl HostVictim {
    /// Runs until it is killed.
    pub fn run(&self) -> anyhow::Result<()> {
        let host = HostOptions {
            wait: Duration::from_millis(self.wait),
            ..HostOptions::new(name_of(self.host))
        };
        let mut host = Host::new(&self.directory, options(&self.store)?, host)?;
        while let Some(term) = host.next_term(&StopHost::default())? {
            match term.options().open_tables(&self.directory) {
                Ok(bank) => self.serve(bank, &term)?,
                // For example, another host claimed the log meanwhile.
                Err(error) => eprintln!("{}: {error}", name_of(self.host)),
            }
            term.release();
        }
        Ok(())
    }

    fn serve(&self, bank: Tables, term: &Term) -> anyhow::Result<()> {
        let (counter, numbers) = match tables(&bank) {
            Ok(tables) => tables,
            Err(error) => return ended(self.host, &error),
        };
        std::thread::scope(|scope| {
            for _ in 0..self.clients {
                scope.spawn(|| {
                    while !term.is_over() {
                        match count(&bank, counter, numbers, self.host) {
                            // If the receiver was dropped, the end is near.
                            Ok(number) => _ = acknowledge(self.host, number),
                            Err(error) => return drop(ended(self.host, &error)),
                        }
                    }
                });
            }
        });
        // The log of a superseded host reports that.
        bank.close().or_else(|error| ended(self.host, &error))
    }
}

fn ended(host: u64, error: &Error) -> anyhow::Result<()> {
    eprintln!("{}: {error}", name_of(host));
    Ok(())
}

fn tables(bank: &Tables) -> Result<(Table<Counter>, Table<Number>), Error> {
    let (counter, numbers) = (bank.table::<Counter>()?, bank.table::<Number>()?);
    bank.run(|tx| {
        let first = Counter { id: 1, numbers: 0 };
        if tx.get(counter, 1)?.is_none() {
            tx.insert(counter, &first)?;
        }
        Ok(())
    })?;
    Ok((counter, numbers))
}

/// Takes the next number. It is durable, here and in the store, when this returns.
fn count(
    bank: &Tables,
    counter: Table<Counter>,
    numbers: Table<Number>,
    host: u64,
) -> Result<u64, Error> {
    bank.run(|tx| {
        let mut number = 0;
        tx.update(counter, 1, |counter| {
            counter.numbers += 1;
            number = counter.numbers;
        })?;
        let filling = [number; 8];
        tx.insert(
            numbers,
            &Number {
                number,
                host,
                filling,
            },
        )?;
        Ok(number)
    })
}

/// The hosts of all numbers in a directory, which is opened with the store; and the counter's value.
pub fn numbers_in(directory: &Path, store: &str) -> anyhow::Result<Vec<Option<u64>>> {
    let bank = options(store)?.open_tables(directory)?;
    let (counter, numbers) = tables(&bank)?;
    let found = bank.read(|view| {
        let count = view.get(counter, 1)?.map_or(0, |counter| counter.numbers);
        let host = |number| Ok(view.get(numbers, number)?.map(|row| row.host));
        (1..=count).map(host).collect()
    })?;
    bank.close().context("closing")?;
    Ok(found)
}
