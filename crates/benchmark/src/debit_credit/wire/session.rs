//! The order of both sides' messages: without a socket, a thread or a clock.

use super::frame::{self, ProtocolError};
use super::message::{Answer, DEBIT_CREDIT, Message, VERSION, Welcome};
use crate::debit_credit::transaction::Numbered;

/// The messages that a server has received of a client.
#[derive(Clone, Debug)]
pub struct ServerSession {
    client: u16,
    greeted: bool,
    next: u64,
}

/// The messages that a client has received of its server.
#[derive(Clone, Debug, Default)]
pub struct ClientSession {
    welcome: Option<Welcome>,
    next: u64,
}

impl ServerSession {
    /// The session of a client that has sent nothing yet.
    pub fn new(client: u16) -> Self {
        ServerSession {
            client,
            greeted: false,
            next: 0,
        }
    }

    /// Returns true if the client sent its first message.
    pub fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Reads all whole frames of `bytes`; calls are appended. Returns the number of bytes read.
    ///
    /// # Errors
    /// The fault of the first wrong frame; those before it were read.
    pub fn hear(
        &mut self,
        bytes: &[u8],
        calls: &mut Vec<Numbered>,
    ) -> Result<usize, ProtocolError> {
        let mut heard = 0;
        while let Some((message, length)) = frame::first(&bytes[heard..])? {
            match Message::decode(message)? {
                Message::Call {
                    number,
                    procedure,
                    request,
                } if self.greeted => {
                    if procedure != DEBIT_CREDIT {
                        return Err(ProtocolError::Procedure { found: procedure });
                    }
                    // The transaction's number has 48 bits for it.
                    if number != self.next || number >> 48 != 0 {
                        return Err(ProtocolError::Number {
                            found: number,
                            expected: self.next,
                        });
                    }
                    self.next += 1;
                    calls.push(Numbered {
                        transaction: (u64::from(self.client) << 48) | number,
                        request,
                    });
                }
                Message::Hello { version } if !self.greeted => {
                    check(version)?;
                    self.greeted = true;
                }
                other => return Err(ProtocolError::Unexpected { what: other.name() }),
            }
            heard += length;
        }
        Ok(heard)
    }
}

impl ClientSession {
    /// The server's first message; `None` before it.
    pub fn welcome(&self) -> Option<Welcome> {
        self.welcome
    }

    /// The number of answered requests.
    pub fn answered(&self) -> u64 {
        self.next
    }

    /// Reads all whole frames of `bytes`; `each` is called with each answer, in order. Returns the number of bytes
    /// read.
    ///
    /// # Errors
    /// The fault of the first wrong frame; that the server ended the connection.
    pub fn hear(
        &mut self,
        bytes: &[u8],
        mut each: impl FnMut(Answer),
    ) -> Result<usize, ProtocolError> {
        let mut heard = 0;
        while let Some((message, length)) = frame::first(&bytes[heard..])? {
            match Message::decode(message)? {
                Message::Answer { number, outcome } if self.welcome.is_some() => {
                    if number != self.next {
                        return Err(ProtocolError::Number {
                            found: number,
                            expected: self.next,
                        });
                    }
                    self.next += 1;
                    each(outcome);
                }
                Message::Welcome(welcome) if self.welcome.is_none() => {
                    check(welcome.version)?;
                    self.welcome = Some(welcome);
                }
                Message::Farewell(reason) => return Err(ProtocolError::Ended(reason)),
                other => return Err(ProtocolError::Unexpected { what: other.name() }),
            }
            heard += length;
        }
        Ok(heard)
    }
}

