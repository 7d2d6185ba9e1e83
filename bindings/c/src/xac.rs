//! The names of LIBXAC, the library of the LIBXAC thesis. One file is mapped at a time, and one transaction
//! at a time runs in a process, so that no call needs a handle.
//!
//! Figures 4-1, 4-3, 4-5 and 4-6 compile and run as printed. Parts that the thesis does not print are ours:
//! the return values, `xabort`, `xMunmap`, `xDurable`.

use crate::boundary::{attempt, last_message, process, text};
use crate::segment::SegmentState;
use crate::session::{SessionState, open};
use crate::status::Failure;
use crate::status::sdx_status::{
    SDX_BUSY, SDX_CONFLICT, SDX_FORKED, SDX_INSIDE_TRANSACTION, SDX_INVALID_ARGUMENT,
    SDX_NO_TRANSACTION, SDX_NOT_FOUND,
};
use sardonyx_base::sync::futex::{Mutex, MutexGuard};
use sardonyx_mapped::{Access, Begin, Options, SegmentError};
use sardonyx_storage::manifest::MANIFEST_FILE;
use std::ffi::{c_char, c_int, c_void};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::ThreadId;

/// Bytes of a page, the unit of conflicts.
pub const PAGESIZE: c_int = 4096;

/// For `setPageAccess`: the page is going to be read.
pub const READ: c_int = 0;
/// For `setPageAccess`: the page is going to be read and written.
pub const READ_WRITE: c_int = 1;

/// The transaction is committed.
pub const COMMITTED: c_int = 0;
/// Another transaction changed data that this one used. It had no effect; run it again.
pub const ABORTED: c_int = 1;
/// The call failed; `xErrorMessage()` gives the reason. A transaction that was to be committed had no effect,
/// unless the message says that its fate is not known.
pub const FAILED: c_int = -1;

/// A transaction that was aborted so often in a row runs exclusively.
const ABORTS_BEFORE_PRIORITY: u32 = 6;

/// The setting of `xDurable`; -1 if it was not called.
static DURABLE: AtomicI32 = AtomicI32::new(-1);

static MAPPED: Mutex<Option<Mapped>> = Mutex::new(None);

/// The mapped file.
struct Mapped {
    session: SessionState,
    file: PathBuf,
    process: u32,
    /// The thread that runs the transaction.
    thread: Option<ThreadId>,
    /// A savepoint for each `xbegin` inside of the first.
    nested: Vec<u64>,
    aborts_in_a_row: u32,
}

/// Maps a file: creates it, if there is none, and makes it at least `length` bytes long. Returns the address
/// of its first byte, null on failure. A page can be used between `xbegin` and `xend`.
///
/// If durable, the file is a directory with a database. Otherwise it is memory that all processes share that
/// map the same path meanwhile; the last of them removes it. An existing file is refused either way, since
/// its contents would not be in the memory. So is a database's directory if the memory is not durable.
///
/// Mapping the same file again makes it longer, at the same address. Another one can be mapped after
/// `xMunmap`. A forked child must map it again.
///
/// # Safety
/// `file` is a string that ends with a zero byte; so in sardonyx.h.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn xMmap(file: *const c_char, length: usize) -> *mut c_void {
    let mapped = attempt(|| {
        // SAFETY: the caller's promise.
        let file = resolve(Path::new(unsafe { text("the file", file)? }))?;
        let mut mapped = MAPPED.lock();
        if mapped
            .as_ref()
            .is_some_and(|mapped| mapped.process != process())
        {
            // The parent's; it must not be touched here.
            std::mem::forget(mapped.take());
        }
        if let Some(other) = mapped.as_ref().filter(|mapped| mapped.file != file) {
            let message = format!(
                "{} is mapped, and only one file can be at a time: call xMunmap first",
                other.file.display()
            );
            return Err(Failure::new(SDX_INVALID_ARGUMENT, message));
        }
        let mut new = match mapped.take() {
            Some(old) => old,
            None => Mapped::open(file)?,
        };
        let grown = new.grow(length);
        let address = new.session.session.address();
        if grown.is_ok() || new.thread.is_some() {
            *mapped = Some(new);
            unmap_at_exit();
        }
        grown.map(|()| address.cast())
    });
    mapped.unwrap_or(ptr::null_mut())
}

/// Unmaps the file that was mapped at this address. Returns 0, or `FAILED`.
#[unsafe(no_mangle)]
pub extern "C" fn xMunmap(start: *const c_void) -> c_int {
    outcome(|| {
        let mut mapped = MAPPED.lock();
        let found = current(&mut mapped)?;
        if !ptr::eq(found.session.session.address(), start.cast()) {
            let message = "nothing is mapped at this address";
            return Err(Failure::new(SDX_NOT_FOUND, message));
        }
        if found.thread.is_some() {
            return Err(SegmentError::InsideTransaction.into());
        }
        drop(mapped.take());
        Ok(0)
    })
}

