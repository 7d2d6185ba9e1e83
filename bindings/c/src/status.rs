//! The result of a call: a code whose number never changes, and a message for people.

use sardonyx_mapped::SegmentError;
use sardonyx_mapped::heap::HeapError;
use sardonyx_mapped::memory::GrowError;
use std::ffi::{CStr, c_char};

/// The outcome of a call. The numbers are stable; new ones are added at the end.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum sdx_status {
    /// The call succeeded.
    SDX_OK = 0,
    /// Another transaction changed data that this one used. It is over and had no effect: run it again.
    SDX_CONFLICT = 1,
    /// An argument that is not valid: null, unknown flags, no UTF-8.
    SDX_INVALID_ARGUMENT = 2,
    /// The handle is null, closed, or of another kind.
    SDX_INVALID_HANDLE = 3,
    /// Another thread is using the handle at this moment.
    SDX_BUSY = 4,
    /// The transaction belongs to another thread.
    SDX_WRONG_THREAD = 5,
    /// The handle is a parent's; this process was forked from it. Open the segment or database again.
    SDX_FORKED = 6,
    /// No transaction is running in the session.
    SDX_NO_TRANSACTION = 7,
    /// A transaction is running already: in the session, or in this thread.
    SDX_INSIDE_TRANSACTION = 8,
    /// The transaction was begun to read only.
    SDX_READ_ONLY = 9,
    /// The range is not inside of the segment.
    SDX_OUTSIDE = 10,
    /// The program wrote to the memory while no transaction was running; that was undone.
    SDX_WRITTEN_OUTSIDE = 11,
    /// The transaction changed more bytes than fit. It is over and had no effect.
    SDX_TOO_LARGE = 12,
    /// The segment would be longer than its address space.
    SDX_ADDRESS_SPACE_FULL = 13,
    /// The file system of the shared memory is full.
    SDX_SHARED_MEMORY_FULL = 14,
    /// The log is full.
    SDX_LOG_FULL = 15,
    /// A snapshot is kept for so long that there is no room for new versions.
    SDX_SLOW_READER = 16,
    /// The log cannot be written: it is not known if the awaited transaction survives a restart.
    SDX_POISONED = 17,
    /// This library cannot use the shared memory.
    SDX_INCOMPATIBLE = 18,
    /// The kernel does not offer the requested mechanism.
    SDX_MECHANISM_UNAVAILABLE = 19,
    /// All places for sessions or processes are taken.
    SDX_TOO_MANY = 20,
    /// The operating system returned an error.
    SDX_SYSTEM = 21,
    /// The database cannot be opened.
    SDX_CANNOT_OPEN = 22,
    /// There is no root of this name, no such savepoint, no row with this key, no such table, column or database.
    SDX_NOT_FOUND = 23,
    /// The segment is no heap, and not blank either; or a heap of another version.
    SDX_NOT_A_HEAP = 24,
    /// The heap's data is damaged. Abort.
    SDX_DAMAGED = 25,
    /// The freed memory is not allocated, or has another size.
    SDX_NOT_ALLOCATED = 26,
    /// The root is of another type.
    SDX_ROOT_TYPE = 27,
    /// A fault of the library. Close the handle.
    SDX_PANICKED = 28,
    /// An error that this version has no code for; see the message.
    SDX_OTHER = 29,
    /// There is a row with this key already, in the primary key or a unique index. The call had no effect.
    SDX_DUPLICATE = 30,
    /// A value, a column, a table or a schema that is not valid; the message names it. The call had no
    /// effect.
    SDX_REFUSED = 31,
    /// Beyond a limit, which the message names: a value, a key, a transaction. The call had no effect.
    SDX_LIMIT = 32,
    /// No memory, or no room on the disk. The call had no effect.
    SDX_FULL = 33,
    /// The database is open elsewhere, in an incompatible way.
    SDX_LOCKED = 34,
    /// The database was closed.
    SDX_CLOSED = 35,
    /// Too much changed since the snapshot was taken, and it was ended: take a new one.
    SDX_SNAPSHOT_ENDED = 36,
    /// There are no more rows.
    SDX_END = 37,
    /// Other processes must act first, or a follower is too far behind. Try again then.
    SDX_UNAVAILABLE = 38,
}

