//! Keys of a file of Redis ([`RdbFile`](crate::rdb::file::RdbFile)), stored before clients are served.
//!
//! Items are stored in transactions of a bounded weight. A value that is heavier is stored in parts: its key is there
//! from the first part on. An item that cannot be stored is refused before any of it is, and the importer's owner
//! decides if the others follow.

use crate::command::libraries;
use crate::data::databases::database;
use crate::data::{Data, Live, Room, check_key, check_storable};
use crate::failure::Failure;
use crate::keyspace::Keyspace;
use crate::rdb::file::{Item, KeyItem, shown, too_large};
use crate::rdb::{RdbError, StreamValue, Value};
use sardonyx::{Durability, Error, Tables, Transaction};
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

/// A transaction is as heavy as so many elements.
const WEIGHT_MAX: usize = 8192;
/// So many bytes are as heavy as an element.
const ELEMENT_BYTES: usize = 512;

/// The numbers of items of each fate.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Imported {
    /// Keys that were stored.
    pub keys: u64,
    /// Keys that had expired, which are left out.
    pub expired: u64,
    /// Libraries of functions that were stored.
    pub libraries: u64,
    /// Items that were refused.
    pub refused: u64,
}

impl AddAssign for Imported {
    fn add_assign(&mut self, more: Imported) {
        self.keys += more.keys;
        self.expired += more.expired;
        self.libraries += more.libraries;
        self.refused += more.refused;
    }
}

/// An item that cannot be stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RefusedItem {
    /// Its offset in the file.
    pub at: u64,
    /// Its key and database, or that it is a library.
    pub name: String,
    /// The cause of the refusal, as a text for people.
    pub reason: String,
}

impl fmt::Display for RefusedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, at byte {}: {}", self.name, self.at, self.reason)
    }
}

/// Why an import ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// By an item: the transaction that would have stored it was undone.
    #[error("{0}")]
    Refused(RefusedItem),
    /// The engine's error.
    #[error(transparent)]
    Engine(#[from] Error),
}

/// Stores items of a file. `refused` gets each item that cannot be stored, and returns true if the others follow.
pub struct Importer<F> {
    keyspace: Arc<Keyspace>,
    tables: Arc<Tables>,
    now: i64,
    refused: F,
    waiting: Vec<Item>,
    weight: usize,
    stored: Imported,
}

impl<F: FnMut(&RefusedItem) -> bool> Importer<F> {
    /// At a time in milliseconds since 1970, at which keys may have expired.
    ///
    /// # Errors
    /// The keyspace is another program's.
    pub fn new(keyspace: Arc<Keyspace>, now: i64, refused: F) -> Result<Importer<F>, Error> {
        let own = keyspace.tables().cloned();
        let tables =
            own.ok_or_else(|| Error::other("keys are imported by the program that has them open"))?;
        Ok(Importer {
            keyspace,
            tables,
            now,
            refused,
            waiting: Vec::new(),
            weight: 0,
            stored: Imported::default(),
        })
    }

    /// Takes an item. It is stored with others, now or later.
    ///
    /// # Errors
    /// [`ImportError`]. The items of earlier transactions stay.
    pub fn add(&mut self, item: Item) -> Result<(), ImportError> {
        let weight = weight_of(&item);
        if weight > WEIGHT_MAX
            && let Item::Key(key) = item
        {
            self.store()?;
            // A value that is refused is not in parts: nothing of it is stored.
            let is_storable = |value: &Value| check_storable(value).is_ok();
            if key.value.as_ref().is_ok_and(is_storable) {
                return self.store_parts(key);
            }
            self.waiting.push(Item::Key(key));
            return self.store();
        }
        self.waiting.push(item);
        self.weight += weight;
        match self.weight < WEIGHT_MAX {
            true => Ok(()),
            false => self.store(),
        }
    }

    /// Stores the items that wait. Returns the numbers of all items so far. They are durable when the tables are closed.
    ///
    /// # Errors
    /// As [`Importer::add`]'s.
    pub fn finish(&mut self) -> Result<Imported, ImportError> {
        self.store()?;
        Ok(self.stored)
    }

