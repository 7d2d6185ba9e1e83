//! Connections: who greets whom, over what, and with what token.
//!
//! Who connects greets first, with the protocol's version before anything that may change with it, and says who it is
//! and what it wants; who was called answers with a welcome or with the reason why not. A greeting is heard only with
//! the token, if one is asked for, and within a time limit. After that a connection between nodes is used in one
//! direction, and one to the page server for questions and their answers.
//!
//! What goes over a connection is the transport's ([`sardonyx_base::transport`]), which is made before anything is said:
//! over plain TCP the token keeps out who can connect, not who can listen. Who uses another transport than this end is
//! told apart by the first bytes ([`TransportError::OtherProtocol`]).

use super::frame::{Frame, FrameError, Reader};
use crate::node::NodeError;
use crate::protocol::NodeId;
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Connection, Transport, TransportError, is_tls, peer_of};
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The version of the protocol.
const VERSION: u32 = 2;
const MAGIC: &[u8; 8] = b"SardonyN";

const HELLO: u8 = 60;
const WELCOME: u8 = 61;
const REFUSED: u8 = 62;

/// So long a greeting may take, and so long a connection may take to be made.
pub const GREETING_MAX: Duration = Duration::from_secs(2);

/// So long after a failure nothing is tried.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// So long nothing is tried after one of the two did not trust the other, which somebody must mend.
const TRUST_AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Whether one of the two ends does not trust the other, or they use different transports.
pub fn is_of_trust(error: &NodeError) -> bool {
    match error {
        NodeError::Transport(TransportError::Failed { .. }) => false,
        NodeError::Transport(_) => true,
        _ => false,
    }
}

/// How long to wait after this before a connection is tried again.
pub fn again_after(error: &NodeError) -> Duration {
    match is_of_trust(error) {
        true => TRUST_AGAIN_AFTER,
        false => AGAIN_AFTER,
    }
}

/// How the processes of a database know each other.
#[derive(Clone, Debug)]
pub struct Trust {
    /// What connections are made of.
    pub transport: Arc<dyn Transport>,
    /// What who connects must know, if anything.
    pub token: Option<Token>,
}

/// Who greets whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hello {
    /// A node that will send messages to a node.
    Node {
        /// Who.
        from: NodeId,
        /// To whom.
        to: NodeId,
    },
    /// Somebody with questions to the page server.
    PageServer,
}

/// What a welcome says of the page server; of a node it is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Welcome {
    /// Pages that there are.
    pub pages: u64,
    /// The most bytes of redo of a transaction.
    pub transaction_bytes_max: u64,
    /// Which database it has.
    pub database: u64,
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
    let network = NodeError::network("connect to another process");
    let mut stream = trust.transport.connect(address, GREETING_MAX)?;
    limit(stream.socket()).map_err(&network)?;
    let mut content = MAGIC.to_vec();
    content.extend_from_slice(&VERSION.to_le_bytes());
    let (role, from, to) = match hello {
        Hello::Node { from, to } => (0, from.0, to.0),
        Hello::PageServer => (1, 0, 0),
    };
    content.push(role);
    content.extend_from_slice(&from.to_le_bytes());
    content.extend_from_slice(&to.to_le_bytes());
    let token = trust.token.as_ref().map_or(&[][..], Token::as_bytes);
    content.extend_from_slice(&(token.len() as u32).to_le_bytes());
    content.extend_from_slice(token);
    let hello = Frame {
        kind: HELLO,
        content,
        ..Frame::default()
    };
    send(&mut stream, &hello).map_err(&network)?;
    let answer = Frame::read(&mut stream).map_err(|error| unread(error, &address.to_string()))?;
    let mut reader = Reader(&answer.content);
    let mut welcome = || {
        Some(Welcome {
            pages: reader.u64()?,
            transaction_bytes_max: reader.u64()?,
            database: reader.u64()?,
        })
    };
    match answer.kind {
        WELCOME => welcome()
            .map(|welcome| (stream, welcome))
            .ok_or_else(|| answer.error().into()),
        REFUSED => Err(NodeError::Refused {
            reason: String::from_utf8_lossy(&answer.content).into_owned(),
        }),
        kind => Err(FrameError::Kind { kind }.into()),
    }
}

