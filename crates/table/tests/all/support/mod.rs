//! Common parts of the tests of tables: four record types that differ in size and in the place and kind of their keys,
//! and plain maps to compare with. A table space has its redo records applied to a second copy of the pages (DB')
//! after every transaction.

use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::{Conflict, Field, Plain, PlainJournalRow, Table, TableError, field, record};
use sardonyx_storage::disk::{Faults, SimulatedDisk};
use sardonyx_storage::log::record::{Body, Records};
use sardonyx_storage::log::seal::GroupBuilder;
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::page::PAGE_SIZE;
use sardonyx_storage::store::PageStore;
use sardonyx_storage::stored::{ClosedAt, INDEXES_FILE};
use sardonyx_table::{
    FollowedSpace, KeyHash, RebuildReport, SpaceSnapshot, StoredIndexes, TableSpace, Transaction,
    View,
};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;

/// 8 bytes: 503 in a page, a key of 4 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Resident)]
#[repr(C)]
pub struct Small {
    pub key: u32,
    pub value: u32,
}
record!(Small { table: "small", key: key: u32 });

/// 128 bytes, a key of 8 bytes in the middle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Resident)]
#[repr(C)]
pub struct Account {
    pub balance: i64,
    pub id: u64,
    pub words: [u64; 13],
    pub value: u32,
    pub flags: u32,
}
record!(Account { table: "accounts", key: id: u64 });

/// 24 bytes, a key of 12 bytes that is not aligned to 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Resident)]
#[repr(C)]
pub struct Order {
    pub value: u32,
    pub key: [u32; 3],
    pub amount: u64,
}
record!(Order { table: "orders", key: key: [u32; 3] });

/// The largest record: one in a page, with the key at its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Resident)]
#[repr(C)]
pub struct Large {
    pub text: [u8; 4060],
    pub value: u32,
    pub key: [u8; 16],
}
record!(Large { table: "large", key: key: [u8; 16] });

/// A journal row whose length is not a multiple of 8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Resident)]
#[repr(C)]
pub struct Event {
    pub what: u32,
    pub much: [u8; 9],
    pub end: [u8; 7],
}
impl PlainJournalRow for Event {
    const NAME: &'static str = "events";
}

/// A record type that the tests can make up from two numbers.
pub trait Sample: Plain + PartialEq + Debug {
    /// A record with this key.
    fn sample(key: u32, value: u32) -> Self;
    /// The key that [`Sample::sample`] makes.
    fn sample_key(key: u32) -> Self::Key;
    /// The number of the key.
    fn number(&self) -> u32;
    /// The field that all of them have.
    fn value_field() -> Field<Self, u32>;
    /// The field that all of them have, to change.
    fn value_mut(&mut self) -> &mut u32;
    /// Changes scattered bytes.
    fn scribble(&mut self, value: u32);
}

impl Sample for Small {
    fn sample(key: u32, value: u32) -> Self {
        Small { key, value }
    }
    fn sample_key(key: u32) -> u32 {
        key
    }
    fn number(&self) -> u32 {
        self.key
    }
    fn value_field() -> Field<Self, u32> {
        field!(Small.value: u32)
    }
    fn value_mut(&mut self) -> &mut u32 {
        &mut self.value
    }
    fn scribble(&mut self, value: u32) {
        self.value ^= value;
    }
}

impl Sample for Account {
    fn sample(key: u32, value: u32) -> Self {
        Account {
            balance: -i64::from(value),
            id: Self::sample_key(key),
            words: std::array::from_fn(|n| n as u64 * u64::from(value)),
            value,
            flags: !value,
        }
    }
    fn sample_key(key: u32) -> u64 {
        // Keys that differ in the upper bits only.
        u64::from(key) << 32
    }
    fn number(&self) -> u32 {
        (self.id >> 32) as u32
    }
    fn value_field() -> Field<Self, u32> {
        field!(Account.value: u32)
    }
    fn value_mut(&mut self) -> &mut u32 {
        &mut self.value
    }
    fn scribble(&mut self, value: u32) {
        for n in 0..13 {
            if value >> n & 1 != 0 {
                self.words[n] = self.words[n].wrapping_add(1);
            }
        }
    }
}

