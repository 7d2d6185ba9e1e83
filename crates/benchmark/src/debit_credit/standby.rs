//! The standby of configuration C: a process that this one starts.

use super::plan::Plan;
use crate::place::Place;
use anyhow::{Context, bail};
use sardonyx_command::ending::Companion;
use sardonyx_standby::Standby;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How long the standby may take to connect, or to catch up after the run.
const PATIENCE: Duration = Duration::from_secs(120);

/// A standby's process. It ends when its standard input does, so also when this process dies.
#[derive(Debug)]
pub struct StandbyProcess {
    process: Child,
    // Before its directory, which is removed when it is gone.
    _companion: Companion,
    place: Option<Place>,
    /// The primary's side.
    pub standby: Arc<Standby>,
}

impl StandbyProcess {
    /// Starts it, with a directory beside the database's.
    pub fn start(plan: &Plan) -> anyhow::Result<Self> {
        let place = Place::claim(&beside(&plan.directory))?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["standby", "--json", "--listen", "127.0.0.1:0"]);
        command.arg("--until-input-ends").arg(place.path());
        command.args(["--log-bytes", &plan.log_bytes.to_string()]);
        for directory in &plan.places.backup {
            command.arg("--stripe-directory").arg(directory);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("starting the standby")?;
        let companion = Companion::new(process.id()).context("starting the standby")?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line)?;
        let address = serde_json::from_str::<serde_json::Value>(&line)
            .ok()
            .and_then(|said| said["listening"].as_str().map(String::from));
        // Without an address it is unreachable, and the process is ended by dropping this.
        let started = StandbyProcess {
            process,
            _companion: companion,
            place: Some(place),
            standby: Standby::at(address.clone().unwrap_or_default()),
        };
        if address.is_none() {
            bail!("the standby did not start");
        }
        Ok(started)
    }

    /// Waits until it is connected.
    pub fn wait_until_connected(&self) -> anyhow::Result<()> {
        if self.standby.wait_for(|status| status.connected, PATIENCE) {
            return Ok(());
        }
        bail!("the standby at {} did not come", self.standby.address())
    }

    /// Waits until it has everything that is durable here.
    pub fn wait_until_caught_up(&self) -> anyhow::Result<()> {
        if self.standby.wait_until_caught_up(PATIENCE) {
            return Ok(());
        }
        bail!(
            "the standby at {} does not catch up",
            self.standby.address()
        )
    }

    /// Ends the process, and gives its directory.
    pub fn stop(mut self) -> anyhow::Result<Place> {
        let status = self.end()?;
        if !status.success() {
            bail!("the standby failed: {status}");
        }
        Ok(self.place.take().expect("taken only here"))
    }

    fn end(&mut self) -> std::io::Result<ExitStatus> {
        drop(self.process.stdin.take());
        self.process.wait()
    }
}

impl Drop for StandbyProcess {
    /// After an error, too, nobody is left behind; the directory goes after the process.
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// `bank.sdx` has its standby in `bank.standby.sdx`.
fn beside(directory: &Path) -> PathBuf {
    directory.with_extension("standby.sdx")
}
