//! The entries of a tree: operations on one key, and on a range of keys.
//!
//! Before anything is written it is known that the operation succeeds: a duplicate has no effect.

use super::super::NodeError;
use super::long;
use super::view::View;
use sardonyx_storage::tree::{self, Intent, Place, find, find_end};
use std::cmp::Ordering;
use std::ops::Bound;

/// A key and its value.
pub(super) type Entry = (Vec<u8>, Vec<u8>);

/// The place of a key, or the place where it would be.
fn place(view: &View<'_>, tree: u32, key: &[u8], intent: Intent) -> Result<Place, NodeError> {
    let place = find(view, tree, key, intent)?;
    place.ok_or(NodeError::Damaged {
        what: "a tree without a root",
    })
}

/// The entry in the leaf at a place that has the key.
fn entry_at(view: &View<'_>, place: &Place) -> Result<Vec<u8>, NodeError> {
    let entry = place.entry(view)?;
    Ok(entry.map(|(_, value)| value.to_vec()).unwrap_or_default())
}

/// The value of a key. `intent`: whether it will be changed.
pub(super) fn get(
    view: &View<'_>,
    tree: u32,
    key: &[u8],
    intent: Intent,
) -> Result<Option<Vec<u8>>, NodeError> {
    let place = place(view, tree, key, intent)?;
    if !place.found {
        return Ok(None);
    }
    match place.entry(view)? {
        Some((_, entry)) => long::read(view, place.leaf, entry).map(Some),
        None => Ok(None),
    }
}

/// Adds an entry. Returns false, and nothing changes, if its key is there.
pub(super) fn insert(
    view: &mut View<'_>,
    tree: u32,
    key: &[u8],
    value: &[u8],
) -> Result<bool, NodeError> {
    let place = place(view, tree, key, Intent::Write)?;
    if place.found {
        return Ok(false);
    }
    let entry = long::store(view, value)?;
    tree::insert(view, tree, &place, key, &entry)?;
    Ok(true)
}

/// Sets the value of a key. Returns whether it was there.
pub(super) fn put(
    view: &mut View<'_>,
    tree: u32,
    key: &[u8],
    value: &[u8],
) -> Result<bool, NodeError> {
    let place = place(view, tree, key, Intent::Write)?;
    if !place.found {
        let entry = long::store(view, value)?;
        tree::insert(view, tree, &place, key, &entry)?;
        return Ok(false);
    }
    let before = entry_at(view, &place)?;
    long::free(view, place.leaf, &before)?;
    let entry = long::store(view, value)?;
    tree::replace(view, tree, &place, key, &entry)?;
    Ok(true)
}

/// Takes an entry out. Returns its value, if it was there.
pub(super) fn remove(
    view: &mut View<'_>,
    tree: u32,
    key: &[u8],
) -> Result<Option<Vec<u8>>, NodeError> {
    let place = place(view, tree, key, Intent::Write)?;
    if !place.found {
        return Ok(None);
    }
    let entry = entry_at(view, &place)?;
    let value = long::read(view, place.leaf, &entry)?;
    long::free(view, place.leaf, &entry)?;
    tree::remove(view, tree, &place)?;
    Ok(Some(value))
}

/// A range of keys, to be read in pieces.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl Keys {
    fn is_empty(&self) -> bool {
        match (&self.lower, &self.upper) {
            (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
            (Bound::Included(lower), Bound::Included(upper)) => lower > upper,
            (
                Bound::Included(lower) | Bound::Excluded(lower),
                Bound::Included(upper) | Bound::Excluded(upper),
            ) => lower >= upper,
        }
    }

    fn reaches_down_to(&self, key: &[u8]) -> bool {
        match &self.lower {
            Bound::Included(lower) => &lower[..] <= key,
            Bound::Excluded(lower) => &lower[..] < key,
            Bound::Unbounded => true,
        }
    }

    fn reaches_up_to(&self, key: &[u8]) -> bool {
        match &self.upper {
            Bound::Included(upper) => key <= &upper[..],
            Bound::Excluded(upper) => key < &upper[..],
            Bound::Unbounded => true,
        }
    }

    /// The first place of the range, or, descending, the one behind its last.
    fn start(&self, view: &View<'_>, tree: u32, descends: bool) -> Result<Place, NodeError> {
        let bound = if descends { &self.upper } else { &self.lower };
        let (key, behind) = match bound {
            Bound::Included(key) => (&key[..], descends),
            Bound::Excluded(key) => (&key[..], !descends),
            Bound::Unbounded if descends => {
                let end = find_end(view, tree)?;
                return end.ok_or(NodeError::Damaged {
                    what: "a tree without a root",
                });
            }
            Bound::Unbounded => (&[][..], false),
        };
        let mut place = place(view, tree, key, Intent::Read)?;
        if place.found && behind {
            place.slot += 1;
        }
        Ok(place)
    }
}

