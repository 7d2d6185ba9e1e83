//! What stands in pages: the catalogue with its tables, and the undo entries of operations.

use std::sync::{Arc, LazyLock};

use sardonyx_storage::disk::Disk;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::recovery::{RecoveryOptions, recover};
use sardonyx_storage::store::PageStore;
use sardonyx_table::TableSpace;

use crate::{Target, seeds};

pub(super) const CATALOGUE: Target = Target {
    name: "catalogue",
    what: "the catalogue, and the pages of its tables",
    seeds: || {
        // The pages that hold something; the rest follows from them.
        let pages = PAGES.chunks(PAGE_SIZE);
        let sparse = pages
            .enumerate()
            .filter(|(_, page)| page.iter().any(|&byte| byte != 0))
            .flat_map(|(number, page)| [&(number as u64).to_le_bytes(), page].concat())
            .collect();
        vec![sparse]
    },
    run: catalogue,
    runs: 2_000,
};

pub(super) const UNDO: Target = Target {
    name: "undo",
    what: "the undo entries, names and head of the undo area",
    seeds: || {
        let mut entries = sardonyx_multilevel::fuzzing::undo_entries();
        entries.extend(seeds::OPERATIONS.iter().map(|(_, bytes)| {
            let magic = bytes.windows(8).position(|word| word == b"SdxUndo1");
            let start = magic.unwrap_or(0);
            bytes[start..bytes.len().min(start + PAGE_SIZE)].to_vec()
        }));
        entries
    },
    run: sardonyx_multilevel::fuzzing::decode_undo,
    runs: 20_000,
};

/// The pages of the database of tables, as recovery makes them.
static PAGES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let disk: Arc<dyn Disk> = Arc::new(seeds::disk(&seeds::TABLES));
    let manifest = Manifest::read(&*disk).expect("a manifest");
    let options = RecoveryOptions {
        memory_max_bytes: seeds::MEMORY_BYTES,
        workers: 1,
        dry_run: true,
        beside_writer: false,
        sparse: false,
    };
    let recovered = recover(&disk, &manifest, options).expect("recovered");
    recovered.store.bytes().to_vec()
});

/// Opens the tables that stand in the pages, and reads one.
fn catalogue(input: &[u8]) {
    let pages = PAGES.len() / PAGE_SIZE;
    let mut store = PageStore::reserve(seeds::MEMORY_BYTES).expect("address space");
    store.grow_to(pages as u64).expect("memory");
    for piece in input.chunks(8 + PAGE_SIZE) {
        let Some((number, page)) = piece.split_first_chunk() else {
            continue;
        };
        let place = (u64::from_le_bytes(*number) as usize % pages) * PAGE_SIZE;
        store.bytes_mut()[place..place + page.len()].copy_from_slice(page);
    }
    let Ok((space, _)) = TableSpace::open(store, 1) else {
        return;
    };
    for definition in space.definitions() {
        _ = definition.describe();
    }
    if let Ok(Some(table)) = space.table::<seeds::Item>() {
        let view = space.view();
        assert_eq!(view.scan(table).count() as u64, view.count(table));
    }
}