use sdx_status::*;

/// An error of a call.
#[derive(Debug)]
pub(crate) struct Failure {
    pub status: sdx_status,
    pub message: String,
}

impl Failure {
    pub fn new(status: sdx_status, message: impl Into<String>) -> Self {
        let message = message.into();
        Failure { status, message }
    }

    pub fn argument(message: impl Into<String>) -> Self {
        Failure::new(SDX_INVALID_ARGUMENT, message)
    }

    pub fn read_only() -> Self {
        SegmentError::ReadOnly.into()
    }
}

impl From<SegmentError> for Failure {
    fn from(error: SegmentError) -> Self {
        Failure::new(of_segment(&error), chain(&error))
    }
}

impl From<HeapError> for Failure {
    fn from(error: HeapError) -> Self {
        Failure::new(of_heap(&error), chain(&error))
    }
}

impl From<sardonyx::Error> for Failure {
    fn from(error: sardonyx::Error) -> Self {
        Failure::new(of_tables(&error), chain(&error))
    }
}

fn of_tables(error: &sardonyx::Error) -> sdx_status {
    use sardonyx::Error;
    match error {
        Error::Limit(_) if is_of_ended_snapshot(error) => SDX_SNAPSHOT_ENDED,
        Error::Conflict(_) => SDX_CONFLICT,
        Error::Duplicate(_) => SDX_DUPLICATE,
        Error::NotFound(_) => SDX_NOT_FOUND,
        Error::Refused(_) => SDX_REFUSED,
        Error::Limit(_) => SDX_LIMIT,
        Error::Full(_) => SDX_FULL,
        Error::Unavailable(_) => SDX_UNAVAILABLE,
        Error::Locked(_) => SDX_LOCKED,
        Error::Damaged(_) => SDX_DAMAGED,
        Error::Poisoned(_) => SDX_POISONED,
        Error::System(_) => SDX_SYSTEM,
        Error::Nested(_) => SDX_INSIDE_TRANSACTION,
        Error::Closed(_) => SDX_CLOSED,
        Error::Forked(_) => SDX_FORKED,
        Error::Panicked(_) => SDX_PANICKED,
        _ => SDX_OTHER,
    }
}

fn is_of_ended_snapshot(error: &sardonyx::Error) -> bool {
    let first: Option<&dyn std::error::Error> = Some(error.cause().get());
    let mut causes = std::iter::successors(first, |error| error.source());
    causes.any(|error| error.is::<sardonyx::errors::SnapshotEnded>())
}

/// The error and its causes, most of which are in the libraries' messages.
fn chain(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let said = inner.to_string();
        if !message.contains(&said) {
            message.push_str(": ");
            message.push_str(&said);
        }
        source = inner.source();
    }
    message
}

fn of_segment(error: &SegmentError) -> sdx_status {
    match error {
        SegmentError::System { .. } => SDX_SYSTEM,
        SegmentError::SharedMemoryFull { .. } => SDX_SHARED_MEMORY_FULL,
        SegmentError::AddressSpaceFull { .. } => SDX_ADDRESS_SPACE_FULL,
        SegmentError::Incompatible { .. } => SDX_INCOMPATIBLE,
        SegmentError::MechanismUnavailable { .. } => SDX_MECHANISM_UNAVAILABLE,
        SegmentError::TooMany { .. } => SDX_TOO_MANY,
        SegmentError::Forked => SDX_FORKED,
        SegmentError::InsideTransaction => SDX_INSIDE_TRANSACTION,
        SegmentError::NoTransaction => SDX_NO_TRANSACTION,
        SegmentError::WrittenOutside { .. } => SDX_WRITTEN_OUTSIDE,
        SegmentError::TransactionTooLarge { .. } => SDX_TOO_LARGE,
        SegmentError::SlowReader { .. } => SDX_SLOW_READER,
        SegmentError::Poisoned { .. } => SDX_POISONED,
        SegmentError::Conflict { .. } => SDX_CONFLICT,
        SegmentError::LogFull { .. } => SDX_LOG_FULL,
        SegmentError::Outside { .. } => SDX_OUTSIDE,
        SegmentError::ReadOnly => SDX_READ_ONLY,
        SegmentError::Open(_) => SDX_CANNOT_OPEN,
        _ => SDX_OTHER,
    }
}

