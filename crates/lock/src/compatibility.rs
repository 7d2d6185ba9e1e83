//! Lock modes, and the matrix that says which of them go together.
//!
//! A mode is a number; the matrix of a lock table gives it its meaning. For a mode held by one owner and a mode
//! requested by another, the matrix decides if both may hold. It need not be symmetric: an update lock may be granted
//! beside readers and yet admit no new reader.
//!
//! One owner may hold several modes of one object at once (it read, and now increments), so its modes are a set,
//! [`Modes`].

use thiserror::Error;

/// A lock mode: an index into the matrix.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Mode(pub u8);

/// The shared mode of [`Compatibility::SHARED_EXCLUSIVE`].
pub const SHARED: Mode = Mode(0);

/// The exclusive mode of [`Compatibility::SHARED_EXCLUSIVE`].
pub const EXCLUSIVE: Mode = Mode(1);

/// The most modes of a matrix.
pub const MODES_MAX: usize = 32;

/// A set of modes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Modes(u32);

impl Modes {
    /// No mode.
    pub const NONE: Modes = Modes(0);

    /// True if it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if `mode` is in the set.
    pub fn contains(self, mode: Mode) -> bool {
        self.0 >> mode.0 & 1 == 1
    }

    /// All that are in one of the two.
    pub fn union(self, other: Modes) -> Modes {
        Modes(self.0 | other.0)
    }

    /// The modes in it, ascending.
    pub fn iter(self) -> impl Iterator<Item = Mode> {
        let mut rest = self.0;
        core::iter::from_fn(move || {
            let mode = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            (mode < 32).then_some(Mode(mode as u8))
        })
    }
}

impl From<Mode> for Modes {
    /// # Panics
    /// If the mode's number is [`MODES_MAX`] or more: no matrix has such a mode.
    fn from(mode: Mode) -> Modes {
        assert!(
            usize::from(mode.0) < MODES_MAX,
            "lock mode {} of at most {MODES_MAX}",
            mode.0
        );
        Modes(1 << mode.0)
    }
}

/// A matrix that [`Compatibility::new`] refuses.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum CompatibilityError {
    /// No modes, or too many.
    #[error("a compatibility matrix has 1 to {MODES_MAX} modes, this one {modes}")]
    Size {
        /// The number of rows.
        modes: usize,
    },
    /// A row is shorter or longer than the matrix is high.
    #[error("row {row} of the compatibility matrix has {length} columns instead of {modes}")]
    Row {
        /// The row, from 0.
        row: usize,
        /// The number of its columns.
        length: usize,
        /// The right number of columns: that of the rows.
        modes: usize,
    },
}

/// The matrix: which held modes admit which requests of others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compatibility {
    modes: usize,
    /// By requested mode: the held modes that do not admit it.
    refused_by: [u32; MODES_MAX],
    /// By requested mode: the held modes that make it needless.
    covered_by: [u32; MODES_MAX],
}

impl Compatibility {
    /// [`SHARED`] goes with itself, [`EXCLUSIVE`] with nothing.
    pub const SHARED_EXCLUSIVE: Compatibility = {
        let mut refused_by = [0; MODES_MAX];
        let mut covered_by = [0; MODES_MAX];
        (refused_by[0], refused_by[1]) = (0b10, 0b11);
        (covered_by[0], covered_by[1]) = (0b11, 0b10);
        Compatibility {
            modes: 2,
            refused_by,
            covered_by,
        }
    };

    /// A matrix of rows by held mode and columns by requested mode; `true` is compatible.
    ///
    /// A mode *covers* another if it excludes at least the same. Each mode that it admits, the other admits. Each mode
    /// that admits it, or was admitted beside it, admits the other. Its holder needs no second lock for the other. In
    /// a matrix that is not symmetric a mode may not even cover itself. Another may be admitted beside it that would
    /// not admit it. Then a holder that requests it again, to do the same once more, may have to wait.
    ///
    /// # Errors
    /// If there is no row or more than [`MODES_MAX`], or a row is not as long as there are rows.
    ///
    /// ```
    /// use sardonyx_lock::{Compatibility, Mode};
    ///
    /// // Readers go with readers, incrementers with incrementers.
    /// let counters = Compatibility::new(&[&[true, false], &[false, true]]).unwrap();
    /// assert!(counters.admits(Mode(1).into(), Mode(1).into()));
    /// assert!(!counters.admits(Mode(1).into(), Mode(0).into()));
    /// ```
    pub fn new(rows: &[&[bool]]) -> Result<Compatibility, CompatibilityError> {
        let modes = rows.len();
        if modes == 0 || modes > MODES_MAX {
            return Err(CompatibilityError::Size { modes });
        }
        for (row, columns) in rows.iter().enumerate() {
            if columns.len() != modes {
                let length = columns.len();
                return Err(CompatibilityError::Row { row, length, modes });
            }
        }
        Ok(Self::of_rows(rows))
    }

