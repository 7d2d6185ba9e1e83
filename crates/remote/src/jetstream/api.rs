//! JetStream's requests and answers, as JSON in messages: only those that a log needs.

use super::configuration::StreamConfiguration;
use super::stream::{Message, Stored};
use async_nats::{HeaderMap, StatusCode};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeMap;

/// Another message is being put under the same condition, and its result is not known yet.
const CONDITION_IN_USE: u32 = 10164;
const CONDITION_DOES_NOT_HOLD: u32 = 10071;
const NO_MESSAGE: u32 = 10037;
const NO_STREAM: u32 = 10059;
const STREAM_EXISTS: u32 = 10058;
/// There are too few servers for the replicas, at the moment perhaps.
const NO_PEERS: u32 = 10005;

/// The reason why an answer is not the expected one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// No answer, or one that asks to try again.
    Unclear(String),
    /// It is no.
    Refused(String),
    /// The stream or the server is not as it has to be.
    Setup(String),
    /// The condition does not hold.
    Conflict,
    /// It is not known yet whether the condition holds. Nothing is done.
    InUse,
    /// There is no such message.
    NoMessage,
    /// There is no such stream.
    NoStream,
    /// There is one already.
    StreamExists,
}

#[derive(Deserialize)]
struct Answer {
    error: Option<ApiError>,
}

#[derive(Deserialize)]
struct ApiError {
    code: u32,
    #[serde(default)]
    err_code: u32,
    #[serde(default)]
    description: String,
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        let text = format!("{} ({})", error.description, error.err_code);
        match error.err_code {
            CONDITION_IN_USE => Failure::InUse,
            CONDITION_DOES_NOT_HOLD => Failure::Conflict,
            NO_MESSAGE => Failure::NoMessage,
            NO_STREAM => Failure::NoStream,
            STREAM_EXISTS => Failure::StreamExists,
            NO_PEERS => Failure::Unclear(text),
            _ if error.code >= 500 => Failure::Unclear(text),
            _ => Failure::Refused(text),
        }
    }
}

/// An answer of the API.
///
/// # Errors
/// The content of an answer that cannot be parsed.
pub(super) fn answer<T: DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    let unknown = |error: serde_json::Error| {
        Failure::Unclear(format!("its answer cannot be understood: {error}"))
    };
    let Answer { error } = serde_json::from_slice(body).map_err(unknown)?;
    match error {
        Some(error) => Err(error.into()),
        None => serde_json::from_slice(body).map_err(unknown),
    }
}

/// The known state of a stream.
#[derive(Deserialize)]
pub(super) struct StreamInfo {
    pub config: StreamConfiguration,
    #[serde(default)]
    state: StreamState,
    /// The number of subjects.
    #[serde(default)]
    total: usize,
}

#[derive(Default, Deserialize)]
struct StreamState {
    #[serde(default)]
    subjects: BTreeMap<String, u64>,
}

impl StreamInfo {
    /// The subjects of this page, and whether there are more behind those before it and these.
    pub fn page(self, before: usize) -> (Vec<String>, bool) {
        let subjects: Vec<String> = self.state.subjects.into_keys().collect();
        let more = !subjects.is_empty() && before + subjects.len() < self.total;
        (subjects, more)
    }
}

/// A message that was put into a stream.
#[derive(Deserialize)]
pub(super) struct Acknowledged {
    /// Its sequence number.
    pub seq: u64,
}

/// A message that was asked for.
#[derive(Deserialize)]
pub(super) struct Got {
    message: GotMessage,
}

#[derive(Deserialize)]
struct GotMessage {
    subject: String,
    seq: u64,
    #[serde(default)]
    data: String,
}

impl Got {
    /// The message.
    ///
    /// # Errors
    /// It is no base64.
    pub fn stored(self) -> Result<Stored, Failure> {
        let body = STANDARD.decode(self.message.data.as_bytes());
        Ok(Stored {
            subject: self.message.subject,
            sequence: self.message.seq,
            body: body
                .map_err(|error| Failure::Unclear(error.to_string()))?
                .into(),
        })
    }
}

/// A message that any server gave, without JSON.
///
/// # Errors
/// There is no message; another status; its headers are missing.
pub(super) fn direct(message: async_nats::Message) -> Result<Stored, Failure> {
    match message.status {
        None | Some(StatusCode::OK) => {}
        Some(StatusCode::NOT_FOUND) => return Err(Failure::NoMessage),
        Some(status) => {
            let said = message.description.unwrap_or_default();
            return Err(Failure::Unclear(format!("{status} {said}")));
        }
    }
    let headers = message.headers.unwrap_or_default();
    let header = |name: &str| headers.get(name).map(|value| value.as_str().to_string());
    let subject = header("Nats-Subject");
    let sequence = header("Nats-Sequence").and_then(|sequence| sequence.parse().ok());
    match (subject, sequence) {
        (Some(subject), Some(sequence)) => Ok(Stored {
            subject,
            sequence,
            body: message.payload,
        }),
        _ => Err(Failure::Unclear(
            "its answer does not name its message".into(),
        )),
    }
}

