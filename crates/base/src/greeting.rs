//! Greetings: how two processes of a database find out at the start of a connection that they belong together.
//!
//! The caller greets first, with the protocol's version before anything that may change with it, then the token, then
//! what it wants. The other end answers with a welcome or with the reason why not. A greeting is heard only with the
//! token, if one is asked for, and within a time limit.
//!
//! Bytes go over the connection as the transport has them ([`crate::transport`]), which is made before anything is said. Over
//! plain TCP the token keeps out who can connect, not who can listen. A caller that uses another transport than this
//! end is recognised by its first bytes ([`TransportError::OtherProtocol`]).

use crate::frame::{self, FrameError, Reader};
use crate::token::Token;
use crate::transport::{Connection, Transport, TransportError, is_tls, peer_of};
use rustix::io::Errno;
use std::io::{self, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::{Duration, Instant};

const HELLO: u8 = 60;
const WELCOME: u8 = 61;
const REFUSED: u8 = 62;

/// A part of a frame that has so many bytes is sent from where it is.
const COPIED_BYTES_MAX: usize = 64 << 10;

/// Bytes of a greeting, and of its answer.
const SIZES: RangeInclusive<usize> = 1..=16 << 10;

/// The most bytes of a reason.
const REASON_BYTES_MAX: usize = 4 << 10;

/// The transport and the token by which the processes of a database know each other.
#[derive(Clone, Debug)]
pub struct Trust {
    /// It makes the connections.
    pub transport: Arc<dyn Transport>,
    /// The secret that a caller must know, if any.
    pub token: Option<Token>,
}

/// A protocol that begins with a greeting.
#[derive(Clone, Copy, Debug)]
pub struct Protocol {
    /// Its first bytes.
    pub magic: [u8; 8],
    /// Its version; the ends of two versions refuse each other.
    pub version: u32,
    /// So long a connection may take to be made, and so long a greeting may take, however slowly its bytes come.
    pub within: Duration,
}

/// Why a connection has not come so far that it can be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum GreetingError {
    /// There is no connection, or one end does not trust the other.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// Something else came than a greeting or an answer to one.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The connection broke.
    #[error("cannot {operation}: {source}")]
    Broke {
        /// The operation that failed.
        operation: &'static str,
        /// The system's error.
        #[source]
        source: Arc<io::Error>,
    },
    /// The called process refuses the caller.
    #[error("{reason}")]
    Refused {
        /// Why.
        reason: String,
    },
}

impl GreetingError {
    fn broke(operation: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| GreetingError::Broke {
            operation,
            source: Arc::new(source),
        }
    }
}

impl Protocol {
    /// Connects to an address, and greets with these wishes. Returns the connection and the welcome. The connection's
    /// reads and writes have [`Protocol::within`] as time limits.
    ///
    /// # Errors
    /// [`GreetingError`].
    pub fn call(
        &self,
        address: SocketAddr,
        trust: &Trust,
        wishes: &[u8],
    ) -> Result<(Box<dyn Connection>, Vec<u8>), GreetingError> {
        let broke = GreetingError::broke("connect to another process");
        let mut stream = trust.transport.connect(address, self.within)?;
        self.limit(stream.socket()).map_err(&broke)?;
        let token = trust.token.as_ref().map_or(&[][..], Token::as_bytes);
        let (version, length) = (
            self.version.to_le_bytes(),
            (token.len() as u32).to_le_bytes(),
        );
        let hello = [&[HELLO][..], &self.magic, &version, &length, token, wishes];
        send(&mut stream, &hello).map_err(&broke)?;
        let answer = frame::read(&mut self.in_time(&mut stream), &SIZES);
        let answer = answer.map_err(|error| unread(error, &address.to_string()))?;
        self.limit(stream.socket()).map_err(&broke)?;
        match answer.split_first() {
            Some((&WELCOME, welcome)) => Ok((stream, welcome.to_vec())),
            Some((&REFUSED, reason)) => Err(GreetingError::Refused {
                reason: text_of(reason),
            }),
            Some((&kind, _)) => Err(FrameError::Kind { kind }.into()),
            None => Err(FrameError::Closed.into()),
        }
    }

