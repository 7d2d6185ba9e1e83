//! Bytes over TLS, after the greeting: a socket, and the machine that encrypts and decrypts.
//!
//! The socket's time limits, and whether it blocks, hold for reads and writes as they do without TLS. Bytes that the
//! socket does not take stay with the machine. [`Write::write`] takes more only when they are sent, so no more than one
//! write's records wait (64 KiB), and [`Write::flush`] reports waiting ones.

use crate::explain;
use rustls::Connection as Machine;
use sardonyx_base::transport::Connection;
use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;

/// So much is read from the socket at once: two records of the most bytes.
const READ_BYTES: usize = 32 << 10;

/// A connection over TLS.
pub struct TlsConnection {
    machine: Machine,
    socket: BufReader<TcpStream>,
    peer: String,
}

impl fmt::Debug for TlsConnection {
    /// Without the machine's state.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("TlsConnection");
        shown.field("peer", &self.peer).finish_non_exhaustive()
    }
}

impl TlsConnection {
    pub fn new(machine: Machine, socket: TcpStream, peer: String) -> Self {
        let socket = BufReader::with_capacity(READ_BYTES, socket);
        TlsConnection {
            machine,
            socket,
            peer,
        }
    }

    pub fn peer(&self) -> &str {
        &self.peer
    }

    /// True until the greeting is over.
    pub fn is_greeting(&self) -> bool {
        self.machine.is_handshaking()
    }

    /// True if the machine has something for the socket.
    fn has_unsent(&self) -> bool {
        self.machine.wants_write()
    }

    /// Sends the machine's bytes to the socket.
    pub fn send(&mut self) -> io::Result<()> {
        while self.has_unsent() {
            match self.machine.write_tls(self.socket.get_mut()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Passes the socket's next bytes to the machine, and sends its answers. Returns true if there were any. Bytes
    /// that the machine does not understand or trust are an error that carries a
    /// [`TransportError`](sardonyx_base::transport::TransportError).
    pub fn receive(&mut self) -> io::Result<bool> {
        let read = self.machine.read_tls(&mut self.socket)?;
        let understood = self.machine.process_new_packets();
        if let Err(error) = understood {
            // An alert notifies the other end, if it still listens.
            let _ = self.send();
            let error = explain::error(&self.peer, &error);
            return Err(io::Error::new(io::ErrorKind::InvalidData, error));
        }
        self.send()?;
        Ok(read > 0)
    }
}

impl Read for TlsConnection {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.machine.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // Nothing: the other end announced the end; `UnexpectedEof`: it did not.
                read => return read,
            }
            self.receive()?;
        }
    }
}

impl Write for TlsConnection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send()?;
        let taken = self.machine.writer().write(bytes)?;
        match self.send() {
            // They are taken: a caller that needs to know that they were sent flushes.
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Connection for TlsConnection {
    fn socket(&self) -> &TcpStream {
        self.socket.get_ref()
    }
}
