//! Errors that the exploration plants: each leaves out one rule of the entry log, and that must be found. A build
//! without tests plants none.

/// A rule that is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Planted {
    /// A group is acknowledged when it is written, without a sync.
    NotSynced,
    /// The last group and the block behind it are believed without writing them again.
    TailBelieved,
    /// Removals change the index alone.
    RemovalsNotWritten,
    /// Segments are freed before the group is stable that gives them up.
    FreedEarly,
    /// After a write that failed the log goes on.
    GoesOn,
}

#[cfg(test)]
thread_local! {
    pub(super) static PLANTED: std::cell::Cell<Option<Planted>> = const { std::cell::Cell::new(None) };
}

/// True if this error is planted.
#[cfg(test)]
pub(super) fn is(planted: Planted) -> bool {
    PLANTED.get() == Some(planted)
}

/// No error is planted.
#[cfg(not(test))]
pub(super) const fn is(_: Planted) -> bool {
    false
}