    /// Hears a caller. `check` gets its wishes, and says why not, or gives what the caller is known as, and the welcome.
    /// Reads of the connection then have no time limit; writes have [`Protocol::within`].
    ///
    /// # Errors
    /// [`GreetingError`]; of [`GreetingError::Refused`] the caller was sent the reason.
    pub fn hear<T>(
        &self,
        socket: TcpStream,
        trust: &Trust,
        check: impl FnOnce(&[u8]) -> Result<(T, Vec<u8>), String>,
    ) -> Result<(Box<dyn Connection>, T), GreetingError> {
        let broke = GreetingError::broke("hear a greeting");
        let peer = peer_of(&socket);
        let mut stream = trust.transport.answer(socket, self.within)?;
        self.limit(stream.socket()).map_err(&broke)?;
        let hello = frame::read(&mut self.in_time(&mut stream), &SIZES);
        let hello = hello.map_err(|error| unread(error, &peer))?;
        let checked = self.wishes(&hello, trust.token.as_ref()).and_then(check);
        let sent = match &checked {
            Ok((_, welcome)) => send(&mut stream, &[&[WELCOME], welcome]),
            Err(reason) => {
                let reason = reason.as_bytes();
                let reason = reason.get(..REASON_BYTES_MAX).unwrap_or(reason);
                send(&mut stream, &[&[REFUSED], reason])
            }
        };
        sent.map_err(&broke)?;
        stream.socket().set_read_timeout(None).map_err(&broke)?;
        match checked {
            Ok((caller, _)) => Ok((stream, caller)),
            Err(reason) => Err(GreetingError::Refused { reason }),
        }
    }

    /// Sends at once what is written, and waits for a greeting for so long only.
    fn limit(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(self.within))?;
        stream.set_write_timeout(Some(self.within))
    }

    fn in_time<'s>(&self, stream: &'s mut Box<dyn Connection>) -> InTime<'s> {
        let until = Instant::now() + self.within;
        InTime { stream, until }
    }

    /// The wishes of a greeting, if it is one, and has the token.
    fn wishes<'h>(&self, hello: &'h [u8], token: Option<&Token>) -> Result<&'h [u8], String> {
        let mut reader = Reader(hello);
        let is_hello = reader.u8() == Some(HELLO);
        let found = reader.bytes(self.magic.len()) == Some(&self.magic[..]);
        let version = reader.u32().filter(|_| is_hello && found);
        match version {
            Some(version) if version == self.version => {}
            Some(other) => {
                return Err(format!(
                    "version {other} of the protocol, here it is {}",
                    self.version
                ));
            }
            // Earlier versions of nodes' greetings had the magic elsewhere.
            None if hello.windows(8).any(|bytes| bytes == self.magic) => {
                return Err(format!(
                    "an older version of the protocol, here it is {}",
                    self.version
                ));
            }
            None => return Err("this is no greeting of this protocol".into()),
        }
        let said = reader.counted().ok_or("a greeting that is not whole")?;
        let said = std::str::from_utf8(said).ok();
        let said = said.and_then(|said| Token::new(said).ok());
        match token.is_some() && token != said.as_ref() {
            true => Err("another token".into()),
            false => Ok(reader.0),
        }
    }
}

/// Reads until a moment, however slowly bytes come.
struct InTime<'s> {
    stream: &'s mut Box<dyn Connection>,
    until: Instant,
}

impl Read for InTime<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Errno::AGAIN.into());
        }
        self.stream.socket().set_read_timeout(Some(left))?;
        self.stream.read(into)
    }
}

