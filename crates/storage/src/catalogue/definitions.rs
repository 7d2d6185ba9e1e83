//! The list of definitions, found by their numbers and by their names.
//!
//! Copies share their parts ([`Parts`]), so that each snapshot and each undo step has its own for some words. A name is
//! found by its hash in one of a few lists, however many definitions there are.
//!
//! A number may be another definition's later. So programs that keep numbers while no transaction runs compare the
//! [origin](Definitions::origin) as well.
//!
//! Invariants: the lists have exactly the names that are not dropped. `dropped` has exactly the other numbers.

use super::{Definition, Kind};
use sardonyx_base::hash::Fnv1a;
use sardonyx_base::parts::{Parts, PartsIter};
use std::ops::Index;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The lists of names, as soon as there are more than [`FEW`].
const LISTS: usize = 256;
/// So many definitions have their names in one list.
const FEW: usize = 32;

/// A name's hash and its number.
type Named = (u32, u16);

/// A definition under its number.
#[derive(Clone, Debug)]
struct Entry {
    definition: Definition,
    origin: u64,
}

/// The number of origins in this process.
static ORIGINS: AtomicU64 = AtomicU64::new(0);

/// Tables, journals and areas; their numbers are their places here.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    entries: Parts<Arc<Entry>>,
    /// By the hash of the name. None of an empty list, one of a short one.
    names: Parts<Arc<Vec<Named>>, 16>,
    /// The numbers of what was dropped, the smallest one last.
    dropped: Arc<Vec<u16>>,
}

impl Definitions {
    /// Their number, with those dropped.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns `None` for a number that was never given.
    #[inline]
    pub fn get(&self, number: usize) -> Option<&Definition> {
        self.entries.get(number).map(|entry| &entry.definition)
    }

    /// A number that only this definition has in the process, from its creation until it is dropped, also under another
    /// name. It is not stored. Returns `None` for a number that was never given.
    #[inline]
    pub fn origin(&self, number: u16) -> Option<u64> {
        let entry = self.entries.get(usize::from(number));
        entry.map(|entry| entry.origin)
    }

