//! The kill loop, and the witness. The witness knows the acknowledged transactions from outside. It kills the process
//! at a random point, kills the recovery a few times, and then checks for every transaction.

use crate::kill_loop::{Tortured, torture};
use crate::own_directory::OwnDirectory;
use crate::victim::{Setting, scale};
use anyhow::ensure;
use clap::Args;
use sardonyx::Tables;
use sardonyx_base::random::Random;
use sardonyx_base::victims::{Counts, Kills, Life, Subject};
use sardonyx_benchmark::debit_credit::proof::prove;
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_storage::remote_log::known::STORE_FILE;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Options of `torture`.
#[derive(Args)]
pub struct Torture {
    /// The number of kills.
    #[arg(long, default_value_t = 50)]
    kills: u64,
    /// The seed of the kills, and of everything else except the system's timing.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The directory of the database; removed before and after, so it must be new or of an earlier run. It should be on a real disk.
    #[arg(long, default_value = "target/torture.sdx")]
    directory: PathBuf,
    /// The number of kills with one database before a new one is begun: the longer the history, the longer the check.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u64).range(1..))]
    lives: u64,
    /// Clients of each life.
    #[arg(long, default_value_t = 3)]
    clients: usize,
}

impl Torture {
    /// Runs the loop; ends with an error at the first transaction that is missing or found twice.
    pub fn run(&self) -> anyhow::Result<()> {
        let _own = OwnDirectory::take(&self.directory)?;
        let mut lives = Lives {
            torture: self,
            life: 0,
            before: 0,
            acknowledged: 0,
        };
        let kills = Kills {
            per_database: self.lives,
            recoveries_percent: 40,
            ..Kills::new(self.kills)
        };
        torture(&mut lives, kills, self.seed)?;
        remove(&self.directory)
    }
}

/// The lives of one database after the other.
struct Lives<'a> {
    torture: &'a Torture,
    /// The number of this life, over all databases.
    life: u64,
    /// Acknowledged transactions of earlier databases.
    before: u64,
    /// Acknowledged transactions of this one.
    acknowledged: u64,
}

impl Lives<'_> {
    /// The number of this life's first client: those of a database differ.
    fn first_client(&self) -> u64 {
        self.life % self.torture.lives * self.torture.clients as u64
    }

    fn victim(&self, first_client: u64) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        let seed = self.torture.seed.wrapping_mul(1000);
        command.arg("victim").arg(&self.torture.directory);
        command.args(["--shape", &self.life.to_string()]);
        command.args(["--clients", &self.torture.clients.to_string()]);
        command.args(["--seed", &seed.wrapping_add(self.life).to_string()]);
        command.args(["--first-client", &first_client.to_string()]);
        Ok(command)
    }
}

impl Subject for Lives<'_> {
    type Event = ();
    type Database = Counts;
    type Error = anyhow::Error;

    fn events(&self) -> Vec<(u64, (), &'static str)> {
        vec![(1, (), "kills")]
    }

    fn start(&mut self) -> anyhow::Result<Counts> {
        remove(&self.torture.directory)?;
        Ok(Counts::default())
    }

    fn submit(&mut self, counts: &mut Counts, _: (), random: &mut Random) -> anyhow::Result<()> {
        let first = self.first_client();
        ensure!(
            first + (self.torture.clients as u64) < 1 << 16,
            "at most 65,535 clients in all"
        );
        let life = Life::new(self.victim(first)?, random.below(4000));
        Ok(life.end(counts, random)?)
    }

    fn recover(&mut self, _: &mut Random) -> anyhow::Result<Option<Command>> {
        let mut command = self.victim(0)?;
        command.arg("--recover-only");
        Ok(Some(command))
    }

    fn observe(&mut self, counts: &mut Counts, ends: bool, _: &mut Random) -> anyhow::Result<()> {
        let clients = self.first_client() + self.torture.clients as u64;
        let setting = Setting::of_shape(self.life);
        check(&self.torture.directory, &setting, &counts.first(clients))?;
        self.acknowledged = counts.total();
        self.life += 1;
        if ends {
            self.before += std::mem::take(&mut self.acknowledged);
        }
        Ok(())
    }
}

impl Tortured for Lives<'_> {
    const ACKNOWLEDGED: &'static str = "transactions";

    fn acknowledged(&self) -> u64 {
        self.before + self.acknowledged
    }

    fn findings(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    fn verdict(&self) -> &'static str {
        "each acknowledged transaction is there once; the four sums equal every time"
    }
}

/// Checks for every acknowledged transaction. If nothing was acknowledged and the tables were not loaded yet, the
/// database is removed. With a follower, the check uses a copy of its directory after it has caught up, opened as a
/// database of its own.
pub fn check(directory: &Path, setting: &Setting, acknowledged: &[u64]) -> anyhow::Result<()> {
    let opened = setting.open(directory)?;
    let database = &opened.database;
    let schema = Schema::of(database)?;
    let counts = database.read(|view| {
        Ok((
            view.count(schema.accounts)?,
            view.count(schema.tellers)?,
            view.count(schema.branches)?,
        ))
    })?;
    let told: u64 = acknowledged.iter().sum();
    if counts != (scale().accounts(), scale().tellers(), scale().branches()) {
        // Killed while loading: nothing can have been acknowledged. Start over.
        ensure!(
            told == 0,
            "{told} transactions were acknowledged, but the tables have {counts:?}"
        );
        opened.close()?;
        setting.remove(directory)
    } else if let Some(follower) = &setting.follower {
        // The journal's archive is there: rows that left the log here can only be read after failing over.
        let found = sums(database, &schema);
        opened.close()?;
        let copy = follower.with_extension("copy");
        remove(&copy)?;
        copy_directory(follower, &copy)?;
        // It follows no store.
        std::fs::remove_file(copy.join(STORE_FILE))?;
        let over = Setting::of_shape(setting.shape).open(&copy)?;
        let schema = Schema::of(&over.database)?;
        let there = sums(&over.database, &schema);
        ensure!(found == there, "{found:?} here, {there:?} at the follower");
        let proof = prove(&over.database, &schema, acknowledged, 0)?;
        ensure!(proof.holds(), "at the follower: {proof:?}");
        over.close()?;
        remove(&copy)
    } else {
        let proof = prove(database, &schema, acknowledged, 0)?;
        ensure!(proof.holds(), "{proof:?}");
        opened.close()
    }
}

/// The sums of all balances of accounts, tellers and branches.
fn sums(database: &Tables, schema: &Schema) -> [i64; 3] {
    database
        .read(|view| {
            let sum = |balances: &mut dyn Iterator<Item = Result<i64, sardonyx::Error>>| -> Result<i64, sardonyx::Error> {
                balances.sum()
            };
            Ok([
                sum(&mut view
                    .scan(schema.accounts)?
                    .map(|record| Ok(record?.balance)))?,
                sum(&mut view.scan(schema.tellers)?.map(|record| Ok(record?.balance)))?,
                sum(&mut view
                    .scan(schema.branches)?
                    .map(|record| Ok(record?.balance)))?,
            ])
        })
        .expect("open")
}

fn copy_directory(from: &Path, to: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let there = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_directory(&entry.path(), &there)?,
            false => _ = std::fs::copy(entry.path(), there)?,
        }
    }
    Ok(())
}

/// Removes a directory, if it exists.
pub fn remove(directory: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