/// A reason that another process has sent. An earlier version of nodes' greetings has a head of zeroes before it.
fn text_of(reason: &[u8]) -> String {
    let text = String::from_utf8_lossy(reason);
    let shown = text.trim_start_matches(char::is_control);
    match shown.len() == text.len() {
        true => shown.into(),
        false => format!("{shown} (it speaks an older version of the protocol)"),
    }
}

/// Why a greeting could not be read: the transport may know more of it than the frame.
fn unread(error: FrameError, peer: &str) -> GreetingError {
    match &error {
        FrameError::Read(source) => match TransportError::of(source) {
            Some(known) => known.clone().into(),
            None => error.into(),
        },
        FrameError::Length { bytes, .. } if is_tls((*bytes as u32).to_be_bytes()) => {
            let reason =
                "it uses TLS, and this process does not: give both ends the same transport";
            let (peer, reason) = (peer.into(), reason.into());
            TransportError::OtherProtocol { peer, reason }.into()
        }
        _ => error.into(),
    }
}

/// Sends a frame whole.
///
/// # Errors
/// The connection's.
pub fn send(stream: &mut impl Write, body: &[&[u8]]) -> io::Result<()> {
    send_after(stream, frame::head(body), body)
}

/// Sends a frame whole whose body has this checksum, which is not computed again.
///
/// # Errors
/// The connection's.
pub fn send_summed(stream: &mut impl Write, sum: u32, body: &[&[u8]]) -> io::Result<()> {
    send_after(stream, frame::head_of(sum, body), body)
}

/// Sends the head of a frame and its body. Small parts are put together, large ones are sent from where they are. With one call
/// for all, the other end is not woken up for the head alone.
fn send_after(
    stream: &mut impl Write,
    head: [u8; frame::HEAD_BYTES],
    body: &[&[u8]],
) -> io::Result<()> {
    let is_small = |part: &&[u8]| part.len() < COPIED_BYTES_MAX;
    let mut small = head.to_vec();
    for part in body.iter().copied().filter(|part| is_small(part)) {
        small.extend_from_slice(part);
    }
    let (mut pieces, mut left, mut together) = (Vec::new(), &small[..], head.len());
    for part in body.iter().copied() {
        if is_small(&part) {
            together += part.len();
            continue;
        }
        let (before, rest) = left.split_at(together);
        pieces.extend([IoSlice::new(before), IoSlice::new(part)]);
        (left, together) = (rest, 0);
    }
    pieces.push(IoSlice::new(left));
    write_all(stream, &mut pieces)?;
    stream.flush()
}

