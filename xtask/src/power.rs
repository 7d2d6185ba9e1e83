//! `torture-power`: builds the program that cuts the power, and gives it this one's victims and judges. The program is
//! a crate of its own, because no other part needs FUSE.

use anyhow::{Context, ensure};
use clap::Args;
use std::process::Command;

/// Options of `torture-power`.
#[derive(Args)]
pub struct PowerTorture {
    /// Options of the program `power`; its `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

impl PowerTorture {
    /// Builds it, and runs it to its end.
    pub fn run(&self) -> anyhow::Result<()> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut power = Command::new(cargo);
        power.args(["run", "--quiet", "--package", "sardonyx-power"]);
        if !cfg!(debug_assertions) {
            power.arg("--release");
        }
        power
            .arg("--")
            .arg("--victims")
            .arg(std::env::current_exe()?);
        let status = power.args(&self.options).status();
        let status = status.context("starting cargo")?;
        ensure!(status.success(), "torture-power failed");
        Ok(())
    }
}
