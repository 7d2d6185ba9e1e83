//! The process' handler for SIGSEGV and SIGBUS. It finds the view of a fault, and lets the view make the access right
//! ([`fault`](super::fault); SIGBUS is for want of memory). Faults anywhere else, and signals sent by programs, go to
//! the handler that the host program had, with the signals blocked that it asked for.
//!
//! It runs in the thread that touched the page, between two instructions of its user's code. It uses only what is
//! allowed there: system calls, atomics, copies of memory that does not fault. While it runs, all asynchronous signals
//! are blocked, also if a handler that the host installed later calls this one with none blocked. So code that touches
//! a view's pages does not interrupt its changes of them.
//!
//! A forked child has its parent's views as plain memory of its own. A page shows its content at the fork, or, if it
//! was not the session's own copy then, some committed state of it. It can be read and written, also by system calls,
//! and has no other user. So arrays that a pool's worker inherits can be read, while every call on the segment answers
//! `Forked`.
//!
//! Source: the LIBXAC thesis, section 4.2.3 ("SIGSEGV").

use super::linux::free_guards;
use super::memory::View;
use rustix::mm::MprotectFlags;
use sardonyx_base::process::Process;
use sardonyx_base::signals;
use sardonyx_storage::page::PAGE_SIZE;
use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Views in a process at once.
pub const VIEWS_MAX: usize = 1024;

static VIEWS: [Entry; VIEWS_MAX] = [const { Entry::empty() }; VIEWS_MAX];
static VIEWS_USED: AtomicUsize = AtomicUsize::new(0);
static BEFORE: [Before; 2] = [const { Before::unknown() }; 2];

/// The handled signals, in the order of [`BEFORE`].
const SIGNALS: [i32; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The place of a view, so that the handler can recognise a foreign fault without looking at the view. A child looks at
/// nothing else: the view itself may be half made or half removed in its copy of the memory.
struct Entry {
    start: AtomicUsize,
    /// Bytes reserved.
    bytes: AtomicUsize,
    /// Bytes that are the segment's, from the start.
    mapped: AtomicUsize,
    view: AtomicPtr<View>,
    /// The process that reserved it.
    process: AtomicU32,
    /// In a child: the process for which it is being made plain memory, shifted, and whether it is.
    plain: AtomicU64,
    /// In a child: the last fault for which there was nothing to do.
    tried_again: AtomicUsize,
}

impl Entry {
    const fn empty() -> Self {
        Entry {
            start: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            mapped: AtomicUsize::new(0),
            view: AtomicPtr::new(ptr::null_mut()),
            process: AtomicU32::new(0),
            plain: AtomicU64::new(0),
            tried_again: AtomicUsize::new(0),
        }
    }

    /// The place of an address in it.
    fn offset(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.start.load(Ordering::SeqCst));
        (offset < self.bytes.load(Ordering::SeqCst)).then_some(offset)
    }

    /// Handles a fault at an address in it.
    fn resolve(&self, address: usize, is_write: bool) -> bool {
        if self.process.load(Ordering::SeqCst) != Process::current().number() {
            return self.resolve_inherited(address);
        }
        let view = self.view.load(Ordering::SeqCst);
        // SAFETY: a thread that touches an address in a view has borrowed its session, or the like. So that is not
        // dropped meanwhile.
        !view.is_null() && unsafe { (*view).resolve(address, is_write) }
    }

    /// Handles a SIGBUS at an address in it. A child's pages are its own.
    fn supply(&self, address: usize) -> bool {
        if self.process.load(Ordering::SeqCst) != Process::current().number() {
            return false;
        }
        let view = self.view.load(Ordering::SeqCst);
        // SAFETY: as in `resolve`.
        !view.is_null() && unsafe { (*view).supply(address) }
    }

    /// Handles a fault in a view of the parent's.
    fn resolve_inherited(&self, address: usize) -> bool {
        let within = self
            .offset(address)
            .is_some_and(|offset| offset < self.mapped.load(Ordering::SeqCst));
        if !within {
            return false;
        }
        if self.make_plain() {
            return true;
        }
        // Another thread may have been faster; an access that faults again at once is a fault of the program.
        // SAFETY: always succeeds.
        let thread = unsafe { libc::pthread_self() as usize };
        let now = (address / PAGE_SIZE).rotate_left(32) ^ thread;
        self.tried_again.swap(now, Ordering::SeqCst) != now
    }

    /// Lets all of a parent's view be read and written by this process, a child. Returns whether that
    /// was to be done.
    fn make_plain(&self) -> bool {
        let being = u64::from(Process::current().number()) << 1;
        let before = self.plain.load(Ordering::SeqCst);
        if before == being | 1 {
            return false;
        }
        self.plain.store(being, Ordering::SeqCst);
        let start = ptr::with_exposed_provenance_mut(self.start.load(Ordering::SeqCst));
        let bytes = self.mapped.load(Ordering::SeqCst);
        if bytes > 0 {
            let rights = MprotectFlags::READ | MprotectFlags::WRITE;
            free_guards(start, bytes);
            // SAFETY: the range is a view of the parent's, of which this process has a copy without other users; its
            // user's rights there only grow.
            let _ = unsafe { rustix::mm::mprotect(start.cast(), bytes, rights) };
        }
        self.plain.store(being | 1, Ordering::SeqCst);
        true
    }
}