    /// The numbers of the items that earlier transactions have stored.
    pub fn stored(&self) -> Imported {
        self.stored
    }

    /// Stores the items that wait, in a transaction.
    fn store(&mut self) -> Result<(), ImportError> {
        self.weight = 0;
        let items = std::mem::take(&mut self.waiting);
        if items.is_empty() {
            return Ok(());
        }
        let refuse = &mut self.refused;
        let stored = in_transaction(&self.tables, &self.keyspace, self.now, |data| {
            let mut stored = Imported::default();
            for item in &items {
                stored += put(data, item, refuse)?;
            }
            Ok(stored)
        })?;
        self.stored += stored;
        Ok(())
    }

    /// Stores a key part by part, each in a transaction.
    fn store_parts(&mut self, key: KeyItem) -> Result<(), ImportError> {
        let name = key.name.clone();
        let number = database(key.database as i64);
        let mut parts = key.value.map(parts);
        let first = match &mut parts {
            Ok(parts) => parts.next().ok_or(RdbError::TooLarge),
            Err(error) => Err(error.clone()),
        };
        self.waiting.push(Item::Key(KeyItem {
            value: first,
            ..key
        }));
        let before = self.stored.keys;
        self.store()?;
        let (Ok(number), Ok(parts)) = (number, parts) else {
            return Ok(());
        };
        // It may have expired, or have been refused.
        if self.stored.keys == before {
            return Ok(());
        }
        for part in parts {
            in_transaction(&self.tables, &self.keyspace, self.now, |data| {
                data.select(number);
                data.extend_value(&name, &part).map_err(engine_error)
            })?;
        }
        Ok(())
    }
}

impl<F> fmt::Debug for Importer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Importer")
            .field("stored", &self.stored)
            .finish_non_exhaustive()
    }
}

/// Does something with the keys as a transaction.
fn in_transaction<T>(
    tables: &Tables,
    keyspace: &Keyspace,
    now: i64,
    act: impl FnOnce(&mut Live<'_, '_>) -> Result<T, ImportError>,
) -> Result<T, ImportError> {
    let body = |tx: &mut Transaction<'_>| {
        let room = Room::new(usize::MAX);
        act(&mut Data::new(tx, keyspace.shared(), (now, 0), &room, 0))
    };
    let transaction = tables.transaction().durability(Durability::Deferred);
    transaction.errors().run(body)
}

fn engine_error(failure: Failure) -> ImportError {
    ImportError::Engine(match failure {
        Failure::Engine(error) => error,
        other => Error::other(other),
    })
}

/// Stores an item.
fn put(
    data: &mut Live<'_, '_>,
    item: &Item,
    refuse: &mut dyn FnMut(&RefusedItem) -> bool,
) -> Result<Imported, ImportError> {
    let one = match item {
        Item::Key(key) if key.expires.is_some_and(|at| at <= data.now) => {
            return Ok(Imported {
                expired: 1,
                ..Imported::default()
            });
        }
        Item::Key(_) => Imported {
            keys: 1,
            ..Imported::default()
        },
        Item::Library(_) => Imported {
            libraries: 1,
            ..Imported::default()
        },
    };
    let (at, name, done) = match item {
        Item::Key(key) => {
            let name = format!("key \"{}\" of database {}", shown(&key.name), key.database);
            (key.at, name, put_key(data, key))
        }
        Item::Library(library) => {
            let code = library.code.as_deref();
            let code = code.map_err(|_| Failure::Said(too_large()));
            let done = code.and_then(|code| libraries::add(data, code, false).map(drop));
            (library.at, "a library of functions".to_string(), done)
        }
    };
    match done {
        Ok(()) => Ok(one),
        Err(failure) if failure.undoes() => Err(engine_error(failure)),
        Err(failure) => {
            let text = failure.to_string();
            let refused = RefusedItem {
                at,
                name,
                reason: text.strip_prefix("ERR ").unwrap_or(&text).to_string(),
            };
            match refuse(&refused) {
                true => Ok(Imported {
                    refused: 1,
                    ..Imported::default()
                }),
                false => Err(ImportError::Refused(refused)),
            }
        }
    }
}

