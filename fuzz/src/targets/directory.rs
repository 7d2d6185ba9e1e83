//! Whole databases: a few files are changed anywhere, and then all operations of people and programs run on them:
//! inspecting, verifying, opening, reading, writing.
//!
//! An input is a list of changes of 16 bytes each: the file, the place, the kind of change, and its argument. If its
//! first byte is odd, the checksums of all groups, slots and chunks are corrected afterwards.

use std::sync::Arc;

use sardonyx::Error;
use sardonyx_multilevel::counter::{Counter, Get};
use sardonyx_storage::checkpoint::StripeLayout;
use sardonyx_storage::disk::Disk;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::{inspect, verify};

use crate::seeds::{self, Files};
use crate::{Target, reseal};

pub(super) const TABLES: Target = Target {
    name: "tables-directory",
    what: "a database of tables: inspect, verify, open, read, write",
    seeds: changes,
    run: |input| tables(changed(&seeds::TABLES, input)),
    runs: 400,
};

pub(super) const OPERATIONS: Target = Target {
    name: "operations-directory",
    what: "a database of operations, some to be undone: verify, open, call",
    seeds: changes,
    run: |input| operations(changed(&seeds::OPERATIONS, input)),
    runs: 400,
};

const CHANGE_BYTES: usize = 16;

/// Lists of changes: none, and single bytes, words and lengths in each file.
fn changes() -> Vec<Vec<u8>> {
    let mut lists = vec![Vec::new()];
    for sealed in 0..2u8 {
        for file in 0..6u8 {
            for kind in 0..5u8 {
                let at = u32::from(file) * 4096 + u32::from(kind) * 64 + 60;
                let mut list = vec![sealed];
                list.extend([file, kind]);
                list.extend(at.to_le_bytes());
                list.extend(u64::from(kind).to_le_bytes());
                list.resize(1 + CHANGE_BYTES, 0);
                lists.push(list);
            }
        }
    }
    lists
}

/// The files after the input's changes.
fn changed(files: &Files, input: &[u8]) -> Files {
    let mut files = files.clone();
    let Some((&sealed, changes)) = input.split_first() else {
        return files;
    };
    let count = files.len();
    for change in changes.chunks_exact(CHANGE_BYTES) {
        let (_, bytes) = &mut files[usize::from(change[0]) % count];
        if bytes.is_empty() {
            continue;
        }
        let word = |range: std::ops::Range<usize>| {
            change[range]
                .iter()
                .rev()
                .fold(0u64, |word, &byte| word << 8 | u64::from(byte))
        };
        let at = word(2..6) as usize % bytes.len();
        let value = word(6..14);
        match change[1] % 5 {
            0 => bytes[at] ^= (value as u8).max(1),
            1 => write(bytes, at / 4 * 4, &(value as u32).to_le_bytes()),
            2 => write(bytes, at / 8 * 8, &value.to_le_bytes()),
            3 => bytes.truncate(at),
            _ => {
                let end = (at + value as u16 as usize).min(bytes.len());
                bytes[at..end].fill(change[14]);
            }
        }
    }
    if sealed % 2 == 1 {
        for (name, bytes) in &mut files {
            if name == "MANIFEST" {
                *bytes = reseal::manifest(bytes);
            } else {
                reseal::file(bytes);
            }
        }
    }
    files
}

fn write(bytes: &mut [u8], at: usize, word: &[u8]) {
    let end = (at + word.len()).min(bytes.len());
    bytes[at..end].copy_from_slice(&word[..end - at]);
}

/// Reads the files as `inspect` and `verify` do.
fn look(disk: &Arc<dyn Disk>) {
    if let Ok(manifest) = Manifest::read(&**disk) {
        for stripe in 0..manifest.stripes.min(4) {
            let layout = StripeLayout::of(&manifest, stripe);
            if layout.block_bytes <= 1 << 20 {
                _ = inspect::slots(&**disk, layout, true);
            }
        }
        _ = inspect::chunks(&**disk, manifest.identity);
    }
    _ = verify::verify(disk, seeds::MEMORY_BYTES, 1);
}

fn tables(files: Files) {
    let disk: Arc<dyn Disk> = Arc::new(seeds::disk(&files));
    look(&disk);
    let Ok(database) = seeds::tables_options().open_tables_on(disk) else {
        return;
    };
    if let Ok(items) = database.table::<seeds::Item>() {
        let counted = database.read(|view| {
            let found = view.scan(items)?.map(|item| item.map(|_| 1));
            Ok((found.sum::<Result<u64, Error>>()?, view.count(items)?))
        });
        let (found, told) = counted.expect("it is open");
        assert_eq!(found, told);
        _ = database.run(|tx| {
            tx.update(items, 3, |_| ())?;
            tx.delete(items, 4)?;
            Ok::<_, Error>(())
        });
    }
    _ = database.checkpoint();
    _ = database.close();
}

fn operations(files: Files) {
    let disk: Arc<dyn Disk> = Arc::new(seeds::disk(&files));
    look(&disk);
    let Ok(database) = seeds::operations_options().open_on(disk) else {
        return;
    };
    if let Ok(area) = database.area("stock", 2) {
        _ = database.run(|tx| tx.call(&Get(Counter::new(area, 1))));
    }
    _ = database.close();
}