fn check(found: u16) -> Result<(), ProtocolError> {
    match found == VERSION {
        true => Ok(()),
        false => Err(ProtocolError::Version {
            found,
            expected: VERSION,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::message::Farewell;
    use super::*;
    use crate::debit_credit::requests::{Generator, Scale};
    use proptest::prelude::*;

    fn client_bytes(count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        Message::Hello { version: VERSION }.put(&mut bytes);
        for (number, request) in Generator::standard(Scale::paper(), 3)
            .take(count)
            .enumerate()
        {
            let number = number as u64;
            let procedure = DEBIT_CREDIT;
            Message::Call {
                number,
                procedure,
                request,
            }
            .put(&mut bytes);
        }
        bytes
    }

    fn server_bytes(count: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let welcome = Welcome {
            version: VERSION,
            client: 7,
            window: 100,
            scale: [15_000, 150, 15],
        };
        Message::Welcome(welcome).put(&mut bytes);
        for number in 0..count {
            let outcome = Answer::ALL[number as usize % Answer::ALL.len()];
            Message::Answer { number, outcome }.put(&mut bytes);
        }
        bytes
    }

    /// The calls that a server reads when the bytes arrive in these portions.
    fn heard(portions: &[&[u8]]) -> Result<Vec<u64>, ProtocolError> {
        let (mut session, mut rest, mut calls) = (ServerSession::new(5), Vec::new(), Vec::new());
        for portion in portions {
            rest.extend_from_slice(portion);
            let heard = session.hear(&rest, &mut calls)?;
            rest.drain(..heard);
            assert!(rest.len() < frame::FRAME_BYTES_MAX);
        }
        Ok(calls.iter().map(|call| call.transaction).collect())
    }

    #[test]
    fn a_cut_at_any_byte_changes_nothing() {
        let bytes = client_bytes(4);
        let whole = heard(&[&bytes]).unwrap();
        let expected: Vec<u64> = (0..4).map(|number| 5 << 48 | number).collect();
        assert_eq!(whole, expected);
        for cut in 0..=bytes.len() {
            let (one, other) = bytes.split_at(cut);
            assert_eq!(heard(&[one, other]).unwrap(), whole, "cut at {cut}");
        }
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(heard(&single).unwrap(), whole);
    }

    #[test]
    fn an_answer_of_every_kind_arrives_in_any_portions() {
        let bytes = server_bytes(9);
        for cut in 0..=bytes.len() {
            let (mut session, mut answers) = (ClientSession::default(), Vec::new());
            let first = session
                .hear(&bytes[..cut], |answer| answers.push(answer))
                .unwrap();
            session
                .hear(&bytes[first..], |answer| answers.push(answer))
                .unwrap();
            assert_eq!(session.answered(), 9);
            assert_eq!(session.welcome().unwrap().client, 7);
            assert_eq!(answers[..7], *Answer::ALL);
        }
    }

    #[test]
    fn every_changed_bit_is_noticed() {
        let bytes = client_bytes(2);
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            match heard(&[&changed]) {
                Err(_) => {}
                // A length that grew within its limit waits for bytes that do not come.
                Ok(calls) => assert!(calls.len() < 2, "bit {bit}"),
            }
        }
    }

    #[test]
    fn what_may_not_come_now_is_refused() {
        let mut calls = Vec::new();
        let mut hear = |messages: &[Message]| {
            let mut bytes = Vec::new();
            messages.iter().for_each(|message| message.put(&mut bytes));
            ServerSession::new(1).hear(&bytes, &mut calls)
        };
        let hello = Message::Hello { version: VERSION };
        let call = |number, procedure| Message::Call {
            number,
            procedure,
            request: Generator::standard(Scale::paper(), 1).request(),
        };
        let unexpected = |what| Err(ProtocolError::Unexpected { what });
        assert_eq!(hear(&[call(0, 1)]), unexpected("a call"));
        assert_eq!(hear(&[hello, hello]), unexpected("a hello"));
        let farewell = Message::Farewell(Farewell::Closing);
        assert_eq!(hear(&[hello, farewell]), unexpected("a farewell"));
        let (found, expected) = (3, 0);
        let error = ProtocolError::Number { found, expected };
        assert_eq!(hear(&[hello, call(3, 1)]), Err(error));
        let error = ProtocolError::Procedure { found: 9 };
        assert_eq!(hear(&[hello, call(0, 9)]), Err(error));
        let (found, expected) = (1, VERSION);
        let error = ProtocolError::Version { found, expected };
        assert_eq!(hear(&[Message::Hello { version: 1 }]), Err(error));
        let error = ProtocolError::Length { found: 1 << 30 };
        let huge = (1u32 << 30).to_le_bytes();
        assert_eq!(
            ServerSession::new(1).hear(&huge, &mut Vec::new()),
            Err(error)
        );
        let mut bytes = server_bytes(0);
        farewell.put(&mut bytes);
        let ended = ClientSession::default().hear(&bytes, |_| ());
        assert_eq!(ended, Err(ProtocolError::Ended(Farewell::Closing)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_heard_or_refused(bytes: Vec<u8>) {
            let _ = ServerSession::new(0).hear(&bytes, &mut Vec::new());
            let _ = ClientSession::default().hear(&bytes, |_| ());
        }
    }
}
