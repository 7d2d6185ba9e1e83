//! Something that waits, on a thread of its own, awaited by a task of any runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Debug)]
struct Shared<T> {
    state: Mutex<(Option<T>, Option<Waker>)>,
}

/// The result, once it is there.
#[derive(Debug)]
pub(crate) struct Unblocked<T>(Arc<Shared<T>>);

/// Runs something that waits without holding up the task that awaits it.
pub(crate) fn unblocked<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Unblocked<T> {
    let shared = Arc::new(Shared {
        state: Mutex::new((None, None)),
    });
    let other = shared.clone();
    std::thread::spawn(move || {
        let result = work();
        let waker = {
            let mut state = other.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.0 = Some(result);
            state.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    });
    Unblocked(shared)
}

impl<T> Future for Unblocked<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.0.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}
