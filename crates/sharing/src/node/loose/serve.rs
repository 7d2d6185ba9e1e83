//! The page server's connections: a thread for each.
//!
//! Bound (I10): so many connections at once; more are refused.

use super::call::{Answer, Question};
use super::frame::Frame;
use super::server::PageServer;
use super::wire::{self, Hello, Trust, Welcome};
use crate::node::NodeError;
use sardonyx_base::listening::Listening;
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Plain, Transport};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

/// Connections at once.
pub(super) const CONNECTIONS_MAX: usize = 1024;

/// A page server that listens. Dropped, it ends, and its database is closed.
#[derive(Debug)]
pub struct Serving(Listening);

impl Serving {
    /// Listens, over plain TCP; with a token, only nodes that have it are accepted.
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

    /// Listens over this transport, which nodes must use, too ([`LooseOptions::transport`]); with a token, only nodes
    /// that have it are accepted.
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
        let trust = Trust { transport, token };
        let serve = move |stream| {
            if let Err(error) = answer_all(&server, &trust, stream) {
                ended(&error);
            }
        };
        let listening = Listening::start("page-server", listener, CONNECTIONS_MAX, serve);
        Ok(Serving(
            listening.map_err(NodeError::network("listen for nodes"))?,
        ))
    }

    /// The address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }
}

/// Says why a connection has ended: a connection of an untrusted process may be a mistake.
fn ended(error: &NodeError) {
    match error {
        NodeError::Transport(error) => {
            tracing::info!(%error, "a connection to the page server was refused");
        }
        error => tracing::debug!(%error, "a connection to the page server has ended"),
    }
}

fn answer_all(server: &PageServer, trust: &Trust, socket: TcpStream) -> Result<(), NodeError> {
    let (mut stream, _) = wire::accept(socket, trust, |hello| match hello {
        Hello::PageServer => Ok(Welcome {
            pages: server.pages(),
            transaction_bytes_max: server.transaction_bytes_max() as u64,
            database: server.database(),
        }),
        Hello::Node { .. } => Err("this is a page server, and no node".into()),
    })?;
    let mut reading = None;
    loop {
        let question = Question::decode(&Frame::read(&mut stream)?)?;
        let answer = server.answer(question, &mut reading);
        let failed = |error: &dyn std::error::Error| Answer::Refused(error.to_string());
        let answer = answer.unwrap_or_else(|error| failed(&error));
        wire::send(&mut stream, &answer.encode()).map_err(NodeError::network("answer a node"))?;
    }
}
