//! Waiting for a length of virtual time.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Kernel;
use crate::time::{Span, Time};

/// Resolves when a length of virtual time has passed. Made by [`Kernel::wait`].
///
/// Dropped half-way it leaves an event behind that resumes its process once more than needed, which
/// no wait of this crate takes for its own.
#[must_use = "nothing waits until it is awaited"]
pub struct Wait {
    kernel: Kernel,
    state: State,
}

enum State {
    New(Span),
    Until(Time),
}

impl Wait {
    #[inline]
    pub(super) fn new(kernel: Kernel, span: Span) -> Wait {
        Wait {
            kernel,
            state: State::New(span),
        }
    }
}

impl Future for Wait {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.state {
            State::New(span) => {
                let end = self.kernel.now() + span;
                self.kernel.schedule(end, self.kernel.current());
                self.state = State::Until(end);
                Poll::Pending
            }
            State::Until(end) if self.kernel.now() < end => Poll::Pending,
            State::Until(_) => Poll::Ready(()),
        }
    }
}
