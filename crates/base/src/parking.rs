//! A thread that waits for a future: it parks, and the future's waker unparks it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A waker that unparks the calling thread.
pub fn waker() -> Waker {
    Waker::from(Arc::new(Unpark(std::thread::current())))
}

/// Runs a future to its end on the calling thread.
pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let waker = waker();
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::task::Waker;

    #[derive(Default)]
    struct State {
        is_ready: bool,
        waker: Option<Waker>,
    }

    #[test]
    fn a_future_that_another_thread_completes_is_waited_for() {
        let state = Arc::new(Mutex::new(State::default()));
        let (asked, other) = (state.clone(), state.clone());
        let future = std::future::poll_fn(move |context| {
            let mut state = asked.lock().expect("no panic");
            state.waker = Some(context.waker().clone());
            match state.is_ready {
                true => Poll::Ready(7),
                false => Poll::Pending,
            }
        });
        let thread = std::thread::spawn(move || {
            loop {
                let mut state = other.lock().expect("no panic");
                if let Some(waker) = state.waker.take() {
                    state.is_ready = true;
                    waker.wake();
                    return;
                }
                drop(state);
                std::thread::yield_now();
            }
        });
        assert_eq!(wait(future), 7);
        thread.join().expect("it ends");
    }
}