impl Sample for Order {
    fn sample(key: u32, value: u32) -> Self {
        Order {
            value,
            key: Self::sample_key(key),
            amount: u64::from(value) * 3,
        }
    }
    fn sample_key(key: u32) -> [u32; 3] {
        [7, key, 0]
    }
    fn number(&self) -> u32 {
        self.key[1]
    }
    fn value_field() -> Field<Self, u32> {
        field!(Order.value: u32)
    }
    fn value_mut(&mut self) -> &mut u32 {
        &mut self.value
    }
    fn scribble(&mut self, value: u32) {
        self.amount ^= u64::from(value);
        self.value = self.value.rotate_left(value);
    }
}

impl Sample for Large {
    fn sample(key: u32, value: u32) -> Self {
        Large {
            text: [value as u8; 4060],
            value,
            key: Self::sample_key(key),
        }
    }
    fn sample_key(key: u32) -> [u8; 16] {
        let mut bytes = *b"key             ";
        bytes[12..].copy_from_slice(&key.to_le_bytes());
        bytes
    }
    fn number(&self) -> u32 {
        u32::from_le_bytes(self.key[12..].try_into().expect("4 bytes"))
    }
    fn value_field() -> Field<Self, u32> {
        field!(Large.value: u32)
    }
    fn value_mut(&mut self) -> &mut u32 {
        &mut self.value
    }
    fn scribble(&mut self, value: u32) {
        let step = value as usize % 500 + 1;
        self.text
            .iter_mut()
            .step_by(step)
            .for_each(|byte| *byte ^= 0x55);
    }
}

/// The tables' handles.
#[derive(Clone, Copy, Debug)]
pub struct Tables {
    pub small: Table<Small>,
    pub accounts: Table<Account>,
    pub orders: Table<Order>,
    pub large: Table<Large>,
}

impl Tables {
    /// Declares them.
    pub fn declare(tx: &mut Transaction<'_>) -> Self {
        Tables {
            small: tx.declare_table().expect("declare"),
            accounts: tx.declare_table().expect("declare"),
            orders: tx.declare_table().expect("declare"),
            large: tx.declare_table().expect("declare"),
        }
    }
}

/// The expected content of the tables.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Model {
    pub small: BTreeMap<u32, Small>,
    pub accounts: BTreeMap<u32, Account>,
    pub orders: BTreeMap<u32, Order>,
    pub large: BTreeMap<u32, Large>,
}

impl Model {
    /// Compares everything that can be seen of the tables.
    pub fn check(&self, view: &View<'_>, tables: &Tables) {
        check_table(view, tables.small, &self.small);
        check_table(view, tables.accounts, &self.accounts);
        check_table(view, tables.orders, &self.orders);
        check_table(view, tables.large, &self.large);
    }

    /// Compares the whole content of a snapshot; if it was ended, its error must say so.
    pub fn check_frozen(&self, snapshot: &SpaceSnapshot, tables: &Tables) {
        let said = check_frozen(snapshot, tables.small, &self.small)
            .and_then(|()| check_frozen(snapshot, tables.accounts, &self.accounts))
            .and_then(|()| check_frozen(snapshot, tables.orders, &self.orders))
            .and_then(|()| check_frozen(snapshot, tables.large, &self.large));
        if let Err(error) = in_detail(said) {
            assert!(matches!(error, TableError::SnapshotEnded(_)), "{error:?}");
            assert!(snapshot.is_ended());
        }
    }

    /// All records.
    pub fn len(&self) -> usize {
        self.small.len() + self.accounts.len() + self.orders.len() + self.large.len()
    }
}