/// Stores a key. It is refused before anything is changed.
fn put_key(data: &mut Live<'_, '_>, key: &KeyItem) -> Result<(), Failure> {
    let value = key.value.as_ref();
    let value = value.map_err(|_| Failure::Said(too_large()))?;
    let number = database(i64::try_from(key.database).unwrap_or(i64::MAX))?;
    check_key(&key.name)?;
    check_storable(value)?;
    data.select(number);
    if data.entry_to_change(&key.name)?.is_some() {
        return Err(Failure::Told("the key exists already"));
    }
    // Times of tables count microseconds.
    let expires = key.expires.map(|at| at.min(i64::MAX / 1000));
    data.put_whole_value(&key.name, value, expires)
}

/// The weight of an item in a transaction, in elements.
fn weight_of(item: &Item) -> usize {
    let (elements, bytes) = match item {
        Item::Library(library) => (1, library.code.as_ref().map_or(0, Vec::len)),
        Item::Key(key) => match &key.value {
            Err(_) => (1, 0),
            Ok(Value::String(text)) => (1, text.len()),
            Ok(Value::List(all) | Value::Set(all)) => (all.len(), all.iter().map(Vec::len).sum()),
            Ok(Value::SortedSet(all)) => (all.len(), all.iter().map(scored_bytes).sum()),
            Ok(Value::Hash(all)) => (all.len(), all.iter().map(pair_bytes).sum()),
            Ok(Value::Stream(stream)) => {
                let pending = stream.groups.iter().map(|group| group.pending.len());
                let elements = stream.entries.len() + pending.sum::<usize>();
                (elements, stream.entries.iter().map(entry_bytes).sum())
            }
        },
    };
    elements + bytes / ELEMENT_BYTES
}

fn scored_bytes((name, _): &(Vec<u8>, f64)) -> usize {
    name.len()
}

fn pair_bytes((field, value): &(Vec<u8>, Vec<u8>)) -> usize {
    field.len() + value.len()
}

fn entry_bytes((_, parts): &((u64, u64), Vec<Vec<u8>>)) -> usize {
    parts.iter().map(Vec::len).sum()
}

/// A value in parts of a bounded weight, of which the first one makes the key. The last part of a stream has its groups.
fn parts(value: Value) -> Box<dyn Iterator<Item = Value>> {
    match value {
        Value::String(text) => Box::new(std::iter::once(Value::String(text))),
        Value::List(all) => Box::new(pieces(all, Vec::len).map(Value::List)),
        Value::Set(all) => Box::new(pieces(all, Vec::len).map(Value::Set)),
        Value::SortedSet(all) => Box::new(pieces(all, scored_bytes).map(Value::SortedSet)),
        Value::Hash(all) => Box::new(pieces(all, pair_bytes).map(Value::Hash)),
        Value::Stream(mut stream) => {
            let entries = std::mem::take(&mut stream.entries);
            let counters = StreamValue {
                groups: Vec::new(),
                ..stream.clone()
            };
            let entries = pieces(entries, entry_bytes).map(move |entries| StreamValue {
                entries,
                ..counters.clone()
            });
            Box::new(entries.chain([stream]).map(Value::Stream))
        }
    }
}

fn pieces<T>(all: Vec<T>, bytes: fn(&T) -> usize) -> impl Iterator<Item = Vec<T>> {
    let mut all = all.into_iter().peekable();
    std::iter::from_fn(move || {
        all.peek()?;
        let (mut piece, mut weight) = (Vec::new(), 0);
        while weight < WEIGHT_MAX
            && let Some(element) = all.next()
        {
            weight += 1 + bytes(&element) / ELEMENT_BYTES;
            piece.push(element);
        }
        Some(piece)
    })
}
