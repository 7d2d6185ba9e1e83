//! A socket with a limit on waiting. As on the connections of other protocols ([`crate::connection`]), it is an error
//! if a client reads nothing for a while.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A socket, and the time for which its client may read nothing.
#[derive(Debug)]
pub struct Patient<S> {
    stream: S,
    unread: Duration,
    /// Runs while the client reads nothing.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Patient<S> {
    /// Wraps a socket.
    pub fn new(stream: S, unread: Duration) -> Self {
        Patient {
            stream,
            unread,
            waiting: None,
        }
    }

    fn bounded<T>(
        &mut self,
        context: &mut Context<'_>,
        outcome: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = None;
            return outcome;
        }
        let unread = self.unread;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(unread)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        pin!(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = pin!(&mut self.stream).poll_write(context, bytes);
        self.bounded(context, outcome)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = pin!(&mut self.stream).poll_flush(context);
        self.bounded(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = pin!(&mut self.stream).poll_shutdown(context);
        self.bounded(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[test]
    fn who_reads_nothing_is_given_up() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let (ours, theirs) = tokio::io::duplex(16);
            let mut patient = Patient::new(ours, Duration::from_secs(60));
            patient.write_all(&[0; 16]).await.unwrap();
            let error = patient.write_all(&[0; 16]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            drop(theirs);
        });
    }
}
