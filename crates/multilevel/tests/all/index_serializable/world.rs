//! Several transactions on one index, on plain pages and with a real lock table.

use super::action::{Action, Model, Outcome};
use super::oracle::LockTable;
use sardonyx_base::hash::IntegerMap;
use sardonyx_lock::{Answer, Compatibility, Modes, Resource};
use sardonyx_multilevel::index::{IndexError, OrderedIndex, Restore, Scan};
use sardonyx_multilevel::pages::Change;
use sardonyx_multilevel::{
    Area, LockSpace, Mode, Operation, Page, PageId, Pages, PlainPages, Recorded, Stop,
};
use std::ops::{Bound, Range};

/// The width of small numbers as keys and values: short, all in one leaf, or so long that there are two entries to a
/// leaf.
#[derive(Clone, Copy)]
pub struct Width(pub usize);

impl Width {
    pub fn bytes(self, number: u8) -> Vec<u8> {
        let mut bytes = vec![number];
        bytes.resize(self.0, 0);
        bytes
    }
}

/// The locks of all transactions, and their planted errors.
#[derive(Clone)]
pub struct Locks {
    pub table: LockTable<Resource, u8>,
    pub inherit: Inherit,
    /// Objects are identified by their remainder by this only, as if they had the same hash.
    pub objects: u64,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Inherit {
    /// By the lock table.
    Exactly,
    /// Not known, so always.
    Always,
    /// An error: never.
    Never,
}

impl Locks {
    pub fn new(matrix: &Compatibility, inherit: Inherit) -> Locks {
        Locks {
            table: LockTable::new(matrix.clone()),
            inherit,
            objects: u64::MAX,
        }
    }

    fn resource(&self, space: &LockSpace, object: u64) -> Resource {
        let (space, object) = (space.number(), object % self.objects);
        Resource { space, object }
    }

    pub fn end(&mut self, transaction: u8) {
        let mut granted = Vec::new();
        self.table.release_all(transaction, &mut granted);
        assert!(granted.is_empty(), "nobody waits");
    }
}

/// The view of one transaction: plain pages, and its locks among those of the others.
pub struct View<'a> {
    pub pages: &'a mut PlainPages,
    pub locks: &'a mut Locks,
    pub transaction: u8,
}

impl Pages for View<'_> {
    fn page(&self, area: Area, index: u64) -> Result<PageId, Stop> {
        self.pages.page(area, index)
    }

    fn pages_of(&self, area: Area) -> Result<u64, Stop> {
        self.pages.pages_of(area)
    }

    fn grow(&mut self, area: Area, pages: u64) -> Result<(), Stop> {
        self.pages.grow(area, pages)
    }

    fn read(&self, page: PageId) -> Result<&Page, Stop> {
        self.pages.read(page)
    }

    fn read_to_write(&self, page: PageId) -> Result<&Page, Stop> {
        self.pages.read_to_write(page)
    }

    fn write(&mut self, page: PageId, range: Range<usize>) -> Result<&mut [u8], Stop> {
        self.pages.write(page, range)
    }

    fn lock(&mut self, space: &'static LockSpace, object: u64, mode: Mode) -> Result<(), Stop> {
        let (key, mut granted) = (self.locks.resource(space, object), Vec::new());
        if self.locks.table.request(self.transaction, key, mode) == Answer::Waiting {
            self.locks.table.cancel(self.transaction, key, &mut granted);
            assert!(granted.is_empty(), "nobody else waits");
            return Err(Stop::Restart);
        }
        Ok(())
    }

    fn held(&self, space: &'static LockSpace, object: u64) -> Option<Modes> {
        match self.locks.inherit {
            Inherit::Exactly => Some(
                self.locks
                    .table
                    .held(self.transaction, self.locks.resource(space, object)),
            ),
            Inherit::Always => None,
            Inherit::Never => Some(Modes::NONE),
        }
    }

    fn reserve(&mut self, _: &'static LockSpace, _: u64, _: Change) -> Result<(), Stop> {
        unreachable!("the index has no quantities")
    }
}

/// A running transaction: its operations, their results, and their undo.
#[derive(Clone, Default)]
pub struct Transaction {
    pub actions: Vec<(Action, Outcome)>,
    pub undo: Vec<Vec<u8>>,
}

/// Several transactions on one index.
#[derive(Clone)]
pub struct World {
    pub width: Width,
    pub pages: PlainPages,
    pub index: OrderedIndex,
    pub locks: Locks,
    pub running: IntegerMap<u8, Transaction>,
    /// The committed operations, in their order.
    pub committed: Vec<(Action, Outcome)>,
    pub initial: Model,
}

impl World {
    pub fn new(width: Width, initial: &Model, locks: Locks) -> World {
        let mut pages = PlainPages::new();
        let index = OrderedIndex::of(pages.area(0));
        for (&key, &value) in initial {
            let (key, value) = (width.bytes(key), width.bytes(value));
            index.insert(&key, &value).execute(&mut pages).unwrap();
        }
        let (running, committed) = (IntegerMap::default(), Vec::new());
        let initial = initial.clone();
        World {
            width,
            pages,
            index,
            locks,
            running,
            committed,
            initial,
        }
    }

