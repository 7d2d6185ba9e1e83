//! The common part of connections of all protocols: reading until the server stops, writing to clients that may not
//! read, and noticing clients that close while they are served.
//!
//! A client that reads nothing for [`Limits::unread`](crate::Limits::unread) is disconnected. Meanwhile it holds no
//! lock and no stage: only its own task waits.

use crate::cancelling::BETWEEN_LOOKS;
use crate::lease::Lease;
use crate::stream::Stream;
use crate::unanswered::Unanswered;
use bytes::BytesMut;
use sardonyx_sql::{Budget, Exhausted};
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf, split};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// The room that is reserved before a read, in bytes.
const READ_BYTES: usize = 16 << 10;
/// Empty buffers larger than this are freed, so that idle connections are cheap.
const KEPT_BYTES: usize = 64 << 10;
/// A client that sends without a pause lets the other tasks of its thread go first after so many bytes.
const TURN_BYTES: usize = 128 << 10;
/// The most bytes that are read ahead of a client that sends more while it is served.
const AHEAD_BYTES_MAX: usize = 1 << 20;

/// A socket with its input and output buffers.
#[derive(Debug)]
pub struct Connection {
    /// The bytes of the client.
    pub incoming: Incoming,
    /// The answers.
    pub outgoing: Outgoing,
    stop: Stop,
    is_encrypted: bool,
    client: Option<SocketAddr>,
}

/// The half of a connection that is read.
#[derive(Debug)]
pub struct Incoming {
    stream: ReadHalf<Stream>,
    /// Bytes that were read and not taken yet.
    pub input: BytesMut,
    unanswered: Unanswered,
    /// Bytes received since other tasks went first.
    in_turn: usize,
}

/// The half of a connection that is read, which other tasks may inspect while its client is served.
#[derive(Debug)]
pub struct Receiver {
    incoming: Arc<Mutex<Incoming>>,
    stop: Stop,
}

/// The end of the server, for which a connection waits as long as it is open: the wait is registered once, not for each read.
struct Stop {
    flag: watch::Receiver<bool>,
    /// `None` once it has ended.
    wait: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// The half of a connection that is written.
#[derive(Debug)]
pub struct Outgoing {
    stream: WriteHalf<Stream>,
    unread: Duration,
    lease: Lease,
}

/// The result of waiting for bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// More bytes arrived.
    Bytes,
    /// More bytes arrived, but there is no memory for them: the client receives the error, and the connection ends.
    Refused(Exhausted),
    /// The client has closed.
    Closed,
    /// The server is to stop.
    Stop,
}

impl Connection {
    /// A connection over a socket, until the server stops. Its received bytes count against `memory`; answers are sent
    /// while the lease is held.
    pub fn new(
        stream: Stream,
        unread: Duration,
        stop: watch::Receiver<bool>,
        memory: Arc<Budget>,
        lease: Lease,
    ) -> Self {
        Connection::until(stream, unread, Stop::of(stop), memory, lease)
    }

    fn until(
        stream: Stream,
        unread: Duration,
        stop: Stop,
        memory: Arc<Budget>,
        lease: Lease,
    ) -> Self {
        let (is_encrypted, client) = (stream.is_encrypted(), stream.client());
        let (read, write) = split(stream);
        Connection {
            incoming: Incoming {
                stream: read,
                input: BytesMut::new(),
                unanswered: Unanswered::new(memory),
                in_turn: 0,
            },
            outgoing: Outgoing {
                stream: write,
                unread,
                lease,
            },
            stop,
            is_encrypted,
            client,
        }
    }

    /// Waits for bytes.
    ///
    /// # Errors
    /// The connection's.
    pub async fn receive(&mut self) -> io::Result<Received> {
        let_others_go_first(self.incoming.ends_turn()).await;
        let Connection { incoming, stop, .. } = self;
        received(|context| incoming.poll_receive(context), stop).await
    }

    /// The half that is read, which other tasks may inspect while the client is served, and the half that is written.
    pub fn shared(self) -> (Receiver, Outgoing) {
        let receiver = Receiver {
            incoming: Arc::new(Mutex::new(self.incoming)),
            stop: self.stop,
        };
        (receiver, self.outgoing)
    }

    /// Sends all of the output and leaves it empty.
    ///
    /// # Errors
    /// The connection's; [`io::ErrorKind::TimedOut`] if the client reads nothing.
    pub async fn send(&mut self, output: &mut BytesMut) -> io::Result<()> {
        self.outgoing.send(output).await
    }

    /// The client's address, if it is not at a socket in the file system.
    pub fn client(&self) -> Option<SocketAddr> {
        self.client
    }

    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The connection over TLS, after its greeting.
    ///
    /// # Errors
    /// The greeting failed.
    pub async fn encrypted(self, tls: &TlsAcceptor) -> io::Result<Connection> {
        let memory = self.incoming.unanswered.budget().clone();
        let Outgoing {
            stream,
            unread,
            lease,
        } = self.outgoing;
        let stream = self.incoming.stream.unsplit(stream).encrypted(tls).await?;
        Ok(Connection::until(stream, unread, self.stop, memory, lease))
    }

    /// Ends the output.
    ///
    /// # Errors
    /// The connection's.
    pub async fn end(&mut self) -> io::Result<()> {
        self.outgoing.stream.shutdown().await
    }
}

impl Receiver {
    /// The input, which other tasks do not inspect meanwhile.
    pub fn incoming(&self) -> MutexGuard<'_, Incoming> {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The shared input, for other tasks.
    pub fn looked_at(&self) -> Arc<Mutex<Incoming>> {
        self.incoming.clone()
    }

