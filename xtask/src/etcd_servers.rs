//! Three servers of one etcd, for `torture-serve`: the keeper of the copies of a log. Their processes are killed, stopped
//! and restarted with their data.

use crate::store_servers::free_ports;
use crate::torture::remove;
use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::OpenOptions;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The number of servers: one of them may be away.
const COUNT: usize = 3;

/// The time in which they must listen.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The servers of an etcd. They end when this is dropped.
#[derive(Debug)]
pub struct EtcdServers {
    program: PathBuf,
    directory: PathBuf,
    /// For clients, then for each other.
    ports: Vec<u16>,
    servers: Vec<Option<Child>>,
}

impl Drop for EtcdServers {
    fn drop(&mut self) {
        (0..self.servers.len()).for_each(|server| self.kill(server));
    }
}

impl EtcdServers {
    /// Starts an empty etcd in this directory.
    pub fn start(program: Option<&Path>, directory: &Path) -> anyhow::Result<Self> {
        remove(directory)?;
        std::fs::create_dir_all(directory)?;
        let mut etcd = EtcdServers {
            program: program.unwrap_or("etcd".as_ref()).into(),
            directory: std::path::absolute(directory)?,
            ports: free_ports(2 * COUNT)?,
            servers: Vec::new(),
        };
        for server in 0..COUNT {
            etcd.servers.push(None);
            etcd.start_server(server)?;
        }
        let started = Instant::now();
        for (server, port) in etcd.ports[..COUNT].iter().enumerate() {
            while TcpStream::connect(("127.0.0.1", *port)).is_err() {
                if started.elapsed() > START_LIMIT {
                    let said = std::fs::read_to_string(etcd.log_of(server))?;
                    bail!("server {server} of etcd does not listen: {said}");
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(etcd)
    }

    /// The place of registers in it.
    pub fn place(&self) -> String {
        let hosts = self.ports[..COUNT].iter();
        let hosts: Vec<_> = hosts.map(|port| format!("127.0.0.1:{port}")).collect();
        format!("etcd://{}/torture", hosts.join(","))
    }

    /// The number of servers.
    pub fn count(&self) -> usize {
        self.servers.len()
    }

    fn log_of(&self, server: usize) -> PathBuf {
        self.directory.join(format!("etcd-{server}.log"))
    }

    /// Starts a server that is down, with its data.
    pub fn start_server(&mut self, server: usize) -> anyhow::Result<()> {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let (clients, peers) = self.ports.split_at(COUNT);
        let (client, peer) = (url(clients[server]), url(peers[server]));
        let cluster = peers.iter().enumerate();
        let cluster = cluster.map(|(number, port)| format!("etcd-{number}={}", url(*port)));
        let cluster = cluster.collect::<Vec<_>>().join(",");
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.log_of(server))?;
        let child = Command::new(&self.program)
            .args(["--name", &format!("etcd-{server}")])
            .arg("--data-dir")
            .arg(self.directory.join(format!("etcd-{server}")))
            .args([
                "--listen-client-urls",
                &client,
                "--advertise-client-urls",
                &client,
            ])
            .args([
                "--listen-peer-urls",
                &peer,
                "--initial-advertise-peer-urls",
                &peer,
            ])
            .args([
                "--initial-cluster",
                &cluster,
                "--initial-cluster-token",
                "torture",
            ])
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()
            .with_context(|| format!("starting {}", self.program.display()))?;
        self.servers[server] = Some(child);
        Ok(())
    }

    /// Kills a server.
    pub fn kill(&mut self, server: usize) {
        if let Some(mut child) = self.servers[server].take() {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Stops or continues a server by a signal.
    pub fn signal(&self, server: usize, signal: Signal) -> anyhow::Result<()> {
        let child = self.servers[server].as_ref().context("a server")?;
        let pid = Pid::from_raw(i32::try_from(child.id())?).context("a process")?;
        Ok(kill_process(pid, signal)?)
    }
}
