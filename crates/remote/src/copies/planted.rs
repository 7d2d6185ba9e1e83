//! Errors that the tests plant: each leaves out one rule of the copies, and the exploration must find that. In a build
//! without tests none is ever planted.

sardonyx_base::planted_errors! {
    /// An entry is acknowledged when the first copy of the chain has it.
    AcknowledgedBeforeAll,
    /// A copy that gives no answer is passed over, and the register still has it.
    LeftOutWithoutRegister,
    /// A copy comes back with its content, without a comparison.
    JoinedWithoutComparing,
    /// A copy comes back without its last entries.
    JoinedBehind,
    /// A read asks the first copy of the chain, not the last one.
    ReadFromHead,
    /// A read does not look whether the set has changed.
    ReadUnconfirmed,
    /// Any process appends and lets copies in, without its number in the register.
    NoWriter,
    /// A new writer lets copies in before an entry of its own fences the one before.
    JoinedBeforeFence,
    /// A copy that was emptied is taken for the one that it was.
    EmptyTrusted,
    /// A process that became the writer once appends later on the set of then.
    TenureKept,
    /// A new life of a copy deletes the fences of the earlier ones.
    FencesOfLivesDeleted,
    /// A place that a person adds is in the set at once.
    AddedInSync,
    /// A register of a later generation is taken for a successor, of whatever line it is.
    AncestryIgnored,
    /// A state without a number is taken for an ancestor of any later generation.
    UnsignedTrusted,
    /// A process writes two states of one generation under one number.
    AuthorKept,
    /// A put-back takes a state for one without acknowledged entries if one copy of its set does not know it.
    OneLackIsProof,
    /// A put-back passes over copies that give no answer.
    SilentPassedOver,
    /// A put-back leaves copies in the set that were restored from a backup.
    BehindKept,
    /// A copy that comes back is filled from its recorded number on, though it lacks entries before that, or has others.
    RecordedTrusted,
    /// A copy that came back is not read beside the others.
    NotScrubbed,
    /// An entry that the last copy of the chain lacks or has damaged is asked of no other copy.
    TailAlone,
    /// A writer appends on a set of copies without recording the set at each of them first.
    NotTold,
    /// Copies that are out are not asked for the newest register that they saw.
    OutNotAsked,
    /// A process becomes the writer without asking the copies for the newest register that they saw, and for their ends.
    TakenWithoutAsking,
    /// A copy that has seen a newer register is filled from the log of an older one.
    JoinedWithoutAsking,
    /// A host's file of the newest register is replaced without a look at it.
    FileReplaced,
    /// A process becomes the writer without comparing the ends of the copies.
    EndsNotCompared,
    /// A copy that has another entry than those before it in the chain leaves the set, not the first one.
    DiffersExcluded,
    /// A copy that has several entries which the log has not begins another life, and they are deleted.
    MoreDiscarded,
    /// A process continues under its number when a person has discarded states of that number.
    DroppedAuthorKept,
    /// A copy's objects are listed when it has begun to join, and those that the source had not are deleted.
    JoiningObjectsDeleted,
}
