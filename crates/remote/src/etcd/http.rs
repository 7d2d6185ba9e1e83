//! One call to etcd's JSON API: a path, an object, and the object that comes back.
//!
//! The endpoints are tried in turn, beginning with the one that answered last. A read is asked of the next one after any
//! failure. A change is sent to another one only if the one before cannot have received it. Keys and values are base64
//! in JSON, and its 64-bit numbers are texts.

use super::credentials::Credentials;
use super::error::EtcdError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sardonyx_base::sync::Mutex;
use serde_json::{Value, json};
use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const AUTHENTICATE: &str = "/v3/auth/authenticate";

/// The most bytes of an answer.
const ANSWER_BYTES_MAX: u64 = 8 << 20;

/// The effect of a request that is sent twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// None: any number of servers may be asked.
    Repeatable,
    /// It may change a key. It is never sent again after it may have arrived.
    Once,
}

/// Something that answers the calls of etcd's JSON API.
pub(crate) trait Call: Send + Sync + Debug {
    /// The answer to a call.
    ///
    /// # Errors
    /// There is none, or it is an error; after an [`Effect::Once`] the change may be done, or be done later.
    fn call(&self, path: &'static str, body: &Value, effect: Effect) -> Result<Value, EtcdError>;

    /// The number of servers. Each is asked when the one before it gives no answer.
    fn servers(&self) -> usize {
        1
    }

    /// The server that answered last is not asked first any more.
    fn distrust(&self) {}
}

/// The token of the user.
#[derive(Default)]
enum Token {
    /// It was not asked for.
    #[default]
    Unknown,
    /// There is no user, or etcd has no authentication enabled. It may be enabled at any time.
    None,
    Given(String),
}

impl Debug for Token {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a token")
    }
}

/// Servers of one etcd.
#[derive(Debug)]
pub(crate) struct Http {
    agent: ureq::Agent,
    endpoints: Vec<String>,
    /// The endpoint that is asked first.
    first: AtomicUsize,
    credentials: Credentials,
    token: Mutex<Token>,
    limit: Duration,
}

/// True if the server cannot have received the request.
fn is_unsent(error: &ureq::Error) -> bool {
    match error {
        ureq::Error::HostNotFound
        | ureq::Error::ConnectionFailed
        | ureq::Error::Timeout(ureq::Timeout::Resolve | ureq::Timeout::Connect) => true,
        ureq::Error::Io(error) => error.kind() == io::ErrorKind::ConnectionRefused,
        _ => false,
    }
}

impl Http {
    pub fn new(endpoints: Vec<String>, credentials: Credentials, limit: Duration) -> Self {
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(limit))
            // A proxy of the environment would see the password, and its failures would have an endpoint's name.
            .proxy(None)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        if let Some(tls) = credentials.tls() {
            config = config.https_only(true).tls_config(tls);
        }
        Http {
            agent: config.build().into(),
            endpoints,
            first: AtomicUsize::new(0),
            credentials,
            token: Mutex::default(),
            limit,
        }
    }

    /// One endpoint after the other, from the one that answered last.
    fn ask(&self, path: &'static str, body: &Value, effect: Effect) -> Result<Value, EtcdError> {
        let (began, count) = (Instant::now(), self.endpoints.len());
        let first = self.first.load(Ordering::SeqCst);
        let mut last = EtcdError::NoEndpoint;
        for nth in 0..count {
            let at = (first + nth) % count;
            let Some(endpoint) = self.endpoints.get(at) else {
                break;
            };
            let left = self.limit.saturating_sub(began.elapsed());
            // A server that is stopped leaves time for the others.
            let limit = match effect {
                Effect::Repeatable if nth + 1 < count => left / 2,
                _ => left,
            };
            match self.ask_at(endpoint, path, body, limit) {
                Ok(answer) => {
                    self.first.store(at, Ordering::SeqCst);
                    return Ok(answer);
                }
                Err(error) => {
                    // The next request begins with another one.
                    self.first.store((at + 1) % count, Ordering::SeqCst);
                    let may_go_on = match &error {
                        EtcdError::Unreachable { source, .. } => {
                            effect == Effect::Repeatable || is_unsent(source)
                        }
                        error => {
                            effect == Effect::Repeatable
                                && error.of_store("", "").is_unclear()
                                && !error.is_about_credentials()
                        }
                    };
                    last = error;
                    if !may_go_on || began.elapsed() >= self.limit {
                        break;
                    }
                }
            }
        }
        Err(last)
    }

    fn ask_at(
        &self,
        endpoint: &str,
        path: &'static str,
        body: &Value,
        limit: Duration,
    ) -> Result<Value, EtcdError> {
        let unreachable = |source| EtcdError::Unreachable {
            endpoint: endpoint.into(),
            source: Box::new(source),
        };
        let url = format!("{}{path}", endpoint.trim_end_matches('/'));
        let mut sent = self.agent.post(url).content_type("application/json");
        if let Token::Given(token) = &*self.token.lock()
            && path != AUTHENTICATE
        {
            sent = sent.header("Authorization", token);
        }
        let sent = sent.config().timeout_global(Some(limit)).build();
        let mut answer = sent.send(body.to_string()).map_err(unreachable)?;
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let text = body.read_to_string().map_err(unreachable)?;
        let found: Result<Value, _> = serde_json::from_str(&text);
        // A stream's answer has its error inside, with the status of a success.
        let error = found
            .as_ref()
            .ok()
            .filter(|found| !found["error"].is_null());
        if status != 200 || error.is_some() {
            let code = error.and_then(|error| {
                let inner = error["error"]["grpc_code"].as_i64();
                error["code"].as_i64().or(inner)
            });
            return Err(EtcdError::Refused {
                endpoint: endpoint.into(),
                path,
                status,
                code,
                text,
            });
        }
        let what = "JSON";
        found.map_err(|_| EtcdError::Answer { path, what })
    }

    /// Asks for a token of the user, if there is a user. An etcd without authentication is asked without a token, as its
    /// own clients do: so it can be enabled while hosts run.
    fn authenticate(&self) -> Result<(), EtcdError> {
        let Some((name, password)) = self.credentials.user() else {
            *self.token.lock() = Token::None;
            return Ok(());
        };
        let body = json!({ "name": name, "password": password });
        let answer = match self.ask(AUTHENTICATE, &body, Effect::Repeatable) {
            Err(error) if error.is_without_authentication() => {
                *self.token.lock() = Token::None;
                return Ok(());
            }
            answer => answer?,
        };
        let missing = EtcdError::Answer {
            path: AUTHENTICATE,
            what: "token",
        };
        let token = answer["token"].as_str().ok_or(missing)?;
        *self.token.lock() = Token::Given(token.into());
        Ok(())
    }
}

impl Call for Http {
    fn servers(&self) -> usize {
        self.endpoints.len()
    }

    fn distrust(&self) {
        self.first.fetch_add(1, Ordering::SeqCst);
    }

    fn call(&self, path: &'static str, body: &Value, effect: Effect) -> Result<Value, EtcdError> {
        let is_unknown = matches!(*self.token.lock(), Token::Unknown);
        if is_unknown {
            self.authenticate()?;
        }
        match self.ask(path, body, effect) {
            // A token that is missing or expired: etcd did nothing.
            Err(error) if self.credentials.user().is_some() && error.is_about_credentials() => {
                self.authenticate()?;
                self.ask(path, body, effect)
            }
            answer => answer,
        }
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
