//! Connections of nodes: their greetings ([`sardonyx_base::greeting`]), and the pause after a failure.
//!
//! After its greeting a connection between nodes is used in one direction, and one to the page server for questions and
//! their answers.

use super::frame::{Frame, FrameError, Reader};
use crate::node::NodeError;
use crate::protocol::NodeId;
use sardonyx_base::greeting::{GreetingError, Protocol};
use sardonyx_base::transport::{Connection, TransportError};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

pub use sardonyx_base::greeting::Trust;

/// Version 3 has the greeting of all protocols.
const PROTOCOL: Protocol = Protocol {
    magic: *b"SardonyN",
    version: 3,
    within: Duration::from_secs(2),
};

/// So long after a failure nothing is tried.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The pause after one of the two did not trust the other, which an operator must mend.
const TRUST_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// True if one of the two ends does not trust the other, or they use different transports.
pub fn is_of_trust(error: &NodeError) -> bool {
    match error {
        NodeError::Transport(TransportError::Failed { .. }) => false,
        NodeError::Transport(_) => true,
        _ => false,
    }
}

/// The pause after this before a connection is tried again.
pub fn again_after(error: &NodeError) -> Duration {
    match is_of_trust(error) {
        true => TRUST_AGAIN_AFTER,
        false => AGAIN_AFTER,
    }
}

/// The two ends of a greeting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hello {
    /// A node that will send messages to a node.
    Node {
        /// The sender.
        from: NodeId,
        /// To whom.
        to: NodeId,
    },
    /// A client with requests to the page server.
    PageServer,
}

impl Hello {
    fn encode(self) -> Vec<u8> {
        let (role, from, to) = match self {
            Hello::Node { from, to } => (0, from.0, to.0),
            Hello::PageServer => (1, 0, 0),
        };
        let mut wishes = vec![role];
        wishes.extend_from_slice(&from.to_le_bytes());
        wishes.extend_from_slice(&to.to_le_bytes());
        wishes
    }

    fn decode(wishes: &[u8]) -> Result<Hello, String> {
        let mut reader = Reader(wishes);
        let mut read = || {
            let (role, from, to) = (reader.u8()?, reader.u16()?, reader.u16()?);
            reader.end()?;
            Some((role, NodeId(from), NodeId(to)))
        };
        match read().ok_or("a greeting that is not whole")? {
            (0, from, to) => Ok(Hello::Node { from, to }),
            (1, ..) => Ok(Hello::PageServer),
            (role, ..) => Err(format!("a greeting of role {role}")),
        }
    }
}

/// The description of the page server in a welcome; of a node it is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Welcome {
    pub pages: u64,
    /// The most bytes of redo of a transaction.
    pub transaction_bytes_max: u64,
    pub database: u64,
}

impl Welcome {
    fn encode(self) -> Vec<u8> {
        let words = [self.pages, self.transaction_bytes_max, self.database];
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }

    fn decode(bytes: &[u8]) -> Option<Welcome> {
        let mut reader = Reader(bytes);
        Some(Welcome {
            pages: reader.u64()?,
            transaction_bytes_max: reader.u64()?,
            database: reader.u64()?,
        })
    }
}

/// Connects, and greets.
///
/// # Errors
/// [`NodeError::Transport`]; [`NodeError::Network`]; [`NodeError::Refused`], with the other end's reason.
pub fn connect(
    address: SocketAddr,
    hello: Hello,
    trust: &Trust,
) -> Result<(Box<dyn Connection>, Welcome), NodeError> {
    let (stream, welcome) = PROTOCOL.call(address, trust, &hello.encode())?;
    match Welcome::decode(&welcome) {
        Some(welcome) => Ok((stream, welcome)),
        None => Err(FrameError::Content {
            kind: 0,
            bytes: welcome.len(),
        }
        .into()),
    }
}

/// Receives a greeting; `check` returns the reason for a refusal, or the welcome.
///
/// # Errors
/// [`NodeError::Refused`], with the reason that the other end was sent; [`NodeError::Frame`]; [`NodeError::Network`].
pub fn accept(
    socket: TcpStream,
    trust: &Trust,
    check: impl FnOnce(Hello) -> Result<Welcome, String>,
) -> Result<(Box<dyn Connection>, Hello), NodeError> {
    let heard = PROTOCOL.hear(socket, trust, |wishes| {
        let hello = Hello::decode(wishes)?;
        Ok((hello, check(hello)?.encode()))
    });
    Ok(heard?)
}

/// Sends a frame whole.
pub fn send(stream: &mut impl Write, frame: &Frame) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    stream.write_all(&bytes)?;
    stream.flush()
}

impl From<GreetingError> for NodeError {
    fn from(error: GreetingError) -> Self {
        match error {
            GreetingError::Transport(error) => error.into(),
            GreetingError::Frame(error) => error.into(),
            GreetingError::Broke { operation, source } => NodeError::Network { operation, source },
            GreetingError::Refused { reason } => NodeError::Refused { reason },
            error => NodeError::Refused {
                reason: error.to_string(),
            },
        }
    }
}

impl NodeError {
    /// For an error of a connection.
    pub(in crate::node) fn network(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| NodeError::Network {
            operation,
            source: Arc::new(source),
        }
    }
}
