//! Errors that the exploration plants: each leaves out one rule of the entry log, and that must be found. A build
//! without tests plants none.

sardonyx_base::planted_errors! {
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
