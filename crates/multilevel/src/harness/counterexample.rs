//! The harness's findings, for people.

use std::fmt;

/// The checked property.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Check {
    /// An operation, executed again in the same state, does the same.
    Repeatable,
    /// A written operation is read as the same, and every inverse is registered.
    WrittenDown,
    /// An operation and then its inverse give the state before.
    Undo,
    /// The inverse needs no lock that the operation did not take.
    LocksOfInverse,
    /// Operations that the locks let run beside each other could as well have run the other way
    /// round.
    Order,
    /// Undoing the earlier of them leaves the result of the later one alone.
    UndoBehindAnother,
    /// Transactions that the locks let run beside each other could as well have run one after
    /// another, those that aborted not at all.
    Serializable,
    /// Nothing panics.
    Panic,
}

/// A check that failed, with the smallest example that was found. Its `Display` has the whole story, in several lines.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct Counterexample {
    /// The checked property.
    pub check: Check,
    /// The fault, in one sentence.
    pub what: String,
    /// Its history: labels, and a text for each.
    pub story: Vec<(String, String)>,
    /// The seed that finds it again.
    pub seed: u64,
}

impl Counterexample {
    pub(crate) fn new(check: Check, what: impl Into<String>) -> Self {
        Counterexample {
            check,
            what: what.into(),
            story: Vec::new(),
            seed: 0,
        }
    }

    /// Adds to the story.
    pub(crate) fn tell(mut self, label: impl Into<String>, what: impl fmt::Display) -> Self {
        self.story.push((label.into(), what.to_string()));
        self
    }

    /// Begins the story with this.
    pub(crate) fn preceded_by(mut self, label: impl Into<String>, what: impl fmt::Display) -> Self {
        self.story.insert(0, (label.into(), what.to_string()));
        self
    }
}

impl fmt::Display for Counterexample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.what)?;
        let width = self
            .story
            .iter()
            .map(|(label, _)| label.chars().count())
            .max();
        let width = width.unwrap_or(0);
        for (label, what) in &self.story {
            let mut label = label.as_str();
            for line in what.lines() {
                writeln!(f, "  {label:<width$}  {line}")?;
                label = "";
            }
        }
        write!(f, "(found with seed {})", self.seed)
    }
}

/// The number of checks. A harness whose operations never met the rule proves nothing, so look at it: were there pairs
/// that the locks admitted, were there inverses?
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Coverage {
    /// Operations executed alone.
    pub operations: u64,
    /// The failed ones.
    pub failed: u64,
    /// The ones undone by an inverse.
    pub undone: u64,
    /// Pairs of operations, in each order.
    pub pairs: u64,
    /// The ones that the locks admitted, and so were compared.
    pub admitted: u64,
    /// Transactions of histories that committed.
    pub committed: u64,
    /// Transactions of histories that aborted.
    pub aborted: u64,
    /// Operations in histories that had to wait, and were left out.
    pub waited: u64,
}