    /// The definitions, in the order of their numbers.
    pub fn iter(&self) -> DefinitionsIter<'_> {
        DefinitionsIter(self.entries.iter())
    }

    /// The number of the table, journal or area of a name.
    pub fn named(&self, name: &str) -> Option<u16> {
        let hash = hash_of(name);
        let list = self.names.get(list_of(hash, self.names.len()))?;
        let mut found = list.iter().filter(|(of, _)| *of == hash);
        let found = found.find(|(_, number)| {
            let definition = self.get(usize::from(*number));
            definition.is_some_and(|definition| definition.name == name)
        });
        found.map(|(_, number)| *number)
    }

    /// Has no list of dropped numbers until [`Definitions::find_dropped`] is called.
    pub(super) fn forget_dropped(&mut self) {
        self.dropped = Arc::default();
    }

    /// Finds the numbers of what was dropped.
    pub(super) fn find_dropped(&mut self) {
        let numbered = self.iter().enumerate();
        let dropped = numbered.filter(|(_, definition)| definition.kind == Kind::Dropped);
        let mut dropped: Vec<u16> = dropped.map(|(number, _)| number as u16).collect();
        dropped.reverse();
        self.dropped = Arc::new(dropped);
    }

    /// The number that the next one gets: the first of a dropped one, or a new one.
    pub(super) fn next_number(&self) -> usize {
        let dropped = self.dropped.last();
        dropped.map_or(self.len(), |number| usize::from(*number))
    }

    /// The first number whose definition differs from another list's.
    #[inline]
    pub fn first_difference(&self, other: &Definitions) -> Option<usize> {
        let mut unshared = self.unshared(other).into_iter();
        unshared.find(|number| self.get(*number) != other.get(*number))
    }

    /// The numbers whose definitions may differ from another list's, in order.
    pub fn unshared(&self, other: &Definitions) -> Vec<usize> {
        self.entries.unshared(&other.entries)
    }

    /// Bytes of memory that a change of one definition of a shared list takes.
    pub(super) fn bytes_of_change(&self) -> usize {
        let list = self.names.len().max(1);
        let names = self.len().div_ceil(list) * size_of::<Named>();
        self.entries.bytes_of_change() + self.names.bytes_of_change() + names
    }

    /// Has another definition under a number, the next one at most.
    pub fn set(&mut self, number: usize, definition: Definition) {
        let before = self.entries.get(number).cloned();
        if let Some(before) = &before {
            self.forget(&before.definition, number as u16);
        }
        let (name, is_dropped) = (hash_of(&definition.name), definition.kind == Kind::Dropped);
        let kept = before.filter(|before| before.definition.kind != Kind::Dropped && !is_dropped);
        let next = || ORIGINS.fetch_add(1, Ordering::Relaxed);
        let entry = Arc::new(Entry {
            definition,
            origin: kept.map_or_else(next, |before| before.origin),
        });
        match self.entries.get_mut(number) {
            Some(there) => *there = entry,
            None => self.entries.push(entry),
        }
        match is_dropped {
            true => {
                let dropped = Arc::make_mut(&mut self.dropped);
                let behind = dropped.partition_point(|other| usize::from(*other) > number);
                dropped.insert(behind, number as u16);
            }
            false => self.name(name, number as u16),
        }
    }

    /// The number of a definition is another one's now.
    fn forget(&mut self, before: &Definition, number: u16) {
        if before.kind == Kind::Dropped {
            let dropped = Arc::make_mut(&mut self.dropped);
            return dropped.retain(|other| *other != number);
        }
        let list = list_of(hash_of(&before.name), self.names.len());
        if let Some(list) = self.names.get_mut(list) {
            Arc::make_mut(list).retain(|(_, other)| *other != number);
        }
    }

    fn name(&mut self, hash: u32, number: u16) {
        if self.len() > FEW && self.names.len() < LISTS {
            let before = std::mem::take(&mut self.names);
            self.names.resize(LISTS, Arc::default());
            for (hash, number) in before.iter().flat_map(|list| list.iter()) {
                self.name(*hash, *number);
            }
        }
        if self.names.is_empty() {
            self.names.push(Arc::default());
        }
        let list = list_of(hash, self.names.len());
        if let Some(list) = self.names.get_mut(list) {
            Arc::make_mut(list).push((hash, number));
        }
    }
}

fn hash_of(name: &str) -> u32 {
    let hash = Fnv1a::of(name.as_bytes());
    hash as u32 ^ (hash >> 32) as u32
}

fn list_of(hash: u32, lists: usize) -> usize {
    hash as usize % lists.max(1)
}

impl Index<usize> for Definitions {
    type Output = Definition;

    #[inline]
    fn index(&self, number: usize) -> &Definition {
        &self.entries[number].definition
    }
}

impl FromIterator<Definition> for Definitions {
    fn from_iter<I: IntoIterator<Item = Definition>>(definitions: I) -> Self {
        let mut all = Definitions::default();
        for definition in definitions {
            all.set(all.len(), definition);
        }
        all
    }
}

impl<'a> IntoIterator for &'a Definitions {
    type Item = &'a Definition;
    type IntoIter = DefinitionsIter<'a>;

    fn into_iter(self) -> DefinitionsIter<'a> {
        self.iter()
    }
}

impl PartialEq for Definitions {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.first_difference(other).is_none()
    }
}

impl Eq for Definitions {}

/// Definitions, in the order of their numbers.
#[derive(Clone, Debug)]
pub struct DefinitionsIter<'a>(PartsIter<'a, Arc<Entry>>);

impl<'a> Iterator for DefinitionsIter<'a> {
    type Item = &'a Definition;

    #[inline]
    fn next(&mut self) -> Option<&'a Definition> {
        self.0.next().map(|entry| &entry.definition)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for DefinitionsIter<'_> {}
