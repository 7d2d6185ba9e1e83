//! The kill loop, and the witness. The witness knows the acknowledged transactions from outside, kills the process at a
//! random point, kills the recovery a few times, and then checks for every transaction.

use crate::victim::{Setting, scale};
use crate::witness;
use anyhow::{Context, ensure};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use sardonyx::Tables;
use sardonyx_benchmark::debit_credit::proof::prove;
use sardonyx_benchmark::debit_credit::schema::Schema;
use sardonyx_storage::remote_log::known::STORE_FILE;
use sardonyx_workload::random::Random;
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
    /// The directory of the database; removed before and after. It should be on a real disk.
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
        remove(&self.directory)?;
        let mut random = Random::new(self.seed);
        let mut acknowledged: Vec<u64> = Vec::new();
        let progress = ProgressBar::new(self.kills).with_style(ProgressStyle::with_template(
            "{bar:30} {pos}/{len} kills, {msg} acknowledged",
        )?);
        let (mut recoveries_killed, mut acknowledged_before) = (0, 0);
        for kill in 0..self.kills {
            if kill > 0 && kill.is_multiple_of(self.lives) {
                acknowledged_before += acknowledged.drain(..).sum::<u64>();
                remove(&self.directory)?;
            }
            let first_client = acknowledged.len();
            ensure!(
                first_client + self.clients < 1 << 16,
                "at most 65,535 clients in all"
            );
            acknowledged.resize(first_client + self.clients, 0);
            self.live_and_die(kill, first_client, &mut random, &mut acknowledged)?;
            while random.chance(40) {
                self.recover_and_die(kill, &mut random)?;
                recoveries_killed += 1;
            }
            self.check(kill, &acknowledged)
                .with_context(|| format!("after kill {} of seed {}", kill + 1, self.seed))?;
            progress.inc(1);
            let told = acknowledged_before + acknowledged.iter().sum::<u64>();
            progress.set_message(told.to_string());
        }
        progress.finish_and_clear();
        remove(&self.directory)?;
        println!(
            "{} kills and {recoveries_killed} killed recoveries; {} acknowledged transactions, each \
             there once; the four sums equal every time",
            self.kills,
            acknowledged_before + acknowledged.iter().sum::<u64>()
        );
        Ok(())
    }

    fn victim(&self, life: u64) -> anyhow::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("victim").arg(&self.directory);
        command.args(["--shape", &life.to_string()]);
        command.args(["--clients", &self.clients.to_string()]);
        command.args([
            "--seed",
            &self.seed.wrapping_mul(1000).wrapping_add(life).to_string(),
        ]);
        Ok(command)
    }

    /// Starts a process, reads its reports, and kills it after a random number of acknowledgements.
    fn live_and_die(
        &self,
        life: u64,
        first_client: usize,
        random: &mut Random,
        acknowledged: &mut [u64],
    ) -> anyhow::Result<()> {
        let mut command = self.victim(life)?;
        command.args(["--first-client", &first_client.to_string()]);
        let until_kill = random.below(4000);
        witness::live_and_die(&mut command, life, until_kill, random, acknowledged)
    }

    /// Starts a recovery and kills it at a random point; it may also end before.
    fn recover_and_die(&self, life: u64, random: &mut Random) -> anyhow::Result<()> {
        let mut command = self.victim(life)?;
        command.args(["--first-client", "0", "--recover-only"]);
        witness::recover_and_die(&mut command, random)
    }

    fn check(&self, life: u64, acknowledged: &[u64]) -> anyhow::Result<()> {
        check(&self.directory, &Setting::of_shape(life), acknowledged)
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