/// Sends at once what is written, and waits for a greeting for so long only.
fn limit(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(GREETING_MAX))?;
    stream.set_write_timeout(Some(GREETING_MAX))
}

/// Hears who greets; `check` says why not, or what the welcome says.
///
/// # Errors
/// [`NodeError::Refused`]: the other end was told. [`NodeError::Frame`] and [`NodeError::Network`].
pub fn accept(
    socket: TcpStream,
    trust: &Trust,
    check: impl FnOnce(Hello) -> Result<Welcome, String>,
) -> Result<(Box<dyn Connection>, Hello), NodeError> {
    let network = NodeError::network("hear a greeting");
    let peer = peer_of(&socket);
    let mut stream = trust.transport.answer(socket, GREETING_MAX)?;
    limit(stream.socket()).map_err(&network)?;
    let frame = Frame::read(&mut stream).map_err(|error| unread(error, &peer))?;
    let checked =
        read_hello(&frame, trust.token.as_ref()).and_then(|hello| Ok((hello, check(hello)?)));
    let (kind, content) = match &checked {
        Ok((_, welcome)) => {
            let words = [
                welcome.pages,
                welcome.transaction_bytes_max,
                welcome.database,
            ];
            (
                WELCOME,
                words.into_iter().flat_map(u64::to_le_bytes).collect(),
            )
        }
        Err(reason) => (REFUSED, reason.as_bytes().to_vec()),
    };
    let answer = Frame {
        kind,
        content,
        ..Frame::default()
    };
    send(&mut stream, &answer).map_err(&network)?;
    stream.socket().set_read_timeout(None).map_err(&network)?;
    match checked {
        Ok((hello, _)) => Ok((stream, hello)),
        Err(reason) => Err(NodeError::Refused { reason }),
    }
}

fn read_hello(frame: &Frame, token: Option<&Token>) -> Result<Hello, String> {
    let mut reader = Reader(&frame.content);
    let known = frame.kind == HELLO && reader.bytes(MAGIC.len()) == Some(MAGIC);
    let version = reader.u32().filter(|_| known);
    match version {
        None => return Err("this is no greeting of a node".into()),
        Some(VERSION) => {}
        Some(other) => {
            return Err(format!(
                "version {other} of the protocol, here it is {VERSION}"
            ));
        }
    }
    let mut rest = || {
        let (role, from, to) = (reader.u8()?, reader.u16()?, reader.u16()?);
        let length = reader.u32()? as usize;
        let said = reader.bytes(length)?;
        reader.end()?;
        Some((role, NodeId(from), NodeId(to), said))
    };
    let (role, from, to, said) = rest().ok_or("a greeting that is not whole")?;
    let said = std::str::from_utf8(said)
        .ok()
        .and_then(|said| Token::new(said).ok());
    if token.is_some() && token != said.as_ref() {
        return Err("another token".into());
    }
    match role {
        0 => Ok(Hello::Node { from, to }),
        1 => Ok(Hello::PageServer),
        role => Err(format!("a greeting of role {role}")),
    }
}

/// Why a greeting could not be read: the transport may know more of it than the frame.
fn unread(error: FrameError, peer: &str) -> NodeError {
    match &error {
        FrameError::Read(source) => match TransportError::of(source) {
            Some(known) => known.clone().into(),
            None => error.into(),
        },
        FrameError::Length { bytes } if is_tls((*bytes as u32).to_be_bytes()) => {
            let reason =
                "it uses TLS, and this process does not: give both ends the same transport";
            let (peer, reason) = (peer.into(), reason.into());
            TransportError::OtherProtocol { peer, reason }.into()
        }
        _ => error.into(),
    }
}

/// Sends a frame whole.
pub fn send(stream: &mut impl Write, frame: &Frame) -> io::Result<()> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    stream.write_all(&bytes)?;
    stream.flush()
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
