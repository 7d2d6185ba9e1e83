//! The marks of a transaction: places to which it may go back, by their savepoints.
//!
//! Invariant: a savepoint is given once in the process, so one that was forgotten, or is another transaction's, is never taken
//! for a later one.

use crate::savepoint::Savepoint;

/// The marks of a transaction that are still valid, in their order.
#[derive(Debug)]
pub struct Marks<T> {
    valid: Vec<(Savepoint, T)>,
}

impl<T> Default for Marks<T> {
    fn default() -> Self {
        Marks { valid: Vec::new() }
    }
}

impl<T: Copy> Marks<T> {
    /// Adds a mark of a place, behind those that are valid.
    #[inline]
    pub fn push(&mut self, place: T) -> Savepoint {
        let savepoint = Savepoint::next();
        self.valid.push((savepoint, place));
        savepoint
    }

    /// The position among the valid marks, and the place, of a savepoint; `None` if it is not valid.
    #[inline]
    pub fn find(&self, savepoint: Savepoint) -> Option<(usize, T)> {
        let number = |mark: &(Savepoint, T)| mark.0.number();
        let found = self.valid.binary_search_by_key(&savepoint.number(), number);
        let position = found.ok()?;
        Some((position, self.valid[position].1))
    }

    /// Forgets all marks but the first ones.
    pub fn truncate(&mut self, kept: usize) {
        self.valid.truncate(kept);
    }

    /// The number of valid marks.
    pub fn len(&self) -> usize {
        self.valid.len()
    }

    /// True if no mark is valid.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.valid.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;
    use crate::savepoint::Savepoint;

    #[test]
    fn a_forgotten_mark_is_never_a_later_one() {
        let mut marks = Marks::default();
        let (first, second) = (marks.push(10), marks.push(20));
        marks.truncate(1);
        let third = marks.push(30);
        assert_eq!(marks.find(first), Some((0, 10)));
        assert_eq!(marks.find(second), None);
        assert_eq!(marks.find(third), Some((1, 30)));
        marks.truncate(0);
        assert_eq!(marks.find(third), None);
        assert!(marks.is_empty());
    }

    #[test]
    fn a_mark_of_another_transaction_is_never_an_own_one() {
        let (mut one, mut other) = (Marks::default(), Marks::default());
        let (of_one, of_other) = (one.push(1), other.push(2));
        assert_eq!((one.find(of_other), other.find(of_one)), (None, None));
        assert_eq!(one.find(Savepoint::NONE), None);
    }
}
