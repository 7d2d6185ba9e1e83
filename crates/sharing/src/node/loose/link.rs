//! The way out of a node to another, which is made anew when it breaks.
//!
//! The sender of a message writes it, if the connection takes it at once. The link's own thread writes the rest, so
//! that no sender waits for a slow node while it holds the shell. Messages that were under way when a connection broke
//! are sent again by the [`Channel`](crate::protocol::channel::Channel) behind it, which numbers them, so that each
//! comes once.
//!
//! Bound (I10): so many bytes may wait to be written; beyond that the connection is given up. Messages that are not
//! acknowledged, of which the channel sends a window, are sent again over the next one.

use super::wire::{self, Trust};
use crate::node::NodeError;
use crate::protocol::NodeId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use sardonyx_base::sync::futex::{Condvar, Mutex};
use sardonyx_base::transport::Connection;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// So many bytes may wait to be written.
const BACKLOG_BYTES_MAX: usize = 32 << 20;

#[derive(Debug, Default)]
struct Way {
    address: Option<SocketAddr>,
    stream: Option<Box<dyn Connection>>,
    backlog: Vec<u8>,
    /// The connection has taken bytes that the socket has not.
    unflushed: bool,
}

/// The way to another node.
#[derive(Debug)]
pub struct Link {
    from: NodeId,
    to: NodeId,
    trust: Trust,
    way: Mutex<Way>,
    changed: Condvar,
    stopping: AtomicBool,
}

impl Link {
    pub fn new(from: NodeId, to: NodeId, trust: Trust) -> Self {
        Link {
            from,
            to,
            trust,
            way: Mutex::new(Way::default()),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
        }
    }

    /// Sets the address of the other node.
    pub fn is_at(&self, address: SocketAddr) {
        let mut way = self.way.lock();
        if way.address != Some(address) {
            way.address = Some(address);
            self.changed.notify_all();
        }
    }

    /// Nothing more is sent.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        self.way.lock().stream = None;
        self.changed.notify_all();
    }

    fn stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    /// Sends bytes, or puts them behind those that wait. Without a connection they are dropped.
    pub fn send(&self, bytes: &[u8]) {
        let mut way = self.way.lock();
        let Way {
            stream,
            backlog,
            unflushed,
            ..
        } = &mut *way;
        let Some(open) = stream else { return };
        let mut written = 0;
        if backlog.is_empty() {
            match write_now(open, bytes) {
                Ok((now, flushed)) => {
                    written = now;
                    *unflushed = !flushed;
                    if !flushed {
                        self.changed.notify_all();
                    }
                }
                Err(_) => *stream = None,
            }
        }
        if let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
            backlog.extend_from_slice(rest);
            if backlog.len() > BACKLOG_BYTES_MAX {
                *stream = None;
            }
            self.changed.notify_all();
        }
        if stream.is_none() {
            backlog.clear();
            self.changed.notify_all();
        }
    }

    /// Gives the connection up: sent frames may be lost.
    pub fn renew(&self) {
        self.way.lock().stream = None;
        self.changed.notify_all();
    }

    /// The body of the link's thread: connects, and writes waiting frames. `connected` is called for a new connection.
    pub fn run(&self, connected: impl Fn()) {
        // The last error of trust that was logged.
        let mut said = None;
        loop {
            let mut way = self.way.lock();
            // The stopping thread sets the flag before it takes the lock, and wakes waiting threads after that.
            if self.stopping() {
                return;
            }
            if way.stream.is_none() {
                way.backlog.clear();
                way.unflushed = false;
                let Some(address) = way.address else {
                    self.changed.wait(&mut way);
                    continue;
                };
                drop(way);
                let hello = wire::Hello::Node {
                    from: self.from,
                    to: self.to,
                };
                let made = wire::connect(address, hello, &self.trust).and_then(|(stream, _)| {
                    let network = NodeError::network("write to a node without waiting");
                    stream.socket().set_nonblocking(true).map_err(network)?;
                    Ok(stream)
                });
                match made {
                    Ok(stream) if !self.stopping() => {
                        said = None;
                        self.way.lock().stream = Some(stream);
                        connected();
                    }
                    Ok(_) => {}
                    Err(error) => {
                        self.tell(&error, &mut said);
                        self.pause(wire::again_after(&error));
                    }
                }
                continue;
            }
            if way.backlog.is_empty() && !way.unflushed {
                self.changed.wait(&mut way);
                continue;
            }
            let Way {
                stream,
                backlog,
                unflushed,
                ..
            } = &mut *way;
            let written = stream.as_mut().map(|stream| write_now(stream, backlog));
            match written {
                Some(Ok((0, false))) => {
                    let waits = stream.as_ref();
                    let waits = waits.and_then(|stream| stream.socket().try_clone().ok());
                    drop(way);
                    if let Some(socket) = waits {
                        wait_for_room(&socket);
                    }
                }
                Some(Ok((written, flushed))) => {
                    backlog.drain(..written);
                    *unflushed = !flushed;
                }
                _ => *stream = None,
            }
        }
    }

    /// Says once why there is no connection, if one of the two ends does not trust the other.
    fn tell(&self, error: &NodeError, said: &mut Option<String>) {
        let text = error.to_string();
        if wire::is_of_trust(error) && said.as_ref() != Some(&text) {
            tracing::warn!(%error, node = self.to.0, "a node cannot be sent anything");
            *said = Some(text);
        }
    }

    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut way = self.way.lock();
        while !self.stopping() && Instant::now() < until {
            self.changed.wait_until(&mut way, until);
        }
    }
}

fn wait_for_room(socket: &TcpStream) {
    let mut files = [PollFd::new(socket, PollFlags::OUT)];
    let at_most = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    // If it says nothing the next write does.
    let _ = poll(&mut files, Some(&at_most));
}

/// Writes as much as is taken at once; how much that is, and whether the socket has all of it.
fn write_now(stream: &mut Box<dyn Connection>, bytes: &[u8]) -> io::Result<(usize, bool)> {
    let mut written = 0;
    while let Some(rest) = bytes.get(written..).filter(|rest| !rest.is_empty()) {
        match stream.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(more) => written += more,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    match stream.flush() {
        Ok(()) => Ok((written, true)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok((written, false)),
        Err(error) => Err(error),
    }
}
