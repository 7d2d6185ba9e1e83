//! Power cuts below the kernel: what `cargo xtask torture-power` runs.
//!
//! A file shown by FUSE is a drive with a volatile cache. A loop device sits on it, a file system on
//! that, and in it a process runs the engine and tells a witness, who has power, what it was told is
//! durable. At a request of the drive, drawn from a seed, the power goes: nothing is done or answered
//! any more, the process is killed, and the drive keeps what was flushed and any subset of the rest, torn
//! at sectors of 512 bytes. Then the file system recovers, the engine recovers, sometimes both are cut
//! again, and everything acknowledged must be there, once and whole.
//!
//! The simulated disk of the engine's own tests is harder and faster; this one has what it cannot
//! have: real file systems, the kernel's page cache and its order of writes.
//!
//! Nobody would believe such a drive that never loses anything: beside the engine run a program without
//! syncs, and SQLite without them, which must lose what they acknowledged, and both with syncs, which
//! must not; and the engine on a drive that ignores flushes.

mod command;
mod drive;
mod file_system;
mod image;
mod known;
mod loss;
mod report;
mod run;
mod series;
mod served;
mod stack;
mod way;
mod witness;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(
    name = "cargo xtask torture-power",
    version,
    args_conflicts_with_subcommands = true
)]
struct Arguments {
    #[command(subcommand)]
    hidden: Option<Hidden>,
    #[command(flatten)]
    run: run::Run,
}

/// What the command starts itself.
#[derive(Subcommand)]
enum Hidden {
    /// A program of which it is known what it loses.
    #[command(hide = true)]
    KnownVictim { name: String, directory: PathBuf },
    /// Looks at what that left.
    #[command(hide = true)]
    KnownJudge {
        name: String,
        directory: PathBuf,
        #[arg(long, value_delimiter = ',')]
        acknowledged: Vec<u64>,
    },
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    match arguments.hidden {
        None => arguments.run.start(),
        Some(Hidden::KnownVictim { name, directory }) => {
            known::run(&name, &directory).map(|()| ExitCode::SUCCESS)
        }
        Some(Hidden::KnownJudge {
            name,
            directory,
            acknowledged,
        }) => known::judge(&name, &directory, &acknowledged).map(|()| ExitCode::SUCCESS),
    }
}
