//! The messages of both sides, and their bytes.
//!
//! | kind | message | fields after the kind |
//! | ---: | --- | --- |
//! | 1 | hello | version u16 |
//! | 2 | call | number u64, procedure u16, account u64, amount i64, teller u32, branch u32, code u64 |
//! | 3 | welcome | version u16, client u16, window u32, accounts u64, tellers u64, branches u64 |
//! | 4 | answer | number u64, outcome u8 |
//! | 5 | farewell | reason u8 |

use super::frame::{self, ProtocolError};
use crate::debit_credit::requests::Request;
use std::fmt;

/// The version of this protocol. Since 2 a call has the account's code.
pub const VERSION: u16 = 2;

/// The number of the debit-credit procedure.
pub const DEBIT_CREDIT: u16 = 1;

/// Bytes of a call's frame.
pub const CALL_BYTES: usize = frame::HEADER_BYTES + 1 + 8 + 2 + size_of::<Request>();

/// In both directions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Message {
    /// The client's first message.
    Hello {
        /// The client's version.
        version: u16,
    },
    /// A request.
    Call {
        /// The client's running number, from 0.
        number: u64,
        /// The procedure to run.
        procedure: u16,
        /// The procedure's argument.
        request: Request,
    },
    /// The server's first message.
    Welcome(Welcome),
    /// The outcome of a request.
    Answer {
        /// The request's number.
        number: u64,
        /// Committed or refused, and why.
        outcome: Answer,
    },
    /// The server's last message.
    Farewell(Farewell),
}

/// The server's first message to a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Welcome {
    /// The server's version.
    pub version: u16,
    /// The client's number, which is in the upper 16 bits of its transactions' numbers.
    pub client: u16,
    /// The most requests that it may have unanswered before it reads answers.
    pub window: u32,
    /// Accounts, tellers and branches of the bank.
    pub scale: [u64; 3],
}

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $code:literal: $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum $name {
            $($(#[$each])* $variant = $code,)*
        }

        impl $name {
            fn of(code: u8) -> Option<Self> {
                match code {
                    $($code => Some($name::$variant),)*
                    _ => None,
                }
            }

            /// All variants.
            pub const ALL: &[$name] = &[$($name::$variant,)*];
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $($name::$variant => $text,)*
                })
            }
        }
    };
}

codes! {
    /// The outcome of a request.
    Answer {
        /// It is committed and on stable storage.
        Committed = 0: "committed",
        /// Undone: the bank has no such account.
        UnknownAccount = 1: "there is no such account",
        /// Undone: the bank has no such teller.
        UnknownTeller = 2: "there is no such teller",
        /// Undone: the bank has no such branch.
        UnknownBranch = 3: "there is no such branch",
        /// Undone: access was denied.
        Denied = 4: "access is denied",
        /// Undone: a balance would overflow.
        Overflow = 5: "the balance would overflow",
        /// Undone, or not run: the database refused it.
        Refused = 6: "the database refused it",
    }
}

codes! {
    /// The reason why the server ends a connection.
    Farewell {
        /// The server ends.
        Closing = 1: "it ends",
        /// The client's message cannot be understood.
        Misunderstood = 2: "it could not understand what it was sent",
        /// The client has another version of the protocol.
        Version = 3: "it speaks another version of the protocol",
        /// The limit of connections is reached.
        Crowded = 4: "it has as many clients as it may have",
    }
}

const HELLO: u8 = 1;
const CALL: u8 = 2;
const WELCOME: u8 = 3;
const ANSWER: u8 = 4;
const FAREWELL: u8 = 5;

impl Message {
    /// Appends its frame.
    #[inline]
    pub fn put(&self, bytes: &mut Vec<u8>) {
        frame::put(bytes, |bytes| match *self {
            Message::Hello { version } => {
                bytes.push(HELLO);
                bytes.extend_from_slice(&version.to_le_bytes());
            }
            Message::Call {
                number,
                procedure,
                request,
            } => {
                bytes.push(CALL);
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes.extend_from_slice(&procedure.to_le_bytes());
                bytes.extend_from_slice(&request.account.to_le_bytes());
                bytes.extend_from_slice(&request.amount.to_le_bytes());
                bytes.extend_from_slice(&request.teller.to_le_bytes());
                bytes.extend_from_slice(&request.branch.to_le_bytes());
                bytes.extend_from_slice(&request.code.to_le_bytes());
            }
            Message::Welcome(welcome) => {
                bytes.push(WELCOME);
                bytes.extend_from_slice(&welcome.version.to_le_bytes());
                bytes.extend_from_slice(&welcome.client.to_le_bytes());
                bytes.extend_from_slice(&welcome.window.to_le_bytes());
                for count in welcome.scale {
                    bytes.extend_from_slice(&count.to_le_bytes());
                }
            }
            Message::Answer { number, outcome } => {
                bytes.push(ANSWER);
                bytes.extend_from_slice(&number.to_le_bytes());
                bytes.push(outcome as u8);
            }
            Message::Farewell(reason) => bytes.extend_from_slice(&[FAREWELL, reason as u8]),
        });
    }

    /// Decodes a frame's message.
    ///
    /// # Errors
    /// [`ProtocolError::Message`].
    #[inline]
    pub fn decode(message: &[u8]) -> Result<Message, ProtocolError> {
        let decoded = message.split_first().and_then(|(&kind, fields)| {
            let mut fields = Fields(fields);
            let decoded = match kind {
                HELLO => Message::Hello {
                    version: fields.u16()?,
                },
                CALL => Message::Call {
                    number: fields.u64()?,
                    procedure: fields.u16()?,
                    request: Request {
                        account: fields.u64()?,
                        amount: fields.u64()? as i64,
                        teller: fields.u32()?,
                        branch: fields.u32()?,
                        code: fields.u64()?,
                    },
                },
                WELCOME => Message::Welcome(Welcome {
                    version: fields.u16()?,
                    client: fields.u16()?,
                    window: fields.u32()?,
                    scale: [fields.u64()?, fields.u64()?, fields.u64()?],
                }),
                ANSWER => Message::Answer {
                    number: fields.u64()?,
                    outcome: Answer::of(fields.u8()?)?,
                },
                FAREWELL => Message::Farewell(Farewell::of(fields.u8()?)?),
                _ => return None,
            };
            fields.0.is_empty().then_some(decoded)
        });
        decoded.ok_or_else(|| ProtocolError::Message {
            kind: message.first().copied().unwrap_or(0),
            bytes: message.len(),
        })
    }

    /// The variant's name.
    pub fn name(&self) -> &'static str {
        match self {
            Message::Hello { .. } => "a hello",
            Message::Call { .. } => "a call",
            Message::Welcome(_) => "a welcome",
            Message::Answer { .. } => "an answer",
            Message::Farewell(_) => "a farewell",
        }
    }
}

/// The bytes of a message that are not read yet.
struct Fields<'a>(&'a [u8]);

macro_rules! number {
    ($name:ident) => {
        #[inline]
        fn $name(&mut self) -> Option<$name> {
            let (number, rest) = self.0.split_first_chunk()?;
            self.0 = rest;
            Some($name::from_le_bytes(*number))
        }
    };
}

impl Fields<'_> {
    number!(u8);
    number!(u16);
    number!(u32);
    number!(u64);
}
