//! The ways of using the engine: for each, the processes that the power cut kills and the one that judges the result.
//! They are the victims and checks of the other torture runs, in another directory.
//!
//! Also programs with known losses, to check that the drive loses what it may.

use sardonyx_workload::random::Random;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Processes that share a segment.
const SEGMENT_PROCESSES: u64 = 3;
/// Clients of a serial victim.
const CLIENTS: u64 = 3;
/// Workers of a multi-level victim, and the number that its journals have room for.
const WORKERS: u64 = 5;
const WORKERS_MAX: u64 = 8;

/// The program, and its options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Serial transactions; words of the command line.
    Serial(&'static [&'static str]),
    /// Serial transactions with a copy that follows the log in a store and takes the checkpoints.
    Follower,
    /// Multi-level transactions under a strategy.
    Multilevel(&'static str),
    /// Several processes on a segment, with a mechanism.
    Mapped(&'static str),
    /// A program with known losses.
    Known(&'static str),
}

/// A way of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// True if acknowledged transactions are lost, and false if not, as far as it is known in advance.
    pub must_lose: Option<bool>,
    /// True if the drive lies: it ignores flushes.
    pub ignores_flushes: bool,
    kind: Kind,
}

const fn way(name: &'static str, kind: Kind) -> Way {
    Way {
        name,
        must_lose: None,
        ignores_flushes: false,
        kind,
    }
}

const fn known(name: &'static str, must_lose: bool) -> Way {
    Way {
        must_lose: Some(must_lose),
        ..way(name, Kind::Known(name))
    }
}

const fn unflushed(name: &'static str, kind: Kind) -> Way {
    Way {
        must_lose: Some(true),
        ignores_flushes: true,
        ..way(name, kind)
    }
}

/// All ways of use.
pub const WAYS: [Way; 15] = [
    way("serial-coalesced", Kind::Serial(&["--shape", "0"])),
    way("serial-pipelined", Kind::Serial(&["--shape", "1"])),
    way("serial-threadless", Kind::Serial(&["--shape", "2"])),
    way(
        "serial-deferred",
        Kind::Serial(&["--shape", "1", "--deferred"]),
    ),
    // With every checkpoint, journals move from the log to the archive.
    way(
        "serial-checkpoints",
        Kind::Serial(&["--shape", "0", "--checkpoint-transactions", "300"]),
    ),
    way(
        "threadless-checkpoints",
        Kind::Serial(&["--shape", "2", "--checkpoint-transactions", "300"]),
    ),
    way("follower", Kind::Follower),
    way("single-level", Kind::Multilevel("single-level")),
    way(
        "forced-subtransactions",
        Kind::Multilevel("forced-subtransactions"),
    ),
    way(
        "persistence-spheres",
        Kind::Multilevel("persistence-spheres"),
    ),
    way("small-spheres", Kind::Multilevel("small-spheres")),
    way("ordered-log", Kind::Multilevel("ordered-log")),
    way("mapped-asynchronous", Kind::Mapped("0")),
    way("mapped-signal", Kind::Mapped("1")),
    way("mapped-explicit", Kind::Mapped("2")),
];

/// Programs with known losses, and the engine on a drive that ignores flushes, which shows that its judges find missing
/// transactions.
pub const KNOWN: [Way; 7] = [
    known("no-syncs", true),
    known("syncs", false),
    known("sqlite-off", true),
    known("sqlite-full", false),
    unflushed("serial-unflushed", Kind::Serial(&["--shape", "0"])),
    unflushed("multilevel-unflushed", Kind::Multilevel("ordered-log")),
    unflushed("mapped-unflushed", Kind::Mapped("2")),
];

/// The directories of a way's files, and its programs.
#[derive(Clone, Debug)]
pub struct Place {
    /// On the file system.
    pub directory: PathBuf,
    /// In memory; emptied by every power cut.
    pub shared_memory: PathBuf,
    /// The program that has the victims of the other torture runs.
    pub victims: PathBuf,
}

/// The acknowledged counts, by worker.
pub type Acknowledged = Vec<u64>;

impl Way {
    /// No acknowledgements.
    pub fn nothing(self) -> Acknowledged {
        match self.kind {
            Kind::Multilevel(_) => vec![0; WORKERS_MAX as usize],
            _ => Vec::new(),
        }
    }

    /// The processes of a life; makes room for the acknowledgements of its workers.
    pub fn live(
        self,
        place: &Place,
        seed: u64,
        acknowledged: &mut Acknowledged,
    ) -> anyhow::Result<Vec<Command>> {
        let first = acknowledged.len() as u64;
        let mut commands = Vec::new();
        match self.kind {
            Kind::Serial(_) | Kind::Follower => {
                let mut victim = self.victim(place, "victim");
                victim.args(["--first-client", &first.to_string()]);
                victim.args(["--clients", &CLIENTS.to_string()]);
                victim.args(["--seed", &seed.to_string()]);
                commands.push(victim);
                acknowledged.resize((first + CLIENTS) as usize, 0);
            }
            Kind::Multilevel(_) => {
                let mut victim = self.victim(place, "multilevel-victim");
                victim.args(["--life", &seed.to_string()]);
                victim.args(["--workers", &WORKERS.to_string()]);
                commands.push(victim);
            }
            Kind::Mapped(_) => {
                for number in first..first + SEGMENT_PROCESSES {
                    let mut victim = self.victim(place, "mapped-victim");
                    victim.args(["--number", &number.to_string()]);
                    victim.args(["--seed", &seed.wrapping_add(number).to_string()]);
                    commands.push(victim);
                }
                acknowledged.resize((first + SEGMENT_PROCESSES) as usize, 0);
            }
            Kind::Known(name) => {
                let mut victim = Command::new(std::env::current_exe()?);
                victim.args(["known-victim", name]).arg(&place.directory);
                commands.push(victim);
                acknowledged.resize(1, 0);
            }
        }
        Ok(commands)
    }

    /// A process that only recovers the database, and ends.
    pub fn recover(self, place: &Place, seed: u64) -> Vec<Command> {
        let mut commands = Vec::new();
        match self.kind {
            Kind::Serial(_) | Kind::Follower => {
                let mut victim = self.victim(place, "victim");
                victim.args(["--first-client", "0", "--clients", "0", "--seed", "0"]);
                commands.push(victim);
            }
            Kind::Multilevel(_) => {
                let mut victim = self.victim(place, "multilevel-victim");
                victim.args(["--life", &seed.to_string(), "--workers", "0"]);
                commands.push(victim);
            }
            Kind::Mapped(_) => {
                let mut victim = self.victim(place, "mapped-victim");
                victim.args(["--number", "0", "--seed", "0"]);
                commands.push(victim);
            }
            Kind::Known(_) => {}
        }
        for command in &mut commands {
            command.arg("--recover-only");
        }
        commands
    }

    /// A process that checks that everything acknowledged is found once and whole. It prints the counts that are taken
    /// as acknowledged from then on, and fails if something is wrong.
    ///
    /// # Errors
    /// This program does not know its own path.
    pub fn judge(self, place: &Place, seed: u64, acknowledged: &[u64]) -> anyhow::Result<Command> {
        let mut judge = match self.kind {
            Kind::Serial(_) | Kind::Follower => self.victim(place, "judge"),
            Kind::Multilevel(_) => {
                let mut judge = self.victim(place, "multilevel-judge");
                judge.args(["--life", &seed.to_string()]);
                judge
            }
            Kind::Mapped(_) => self.victim(place, "mapped-judge"),
            Kind::Known(name) => {
                let mut judge = Command::new(std::env::current_exe()?);
                judge.args(["known-judge", name]).arg(&place.directory);
                judge
            }
        };
        let words: Vec<_> = acknowledged.iter().map(u64::to_string).collect();
        judge.args(["--acknowledged", &words.join(",")]);
        Ok(judge)
    }

    /// A verb of the program that has the victims, with the common arguments of this way.
    fn victim(self, place: &Place, verb: &str) -> Command {
        let mut command = Command::new(&place.victims);
        command.env("RUST_BACKTRACE", "0");
        command.arg(verb).arg(&place.directory);
        match self.kind {
            Kind::Serial(words) => _ = command.args(words),
            Kind::Follower => {
                let follower = place.directory.with_extension("follower");
                command.args(["--shape", "1", "--follower"]).arg(follower);
            }
            Kind::Multilevel(strategy) => _ = command.args(["--strategy", strategy]),
            Kind::Mapped(mechanism) => {
                command.args(["--mechanism", mechanism, "--durable"]);
                command.arg("--shared-memory").arg(&place.shared_memory);
            }
            Kind::Known(_) => {}
        }
        command
    }

    /// The moment of the cut: the drive's request, and the most acknowledgements.
    pub fn cut(self, random: &mut Random) -> (Option<u64>, u64) {
        // Without syncs the kernel writes at any time: there is nothing to count.
        if self.must_lose == Some(true) {
            return (None, 1 + random.below(300));
        }
        // Early requests are met as often as the more numerous later ones.
        let most = 4 << random.below(12);
        (Some(1 + random.below(most)), 4000)
    }

    /// Returns true if each cut begins with an empty directory: a database that has lost something cannot continue.
    pub fn begins_anew(self) -> bool {
        self.must_lose.is_some()
    }
}

/// A way by its name.
///
/// # Errors
/// The existing names.
pub fn by_name(name: &str) -> Result<Way, String> {
    let mut all = WAYS.iter().chain(&KNOWN);
    let found = all.find(|way| way.name == name).copied();
    found.ok_or_else(|| {
        let names: Vec<_> = WAYS.iter().chain(&KNOWN).map(|way| way.name).collect();
        format!("the ways are {}", names.join(", "))
    })
}

impl Place {
    /// In a mounted file system.
    pub fn within(mounted_at: &Path, shared_memory: PathBuf, victims: PathBuf) -> Place {
        Place {
            directory: mounted_at.join("database.sdx"),
            shared_memory,
            victims,
        }
    }
}
