//! The options of a segment, in C's form.

use crate::boundary::text;
use crate::status::Failure;
use sardonyx_mapped::{MechanismKind, Options, SlowReader};
use std::ffi::{c_char, c_void};
use std::time::Duration;

/// The best mechanism that the kernel offers.
pub const SDX_MECHANISM_BEST: u32 = 0;
/// Page tables record the touched pages; no signal.
pub const SDX_MECHANISM_ASYNCHRONOUS: u32 = 1;
/// SIGSEGV and changes of protection record them, as in the LIBXAC thesis.
pub const SDX_MECHANISM_SIGNAL: u32 = 2;
/// The program announces them, by `sdx_read` and `sdx_write`. Stores through pointers are lost.
pub const SDX_MECHANISM_EXPLICIT: u32 = 3;

/// System calls can read from the memory (`write`, `send`) without `sdx_touch`, also in a transaction that
/// may write and outside of one. Otherwise they fail with `EFAULT` on pages that others have changed, except
/// in snapshots and read-only transactions, where they always can. It costs a copy of each such page at
/// `sdx_begin`, which then counts as read. With `SDX_MECHANISM_SIGNAL` a transaction that may write has to
/// touch its pages nevertheless.
pub const SDX_OPEN_SYSTEM_CALLS: u32 = 1;

/// A snapshot for which a writer waits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_slow_reader {
    /// Process id of the reader.
    pub process: u32,
    /// Not used.
    pub reserved: u32,
    /// The time for which it has kept its snapshot, in milliseconds.
    pub milliseconds: u64,
}

/// The options of a segment. If all bytes except `size` are zero, they are the defaults: see `SDX_OPTIONS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct sdx_options {
    /// `sizeof(sdx_options)`: tells the library which fields the program knows.
    pub size: usize,
    /// One of `SDX_MECHANISM_...`.
    pub mechanism: u32,
    /// `SDX_OPEN_...`, or 0.
    pub flags: u32,
    /// Bytes of memory for versions that are older than the last commit, and for redo records. The changes of
    /// a larger transaction take memory of their own. 0: 64 MiB.
    pub versions_bytes: u64,
    /// The most bytes of the segment; address space only. 0: 96 GiB, so that a process can have all 1,024
    /// sessions, or twice the database's present size.
    pub address_space_bytes: u64,
    /// Directory in a memory file system for the file of the shared memory. Null: `/dev/shm`.
    pub shared_memory: *const c_char,
    /// The time that a writer waits for a snapshot that keeps all versions there is room for, in
    /// milliseconds. 0: ten seconds.
    pub slow_reader_wait_milliseconds: u64,
    /// Called by a writer that begins to wait for a snapshot, in its thread; may be null. It must be quick,
    /// must not use the segment, and must return.
    pub slow_reader:
        Option<unsafe extern "C" fn(user: *mut c_void, reader: *const sdx_slow_reader)>,
    /// Passed to `slow_reader`, in the thread that calls it.
    pub slow_reader_user: *mut c_void,
    /// The most bytes of changes of a transaction of this process, and 8 for each range of bytes that it
    /// changes; at most 4 GiB less a page. 0: the limit of memory and of the log: 2 GiB less two segments of
    /// 64 MiB. A larger bound makes the log larger.
    pub transaction_bytes: u64,
    /// Directory of the log, on a disk of its own: for a new database, or where the log of an existing one was
    /// moved. Null: its present place, or the database's directory. A segment without a log refuses it.
    pub log_directory: *const c_char,
    /// The same for the backup.
    pub backup_directory: *const c_char,
}

/// Bytes of the first version of the structure.
const FIRST_SIZE: usize = std::mem::offset_of!(sdx_options, transaction_bytes);

impl sdx_options {
    const DEFAULT: sdx_options = sdx_options {
        size: size_of::<sdx_options>(),
        mechanism: SDX_MECHANISM_BEST,
        flags: 0,
        versions_bytes: 0,
        address_space_bytes: 0,
        shared_memory: std::ptr::null(),
        slow_reader_wait_milliseconds: 0,
        slow_reader: None,
        slow_reader_user: std::ptr::null_mut(),
        transaction_bytes: 0,
        log_directory: std::ptr::null(),
        backup_directory: std::ptr::null(),
    };
}

