//! Connections to a server: how they are made, and the time that their reads and writes may take.
//!
//! The client's code has no socket. It asks a [`Network`] for a [`Stream`]: of sockets here, and in virtual time in
//! [`exploration`](super::exploration).

use super::PROTOCOL;
use sardonyx_base::frame::Reader;
use sardonyx_base::greeting::{GreetingError, Protocol, Trust};
use sardonyx_base::transport::{Connection, TransportError};
use std::fmt::Debug;
use std::io::{self, ErrorKind, Read, Write};
use std::net::ToSocketAddrs;
use std::time::Duration;

/// A connection that has greeted.
pub(super) trait Stream: Read + Write + Send + Debug {
    /// Has each read and write take at most so long.
    fn limit(&self, time: Duration) -> io::Result<()>;

    /// Has each write take at most so long without progress.
    fn limit_writes(&self, time: Duration) -> io::Result<()>;

    /// False if the other end has closed a connection on which it owes no answer.
    fn is_open(&self) -> bool;

    /// The socket below it.
    #[cfg(test)]
    fn socket(&self) -> Option<&std::net::TcpStream> {
        None
    }
}

/// The way to a server.
pub(super) trait Network: Send + Sync + Debug {
    /// A new connection, and the server's welcome, for which at most so long is waited.
    ///
    /// # Errors
    /// There is none, or one end refuses the other.
    fn connect(&self, within: Duration) -> Result<(Box<dyn Stream>, Vec<u8>), GreetingError>;
}

/// The server at an address, over sockets.
#[derive(Debug)]
pub(super) struct Sockets {
    /// `HOST:PORT`.
    pub address: String,
    pub trust: Trust,
}

impl Network for Sockets {
    fn connect(&self, within: Duration) -> Result<(Box<dyn Stream>, Vec<u8>), GreetingError> {
        let failed = |source| TransportError::failed(&self.address, source);
        let protocol = Protocol {
            within: PROTOCOL.within.min(within),
            ..PROTOCOL
        };
        let mut last = None;
        for address in self.address.to_socket_addrs().map_err(failed)? {
            match protocol.call(address, &self.trust, &[]) {
                Ok((connection, welcome)) => return Ok((Box::new(Socket(connection)), welcome)),
                Err(error) => last = Some(error),
            }
        }
        let none = || failed(ErrorKind::AddrNotAvailable.into()).into();
        Err(last.unwrap_or_else(none))
    }
}

/// A connection over a socket.
#[derive(Debug)]
pub(super) struct Socket(pub Box<dyn Connection>);

impl Read for Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[io::IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Stream for Socket {
    fn limit(&self, time: Duration) -> io::Result<()> {
        self.0.socket().set_read_timeout(Some(time))?;
        self.limit_writes(time)
    }

    fn limit_writes(&self, time: Duration) -> io::Result<()> {
        self.0.socket().set_write_timeout(Some(time))
    }

    fn is_open(&self) -> bool {
        let socket = self.0.socket();
        let looked = socket.set_nonblocking(true).and_then(|()| {
            let peeked = socket.peek(&mut [0]);
            socket.set_nonblocking(false)?;
            peeked
        });
        matches!(looked, Err(error) if error.kind() == ErrorKind::WouldBlock)
    }

    #[cfg(test)]
    fn socket(&self) -> Option<&std::net::TcpStream> {
        Some(self.0.socket())
    }
}

/// A connection, and what its server can do.
#[derive(Debug)]
pub(super) struct Link {
    pub connection: Box<dyn Stream>,
    pub takes_ahead: bool,
}

/// A server's word on its store. It has zeroes for what an earlier version does not say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Welcome {
    /// The most bytes of an entry.
    pub entry_bytes_max: u64,
    /// The random number of the store.
    pub identity: u64,
    /// Bits of abilities.
    pub abilities: u64,
}

impl Welcome {
    pub fn read(welcome: &[u8]) -> Welcome {
        let mut reader = Reader(welcome);
        let mut next = || reader.u64().unwrap_or_default();
        Welcome {
            entry_bytes_max: next(),
            identity: next(),
            abilities: next(),
        }
    }
}
