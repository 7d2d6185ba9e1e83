//! Requests to a store over TCP, and their answers, as the bodies of [frames](sardonyx_base::frame).
//!
//! A body is a byte for its kind and the kind's fields, numbers little-endian, texts and bytes behind their lengths. A
//! decoder takes an encoder's bodies, and refuses all else.

use sardonyx_base::frame::{FrameError, Reader, Writer};
use sardonyx_storage::remote_log::entry::ENTRY_HEAD_BYTES;
use sardonyx_storage::remote_log::objects::ListedObject;
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, StoreError, StoredRegister, Swapped,
};

/// Kinds of the requests that bring entries.
const APPEND_AT: u8 = 1;
const AHEAD: u8 = 11;
const FINISH: u8 = 12;

/// A request, as [`RemoteStore`](sardonyx_storage::remote_log::store::RemoteStore) and
/// [`RemoteObjects`](sardonyx_storage::remote_log::objects::RemoteObjects) have them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Request<'a> {
    AppendAt(u64, &'a [u8]),
    ReadSeveral(Vec<u64>),
    List(u64),
    Remove(Vec<u64>),
    ReadRegister(Register),
    SwapRegister(Register, Option<RegisterVersion>, &'a [u8]),
    CreateObject(&'a str, &'a [u8]),
    ReadObject(&'a str),
    ListObjects(&'a str),
    RemoveObjects(Vec<String>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    Appended(Appended),
    /// Bytes of an object, or of entries in the order of their numbers.
    Found(Vec<Option<Vec<u8>>>),
    Listed(Vec<Listed>),
    Removed,
    Register(Option<StoredRegister>),
    Swapped(Swapped),
    Objects(Vec<ListedObject>),
    /// The store gave none that could be used.
    Failed(Failed),
}

/// The store's error, without its place, which is the client's word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    Unclear { what: String, reason: String },
    NotNow { what: String, reason: String },
    Refused { what: String, reason: String },
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Unclear { what, reason, .. } => Failed::Unclear { what, reason },
            StoreError::NotNow { what, reason, .. } => Failed::NotNow { what, reason },
            StoreError::Refused { what, reason, .. } => Failed::Refused { what, reason },
            error => Failed::Refused {
                what: "the request".into(),
                reason: error.to_string(),
            },
        }
    }
}

impl Failed {
    /// The same as an error of the store at this place.
    pub fn at(self, place: String) -> StoreError {
        match self {
            Failed::Unclear { what, reason } => StoreError::Unclear {
                what,
                place,
                reason,
            },
            Failed::NotNow { what, reason } => StoreError::NotNow {
                what,
                place,
                reason,
            },
            Failed::Refused { what, reason } => StoreError::Refused {
                what,
                place,
                reason,
            },
        }
    }
}

/// Bytes before the content of a request that brings an entry, or a part of one.
pub const ENTRY_REQUEST_BYTES: usize = 13;

/// The requests that bring an entry or a part of one, before its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryRequest {
    /// The content is an entry of this number: [`Request::AppendAt`].
    Append { number: u64 },
    /// The content is a part of the next entry of this connection, behind its head and so many other bytes. It has no answer.
    Ahead { behind: u64 },
    /// The content is the rest of an entry of this number, which comes after such parts, behind [`ENDING_BYTES`]: the number of the
    /// bytes that came ahead, and the entry's head.
    Finish { number: u64 },
}

/// The end of an entry that came ahead: the number of the bytes that did, and the entry's head.
pub const ENDING_BYTES: usize = 8 + ENTRY_HEAD_BYTES;

impl EntryRequest {
    /// Its bytes, before a content of so many.
    pub fn encode(self, content_bytes: usize) -> Vec<u8> {
        let (kind, number) = match self {
            EntryRequest::Append { number } => (APPEND_AT, number),
            EntryRequest::Ahead { behind } => (AHEAD, behind),
            EntryRequest::Finish { number } => (FINISH, number),
        };
        let mut head = Writer::default();
        head.u8(kind).u64(number).length(content_bytes);
        head.0
    }

