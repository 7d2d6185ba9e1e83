//! The indexes of all tables as a clean close leaves them beside the checkpoint, for the next opening to read instead
//! of building them ([`sardonyx_storage::stored`]).
//!
//! Stored are the pages of the [`IndexStore`] as they are, and a description: the secret of the hash, the free blocks,
//! and of each table the shards of its hash and the roots of its trees. The description names the sizes of nodes, so
//! that a version with other nodes does not take them for its own.
//!
//! Invariants: the stored indexes are those of the closed state, to the last row. An opening takes them only with all
//! tables of that state, each with as many rows as every one of its indexes, or it takes none. So either all indexes
//! are read or all are built. Small indexes are not stored: building them is faster than writing a file.

use crate::described::{Described, Words};
use crate::hash::KeyHash;
use crate::index::{HashIndex, sample_tags};
use crate::index_store::IndexStore;
use crate::ordered::{NODE_SIZES, Tree};
use crate::secondary::{Secondary, What, wanted};
use crate::space::TableSpace;
use crate::table::TableState;
use sardonyx_base::events;
use sardonyx_rows::key::KeyShape;
use sardonyx_rows::schema::{Schema, Type, ValueRef};
use sardonyx_storage::disk::Disk;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::stored::{ClosedAt, Stored, forget, store};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The version of the description.
const VERSION: u64 = 3;

/// Fewer bytes of indexes are built in some milliseconds.
pub(crate) const STORED_BYTES_MIN: u64 = 4 << 20;

/// The most bytes of free blocks that are stored whatever the indexes have.
const FREE_BYTES_MAX: u64 = 16 << 20;

/// Indexes that were stored at a clean close.
#[derive(Debug)]
pub struct StoredIndexes {
    hash: KeyHash,
    indexes: IndexStore,
    tables: Vec<Option<StoredTable>>,
    /// The time of reading them.
    time: Duration,
}

#[derive(Debug)]
struct StoredTable {
    is_hashed: bool,
    hashed: HashIndex,
    /// By [`identity`].
    trees: Vec<(Vec<u8>, Tree)>,
}

impl TableSpace {
    /// Has indexes of fewer bytes than these built at each opening, and not stored (default 4 MiB).
    #[doc(hidden)]
    pub fn set_stored_bytes_min(&mut self, bytes: u64) {
        self.stored_bytes_min = bytes;
    }

    /// Stores the indexes for the next opening of the database, which is closed in this state. Without effect if they are
    /// small or less than about half of their memory, or if one of them is not whole. If it fails, the next opening builds them.
    pub fn store_indexes(&mut self, disk: &dyn Disk, closed: ClosedAt) {
        let started = Instant::now();
        self.leaving.give_all_back(&mut self.indexes);
        let tables = || self.tables.iter().flatten();
        let is_whole = self.made_indexes.is_empty() && tables().all(|table| table.beside.is_none());
        let bytes = self.indexes.bytes_used();
        // Free blocks between the used ones would be written and read, too.
        let is_dense = self.indexes.used_pages().len() as u64 <= 2 * bytes + FREE_BYTES_MAX;
        if !is_whole || !is_dense || bytes == 0 || bytes < self.stored_bytes_min {
            return;
        }
        let description = describe(self);
        match store(disk, closed, &description, self.indexes.used_pages()) {
            Ok(true) => events::debug!(took = ?started.elapsed(), bytes, "indexes were stored"),
            Ok(false) => events::info!("closing left no time to store the indexes"),
            Err(error) => {
                events::warn!(%error, "indexes were not stored: the next opening builds them");
                // A part of them takes room for nothing.
                let _ = forget(disk);
            }
        }
    }
}