/// The handler of a signal before us.
struct Before(UnsafeCell<MaybeUninit<libc::sigaction>>);

impl Before {
    const fn unknown() -> Self {
        Before(UnsafeCell::new(MaybeUninit::zeroed()))
    }
}

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
    let (start, bytes) = (view.base().expose_provenance(), view.reserved_bytes());
    let view: *const View = view;
    for (n, entry) in VIEWS.iter().enumerate() {
        let empty = ptr::null_mut();
        let order = Ordering::SeqCst;
        if entry
            .view
            .compare_exchange(empty, view.cast_mut(), order, order)
            .is_ok()
        {
            let process = Process::current().number();
            entry.process.store(process, Ordering::SeqCst);
            entry.plain.store(0, Ordering::SeqCst);
            entry.mapped.store(0, Ordering::SeqCst);
            entry.start.store(start, Ordering::SeqCst);
            entry.bytes.store(bytes, Ordering::SeqCst);
            VIEWS_USED.fetch_max(n + 1, Ordering::SeqCst);
            return Some(Registered(n));
        }
    }
    None
}

impl Registered {
    /// So many bytes of the view are the segment's now.
    pub fn set_mapped(&self, bytes: usize) {
        VIEWS[self.0].mapped.store(bytes, Ordering::SeqCst);
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let entry = &VIEWS[self.0];
        entry.mapped.store(0, Ordering::SeqCst);
        entry.bytes.store(0, Ordering::SeqCst);
        entry.start.store(0, Ordering::SeqCst);
        entry.view.store(ptr::null_mut(), Ordering::SeqCst);
    }
}

/// Installs the handler once.
fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the structures are valid, the handler has the signature of SA_SIGINFO, and the previous handler is
        // stored before this one can run.
        unsafe {
            for (signal, before) in SIGNALS.into_iter().zip(&BEFORE) {
                libc::sigaction(signal, ptr::null(), before.0.get().cast());
            }
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as *const () as usize;
            // On the alternate stack, where the thread has one: Rust's own handler expects that. Not
            // blocked while it runs: a fault in a handler must not hang.
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            ours.sa_mask = signals::asynchronous();
            for signal in SIGNALS {
                libc::sigaction(signal, &raw const ours, ptr::null_mut());
            }
        }
        // SAFETY: the handler only uses atomics and system calls, which may be done after a fork.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    });
}