    /// The request of these bytes, and the length of its content; `None` for other requests.
    pub fn decode(head: &[u8]) -> Option<(EntryRequest, usize)> {
        let mut reader = Reader(head);
        let (kind, number) = (reader.u8()?, reader.u64()?);
        let bytes = reader.u32()? as usize;
        reader.end()?;
        let request = match kind {
            APPEND_AT => EntryRequest::Append { number },
            AHEAD => EntryRequest::Ahead { behind: number },
            FINISH => EntryRequest::Finish { number },
            _ => return None,
        };
        Some((request, bytes))
    }
}

impl Request<'_> {
    /// Its name in messages.
    pub fn name(&self) -> String {
        match self {
            Request::AppendAt(number, _) => format!("append entry {number}"),
            Request::ReadSeveral(numbers) => match numbers[..] {
                [number] => format!("read entry {number}"),
                _ => format!("read {} entries", numbers.len()),
            },
            Request::List(from) => format!("list entries from {from}"),
            Request::Remove(numbers) => format!("remove {} entries", numbers.len()),
            Request::ReadRegister(register) => format!("read the {}", register.name()),
            Request::SwapRegister(register, ..) => format!("replace the {}", register.name()),
            Request::CreateObject(name, _) => format!("create the object {name}"),
            Request::ReadObject(name) => format!("read the object {name}"),
            Request::ListObjects(folder) => format!("list the objects of {folder}"),
            Request::RemoveObjects(names) => format!("remove {} objects", names.len()),
        }
    }

    /// True if the request reads or replaces a register.
    pub fn is_of_register(&self) -> bool {
        matches!(self, Request::ReadRegister(_) | Request::SwapRegister(..))
    }

    /// Its bytes, of which the second part, an entry or an object, is where it was.
    pub fn parts(&self) -> (Vec<u8>, &[u8]) {
        let mut body = Writer::default();
        let content: Option<&[u8]> = match self {
            Request::AppendAt(number, bytes) => {
                let request = EntryRequest::Append { number: *number };
                return (request.encode(bytes.len()), bytes);
            }
            Request::SwapRegister(register, expected, bytes) => {
                body.u8(6).u8(number_of(*register));
                body.option(expected.as_ref(), |body, version| {
                    body.counted(version.0.as_bytes());
                });
                Some(bytes)
            }
            Request::CreateObject(name, bytes) => {
                body.u8(7).counted(name.as_bytes());
                Some(bytes)
            }
            other => {
                other.put_short(&mut body);
                None
            }
        };
        if let Some(content) = content {
            body.length(content.len());
        }
        (body.0, content.unwrap_or_default())
    }

    /// A request without content.
    fn put_short(&self, body: &mut Writer) {
        match self {
            Request::AppendAt(..) | Request::SwapRegister(..) | Request::CreateObject(..) => body,
            Request::ReadSeveral(numbers) => put_numbers(body.u8(2), numbers),
            Request::List(from) => body.u8(3).u64(*from),
            Request::Remove(numbers) => put_numbers(body.u8(4), numbers),
            Request::ReadRegister(register) => body.u8(5).u8(number_of(*register)),
            Request::ReadObject(name) => body.u8(8).counted(name.as_bytes()),
            Request::ListObjects(folder) => body.u8(9).counted(folder.as_bytes()),
            Request::RemoveObjects(names) => body.u8(10).list(names, |body, name| {
                body.counted(name.as_bytes());
            }),
        };
    }

    /// Its bytes, together.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn encode(&self) -> Vec<u8> {
        let (mut bytes, content) = self.parts();
        bytes.extend_from_slice(content);
        bytes
    }

    /// The request of these bytes.
    ///
    /// # Errors
    /// [`FrameError::Kind`], [`FrameError::Content`].
    pub fn decode(body: &[u8]) -> Result<Request<'_>, FrameError> {
        decode(body, |kind, reader| {
            Some(match kind {
                APPEND_AT => Request::AppendAt(reader.u64()?, reader.counted()?),
                2 => Request::ReadSeveral(reader.list(Reader::u64)?),
                3 => Request::List(reader.u64()?),
                4 => Request::Remove(reader.list(Reader::u64)?),
                5 => Request::ReadRegister(register(reader)?),
                6 => {
                    let register = register(reader)?;
                    let expected = reader.option(version)?;
                    Request::SwapRegister(register, expected, reader.counted()?)
                }
                7 => Request::CreateObject(reader.text()?, reader.counted()?),
                8 => Request::ReadObject(reader.text()?),
                9 => Request::ListObjects(reader.text()?),
                10 => Request::RemoveObjects(reader.list(|one| one.text().map(String::from))?),
                _ => return None,
            })
        })
    }
}

