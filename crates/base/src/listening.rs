//! A server's connections: a thread for each, until they end or the server does. The threads take none of the program's
//! signals. A child that is forked from the server's process leaves all of it to that one.
//!
//! Bound (I10): so many connections at once; one more is closed at once.

use crate::process::Process;
use crate::signals;
use crate::sync::futex::Mutex;
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A server that listens. Dropped, it closes its connections, and waits for their threads.
#[derive(Debug)]
pub struct Listening {
    process: Process,
    shared: Arc<Shared>,
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// Of its threads.
    name: String,
    connections_max: usize,
    serve: Box<dyn Fn(TcpStream) + Send + Sync>,
    stopping: AtomicBool,
    open: Mutex<Vec<(u64, TcpStream)>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct(&self.name).finish_non_exhaustive()
    }
}

impl Listening {
    /// Listens. `serve` is called with each connection, on a thread of its own, and returns when that has ended.
    ///
    /// # Errors
    /// The system's.
    pub fn start(
        name: &str,
        listener: TcpListener,
        connections_max: usize,
        serve: impl Fn(TcpStream) + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            name: name.into(),
            connections_max,
            serve: Box::new(serve),
            stopping: AtomicBool::new(false),
            open: Mutex::new(Vec::new()),
        });
        let listens = shared.clone();
        // The threads of connections inherit it.
        let _blocked = signals::block();
        let thread = thread::Builder::new()
            .name(name.into())
            .spawn(move || listens.listen(&listener))?;
        Ok(Listening {
            process: Process::current(),
            shared,
            address,
            thread: Some(thread),
        })
    }

    /// With the port that the system chose, if port 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if !self.process.is_current() {
            // Its locks may be taken for ever, and its connections are the parent's, too.
            std::mem::forget((self.shared.clone(), self.thread.take()));
            return;
        }
        self.shared.stopping.store(true, Ordering::SeqCst);
        for (_, stream) in self.shared.open.lock().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // The thread that listens wakes up by a connection.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        let mut threads: Vec<JoinHandle<()>> = Vec::new();
        for (number, stream) in (0..).zip(listener.incoming()) {
            if self.stopping.load(Ordering::SeqCst) {
                break;
            }
            threads.retain(|thread| !thread.is_finished());
            let Ok(stream) = stream else { continue };
            if threads.len() >= self.connections_max {
                continue;
            }
            let serves = self.clone();
            let body = move || serves.serve(number, stream);
            threads.extend(thread::Builder::new().name(self.name.clone()).spawn(body));
        }
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn serve(&self, number: u64, stream: TcpStream) {
        let Ok(again) = stream.try_clone() else {
            return;
        };
        self.open.lock().push((number, again));
        // `drop` sets this before it looks which connections there are.
        if !self.stopping.load(Ordering::SeqCst) {
            (self.serve)(stream);
        }
        self.open.lock().retain(|(other, _)| *other != number);
    }
}
