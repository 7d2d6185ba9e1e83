//! The servers of a real store, started, killed and restarted for `torture-takeover`: a versitygw (the S3 API over a
//! directory), or three nats-servers that sync every write.
//!
//! Their processes are killed, never the machine: versitygw does not sync, so its data survives only the end of its
//! process.

use crate::other_servers::OtherServers;
use crate::torture::remove;
use anyhow::{Context, bail};
use clap::ValueEnum;
use rustix::process::Signal;
use sardonyx_remote::{RemoteOptions, open};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The time in which they must answer.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The variable with an endpoint for a store's client.
const ENDPOINT: &str = "AWS_ENDPOINT_URL";

/// The kind of store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum StoreKind {
    /// Three nats-servers, with `sync_interval: always`.
    Nats,
    /// One versitygw.
    Versitygw,
}

#[derive(Debug)]
pub struct StoreServers {
    kind: StoreKind,
    directory: PathBuf,
    ports: Vec<u16>,
    servers: OtherServers,
}

impl Drop for StoreServers {
    fn drop(&mut self) {
        (0..self.count()).for_each(|server| self.kill(server));
        // The error has the cause of a failure; the store is as large as all databases.
        let _ = remove(&self.directory);
    }
}

/// Runs this program again with an endpoint and credentials in its environment, for a store's client. `None`: they are
/// set already, or not needed.
pub fn run_with_endpoint(kind: StoreKind) -> anyhow::Result<Option<()>> {
    if kind != StoreKind::Versitygw || std::env::var_os(ENDPOINT).is_some() {
        return Ok(None);
    }
    let status = Command::new(std::env::current_exe()?)
        .args(std::env::args_os().skip(1))
        .env(ENDPOINT, format!("http://127.0.0.1:{}", free_ports(1)?[0]))
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "testtest")
        .status()?;
    match status.success() {
        true => Ok(Some(())),
        false => bail!("it failed: {status}"),
    }
}

impl StoreServers {
    /// Starts them with an empty store in this directory, and waits until a log can be kept there.
    pub fn start(
        kind: StoreKind,
        program: Option<&Path>,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        remove(directory)?;
        std::fs::create_dir_all(directory)?;
        let (ports, usual) = match kind {
            // For clients, then for each other.
            StoreKind::Nats => (free_ports(6)?, "nats-server"),
            StoreKind::Versitygw => (vec![port_of_endpoint()?], "versitygw"),
        };
        let count = match kind {
            StoreKind::Nats => 3,
            StoreKind::Versitygw => 1,
        };
        let (program, directory) = (
            program.unwrap_or(usual.as_ref()),
            std::path::absolute(directory)?,
        );
        let mut servers = StoreServers {
            kind,
            ports,
            servers: OtherServers::new(program, &directory, count),
            directory,
        };
        if kind == StoreKind::Versitygw {
            std::fs::create_dir_all(servers.directory.join("store/bank"))?;
        }
        (0..count).try_for_each(|server| servers.start_server(server))?;
        servers.wait()?;
        Ok(servers)
    }

    /// The place of logs in it.
    pub fn place(&self) -> String {
        match self.kind {
            StoreKind::Nats => {
                let hosts = self.ports[..3].iter();
                let hosts: Vec<_> = hosts.map(|port| format!("127.0.0.1:{port}")).collect();
                format!("nats://{}/TORTURE", hosts.join(","))
            }
            StoreKind::Versitygw => "s3://bank/torture".into(),
        }
    }

    pub fn count(&self) -> usize {
        self.servers.count()
    }

    /// Returns true if the others continue while one is down.
    pub fn bears_a_loss(&self) -> bool {
        self.kind == StoreKind::Nats
    }

    pub fn kill(&mut self, server: usize) {
        self.servers.kill(server);
    }

    /// Stops or continues a server by a signal.
    pub fn signal(&self, server: usize, signal: Signal) -> anyhow::Result<()> {
        self.servers.signal(server, signal)
    }

    /// Starts a server that is down, with its data.
    pub fn start_server(&mut self, server: usize) -> anyhow::Result<()> {
        match self.kind {
            StoreKind::Nats => {
                let file = self.directory.join(format!("server-{server}.conf"));
                std::fs::write(&file, self.nats_configuration(server))?;
                self.servers.start(server, |command| {
                    command.arg("-c").arg(file);
                })
            }
            StoreKind::Versitygw => self.servers.start(server, |command| {
                command.env("ROOT_ACCESS_KEY", "test");
                command.env("ROOT_SECRET_KEY", "testtest");
                command.args(["--port", &format!("127.0.0.1:{}", self.ports[0]), "posix"]);
                command.arg(self.directory.join("store"));
            }),
        }
    }

    fn nats_configuration(&self, server: usize) -> String {
        let (clients, routes) = self.ports.split_at(3);
        let (client, route) = (clients[server], routes[server]);
        let routes = routes.iter().map(|port| format!("nats://127.0.0.1:{port}"));
        let routes = routes.collect::<Vec<_>>().join(", ");
        let store = self.directory.join(format!("store-{server}"));
        format!(
            "server_name: server-{server}\n\
             listen: 127.0.0.1:{client}\n\
             jetstream {{ store_dir: {store:?}, sync_interval: always }}\n\
             cluster {{ name: torture, listen: 127.0.0.1:{route}, routes: [{routes}] }}\n"
        )
    }

    /// Waits until a log can be kept there.
    fn wait(&mut self) -> anyhow::Result<()> {
        let started = Instant::now();
        while self.kind == StoreKind::Versitygw
            && TcpStream::connect(("127.0.0.1", self.ports[0])).is_err()
            && started.elapsed() < START_LIMIT
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        loop {
            for server in 0..self.count() {
                if let Some((status, said)) = self.servers.ended(server)? {
                    bail!("the store's server {server} ended: {status}: {said}");
                }
            }
            let place = format!("{}/start", self.place());
            match open(&place, &RemoteOptions::default()) {
                Ok(_) => return Ok(()),
                Err(error) if started.elapsed() > START_LIMIT => return Err(error.into()),
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

pub(crate) fn free_ports(count: usize) -> anyhow::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<_, _>>()?;
    let ports = listeners.iter();
    Ok(ports
        .map(|listener| Ok(listener.local_addr()?.port()))
        .collect::<std::io::Result<_>>()?)
}

fn port_of_endpoint() -> anyhow::Result<u16> {
    let endpoint = std::env::var(ENDPOINT)?;
    let port = endpoint.strip_prefix("http://127.0.0.1:");
    let port = port.and_then(|port| port.parse().ok());
    port.with_context(|| {
        format!("{ENDPOINT} is set to {endpoint}; unset it, so that the store that is started here is used")
    })
}
