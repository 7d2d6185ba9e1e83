//! The marks of a transaction: places to which it may go back.
//!
//! Invariant: a number is given once, so a mark that was forgotten is never taken for a later one.

/// The marks of a transaction that are still valid, in their order.
#[derive(Debug)]
pub struct Marks<T> {
    next: u64,
    valid: Vec<(u64, T)>,
}

impl<T> Default for Marks<T> {
    fn default() -> Self {
        Marks {
            next: 0,
            valid: Vec::new(),
        }
    }
}

impl<T: Copy> Marks<T> {
    /// Adds a mark of a place, behind those that are valid. Returns its number.
    pub fn push(&mut self, place: T) -> u64 {
        let number = self.next;
        self.next += 1;
        self.valid.push((number, place));
        number
    }

    /// The position among the valid marks, and the place, of the mark with a number; `None` if it is not valid.
    pub fn find(&self, number: u64) -> Option<(usize, T)> {
        let found = self.valid.binary_search_by_key(&number, |mark| mark.0);
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
}
