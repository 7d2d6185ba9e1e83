//! The fault handler: what happens when a page of a view is touched that holds nothing yet, or may not
//! be written yet. Faults anywhere else go to the handler that the host program had.
//!
//! It runs in the thread that touched the page, between two instructions of its user's code, and does
//! only what is allowed there: system calls, atomics, copies of memory that does not fault.
//!
//! Source: the thesis, section 4.2.3 ("SIGSEGV").

use super::kernel::kernel;
use super::memory::{View, ViewKind};
use crate::shared::backing;
use rustix::mm::MprotectFlags;
use sardonyx_storage::page::PAGE_SIZE;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

/// An odd number with bits all over.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Views in a process at once.
pub const VIEWS_MAX: usize = 1024;

static VIEWS: [Entry; VIEWS_MAX] = [const { Entry::empty() }; VIEWS_MAX];
static VIEWS_USED: AtomicUsize = AtomicUsize::new(0);
static BEFORE: Before = Before(UnsafeCell::new(MaybeUninit::zeroed()));

/// Where a view is, so that the handler need not look at it to know that a fault is none of its.
struct Entry {
    start: AtomicUsize,
    bytes: AtomicUsize,
    view: AtomicPtr<View>,
    forks: AtomicU32,
}

impl Entry {
    const fn empty() -> Self {
        Entry {
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            view: AtomicPtr::new(ptr::null_mut()),
            forks: AtomicU32::new(0),
        }
    }
}

/// What handled the signal before us.
struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: written once, before our handler is installed, and only read by it.
unsafe impl Sync for Before {}

/// A view's entry; the handler knows the view as long as it lives.
#[derive(Debug)]
pub struct Registered(usize);

/// Makes a view known to the handler. `None` if there are too many.
///
/// # Safety
/// The view stays where it is until the entry is dropped.
pub unsafe fn register(view: &View) -> Option<Registered> {
    install();
    let (start, bytes) = (view.base().addr(), view.reserved_bytes());
    let view: *const View = view;
    for (n, entry) in VIEWS.iter().enumerate() {
        let empty = ptr::null_mut();
        let order = Ordering::SeqCst;
        if entry
            .view
            .compare_exchange(empty, view.cast_mut(), order, order)
            .is_ok()
        {
            entry.forks.store(backing::forks(), Ordering::SeqCst);
            entry.start.store(start, Ordering::SeqCst);
            entry.bytes.store(bytes, Ordering::SeqCst);
            VIEWS_USED.fetch_max(n + 1, Ordering::SeqCst);
            return Some(Registered(n));
        }
    }
    None
}

impl Drop for Registered {
    fn drop(&mut self) {
        let entry = &VIEWS[self.0];
        entry.bytes.store(0, Ordering::SeqCst);
        entry.start.store(0, Ordering::SeqCst);
        entry.view.store(ptr::null_mut(), Ordering::SeqCst);
    }
}

/// Installs the handler once.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the structures are valid, the handler has the signature of SA_SIGINFO, and what was
        // there before is stored before the handler can run.
        unsafe {
            libc::sigaction(libc::SIGSEGV, ptr::null(), BEFORE.0.get().cast());
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            // On the alternate stack, where the thread has one: Rust's own handler expects that. Not
            // blocked while it runs: a fault in a handler must not hang.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigemptyset(&raw mut ours.sa_mask);
            libc::sigaction(libc::SIGSEGV, &raw const ours, ptr::null_mut());
        }
    });
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: `errno` is this thread's.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes valid information with SA_SIGINFO.
    let address = unsafe { (*info).si_addr() }.addr();
    let used = VIEWS_USED.load(Ordering::SeqCst);
    let forks = backing::forks();
    let found = VIEWS[..used].iter().find(|entry| {
        // A parent's view is not here; another one may be at its address.
        if entry.forks.load(Ordering::SeqCst) != forks {
            return false;
        }
        let offset = address.wrapping_sub(entry.start.load(Ordering::SeqCst));
        offset < entry.bytes.load(Ordering::SeqCst)
    });
    let handled = found.is_some_and(|entry| {
        let view = entry.view.load(Ordering::SeqCst);
        // SAFETY: whoever touches an address in a view has borrowed the session it belongs to, or the
        // like, so that it is not dropped meanwhile.
        !view.is_null() && unsafe { (*view).resolve(address, is_write(context)) }
    });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    if !handled {
        // SAFETY: the arguments are those that the kernel gave us.
        unsafe { pass_on(signal, info, context) };
    }
}