fn check_table<R: Sample>(view: &View<'_>, table: Table<R>, model: &BTreeMap<u32, R>) {
    assert_eq!(
        view.count(table).expect("read"),
        model.len() as u64,
        "{}",
        R::NAME
    );
    let mut scanned: Vec<_> = view
        .scan(table)
        .expect("read")
        .map(|record| record.expect("a record"))
        .map(|r| (r.number(), *r))
        .collect();
    scanned.sort_by_key(|(key, _)| *key);
    let expected: Vec<_> = model.iter().map(|(key, record)| (*key, *record)).collect();
    assert!(scanned == expected, "the scan of {} differs", R::NAME);
    for (key, record) in model {
        assert!(view.get(table, R::sample_key(*key)).expect("read") == Some(record));
        assert!(
            view.get(table, R::sample_key(key ^ 0x4000_0000))
                .expect("read")
                .is_none()
        );
    }
}

fn check_frozen<R: Sample>(
    snapshot: &SpaceSnapshot,
    table: Table<R>,
    model: &BTreeMap<u32, R>,
) -> Result<(), Error> {
    assert_eq!(
        snapshot.count(table).expect("read"),
        model.len() as u64,
        "{}",
        R::NAME
    );
    let mut scanned = BTreeMap::new();
    for record in snapshot.scan(table).expect("read") {
        let record = record?;
        assert!(scanned.insert(record.number(), record).is_none());
    }
    assert!(scanned == *model, "the scan of {} differs", R::NAME);
    for (key, record) in model {
        assert!(snapshot.get(table, R::sample_key(*key))? == Some(*record));
        assert!(
            snapshot
                .get(table, R::sample_key(key ^ 0x4000_0000))?
                .is_none()
        );
    }
    Ok(())
}

/// Room for pages in the tests, in bytes: address space only.
pub const STORE_BYTES: u64 = 1 << 30;

/// The hash of the keys in all tests.
pub fn hash() -> KeyHash {
    KeyHash::from_seed(7)
}

/// A page store with these bytes.
pub fn store_of(pages: &[u8]) -> PageStore {
    let mut store = PageStore::reserve(STORE_BYTES).expect("reserve");
    store
        .grow_to(pages.len().div_ceil(PAGE_SIZE) as u64)
        .expect("grow");
    store.bytes_mut()[..pages.len()].copy_from_slice(pages);
    store
}

/// Tables with a log and DB', the pages as the redo records alone make them.
#[derive(Debug)]
pub struct World {
    pub space: TableSpace,
    pub log: GroupBuilder,
    pub redone: Vec<u8>,
    /// The tables as a follower of the log has them.
    followed: Followed,
    reopened: u64,
}

/// Tables that follow the log, by groups of one transaction or several.
#[derive(Debug)]
struct Followed {
    space: FollowedSpace,
    /// The records of the group that is not applied yet.
    group: Vec<u8>,
    transactions: u32,
    /// Kept over the next group.
    snapshot: Option<Arc<SpaceSnapshot>>,
}

/// Tables with more rows are compared now and then only.
const ROWS_COMPARED: u64 = 2000;

impl Followed {
    fn of(pages: &[u8]) -> Self {
        let (space, _) = FollowedSpace::open(store_of(pages), 1).expect("open");
        Followed {
            space,
            group: Vec::new(),
            transactions: 0,
            snapshot: None,
        }
    }

    /// Takes a transaction's records. Returns whether the group was applied.
    fn take(&mut self, payload: &[u8]) -> bool {
        self.group.extend_from_slice(payload);
        self.transactions += 1;
        if self.transactions % 4 == 3 || self.transactions % 7 == 1 {
            return false;
        }
        self.space.apply(&self.group).expect("applied");
        self.group.clear();
        let rows: u64 = self.space.rows();
        if rows < ROWS_COMPARED || self.transactions.is_multiple_of(64) {
            self.space.check();
        }
        self.snapshot = match self.transactions % 3 {
            0 => Some(self.space.snapshot().expect("a snapshot")),
            _ => None,
        };
        true
    }
}

impl World {
    /// A fresh database with memory for so many bytes of pages.
    pub fn with_memory(bytes: u64) -> Self {
        let store = PageStore::reserve(bytes).expect("reserve");
        let (space, _) = TableSpace::open_with(store, 1, hash()).expect("open");
        World {
            space,
            log: GroupBuilder::with_capacity(1 << 16),
            redone: Vec::new(),
            followed: Followed::of(&[]),
            reopened: 0,
        }
    }