/// The program's function and pointer.
struct Callback {
    function: unsafe extern "C" fn(*mut c_void, *const sdx_slow_reader),
    user: *mut c_void,
}

// SAFETY: the header says that the function is called in whatever thread waits.
unsafe impl Send for Callback {}
// SAFETY: as above.
unsafe impl Sync for Callback {}

impl Callback {
    fn tell(&self, reader: &SlowReader) {
        let reader = sdx_slow_reader {
            process: reader.process,
            reserved: 0,
            milliseconds: reader.milliseconds,
        };
        // SAFETY: the function is one with this signature, and the program's promise.
        unsafe { (self.function)(self.user, &raw const reader) };
    }
}

/// The options from C.
///
/// # Safety
/// Null, or a structure with `size` valid bytes, with valid strings.
pub(crate) unsafe fn options(given: *const sdx_options) -> Result<Options, Failure> {
    // SAFETY: the caller's promise.
    let given = unsafe { known_part(given)? };
    if given.flags & !SDX_OPEN_SYSTEM_CALLS != 0 {
        let message = format!("the options have no flags {:#x}", given.flags);
        return Err(Failure::argument(message));
    }
    let ready = given.flags & SDX_OPEN_SYSTEM_CALLS != 0;
    let mut options =
        Options::new()
            .ready_for_system_calls(ready)
            .mechanism(match given.mechanism {
                SDX_MECHANISM_BEST => MechanismKind::Best,
                SDX_MECHANISM_ASYNCHRONOUS => MechanismKind::Asynchronous,
                SDX_MECHANISM_SIGNAL => MechanismKind::Signal,
                SDX_MECHANISM_EXPLICIT => MechanismKind::Explicit,
                other => return Err(Failure::argument(format!("there is no mechanism {other}"))),
            });
    if given.versions_bytes != 0 {
        options = options.versions_bytes(given.versions_bytes);
    }
    if given.transaction_bytes != 0 {
        options = options.transaction_bytes(given.transaction_bytes);
    }
    if given.address_space_bytes != 0 {
        options = options.address_space_bytes(given.address_space_bytes);
    }
    if !given.shared_memory.is_null() {
        // SAFETY: the caller's promise.
        options = options.shared_memory(unsafe { text("`shared_memory`", given.shared_memory)? });
    }
    if !given.log_directory.is_null() {
        // SAFETY: the caller's promise.
        options = options.log_directory(unsafe { text("`log_directory`", given.log_directory)? });
    }
    if !given.backup_directory.is_null() {
        // SAFETY: the caller's promise.
        let directory = unsafe { text("`backup_directory`", given.backup_directory)? };
        options = options.backup_directory(directory);
    }
    if given.slow_reader_wait_milliseconds != 0 {
        let wait = Duration::from_millis(given.slow_reader_wait_milliseconds);
        options = options.slow_reader_wait(wait);
    }
    if let Some(function) = given.slow_reader {
        let user = given.slow_reader_user;
        let callback = Callback { function, user };
        options = options.on_slow_reader(move |reader| callback.tell(reader));
    }
    Ok(options)
}

/// The fields that both the program and this library know; the others have their defaults.
unsafe fn known_part(given: *const sdx_options) -> Result<sdx_options, Failure> {
    let mut known = sdx_options::DEFAULT;
    if given.is_null() {
        return Ok(known);
    }
    if !given.is_aligned() {
        return Err(Failure::argument("the options are not aligned"));
    }
    // SAFETY: every version of the structure starts with its size.
    let size = unsafe { (&raw const (*given).size).read() };
    if size < FIRST_SIZE {
        return Err(Failure::argument(format!(
            "the options' `size` is {size}, less than in any version: start with SDX_OPTIONS"
        )));
    }
    let own = size_of::<sdx_options>();
    // SAFETY: the caller's promise of `size` valid bytes.
    let beyond = unsafe {
        let start = given.cast::<u8>().add(own);
        std::slice::from_raw_parts(start, size.saturating_sub(own))
    };
    if size > own && beyond.iter().any(|byte| *byte != 0) {
        return Err(Failure::argument(
            "the options ask for something that this version of the library does not know",
        ));
    }
    // SAFETY: both have so many bytes, and any bytes that C stored in its fields are valid.
    unsafe {
        let to: *mut u8 = (&raw mut known).cast();
        std::ptr::copy_nonoverlapping(given.cast(), to, size.min(own));
    }
    Ok(known)
}
