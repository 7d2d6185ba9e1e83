//! What connections of all protocols have in common: reading until the server is to stop, and writing to clients that may
//! not read.
//!
//! A client that takes nothing for [`Limits::unread`](crate::Limits::unread) is disconnected. It holds no lock and no
//! stage meanwhile: only its own task waits.

use crate::stream::Stream;
use bytes::BytesMut;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::watch;
use tokio::time::timeout;

/// Room that is made before bytes are read.
const READ_BYTES: usize = 16 << 10;
/// Buffers that grew beyond this are given back when they are empty, so that idle connections are cheap.
const KEPT_BYTES: usize = 64 << 10;

/// A socket with what was read from it and is to be written to it.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    /// What was read and not taken yet.
    pub input: BytesMut,
    unread: Duration,
    stop: watch::Receiver<bool>,
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
        Connection {
            stream,
            input: BytesMut::new(),
            unread,
            stop,
        }
    }

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

    /// Whether what goes over it is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.stream.is_encrypted()
    }

    /// The socket, to be made another one of.
    pub fn into_stream(self) -> Stream {
        self.stream
    }
}
