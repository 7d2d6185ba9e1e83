//! Processes `sardonyx store serve`, each with a directory of its own, for `store-figures`: a log over TCP, or on two copies.

use crate::torture::remove;
use anyhow::{Context, bail, ensure};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Servers that end when this is dropped, with what they have.
#[derive(Debug)]
pub struct KeptStores {
    servers: Vec<Child>,
    place: String,
}

impl KeptStores {
    /// One server in this directory, which begins empty.
    pub fn tcp(program: &Path, directory: &Path) -> anyhow::Result<Self> {
        Self::start(program, directory, 1, |addresses| {
            format!("tcp://{}", addresses[0])
        })
    }

    /// Two servers, and a directory with the register that says which copies count.
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
            servers: Vec::new(),
            place: String::new(),
        };
        let mut addresses = Vec::new();
        for server in 0..count {
            let mut child = Command::new(program)
                .args(["store", "serve", "--json", "--until-input-ends"])
                .args(["--listen", "127.0.0.1:0"])
                .arg(directory.join(format!("store-{server}")))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .with_context(|| format!("starting {}", program.display()))?;
            let output = child.stdout.take().context("its output")?;
            stores.servers.push(child);
            let mut said = String::new();
            BufReader::new(output).read_line(&mut said)?;
            let said: serde_json::Value = serde_json::from_str(&said).unwrap_or_default();
            match said["listening"].as_str() {
                Some(address) => addresses.push(address.into()),
                None => bail!("a server of the store did not start"),
            }
        }
        stores.place = place(&addresses);
        Ok(stores)
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
