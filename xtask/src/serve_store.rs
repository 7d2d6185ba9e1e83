//! The store of the hosts of `torture-serve`: a directory that all of them use; processes `sardonyx store serve`, also
//! with an etcd that keeps their register; or the servers of an object store or of JetStream.

use crate::etcd_servers::EtcdServers;
use crate::kept_stores::KeptStores;
use crate::store_servers::{StoreKind, StoreServers};
use crate::takeover_events::Event;
use anyhow::bail;
use clap::ValueEnum;
use rustix::process::Signal;
use sardonyx_remote::{RemoteOptions, Standing, copies_of};
use std::path::{Path, PathBuf};

/// The kind of store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ServeStoreKind {
    /// `file:` in the directory of the run.
    File,
    /// One process `store serve`.
    Tcp,
    /// Two processes `store serve` with a copy each; the register of the copies is in a directory.
    Copies,
    /// Three processes `store serve` with a copy each; the register of the copies is in three servers of an etcd.
    Etcd,
    /// Three nats-servers that sync every write.
    Nats,
    /// A versitygw: the S3 API over a directory.
    Versitygw,
}

impl ServeStoreKind {
    /// The servers of another project's store, if it is one.
    pub fn servers(self) -> Option<StoreKind> {
        match self {
            ServeStoreKind::Nats => Some(StoreKind::Nats),
            ServeStoreKind::Versitygw => Some(StoreKind::Versitygw),
            ServeStoreKind::File
            | ServeStoreKind::Tcp
            | ServeStoreKind::Copies
            | ServeStoreKind::Etcd => None,
        }
    }

    /// Returns true if this event is possible for the store. A directory has no servers.
    pub fn bears(self, event: Event) -> bool {
        self != ServeStoreKind::File || !event.is_of_store()
    }
}

pub enum ServeStore {
    /// The entries are files in a directory.
    Directory {
        /// The place of it.
        there: PathBuf,
        /// Its path while the store is away.
        away: PathBuf,
    },
    /// Processes `store serve` keep it, and an etcd their register, if there is one.
    Kept(KeptStores, Option<EtcdServers>),
    /// Another project's servers keep it.
    Servers(StoreServers),
}

impl ServeStore {
    /// Creates an empty store in this directory.
    pub fn start(
        kind: ServeStoreKind,
        (program, store_program): (&Path, Option<&Path>),
        directory: &Path,
    ) -> anyhow::Result<Self> {
        let stores = directory.join("stores");
        if let Some(kind) = kind.servers() {
            let servers = StoreServers::start(kind, store_program, &stores)?;
            return Ok(ServeStore::Servers(servers));
        }
        Ok(match kind {
            ServeStoreKind::File => ServeStore::Directory {
                there: directory.join("store"),
                away: directory.join("away"),
            },
            ServeStoreKind::Tcp => ServeStore::Kept(KeptStores::tcp(program, &stores)?, None),
            ServeStoreKind::Copies => ServeStore::Kept(KeptStores::copies(program, &stores)?, None),
            ServeStoreKind::Etcd => {
                let etcd = EtcdServers::start(store_program, &directory.join("etcd"))?;
                let stores = KeptStores::kept_by(&etcd.place(), 3, program, &stores)?;
                ServeStore::Kept(stores, Some(etcd))
            }
            other => bail!("{other:?} has servers of its own"),
        })
    }

    /// The place of the log.
    pub fn place(&self) -> String {
        match self {
            ServeStore::Directory { there, .. } => format!("file:{}", there.display()),
            ServeStore::Kept(stores, _) => stores.place().into(),
            ServeStore::Servers(servers) => servers.place(),
        }
    }

    pub fn servers(&self) -> u64 {
        match self {
            ServeStore::Directory { .. } => 0,
            ServeStore::Kept(stores, etcd) => {
                (stores.count() + etcd.as_ref().map_or(0, EtcdServers::count)) as u64
            }
            ServeStore::Servers(servers) => servers.count() as u64,
        }
    }

    /// Takes the store away for as long as `meanwhile` takes.
    pub fn leave(&mut self, meanwhile: impl FnOnce()) -> anyhow::Result<()> {
        match self {
            ServeStore::Directory { there, away } => {
                std::fs::rename(&*there, &*away)?;
                meanwhile();
                Ok(std::fs::rename(away, there)?)
            }
            ServeStore::Kept(stores, etcd) => {
                let keepers = etcd.as_ref().map_or(0, EtcdServers::count);
                (0..stores.count()).try_for_each(|server| stores.kill(server))?;
                if let Some(etcd) = etcd {
                    (0..keepers).for_each(|server| etcd.kill(server));
                }
                meanwhile();
                if let Some(etcd) = etcd {
                    (0..keepers).try_for_each(|server| etcd.start_server(server))?;
                }
                (0..stores.count()).try_for_each(|server| stores.start_again(server))
            }
            ServeStore::Servers(servers) => {
                (0..servers.count()).for_each(|server| servers.kill(server));
                meanwhile();
                (0..servers.count()).try_for_each(|server| servers.start_server(server))
            }
        }
    }

    /// Kills or stops one of its servers for as long as `meanwhile` takes.
    pub fn lose(
        &mut self,
        server: usize,
        how: Event,
        meanwhile: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let kills = how == Event::KillStoreServer;
        self.take(server, kills)?;
        let outcome = meanwhile();
        self.give_back(server, kills)?;
        outcome
    }

    /// Kills or stops one of its servers: those of the copies are numbered first, then those of the etcd.
    fn take(&mut self, server: usize, kills: bool) -> anyhow::Result<()> {
        match self {
            ServeStore::Kept(stores, Some(etcd)) if server >= stores.count() => {
                let server = server - stores.count();
                match kills {
                    true => etcd.kill(server),
                    false => etcd.signal(server, Signal::STOP)?,
                }
            }
            ServeStore::Kept(stores, _) => match kills {
                true => stores.kill(server)?,
                false => stores.signal(server, Signal::STOP)?,
            },
            ServeStore::Servers(servers) => match kills {
                true => servers.kill(server),
                false => servers.signal(server, Signal::STOP)?,
            },
            ServeStore::Directory { .. } => bail!("a directory has no servers"),
        }
        Ok(())
    }

    /// Starts the server again, or continues it.
    fn give_back(&mut self, server: usize, was_killed: bool) -> anyhow::Result<()> {
        match self {
            ServeStore::Kept(stores, Some(etcd)) if server >= stores.count() => {
                let server = server - stores.count();
                match was_killed {
                    true => etcd.start_server(server),
                    false => etcd.signal(server, Signal::CONT),
                }
            }
            ServeStore::Kept(stores, _) => match was_killed {
                true => stores.start_again(server),
                false => stores.signal(server, Signal::CONT),
            },
            ServeStore::Servers(servers) => match was_killed {
                true => servers.start_server(server),
                false => servers.signal(server, Signal::CONT),
            },
            ServeStore::Directory { .. } => Ok(()),
        }
    }

    /// Returns true if hosts continue while any one of its servers is away: there are several copies, and all are in
    /// sync; or the store itself continues.
    pub fn bears_a_loss(&self) -> anyhow::Result<bool> {
        if let ServeStore::Servers(servers) = self {
            return Ok(servers.bears_a_loss());
        }
        let copies = copies_of(&self.place(), &RemoteOptions::default())?;
        Ok(copies.is_some_and(|set| {
            let in_sync = |copy: &sardonyx_remote::CopyRecord| copy.standing == Standing::InSync;
            set.copies.len() > 1 && set.copies.iter().all(in_sync)
        }))
    }
}
