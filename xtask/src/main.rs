//! Long runs: `torture` kills a real process again and again, with an outside witness of what was
//! acknowledged; `explore` crashes the simulated disk for as many seeds as you give.

mod explore;
mod torture;
mod victim;

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
    /// Crashes random transactions on the simulated disk.
    Explore(explore::Explore),
    /// The process that torture kills.
    #[command(hide = true)]
    Victim(victim::Victim),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Torture(torture) => torture.run(),
        Command::Explore(explore) => explore.run(),
        Command::Victim(victim) => victim.run(),
    }
}
