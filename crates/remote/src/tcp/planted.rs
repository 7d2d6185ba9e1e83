//! Errors that the tests plant: each leaves out one rule of the log over TCP, and the exploration must find that. In a build
//! without tests none is ever planted.

sardonyx_base::planted_errors! {
    /// A connection is kept on which a request had no answer: a later answer is taken for another request's.
    KeptAfterSilence,
    /// Another store that is at the address later is asked, too.
    AnyStoreAsked,
    /// The server calls an entry created that met another one.
    ConflictIsCreation,
    /// An entry without an answer is called created.
    SilenceIsCreation,
}
