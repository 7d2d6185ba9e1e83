//! The search for a deadlock over all nodes: edge chasing by one travelling message.
//!
//! A [`Probe`] is a depth-first walk over who waits for whom, begun at a transaction that has waited
//! for long. As in Chandy, Misra and Haas's algorithm it goes from node to node along the waiting. But
//! it carries its own state (the path, the visited transactions, the rest), so no node keeps any. A
//! step to a place on the same node costs no message, and a search never has more than one message.
//!
//! A transaction waits for one page at a time. So transactions that only wait in the same queue before
//! it need no visit: a cycle through one of them leaves the queue by a holder for which both wait. The
//! walk goes from holder to holder, and a long queue costs no more than a short one.
//!
//! When the walk comes upon a transaction on its own path it has found a cycle. The youngest of its
//! members is the victim: every search that finds the cycle chooses the same. The walk sees the edges
//! at different times, but under strict two-phase locking an edge once seen lasts until one of its ends
//! is aborted. So a cycle found is real unless a member was aborted since. The victim's request is
//! taken back only if it still waits.

use super::{NodeId, PageId, TransactionId};
use smallvec::SmallVec;

/// Something to look at on the way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    /// The locks that this transaction waits for, known at its node.
    Transaction(TransactionId),
    /// The transactions that this one waits for at this page, known where the page's lock is.
    Page(PageId, TransactionId),
    /// The readers of this page under this node's authorisation, known there.
    Readers(PageId, NodeId),
}

/// A search for a deadlock.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Probe {
    /// Each waits, at its page, for the next.
    path: SmallVec<[(TransactionId, PageId); 4]>,
    visited: SmallVec<[TransactionId; 4]>,
    /// With the length of the path that leads there; the last is next.
    ahead: SmallVec<[(u32, Step); 4]>,
}

/// The request to take back so that a deadlock is resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cycle {
    pub victim: TransactionId,
    pub page: PageId,
}

impl Probe {
    /// A search that begins at `suspect`.
    pub(crate) fn new(suspect: TransactionId) -> Self {
        Probe {
            path: SmallVec::new(),
            visited: SmallVec::new(),
            ahead: SmallVec::from_iter([(0, Step::Transaction(suspect))]),
        }
    }

    /// The next step; `None` if no deadlock is to be found.
    pub(crate) fn next(&self) -> Option<Step> {
        self.ahead.last().map(|&(_, step)| step)
    }

    /// Does the step [`Step::Transaction`]: it awaits these pages.
    pub(crate) fn waits(&mut self, awaited: impl IntoIterator<Item = PageId>) {
        let Some((depth, Step::Transaction(transaction))) = self.ahead.pop() else {
            return;
        };
        self.path.truncate(depth as usize);
        if self.visited.contains(&transaction) {
            return;
        }
        self.visited.push(transaction);
        for page in awaited {
            self.ahead.push((depth, Step::Page(page, transaction)));
        }
    }

    /// Does the step [`Step::Page`] or [`Step::Readers`]: these are waited for.
    pub(crate) fn blocked(&mut self, blockers: impl IntoIterator<Item = Step>) -> Option<Cycle> {
        let (depth, step) = self.ahead.pop()?;
        self.path.truncate(depth as usize);
        let mut below = depth;
        if let Step::Page(page, waiter) = step {
            self.path.push((waiter, page));
            below += 1;
        }
        for blocker in blockers {
            if let Step::Transaction(transaction) = blocker {
                // A reader that wants to write, and is on its way from its node's authorisation
                // into the lock table, does not wait for itself.
                if self
                    .path
                    .last()
                    .is_some_and(|&(waiter, _)| waiter == transaction)
                {
                    continue;
                }
                let place = self
                    .path
                    .iter()
                    .position(|&(waiter, _)| waiter == transaction);
                if let Some(place) = place {
                    return self.youngest_from(place);
                }
                if self.visited.contains(&transaction) {
                    continue;
                }
            }
            self.ahead.push((below, blocker));
        }
        None
    }

    fn youngest_from(&self, place: usize) -> Option<Cycle> {
        let youngest = self.path[place..]
            .iter()
            .max_by_key(|(waiter, _)| waiter.age());
        youngest.map(|&(victim, page)| Cycle { victim, page })
    }
}

/// A probe as words, for a message in shared memory: three lengths in one word, then the path, what was
/// visited, and what lies ahead.
impl Probe {
    pub(crate) fn write_words(&self, word: impl Fn(TransactionId) -> u64, words: &mut Vec<u64>) {
        let lengths = [self.path.len(), self.visited.len(), self.ahead.len()];
        words.push(
            lengths
                .iter()
                .fold(0, |all, length| all << 20 | *length as u64),
        );
        for &(transaction, page) in &self.path {
            words.extend([word(transaction), page.0]);
        }
        words.extend(self.visited.iter().map(|&transaction| word(transaction)));
        for &(depth, step) in &self.ahead {
            let (kind, page, of) = match step {
                Step::Transaction(transaction) => (0, 0, word(transaction)),
                Step::Page(page, transaction) => (1, page.0, word(transaction)),
                Step::Readers(page, node) => (2, page.0, u64::from(node.0)),
            };
            words.extend([u64::from(depth) << 2 | kind, page, of]);
        }
    }

    /// `None`: the words are no probe.
    pub(crate) fn read_words(
        transaction: impl Fn(u64) -> TransactionId,
        words: &[u64],
    ) -> Option<Probe> {
        let (&lengths, words) = words.split_first()?;
        let length = |shift: u32| (lengths >> shift & 0xf_ffff) as usize;
        let (path, words) = words.split_at_checked(2 * length(40))?;
        let (visited, ahead) = words.split_at_checked(length(20))?;
        if ahead.len() != 3 * length(0) {
            return None;
        }
        let step = |[first, page, of]: &[u64; 3]| {
            let step = match first & 3 {
                0 => Step::Transaction(transaction(*of)),
                1 => Step::Page(PageId(*page), transaction(*of)),
                _ => Step::Readers(PageId(*page), NodeId(*of as u16)),
            };
            ((first >> 2) as u32, step)
        };
        let pair = |[of, page]: &[u64; 2]| (transaction(*of), PageId(*page));
        Some(Probe {
            path: path.as_chunks::<2>().0.iter().map(pair).collect(),
            visited: visited.iter().map(|&word| transaction(word)).collect(),
            ahead: ahead.as_chunks::<3>().0.iter().map(step).collect(),
        })
    }
}
