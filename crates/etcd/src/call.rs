//! One call to etcd's JSON API: a path, an object, and the object that comes back.
//!
//! The endpoints are tried in turn, beginning with the one that answered last. After an error the call may be done or
//! not. Keys and values are base64 in JSON, and its 64-bit numbers are texts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::time::Duration;

/// The reason why etcd gave no usable answer. The request may be done or not.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EtcdError {
    /// No endpoint could be asked.
    #[error("etcd cannot be asked at {endpoint}: {source}")]
    Unreachable {
        /// The last one.
        endpoint: String,
        /// The result of the request.
        #[source]
        source: Box<ureq::Error>,
    },
    /// There is no endpoint.
    #[error("no endpoint of etcd is given")]
    NoEndpoint,
    /// It refuses.
    #[error("etcd at {endpoint} refuses {path} with {status}: {text}")]
    Refused {
        /// The endpoint.
        endpoint: String,
        /// The request.
        path: &'static str,
        /// The status.
        status: u16,
        /// The answer.
        text: String,
    },
    /// It answers something else than it should.
    #[error("etcd's answer to {path} lacks {what}")]
    Answer {
        /// The request.
        path: &'static str,
        /// The missing thing.
        what: &'static str,
    },
}

/// A client of etcd.
#[derive(Debug)]
pub struct Client {
    agent: ureq::Agent,
    endpoints: Vec<String>,
}

impl Client {
    pub fn new(endpoints: Vec<String>, time_limit: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(time_limit))
            .http_status_as_error(false)
            .build();
        Client {
            agent: config.into(),
            endpoints,
        }
    }

    /// Asks.
    pub fn ask(&mut self, path: &'static str, body: &Value) -> Result<Value, EtcdError> {
        let mut last = EtcdError::NoEndpoint;
        for _ in 0..self.endpoints.len() {
            let Some(endpoint) = self.endpoints.first().cloned() else {
                break;
            };
            match self.ask_at(&endpoint, path, body) {
                Ok(answer) => return Ok(answer),
                Err(error) => last = error,
            }
            self.endpoints.rotate_left(1);
        }
        Err(last)
    }

    fn ask_at(&self, endpoint: &str, path: &'static str, body: &Value) -> Result<Value, EtcdError> {
        let unreachable = |source| EtcdError::Unreachable {
            endpoint: endpoint.into(),
            source: Box::new(source),
        };
        let url = format!("{}{path}", endpoint.trim_end_matches('/'));
        let sent = self.agent.post(url).content_type("application/json");
        let mut answer = sent.send(body.to_string()).map_err(unreachable)?;
        let status = answer.status().as_u16();
        let text = answer.body_mut().read_to_string().map_err(unreachable)?;
        if status != 200 {
            return Err(EtcdError::Refused {
                endpoint: endpoint.into(),
                path,
                status,
                text,
            });
        }
        let what = "JSON";
        serde_json::from_str(&text).map_err(|_| EtcdError::Answer { path, what })
    }
}

/// A key or a value in JSON.
pub fn text(bytes: impl AsRef<[u8]>) -> Value {
    json!(STANDARD.encode(bytes))
}

/// A key or a value from JSON.
pub fn bytes(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(value.as_str()?).ok()
}

/// A 64-bit number from JSON; absent it is zero.
pub fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Null => Some(0),
        Value::String(text) => text.parse().ok(),
        other => other.as_i64(),
    }
}
