//! Power cuts below the kernel: what `cargo xtask torture-power` runs.
//!
//! A file served by FUSE is a drive with a volatile cache. A loop device uses it, a file system is on that, and in it a
//! process runs the engine. The process reports each acknowledgement to a witness, which keeps its power. At a request
//! of the drive, drawn from a seed, the power fails: no request is done or answered any more, and the process is
//! killed. The drive keeps the flushed bytes and any subset of the rest, torn at sectors of 512 bytes. Then the file
//! system recovers, and the engine recovers; sometimes both are cut again. Everything acknowledged must then be found,
//! once and whole.
//!
//! The simulated disk of the engine's own tests is harder and faster; this one has what that lacks: real file systems,
//! the kernel's page cache and its order of writes.
//!
//! A drive that never loses anything would not be credible. So the run includes a program without syncs, and SQLite
//! without them, which must lose acknowledged data, and both with syncs, which must not; and the engine on a drive that
//! ignores flushes.

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

/// The processes that the command starts itself.
#[derive(Subcommand)]
enum Hidden {
    /// A program with known losses.
    #[command(hide = true)]
    KnownVictim { name: String, directory: PathBuf },
    /// Checks the result of that program.
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
