//! A stream of NATS servers: one connection, requests in messages, answers in others.
//!
//! The client connects again by itself, to any of the servers that answers. A request without a connection waits for
//! one, and is given up if none comes. The client would otherwise keep every request it gets, and send all of them in
//! the end. Requests that it has may be sent late none the less; they are never repeated. From a server that dies with
//! a request no answer comes, so one is waited for shortly ([`REQUEST_LIMIT_MOST`]): others of the cluster go on after
//! a few seconds.

use super::api::{self, Failure};
use super::configuration::{StreamConfiguration, objection_to_server};
use super::credentials::Credentials;
use super::place::JetStreamPlace;
use super::stream::{Condition, Message, Published, Stored, Stream};
use crate::options::RemoteOptions;
use crate::requests::Requests;
use crate::several::AT_ONCE;
use crate::shown::{shortened, shown};
use async_nats::connection::State;
use async_nats::{Client, ConnectErrorKind, Request, RequestErrorKind};
use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream};
use sardonyx_storage::remote_log::store::StoreError;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An answer to a message is waited for no longer than this.
pub(super) const REQUEST_LIMIT_MOST: Duration = Duration::from_secs(2);

/// While it is not known whether a condition holds, it is asked again after this.
const IN_USE_PAUSE: Duration = Duration::from_millis(1);

/// Between two looks whether a new stream is known.
const SETTLE_PAUSE: Duration = Duration::from_millis(20);

/// Between two looks whether there is a connection again.
const CONNECTED_PAUSE: Duration = Duration::from_millis(5);

/// Between two attempts to connect again.
const CONNECT_PAUSE_MOST: Duration = Duration::from_millis(250);

/// Parts on their way at once.
const PARTS_AT_ONCE: usize = 4;

/// Deletions on their way at once.
const PURGES_AT_ONCE: usize = 16;

/// Larger messages are not sent, even if the server would take them: they hold up others.
const BODY_BYTES_MOST: usize = 1 << 20;

/// For subject and headers.
const AROUND_BODY_BYTES: usize = 4096;

/// A stream of NATS servers.
#[derive(Clone)]
pub(super) struct NatsStream {
    asked: Arc<Asked>,
    requests: Arc<Requests>,
    secrets: Arc<[String]>,
}

/// The parts that requests need.
struct Asked {
    client: Client,
    place: String,
    stream: String,
    limit: Duration,
    /// The stream was found as it has to be.
    is_ready: AtomicBool,
}

/// Without the client's state.
impl fmt::Debug for NatsStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = f.debug_struct("NatsStream");
        text.field("place", &self.asked.place)
            .finish_non_exhaustive()
    }
}

impl NatsStream {
    /// The stream there. If it is to be probed there has to be a connection when this returns; else it is made later.
    ///
    /// # Errors
    /// The credentials are wrong; no server answers.
    pub fn connect(place: &JetStreamPlace, options: &RemoteOptions) -> Result<Self, StoreError> {
        choose_cryptography();
        let text = place.text();
        let credentials = Credentials::from(&text, |name| std::env::var(name).ok())?;
        let secrets = credentials.secrets();
        let limit = options.request_limit.min(REQUEST_LIMIT_MOST);
        let mut client = credentials
            .options(&text)?
            .name("sardonyx")
            .require_tls(place.tls)
            .connection_timeout(limit)
            .request_timeout(Some(limit))
            .ping_interval(limit)
            .reconnect_delay_callback(|attempts| match attempts {
                0 | 1 => Duration::ZERO,
                _ => CONNECT_PAUSE_MOST,
            })
            .event_callback(|event| async move {
                tracing::info!(%event, "the connection to the log's NATS servers");
            });
        if !options.probe {
            client = client.retry_on_initial_connect();
        }
        let requests = Arc::new(Requests::start(&text)?);
        let connecting = client.connect(place.addresses());
        let connected = requests.wait(limit.saturating_mul(2), connecting);
        let unclear = |reason: String| StoreError::Unclear {
            what: "connect".into(),
            place: text.clone(),
            reason,
        };
        let client = match connected {
            Some(Ok(client)) => client,
            Some(Err(error)) => {
                let reason = shown(&error, &secrets);
                return Err(match error.kind() {
                    ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                        StoreError::Refused {
                            what: "connect".into(),
                            place: text,
                            reason,
                        }
                    }
                    _ => unclear(reason),
                });
            }
            None => return Err(unclear(format!("none came within {limit:?}"))),
        };
        Ok(NatsStream {
            asked: Arc::new(Asked {
                client,
                place: text,
                stream: place.stream.clone(),
                limit,
                is_ready: AtomicBool::new(false),
            }),
            requests,
            secrets: secrets.into(),
        })
    }

    /// Asks, once the stream is known to be as it has to be. `messages`: how many are sent, one after the other.
    fn ask<T: Send + 'static, F: Future<Output = Result<T, Failure>> + Send + 'static>(
        &self,
        what: &str,
        messages: usize,
        request: impl FnOnce(Arc<Asked>) -> F + Send + 'static,
    ) -> Result<T, StoreError> {
        let asked = self.asked.clone();
        let in_turn = u32::try_from(messages).unwrap_or(u32::MAX);
        // Each message has a limit of its own, twice: to be sent, and to be answered. And there are those that look at the
        // stream.
        let limit = (asked.limit * 2).saturating_mul(in_turn.saturating_add(5));
        let answer = self.requests.wait(limit, async move {
            asked.prepare().await?;
            request(asked).await
        });
        let answer = answer.unwrap_or_else(|| Err(no_answer(limit)));
        answer.map_err(|failure| self.error(what, failure))
    }

    fn error(&self, what: &str, failure: Failure) -> StoreError {
        let (what, place) = (what.to_string(), self.asked.place.clone());
        let shown = |text: &str| shortened(text, &self.secrets);
        match failure {
            Failure::Unclear(reason) => StoreError::Unclear {
                what,
                place,
                reason: shown(&reason),
            },
            // Words of our own, all of which are wanted.
            Failure::Setup(reason) => StoreError::Setup { place, reason },
            Failure::Refused(reason) => StoreError::Refused {
                what,
                place,
                reason: shown(&reason),
            },
            Failure::NoStream => StoreError::Refused {
                what,
                place,
                reason: format!("there is no stream `{}` any more", self.asked.stream),
            },
            Failure::Conflict | Failure::InUse | Failure::NoMessage | Failure::StreamExists => {
                StoreError::Unclear {
                    what,
                    place,
                    reason: format!("its answer fits no question: {failure:?}"),
                }
            }
        }
    }
}