    /// Waits for bytes.
    ///
    /// # Errors
    /// The connection's.
    pub async fn receive(&mut self) -> io::Result<Received> {
        let ends_turn = self.incoming().ends_turn();
        let_others_go_first(ends_turn).await;
        let incoming = &self.incoming;
        // The lock is held while bytes are read, not while they are waited for.
        let receive = |context: &mut Context<'_>| {
            let mut incoming = incoming.lock().unwrap_or_else(PoisonError::into_inner);
            incoming.poll_receive(context)
        };
        received(receive, &mut self.stop).await
    }

    /// As [`Receiver::receive`], of a client that waits while others are served. Its bytes are received up to a bound.
    /// Beyond that they stay in the socket, and only its end is noticed.
    ///
    /// # Errors
    /// The connection's.
    pub async fn receive_ahead(&mut self) -> io::Result<Received> {
        while self.incoming().input.len() >= AHEAD_BYTES_MAX {
            if self.incoming().has_closed() {
                return Ok(Received::Closed);
            }
            let stopped = poll_fn(|context| self.stop.poll(context));
            if timeout(BETWEEN_LOOKS, stopped).await.is_ok() {
                return Ok(Received::Stop);
            }
        }
        self.receive().await
    }
}

/// Has the thread look for the events of other tasks first, if bytes are received without a pause. Otherwise it would look
/// after some dozens of polls of this task, which are megabytes of COPY: other clients would wait for that.
///
/// It is before a read: a caller that gives up the wait loses no bytes.
async fn let_others_go_first(ends_turn: bool) {
    if ends_turn {
        tokio::task::yield_now().await;
    }
}

/// The first of two events: bytes arrive, or the server is to stop, which ends a client that sends without a pause, too.
async fn received(
    mut receive: impl FnMut(&mut Context<'_>) -> Poll<io::Result<Received>>,
    stop: &mut Stop,
) -> io::Result<Received> {
    poll_fn(|context| {
        let received = receive(context);
        match received.is_ready() && !stop.is_set() {
            true => received,
            false => stop.poll(context).map(|()| Ok(Received::Stop)),
        }
    })
    .await
}

impl Stop {
    fn of(flag: watch::Receiver<bool>) -> Stop {
        let mut waiting = flag.clone();
        let wait = async move {
            // It is an error if nothing can stop the server any more: that it has ended.
            let _ = waiting.wait_for(|stop| *stop).await;
        };
        Stop {
            flag,
            wait: Some(Box::pin(wait)),
        }
    }

    /// True if the server is to stop.
    fn is_set(&self) -> bool {
        // The connection has seen no value: any other than the first one is its end.
        self.flag.has_changed().unwrap_or(true)
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(context));
            self.wait = None;
        }
        Poll::Ready(())
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.is_set()).finish()
    }
}

impl Incoming {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Received>> {
        if self.input.is_empty() && self.input.capacity() > KEPT_BYTES {
            self.input = BytesMut::new();
        }
        self.input.reserve(READ_BYTES);
        let read = ready!(pin!(self.stream.read_buf(&mut self.input)).poll(context))?;
        self.in_turn += read;
        Poll::Ready(Ok(match read {
            0 => Received::Closed,
            read if self.unanswered.add(read) => Received::Bytes,
            _ => Received::Refused(self.unanswered.refusal()),
        }))
    }

    /// Returns true if other tasks go before the next read.
    fn ends_turn(&mut self) -> bool {
        let ends = self.in_turn >= TURN_BYTES;
        if ends {
            self.in_turn = 0;
        }
        ends
    }

    /// Marks the taken bytes as answered.
    pub fn answered(&mut self) {
        self.unanswered.answered(self.input.len());
    }

    /// Returns true if the client has closed. Meanwhile its bytes are read up to a bound.
    pub fn has_closed(&mut self) -> bool {
        while self.input.len() < AHEAD_BYTES_MAX {
            self.input.reserve(READ_BYTES);
            // The next task that waits for bytes registers its own wake-up.
            let read = pin!(self.stream.read_buf(&mut self.input));
            match read.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(0) | Err(_)) => return true,
                // If there is no memory for them, the next bytes are refused.
                Poll::Ready(Ok(read)) => {
                    self.unanswered.add(read);
                }
                Poll::Pending => return false,
            }
        }
        self.has_closed_behind()
    }

    /// True if the client has closed after bytes that were not read.
    fn has_closed_behind(&mut self) -> bool {
        // With an empty buffer nothing is read: see `Stream`.
        let mut none = ReadBuf::new(&mut []);
        let mut context = Context::from_waker(Waker::noop());
        let looked = Pin::new(&mut self.stream).poll_read(&mut context, &mut none);
        matches!(looked, Poll::Ready(Err(_)))
    }
}

impl Outgoing {
    /// Sends all of the output and leaves it empty.
    ///
    /// # Errors
    /// The connection's; [`io::ErrorKind::TimedOut`] if the client reads nothing; [`io::ErrorKind::ConnectionAborted`]
    /// if the lease has run out since the output was made ([`Lease`]).
    pub async fn send(&mut self, output: &mut BytesMut) -> io::Result<()> {
        self.lease.check()?;
        while !output.is_empty() {
            // Most answers are taken at once: no timer is made for them.
            let mut write = pin!(self.stream.write_buf(output));
            let written = poll_fn(|context| Poll::Ready(write.as_mut().poll(context))).await;
            let written = match written {
                Poll::Ready(written) => written?,
                Poll::Pending => timeout(self.unread, write).await??,
            };
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        if output.capacity() > KEPT_BYTES {
            *output = BytesMut::new();
        }
        self.stream.flush().await
    }
}

#[cfg(test)]
mod tests;
