//! The interface of a store that takes part, and a model of it for tests.

use super::operations::{FIELD_BYTES, Operation, fill};
use crate::Failure;
use crate::product::{self, Product};
use std::collections::BTreeMap;
use std::path::Path;

/// The results of operations.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Seen {
    pub rows: u64,
    /// A digest of their keys and of all bytes of their fields, in order.
    pub digest: u64,
}

impl Seen {
    /// Adds a row: its key and its fields.
    #[inline]
    pub fn row(&mut self, key: u64, fields: &[u8]) {
        let (words, _) = fields.as_chunks::<8>();
        let sum = (words.iter()).fold(key, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        self.and(Seen {
            rows: 1,
            digest: sum,
        });
    }

    /// Adds the results of later operations.
    #[inline]
    pub fn and(&mut self, later: Seen) {
        self.rows += later.rows;
        self.digest = self.digest.wrapping_add(later.digest);
    }
}

/// A store of rows of fields of 100 bytes, found by a key of 64 bits, in the order of keys.
pub trait Store: Product {
    /// Opens the store in `directory`, an existing directory of its own, for rows of `fields` fields (1 or 10); makes
    /// an empty one if there is none.
    ///
    /// # Errors
    /// The engine's error.
    fn open(directory: &Path, fields: u8) -> Result<Self, Failure>
    where
        Self: Sized;

    /// Inserts rows with these keys, with the contents of [`fill`], durable when this returns. The store chooses their
    /// number in a transaction.
    ///
    /// # Errors
    /// The engine's error.
    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure>;

    /// Does all of `operations` in order, and returns their results when all changes are on stable storage. If all
    /// operations only read, they see one state of the store.
    ///
    /// # Errors
    /// The engine's error; then the store must not be used any more.
    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure>;
}

/// Opens a store: see [`Store::open`].
pub type OpenStore = fn(&Path, u8) -> Result<Box<dyn Store>, Failure>;

/// A store that can be opened.
pub type Engine = product::Engine<OpenStore>;

impl Engine {
    /// A store of this type.
    pub fn of<S: Store + 'static>() -> Self {
        Engine::opened_by::<S>(|directory, fields| Ok(Box::new(S::open(directory, fields)?)))
    }
}

/// Rows in memory: the model of every store.
#[derive(Clone, Debug, Default)]
pub struct Model {
    fields: usize,
    rows: BTreeMap<u64, Vec<u8>>,
}

impl Model {
    fn insert(&mut self, key: u64) -> Result<(), Failure> {
        let mut fields = vec![0; self.fields * FIELD_BYTES];
        fill(key, &mut fields);
        match self.rows.insert(key, fields) {
            None => Ok(()),
            Some(_) => Err(format!("a row with key {key} is there already").into()),
        }
    }
}

impl Product for Model {
    fn name() -> &'static str {
        "model"
    }

    fn settings() -> &'static str {
        "a BTreeMap, nothing is durable"
    }
}

impl Store for Model {
    fn open(_directory: &Path, fields: u8) -> Result<Self, Failure> {
        let (fields, rows) = (fields.into(), BTreeMap::new());
        Ok(Model { fields, rows })
    }

    fn load(&mut self, keys: &mut dyn Iterator<Item = u64>) -> Result<(), Failure> {
        for key in keys {
            self.insert(key)?;
        }
        Ok(())
    }

    fn run(&mut self, operations: &[Operation]) -> Result<Seen, Failure> {
        let mut seen = Seen::default();
        for operation in operations {
            match *operation {
                Operation::Insert(key) => self.insert(key)?,
                Operation::Scan(key, count) => {
                    let rows = self.rows.range(key..).take(count as usize);
                    rows.for_each(|(key, fields)| seen.row(*key, fields));
                }
                Operation::Read(key)
                | Operation::Update(key, _)
                | Operation::ReadModifyWrite(key, _) => {
                    let row = self.rows.get_mut(&key).ok_or(Missing { key })?;
                    if !matches!(operation, Operation::Update(..)) {
                        seen.row(key, row);
                    }
                    if let Operation::Update(_, change) | Operation::ReadModifyWrite(_, change) =
                        operation
                    {
                        let at = usize::from(change.field) * FIELD_BYTES;
                        row[at..][..FIELD_BYTES].copy_from_slice(&change.value);
                    }
                }
            }
        }
        Ok(seen)
    }
}

/// An expected row does not exist.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("there is no row with key {key}")]
pub struct Missing {
    pub key: u64,
}
