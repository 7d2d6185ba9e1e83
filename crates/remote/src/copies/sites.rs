//! The places of tests: stores in memory, which can be restored from a backup.

use super::keeper::Keeper;
use super::life::{folder_of, mark_of};
use super::record::SetRecord;
use sardonyx_storage::remote_log::memory::MemoryStore;
use sardonyx_storage::remote_log::objects::RemoteObjects;
use sardonyx_storage::remote_log::store::RemoteStore;
use std::sync::Arc;

pub(super) const KEEPER: &str = "keeper";

/// A copy has at most so many lives in a test.
const LIVES_OF_TESTS: u64 = 40;

/// A copy at one moment.
#[derive(Clone, Default, Debug)]
pub(super) struct CopyBackup {
    entries: Vec<(u64, Vec<u8>)>,
    objects: Vec<(String, Vec<u8>)>,
}

/// The folders of a copy: that of its registers and marks, and those of its lives.
fn folders() -> impl Iterator<Item = String> {
    let lives = (1..=LIVES_OF_TESTS).map(folder_of);
    std::iter::once("copies".to_string()).chain(lives)
}

/// The store at each place: the keeper's first.
pub(super) struct Sites {
    all: Vec<(String, Arc<MemoryStore>)>,
    /// The copies of the set at first.
    pub copies: Vec<String>,
}

impl Sites {
    pub(super) fn new(copies: &[&str]) -> Arc<Self> {
        Sites::with_others(copies, &[])
    }

    /// The set has these copies, and there are other places that may become ones.
    pub(super) fn with_others(copies: &[&str], others: &[&str]) -> Arc<Self> {
        let all = [&[KEEPER], copies, others].concat();
        let sites = all.iter().map(|place| {
            let store = MemoryStore::named((*place).into(), 1 << 20);
            ((*place).into(), Arc::new(store))
        });
        let places: Vec<String> = copies.iter().map(|place| (*place).into()).collect();
        let sites = Sites {
            all: sites.collect(),
            copies: places.clone(),
        };
        let record = SetRecord::new(9, &places, 0);
        for place in copies {
            sites.at(place).create_object(&mark_of(9, 1), b"").unwrap();
        }
        Keeper::new(sites.at(KEEPER))
            .replace(None, &record)
            .unwrap();
        Arc::new(sites)
    }

    pub(super) fn at(&self, place: &str) -> Arc<MemoryStore> {
        // A store has several names, as a directory does.
        let place = place.trim_start_matches("./");
        let site = self.all.iter().find(|(name, _)| name == place);
        site.expect("a place").1.clone()
    }

    /// The entries and objects of a copy, as a backup has them.
    pub(super) fn backup(&self, place: &str) -> CopyBackup {
        let store = self.at(place);
        let mut backup = CopyBackup::default();
        for listed in store.list(0).unwrap() {
            let bytes = store.read(listed.number).unwrap().unwrap();
            backup.entries.push((listed.number, bytes));
        }
        for folder in folders() {
            for listed in store.list_objects(&folder).unwrap() {
                let bytes = store.read_object(&listed.name).unwrap().unwrap();
                backup.objects.push((listed.name, bytes));
            }
        }
        backup
    }

    pub(super) fn restore(&self, place: &str, backup: &CopyBackup) {
        let store = self.at(place);
        let now = self.backup(place);
        let numbers: Vec<u64> = now.entries.iter().map(|(number, _)| *number).collect();
        store.remove(&numbers).unwrap();
        let names: Vec<String> = now.objects.into_iter().map(|(name, _)| name).collect();
        store.remove_objects(&names).unwrap();
        for (number, bytes) in &backup.entries {
            store.append_at(*number, bytes).unwrap();
        }
        for (name, bytes) in &backup.objects {
            store.create_object(name, bytes).unwrap();
        }
    }

    pub(super) fn record(&self) -> SetRecord {
        let view = Keeper::new(self.at(KEEPER)).read().unwrap();
        view.record.clone()
    }

    pub(super) fn in_sync(&self) -> Vec<String> {
        let record = self.record();
        record.in_sync().map(|copy| copy.place.clone()).collect()
    }
}
