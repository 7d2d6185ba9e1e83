//! Processes `sardonyx store serve`, each with a directory of its own, for `store-figures` and `torture-serve`: a log over
//! TCP, or on several copies, whose register is in a directory or in an etcd.

use crate::serve_hosts::ADDRESS;
use crate::torture::remove;
use anyhow::{Context, bail, ensure};
use rustix::process::Signal;
use sardonyx_base::victims::Victim;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Servers that end when this is dropped, and their data with them.
#[derive(Debug)]
pub struct KeptStores {
    program: PathBuf,
    directory: PathBuf,
    servers: Vec<Victim>,
    /// The address of each, which does not change.
    addresses: Vec<String>,
    place: String,
}

impl KeptStores {
    /// Starts one server in this directory, which is empty at first.
    pub fn tcp(program: &Path, directory: &Path) -> anyhow::Result<Self> {
        Self::start(program, directory, 1, |addresses| {
            format!("tcp://{}", addresses[0])
        })
    }

    /// Starts two servers, and a directory with the register of the copies in sync.
    pub fn copies(program: &Path, directory: &Path) -> anyhow::Result<Self> {
        let keeper = format!("file:{}", directory.join("keeper").display());
        Self::kept_by(&keeper, 2, program, directory)
    }

    /// Starts so many servers of copies, whose register this keeper has.
    pub fn kept_by(
        keeper: &str,
        count: usize,
        program: &Path,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        Self::start(program, directory, count, |addresses| {
            let copies = addresses.iter().map(|address| format!(";tcp://{address}"));
            let copies = copies.collect::<String>();
            format!("copies:{keeper}{copies}")
        })
    }

    fn start(
        program: &Path,
        directory: &Path,
        count: usize,
        place: impl FnOnce(&[String]) -> String,
    ) -> anyhow::Result<Self> {
        ensure!(
            program.is_file(),
            "{} does not exist: build the command, `cargo build --release -p sardonyx-cli`",
            program.display()
        );
        remove(directory)?;
        std::fs::create_dir_all(directory)?;
        let mut stores = KeptStores {
            program: program.into(),
            directory: directory.into(),
            servers: Vec::new(),
            addresses: Vec::new(),
            place: String::new(),
        };
        for server in 0..count {
            let (victim, address) = stores.spawn(server, &format!("{ADDRESS}:0"))?;
            stores.servers.push(victim);
            stores.addresses.push(address);
        }
        stores.place = place(&stores.addresses);
        Ok(stores)
    }

    /// Starts a server at this address. Returns the address at which it listens.
    fn spawn(&self, server: usize, address: &str) -> anyhow::Result<(Victim, String)> {
        let log = self.directory.join(format!("store-{server}.err"));
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let mut command = Command::new(&self.program);
        command
            .args(["store", "serve", "--json", "--until-input-ends"])
            .args(["--listen", address])
            .arg(self.directory.join(format!("store-{server}")))
            .stdin(Stdio::piped())
            .stderr(log);
        let victim = Victim::start(&mut command);
        let mut victim = victim.with_context(|| format!("starting {}", self.program.display()))?;
        let said = victim.line().unwrap_or_default();
        victim.listen(drop)?;
        let said: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        // Else it has ended, or its output is not as expected.
        let address = said["listening"].as_str();
        let address = address.context("a server of the store did not start")?;
        Ok((victim, address.into()))
    }

    /// The number of servers.
    pub fn count(&self) -> usize {
        self.servers.len()
    }

    /// Kills a server, which must be running.
    pub fn kill(&mut self, server: usize) -> anyhow::Result<()> {
        if let Some(status) = self.servers[server].ended()? {
            bail!("server {server} of the store ended by itself: {status}");
        }
        self.servers[server].end()?;
        Ok(())
    }

    /// Restarts a killed server, at its address and with its data.
    pub fn start_again(&mut self, server: usize) -> anyhow::Result<()> {
        let (victim, _) = self.spawn(server, &self.addresses[server])?;
        self.servers[server] = victim;
        Ok(())
    }

    /// Stops or continues a server by a signal.
    pub fn signal(&self, server: usize, signal: Signal) -> anyhow::Result<()> {
        Ok(self.servers[server].signal(signal)?)
    }

    /// The place of the log.
    pub fn place(&self) -> &str {
        &self.place
    }
}
