//! The connection of two processes: plain TCP ([`Plain`]), or something made of such a connection, such as TLS
//! (`sardonyx-tls`).
//!
//! A [`Transport`] makes a [`Connection`] of a socket, at either end. Reads and writes are then of bytes, in any form
//! on the way. The socket stays below and can be had ([`Connection::socket`]). Its time limits are the connection's;
//! the holder of a copy of it ends the connection from another thread; and it can be polled.
//!
//! Invariants: a connection is used by one thread at a time. A write takes bytes only when all earlier ones are with
//! the socket. So on a socket that does not block, [`Write::flush`] returns `WouldBlock` as long as some are not. A
//! writer without more bytes of its own must flush before it waits for anything else.

use crate::error::{CrateError, Error, Kind};
use std::fmt::Debug;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The source and the destination of bytes.
pub trait Connection: Read + Write + Send + Debug {
    /// The socket below it.
    fn socket(&self) -> &TcpStream;
}

/// The making of connections from sockets.
pub trait Transport: Send + Sync + Debug {
    /// Makes a connection of a socket that this process has connected; takes no longer than this.
    ///
    /// # Errors
    /// [`TransportError`].
    fn call(
        &self,
        socket: TcpStream,
        within: Duration,
    ) -> Result<Box<dyn Connection>, TransportError>;

    /// Makes a connection of a socket that was accepted; takes no longer than this.
    ///
    /// # Errors
    /// [`TransportError`].
    fn answer(
        &self,
        socket: TcpStream,
        within: Duration,
    ) -> Result<Box<dyn Connection>, TransportError>;

    /// True if its connections keep others from reading and changing their bytes.
    fn is_secret(&self) -> bool {
        false
    }

    /// Connects to an address; the socket may take so long, and what is made of it, too.
    ///
    /// # Errors
    /// [`TransportError`].
    fn connect(
        &self,
        address: SocketAddr,
        within: Duration,
    ) -> Result<Box<dyn Connection>, TransportError> {
        let socket = TcpStream::connect_timeout(&address, within)
            .and_then(|socket| socket.set_nodelay(true).map(|()| socket));
        let failed = |source| TransportError::failed(address, source);
        self.call(socket.map_err(failed)?, within)
    }
}

/// Why no connection was made, or why it cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The operating system refused, or the other end did not answer.
    #[error("a connection with {peer} cannot be made: {source}")]
    Failed {
        /// The other end.
        peer: String,
        /// The system's error.
        #[source]
        source: Arc<io::Error>,
    },
    /// The other end has not shown who it is.
    #[error("{peer} is not trusted: {reason}")]
    NotTrusted {
        /// The other end.
        peer: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The other end does not take this process for one of its own.
    #[error("{peer} does not trust this process: {reason}")]
    Refused {
        /// The other end.
        peer: String,
        /// Why, and what to do.
        reason: String,
    },
    /// The two ends use different transports, or one of them another program.
    #[error("{peer} speaks another protocol: {reason}")]
    OtherProtocol {
        /// The other end.
        peer: String,
        /// The evidence, and the remedy.
        reason: String,
    },
}

impl TransportError {
    /// For an error of a socket.
    pub fn failed(peer: impl ToString, source: io::Error) -> Self {
        TransportError::Failed {
            peer: peer.to_string(),
            source: Arc::new(source),
        }
    }

    /// The one that an error of a connection carries, if it does.
    pub fn of(error: &io::Error) -> Option<&TransportError> {
        error.get_ref()?.downcast_ref()
    }
}

impl CrateError for TransportError {
    fn kind(&self) -> Kind {
        match self {
            TransportError::Failed { .. } => Error::System,
            TransportError::NotTrusted { .. }
            | TransportError::Refused { .. }
            | TransportError::OtherProtocol { .. } => Error::Refused,
        }
    }
}

/// TCP as it is: neither secret nor safe from others. For one host, or a network that only the processes reach.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plain;

impl Transport for Plain {
    fn call(&self, socket: TcpStream, _: Duration) -> Result<Box<dyn Connection>, TransportError> {
        Ok(Box::new(socket))
    }

    fn answer(
        &self,
        socket: TcpStream,
        _: Duration,
    ) -> Result<Box<dyn Connection>, TransportError> {
        Ok(Box::new(socket))
    }
}

impl Connection for TcpStream {
    fn socket(&self) -> &TcpStream {
        self
    }
}

/// The other end of a socket, for people.
pub fn peer_of(socket: &TcpStream) -> String {
    match socket.peer_addr() {
        Ok(address) => address.to_string(),
        Err(_) => "a process that has ended".into(),
    }
}

/// True if these are the first bytes of TLS: for an error of an end that expects something else.
pub fn is_tls(bytes: [u8; 4]) -> bool {
    // An alert or a handshake, of a version that begins with 3.
    matches!(bytes, [0x15 | 0x16, 0x03, 0..=4, _])
}
