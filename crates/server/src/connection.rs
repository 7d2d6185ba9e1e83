//! What connections of all protocols have in common: reading until the server is to stop, writing to clients that may not
//! read, and noticing clients that close while they are served.
//!
//! A client that takes nothing for [`Limits::unread`](crate::Limits::unread) is disconnected. It holds no lock and no
//! stage meanwhile: only its own task waits.

use crate::stream::Stream;
use bytes::BytesMut;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::{Mutex, watch};
use tokio::time::timeout;

/// Room that is made before bytes are read.
const READ_BYTES: usize = 16 << 10;
/// Buffers that grew beyond this are given back when they are empty, so that idle connections are cheap.
const KEPT_BYTES: usize = 64 << 10;
/// So much is read ahead of a client that sends on while it is served.
const AHEAD_BYTES_MAX: usize = 1 << 20;

/// A socket with what was read from it and is to be written to it.
#[derive(Debug)]
pub struct Connection {
    /// The bytes of the client.
    pub incoming: Incoming,
    /// The answers.
    pub outgoing: Outgoing,
    is_encrypted: bool,
}

/// The half of a connection that is read.
#[derive(Debug)]
pub struct Incoming {
    stream: ReadHalf<Stream>,
    /// What was read and not taken yet.
    pub input: BytesMut,
    stop: watch::Receiver<bool>,
}

/// The half of a connection that is written.
#[derive(Debug)]
pub struct Outgoing {
    stream: WriteHalf<Stream>,
    unread: Duration,
}

/// What came of waiting for bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Received {
    /// There are more.
    Bytes,
    /// The client has closed.
    Closed,
    /// The server is to stop.
    Stop,
}

impl Connection {
    /// Of a socket, until the server is to stop.
    pub fn new(stream: Stream, unread: Duration, stop: watch::Receiver<bool>) -> Self {
        let is_encrypted = stream.is_encrypted();
        let (read, write) = split(stream);
        Connection {
            incoming: Incoming {
                stream: read,
                input: BytesMut::new(),
                stop,
            },
            outgoing: Outgoing {
                stream: write,
                unread,
            },
            is_encrypted,
        }
    }

    /// Waits for bytes.
    ///
    /// # Errors
    /// The connection's.
    pub async fn receive(&mut self) -> io::Result<Received> {
        self.incoming.receive().await
    }

    /// The half that is read, to be looked at by others while the client is served, and the half that is written.
    pub fn shared(self) -> (Arc<Mutex<Incoming>>, Outgoing) {
        (Arc::new(Mutex::new(self.incoming)), self.outgoing)
    }

    /// Sends all of it, and leaves none.
    ///
    /// # Errors
    /// The connection's; [`io::ErrorKind::TimedOut`] if the client takes nothing.
    pub async fn send(&mut self, output: &mut BytesMut) -> io::Result<()> {
        self.outgoing.send(output).await
    }

    /// Whether what goes over it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.is_encrypted
    }

    /// The socket, to be made another one of.
    pub fn into_stream(self) -> Stream {
        self.incoming.stream.unsplit(self.outgoing.stream)
    }
}

impl Incoming {
    /// Waits for bytes.
    ///
    /// # Errors
    /// The connection's.
    pub async fn receive(&mut self) -> io::Result<Received> {
        if self.input.is_empty() && self.input.capacity() > KEPT_BYTES {
            self.input = BytesMut::new();
        }
        self.input.reserve(READ_BYTES);
        tokio::select! {
            read = self.stream.read_buf(&mut self.input) => Ok(match read? {
                0 => Received::Closed,
                _ => Received::Bytes,
            }),
            _ = self.stop.wait_for(|stop| *stop) => Ok(Received::Stop),
        }
    }

    /// Whether the client has closed. What it has sent meanwhile is read, up to a bound, since its end comes behind that.
    pub fn has_closed(&mut self) -> bool {
        while self.input.len() < AHEAD_BYTES_MAX {
            self.input.reserve(READ_BYTES);
            // Whoever waits for bytes next asks to be woken itself.
            let read = pin!(self.stream.read_buf(&mut self.input));
            match read.poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(Ok(0) | Err(_)) => return true,
                Poll::Ready(Ok(_)) => {}
                Poll::Pending => return false,
            }
        }
        false
    }
}

impl Outgoing {
    /// Sends all of it, and leaves none.
    ///
    /// # Errors
    /// The connection's; [`io::ErrorKind::TimedOut`] if the client takes nothing.
    pub async fn send(&mut self, output: &mut BytesMut) -> io::Result<()> {
        while !output.is_empty() {
            let written = timeout(self.unread, self.stream.write_buf(output)).await??;
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