impl StoredIndexes {
    /// Reads the indexes that were stored in this state, on `workers` threads, and removes the file: the state moves on.
    /// `None` if there are none that are sound, or if they have another hash than the wanted one. `rows_max`: the bound on
    /// the bytes of rows.
    pub fn take(
        disk: &dyn Disk,
        closed: ClosedAt,
        rows_max: u64,
        wanted: Option<KeyHash>,
        workers: usize,
    ) -> Option<StoredIndexes> {
        let started = Instant::now();
        let stored = Stored::open(disk, closed);
        let read = stored.and_then(|stored| {
            let mut read = decode(stored.description(), rows_max)?;
            let is_wanted = wanted.is_none_or(|wanted| wanted == read.hash);
            let is_read = is_wanted && stored.read(read.indexes.used_pages_mut(), workers);
            read.time = started.elapsed();
            is_read.then_some(read)
        });
        if let Err(error) = forget(disk) {
            events::warn!(%error, "stored indexes were not removed");
        }
        read
    }

    /// The hash of the keys.
    pub(crate) fn hash(&self) -> KeyHash {
        self.hash
    }

    /// The time of reading them.
    pub(crate) fn time(&self) -> Duration {
        self.time
    }

    /// Gives the tables their indexes, if these are the indexes of these tables, with so many rows each. Nothing has
    /// changed otherwise.
    pub(crate) fn adopt(
        mut self,
        tables: &mut [Option<TableState>],
        records: &[usize],
    ) -> Option<IndexStore> {
        let fits = self.tables.len() == tables.len()
            && (tables.iter().zip(records).zip(&self.tables)).all(|((state, &records), stored)| {
                match (state, stored) {
                    (Some(state), Some(stored)) => stored.fits(state, records),
                    (None, None) => true,
                    _ => false,
                }
            });
        if !fits {
            events::warn!("stored indexes are not those of the tables, and are built");
            return None;
        }
        for (state, stored) in tables.iter_mut().zip(&mut self.tables) {
            if let (Some(state), Some(stored)) = (state, stored.take()) {
                for what in wanted(&state.schema, state.is_hashed) {
                    let tree = stored.tree(&what).unwrap_or_default();
                    let index = Secondary::new(what);
                    state.secondary.push(Secondary { tree, ..index });
                }
                state.index = stored.hashed;
            }
        }
        Some(self.indexes)
    }
}

impl StoredTable {
    fn fits(&self, state: &TableState, records: usize) -> bool {
        let whats = wanted(&state.schema, state.is_hashed);
        let hashed = if state.is_hashed { records } else { 0 };
        let has_all = |tree: Tree| tree.len() == records as u64;
        self.is_hashed == state.is_hashed
            && self.hashed.len() == hashed
            && self.trees.len() == whats.len()
            && whats
                .iter()
                .all(|what| self.tree(what).is_some_and(has_all))
    }

    /// The tree of an index.
    fn tree(&self, what: &What) -> Option<Tree> {
        let identity = identity(what);
        let found = self.trees.iter().find(|(of, _)| *of == identity);
        found.map(|(_, tree)| *tree)
    }
}

/// A word that depends on how keys are encoded and hashed, on the bits of hashes in tags, and on the program's version:
/// indexes that another encoding has ordered must not be believed, although their nodes look the same.
fn encodings() -> u64 {
    static WORD: LazyLock<u64> = LazyLock::new(|| {
        let hash = KeyHash::from_seed(VERSION);
        let mut encoded = env!("CARGO_PKG_VERSION").as_bytes().to_vec();
        for length in [1, 8, 9, 24] {
            let bytes: Vec<u8> = (0..length).collect();
            encoded.extend(hash.of(&bytes).to_le_bytes());
        }
        for (kind, value) in samples() {
            for descending in [false, true] {
                let schema = Schema::new().column("a", kind).primary_key(["a"]).ordered();
                let Ok(mut schema) = schema.build() else {
                    continue;
                };
                schema.primary.key[0].descending = descending;
                let shape = KeyShape::new(&schema, &schema.primary);
                let key = shape.of_values(&value);
                encoded.extend(key.map_or_else(|_| Vec::new(), |key| key.bytes.to_vec()));
                encoded.push(u8::from(shape.is_exact()));
            }
        }
        encoded.extend(sample_tags().iter().flat_map(|tag| tag.to_le_bytes()));
        hash.of(&encoded)
    });
    *WORD
}