fn of_heap(error: &HeapError) -> sdx_status {
    match error {
        HeapError::Tables
        | HeapError::NotAHeap { .. }
        | HeapError::Version { .. }
        | HeapError::NotBlank { .. } => SDX_NOT_A_HEAP,
        HeapError::Damaged { .. } | HeapError::Place(_) => SDX_DAMAGED,
        HeapError::DoubleFree { .. }
        | HeapError::NotAllocated { .. }
        | HeapError::WrongSize { .. } => SDX_NOT_ALLOCATED,
        HeapError::Impossible { .. } | HeapError::RootName { .. } => SDX_INVALID_ARGUMENT,
        HeapError::RootType { .. } => SDX_ROOT_TYPE,
        HeapError::Grow(GrowError::Full { .. }) => SDX_ADDRESS_SPACE_FULL,
        HeapError::Grow(GrowError::Refused { source, .. }) => {
            source.downcast_ref().map_or(SDX_OTHER, of_segment)
        }
        _ => SDX_OTHER,
    }
}

/// The message of this thread's last failed call: the error, its place, and a remedy. Never null. Valid until
/// the next failed call of this thread; a successful call does not change it.
#[unsafe(no_mangle)]
pub extern "C" fn sdx_error_message() -> *const c_char {
    crate::boundary::last_message()
}

/// A code's name, such as `"SDX_CONFLICT"`; `"unknown"` for other numbers.
#[unsafe(no_mangle)]
pub extern "C" fn sdx_status_name(status: i32) -> *const c_char {
    name(status).as_ptr()
}

fn name(status: i32) -> &'static CStr {
    const NAMES: [&CStr; SDX_UNAVAILABLE as usize + 1] = [
        c"SDX_OK",
        c"SDX_CONFLICT",
        c"SDX_INVALID_ARGUMENT",
        c"SDX_INVALID_HANDLE",
        c"SDX_BUSY",
        c"SDX_WRONG_THREAD",
        c"SDX_FORKED",
        c"SDX_NO_TRANSACTION",
        c"SDX_INSIDE_TRANSACTION",
        c"SDX_READ_ONLY",
        c"SDX_OUTSIDE",
        c"SDX_WRITTEN_OUTSIDE",
        c"SDX_TOO_LARGE",
        c"SDX_ADDRESS_SPACE_FULL",
        c"SDX_SHARED_MEMORY_FULL",
        c"SDX_LOG_FULL",
        c"SDX_SLOW_READER",
        c"SDX_POISONED",
        c"SDX_INCOMPATIBLE",
        c"SDX_MECHANISM_UNAVAILABLE",
        c"SDX_TOO_MANY",
        c"SDX_SYSTEM",
        c"SDX_CANNOT_OPEN",
        c"SDX_NOT_FOUND",
        c"SDX_NOT_A_HEAP",
        c"SDX_DAMAGED",
        c"SDX_NOT_ALLOCATED",
        c"SDX_ROOT_TYPE",
        c"SDX_PANICKED",
        c"SDX_OTHER",
        c"SDX_DUPLICATE",
        c"SDX_REFUSED",
        c"SDX_LIMIT",
        c"SDX_FULL",
        c"SDX_LOCKED",
        c"SDX_CLOSED",
        c"SDX_SNAPSHOT_ENDED",
        c"SDX_END",
        c"SDX_UNAVAILABLE",
    ];
    let known = usize::try_from(status).ok().and_then(|n| NAMES.get(n));
    known.copied().unwrap_or(c"unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_its_codes() {
        for status in [
            SDX_OK,
            SDX_READ_ONLY,
            SDX_POISONED,
            SDX_ROOT_TYPE,
            SDX_OTHER,
            SDX_SNAPSHOT_ENDED,
            SDX_UNAVAILABLE,
        ] {
            let expected = format!("{status:?}");
            assert_eq!(name(status as i32).to_str().unwrap(), expected);
        }
        assert_eq!((name(-1), name(39)), (c"unknown", c"unknown"));
    }
}