/// The headers with which a message is put into a stream on its condition.
pub(super) fn headers(stream: &str, message: &Message) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Stream", stream);
    let last = message.condition.last.to_string();
    headers.insert("Nats-Expected-Last-Subject-Sequence", last.as_str());
    if message.condition.filter != message.subject {
        let filter = message.condition.filter.as_str();
        headers.insert("Nats-Expected-Last-Subject-Sequence-Subject", filter);
    }
    if message.replaces {
        headers.insert("Nats-Rollup", "sub");
    }
    headers
}

/// Asks for the last message with such a subject.
pub(super) fn last_by_subject(filter: &str) -> Vec<u8> {
    json!({ "last_by_subj": filter }).to_string().into_bytes()
}

/// Asks for the state of a stream, with its subjects behind so many.
pub(super) fn subjects(filter: &str, before: usize) -> Vec<u8> {
    let asked = json!({ "subjects_filter": filter, "offset": before });
    asked.to_string().into_bytes()
}

/// Asks to delete all messages with such subjects.
pub(super) fn purge(filter: &str) -> Vec<u8> {
    json!({ "filter": filter }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::super::stream::Condition;
    use super::*;

    #[test]
    fn answers_are_told_apart_by_what_may_be_believed_of_them() {
        let of = |code: u32, err_code: u32| {
            let body = json!({ "error": { "code": code, "err_code": err_code, "description": "no" }, "seq": 0 });
            answer::<Acknowledged>(body.to_string().as_bytes()).err()
        };
        assert_eq!(of(400, 10071), Some(Failure::Conflict));
        assert_eq!(of(400, 10164), Some(Failure::InUse));
        assert_eq!(of(404, 10059), Some(Failure::NoStream));
        for (code, err_code) in [(503, 10023), (500, 1), (400, 10005)] {
            assert!(matches!(of(code, err_code), Some(Failure::Unclear(_))));
        }
        assert_eq!(of(400, 10025), Some(Failure::Refused("no (10025)".into())));
        let seq = answer::<Acknowledged>(br#"{"stream":"BANK","seq":7}"#);
        assert_eq!(seq.unwrap().seq, 7);
        // A request whose answer cannot be parsed may be done.
        for body in [&b""[..], b"[]", b"{}", b"{\"seq\":-1}"] {
            let failure = answer::<Acknowledged>(body).err();
            assert!(matches!(failure, Some(Failure::Unclear(_))), "{failure:?}");
        }
    }

    #[test]
    fn pages_of_subjects_end() {
        let page = |body: &str, before| answer::<StreamInfo>(body.as_bytes()).unwrap().page(before);
        let two = r#"{"config":{"name":"B"},"state":{"subjects":{"a":1,"b":2}},"total":3}"#;
        assert_eq!(page(two, 0), (vec!["a".into(), "b".into()], true));
        assert!(!page(two, 1).1);
        let none = r#"{"config":{"name":"B"},"state":{}}"#;
        assert_eq!(page(none, 0), (vec![], false));
        let lost = r#"{"config":{"name":"B"},"state":{},"total":9}"#;
        assert!(!page(lost, 5).1, "or it would be asked for ever");
    }

    #[test]
    fn a_message_is_read_back() {
        let got = r#"{"message":{"subject":"B.a","seq":3,"data":"b25l"}}"#;
        let stored = answer::<Got>(got.as_bytes()).unwrap().stored().unwrap();
        assert_eq!((stored.sequence, &stored.body[..]), (3, &b"one"[..]));
        let empty = r#"{"message":{"subject":"B.a","seq":3}}"#;
        let stored = answer::<Got>(empty.as_bytes()).unwrap().stored().unwrap();
        assert!(stored.body.is_empty());
    }

    #[test]
    fn a_condition_names_what_it_is_of() {
        let mut message = Message {
            subject: "B.mark".into(),
            condition: Condition {
                filter: "B.entry.*".into(),
                last: 0,
            },
            replaces: true,
            body: [].as_slice().into(),
        };
        let value = |message: &Message, name: &str| {
            let headers = headers("B", message);
            headers.get(name).map(|value| value.as_str().to_string())
        };
        let other = "Nats-Expected-Last-Subject-Sequence-Subject";
        assert_eq!(value(&message, other).as_deref(), Some("B.entry.*"));
        assert_eq!(value(&message, "Nats-Rollup").as_deref(), Some("sub"));
        let last = "Nats-Expected-Last-Subject-Sequence";
        assert_eq!(value(&message, last).as_deref(), Some("0"));
        message.condition.filter = "B.mark".into();
        message.replaces = false;
        assert_eq!(value(&message, other), None);
        assert_eq!(value(&message, "Nats-Rollup"), None);
    }
}