fn no_answer(limit: Duration) -> Failure {
    Failure::Unclear(format!("none came within {limit:?}"))
}

impl Asked {
    /// Sends a request, and waits for its answer.
    async fn send(
        &self,
        subject: String,
        request: Request,
    ) -> Result<async_nats::Message, Failure> {
        let started = tokio::time::Instant::now();
        while self.client.connection_state() != State::Connected {
            if started.elapsed() > self.limit {
                return Err(Failure::Unclear("there is no connection".into()));
            }
            tokio::time::sleep(CONNECTED_PAUSE).await;
        }
        let answer = self.client.send_request(subject, request).await;
        answer.map_err(|error| match error.kind() {
            RequestErrorKind::TimedOut => no_answer(self.limit),
            RequestErrorKind::NoResponders => Failure::Unclear(
                "no server answers there: is JetStream on in its servers, and do most of them run?"
                    .into(),
            ),
            _ => Failure::Unclear(shown(&error, &[])),
        })
    }

    async fn api(&self, operation: &str, body: Vec<u8>) -> Result<async_nats::Message, Failure> {
        let subject = format!("$JS.API.{operation}.{}", self.stream);
        self.send(subject, Request::new().payload(body.into()))
            .await
    }

    /// Makes the stream if it is absent, and checks its configuration.
    async fn prepare(&self) -> Result<(), Failure> {
        if self.is_ready.load(Ordering::Relaxed) {
            return Ok(());
        }
        let found = self.configuration().await;
        // Known only now that there was an answer.
        let server = self.client.server_info();
        if let Some(objection) = objection_to_server(&server.version, server.max_payload) {
            return Err(Failure::Setup(objection));
        }
        let is_cluster = server.cluster.is_some();
        let found = match found {
            Err(Failure::NoStream) => match self.create(is_cluster).await {
                // Another one was faster.
                Err(Failure::StreamExists) => self.configuration().await?,
                created => created?,
            },
            found => found?,
        };
        if let Some(objection) = found.objection(is_cluster) {
            return Err(Failure::Setup(objection));
        }
        self.settle().await?;
        if !is_cluster {
            tracing::warn!(
                place = self.place,
                "its server is in no cluster: the log is lost with that host"
            );
        }
        self.is_ready.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until a stream that was just made is known to the server that is asked.
    async fn settle(&self) -> Result<(), Failure> {
        let started = tokio::time::Instant::now();
        loop {
            let anything = api::last_by_subject(&format!("{}.>", self.stream));
            match self.api("DIRECT.GET", anything).await {
                Err(Failure::Unclear(_)) if started.elapsed() < self.limit => {
                    tokio::time::sleep(SETTLE_PAUSE).await;
                }
                answer => return answer.map(drop),
            }
        }
    }

    async fn configuration(&self) -> Result<StreamConfiguration, Failure> {
        let answer = self.api("STREAM.INFO", Vec::new()).await?;
        let info: api::StreamInfo = api::answer(&answer.payload)?;
        Ok(info.config)
    }

    async fn create(&self, is_cluster: bool) -> Result<StreamConfiguration, Failure> {
        let wanted = StreamConfiguration::of_a_log(&self.stream, is_cluster);
        let wanted = serde_json::to_vec(&wanted)
            .map_err(|error| Failure::Refused(format!("its configuration: {error}")))?;
        let answer = self.api("STREAM.CREATE", wanted).await?;
        let info: api::StreamInfo = api::answer(&answer.payload)?;
        Ok(info.config)
    }

    async fn publish(&self, message: &Message) -> Result<(), Failure> {
        let request = Request::new()
            .headers(api::headers(&self.stream, message))
            .payload(message.body.clone());
        let answer = self.send(message.subject.clone(), request).await?;
        let acknowledged: api::Acknowledged = api::answer(&answer.payload)?;
        match acknowledged.seq {
            0 => Err(Failure::Unclear("it gave the message no number".into())),
            _ => Ok(()),
        }
    }

    /// As [`Asked::publish`]; while it is not known if the condition holds, nothing is done, and the request is
    /// repeated.
    async fn publish_if(&self, message: &Message) -> Result<Published, Failure> {
        let started = tokio::time::Instant::now();
        loop {
            match self.publish(message).await {
                Ok(()) => return Ok(Published::Ok),
                Err(Failure::Conflict) => return Ok(Published::Conflict),
                Err(Failure::InUse) if started.elapsed() < self.limit => {
                    tokio::time::sleep(IN_USE_PAUSE).await;
                }
                Err(Failure::InUse) => {
                    return Err(Failure::Unclear(
                        "others ask for the same all the time".into(),
                    ));
                }
                Err(failure) => return Err(failure),
            }
        }
    }
}

/// `None` where there is no such message.
fn if_there(stored: Result<Stored, Failure>) -> Result<Option<Stored>, Failure> {
    match stored {
        Ok(stored) => Ok(Some(stored)),
        Err(Failure::NoMessage) => Ok(None),
        Err(failure) => Err(failure),
    }
}

impl Stream for NatsStream {
    fn place(&self) -> String {
        self.asked.place.clone()
    }

