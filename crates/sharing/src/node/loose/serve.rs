//! The page server's connections: a thread for each.
//!
//! Bound (I10): so many connections at once; who comes beyond that is refused.

use super::call::{Answer, Question};
use super::frame::Frame;
use super::server::PageServer;
use super::wire::{self, Hello, Trust, Welcome};
use crate::node::NodeError;
use sardonyx_base::sync::futex::Mutex;
use sardonyx_base::sync::thread::{self, JoinHandle};
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Plain, Transport};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Connections at once.
pub(super) const CONNECTIONS_MAX: usize = 1024;

#[derive(Debug)]
struct Shared {
    server: PageServer,
    trust: Trust,
    stopping: AtomicBool,
    count: AtomicUsize,
    open: Mutex<Vec<(usize, TcpStream)>>,
}

/// A page server that listens. Dropped, it ends, and its database is closed.
#[derive(Debug)]
pub struct Serving {
    shared: Arc<Shared>,
    address: SocketAddr,
    listening: Option<JoinHandle<()>>,
}

impl Serving {
    /// Listens, over plain TCP; with a token only who has it is heard.
    ///
    /// # Errors
    /// As [`Serving::start_over`].
    pub fn start(
        server: PageServer,
        listener: TcpListener,
        token: Option<Token>,
    ) -> Result<Self, NodeError> {
        Serving::start_over(Arc::new(Plain), server, listener, token)
    }

    /// Listens over this transport, which nodes must use, too ([`LooseOptions::transport`]); with a token only who has
    /// it is heard.
    ///
    /// [`LooseOptions::transport`]: super::LooseOptions::transport
    ///
    /// # Errors
    /// [`NodeError::Network`].
    pub fn start_over(
        transport: Arc<dyn Transport>,
        server: PageServer,
        listener: TcpListener,
        token: Option<Token>,
    ) -> Result<Self, NodeError> {
        let address = listener
            .local_addr()
            .map_err(NodeError::network("listen for nodes"))?;
        let shared = Arc::new(Shared {
            server,
            trust: Trust { transport, token },
            stopping: AtomicBool::new(false),
            count: AtomicUsize::new(0),
            open: Mutex::new(Vec::new()),
        });
        let listens = shared.clone();
        let listening = thread::Builder::new()
            .name("page-server".into())
            .spawn(move || listen(&listens, &listener))
            .map_err(NodeError::system("start a thread"))?;
        Ok(Serving {
            shared,
            address,
            listening: Some(listening),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        for (_, stream) in self.shared.open.lock().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        // Who listens is told by a call.
        let _ = TcpStream::connect(self.address);
        if let Some(listening) = self.listening.take() {
            let _ = listening.join();
        }
    }
}

fn listen(shared: &Arc<Shared>, listener: &TcpListener) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (number, stream) in listener.incoming().enumerate() {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        threads.retain(|thread| !thread.is_finished());
        let Ok(stream) = stream else { continue };
        let serves = shared.clone();
        let body = move || serve(&serves, number, stream);
        let started = thread::Builder::new()
            .name("page-server-node".into())
            .spawn(body);
        threads.extend(started);
    }
    for thread in threads {
        let _ = thread.join();
    }
}

fn serve(shared: &Shared, number: usize, stream: TcpStream) {
    let count = shared.count.fetch_add(1, Ordering::SeqCst);
    if let Ok(again) = stream.try_clone() {
        shared.open.lock().push((number, again));
        // Who ends all connections has set this before it looked which there are.
        if !shared.stopping.load(Ordering::SeqCst) && count < CONNECTIONS_MAX {
            let served = answer_all(shared, stream);
            if let Err(error) = served {
                ended(&error);
            }
        }
    }
    shared.open.lock().retain(|(other, _)| *other != number);
    shared.count.fetch_sub(1, Ordering::SeqCst);
}

/// Says why a connection has ended: one of an untrusted process may be somebody's mistake.
fn ended(error: &NodeError) {
    match error {
        NodeError::Transport(error) => {
            tracing::info!(%error, "a connection to the page server was refused");
        }
        error => tracing::debug!(%error, "a connection to the page server has ended"),
    }
}

fn answer_all(shared: &Shared, socket: TcpStream) -> Result<(), NodeError> {
    let (mut stream, _) = wire::accept(socket, &shared.trust, |hello| match hello {
        Hello::PageServer => Ok(Welcome {
            pages: shared.server.pages(),
            transaction_bytes_max: shared.server.transaction_bytes_max() as u64,
            database: shared.server.database(),
        }),
        Hello::Node { .. } => Err("this is a page server, and no node".into()),
    })?;
    let mut reading = None;
    loop {
        let question = Question::decode(&Frame::read(&mut stream)?)?;
        let answer = shared.server.answer(question, &mut reading);
        let failed = |error: &dyn std::error::Error| Answer::Refused(error.to_string());
        let answer = answer.unwrap_or_else(|error| failed(&error));
        wire::send(&mut stream, &answer.encode()).map_err(NodeError::network("answer a node"))?;
    }
}