/// Whether the fault is certainly a store.
fn is_write(context: *mut libc::c_void) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the kernel passes a valid context with SA_SIGINFO.
        let context = unsafe { &*context.cast::<libc::ucontext_t>() };
        // The second bit of a page fault's error code says so.
        context.uc_mcontext.gregs[libc::REG_ERR as usize] & 2 != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = context;
        false
    }
}

/// Gives a fault to whoever handled the signal before.
unsafe fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: written before our handler was installed.
    let before = unsafe { (*BEFORE.0.get()).assume_init_ref() };
    match before.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => {
            // The instruction faults again when we return, and then the default happens.
            // SAFETY: the structure is valid.
            unsafe {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, ptr::null_mut());
            }
        }
        handler if before.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: with SA_SIGINFO the address is that of such a function.
            let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(handler) };
            handler(signal, info, context);
        }
        handler => {
            // SAFETY: without SA_SIGINFO the address is that of such a function.
            let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
            handler(signal);
        }
    }
}

/// That no other thread changes pages' states.
pub(crate) struct Resolving<'a>(&'a View);

impl Drop for Resolving<'_> {
    fn drop(&mut self) {
        self.0.resolving.store(false, Ordering::Release);
    }
}

impl View {
    /// Handles a fault, if it is this view's.
    fn resolve(&self, address: usize, is_write: bool) -> bool {
        let Some(page) = self.page_of(address) else {
            return false;
        };
        // Children do not have the mapping; nothing can make such an access right.
        if self.region().was_forked() {
            return false;
        }
        if self.owner.load(Ordering::Relaxed) == 0 {
            return self.resolve_idle(page);
        }
        if is_write && self.read_only.load(Ordering::Relaxed) {
            return false;
        }
        // The transaction's thread may have lent the memory to others, and the warden may be at work;
        // one at a time comes in here.
        let resolving = self.resolve_alone();
        let outcome = match self.kind() {
            ViewKind::Asynchronous => self.resolve_asynchronous(page),
            ViewKind::Signal => {
                self.resolve_signal(page)
                    .or_else(|error| match error.raw_os_error() {
                        // More ranges of different protection than the kernel allows.
                        Some(libc::ENOMEM) => self.open_whole().map(|()| true),
                        _ => Err(error),
                    })
            }
            ViewKind::Explicit => Ok(false),
        };
        let outcome = outcome.map(|handled| match handled {
            true => {
                self.note_resolved();
                true
            }
            false => self.try_again(page),
        });
        drop(resolving);
        match outcome {
            Ok(handled) => handled,
            Err(error) => {
                self.refused
                    .store(error.raw_os_error().unwrap_or(0), Ordering::Relaxed);
                false
            }
        }
    }

    /// Another thread, or the warden, may have been faster, so that there was nothing left to do: then
    /// the access succeeds when it is tried again. If it fails once more and nothing was resolved
    /// in between, in the same thread, it is a fault of the program.
    fn try_again(&self, page: u64) -> bool {
        // SAFETY: always succeeds.
        let thread = unsafe { libc::gettid() } as u64;
        // The three as one word; others that are too late at the same time have other ones.
        let resolved = self.resolved.load(Ordering::Relaxed);
        let now = (resolved.wrapping_mul(MIX) ^ page)
            .wrapping_mul(MIX)
            .wrapping_add(thread);
        self.tried_again.swap(now, Ordering::Relaxed) != now
    }

    /// Keeps other threads from changing pages' states. Usable in the fault handler, since whoever has
    /// it does not fault.
    pub(crate) fn resolve_alone(&self) -> Resolving<'_> {
        while self.resolving.swap(true, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        Resolving(self)
    }