/// Begins a transaction; inside of one, a nested one. Returns 0, or `FAILED`: also if the program wrote to
/// the file while no transaction was running, which was undone now; the next call begins one.
#[unsafe(no_mangle)]
pub extern "C" fn xbegin() -> c_int {
    outcome(|| {
        let mut mapped = MAPPED.lock();
        let mapped = current(&mut mapped)?;
        if mapped.thread.is_some() {
            mapped.check_thread()?;
            let savepoint = mapped.session.savepoint()?;
            mapped.nested.push(savepoint);
            return Ok(0);
        }
        let begin = Begin {
            exclusive: mapped.aborts_in_a_row >= ABORTS_BEFORE_PRIORITY,
            read_only: false,
        };
        mapped.session.begin(begin, true)?;
        mapped.thread = Some(std::thread::current().id());
        Ok(0)
    })
}

/// Ends the transaction that was begun last. Returns `COMMITTED`, `ABORTED` or `FAILED`; after each of
/// them it is over. A nested transaction is always `COMMITTED`, into the one around it.
///
/// ```c
/// do { xbegin(); x[0]++; } while (xend() == ABORTED);
/// ```
///
/// One that was aborted six times in a row runs exclusively, and is not aborted again.
#[unsafe(no_mangle)]
pub extern "C" fn xend() -> c_int {
    outcome(|| {
        let mut mapped = MAPPED.lock();
        let mapped = current(&mut mapped)?;
        mapped.check_thread()?;
        if let Some(savepoint) = mapped.nested.pop() {
            mapped.session.release(savepoint)?;
            return Ok(COMMITTED);
        }
        mapped.thread = None;
        match mapped.session.commit() {
            Ok(position) => {
                mapped.aborts_in_a_row = 0;
                mapped.session.home.segment.ticket(position).wait()?;
                Ok(COMMITTED)
            }
            Err(failure) if failure.status == SDX_CONFLICT => {
                mapped.aborts_in_a_row += 1;
                Ok(ABORTED)
            }
            Err(failure) => Err(failure),
        }
    })
}

/// Undoes the transaction that was begun last, and ends it, without `xend`. Returns 0, or `FAILED`.
#[unsafe(no_mangle)]
pub extern "C" fn xabort() -> c_int {
    outcome(|| {
        let mut mapped = MAPPED.lock();
        let mapped = current(&mut mapped)?;
        mapped.check_thread()?;
        if let Some(savepoint) = mapped.nested.pop() {
            mapped.session.rollback_to(savepoint)?;
            mapped.session.release(savepoint)?;
            return Ok(0);
        }
        mapped.thread = None;
        mapped.session.abort()?;
        Ok(0)
    })
}

/// Announces that the running transaction is going to read the page with this address
/// (`READ`), or to read and write it (`READ_WRITE`): cheaper than detecting it. Returns 0, or
/// `FAILED`.
#[unsafe(no_mangle)]
pub extern "C" fn setPageAccess(pointer: *const c_void, access: c_int) -> c_int {
    outcome(|| {
        let mut mapped = MAPPED.lock();
        let mapped = current(&mut mapped)?;
        mapped.check_thread()?;
        let access = match access {
            READ => Access::Read,
            READ_WRITE => Access::Write,
            other => return Err(Failure::argument(format!("there is no access {other}"))),
        };
        let session = &mut mapped.session.session;
        let offset = pointer.addr().wrapping_sub(session.address().addr()) as u64;
        session.check(offset, 1)?;
        session.touch(offset..offset + 1, access)?;
        Ok(0)
    })
}

/// Sets the durability of later mappings: 1, or 0. Without a call, the environment's `XAC_DURABLE` decides,
/// and without that, they are durable. Returns 0, or `FAILED` if a file is mapped.
#[unsafe(no_mangle)]
pub extern "C" fn xDurable(durable: c_int) -> c_int {
    outcome(|| {
        let mapped = MAPPED.lock();
        if mapped
            .as_ref()
            .is_some_and(|mapped| mapped.process == process())
        {
            let message = "a file is mapped already; call xDurable before xMmap";
            return Err(Failure::new(SDX_INVALID_ARGUMENT, message));
        }
        DURABLE.store(i32::from(durable != 0), Ordering::Relaxed);
        Ok(0)
    })
}

/// The reason why this thread's last call failed, or returned null.
#[unsafe(no_mangle)]
pub extern "C" fn xErrorMessage() -> *const c_char {
    last_message()
}

fn outcome(body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    attempt(body).unwrap_or(FAILED)
}

