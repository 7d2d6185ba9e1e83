//! Lock spaces: kinds of lockable objects, each with lock modes and a matrix of its own.
//!
//! A space is a `static` of the program that defines it: accounts, counters, the keys of indexes. An
//! object is a number in its space, such as a hash of a longer name. A collision costs a needless
//! wait, never a wrong grant, as long as the matrix is the same. Their names distinguish spaces.

use crate::compatibility::Compatibility;
use sardonyx_base::hash::Fnv1a;

/// A kind of objects that are locked alike.
///
/// ```
/// use sardonyx_lock::{LockSpace, Mode};
///
/// const READ: Mode = Mode(0);
/// const ADD: Mode = Mode(1);
/// // Rows: held; columns: requested. Adding goes with adding; reading only with reading.
/// static COUNTERS: LockSpace = LockSpace::new("counters", &[&[true, false], &[false, true]]);
/// assert!(COUNTERS.matrix().admits(ADD.into(), ADD.into()));
/// assert!(!COUNTERS.matrix().admits(ADD.into(), READ.into()));
/// ```
#[derive(Clone, Debug)]
pub struct LockSpace {
    name: &'static str,
    number: u64,
    matrix: Compatibility,
}

/// The pages of a database, locked shared or exclusively.
pub static PAGES: LockSpace = LockSpace {
    name: "pages",
    number: 0,
    matrix: Compatibility::SHARED_EXCLUSIVE,
};

impl LockSpace {
    /// A space whose matrix has rows by held and columns by requested mode; `true` is compatible.
    /// As the value of a `static` it is checked when the program is compiled.
    ///
    /// # Panics
    /// If the matrix is not square, or has no mode or more than
    /// [`MODES_MAX`](crate::compatibility::MODES_MAX).
    pub const fn new(name: &'static str, rows: &[&[bool]]) -> LockSpace {
        LockSpace {
            name,
            number: number_of(name),
            matrix: Compatibility::of_rows(rows),
        }
    }

    /// As given to [`LockSpace::new`]. Spaces of one name are one space to [`crate::Locks`].
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// A number made of the name; 0 only for [`PAGES`].
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The compatibility of its modes.
    pub fn matrix(&self) -> &Compatibility {
        &self.matrix
    }
}

/// FNV-1a of 64 bits; never 0.
const fn number_of(name: &str) -> u64 {
    match Fnv1a::of(name.as_bytes()) {
        0 => 1,
        number => number,
    }
}

/// One lockable object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Resource {
    /// Its space's number.
    pub space: u64,
    /// Its number in the space.
    pub object: u64,
}