/// At most so many entries of a range, ascending or descending. If fewer are returned, these are all.
pub(super) fn scan(
    view: &View<'_>,
    tree: u32,
    keys: &Keys,
    limit: usize,
    descends: bool,
) -> Result<Vec<Entry>, NodeError> {
    let mut entries: Vec<Entry> = Vec::new();
    if keys.is_empty() || limit == 0 {
        return Ok(entries);
    }
    let mut ahead = keys.start(view, tree, descends)?;
    loop {
        let settled = match descends {
            false => ahead.settled(view, tree)?,
            true => ahead.before(view, tree)?,
        };
        let Some(place) = settled else {
            return Ok(entries);
        };
        let Some((key, entry)) = place.entry(view)? else {
            return Ok(entries);
        };
        let reaches = match descends {
            false => keys.reaches_up_to(key),
            true => keys.reaches_down_to(key),
        };
        if !reaches {
            return Ok(entries);
        }
        let order = if descends {
            Ordering::Greater
        } else {
            Ordering::Less
        };
        if let Some((last, _)) = entries.last()
            && last[..].cmp(key) != order
        {
            // In a damaged tree one could go round for ever.
            return Err(tree::damaged(place.leaf, 0, "keys that are not in order").into());
        }
        entries.push((key.to_vec(), long::read(view, place.leaf, entry)?));
        if entries.len() == limit {
            return Ok(entries);
        }
        ahead = place;
        ahead.slot += usize::from(!descends);
    }
}

/// The first keys of a range, at most so many.
pub(super) fn keys(
    view: &View<'_>,
    tree: u32,
    keys: &Keys,
    limit: usize,
) -> Result<Vec<Vec<u8>>, NodeError> {
    let mut found = Vec::new();
    walk(view, tree, keys, limit, |key| found.push(key.to_vec()))?;
    Ok(found)
}

/// The first key, or the first behind one. Its leaf is locked for writing.
pub(super) fn key_to_change(
    view: &View<'_>,
    tree: u32,
    behind: Option<&[u8]>,
) -> Result<Option<Vec<u8>>, NodeError> {
    let mut place = place(view, tree, behind.unwrap_or_default(), Intent::Write)?;
    if place.found && behind.is_some() {
        place.slot += 1;
    }
    let Some(place) = place.settled_to(view, tree, Intent::Write)? else {
        return Ok(None);
    };
    Ok(place.entry(view)?.map(|(key, _)| key.to_vec()))
}

/// The number of entries of a range from its first on, at most so many; and the last one's key.
pub(super) fn count(
    view: &View<'_>,
    tree: u32,
    keys: &Keys,
    limit: usize,
) -> Result<(usize, Option<Vec<u8>>), NodeError> {
    let (mut count, mut last) = (0, None);
    walk(view, tree, keys, limit, |key| {
        count += 1;
        if count == limit {
            last = Some(key.to_vec());
        }
    })?;
    Ok((count, last))
}

/// Calls `each` with the keys of a range, from its first on, at most so many.
fn walk(
    view: &View<'_>,
    tree: u32,
    keys: &Keys,
    limit: usize,
    mut each: impl FnMut(&[u8]),
) -> Result<(), NodeError> {
    if keys.is_empty() {
        return Ok(());
    }
    let mut ahead = keys.start(view, tree, false)?;
    for _ in 0..limit {
        let Some(place) = ahead.settled(view, tree)? else {
            break;
        };
        let Some((key, _)) = place.entry(view)? else {
            break;
        };
        if !keys.reaches_up_to(key) {
            break;
        }
        each(key);
        ahead = place;
        ahead.slot += 1;
    }
    Ok(())
}
