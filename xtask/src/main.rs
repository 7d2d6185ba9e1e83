//! Long runs and checks. `torture` kills a real process again and again, with an outside witness of the acknowledged
//! transactions. Others do the same with more: `torture-mapped` with several processes on one mapped segment,
//! `torture-nodes` with several nodes, `torture-takeover` and `torture-serve` with hosts of a log in a store.
//! `torture-multilevel` and `torture-complex` have multi-level transactions under every strategy. `torture-power` cuts
//! the power below the file system under all of these. `torture-damage` damages files. `explore` crashes the simulated
//! disk for as many seeds as you give. `fuzz` and `miri` are the others. CI runs the checks `check-docs` and
//! `check-rooms`, too. `package` builds the packages that users install.

mod abuse;
mod api_changes;
mod check_docs;
mod check_rooms;
mod complex_torture;
mod connections;
mod damage_torture;
mod etcd_servers;
mod explore;
mod fuzz;
mod host_victim;
mod judge;
mod keep_figures;
mod kept_stores;
mod kill_loop;
mod mapped_torture;
mod multilevel_operations;
mod multilevel_torture;
mod multilevel_victim;
mod node_arena;
mod node_events;
mod node_faults;
mod node_torture;
mod node_victim;
mod other_servers;
mod own_directory;
mod package;
mod pauses;
mod power;
mod serve_hosts;
mod serve_reader;
mod serve_store;
mod serve_torture;
mod serve_witness;
mod standstill;
mod store_figures;
mod store_lag;
mod store_servers;
mod takeover_events;
mod takeover_torture;
mod tools;
mod torture;
mod victim;
mod victim_follower;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "Long runs for those who work on Sardonyx", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Kills a process that runs debit-credit with SIGKILL at random points, recovers (killing the
    /// recovery, too), and checks every acknowledged transaction.
    Torture(torture::Torture),
    /// Kills one of several processes that share a mapped segment, or all of them, at random points, with every
    /// mechanism; checks the contents as the survivors and a restart see them.
    TortureMapped(mapped_torture::MappedTorture),
    /// Kills and stops nodes of either coupling that share a database with debit-credit: one, several or all, even
    /// while others are recovered, and their page server. Checks every acknowledged transaction from outside.
    TortureNodes(node_torture::NodeTorture),
    /// Kills and stops hosts of a database whose log is in a store, and asks them to hand over; checks from outside
    /// that no acknowledged transaction is lost or acknowledged twice.
    TortureTakeover(takeover_torture::TakeoverTorture),
    /// The same with hosts that are `sardonyx serve`; the witnesses are PostgreSQL clients with several hosts in their
    /// connection string. Or measures the time that their clients wait for the next host.
    TortureServe(serve_torture::ServeTorture),
    /// Kills a process that runs the complex-object benchmark under one strategy after the other, and its recovery,
    /// too. Compares every value with the acknowledged ones.
    TortureComplex(complex_torture::ComplexTorture),
    /// Kills a process that runs multi-level transactions, under every strategy, at random points, and its recovery,
    /// too; checks that every acknowledged transaction is found once and whole.
    TortureMultilevel(multilevel_torture::MultilevelTorture),
    /// Cuts the power of a drive with a volatile cache under real file systems, with every way of use, and sometimes
    /// again during recovery; checks for every acknowledged transaction. Needs root, FUSE and loop devices. All options
    /// are those of the program `power`: see its `--help`.
    #[command(disable_help_flag = true)]
    TorturePower(power::PowerTorture),
    /// Damages a database's files and compares the results of opening and verifying with a checksum of all rows.
    TortureDamage(damage_torture::DamageTorture),
    /// Abuses the public API by sequences drawn from seeds: forks, panics, calls inside transactions,
    /// extremes; a hang is a failure.
    Abuse(abuse::Abuse),
    /// Checks the documents: tables, relative links and anchors, names of files and of invariants' tests, the list of the
    /// public API.
    CheckDocs(check_docs::CheckDocs),
    /// Runs a command that prints JSON, and keeps its output for the documents' tables of figures.
    KeepFigures(keep_figures::KeepFigures),
    /// Checks that imports between the rooms of crates, and dependencies between crates, run downhill, and that no large
    /// circle of files imports each other.
    CheckRooms(check_rooms::CheckRooms),
    /// Crashes random transactions on the simulated disk.
    Explore(explore::Explore),
    /// Gives arbitrary bytes to every decoder of bytes from a disk, a network or a user.
    Fuzz(fuzz::Fuzz),
    /// Builds the packages that users install, and tries each where the build's files are absent: deb, tarball, c,
    /// crates, wheel, sbom.
    Package(package::Package),
    /// Runs the tests that Miri can run, on a nightly compiler with its component `miri`.
    Miri(tools::Miri),
    /// Compares docs/public-api.txt with that of an earlier revision, and checks that the version is high enough for the
    /// changes. (`check-docs` compares the file with the sources.)
    PublicApi(tools::PublicApi),
    /// The process that torture kills.
    #[command(hide = true)]
    Victim(victim::Victim),
    /// The process that torture-mapped kills.
    #[command(hide = true)]
    MappedVictim(mapped_torture::MappedVictim),
    /// The process that torture-nodes kills.
    #[command(hide = true)]
    NodeVictim(node_victim::NodeVictim),
    /// The process that torture-takeover kills.
    #[command(hide = true)]
    HostVictim(host_victim::HostVictim),
    /// The process that torture-complex kills.
    #[command(hide = true)]
    ComplexVictim(complex_torture::ComplexVictim),
    /// The process that torture-multilevel kills.
    #[command(hide = true)]
    MultilevelVictim(multilevel_victim::MultilevelVictim),
    /// Measures the cost of a log in several places, in one run: a put, a transaction that waits for it, and the
    /// transactions a second when many wait together.
    StoreFigures(store_figures::StoreFigures),
    /// Judges the files of a victim.
    #[command(hide = true)]
    Judge(judge::Judge),
    /// Judges the files of a mapped-victim.
    #[command(hide = true)]
    MappedJudge(judge::MappedJudge),
    /// Judges the files of a multilevel-victim.
    #[command(hide = true)]
    MultilevelJudge(judge::MultilevelJudge),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Torture(torture) => torture.run(),
        Command::TortureDamage(torture) => torture.run(),
        Command::Abuse(abuse) => abuse.run(),
        Command::CheckDocs(check) => check.run(),
        Command::KeepFigures(keep) => keep.run(),
        Command::CheckRooms(check) => check.run(),
        Command::Explore(explore) => explore.run(),
        Command::Fuzz(fuzz) => fuzz.run(),
        Command::Miri(miri) => miri.run(),
        Command::Package(package) => package.run(),
        Command::PublicApi(api) => api.run(),
        Command::StoreFigures(figures) => figures.run(),
        Command::Victim(victim) => victim.run(),
        Command::TortureMapped(torture) => torture.run(),
        Command::MappedVictim(victim) => victim.run(),
        Command::TortureNodes(torture) => torture.run(),
        Command::NodeVictim(victim) => victim.run(),
        Command::TortureTakeover(torture) => torture.run(),
        Command::TortureServe(torture) => torture.run(),
        Command::HostVictim(victim) => victim.run(),
        Command::TortureComplex(torture) => torture.run(),
        Command::ComplexVictim(victim) => victim.run(),
        Command::TortureMultilevel(torture) => torture.run(),
        Command::MultilevelVictim(victim) => victim.run(),
        Command::TorturePower(torture) => torture.run(),
        Command::Judge(judge) => judge.run(),
        Command::MappedJudge(judge) => judge.run(),
        Command::MultilevelJudge(mut judge) => judge.run(),
    }
}