impl Answer {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Writer::default();
        match self {
            Answer::Appended(appended) => body.u8(1).flag(*appended == Appended::Ok),
            Answer::Found(found) => body.u8(2).list(found, |body, bytes| {
                body.option(bytes.as_ref(), |body, bytes| {
                    body.counted(bytes);
                });
            }),
            Answer::Listed(listed) => body.u8(3).list(listed, |body, listed| {
                body.u64(listed.number).u64(listed.bytes);
            }),
            Answer::Removed => body.u8(4),
            Answer::Register(stored) => body.u8(5).option(stored.as_ref(), |body, stored| {
                body.counted(stored.version.0.as_bytes())
                    .counted(&stored.bytes);
            }),
            Answer::Swapped(swapped) => body.u8(6).flag(*swapped == Swapped::Ok),
            Answer::Objects(objects) => body.u8(7).list(objects, |body, object| {
                body.counted(object.name.as_bytes()).u64(object.bytes);
            }),
            Answer::Failed(failed) => {
                let (kind, what, reason) = match failed {
                    Failed::Unclear { what, reason } => (8, what, reason),
                    Failed::NotNow { what, reason } => (9, what, reason),
                    Failed::Refused { what, reason } => (10, what, reason),
                };
                body.u8(kind)
                    .counted(what.as_bytes())
                    .counted(reason.as_bytes())
            }
        };
        body.0
    }

    /// The answer of these bytes.
    ///
    /// # Errors
    /// [`FrameError::Kind`], [`FrameError::Content`].
    pub fn decode(body: &[u8]) -> Result<Answer, FrameError> {
        decode(body, |kind, reader| {
            Some(match kind {
                1 => Answer::Appended(match reader.flag()? {
                    true => Appended::Ok,
                    false => Appended::Conflict,
                }),
                2 => Answer::Found(
                    reader.list(|one| one.option(|one| one.counted().map(<[u8]>::to_vec)))?,
                ),
                3 => Answer::Listed(reader.list(|one| {
                    let (number, bytes) = (one.u64()?, one.u64()?);
                    Some(Listed { number, bytes })
                })?),
                4 => Answer::Removed,
                5 => Answer::Register(reader.option(|stored| {
                    let version = version(stored)?;
                    let bytes = stored.counted()?.to_vec();
                    Some(StoredRegister { bytes, version })
                })?),
                6 => Answer::Swapped(match reader.flag()? {
                    true => Swapped::Ok,
                    false => Swapped::Conflict,
                }),
                7 => Answer::Objects(reader.list(|one| {
                    let (name, bytes) = (one.text()?.into(), one.u64()?);
                    Some(ListedObject { name, bytes })
                })?),
                8..=10 => {
                    let (what, reason) = (reader.text()?.into(), reader.text()?.into());
                    Answer::Failed(match kind {
                        8 => Failed::Unclear { what, reason },
                        9 => Failed::NotNow { what, reason },
                        _ => Failed::Refused { what, reason },
                    })
                }
                _ => return None,
            })
        })
    }
}

/// Reads a kind and its fields, which are all there is.
fn decode<'a, T>(
    body: &'a [u8],
    fields: impl FnOnce(u8, &mut Reader<'a>) -> Option<T>,
) -> Result<T, FrameError> {
    let mut reader = Reader(body);
    let Some(kind) = reader.u8() else {
        return Err(FrameError::Content { kind: 0, bytes: 0 });
    };
    let read = fields(kind, &mut reader).filter(|_| reader.end().is_some());
    read.ok_or(FrameError::Content {
        kind,
        bytes: body.len(),
    })
}

fn number_of(register: Register) -> u8 {
    match register {
        Register::Boundary => 0,
        Register::Primary => 1,
        Register::Copies => 2,
        Register::Hosts => 3,
    }
}

fn register(reader: &mut Reader<'_>) -> Option<Register> {
    match reader.u8()? {
        0 => Some(Register::Boundary),
        1 => Some(Register::Primary),
        2 => Some(Register::Copies),
        3 => Some(Register::Hosts),
        _ => None,
    }
}

