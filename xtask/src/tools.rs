//! `miri` and `public-api`: tools that need a nightly compiler, with their arguments. `public-api --since` needs none
//! ([`crate::api_changes`]).

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::api_changes::{self, Changes};

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
    /// Writes the file instead of comparing with it.
    #[arg(long)]
    write: bool,
    /// Compares the file with that of an earlier revision, such as the last release, and checks that the version is
    /// high enough for the changes.
    #[arg(long, value_name = "REVISION", conflicts_with = "write")]
    since: Option<String>,
    /// The file.
    #[arg(long, default_value = "docs/public-api.txt")]
    file: PathBuf,
}

impl PublicApi {
    pub fn run(self) -> anyhow::Result<()> {
        if let Some(revision) = &self.since {
            return api_changes::check(revision, &self.file);
        }
        let output = Command::new("cargo")
            .args([
                "+nightly",
                "public-api",
                "-p",
                "sardonyx",
                "--all-features",
                "-sss",
            ])
            .output()
            .context("starting cargo public-api")?;
        if !output.status.success() {
            bail!(
                "cargo public-api: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let found = String::from_utf8(output.stdout).context("its output is not UTF-8")?;
        if self.write {
            return Ok(std::fs::write(&self.file, found)?);
        }
        let known = std::fs::read_to_string(&self.file)
            .with_context(|| format!("reading {}", self.file.display()))?;
        let changes = Changes::between(&known, &found);
        if changes.is_empty() {
            return Ok(());
        }
        print!("{changes}");
        bail!(
            "the public API is not that of {}; if it is meant to change, `cargo xtask public-api --write` \
             and a line in CHANGELOG.md",
            self.file.display()
        );
    }
}

fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().context("starting cargo")?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}
