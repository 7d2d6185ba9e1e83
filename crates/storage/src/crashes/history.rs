//! The history of a database through its lives, and the judge: the submitted changes, in order, and the number of those
//! that are acknowledged. It judges if a found content is that of a prefix which has these.

use std::fmt::Debug;
use thiserror::Error;

/// The most characters of a content in a verdict: contents are pages.
const FOUND_MAX: usize = 2000;

/// A found content that no crash may leave.
#[derive(Clone, PartialEq, Eq, Error, Debug)]
pub enum Lost {
    /// Acknowledged changes are missing.
    #[error("only {there} of {acknowledged} acknowledged changes are there")]
    Acknowledged {
        /// The changes that are there.
        there: usize,
        /// The changes that were acknowledged.
        acknowledged: usize,
    },
    /// A change is there in part, twice, out of order, or was never submitted.
    #[error(
        "the content is that of no prefix of the {submitted} submitted changes, {acknowledged} of them acknowledged: {found}"
    )]
    NoPrefix {
        /// The changes that were submitted.
        submitted: usize,
        /// The changes that were acknowledged.
        acknowledged: usize,
        /// The content.
        found: String,
    },
}

/// The changes that were submitted to a database, in their order.
#[derive(Clone, Debug)]
pub struct History<C> {
    changes: Vec<C>,
    acknowledged: usize,
}

impl<C> Default for History<C> {
    fn default() -> Self {
        History {
            changes: Vec::new(),
            acknowledged: 0,
        }
    }
}

impl<C> History<C> {
    /// Notes a change that is about to be tried. Returns the number of changes with it.
    pub fn submit(&mut self, change: C) -> usize {
        self.changes.push(change);
        self.changes.len()
    }

    /// The last change was refused before it ran.
    pub fn withdraw(&mut self) {
        self.changes.pop();
    }

    /// Everything submitted is acknowledged.
    pub fn acknowledge(&mut self) {
        self.acknowledged = self.changes.len();
    }

    /// The first so many changes are acknowledged.
    ///
    /// # Panics
    /// So many were not submitted.
    pub fn acknowledge_first(&mut self, count: usize) {
        assert!(count <= self.changes.len(), "{count} were not submitted");
        self.acknowledged = self.acknowledged.max(count);
    }

    /// The submitted changes.
    pub fn changes(&self) -> &[C] {
        &self.changes
    }

    /// The number of acknowledged changes.
    pub fn acknowledged(&self) -> usize {
        self.acknowledged
    }

    /// The number of changes that a found content has, by the content that the first so many of them make.
    ///
    /// # Errors
    /// An acknowledged change is missing, or the content is that of no prefix.
    pub fn find<F: PartialEq + Debug>(
        &self,
        found: &F,
        expected: impl Fn(&[C]) -> F,
    ) -> Result<usize, Lost> {
        let (acknowledged, submitted) = (self.acknowledged, self.changes.len());
        let is = |count: &usize| expected(&self.changes[..*count]) == *found;
        if let Some(there) = (acknowledged..=submitted).find(is) {
            return Ok(there);
        }
        Err(match (0..acknowledged).rev().find(is) {
            Some(there) => Lost::Acknowledged {
                there,
                acknowledged,
            },
            None => Lost::NoPrefix {
                submitted,
                acknowledged,
                found: format!("{found:?}").chars().take(FOUND_MAX).collect(),
            },
        })
    }

    /// The first so many changes stay, and are acknowledged from now on; the others are lost for good.
    pub fn keep(&mut self, count: usize) {
        self.changes.truncate(count);
        self.acknowledged = count;
    }

    /// Judges a content that was looked at: nothing is more durable by that.
    ///
    /// # Panics
    /// If [`History::find`] returns an error.
    pub fn judge<F: PartialEq + Debug>(&self, found: &F, expected: impl Fn(&[C]) -> F) -> usize {
        let there = self.find(found, expected);
        there.unwrap_or_else(|lost| panic!("{lost}"))
    }

    /// Judges a content that was recovered, on which the next changes build.
    ///
    /// # Panics
    /// As [`History::judge`].
    pub fn settle<F: PartialEq + Debug>(&mut self, found: &F, expected: impl Fn(&[C]) -> F) {
        let there = self.judge(found, expected);
        self.keep(there);
    }
}

#[cfg(test)]
mod tests {
    use super::{History, Lost};

    /// Three changes, of which two are acknowledged.
    fn history() -> History<u32> {
        let mut history = History::default();
        history.submit(1);
        history.submit(2);
        history.acknowledge();
        assert_eq!(history.submit(3), 3);
        history
    }

    fn find(found: &[u32]) -> Result<usize, Lost> {
        history().find(&found.to_vec(), <[u32]>::to_vec)
    }

    #[test]
    fn acknowledged_changes_are_there_and_others_whole_or_absent() {
        assert_eq!(find(&[1, 2]), Ok(2));
        assert_eq!(find(&[1, 2, 3]), Ok(3));
        assert_eq!(
            find(&[1]),
            Err(Lost::Acknowledged {
                there: 1,
                acknowledged: 2
            })
        );
        for wrong in [&[1, 2, 2][..], &[2, 1], &[1, 2, 3, 4], &[1, 3]] {
            let lost = find(wrong).unwrap_err();
            assert!(matches!(lost, Lost::NoPrefix { .. }), "{wrong:?}: {lost}");
        }
    }

    #[test]
    fn what_is_there_is_acknowledged_from_then_on_and_the_rest_is_lost_for_good() {
        let mut history = history();
        history.judge(&vec![1, 2], <[u32]>::to_vec);
        assert_eq!(history.changes().len(), 3, "it was only looked at");
        history.settle(&vec![1, 2], <[u32]>::to_vec);
        history.submit(4);
        assert_eq!(history.changes(), [1, 2, 4]);
        history.acknowledge_first(3);
        history.acknowledge_first(1);
        assert_eq!(history.acknowledged(), 3);
        history.submit(5);
        history.withdraw();
        assert_eq!(history.changes().len(), 3);
    }
}