fn version(reader: &mut Reader<'_>) -> Option<RegisterVersion> {
    reader.text().map(|version| RegisterVersion(version.into()))
}

fn put_numbers<'w>(body: &'w mut Writer, numbers: &[u64]) -> &'w mut Writer {
    body.list(numbers, |body, number| {
        body.u64(*number);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests() -> Vec<Request<'static>> {
        vec![
            Request::AppendAt(7, b"entry"),
            Request::ReadSeveral(vec![1, u64::MAX]),
            Request::List(3),
            Request::Remove(vec![]),
            Request::ReadRegister(Register::Boundary),
            Request::ReadRegister(Register::Copies),
            Request::ReadRegister(Register::Hosts),
            Request::SwapRegister(Register::Primary, None, b""),
            Request::SwapRegister(Register::Primary, Some(RegisterVersion("v".into())), b"b"),
            Request::CreateObject("bases/1", b"bytes"),
            Request::ReadObject("bases/1"),
            Request::ListObjects("bases"),
            Request::RemoveObjects(vec!["a".into(), "b".into()]),
        ]
    }

    fn answers() -> Vec<Answer> {
        let text = |text: &str| (text.to_string(), "reason".to_string());
        let [one, two, three] = ["one", "two", "three"].map(text);
        let stored = StoredRegister {
            bytes: b"bytes".to_vec(),
            version: RegisterVersion("v".into()),
        };
        vec![
            Answer::Appended(Appended::Ok),
            Answer::Appended(Appended::Conflict),
            Answer::Found(vec![None, Some(b"bytes".to_vec()), Some(vec![])]),
            Answer::Listed(vec![Listed {
                number: 1,
                bytes: 2,
            }]),
            Answer::Removed,
            Answer::Register(None),
            Answer::Register(Some(stored)),
            Answer::Swapped(Swapped::Ok),
            Answer::Swapped(Swapped::Conflict),
            Answer::Objects(vec![ListedObject {
                name: "bases/1".into(),
                bytes: 3,
            }]),
            Answer::Failed(Failed::Unclear {
                what: one.0,
                reason: one.1,
            }),
            Answer::Failed(Failed::NotNow {
                what: two.0,
                reason: two.1,
            }),
            Answer::Failed(Failed::Refused {
                what: three.0,
                reason: three.1,
            }),
        ]
    }

    #[test]
    fn every_message_comes_back_as_it_was_and_cut_or_longer_it_is_refused() {
        let requests: Vec<_> = requests().iter().map(Request::encode).collect();
        let answers: Vec<_> = answers().iter().map(Answer::encode).collect();
        for (bytes, request) in requests.iter().zip(self::requests()) {
            assert_eq!(Request::decode(bytes).unwrap(), request);
        }
        for (bytes, answer) in answers.iter().zip(self::answers()) {
            assert_eq!(Answer::decode(bytes).unwrap(), answer);
        }
        let is_request = |bytes: &[u8]| Request::decode(bytes).is_ok();
        let is_answer = |bytes: &[u8]| Answer::decode(bytes).is_ok();
        let of_requests = requests
            .iter()
            .map(|bytes| (bytes, &is_request as &dyn Fn(&[u8]) -> bool));
        let of_answers = answers
            .iter()
            .map(|bytes| (bytes, &is_answer as &dyn Fn(&[u8]) -> bool));
        for (bytes, is_one) in of_requests.chain(of_answers) {
            for length in 0..bytes.len() {
                assert!(!is_one(&bytes[..length]), "{bytes:?} cut to {length}");
            }
            let longer: Vec<u8> = bytes.iter().copied().chain([0]).collect();
            assert!(!is_one(&longer), "{bytes:?} and a byte");
        }
    }

    #[test]
    fn what_no_encoder_made_is_refused_and_takes_no_memory() {
        for body in [
            &[][..],
            &[0],
            &[11],
            &[255],
            &[1, 2],
            &[5, 4],
            &[2, 255, 255, 255, 255],
        ] {
            assert!(Request::decode(body).is_err(), "{body:?}");
            assert!(Answer::decode(body).is_err(), "{body:?}");
        }
    }
}
