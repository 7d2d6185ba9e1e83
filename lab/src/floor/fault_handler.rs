//! SIGSEGV as a message: a thread accessed a page without the right to it.
//!
//! LIBXAC thesis, section 4.2.3: the transaction's own thread faults, the handler gives the right, the access is tried
//! again. The handler is installed once for the process and stays. It handles only faults of a thread inside of
//! [`watch`], and only if the watcher owns the address. It passes every other SIGSEGV to the previous handler (the host
//! program's, or the standard library's guard against overflowing stacks).
//!
//! Invariant: `WATCHER` of a thread is null, or points to a watcher that a [`watch`] of the same
//! thread, still running, borrows.

use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::floor::FloorError;
use crate::floor::mapping::last_error;

/// Gives rights to pages.
pub(crate) trait Watcher {
    /// Called in the handler of the signal, in the middle of an access to `address`. Returns true
    /// if the access is to be tried again, false if the address is not its own.
    ///
    /// It must not allocate nor take locks: the thread may be anywhere.
    fn fault(&self, address: usize) -> bool;
}

thread_local! {
    /// Needs no initialisation and no destructor, so a handler may read it.
    static WATCHER: Cell<Option<*const dyn Watcher>> = const { Cell::new(None) };
}

/// The previous handler of SIGSEGV; set before the handler is.
static PREVIOUS: OnceLock<libc::sigaction> = OnceLock::new();

/// Installs the handler, once.
pub(crate) fn install() -> Result<(), FloorError> {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap_or_else(PoisonError::into_inner);
    if *installed {
        return Ok(());
    }
    let refused = || FloorError::kernel("install a handler of SIGSEGV", last_error());
    let mut previous = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: asks only; the kernel fills `previous` if it returns 0.
    let previous = unsafe {
        match libc::sigaction(libc::SIGSEGV, null_mut(), previous.as_mut_ptr()) {
            0 => previous.assume_init(),
            _ => return Err(refused()),
        }
    };
    PREVIOUS.get_or_init(|| previous);
    // SAFETY: zeros are a valid sigaction: no flags, an empty mask.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    action.sa_sigaction =
        handle as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
    // On the alternate stack, since the previous handler may need it: stacks overflow.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: `handle` has the signature that SA_SIGINFO asks for, and does only what a handler of
    // a fault in its own thread may: system calls, atomics, thread-local cells.
    if unsafe { libc::sigaction(libc::SIGSEGV, &action, null_mut()) } != 0 {
        return Err(refused());
    }
    *installed = true;
    Ok(())
}

/// Runs `body`; faults of this thread meanwhile go to `watcher` first.
pub(crate) fn watch<R>(watcher: &dyn Watcher, body: impl FnOnce() -> R) -> R {
    /// Restores the previous watcher, also if `body` panics.
    struct Restore(Option<*const dyn Watcher>);
    impl Drop for Restore {
        fn drop(&mut self) {
            WATCHER.set(self.0);
        }
    }
    let pointer: *const (dyn Watcher + '_) = watcher;
    // SAFETY: only forgets the lifetime, which the type of a thread-local cannot name. `Restore` removes the pointer
    // from the cell when it is dropped, before the borrow ends.
    let pointer = unsafe {
        std::mem::transmute::<*const (dyn Watcher + '_), *const (dyn Watcher + 'static)>(pointer)
    };
    let _restore = Restore(WATCHER.replace(Some(pointer)));
    body()
}

extern "C" fn handle(signal: c_int, information: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a siginfo of a SIGSEGV, which has an address. If a process sent the signal, the address
    // has no meaning: then it hardly lies in a watched range, and if it does the page is only given earlier.
    let address = unsafe { (*information).si_addr() }.addr();
    if let Some(watcher) = WATCHER.get() {
        // SAFETY: by the invariant it points to a watcher that is borrowed now.
        if unsafe { (*watcher).fault(address) } {
            return;
        }
    }
    let previous = PREVIOUS.get().filter(|previous| {
        let handler = previous.sa_sigaction;
        handler != libc::SIG_DFL && handler != libc::SIG_IGN
    });
    match previous {
        Some(previous) if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: it was installed with SA_SIGINFO, so it is a function of this signature.
            let handler = unsafe { std::mem::transmute::<usize, Handler>(previous.sa_sigaction) };
            handler(signal, information, context);
        }
        Some(previous) => {
            // SAFETY: it was installed without SA_SIGINFO, so it is a function of this signature.
            let handler = unsafe {
                std::mem::transmute::<usize, extern "C" fn(c_int)>(previous.sa_sigaction)
            };
            handler(signal);
        }
        // The access is tried again, faults again, and ends the process as it would have without us. To ignore the
        // fault of an instruction is not possible, since the kernel ends the process then, too. SAFETY: the default
        // action needs nothing.
        None => unsafe {
            libc::signal(libc::SIGSEGV, libc::SIG_DFL);
        },
    }
}
