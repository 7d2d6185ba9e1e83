//! A client's connection: over TCP or a socket in the file system, with TLS or without.

use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// A client's connection.
#[derive(Debug)]
pub enum Stream {
    /// Over TCP.
    Tcp(TcpStream),
    /// A socket in the file system.
    Unix(UnixStream),
    /// Over TCP, with TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// The stream with TLS, after its greeting. Only a TCP stream without TLS can be encrypted.
    ///
    /// # Errors
    /// The greeting failed.
    pub async fn encrypted(self, tls: &TlsAcceptor) -> io::Result<Stream> {
        match self {
            Stream::Tcp(stream) => Ok(Stream::Tls(Box::new(tls.accept(stream).await?))),
            other => Ok(other),
        }
    }

    /// The client's address, if it is not at a socket in the file system.
    pub fn client(&self) -> Option<SocketAddr> {
        match self {
            Stream::Tcp(stream) => stream.peer_addr().ok(),
            Stream::Tls(stream) => stream.get_ref().0.peer_addr().ok(),
            Stream::Unix(_) => None,
        }
    }

    /// True if the client has closed its side, as far as the system has reported.
    fn has_closed(&self) -> bool {
        let interest = Interest::READABLE;
        let mut context = Context::from_waker(Waker::noop());
        let ready = match self {
            Stream::Tcp(stream) => pin!(stream.ready(interest)).poll(&mut context),
            Stream::Unix(stream) => pin!(stream.ready(interest)).poll(&mut context),
            Stream::Tls(stream) => {
                let (stream, _) = stream.get_ref();
                pin!(stream.ready(interest)).poll(&mut context)
            }
        };
        match ready {
            Poll::Ready(Ok(ready)) => ready.is_read_closed(),
            Poll::Ready(Err(_)) => true,
            Poll::Pending => false,
        }
    }

    /// Returns true if the connection is encrypted.
    pub fn is_encrypted(&self) -> bool {
        matches!(self, Stream::Tls(_))
    }
}

macro_rules! each {
    ($stream:expr, $inner:ident => $call:expr) => {
        match $stream.get_mut() {
            Stream::Tcp($inner) => $call,
            Stream::Unix($inner) => $call,
            Stream::Tls($inner) => $call,
        }
    };
}

impl AsyncRead for Stream {
    /// With an empty buffer nothing is read: the call fails if the client has closed, even if bytes are unread.
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buffer.remaining() == 0 {
            return Poll::Ready(match self.has_closed() {
                true => Err(io::ErrorKind::UnexpectedEof.into()),
                false => Ok(()),
            });
        }
        each!(self, inner => Pin::new(inner).poll_read(context, buffer))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        each!(self, inner => Pin::new(inner).poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, inner => Pin::new(inner).poll_shutdown(context))
    }
}
