//! Processes `sardonyx store serve`, each with a directory of its own, for `store-figures` and `torture-serve`: a log over
//! TCP, or on two copies.

use crate::torture::remove;
use anyhow::{Context, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Servers that end when this is dropped, and their data with them.
#[derive(Debug)]
pub struct KeptStores {
    program: PathBuf,
    directory: PathBuf,
    servers: Vec<Child>,
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
        let keeper = directory.join("keeper");
        Self::start(program, directory, 2, |addresses| {
            let copies = addresses.iter().map(|address| format!(";tcp://{address}"));
            let copies = copies.collect::<String>();
            format!("copies:file:{}{copies}", keeper.display())
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
            "{} is not there: build the command, `cargo build --release -p sardonyx-cli`",
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
            let (child, address) = stores.spawn(server, "127.0.0.1:0")?;
            stores.servers.push(child);
            stores.addresses.push(address);
        }
        stores.place = place(&stores.addresses);
        Ok(stores)
    }

    /// Starts a server at this address. Returns the address at which it listens.
    fn spawn(&self, server: usize, address: &str) -> anyhow::Result<(Child, String)> {
        let log = self.directory.join(format!("store-{server}.err"));
        let log = OpenOptions::new().create(true).append(true).open(log)?;
        let mut child = Command::new(&self.program)
            .args(["store", "serve", "--json", "--until-input-ends"])
            .args(["--listen", address])
            .arg(self.directory.join(format!("store-{server}")))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", self.program.display()))?;
        let output = child.stdout.take().context("its output")?;
        let mut said = String::new();
        BufReader::new(output).read_line(&mut said)?;
        let said: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
        match said["listening"].as_str() {
            Some(address) => Ok((child, address.into())),
            None => {
                // It has ended, or its output is not as expected.
                let _ = child.kill();
                let _ = child.wait();
                bail!("a server of the store did not start")
            }
        }
    }

    /// The number of servers.
    pub fn count(&self) -> usize {
        self.servers.len()
    }

    /// Kills a server, which must be running.
    pub fn kill(&mut self, server: usize) -> anyhow::Result<()> {
        if let Some(status) = self.servers[server].try_wait()? {
            bail!("server {server} of the store ended by itself: {status}");
        }
        self.servers[server].kill()?;
        self.servers[server].wait()?;
        Ok(())
    }

    /// Restarts a killed server, at its address and with its data.
    pub fn start_again(&mut self, server: usize) -> anyhow::Result<()> {
        let (child, _) = self.spawn(server, &self.addresses[server])?;
        self.servers[server] = child;
        Ok(())
    }

    /// Stops or continues a server by a signal.
    pub fn signal(&self, server: usize, signal: Signal) -> anyhow::Result<()> {
        Ok(kill_process(
            Pid::from_child(&self.servers[server]),
            signal,
        )?)
    }

    /// The place of the log.
    pub fn place(&self) -> &str {
        &self.place
    }
}

impl Drop for KeptStores {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // It may have ended.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
