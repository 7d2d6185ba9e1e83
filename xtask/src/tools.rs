//! `miri`: a tool that needs a nightly compiler, with its arguments. `public-api`: the changes of the public API since a
//! release ([`crate::api_changes`]).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::api_changes;

/// The tests that Miri can run: no files, no mappings, no threads that spin; each a package and a filter of tests.
const MIRI: &[(&str, &[&str])] = &[
    ("sardonyx-base", &["--lib", "random"]),
    ("sardonyx-storage", &["--lib", "log::group"]),
    ("sardonyx-storage", &["--lib", "checkpoint::slot"]),
];

#[derive(clap::Args)]
pub struct Miri {
    /// Shows the commands and ends.
    #[arg(long)]
    list: bool,
}

impl Miri {
    pub fn run(self) -> anyhow::Result<()> {
        for (package, arguments) in MIRI {
            println!("== {package} {}", arguments.join(" "));
            if !self.list {
                let mut command = Command::new("cargo");
                command.args(["+nightly", "miri", "test", "-p", package]);
                run(command.args(*arguments).env("PROPTEST_CASES", "8"))?;
            }
        }
        Ok(())
    }
}

#[derive(clap::Args)]
pub struct PublicApi {
    /// The earlier revision, such as the last release.
    #[arg(long, value_name = "REVISION")]
    since: String,
    /// The file.
    #[arg(long, default_value = "docs/public-api.txt")]
    file: PathBuf,
}

impl PublicApi {
    pub fn run(self) -> anyhow::Result<()> {
        api_changes::check(&self.since, &self.file)
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().context("starting cargo")?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
