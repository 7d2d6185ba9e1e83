//! Backups of the places of a run, and of hosts' directories.

use super::Entries;
use crate::copies::record::SetRecord;
use crate::copies::sites::{CopyBackup, KEEPER, Sites};
use crate::copies::witness::seen_at;
use sardonyx_storage::disk::{Access, Create, Disk, Faults, SimulatedDisk};
use sardonyx_storage::manifest::MANIFEST_FILE;
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::Register;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(in super::super) fn new_disk(seed: u64) -> SimulatedDisk {
    let disk = SimulatedDisk::new(seed, Faults::default());
    let file = disk.open(MANIFEST_FILE, Access::Buffered, Create::New);
    file.unwrap().sync().unwrap();
    disk.sync_directory("").unwrap();
    disk
}

/// The keeper: registers in memory, or in an etcd.
pub(super) enum World {
    Memory,
    #[cfg(feature = "etcd")]
    Etcd(crate::etcd::tests::RestorableEtcd),
}

/// A backup of the keeper and of the copies.
pub(super) struct Backup {
    pub record: SetRecord,
    pub state: State,
    pub copies: BTreeMap<String, CopyBackup>,
    /// The entries that were acknowledged then.
    pub acknowledged: Entries,
}

/// The keeper's state.
pub(super) enum State {
    Memory(Vec<u8>),
    #[cfg(feature = "etcd")]
    Etcd(crate::etcd::fake::State),
}

/// The newest register that a copy knows.
pub(super) fn newest_known(copy: &dyn RemotePlace) -> Option<SetRecord> {
    let seen = seen_at(copy).unwrap();
    let newest = seen.iter().max_by_key(|seen| seen.generation)?;
    newest.read(copy).unwrap()
}

pub(super) fn record_at(keeper: &dyn RemotePlace) -> SetRecord {
    let stored = keeper.read_register(Register::Copies).unwrap().unwrap();
    SetRecord::decode(&stored.bytes).unwrap()
}

pub(in super::super) fn set(keeper: &dyn RemotePlace, bytes: &[u8]) {
    let there = keeper.read_register(Register::Copies).unwrap();
    let version = there.map(|there| there.version);
    keeper
        .swap_register(Register::Copies, version.as_ref(), bytes)
        .unwrap();
}

/// A directory as a backup has it.
pub(super) fn copy_of(disk: &SimulatedDisk) -> SimulatedDisk {
    let copy = new_disk(1);
    for name in disk.files().iter().filter(|name| *name != MANIFEST_FILE) {
        let file = copy.open(name, Access::Buffered, Create::New).unwrap();
        file.write_at(0, &disk.read_all(name).unwrap_or_default())
            .unwrap();
        file.sync().unwrap();
    }
    copy.sync_directory("").unwrap();
    copy
}

impl World {
    /// The keeper is an etcd in every other run.
    pub fn of(seed: u64) -> World {
        #[cfg(feature = "etcd")]
        if !seed.is_multiple_of(2) {
            return World::Etcd(Default::default());
        }
        let _ = seed;
        World::Memory
    }

    pub fn keeper(&self, sites: &Sites) -> Arc<dyn RemotePlace> {
        self.own(sites).unwrap_or_else(|| sites.at(KEEPER))
    }

    /// The keeper of a host, if it is not reached as the copies are.
    pub fn own(&self, _: &Sites) -> Option<Arc<dyn RemotePlace>> {
        match self {
            World::Memory => None,
            #[cfg(feature = "etcd")]
            World::Etcd(etcd) => Some(Arc::new(etcd.keeper())),
        }
    }

    #[cfg(feature = "etcd")]
    pub fn restore(&self, state: crate::etcd::fake::State) {
        if let World::Etcd(etcd) = self {
            etcd.restore(state);
        }
    }
}