    /// [`Compatibility::new`] for a `static`, where a bad matrix is an error of the compiler.
    ///
    /// # Panics
    /// If the matrix is not square, or has no mode or more than [`MODES_MAX`].
    pub const fn of_rows(rows: &[&[bool]]) -> Compatibility {
        let modes = rows.len();
        assert!(
            0 < modes && modes <= MODES_MAX,
            "a matrix has 1 to 32 lock modes"
        );
        let mut refused_by = [0; MODES_MAX];
        let mut covered_by = [0; MODES_MAX];
        let mut requested = 0;
        while requested < modes {
            let mut held = 0;
            while held < modes {
                assert!(
                    rows[held].len() == modes,
                    "a row of a matrix has a column for each of its rows"
                );
                if !rows[held][requested] {
                    refused_by[requested] |= 1 << held;
                }
                if covers(rows, held, requested) {
                    covered_by[requested] |= 1 << held;
                }
                held += 1;
            }
            requested += 1;
        }
        Compatibility {
            modes,
            refused_by,
            covered_by,
        }
    }

    /// At least 1 and at most [`MODES_MAX`]; modes are numbered from 0.
    pub fn modes(&self) -> usize {
        self.modes
    }

    /// True if `requested` (every mode in it) may be granted beside another owner's `held`.
    pub fn admits(&self, held: Modes, requested: Modes) -> bool {
        requested
            .iter()
            .all(|mode| held.0 & self.refused_by[usize::from(mode.0)] == 0)
    }

    /// True if the two are not compatible, in either order.
    pub fn conflict(&self, one: Modes, other: Modes) -> bool {
        !self.admits(one, other) || !self.admits(other, one)
    }

    /// True if the owner of `held` has all rights of `requested` already.
    pub fn covers(&self, held: Modes, requested: Mode) -> bool {
        held.0 & self.covered_by[usize::from(requested.0)] != 0
    }
}

/// True if `held` excludes at least everything that `requested` excludes, for any later grants.
const fn covers(rows: &[&[bool]], held: usize, requested: usize) -> bool {
    let mut other = 0;
    while other < rows.len() {
        let both = rows[requested][other] && rows[other][requested];
        if (rows[held][other] && !both) || (rows[other][held] && !rows[other][requested]) {
            return false;
        }
        other += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constant_matrix_is_the_one_that_its_rows_give() {
        let built = Compatibility::new(&[&[true, false], &[false, false]]).unwrap();
        assert_eq!(built, Compatibility::SHARED_EXCLUSIVE);
    }

    #[test]
    fn an_asymmetric_update_mode_covers_shared_and_is_covered_by_exclusive() {
        // Shared, update, exclusive: update comes beside readers but admits none.
        let rows: [&[bool]; 3] = [
            &[true, true, false],
            &[false, false, false],
            &[false, false, false],
        ];
        let matrix = Compatibility::new(&rows).unwrap();
        let (shared, update, exclusive) = (Mode(0), Mode(1), Mode(2));
        assert!(matrix.admits(shared.into(), update.into()));
        assert!(!matrix.admits(update.into(), shared.into()));
        assert!(matrix.conflict(shared.into(), update.into()));
        assert!(matrix.covers(update.into(), shared));
        assert!(matrix.covers(exclusive.into(), update));
        // A reader that reads again beside one that is about to update has to request it.
        assert!(!matrix.covers(shared.into(), shared));
        assert!(!matrix.covers(update.into(), exclusive));
        assert!(!matrix.covers(shared.into(), update));
    }

    #[test]
    fn a_mode_covers_itself_unless_what_it_admits_would_not_admit_it() {
        // A deposit is admitted beside a withdrawal, and admits none.
        let matrix = Compatibility::new(&[&[true, false], &[true, false]]).unwrap();
        let (deposit, withdraw) = (Mode(0), Mode(1));
        assert!(matrix.admits(withdraw.into(), deposit.into()));
        assert!(matrix.covers(deposit.into(), deposit));
        assert!(!matrix.covers(withdraw.into(), withdraw));
        assert!(matrix.covers(withdraw.into(), deposit));
    }

    #[test]
    fn every_mode_of_a_symmetric_matrix_covers_itself() {
        for entries in 0..64_u8 {
            let at = |one: usize, other: usize| {
                let (low, high) = (one.min(other), one.max(other));
                entries >> (low + high * (high + 1) / 2) & 1 == 1
            };
            let rows: [[bool; 3]; 3] =
                core::array::from_fn(|one| core::array::from_fn(|other| at(one, other)));
            let matrix = Compatibility::of_rows(&[&rows[0], &rows[1], &rows[2]]);
            for mode in (0..3).map(Mode) {
                assert!(matrix.covers(mode.into(), mode), "{rows:?}");
            }
        }
    }

    #[test]
    fn bad_matrices_are_refused_with_row_and_size() {
        assert_eq!(
            Compatibility::new(&[]),
            Err(CompatibilityError::Size { modes: 0 })
        );
        let row = [true; 33];
        let rows = [&row[..]; 33];
        assert_eq!(
            Compatibility::new(&rows),
            Err(CompatibilityError::Size { modes: 33 })
        );
        let ragged: [&[bool]; 2] = [&[true, true], &[true]];
        let error = Compatibility::new(&ragged).unwrap_err();
        let expected = CompatibilityError::Row {
            row: 1,
            length: 1,
            modes: 2,
        };
        assert_eq!(error, expected);
    }
}
