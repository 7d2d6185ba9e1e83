//! Handles: C programs hold these instead of the library's objects.
//!
//! Invariant: the memory of a handle is never freed, only reused for a handle of the same kind, and late. So
//! any pointer that once was a handle can be read: a closed handle, one of another kind, and a parent's are
//! error codes. A pointer that never was a handle cannot be distinguished from one.

use crate::boundary::process;
use crate::status::Failure;
use crate::status::sdx_status::{SDX_BUSY, SDX_FORKED, SDX_INVALID_HANDLE};
use sardonyx_base::sync::futex::Mutex;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of closed handles of a kind that wait before the first is reused: until then, its use is
/// detected.
const CLOSED_KEPT: usize = 256;

/// Phases of a handle.
const FREE: u32 = 0;
const USED: u32 = 1;
const CLOSED: u32 = 2;

/// A kind of handle: the type that C sees.
pub(crate) trait Kind: Sized + 'static {
    /// The state behind the handle.
    type State: Send;
    /// A number that distinguishes the kinds.
    const MARK: u32;
    /// The kind's name in messages.
    const NAME: &'static str;

    /// The pool of closed handles.
    fn pool() -> &'static Pool<Self::State>;
}

/// A pool of closed handles.
pub(crate) type Pool<T> = Mutex<VecDeque<&'static Handle<T>>>;

/// A handle's memory. The first two words are the same for all kinds.
#[repr(C)]
pub(crate) struct Handle<T> {
    mark: AtomicU32,
    process: AtomicU32,
    phase: AtomicU32,
    state: UnsafeCell<Option<T>>,
}

// SAFETY: only the thread that set the phase to `USED` reaches the state, one at a time.
unsafe impl<T: Send> Sync for Handle<T> {}

/// The use of a handle by one thread.
pub(crate) struct Used<T: 'static>(&'static Handle<T>);

/// Makes a handle.
pub(crate) fn issue<K: Kind>(state: K::State) -> *mut K {
    let mut pool = K::pool().lock();
    let again = match pool.len() > CLOSED_KEPT {
        true => pool.pop_front(),
        false => None,
    };
    drop(pool);
    let handle: &'static Handle<K::State> = again.unwrap_or_else(|| {
        Box::leak(Box::new(Handle {
            mark: AtomicU32::new(K::MARK),
            process: AtomicU32::new(0),
            phase: AtomicU32::new(CLOSED),
            state: UnsafeCell::new(None),
        }))
    });
    // SAFETY: new handles and those in the pool are closed, so that no other thread reads the state.
    unsafe { *handle.state.get() = Some(state) };
    handle.process.store(process(), Ordering::Relaxed);
    handle.phase.store(FREE, Ordering::Release);
    std::ptr::from_ref(handle).cast_mut().cast()
}

/// The handle of a pointer that C passes.
///
/// # Safety
/// Null, or a pointer that [`issue`] returned once, for any kind.
unsafe fn find<K: Kind>(handle: *const K) -> Result<&'static Handle<K::State>, Failure> {
    let refused = |why: &str| {
        let message = format!("the {} is {why}", K::NAME);
        Err(Failure::new(SDX_INVALID_HANDLE, message))
    };
    let handle: *const Handle<K::State> = handle.cast();
    if handle.is_null() {
        return refused("null");
    }
    if !handle.cast::<u32>().is_aligned() {
        return refused("not a handle");
    }
    // SAFETY: the mark is the first word of every kind of handle, and no handle's memory is ever freed.
    let mark = unsafe { (*handle.cast::<AtomicU32>()).load(Ordering::Relaxed) };
    if mark != K::MARK {
        return refused("a handle of another kind, or none");
    }
    // SAFETY: it is a handle of this kind, whose memory stays.
    let handle = unsafe { &*handle };
    if handle.process.load(Ordering::Relaxed) != process() {
        let message = format!(
            "the {} belongs to the process that this one was forked from; open the segment or database again",
            K::NAME
        );
        return Err(Failure::new(SDX_FORKED, message));
    }
    Ok(handle)
}

/// Uses a handle that one thread at a time may use; another one gets an error.
///
/// # Safety
/// As for [`find`].
pub(crate) unsafe fn alone<K: Kind>(handle: *const K) -> Result<Used<K::State>, Failure> {
    // SAFETY: the caller's promise.
    let handle = unsafe { find(handle)? };
    enter::<K>(handle)?.ok_or_else(|| {
        let message = format!("the {} is used by another thread at this moment", K::NAME);
        Failure::new(SDX_BUSY, message)
    })
}

/// Uses a handle for a moment; another thread waits meanwhile.
///
/// # Safety
/// As for [`find`].
pub(crate) unsafe fn shared<K: Kind>(handle: *const K) -> Result<Used<K::State>, Failure> {
    // SAFETY: the caller's promise.
    let handle = unsafe { find(handle)? };
    loop {
        if let Some(used) = enter::<K>(handle)? {
            return Ok(used);
        }
        std::thread::yield_now();
    }
}

/// `None` if another thread uses it.
fn enter<K: Kind>(handle: &'static Handle<K::State>) -> Result<Option<Used<K::State>>, Failure> {
    let order = (Ordering::Acquire, Ordering::Relaxed);
    match handle.phase.compare_exchange(FREE, USED, order.0, order.1) {
        Ok(_) => Ok(Some(Used(handle))),
        Err(CLOSED) => {
            let message = format!("the {} was closed", K::NAME);
            Err(Failure::new(SDX_INVALID_HANDLE, message))
        }
        Err(_) => Ok(None),
    }
}

impl<T> Used<T> {
    /// Closes the handle.
    pub fn close<K: Kind<State = T>>(self) -> T {
        let handle = self.0;
        // The phase stays `USED` until the state is taken out.
        std::mem::forget(self);
        // SAFETY: this thread has the phase, as long as it is `USED`.
        let state = unsafe { (*handle.state.get()).take() };
        handle.phase.store(CLOSED, Ordering::Release);
        K::pool().lock().push_back(handle);
        state.expect("a handle that is not closed has a state")
    }
}

impl<T> Deref for Used<T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this thread has the phase.
        let state = unsafe { &*self.0.state.get() };
        state
            .as_ref()
            .expect("a handle that is not closed has a state")
    }
}

impl<T> DerefMut for Used<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the phase, and `self` is borrowed exclusively.
        let state = unsafe { &mut *self.0.state.get() };
        state
            .as_mut()
            .expect("a handle that is not closed has a state")
    }
}

impl<T> Drop for Used<T> {
    fn drop(&mut self) {
        self.0.phase.store(FREE, Ordering::Release);
    }
}