    fn at_once(&self) -> usize {
        AT_ONCE
    }

    fn body_bytes_max(&self) -> Result<usize, StoreError> {
        self.ask("connect", 1, |asked| async move {
            let most = asked.client.server_info().max_payload;
            Ok(most.min(BODY_BYTES_MOST) - AROUND_BODY_BYTES)
        })
    }

    fn publish(&self, what: &str, message: Message) -> Result<Published, StoreError> {
        self.ask(
            what,
            2,
            |asked| async move { asked.publish_if(&message).await },
        )
    }

    fn publish_all(&self, what: &str, messages: Vec<(String, Bytes)>) -> Result<(), StoreError> {
        self.ask(what, messages.len(), |asked| async move {
            let put = |(subject, body): (String, Bytes)| {
                let asked = asked.clone();
                async move {
                    // Their names are random: there is nothing before them.
                    let condition = Condition {
                        filter: subject.clone(),
                        last: 0,
                    };
                    let message = Message {
                        subject,
                        condition,
                        replaces: false,
                        body,
                    };
                    asked.publish(&message).await
                }
            };
            let mut all = stream::iter(messages)
                .map(put)
                .buffer_unordered(PARTS_AT_ONCE);
            while all.try_next().await?.is_some() {}
            Ok(())
        })
    }

    fn near(&self, what: &str, filter: &str) -> Result<Option<Stored>, StoreError> {
        let body = api::last_by_subject(filter);
        self.ask(what, 1, |asked| async move {
            if_there(api::direct(asked.api("DIRECT.GET", body).await?))
        })
    }

    fn newest(&self, what: &str, filter: &str) -> Result<Option<Stored>, StoreError> {
        let body = api::last_by_subject(filter);
        self.ask(what, 1, |asked| async move {
            let answer = asked.api("STREAM.MSG.GET", body).await?;
            if_there(api::answer(&answer.payload).and_then(api::Got::stored))
        })
    }

    fn subjects(&self, what: &str, filter: &str) -> Result<Vec<String>, StoreError> {
        let filter = filter.to_string();
        let pages = 64;
        self.ask(what, pages, |asked| async move {
            let mut subjects = Vec::new();
            loop {
                let before = subjects.len();
                let answer = asked
                    .api("STREAM.INFO", api::subjects(&filter, before))
                    .await?;
                let info: api::StreamInfo = api::answer(&answer.payload)?;
                let (page, is_more) = info.page(before);
                subjects.extend(page);
                if !is_more {
                    return Ok(subjects);
                }
            }
        })
    }

    fn purge(&self, what: &str, filters: Vec<String>) -> Result<(), StoreError> {
        if filters.is_empty() {
            return Ok(());
        }
        self.ask(what, filters.len(), |asked| async move {
            let purge = |filter: String| {
                let asked = asked.clone();
                async move {
                    let answer = asked.api("STREAM.PURGE", api::purge(&filter)).await?;
                    api::answer::<serde_json::Value>(&answer.payload)
                }
            };
            let mut all = stream::iter(filters)
                .map(purge)
                .buffer_unordered(PURGES_AT_ONCE);
            while all.try_next().await?.is_some() {}
            Ok(())
        })
    }
}

/// Makes `ring` the program's default library for TLS, unless the program has chosen one.
fn choose_cryptography() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Another thread may have chosen meanwhile.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}
