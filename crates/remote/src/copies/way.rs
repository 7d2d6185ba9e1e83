//! Copying entries and objects from a copy of the set to one that joins ([`joining`](super::joining)), and comparing them.

use super::chain::{Has, Item, put};
use super::life::Life;
use super::planted::{self, Planted};
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects};
use sardonyx_storage::remote_log::store::{Listed, RemoteStore, StoreError};
use std::collections::HashSet;
use std::sync::Arc;

/// So many entries are read with one request.
const READ_AT_ONCE: usize = 64;

/// Objects up to this length are compared byte by byte.
const COMPARED_BYTES_MAX: u64 = 64 << 10;

/// The copy that is filled, and the one that it is filled from.
pub(super) struct Way {
    pub source: Arc<Life>,
    pub target: Arc<Life>,
}

impl Way {
    /// Copies these entries, and moves `next` behind each, until it `is_over`. Those up to `alike` of the same length are
    /// taken for the same. Returns the number under which the target has another one.
    pub fn entries(
        &self,
        listed: &[Listed],
        (next, alike): (&mut u64, u64),
        is_over: impl Fn() -> bool,
    ) -> Result<Option<u64>, StoreError> {
        let numbers = self.unlike(listed, alike)?;
        let mut numbers = &numbers[..];
        while !numbers.is_empty() {
            let at_once = numbers.len().min(READ_AT_ONCE);
            // It may end before the last.
            let found = self.source.read_several(&numbers[..at_once])?;
            let (read, rest) = numbers.split_at(found.len().min(at_once));
            if read.is_empty() {
                return Ok(None);
            }
            for (number, bytes) in read.iter().zip(found) {
                if is_over() {
                    return Ok(None);
                }
                // None: it was deleted meanwhile.
                if let Some(bytes) = bytes
                    && put(&*self.target, Item::Entry(*number), &bytes)? != Has::These
                    && !is_planted()
                {
                    return Ok(Some(*number));
                }
                *next = number + 1;
            }
            numbers = rest;
        }
        if let Some(last) = listed.last() {
            *next = (*next).max(last.number + 1);
        }
        Ok(None)
    }

    /// The numbers of these entries, but for those up to `alike` that the target has, too, of the same length.
    fn unlike(&self, listed: &[Listed], alike: u64) -> Result<Vec<u64>, StoreError> {
        let mut there: Option<Vec<Listed>> = None;
        let mut unlike = Vec::new();
        for entry in listed {
            if entry.number <= alike {
                let is_behind = |there: &Vec<Listed>| {
                    // An empty list has all that there is.
                    there.last().is_some_and(|last| last.number < entry.number)
                };
                if there.as_ref().is_none_or(is_behind) {
                    there = Some(self.target.list(entry.number)?);
                }
                let there = there.as_deref().unwrap_or_default();
                let at = there.binary_search_by_key(&entry.number, |has| has.number);
                if at.is_ok_and(|at| there.get(at) == Some(entry)) {
                    continue;
                }
            }
            unlike.push(entry.number);
        }
        Ok(unlike)
    }

    /// Copies all objects, and deletes those that the target had before it joined and the source has not any more.
    /// Later objects are not deleted: the list of the source may be older. False: the target has another object of a
    /// name.
    pub fn objects(&self, had: &[String]) -> Result<bool, StoreError> {
        let is_late = planted::is(Planted::JoiningObjectsDeleted);
        let mut wanted = self.source.list_all_objects()?;
        let there = self.target.list_all_objects()?;
        let had = match is_late {
            true => names_of(&there),
            false => had.to_vec(),
        };
        let names: HashSet<&str> = wanted.iter().map(|object| object.name.as_str()).collect();
        let left = had
            .into_iter()
            .filter(|name| !names.contains(name.as_str()));
        let left: Vec<String> = left.collect();
        if !left.is_empty() {
            self.target.remove_objects(&left)?;
            // One of them may be created again beside that: then the source has it first.
            if !is_late {
                wanted = self.source.list_all_objects()?;
            }
        }
        for object in &wanted {
            let is_there = there.contains(object) && !left.contains(&object.name);
            if object.bytes > COMPARED_BYTES_MAX && is_there {
                continue;
            }
            let Some(bytes) = self.source.read_object(&object.name)? else {
                continue;
            };
            let item = Item::Object(&object.name);
            if put(&*self.target, item, &bytes)? != Has::These && !is_planted() {
                return Ok(false);
            }
            // Deleted while it was copied: it would come back.
            if self.source.read_object(&object.name)?.is_none() {
                self.target
                    .remove_objects(std::slice::from_ref(&object.name))?;
            }
        }
        Ok(true)
    }
}

pub(super) fn names_of(objects: &[ListedObject]) -> Vec<String> {
    objects.iter().map(|object| object.name.clone()).collect()
}

pub(super) fn is_planted() -> bool {
    planted::is(Planted::JoinedWithoutComparing)
}
