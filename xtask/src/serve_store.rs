//! The store of the hosts of `torture-serve`: a directory that all of them use, or processes `sardonyx store serve`.

use crate::kept_stores::KeptStores;
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
}

/// A store.
pub enum ServeStore {
    /// The entries are files in a directory.
    Directory {
        /// The place of it.
        there: PathBuf,
        /// Its path while the store is away.
        away: PathBuf,
    },
    /// Processes keep it.
    Kept(KeptStores),
}

impl ServeStore {
    /// Creates an empty store in this directory.
    pub fn start(kind: ServeStoreKind, program: &Path, directory: &Path) -> anyhow::Result<Self> {
        let stores = directory.join("stores");
        Ok(match kind {
            ServeStoreKind::File => ServeStore::Directory {
                there: directory.join("store"),
                away: directory.join("away"),
            },
            ServeStoreKind::Tcp => ServeStore::Kept(KeptStores::tcp(program, &stores)?),
            ServeStoreKind::Copies => ServeStore::Kept(KeptStores::copies(program, &stores)?),
        })
    }

    /// The place of the log.
    pub fn place(&self) -> String {
        match self {
            ServeStore::Directory { there, .. } => format!("file:{}", there.display()),
            ServeStore::Kept(stores) => stores.place().into(),
        }
    }

    /// Returns true if this event is possible for the store.
    pub fn bears(&self, event: Event) -> bool {
        matches!(self, ServeStore::Kept(_)) || !event.is_of_store()
    }

    /// The number of its servers.
    pub fn servers(&self) -> u64 {
        match self {
            ServeStore::Directory { .. } => 0,
            ServeStore::Kept(stores) => stores.count() as u64,
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
            ServeStore::Kept(stores) => {
                (0..stores.count()).try_for_each(|server| stores.kill(server))?;
                meanwhile();
                (0..stores.count()).try_for_each(|server| stores.start_again(server))
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
        let ServeStore::Kept(stores) = self else {
            bail!("a directory has no servers");
        };
        let kills = how == Event::KillStoreServer;
        match kills {
            true => stores.kill(server)?,
            false => stores.signal(server, Signal::STOP)?,
        }
        let outcome = meanwhile();
        match kills {
            true => stores.start_again(server)?,
            false => stores.signal(server, Signal::CONT)?,
        }
        outcome
    }

    /// Returns true if hosts continue while any one of its servers is away: there are several copies, and all are in
    /// sync.
    pub fn bears_a_loss(&self) -> anyhow::Result<bool> {
        let copies = copies_of(&self.place(), &RemoteOptions::default())?;
        Ok(copies.is_some_and(|set| {
            let in_sync = |copy: &sardonyx_remote::CopyRecord| copy.standing == Standing::InSync;
            set.copies.len() > 1 && set.copies.iter().all(in_sync)
        }))
    }
}