/// Values of which each kind of encoding has one.
fn samples() -> [(Type, ValueRef<'static>); 9] {
    [
        (Type::Bool, ValueRef::Bool(true)),
        (Type::I16, ValueRef::Int(-300)),
        (Type::I64, ValueRef::Int(-300)),
        (Type::U64, ValueRef::Int(70_000)),
        (Type::F64, ValueRef::Float(-1.5)),
        (Type::Text, ValueRef::Text("a\0b and more than a word")),
        (Type::Bytes, ValueRef::Bytes(b"a\0b")),
        (Type::Timestamp, ValueRef::Timestamp(-7)),
        (Type::Date, ValueRef::Date(70)),
    ]
}

/// The name and the key of an index: another one of its name is not taken for it.
fn identity(what: &What) -> Vec<u8> {
    let mut bytes = what.definition.name.clone().into_bytes();
    bytes.push(0);
    let definition = &what.definition;
    bytes.push(u8::from(definition.unique) | u8::from(definition.nulls_equal) << 1);
    for part in &what.definition.key {
        bytes.extend((part.column as u64).to_le_bytes());
        bytes.push(u8::from(part.descending));
    }
    bytes
}

/// The description of a space's indexes.
fn describe(space: &TableSpace) -> Vec<u8> {
    let mut words = Words::default();
    words.put(VERSION);
    words.put(encodings());
    NODE_SIZES.iter().for_each(|size| words.put(*size as u64));
    space.hash.words().iter().for_each(|word| words.put(*word));
    space.indexes.describe(&mut words);
    words.put(space.tables.len() as u64);
    for state in &space.tables {
        words.put(u64::from(state.is_some()));
        let Some(state) = state else { continue };
        words.put(u64::from(state.is_hashed));
        state.index.describe(&mut words);
        words.put(state.secondary.len() as u64);
        for index in &state.secondary {
            words.put_bytes(&identity(&index.what));
            index.tree.words().iter().for_each(|word| words.put(*word));
        }
    }
    words.0
}

/// The indexes of a description, whose pages are not read yet.
fn decode(description: &[u8], rows_max: u64) -> Option<StoredIndexes> {
    let mut words = Described(description);
    let is_known = words.word()? == VERSION && words.word()? == encodings();
    let mut sizes = NODE_SIZES
        .iter()
        .map(|size| Some(words.word()? == *size as u64));
    if !is_known || !sizes.all(|same| same == Some(true)) {
        return None;
    }
    let hash = KeyHash::from_words([words.word()?, words.word()?]);
    let indexes = IndexStore::described(&mut words, rows_max)?;
    let top = indexes.top();
    let count = words.count(8)?;
    let mut tables = Vec::with_capacity(count);
    for _ in 0..count {
        if words.word()? == 0 {
            tables.push(None);
            continue;
        }
        let is_hashed = words.word()? != 0;
        let hashed = HashIndex::described(&mut words, top)?;
        let count = words.count(8)?;
        let mut trees = Vec::with_capacity(count);
        for _ in 0..count {
            let name = words.bytes()?.to_vec();
            let tree = [words.word()?, words.word()?, words.word()?, words.word()?];
            trees.push((name, Tree::of_words(tree, top)?));
        }
        tables.push(Some(StoredTable {
            is_hashed,
            hashed,
            trees,
        }));
    }
    words.0.is_empty().then_some(StoredIndexes {
        hash,
        indexes,
        tables,
        time: Duration::ZERO,
    })
}

const _: () = assert!(PAGE_SIZE.is_multiple_of(8));
