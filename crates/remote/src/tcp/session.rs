//! The requests of one connection, done at a place, one after the other. It has no socket: it reads and writes bytes, which come
//! from one in [`server`](super::server), and over a network in virtual time in [`exploration`](super::exploration).

use super::message::{Answer, Failed, Request};
use super::planted::{self, Planted};
use super::receiving::{Received, Receiver};
use sardonyx_base::greeting::{GreetingError, send};
use sardonyx_storage::remote_log::objects::RemotePlace;
use sardonyx_storage::remote_log::store::{Appended, StoreError, UNKNOWN_REQUEST};
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The most bytes of entries in one answer; one entry may be longer.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// A connection's requests. What came of the next entry is lost with it.
#[derive(Debug, Default)]
pub(super) struct Session {
    receiver: Receiver,
}

impl Session {
    /// Reads the next request, does it, and sends its answer, if it has one.
    ///
    /// # Errors
    /// Nothing more can be read from the connection, or be sent there: it has ended.
    pub fn answer_next(
        &mut self,
        store: &dyn RemotePlace,
        stream: &mut (impl Read + Write),
    ) -> Result<(), GreetingError> {
        let answer = match self.receiver.next(stream)? {
            Received::Part => return Ok(()),
            Received::Entry(number, entry) => {
                let appended = match store.append_received(number, entry) {
                    Ok(_) if planted::is(Planted::ConflictIsCreation) => Ok(Appended::Ok),
                    appended => appended,
                };
                answer_of(store, appended.map(Answer::Appended))
            }
            Received::Request(Ok(request)) => answer_of(store, answer(store, request)),
            Received::Request(Err(error)) => Answer::Failed(Failed::Refused {
                what: UNKNOWN_REQUEST.into(),
                reason: error.to_string(),
            }),
        };
        self.receiver.clear();
        let sent = send(stream, &[&answer.encode()]);
        sent.map_err(|source| broke("answer", source))
    }
}

pub(super) fn broke(operation: &'static str, source: io::Error) -> GreetingError {
    GreetingError::Broke {
        operation,
        source: Arc::new(source),
    }
}

fn answer_of(store: &dyn RemotePlace, answer: Result<Answer, StoreError>) -> Answer {
    answer.unwrap_or_else(|error| Answer::Failed(failed(store, error)))
}

/// The error as a client gets it. A store that takes nothing more is opened again by the next process, which knows the
/// result of the request: so the client asks again.
fn failed(store: &dyn RemotePlace, error: StoreError) -> Failed {
    match error.into() {
        Failed::Refused { what, reason } if store.failure().is_some() => {
            Failed::Unclear { what, reason }
        }
        failed => failed,
    }
}

fn answer(store: &dyn RemotePlace, request: Request<'_>) -> Result<Answer, StoreError> {
    Ok(match request {
        Request::AppendAt(number, bytes) => Answer::Appended(store.append_at(number, bytes)?),
        Request::ReadSeveral(numbers) => {
            let (mut found, mut bytes) = (Vec::new(), 0);
            for number in numbers {
                let entry = store.read(number)?;
                bytes += entry.as_ref().map_or(0, Vec::len);
                if bytes > ANSWER_BYTES_MAX && !found.is_empty() {
                    break;
                }
                found.push(entry);
            }
            Answer::Found(found)
        }
        Request::List(from) => Answer::Listed(store.list(from)?),
        Request::Remove(numbers) => {
            store.remove(&numbers)?;
            Answer::Removed
        }
        Request::ReadRegister(register) => Answer::Register(store.read_register(register)?),
        Request::SwapRegister(register, expected, bytes) => {
            Answer::Swapped(store.swap_register(register, expected.as_ref(), bytes)?)
        }
        Request::CreateObject(name, bytes) => Answer::Appended(store.create_object(name, bytes)?),
        Request::ReadObject(name) => Answer::Found(vec![store.read_object(name)?]),
        Request::ListObjects(folder) => Answer::Objects(store.list_objects(folder)?),
        Request::RemoveObjects(names) => {
            store.remove_objects(&names)?;
            Answer::Removed
        }
    })
}