/// A child made by the C library's `fork` has its parent's views as plain memory from the beginning; one
/// made otherwise has so at the first fault.
extern "C" fn in_the_child() {
    let used = VIEWS_USED.load(Ordering::SeqCst);
    for entry in &VIEWS[..used] {
        if entry.process.load(Ordering::SeqCst) != Process::current().number() {
            entry.make_plain();
        }
    }
}

extern "C" fn on_fault(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: `errno` is this thread's.
    let errno = unsafe { *libc::__errno_location() };
    // A signal that was sent has no address.
    // SAFETY: the kernel passes valid information with SA_SIGINFO.
    let code = unsafe { (*info).si_code };
    let is_ours = match signal {
        // Not a page that the hardware lost.
        libc::SIGBUS => code == libc::BUS_ADRERR,
        _ => code > 0,
    };
    let handled = is_ours && {
        // They are, unless we were called by another handler.
        let _blocked = signals::block();
        // SAFETY: as above; it is a fault.
        let address = unsafe { (*info).si_addr() }.addr();
        let used = VIEWS_USED.load(Ordering::SeqCst);
        let found = VIEWS[..used]
            .iter()
            .find(|entry| entry.offset(address).is_some());
        found.is_some_and(|entry| match signal {
            libc::SIGBUS => entry.supply(address),
            _ => entry.resolve(address, is_write(context)),
        })
    };
    if !handled {
        // SAFETY: the arguments are those that the kernel gave us.
        unsafe { pass_on(signal, info, context) };
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// True if the fault is certainly a store.
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

/// Passes a signal on to its earlier handler.
unsafe fn pass_on(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let before = &BEFORE[usize::from(signal == libc::SIGBUS)];
    // SAFETY: written before our handler was installed.
    let before = unsafe { (*before.0.get()).assume_init_ref() };
    // SAFETY: the kernel passes valid information with SA_SIGINFO.
    let sent = unsafe { (*info).si_code } <= 0;
    match before.sa_sigaction {
        libc::SIG_IGN if sent => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            // SAFETY: the structure is valid.
            unsafe {
                let mut default: libc::sigaction = std::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, ptr::null_mut());
            }
            // The instruction faults again when we return, and then the default happens. Sent signals do not come again
            // by themselves.
            if sent {
                // SAFETY: sends a signal to this thread, which is not blocked here.
                unsafe { libc::raise(signal) };
            }
        }
        handler => {
            // SAFETY: the kernel passes a valid context with SA_SIGINFO.
            unsafe { block_as_for(before, context) };
            if before.sa_flags & libc::SA_SIGINFO != 0 {
                // SAFETY: with SA_SIGINFO the address is that of such a function.
                let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    unsafe { std::mem::transmute(handler) };
                handler(signal, info, context);
            } else {
                // SAFETY: without SA_SIGINFO the address is that of such a function.
                let handler: extern "C" fn(i32) = unsafe { std::mem::transmute(handler) };
                handler(signal);
            }
        }
    }
}

/// Blocks the signals that the kernel would have blocked for a handler: those blocked at the fault, and those that the
/// handler asks for. Faults are not blocked, as it may touch a view. It may leave by a jump that keeps the mask, and
/// the kernel puts the mask back when we return.
///
/// # Safety
/// The context is the one that the kernel gave to a handler.
unsafe fn block_as_for(action: &libc::sigaction, context: *mut libc::c_void) {
    // SAFETY: the caller's promise.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    let mut asked = action.sa_mask;
    for signal in signals::SYNCHRONOUS {
        // SAFETY: a valid set and the number of a signal.
        unsafe { libc::sigdelset(&raw mut asked, signal) };
    }
    // SAFETY: both are valid sets.
    unsafe {
        libc::pthread_sigmask(
            libc::SIG_SETMASK,
            &raw const context.uc_sigmask,
            ptr::null_mut(),
        );
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const asked, ptr::null_mut());
    }
}
