//! Errors that the tests plant: each leaves out one rule of the log, and the exploration must find that. A build
//! without tests plants none.

sardonyx_base::planted_errors! {
    /// A process that finds the end owns the log, without a fence.
    NoFence,
    /// A conflict after a lost answer is taken for one's own entry.
    NoReadBack,
    /// A request without answer is taken for done.
    SilenceIsSuccess,
    /// Fences before the boundary are deleted with the rest.
    FencesCollected,
    /// The list's last entry is taken for the end; numbers that are taken are stepped over.
    ListIsEnd,
    /// A claimant does not read the boundary after its fence.
    NoBoundaryAfterFence,
    /// A fence that is read is believed without the boundary.
    FencesBelieved,
    /// Entries are deleted before the boundary has moved.
    DeletedFirst,
    /// One damaged answer is taken for a damaged log.
    DamageBelieved,
}
