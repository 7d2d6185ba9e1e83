//! A full leaf shares its entries with a neighbour that has room, instead of being split. So the leaves of an index whose
//! keys come in random order are four fifths full, instead of seven tenths.
//!
//! The heads of both leaves stay as they are. So entries are shared only if each of the two skips the same bytes, which
//! all keys of both have in common. Otherwise the full leaf is split: other heads would need the keys of all rows.
//!
//! Source: Bayer and McCreight, "Organization and Maintenance of Large Ordered Indices" (1972), "overflow".

use super::node::{Entry, LEAF_ENTRIES, Leaf};
use super::removal::neighbours;
use super::search::{live_inner, live_leaf};
use super::{Keys, Path};
use crate::index_store::IndexStore;
use sardonyx_base::resident::Resident;

/// The most entries of a neighbour that takes some. With more room left free, leaves are less full; with less, each
/// insertion into full leaves moves entries.
const NEIGHBOUR_MAX: usize = LEAF_ENTRIES - 8;

/// Inserts an entry at the end of the path, into the full leaf there or the neighbour with which it shares its entries. Returns
/// false if there is no such neighbour; then nothing has changed. The head of `entry` is that of `full`, whose content the
/// store has, apart from its heads.
pub(super) fn share(
    store: &mut IndexStore,
    keys: &impl Keys,
    path: &Path,
    full: &Leaf,
    entry: Entry,
) -> bool {
    let Some(level) = path.levels.checked_sub(1) else {
        return false;
    };
    let (parent, position) = path.steps[level];
    for (left, [(at, _), (behind, _)]) in neighbours(store, path, level) {
        let is_left = left == position;
        let neighbour = *live_leaf(store.bytes(), if is_left { behind } else { at });
        if neighbour.count() > NEIGHBOUR_MAX {
            continue;
        }
        let (mut one, mut other) = match is_left {
            true => (*full, neighbour),
            false => (neighbour, *full),
        };
        if !one.shares_heads_with(keys, &other) {
            continue;
        }
        // The middle of all entries and the new one.
        let place = if is_left {
            path.at
        } else {
            one.count() + path.at
        };
        let middle = (one.count() + other.count()).div_ceil(2);
        let goes_left = place < middle;
        one.balance(&mut other, middle - usize::from(goes_left));
        match goes_left {
            true => one.insert(place, entry),
            false => other.insert(place - one.count(), entry),
        };
        one.fit(keys);
        other.fit(keys);
        store.write(at, one.as_bytes());
        store.write(behind, other.as_bytes());
        let mut inner = *live_inner(store.bytes(), parent);
        inner.set_first(left + 1, other.entry(0));
        inner.fit_one(keys, left + 1);
        store.write(parent, inner.as_bytes());
        return true;
    }
    false
}