    /// Lets a transaction execute an operation; `false`, and no effect, if it would have to wait.
    pub fn act(&mut self, transaction: u8, action: Action) -> bool {
        let before = self.pages.clone();
        let outcome = match action {
            Action::Get(key) => {
                let key = self.width.bytes(key);
                self.call(transaction, &self.index.get(&key)).map(value)
            }
            Action::Insert(key, value) => {
                let (key, value) = (self.width.bytes(key), self.width.bytes(value));
                match self.call(transaction, &self.index.insert(&key, &value)) {
                    Err(IndexError::Duplicate) => Ok(Outcome::Inserted(false)),
                    other => other.map(|()| Outcome::Inserted(true)),
                }
            }
            Action::Put(key, new) => {
                let (key, new) = (self.width.bytes(key), self.width.bytes(new));
                self.call(transaction, &self.index.put(&key, &new))
                    .map(value)
            }
            Action::Delete(key) => {
                let key = self.width.bytes(key);
                self.call(transaction, &self.index.delete(&key)).map(value)
            }
            Action::Scan {
                lower,
                upper,
                limit,
                descending,
            } => {
                let bytes = |bound: Bound<u8>| bound.map(|key| self.width.bytes(key));
                let (lower, upper) = (bytes(lower), bytes(upper));
                let scan = Scan {
                    index: self.index,
                    lower: lower.as_ref().map(|key| &key[..]),
                    upper: upper.as_ref().map(|key| &key[..]),
                    limit,
                    descending,
                };
                let entries = self.call(transaction, &scan);
                entries.map(|entries| {
                    Outcome::Entries(entries.iter().map(|(k, v)| (k[0], v[0])).collect())
                })
            }
        };
        match outcome {
            Ok(outcome) => {
                let actions = &mut self.running.entry(transaction).or_default().actions;
                actions.push((action, outcome));
                true
            }
            Err(IndexError::Stop(Stop::Restart)) => {
                // The first call makes the index before it asks for locks.
                let made = || self.index.check(&before).unwrap().height > 0;
                assert!(
                    before == self.pages || !made(),
                    "it wrote before it had its locks"
                );
                self.pages = before;
                false
            }
            Err(other) => panic!("{action:?}: {other}"),
        }
    }

    pub fn call<O: Operation<Error = IndexError>>(
        &mut self,
        transaction: u8,
        operation: &O,
    ) -> Result<O::Output, IndexError> {
        let (pages, locks) = (&mut self.pages, &mut self.locks);
        let output = operation.execute(&mut View {
            pages,
            locks,
            transaction,
        })?;
        if let Some(inverse) = operation.inverse(&output) {
            let undo = &mut self.running.entry(transaction).or_default().undo;
            undo.push(inverse.bytes().to_vec());
        }
        Ok(output)
    }

    pub fn commit(&mut self, transaction: u8) {
        let ended = self.running.remove(&transaction).unwrap_or_default();
        self.committed.extend(ended.actions);
        self.locks.end(transaction);
    }

    /// Undoes the last operation of a transaction that aborts, or ends it if there is none left, and returns `false`
    /// then.
    pub fn abort_step(&mut self, transaction: u8) -> bool {
        let running = self.running.get_mut(&transaction);
        let Some(inverse) = running.and_then(|running| running.undo.pop()) else {
            self.running.remove(&transaction);
            self.locks.end(transaction);
            return false;
        };
        let (pages, locks) = (&mut self.pages, &mut self.locks);
        let (restore, held) = (Restore::decode(&inverse).unwrap(), locks.table.statistics());
        restore
            .execute(&mut View {
                pages,
                locks,
                transaction,
            })
            .unwrap();
        assert_eq!(locks.table.statistics(), held, "an inverse asks for locks");
        true
    }

    pub fn end(&mut self, transaction: u8, commit: bool) {
        if commit {
            self.commit(transaction);
        } else {
            while self.abort_step(transaction) {}
        }
    }

    pub fn contents(&self) -> Model {
        let mut pages = self.pages.clone();
        let all = self.index.scan(..).execute(&mut pages).unwrap();
        all.iter().map(|(key, value)| (key[0], value[0])).collect()
    }

    /// Returns true, when all have ended, if the history equals a serial one.
    pub fn is_serial(&self) -> bool {
        assert!(self.running.is_empty() && self.locks.table.is_empty());
        let mut model = self.initial.clone();
        let as_alone = self
            .committed
            .iter()
            .all(|(action, outcome)| action.on_model(&mut model) == *outcome);
        as_alone && self.contents() == model
    }
}

pub fn value(bytes: Option<Vec<u8>>) -> Outcome {
    Outcome::Value(bytes.map(|bytes| bytes[0]))
}
