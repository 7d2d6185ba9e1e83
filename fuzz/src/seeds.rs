//! Valid bytes of every kind: cut out of two small databases that the engine wrote to the simulated
//! disk, one of tables and a journal, one of operations.

use std::sync::{Arc, LazyLock};

use sardonyx::journals::PlainJournalRow;
use sardonyx::low_level::Resident;
use sardonyx::{Options, Shape, record};
use sardonyx_multilevel::counter::{Add, Counter, Set};
use sardonyx_storage::disk::{Access, Create, Disk, Faults, SimulatedDisk};
use sardonyx_storage::engine::StorageOptions;
use sardonyx_storage::log::policy::GroupLimits;

/// The identity of both databases.
pub const IDENTITY: u64 = 7;

/// Bytes of a segment of their logs.
pub const SEGMENT_BYTES: u64 = 64 << 10;

/// Bytes of a block of their backups.
pub const BLOCK_BYTES: u32 = 16 << 10;

/// Most bytes of pages.
pub const MEMORY_BYTES: u64 = 16 << 20;

/// The files of a database, by name.
pub type Files = Vec<(String, Vec<u8>)>;

/// A record of the tables.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub struct Item {
    id: u64,
    value: [u64; 15],
}
record!(Item { table: "items", key: id: u64 });

/// A row of the journal.
#[derive(Clone, Copy, Debug, Resident)]
#[repr(C)]
pub struct Note {
    item: u64,
    amount: u64,
}

impl PlainJournalRow for Note {
    const NAME: &'static str = "notes";
}

/// A database of tables and a journal, with a backup, an archive and log after both.
pub static TABLES: LazyLock<Files> = LazyLock::new(|| {
    let disk = SimulatedDisk::new(1, Faults::default());
    let database = tables_options()
        .open_tables_on(Arc::new(disk.clone()))
        .expect("a new database");
    let items = database.table::<Item>().expect("declared");
    let notes = database.journal::<Note>().expect("declared");
    for id in 0..60 {
        let added = database.run(|tx| {
            tx.append(
                notes,
                &Note {
                    item: id,
                    amount: 1,
                },
            )?;
            let value = [id; 15];
            tx.insert(
                items,
                &Item {
                    id: id % 40 + id / 40 * 100,
                    value,
                },
            )?;
            Ok::<_, sardonyx::Error>(())
        });
        added.expect("added");
        if id == 30 {
            database.checkpoint().expect("complete");
        }
    }
    // As after a crash: the log has no witness of its end.
    let files = files(&disk);
    drop(database);
    files
});

/// A database of operations, with transactions that had not ended.
pub static OPERATIONS: LazyLock<Files> = LazyLock::new(|| {
    let disk = SimulatedDisk::new(2, Faults::default());
    let database = operations_options()
        .open_on(Arc::new(disk.clone()))
        .expect("a new database");
    let area = database.area("stock", 2).expect("declared");
    let (one, other) = (Counter::new(area, 0), Counter::new(area, 1));
    for counter in [one, other] {
        let made = database.run(|tx| tx.call(&Set::within(counter, 5, 0, 1000)));
        made.expect("made");
    }
    let (first, second) = (database.begin(), database.begin());
    for amount in 1..4 {
        first.call(&Add::to(one, amount)).expect("added");
        second.call(&Add::to(other, amount)).expect("added");
    }
    // Durable, and with it what the two have done so far.
    database
        .run(|tx| tx.call(&Add::to(other, 1)))
        .expect("added");
    let files = files(&disk);
    drop((first, second));
    drop(database);
    files
});

/// Options of the database of tables: everything on the calling thread.
pub fn tables_options() -> Options {
    Options::new()
        .shape(Shape::Threadless)
        .identity(IDENTITY)
        .hash_seed(7)
        .segment_bytes(SEGMENT_BYTES)
        .block_bytes(BLOCK_BYTES)
        .log_bytes_max(8 * SEGMENT_BYTES)
        .log_bytes_prepared(0)
        .memory_bytes_max(MEMORY_BYTES)
        .group_limits(limits())
}

/// Options of the database of operations.
pub fn operations_options() -> sardonyx_multilevel::Options {
    sardonyx_multilevel::Options::new().storage(StorageOptions {
        segment_bytes: SEGMENT_BYTES,
        block_bytes: BLOCK_BYTES,
        identity: Some(IDENTITY),
        log_bytes_max: 8 * SEGMENT_BYTES,
        log_bytes_prepared: 0,
        memory_bytes_max: MEMORY_BYTES,
        limits: limits(),
        workers: 1,
        threaded: false,
        ..StorageOptions::default()
    })
}

fn limits() -> GroupLimits {
    GroupLimits {
        group_bytes: 8 << 10,
        transaction_bytes: 16 << 10,
        depth: 2,
        buffers: 6,
    }
}

fn files(disk: &SimulatedDisk) -> Files {
    let names = disk.files().into_iter().filter(|name| name != "LOCK");
    names
        .map(|name| {
            let bytes = disk.read_all(&name).expect("there");
            (name, bytes)
        })
        .collect()
}

/// A simulated disk without faults, for decoders that read files by name.
pub fn disk(files: &[(String, Vec<u8>)]) -> SimulatedDisk {
    let disk = SimulatedDisk::new(3, Faults::default());
    for (name, bytes) in files {
        if let Some((folder, _)) = name.rsplit_once('/') {
            disk.make_directory(folder).expect("a folder");
        }
        let file = disk
            .open(name, Access::Buffered, Create::New)
            .expect("a new file");
        file.write_at(0, bytes).expect("written");
    }
    disk
}

/// The files of the database of tables in a folder, without the zeroes at their ends.
pub fn in_folder(folder: &str) -> Vec<Vec<u8>> {
    let found = TABLES.iter().filter(|(name, _)| name.starts_with(folder));
    found.map(|(_, bytes)| used(bytes).to_vec()).collect()
}

/// The pieces of these files that begin at multiples of 4096 bytes with `magic`, up to the next such place.
pub fn units(files: &[Vec<u8>], magic: [u8; 4]) -> Vec<Vec<u8>> {
    let mut units = Vec::new();
    for bytes in files {
        let starts: Vec<usize> = (0..bytes.len())
            .step_by(4096)
            .filter(|&at| bytes[at..].starts_with(&magic))
            .collect();
        for (n, &start) in starts.iter().enumerate() {
            let end = starts.get(n + 1).copied().unwrap_or(bytes.len());
            units.push(used(&bytes[start..end]).to_vec());
        }
    }
    units
}

/// The bytes without the zeroes at their end.
fn used(bytes: &[u8]) -> &[u8] {
    let last = bytes.iter().rposition(|&byte| byte != 0);
    &bytes[..last.map_or(0, |last| last + 1)]
}
