//! Locks that a forked child inherits. An advisory lock (`flock`) belongs to the opening of its file,
//! which a child shares with its parent. A child that outlives the parent would keep the database
//! locked, and one that released the lock would release it for the parent.
//!
//! So a child leaves the locks: in each one's descriptor it puts another opening of the same file, which
//! has no lock. The number stays open, and its holder may close it as before. It happens in a handler of
//! `pthread_atfork`; in a child made by a raw system call, when it first uses a handle of its parent's.
//! Until then, until it runs another program, or ends, such a child has the lock with its parent.
//!
//! The handler looks at a list of atomics without locks, which any thread may change at any time. A
//! child's descriptors are copied a moment before its memory, so the list may be the newer of the two. A
//! lock that is only in the list is not in the child; one that was released meanwhile was released for
//! both.

use crate::process::Process;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

/// A lock that is held. Entries are used again and never freed.
#[derive(Debug, Default)]
struct Entry {
    taken: AtomicBool,
    /// The process that holds it.
    process: AtomicU32,
    /// The descriptor with the lock; negative if there is none.
    locked: AtomicI32,
    /// One of the same file without a lock.
    spare: AtomicI32,
    /// The file: its device and number.
    file: (AtomicU64, AtomicU64),
    next: Option<&'static Entry>,
}

impl Entry {
    /// True if a descriptor is one of the lock's file.
    fn is_its_file(&self, descriptor: i32) -> bool {
        // SAFETY: only looked at, while no other thread can close it; a number that is not open is an
        // error.
        let found = rustix::fs::fstat(unsafe { BorrowedFd::borrow_raw(descriptor) });
        let (device, number) = &self.file;
        found.is_ok_and(|found| {
            (found.st_dev, found.st_ino)
                == (
                    device.load(Ordering::Relaxed),
                    number.load(Ordering::Relaxed),
                )
        })
    }
}

static FIRST: AtomicPtr<Entry> = AtomicPtr::new(ptr::null_mut());

fn entries() -> impl Iterator<Item = &'static Entry> {
    // SAFETY: entries are leaked boxes, published with `Release` below and never freed.
    let first = unsafe { FIRST.load(Ordering::Acquire).as_ref() };
    std::iter::successors(first, |entry| entry.next)
}

/// Has children of this process leave a lock, until it is dropped.
#[derive(Debug)]
pub struct Inherited {
    entry: &'static Entry,
    _spare: OwnedFd,
}

impl Inherited {
    /// `locked` has the lock, `spare` is another opening of its file.
    ///
    /// # Errors
    /// If the file cannot be looked at.
    pub fn new(locked: BorrowedFd<'_>, spare: OwnedFd) -> rustix::io::Result<Self> {
        let found = rustix::fs::fstat(locked)?;
        let free = |entry: &&Entry| !entry.taken.swap(true, Ordering::AcqRel);
        let entry = entries().find(free).unwrap_or_else(add_entry);
        let process = Process::current().number();
        entry.process.store(process, Ordering::Relaxed);
        entry.file.0.store(found.st_dev, Ordering::Relaxed);
        entry.file.1.store(found.st_ino, Ordering::Relaxed);
        entry.spare.store(spare.as_raw_fd(), Ordering::Relaxed);
        entry.locked.store(locked.as_raw_fd(), Ordering::Release);
        Ok(Inherited {
            entry,
            _spare: spare,
        })
    }
}

impl Drop for Inherited {
    fn drop(&mut self) {
        self.entry.locked.store(-1, Ordering::Release);
        self.entry.taken.store(false, Ordering::Release);
    }
}

fn add_entry() -> &'static Entry {
    let new = Box::into_raw(Box::new(Entry {
        taken: AtomicBool::new(true),
        ..Entry::default()
    }));
    let mut first = FIRST.load(Ordering::Acquire);
    loop {
        // SAFETY: the new entry has no other user yet; the others as in `entries`.
        unsafe { (*new).next = first.as_ref() };
        match FIRST.compare_exchange_weak(first, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: never freed, and from now on only shared.
            Ok(_) => return unsafe { &*new },
            Err(other) => first = other,
        }
    }
}

/// In a child: leaves all locks of its ancestors. May be called in a handler of a fork.
pub(crate) fn leave_parents_locks() {
    let process = Process::current().number();
    for entry in entries() {
        if entry.process.load(Ordering::Relaxed) == process {
            continue;
        }
        // Once: the child may close what it inherited, and then the numbers are other files'.
        let locked = entry.locked.swap(-1, Ordering::AcqRel);
        let spare = entry.spare.load(Ordering::Relaxed);
        if locked >= 0 && entry.is_its_file(locked) && entry.is_its_file(spare) {
            // SAFETY: the call changes the opening behind a number of this process alone, from one of a
            // file to another of the same file.
            unsafe { libc::dup3(spare, locked, libc::O_CLOEXEC) };
        }
    }
}