    /// A fresh database with all tables.
    pub fn new() -> (Self, Tables) {
        let mut world = World::with_memory(STORE_BYTES);
        let tables = world.commit(Tables::declare);
        (world, tables)
    }

    /// Runs and commits a transaction, and applies its log records.
    pub fn commit<T>(&mut self, run: impl FnOnce(&mut Transaction<'_>) -> T) -> T {
        let mut tx = self.space.begin(&mut self.log);
        let result = run(&mut tx);
        tx.commit();
        self.redo();
        result
    }

    /// Applies the log's records to DB', empties the log and compares DB' with the pages.
    pub fn redo(&mut self) {
        let log = std::mem::replace(&mut self.log, GroupBuilder::with_capacity(1 << 16));
        apply(&mut self.redone, log.payload());
        self.check_redone();
        if self.followed.take(log.payload()) {
            let pages = self.followed.space.space().pages();
            let common = pages.len().min(self.redone.len());
            assert!(
                pages[..common] == self.redone[..common],
                "followed pages differ"
            );
        }
    }

    /// DB' is this by other means than transactions.
    pub fn set_redone(&mut self, pages: Vec<u8>) {
        self.followed = Followed::of(&pages);
        self.redone = pages;
    }

    /// Checks that DB' equals the pages, byte by byte; pages never logged are zeroes.
    pub fn check_redone(&self) {
        let pages = self.space.pages();
        assert!(self.redone.len() <= pages.len());
        let (written, rest) = pages.split_at(self.redone.len());
        assert!(written == self.redone, "DB' differs from DB");
        assert!(
            rest.iter().all(|&byte| byte == 0),
            "bytes that nobody logged"
        );
    }

    /// Closes and opens again, from the same pages: every other time with the indexes that the close stored.
    pub fn reopen(&mut self, workers: usize) -> RebuildReport {
        let empty = TableSpace::open(PageStore::reserve(0).expect("reserve"), 1).expect("open");
        let mut space = std::mem::replace(&mut self.space, empty.0);
        self.reopened += 1;
        let disk = SimulatedDisk::new(self.reopened, Faults::default());
        if self.reopened % 2 == 1 {
            space.set_stored_bytes_min(0);
            space.store_indexes(&disk, closed());
        }
        let is_stored = disk.read_all(INDEXES_FILE).is_some();
        let stored = StoredIndexes::take(&disk, closed(), STORE_BYTES, None, workers);
        assert!(disk.read_all(INDEXES_FILE).is_none());
        let (space, report) =
            TableSpace::open_stored(space.into_store(), workers, hash(), stored).expect("open");
        assert_eq!(report.stored, is_stored);
        self.space = space;
        report
    }
}

/// The state that stored indexes belong to.
pub fn closed() -> ClosedAt {
    ClosedAt::of(&Manifest::new(7))
}

/// Applies redo records to pages, as recovery and the checkpointer do.
pub fn apply(pages: &mut Vec<u8>, payload: &[u8]) {
    for record in Records::new(payload) {
        if let Body::Write { address, bytes } = record.expect("records decode").body {
            let end = (address.page().0 as usize + 1) * PAGE_SIZE;
            if pages.len() < end {
                pages.resize(end, 0);
            }
            pages[address.0 as usize..][..bytes.len()].copy_from_slice(bytes);
        }
    }
}

/// The result of a transaction, with the table's own error.
pub fn in_detail<T>(said: Result<T, Error>) -> Result<T, TableError> {
    let of_catalogue = |error: Error| error.downcast().map(TableError::Catalogue);
    // Programs ask for these by their own types.
    let of_conflict = |error: Error| {
        let conflict: Result<Conflict, _> = error.downcast();
        conflict.map(TableError::from)
    };
    let of_snapshot = |error: Error| error.downcast().map(TableError::SnapshotEnded);
    said.map_err(|error| {
        let error = error.downcast().or_else(of_catalogue);
        let error = error.or_else(of_conflict).or_else(of_snapshot);
        error.expect("a table's error")
    })
}