    fn resolve_asynchronous(&self, page: u64) -> std::io::Result<bool> {
        if self.guarded.has(page) {
            self.unguard(page)?;
            return Ok(true);
        }
        // A read of a closed chunk does not fault, so this is a write.
        if self.is_open(page) || self.read_only.load(Ordering::Relaxed) {
            return Ok(false);
        }
        self.open_chunk(page)?;
        Ok(true)
    }

    /// Makes a guarded page right. Usable in the fault handler.
    pub fn unguard(&self, page: u64) -> std::io::Result<()> {
        let kernel = kernel().map_err(std::io::Error::other)?;
        if self.is_unfolded(page) {
            // Whole at once: the memory may be lent to other threads.
            kernel.place(self.page(page), self.made_aside(page))?;
            self.private.set(page);
            self.protected.set(page);
        } else {
            kernel.unguard(self.page(page), PAGE_SIZE)?;
        }
        self.guarded.clear(page);
        Ok(())
    }

    /// Outside of a transaction nothing is promised but that a page can be read; what is read is some
    /// committed state of it. A write goes to the view alone. The next transaction makes the view anew,
    /// and [`Session::begin_checked`](crate::Session::begin_checked) reports the write.
    fn resolve_idle(&self, page: u64) -> bool {
        let outcome = match self.kind() {
            ViewKind::Asynchronous => self.resolve_idle_asynchronous(page),
            ViewKind::Signal => self.resolve_idle_signal(page),
            ViewKind::Explicit => Ok(false),
        };
        let handled = outcome.unwrap_or(false);
        if handled {
            self.stale.store(true, Ordering::Relaxed);
        }
        handled
    }

    fn resolve_idle_asynchronous(&self, page: u64) -> std::io::Result<bool> {
        if self.guarded.has(page) {
            let kernel = kernel().map_err(std::io::Error::other)?;
            kernel.unguard(self.page(page), PAGE_SIZE)?;
            self.guarded.clear(page);
            return Ok(true);
        }
        if self.is_open(page) {
            return Ok(false);
        }
        self.open_chunk(page)?;
        Ok(true)
    }

    fn resolve_idle_signal(&self, page: u64) -> std::io::Result<bool> {
        if self.writable.has(page) {
            return Ok(false);
        }
        if self.readable.has(page) {
            self.let_write(page)?;
        } else {
            // As `let_read`, but the ring is not pinned: the base page must do.
            self.protect(page, 1, MprotectFlags::READ)?;
            self.readable.set(page);
            self.note_touched(page);
        }
        Ok(true)
    }

    /// The first fault on a page lets it be read, the second lets it be written.
    fn resolve_signal(&self, page: u64) -> std::io::Result<bool> {
        if self.writable.has(page)
            || self.read_only.load(Ordering::Relaxed) && self.readable.has(page)
        {
            return Ok(false);
        }
        if self.readable.has(page) {
            self.let_write(page)?;
        } else {
            self.let_read(page)?;
        }
        Ok(true)
    }

    /// Lets everything be touched (`Signal`), so that the transaction can go on; it can no longer commit,
    /// and is told why: the kernel allows no more ranges of different protection.
    fn open_whole(&self) -> std::io::Result<()> {
        let rights = MprotectFlags::READ | MprotectFlags::WRITE;
        self.protect(0, self.mapped(), rights)?;
        self.make_all_right();
        self.refused.store(libc::ENOMEM, Ordering::Relaxed);
        self.stale.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Lets a page be read (`Signal`), as it is in the snapshot.
    pub fn let_read(&self, page: u64) -> std::io::Result<()> {
        if !self.private.has(page) && self.is_unfolded(page) {
            self.make_right(page)?;
        }
        self.protect(page, 1, MprotectFlags::READ)?;
        self.readable.set(page);
        self.note_touched(page);
        Ok(())
    }

    /// Lets a page that may be read be written, too (`Signal`).
    pub fn let_write(&self, page: u64) -> std::io::Result<()> {
        self.protect(page, 1, MprotectFlags::READ | MprotectFlags::WRITE)?;
        self.writable.set(page);
        self.private.set(page);
        Ok(())
    }
}
