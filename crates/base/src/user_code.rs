//! Code of the program that runs inside the engine, on its threads or while it holds something: values
//! that are dropped, wakers that are woken, and the payload of a program's panic. All of it may panic,
//! `Drop` included, and a panic of the program's must neither end a thread of the engine nor leave
//! something locked.
//!
//! A panic in the drop of a value of the program reaches no stage: it is caught here, and the panic hook
//! has reported it already.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// So many panics of payloads of panics are caught; what comes after that is leaked.
const PAYLOADS_MAX: usize = 8;

/// The payload of a panic.
type Payload = Box<dyn Any + Send>;

/// Drops a value of the program's. A panic in its drop ends here.
#[inline]
pub fn discard<T>(value: T) {
    if std::mem::needs_drop::<T>() {
        caught(move || drop(value));
    }
}

/// Drops values of the program's, each by itself: a second panic in one drop of all of them would end
/// the process.
#[inline]
pub fn discard_all<T>(values: impl IntoIterator<Item = T>) {
    if !std::mem::needs_drop::<T>() {
        return;
    }
    let mut values = values.into_iter();
    // Caught once for all that do not panic.
    while !caught(|| values.by_ref().for_each(drop)) {}
}

/// Calls code of the program's whose outcome does not matter. Returns whether it came back without a
/// panic.
#[inline]
pub fn caught(call: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(()) => true,
        Err(payload) => {
            discard_payload(payload);
            false
        }
    }
}

#[cold]
fn discard_payload(payload: Payload) {
    let mut payload = payload;
    for _ in 0..PAYLOADS_MAX {
        match catch_unwind(AssertUnwindSafe(move || drop(payload))) {
            Ok(()) => return,
            Err(next) => payload = next,
        }
    }
    std::mem::forget(payload);
}

/// The message of a panic, whose payload is dropped.
#[cold]
pub fn message_of(payload: Payload) -> String {
    let message = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
    discard_payload(payload);
    message.unwrap_or_else(|| "no message".to_string())
}

thread_local! {
    static WAKING: Cell<bool> = const { Cell::new(false) };
}

/// Wakes a task. Its waker is the program's: it may panic, and it may poll the task here and now.
pub fn wake(waker: Waker) {
    let before = WAKING.replace(true);
    caught(move || waker.wake());
    WAKING.set(before);
}

/// True if the calling thread is in [`wake`]: a transaction's code does not poll there, whatever the
/// thread holds.
pub fn is_waking() -> bool {
    WAKING.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    /// Panics when it is dropped, with a payload that does so, too, so many times.
    struct Bomb(usize, Arc<AtomicUsize>);

    impl Drop for Bomb {
        fn drop(&mut self) {
            self.1.fetch_add(1, Ordering::SeqCst);
            if let Some(left) = self.0.checked_sub(1) {
                std::panic::panic_any(Bomb(left, self.1.clone()));
            }
        }
    }

    #[test]
    fn every_value_is_dropped_and_no_panic_gets_out() {
        let dropped = Arc::new(AtomicUsize::new(0));
        let bomb = |panics| Bomb(panics, dropped.clone());
        discard(bomb(1));
        assert_eq!(dropped.swap(0, Ordering::SeqCst), 2, "it and its payload");
        discard_all(vec![bomb(1), bomb(0), bomb(2)]);
        assert_eq!(dropped.swap(0, Ordering::SeqCst), 2 + 1 + 3);
        // Without an end in sight: leaked.
        discard(bomb(1_000_000));
        assert_eq!(dropped.swap(0, Ordering::SeqCst), PAYLOADS_MAX + 1);
        let payload = catch_unwind(AssertUnwindSafe(|| std::panic::panic_any(bomb(1))));
        assert_eq!(message_of(payload.unwrap_err()), "no message");
        let payload = catch_unwind(|| panic!("number {}", 7));
        assert_eq!(message_of(payload.unwrap_err()), "number 7");
    }

    #[test]
    fn a_waker_may_panic_and_whoever_polls_in_it_can_be_told() {
        struct Panicking(Arc<AtomicUsize>);
        impl Wake for Panicking {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(usize::from(is_waking()), Ordering::SeqCst);
                panic!("a waker");
            }
        }
        let woken = Arc::new(AtomicUsize::new(0));
        wake(Waker::from(Arc::new(Panicking(woken.clone()))));
        assert_eq!((woken.load(Ordering::SeqCst), is_waking()), (1, false));
    }
}
