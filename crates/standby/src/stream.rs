//! A connection of whatever transport as a stream that a task waits for: TCP as it is, or what a
//! [`Transport`] makes of it, as TLS is.
//!
//! A transport greets on a thread that waits, within a time; afterwards its socket does not block. A copy of that
//! socket tells the runtime when there is something to read or room to write, and the connection does both.
//!
//! Invariants: a greeting whose task is dropped ends at once, since its socket is shut down; nothing taken by a write is
//! left behind by a flush that is ready ([`Connection`]).

use sardonyx_base::transport::{Connection, Plain, Transport, TransportError, is_tls, peer_of};
use std::io;
use std::net::{Shutdown, TcpStream};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};

/// Which end of a connection this process is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Calls,
    Answers,
}

/// A connection that tasks read and write.
#[derive(Debug)]
pub(crate) struct Stream {
    connection: Box<dyn Connection>,
    /// The same socket, for the runtime to watch.
    watched: tokio::net::TcpStream,
    /// Nothing was read yet of a plain connection: the other end may use TLS.
    may_be_tls: bool,
}

/// Shuts a socket down when dropped, unless that is called off.
struct ShutDown(Option<TcpStream>);

impl Drop for ShutDown {
    fn drop(&mut self) {
        if let Some(socket) = &self.0 {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

impl Stream {
    /// Makes a connection of a socket, by a transport if there is one; takes no longer than this.
    ///
    /// # Errors
    /// [`TransportError`].
    pub async fn make(
        socket: tokio::net::TcpStream,
        transport: Option<&Arc<dyn Transport>>,
        end: End,
        within: Duration,
    ) -> Result<Stream, TransportError> {
        // It helps with latency and is not needed for anything.
        let _ = socket.set_nodelay(true);
        let socket = socket
            .into_std()
            .map_err(|error| TransportError::failed("the other end", error))?;
        let peer = peer_of(&socket);
        let failed = |error| TransportError::failed(&peer, error);
        let connection = match transport {
            None => Plain.call(socket, within)?,
            Some(transport) => {
                socket.set_nonblocking(false).map_err(failed)?;
                let mut abandoned = ShutDown(Some(socket.try_clone().map_err(failed)?));
                let transport = transport.clone();
                let greeting = tokio::task::spawn_blocking(move || match end {
                    End::Calls => transport.call(socket, within),
                    End::Answers => transport.answer(socket, within),
                });
                let made = greeting.await.map_err(|error| failed(error.into()))??;
                abandoned.0 = None;
                made.socket().set_nonblocking(true).map_err(failed)?;
                made
            }
        };
        let watched = connection.socket().try_clone();
        let watched = watched.and_then(tokio::net::TcpStream::from_std);
        Ok(Stream {
            watched: watched.map_err(failed)?,
            connection,
            may_be_tls: transport.is_none(),
        })
    }

    /// Does something with the connection as soon as its socket lets it.
    fn poll_io<T>(
        &mut self,
        context: &mut Context<'_>,
        interest: Interest,
        mut attempt: impl FnMut(&mut dyn Connection) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        loop {
            // Without asking the runtime first: a transport may hold what it has read before.
            match attempt(&mut *self.connection) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return Poll::Ready(outcome),
            }
            // Once more, so that the runtime knows from then on that it would block.
            let connection = &mut *self.connection;
            match self.watched.try_io(interest, || attempt(connection)) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return Poll::Ready(outcome),
            }
            match interest {
                Interest::READABLE => ready!(self.watched.poll_read_ready(context))?,
                _ => ready!(self.watched.poll_write_ready(context))?,
            }
        }
    }

    /// Refuses what is TLS where it is not expected.
    fn check_plain(&mut self, read: &[u8]) -> io::Result<()> {
        if std::mem::take(&mut self.may_be_tls)
            && read.first_chunk().is_some_and(|bytes| is_tls(*bytes))
        {
            let error = TransportError::OtherProtocol {
                peer: peer_of(self.connection.socket()),
                reason: "it uses TLS, and this process does not: give both ends the same transport"
                    .into(),
            };
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        Ok(())
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = into.initialize_unfilled();
        let read = self.poll_io(context, Interest::READABLE, |connection| {
            match connection.read(room) {
                // It has not said that nothing comes any more; who is in the middle of a frame notices.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
                read => read,
            }
        });
        let read = ready!(read)?;
        let bytes = into.initialize_unfilled_to(read);
        self.check_plain(bytes)?;
        into.advance(read);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_io(context, Interest::WRITABLE, |connection| {
            connection.write(bytes)
        })
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_io(context, Interest::WRITABLE, |connection| connection.flush())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        Poll::Ready(self.connection.socket().shutdown(Shutdown::Write))
    }
}
