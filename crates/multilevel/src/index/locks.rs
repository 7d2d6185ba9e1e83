//! The locks that make the index serializable: on keys, and on the gaps between them.
//!
//! An object is a key *k*, in the index or not; the gap below it, down to the next smaller key, belongs to an existing
//! key. One more object per index is its end, and the gap above the greatest key. Locks belong to transactions and are
//! kept to their end. They are requested while the leaves in question are locked (L0), to the end of the operation. So
//! the next key does not change meanwhile. If one has to be waited for, the operation is executed again afterwards and
//! finds the next key anew. A lock on a former next key is kept and costs others a wait at most.
//!
//! # Modes
//!
//! | mode | means | requested by |
//! | --- | --- | --- |
//! | [`READ`] | the key is there, with this value | a `Get` that finds; an `Insert` that finds |
//! | [`SCAN`] | the same, and nothing is in the gap | a `Scan`, on the keys that it returns |
//! | [`GAP`] | nothing is in the gap | an operation that finds nothing, or ends behind it: on the next key |
//! | [`UPDATE`] | the value changes | a `Put` that finds |
//! | [`EXIST`] | the key is added or removed | a `Put` or `Insert` that adds it, a `Delete` |
//! | [`INSERT`] | keys are added to the gap | an insertion, on the next key |
//! | [`MERGE`] | keys of the gap are removed: it takes over theirs | a deletion, on the next key |
//!
//! # Exclusion
//!
//! | held \ requested | read | scan | gap | update | exist | insert | merge |
//! | --- | --- | --- | --- | --- | --- | --- | --- |
//! | read | | | | × | × | | |
//! | scan | | | | × | × | × | |
//! | gap | | | | | × | × | |
//! | update | × | × | | × | × | | |
//! | exist | × | × | × | × | × | | × |
//! | insert | | | | | | | |
//! | merge | | × | × | | × | × | × |
//!
//! - *Exist* excludes *gap*. If the key is removed (its insertion is undone; it is deleted), the gap locked below it
//!   would be the lower part of the next key's gap. No operation would look for the lock there. It excludes *merge*
//!   for the same reason.
//! - *Exist* admits *insert*, so that several transactions insert side by side, in any order of the
//!   keys. The new key is locked itself. The intention only meets readers of the gap, and if the
//!   next key is removed, it need not meet them any more.
//! - *Merge* excludes *gap* and *insert*: a key deleted in the gap comes back if that is undone,
//!   and a reader or splitter of the gap would not have seen it. It excludes *merge*: the first key
//!   to come back would cut the other's place off from the lock that protects it. It excludes
//!   *exist*: the key that protects the place of a deleted one cannot go.
//! - *Gap* admits *merge*: a reader of the gap has seen nothing of the range below it. A key removed now belongs to
//!   the gap from now on, so its next reader has to wait.
//! - *Insert* excludes nothing once it is granted: the new key is there then, with a lock of its own.
//!
//! In the last two the matrix is not symmetric: finished work is compatible with the other's request, but the same
//! work requested next would not be. So it takes a lock room that asks again when a holder asks for such a mode a
//! second time. Ours does, since these modes do not cover themselves
//! ([`covers`](sardonyx_lock::Compatibility::covers)). One that granted them without a question would let a
//! transaction insert a second key unseen by another that has read the gap meanwhile.
//!
//! # Gaps that split
//!
//! A transaction that inserts into a gap splits it. Its own lock on the gap, if it has one, is on the upper part only.
//! So if it has one ([`Pages::held`]), or cannot know, it locks the lower part as well: *gap* on its new key.
//! Otherwise the part stays open for insertions of others.
//!
//! # Remaining waits
//!
//! Two transactions that delete neighbours wait, and so does one that inserts beside a key that another has deleted:
//! the lock on the next key covers everything deleted below it. Two transactions that both look for a key, do not find
//! it and then insert it are a deadlock: `Insert` and `Put` look themselves.
//!
//! # Undo
//!
//! The inverse, [`Restore`](super::Restore), asks for no locks: the operation's own locks exclude all that could be in
//! its way. It must be executed before the transaction releases its locks, in reverse order of the operations, as the
//! engine does.

use crate::pages::{Area, Pages, Stop};
use sardonyx_base::hash::SecretState;
use sardonyx_lock::{LockSpace, Mode};
use std::hash::{BuildHasher, Hasher};

/// The key is there, with this value.
pub const READ: Mode = Mode(0);
/// [`READ`], and nothing is in the gap below the key.
pub const SCAN: Mode = Mode(1);
/// Nothing is in the gap below the key.
pub const GAP: Mode = Mode(2);
/// The key's value changes.
pub const UPDATE: Mode = Mode(3);
/// The key comes or goes.
pub const EXIST: Mode = Mode(4);
/// Keys come into the gap below the key.
pub const INSERT: Mode = Mode(5);
/// Keys of the gap below the key go.
pub const MERGE: Mode = Mode(6);

/// The compatible modes; rows by held and columns by requested mode.
pub const COMPATIBLE: [[bool; 7]; 7] = {
    const O: bool = true;
    const X: bool = false;
    [
        [O, O, O, X, X, O, O],
        [O, O, O, X, X, X, O],
        [O, O, O, O, X, X, O],
        [X, X, O, X, X, O, O],
        [X, X, X, X, X, O, X],
        [O, O, O, O, O, O, O],
        [O, X, X, O, X, X, X],
    ]
};

/// The keys of all ordered indexes, and the gaps below them.
pub static INDEX_KEYS: LockSpace = LockSpace::new(
    "index keys",
    &[
        &COMPATIBLE[0],
        &COMPATIBLE[1],
        &COMPATIBLE[2],
        &COMPATIBLE[3],
        &COMPATIBLE[4],
        &COMPATIBLE[5],
        &COMPATIBLE[6],
    ],
);

/// The object of a key, or of the index's end. Two with the same number by chance are locked
/// together, which costs a wait at most; such keys cannot be chosen by users.
pub(crate) fn object(area: Area, key: Option<&[u8]>) -> u64 {
    let mut hasher = SecretState::default().build_hasher();
    hasher.write_u64(
        u64::from(area.0) << 32 | key.map_or(u64::from(u32::MAX), |key| key.len() as u64),
    );
    hasher.write(key.unwrap_or_default());
    hasher.finish()
}

/// Locks the lower part of a gap that the transaction splits, if it may have locked the gap.
pub(super) fn inherit(pages: &mut dyn Pages, next: u64, new: u64) -> Result<(), Stop> {
    let protects = |modes: sardonyx_lock::Modes| {
        [SCAN, GAP, MERGE]
            .into_iter()
            .any(|mode| modes.contains(mode))
    };
    if pages.held(&INDEX_KEYS, next).is_none_or(protects) {
        pages.lock(&INDEX_KEYS, new, GAP)?;
    }
    Ok(())
}