/// Writes all of these bytes, as many of them at once as the stream takes.
fn write_all(stream: &mut impl Write, mut pieces: &mut [IoSlice<'_>]) -> io::Result<()> {
    // Empty pieces are not counted as written.
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        match stream.write_vectored(pieces) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut pieces, written),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crc32c;
    use crate::transport::Plain;
    use std::net::TcpListener;
    use std::thread;

    const PROTOCOL: Protocol = Protocol {
        magic: *b"Greeting",
        version: 3,
        within: Duration::from_secs(600),
    };

    fn trust(token: Option<&str>) -> Trust {
        Trust {
            transport: Arc::new(Plain),
            token: token.map(|token| Token::new(token).unwrap()),
        }
    }

    /// The results of a caller and of the process that it calls.
    fn meet(
        protocols: [Protocol; 2],
        tokens: [Option<&str>; 2],
    ) -> [Result<Vec<u8>, GreetingError>; 2] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::scope(|scope| {
            let heard = scope.spawn(|| {
                let (socket, _) = listener.accept().unwrap();
                let check = |wishes: &[u8]| match wishes {
                    b"no" => Err("not here".into()),
                    wishes => Ok((wishes.to_vec(), b"welcome".to_vec())),
                };
                let heard = protocols[1].hear(socket, &trust(tokens[1]), check);
                heard.map(|(_, wishes)| wishes)
            });
            let wishes = tokens[0].filter(|token| *token == "no").unwrap_or("wishes");
            let called = protocols[0].call(address, &trust(tokens[0]), wishes.as_bytes());
            [called.map(|(_, welcome)| welcome), heard.join().unwrap()]
        })
    }

    /// Takes at most so many bytes at once.
    struct Slow(Vec<u8>, usize);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(bytes)])
        }

        fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
            let before = self.0.len();
            for piece in pieces {
                let room = self.1 - (self.0.len() - before);
                self.0.extend_from_slice(&piece[..piece.len().min(room)]);
            }
            Ok(self.0.len() - before)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_is_sent_in_large_and_small_parts_is_one_frame() {
        let large = vec![3; COPIED_BYTES_MAX];
        for body in [
            &[&b"head"[..], &large, b"tail", &large][..],
            &[&large, &large, b"", b"tail"],
            &[&large],
            &[b"small"],
            &[],
        ] {
            let (mut sent, mut framed) = (Vec::new(), Vec::new());
            send(&mut sent, body).unwrap();
            frame::encode(&mut framed, body);
            assert!(sent == framed);
            for most in [1, 1000, COPIED_BYTES_MAX, 3 * COPIED_BYTES_MAX] {
                let mut stream = Slow(Vec::new(), most);
                send_summed(&mut stream, crc32c::crc32c(&body.concat()), body).unwrap();
                assert!(stream.0 == framed, "{most} bytes at once");
            }
        }
    }

    #[test]
    fn a_caller_is_heard_with_the_token_and_the_version() {
        for tokens in [[None, None], [Some("a"), Some("a")], [Some("a"), None]] {
            let [called, heard] = meet([PROTOCOL; 2], tokens);
            assert_eq!(called.unwrap(), b"welcome");
            assert_eq!(heard.unwrap(), b"wishes");
        }
        let older = Protocol {
            version: 2,
            ..PROTOCOL
        };
        let other = Protocol {
            magic: *b"Otherone",
            ..PROTOCOL
        };
        let cases = [
            ([PROTOCOL; 2], [None, Some("a")], "another token"),
            ([PROTOCOL; 2], [Some("b"), Some("a")], "another token"),
            ([PROTOCOL; 2], [Some("no"), None], "not here"),
            (
                [older, PROTOCOL],
                [None; 2],
                "version 2 of the protocol, here it is 3",
            ),
            (
                [other, PROTOCOL],
                [None; 2],
                "this is no greeting of this protocol",
            ),
        ];
        for (protocols, tokens, wanted) in cases {
            for result in meet(protocols, tokens) {
                let error = result.unwrap_err();
                assert!(matches!(error, GreetingError::Refused { .. }), "{error}");
                assert_eq!(error.to_string(), wanted);
            }
        }
    }

    #[test]
    fn greetings_of_earlier_nodes_are_refused_in_words_in_both_directions() {
        // Behind the kind they have a head of 20 bytes.
        let hello = [&[HELLO][..], &[0; 20], &PROTOCOL.magic, &[2, 0, 0, 0]].concat();
        let refused = PROTOCOL.wishes(&hello, None).unwrap_err();
        assert_eq!(refused, "an older version of the protocol, here it is 3");
        let reason = [&[0; 20][..], b"version 3 of the protocol"].concat();
        assert_eq!(
            text_of(&reason),
            "version 3 of the protocol (it speaks an older version of the protocol)"
        );
    }

    #[test]
    fn a_greeting_whose_bytes_come_slowly_ends_in_time() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        caller.write_all(&[0, 0, 0]).unwrap();
        let (socket, _) = listener.accept().unwrap();
        let protocol = Protocol {
            within: Duration::from_millis(1),
            ..PROTOCOL
        };
        let heard = protocol.hear(socket, &trust(None), |_| Ok(((), Vec::new())));
        let error = heard.unwrap_err();
        assert!(
            matches!(error, GreetingError::Frame(FrameError::Silent)),
            "{error}"
        );
    }
}
