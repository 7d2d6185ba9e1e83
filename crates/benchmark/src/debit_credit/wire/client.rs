//! A client's connection: requests are sent many at a time, answers come in order.

use super::address::{Address, Stream};
use super::frame::{FRAME_BYTES_MAX, ProtocolError};
use super::message::{Answer, CALL_BYTES, DEBIT_CREDIT, Farewell, Message, VERSION, Welcome};
use super::session::ClientSession;
use crate::debit_credit::requests::Request;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// The time that a client waits for its server.
const PATIENCE: Duration = Duration::from_secs(60);

/// The most bytes that are received at once.
const RECEIVED_BYTES_MAX: usize = 256 << 10;

/// The reason why a client cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection was refused.
    #[error("connecting to {address}: {source}")]
    Connect {
        /// The server's address.
        address: Address,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The connection failed.
    #[error("the connection to the server: {0}")]
    Connection(#[from] io::Error),
    /// The server closed the connection, and some requests were not answered: their fate is unknown.
    #[error(
        "the server closed the connection; {unanswered} requests were not answered, and their fate is unknown"
    )]
    Gone {
        /// The number of unanswered requests.
        unanswered: u64,
    },
    /// The server's message is not valid.
    #[error("the server: {0}")]
    Protocol(#[from] ProtocolError),
    /// The server did not send anything for a long time.
    #[error("the server did not answer for {} s", PATIENCE.as_secs())]
    Silent,
}

impl ClientError {
    /// Returns true if the server announced its end.
    pub fn is_closing(&self) -> bool {
        matches!(
            self,
            ClientError::Protocol(ProtocolError::Ended(Farewell::Closing))
        )
    }
}

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    sending: Sending,
    receiving: Receiving,
}

/// The half that sends.
#[derive(Debug)]
pub struct Sending {
    stream: Stream,
    bytes: Vec<u8>,
    sent: u64,
}

/// The half that receives.
#[derive(Debug)]
pub struct Receiving {
    stream: Stream,
    session: ClientSession,
    bytes: Vec<u8>,
    /// Bytes of a frame whose end has not arrived.
    rest: usize,
    welcome: Welcome,
}

impl Client {
    /// Connects, and sends the first message.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn connect(address: &Address) -> Result<Client, ClientError> {
        let connect = || -> io::Result<(Stream, Stream)> {
            let stream = address.connect()?;
            stream.set_read_timeout(Some(PATIENCE))?;
            let other = stream.try_clone()?;
            Ok((stream, other))
        };
        let (stream, other) = connect().map_err(|source| ClientError::Connect {
            address: address.clone(),
            source,
        })?;
        let mut sending = Sending {
            stream,
            bytes: Vec::new(),
            sent: 0,
        };
        Message::Hello { version: VERSION }.put(&mut sending.bytes);
        // A client that the server sends away may be unable to send; the server's earlier message gives the reason.
        let greeted = sending.send();
        let welcome = Welcome {
            version: VERSION,
            client: 0,
            window: 0,
            scale: [0; 3],
        };
        let mut receiving = Receiving {
            stream: other,
            session: ClientSession::default(),
            bytes: vec![0; FRAME_BYTES_MAX + RECEIVED_BYTES_MAX],
            rest: 0,
            welcome,
        };
        while receiving.session.welcome().is_none() {
            if let Err(told) = receiving.receive(0, |_| ()) {
                return Err(match (greeted, told) {
                    (Err(error), ClientError::Gone { .. }) => error,
                    (_, told) => told,
                });
            }
        }
        greeted?;
        receiving.welcome = receiving.session.welcome().unwrap_or(welcome);
        Ok(Client { sending, receiving })
    }

    /// The server's first message.
    pub fn welcome(&self) -> Welcome {
        self.receiving.welcome
    }

    /// Requests that were sent and not answered.
    pub fn unanswered(&self) -> u64 {
        self.sending.sent - self.answered()
    }

    /// Requests that were answered: they are on stable storage, unless refused.
    pub fn answered(&self) -> u64 {
        self.receiving.answered()
    }

    /// Sends requests.
    ///
    /// # Errors
    /// [`ClientError::Connection`].
    pub fn send(&mut self, requests: impl IntoIterator<Item = Request>) -> Result<(), ClientError> {
        self.sending.add(requests);
        self.sending.send()
    }

    /// Waits for answers; `each` is called with each one.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn receive(&mut self, each: impl FnMut(Answer)) -> Result<(), ClientError> {
        let unanswered = self.unanswered();
        self.receiving.receive(unanswered, each)
    }

    /// The two halves, for two threads.
    pub fn split(self) -> (Sending, Receiving) {
        (self.sending, self.receiving)
    }
}

impl Sending {
    /// Adds requests to what will be sent.
    pub fn add(&mut self, requests: impl IntoIterator<Item = Request>) {
        let requests = requests.into_iter();
        self.bytes
            .reserve(requests.size_hint().0.min(4096) * CALL_BYTES);
        for request in requests {
            let (number, procedure) = (self.sent, DEBIT_CREDIT);
            self.sent += 1;
            Message::Call {
                number,
                procedure,
                request,
            }
            .put(&mut self.bytes);
        }
    }

    /// Sends the added requests. Waits while the server reads nothing.
    ///
    /// # Errors
    /// [`ClientError::Connection`].
    pub fn send(&mut self) -> Result<(), ClientError> {
        (&self.stream).write_all(&self.bytes)?;
        self.bytes.clear();
        Ok(())
    }

    /// Requests so far.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Ends the requests: the server ends the connection when all are answered.
    pub fn finish(&self) {
        self.stream.shutdown(Shutdown::Write);
    }
}

impl Receiving {
    /// Requests that were answered.
    pub fn answered(&self) -> u64 {
        self.session.answered()
    }

    /// Waits for answers; `each` is called with each one.
    ///
    /// # Errors
    /// [`ClientError`]; `unanswered` is the number in [`ClientError::Gone`].
    pub fn receive(
        &mut self,
        unanswered: u64,
        each: impl FnMut(Answer),
    ) -> Result<(), ClientError> {
        let count = match (&self.stream).read(&mut self.bytes[self.rest..]) {
            Ok(0) => return Err(ClientError::Gone { unanswered }),
            Ok(count) => self.rest + count,
            Err(error) => match error.kind() {
                io::ErrorKind::Interrupted => return Ok(()),
                io::ErrorKind::WouldBlock => return Err(ClientError::Silent),
                io::ErrorKind::ConnectionReset => return Err(ClientError::Gone { unanswered }),
                _ => return Err(error.into()),
            },
        };
        let heard = self.session.hear(&self.bytes[..count], each)?;
        self.bytes.copy_within(heard..count, 0);
        self.rest = count - heard;
        Ok(())
    }
}
