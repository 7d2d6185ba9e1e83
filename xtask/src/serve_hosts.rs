//! The hosts of `torture-serve`: processes of `sardonyx serve` on one store, each at a port of its own that stays.

use anyhow::{Context, bail, ensure};
use rustix::process::Signal;
use sardonyx_base::victims::Victim;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The address of servers that are started again at their ports. Other programs, and connections that are made, take free ports
/// of 127.0.0.1.
pub const ADDRESS: &str = "127.0.0.2";

/// Hosts of one database.
pub struct Hosts {
    /// Each start of a host takes the next one of these.
    programs: Vec<PathBuf>,
    directory: PathBuf,
    place: String,
    lease: Duration,
    stale_reads: Option<Duration>,
    /// With bases and trims beside the work of the serving host.
    makes_bases: bool,
    running: Vec<Victim>,
    /// The number of starts of each host.
    starts: Vec<usize>,
    pub ports: Vec<u16>,
}

pub fn name_of(host: usize) -> String {
    format!("host-{host}")
}

impl Hosts {
    /// Starts so many hosts.
    pub fn start(
        programs: &[PathBuf],
        directory: &Path,
        place: &str,
        (lease, stale_reads, makes_bases): (Duration, Option<Duration>, bool),
        count: usize,
    ) -> anyhow::Result<Hosts> {
        let mut hosts = Hosts {
            programs: programs.into(),
            directory: directory.into(),
            place: place.into(),
            lease,
            stale_reads,
            makes_bases,
            running: Vec::new(),
            starts: vec![0; count],
            ports: Vec::new(),
        };
        for host in 0..count {
            let (victim, port) = hosts.spawn(host, 0)?;
            hosts.starts[host] += 1;
            hosts.running.push(victim);
            hosts.ports.push(port);
        }
        Ok(hosts)
    }

    pub fn directory(&self, host: usize) -> PathBuf {
        self.directory.join(format!("{}.sdx", name_of(host)))
    }

    fn spawn(&self, host: usize, port: u16) -> anyhow::Result<(Victim, u16)> {
        let log = self.directory.join(format!("{}.err", name_of(host)));
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)?;
        let program = &self.programs[self.starts[host] % self.programs.len()];
        let mut command = Command::new(program);
        command.args(["serve", "--json"]).arg(self.directory(host));
        command.args(["--store", &self.place, "--host", &name_of(host)]);
        command.args(["--lease", &format!("{}ms", self.lease.as_millis())]);
        if let Some(age) = self.stale_reads {
            command.args(["--stale-reads", &format!("{}ms", age.as_millis())]);
        }
        if self.makes_bases {
            command.args(["--base-every", "64KiB,5s", "--keep-bases", "1"]);
        }
        command.args(["--postgres", &format!("{ADDRESS}:{port}")]);
        // The lock of a killed host's directory is released a moment later.
        command.args(["--redis", "off", "--http", "off", "--wait", "10s"]);
        let mut victim = Victim::start(command.stderr(log))?;
        let said = victim.line().unwrap_or_default();
        // The rest is read and dropped, so that the pipe stays empty.
        victim.listen(drop)?;
        let said: serde_json::Value = serde_json::from_str(&said)
            .with_context(|| format!("{} said {said:?}", name_of(host)))?;
        let at = said["postgres"][0].as_str().context("an address")?;
        let (_, port) = at.rsplit_once(':').context("a port")?;
        Ok((victim, port.parse()?))
    }

    /// Sends a signal to a host.
    pub fn signal(&self, host: usize, signal: Signal) -> anyhow::Result<()> {
        Ok(self.running[host].signal(signal)?)
    }

    /// Kills a host, which must be running.
    pub fn kill(&mut self, host: usize) -> anyhow::Result<()> {
        self.check(host)?;
        self.running[host].end()?;
        Ok(())
    }

    /// Waits for the orderly end of a host.
    pub fn wait_for_end(&mut self, host: usize) -> anyhow::Result<()> {
        let status = self.running[host].wait()?;
        ensure!(status.success(), "{} ended with {status}", name_of(host));
        Ok(())
    }

    /// Starts a host again that has ended, at its port.
    pub fn start_again(&mut self, host: usize) -> anyhow::Result<()> {
        let (victim, _) = self.spawn(host, self.ports[host])?;
        self.starts[host] += 1;
        self.running[host] = victim;
        Ok(())
    }

    /// Checks that a host is running: none ends by itself.
    pub fn check(&mut self, host: usize) -> anyhow::Result<()> {
        match self.running[host].ended()? {
            None => Ok(()),
            Some(status) => bail!("{} ended by itself: {status}", name_of(host)),
        }
    }

    pub fn count(&self) -> usize {
        self.running.len()
    }
}
