//! Servers of another project's program, killed, stopped and started again with their data; each has a log.

use anyhow::Context;
use rustix::process::Signal;
use sardonyx_base::victims::Victim;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// The servers. They end when this is dropped.
#[derive(Debug)]
pub struct OtherServers {
    program: PathBuf,
    directory: PathBuf,
    servers: Vec<Option<Victim>>,
}

impl OtherServers {
    /// So many servers of a program, none of which runs yet; their logs are in this directory.
    pub fn new(program: &Path, directory: &Path, count: usize) -> OtherServers {
        OtherServers {
            program: program.into(),
            directory: directory.into(),
            servers: (0..count).map(|_| None).collect(),
        }
    }

    pub fn count(&self) -> usize {
        self.servers.len()
    }

    pub fn log_of(&self, server: usize) -> PathBuf {
        self.directory.join(format!("server-{server}.log"))
    }

    /// Starts a server that is down; `with` adds its arguments.
    pub fn start(&mut self, server: usize, with: impl FnOnce(&mut Command)) -> anyhow::Result<()> {
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_of(server))?;
        let mut command = Command::new(&self.program);
        with(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let victim = Victim::unheard(&mut command);
        let victim = victim.with_context(|| format!("starting {}", self.program.display()))?;
        self.servers[server] = Some(victim);
        Ok(())
    }

    /// Kills a server; it may have ended.
    pub fn kill(&mut self, server: usize) {
        self.servers[server] = None;
    }

    /// Stops or continues a server by a signal.
    pub fn signal(&self, server: usize, signal: Signal) -> anyhow::Result<()> {
        let victim = self.servers[server].as_ref().context("a server")?;
        Ok(victim.signal(signal)?)
    }

    /// The exit status of a server that has ended by itself, and its log.
    pub fn ended(&mut self, server: usize) -> anyhow::Result<Option<(ExitStatus, String)>> {
        let Some(victim) = &mut self.servers[server] else {
            return Ok(None);
        };
        let Some(status) = victim.ended()? else {
            return Ok(None);
        };
        Ok(Some((
            status,
            std::fs::read_to_string(self.log_of(server))?,
        )))
    }
}
