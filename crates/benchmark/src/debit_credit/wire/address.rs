//! The address of a server: a port of a host, or a Unix socket.

use rustix::fd::{AsFd, BorrowedFd};
use sardonyx_command::ending;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// An address: `host:port`, or the path of a Unix socket, which has a `/` or no `:`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Address {
    /// `host:port`.
    Host(String),
    /// The path of a Unix socket.
    Path(PathBuf),
}

impl Address {
    /// Parses an address in the command line's form.
    ///
    /// # Errors
    /// The text is empty.
    pub fn parse(text: &str) -> Result<Address, String> {
        match text {
            "" => Err("host:port, or the path of a Unix socket".into()),
            text if text.contains('/') || !text.contains(':') => Ok(Address::Path(text.into())),
            text => Ok(Address::Host(text.into())),
        }
    }

    /// Listens there. The file of a Unix socket without a listener is replaced.
    ///
    /// # Errors
    /// The system's error, such as that another process listens there.
    pub fn listen(&self) -> io::Result<Listener> {
        match self {
            Address::Host(address) => {
                let listener = TcpListener::bind(address.as_str())?;
                listener.set_nonblocking(true)?;
                Ok(Listener::Host(listener))
            }
            Address::Path(path) => {
                remove_abandoned(path)?;
                let listener = UnixListener::bind(path)?;
                ending::goes_too(path);
                let listener = Listener::Path(listener, path.clone());
                if let Listener::Path(socket, _) = &listener {
                    socket.set_nonblocking(true)?;
                }
                Ok(listener)
            }
        }
    }

    /// Connects to a server there.
    ///
    /// # Errors
    /// The system's error.
    pub fn connect(&self) -> io::Result<Stream> {
        match self {
            Address::Host(address) => {
                let stream = TcpStream::connect(address.as_str())?;
                stream.set_nodelay(true)?;
                Ok(Stream::Host(stream))
            }
            Address::Path(path) => Ok(Stream::Path(UnixStream::connect(path)?)),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Host(address) => f.write_str(address),
            Address::Path(path) => path.display().fmt(f),
        }
    }
}

/// Removes the file of a socket that refuses connections: its server was killed.
fn remove_abandoned(path: &Path) -> io::Result<()> {
    let Ok(found) = path.symlink_metadata() else {
        return Ok(());
    };
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    match UnixStream::connect(path) {
        Err(error) if found.file_type().is_socket() && refused(&error) => {
            std::fs::remove_file(path)
        }
        // The error of binding gives the reason.
        _ => Ok(()),
    }
}

/// A socket that clients connect to.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Host(TcpListener),
    /// A Unix socket, whose file is removed when this is dropped.
    Path(UnixListener, PathBuf),
}

impl Listener {
    /// The address at which it listens, with the port that the system chose.
    ///
    /// # Errors
    /// The system's error.
    pub fn address(&self) -> io::Result<Address> {
        match self {
            Listener::Host(listener) => Ok(Address::Host(listener.local_addr()?.to_string())),
            Listener::Path(_, path) => Ok(Address::Path(path.clone())),
        }
    }

    /// The next client's connection, in non-blocking mode.
    ///
    /// # Errors
    /// No client waits, or the system's error.
    pub(super) fn accept(&self) -> io::Result<Stream> {
        let stream = match self {
            Listener::Host(listener) => {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                Stream::Host(stream)
            }
            Listener::Path(listener, _) => Stream::Path(listener.accept()?.0),
        };
        match &stream {
            Stream::Host(stream) => stream.set_nonblocking(true)?,
            Stream::Path(stream) => stream.set_nonblocking(true)?,
        }
        Ok(stream)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Host(listener) => listener.as_fd(),
            Listener::Path(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Path(_, path) = self {
            // If it is already removed, that is no error.
            let _ = ending::remove(path);
        }
    }
}

/// A connection.
#[derive(Debug)]
pub enum Stream {
    /// TCP.
    Host(TcpStream),
    /// A Unix socket.
    Path(UnixStream),
}

impl Stream {
    /// One more handle of the same connection.
    ///
    /// # Errors
    /// The system's error.
    pub fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Host(stream) => Stream::Host(stream.try_clone()?),
            Stream::Path(stream) => Stream::Path(stream.try_clone()?),
        })
    }

    /// Ends the sending half, or both.
    pub fn shutdown(&self, how: Shutdown) {
        // It may have ended by itself.
        let _ = match self {
            Stream::Host(stream) => stream.shutdown(how),
            Stream::Path(stream) => stream.shutdown(how),
        };
    }

    /// Sets the most time that a read may wait; `None`: without end.
    ///
    /// # Errors
    /// The system's error.
    pub fn set_read_timeout(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Host(stream) => stream.set_read_timeout(time),
            Stream::Path(stream) => stream.set_read_timeout(time),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Host(stream) => stream.as_fd(),
            Stream::Path(stream) => stream.as_fd(),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Host(stream) => (&*stream).read(bytes),
            Stream::Path(stream) => (&*stream).read(bytes),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Host(stream) => (&*stream).write(bytes),
            Stream::Path(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