fn current<'a>(mapped: &'a mut MutexGuard<'_, Option<Mapped>>) -> Result<&'a mut Mapped, Failure> {
    let mapped = mapped
        .as_mut()
        .ok_or_else(|| Failure::new(SDX_NOT_FOUND, "no file is mapped; call xMmap first"))?;
    if mapped.process != process() {
        let message = "this process was forked after xMmap; map the file again in it";
        return Err(Failure::new(SDX_FORKED, message));
    }
    Ok(mapped)
}

impl Mapped {
    fn open(file: PathBuf) -> Result<Self, Failure> {
        let durable = is_durable()?;
        refuse_what_is_there(&file, durable)?;
        let segment = match durable {
            true => Options::new().open(&file)?,
            false => Options::new().open_volatile(&volatile_name(&file)?)?,
        };
        let totals = Default::default();
        Ok(Mapped {
            session: open(SegmentState { segment, totals })?,
            file,
            process: process(),
            thread: None,
            nested: Vec::new(),
            aborts_in_a_row: 0,
        })
    }

    fn grow(&mut self, length: usize) -> Result<(), Failure> {
        if self.thread.is_some() {
            let message = "a transaction is running; call xMmap outside of it";
            return Err(Failure::new(SDX_INSIDE_TRANSACTION, message));
        }
        self.session.begin(Begin::default(), true)?;
        let grown = self.session.session.grow_to(length as u64);
        self.session.abort()?;
        Ok(grown?)
    }

    /// Checks that this thread runs a transaction.
    fn check_thread(&self) -> Result<(), Failure> {
        match self.thread {
            Some(thread) if thread == std::thread::current().id() => Ok(()),
            Some(_) => Err(Failure::new(
                SDX_BUSY,
                "another thread of this process is in a transaction; only one can be",
            )),
            None => Err(Failure::new(
                SDX_NO_TRANSACTION,
                "no transaction is running; call xbegin first",
            )),
        }
    }
}

fn is_durable() -> Result<bool, Failure> {
    match DURABLE.load(Ordering::Relaxed) {
        -1 => match std::env::var("XAC_DURABLE").as_deref() {
            Ok("0") => Ok(false),
            Ok("1" | "") | Err(_) => Ok(true),
            Ok(other) => Err(Failure::argument(format!(
                "the environment's XAC_DURABLE is {other:?}; set it to 0 or 1"
            ))),
        },
        said => Ok(said != 0),
    }
}

/// Refuses the path of a file whose contents the program would not find in the memory.
fn refuse_what_is_there(file: &Path, durable: bool) -> Result<(), Failure> {
    let name = file.display();
    let message = match file.metadata() {
        Ok(found) if !found.is_dir() => format!(
            "{name} is a file, and a file's contents are not mapped: durable memory is kept in a directory of \
             its own; other memory begins with zeroes and is never written to a file. Map another name, \
             and copy the file's contents into the memory in a transaction"
        ),
        Ok(_) if !durable && file.join(MANIFEST_FILE).exists() => format!(
            "{name} is a durable database, and memory that is not durable would not show its contents: call \
             xDurable(1) (or XAC_DURABLE=1), or map another name"
        ),
        // The opening reports any other fault.
        _ => return Ok(()),
    };
    Err(Failure::argument(message))
}

/// The file's path, the same for all spellings.
fn resolve(file: &Path) -> Result<PathBuf, Failure> {
    let Some(name) = file.file_name() else {
        let message = format!("{:?} is not a file name", file.display());
        return Err(Failure::argument(message));
    };
    let parent = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    Ok(in_directory(parent, parent.canonicalize())?.join(name))
}

/// The name under which a non-durable file is shared.
fn volatile_name(file: &Path) -> Result<String, Failure> {
    let parent = file.parent().unwrap_or(Path::new("/"));
    let found = in_directory(parent, parent.metadata())?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Ok(format!("libxac-{:x}-{:x}-{name}", found.dev(), found.ino()))
}

fn in_directory<T>(directory: &Path, found: std::io::Result<T>) -> Result<T, Failure> {
    found.map_err(|source| {
        let message = format!("cannot use the directory {}: {source}", directory.display());
        Failure::new(crate::status::sdx_status::SDX_SYSTEM, message)
    })
}

/// A program that ends without `xMunmap` leaves in good order, too.
fn unmap_at_exit() {
    static ONCE: Once = Once::new();
    extern "C" fn unmap() {
        // Another thread may still be in a call; then the kernel cleans up, as after a crash.
        let _ = attempt(|| {
            if let Some(mut mapped) = MAPPED.try_lock() {
                match mapped.take() {
                    Some(mapped) if mapped.process == process() => drop(mapped),
                    parents => std::mem::forget(parents),
                }
            }
            Ok(())
        });
    }
    ONCE.call_once(|| {
        // SAFETY: the function may be called at any time; if it is not registered for lack of
        // memory, the kernel cleans up.
        unsafe { libc::atexit(unmap) };
    });
}
