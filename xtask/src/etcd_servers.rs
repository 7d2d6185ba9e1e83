//! Three servers of one etcd, for `torture-serve`: the keeper of the copies of a log. Their processes are killed, stopped
//! and restarted with their data.

use crate::other_servers::OtherServers;
use crate::store_servers::free_ports;
use crate::torture::remove;
use anyhow::bail;
use rustix::process::Signal;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The number of servers: one of them may be away.
const COUNT: usize = 3;

/// The time in which they must listen.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The servers of an etcd. They end when this is dropped.
#[derive(Debug)]
pub struct EtcdServers {
    directory: PathBuf,
    /// For clients, then for each other.
    ports: Vec<u16>,
    servers: OtherServers,
}

impl EtcdServers {
    /// Starts an empty etcd in this directory.
    pub fn start(program: Option<&Path>, directory: &Path) -> anyhow::Result<Self> {
        remove(directory)?;
        std::fs::create_dir_all(directory)?;
        let (program, directory) = (
            program.unwrap_or("etcd".as_ref()),
            std::path::absolute(directory)?,
        );
        let mut etcd = EtcdServers {
            ports: free_ports(2 * COUNT)?,
            servers: OtherServers::new(program, &directory, COUNT),
            directory,
        };
        (0..COUNT).try_for_each(|server| etcd.start_server(server))?;
        let started = Instant::now();
        for (server, port) in etcd.ports[..COUNT].iter().enumerate() {
            while TcpStream::connect(("127.0.0.1", *port)).is_err() {
                if started.elapsed() > START_LIMIT {
                    let said = std::fs::read_to_string(etcd.servers.log_of(server))?;
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

    pub fn count(&self) -> usize {
        self.servers.count()
    }

    /// Starts a server that is down, with its data.
    pub fn start_server(&mut self, server: usize) -> anyhow::Result<()> {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let (clients, peers) = self.ports.split_at(COUNT);
        let (client, peer) = (url(clients[server]), url(peers[server]));
        let cluster = peers.iter().enumerate();
        let cluster = cluster.map(|(number, port)| format!("etcd-{number}={}", url(*port)));
        let cluster = cluster.collect::<Vec<_>>().join(",");
        self.servers.start(server, |command| {
            command.args(["--name", &format!("etcd-{server}"), "--data-dir"]);
            command.arg(self.directory.join(format!("etcd-{server}")));
            command.args(["--listen-client-urls", &client]);
            command.args(["--advertise-client-urls", &client]);
            command.args(["--listen-peer-urls", &peer]);
            command.args(["--initial-advertise-peer-urls", &peer]);
            command.args(["--initial-cluster", &cluster]);
            command.args(["--initial-cluster-token", "torture"]);
        })
    }

    pub fn kill(&mut self, server: usize) {
        self.servers.kill(server);
    }

    /// Stops or continues a server by a signal.
    pub fn signal(&self, server: usize, signal: Signal) -> anyhow::Result<()> {
        self.servers.signal(server, signal)
    }
}
