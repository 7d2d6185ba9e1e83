//! A client of HTTP: the socket and the answers.
//!
//! Each of these has a bound:
//!
//! - the request's head ([`HEAD_BYTES_MAX`], [`HEADERS_MAX`]), and the requests of a connection ([`REQUESTS_MAX`]);
//! - the time until the head has arrived ([`Limits::greeting`], also between requests);
//! - the time for which the client reads nothing ([`Limits::unread`]).
//!
//! The server holds no stage and no lock while it waits for a client.

use super::access::{Gate, Shown, Sight};
use super::exposition::Format;
use super::figures;
use super::observer::Observer;
use super::page::{PAGE, POLICY};
use super::patient::Patient;
use super::route::{Refusal, Route, route};
use crate::lease::Lease;
use crate::metrics::Protocol;
use crate::options::Limits;
use crate::state::State;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{self, AUTHORIZATION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::convert::Infallible;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, watch};

/// The longest head of a request, in bytes.
pub const HEAD_BYTES_MAX: usize = 16 << 10;
/// The most headers of a request.
pub const HEADERS_MAX: usize = 64;
/// The most requests of a connection: then it is closed, and the client connects again.
pub const REQUESTS_MAX: u64 = 10_000;

/// The content for HTTP clients, and the access control.
#[derive(Debug)]
pub struct Http {
    observer: Observer,
    gate: Arc<Gate>,
    limits: Limits,
    lease: Lease,
}

/// The place where a client has connected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// True if only this host reaches it.
    pub is_local: bool,
    /// True if browsers can reach it: a TCP address, not a socket in the file system.
    pub is_tcp: bool,
}

/// The state of a connection between its requests.
#[derive(Debug, Default)]
struct Before {
    requests: u64,
    shown: Shown,
}

impl Http {
    /// The content and access control of a server.
    pub fn new(observer: Observer, gate: Gate, limits: Limits, lease: Lease) -> Self {
        Http {
            observer,
            gate: Arc::new(gate),
            limits,
            lease,
        }
    }

    /// Serves a client until the client or the server ends the connection.
    ///
    /// # Errors
    /// The connection's; the client does not speak HTTP/1, or took too long.
    pub async fn serve<S>(&self, stream: S, place: Place) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        // Requests of a connection are answered one after the other.
        let before = Mutex::new(Before::default());
        let service = service_fn(async |request| {
            let mut before = before.lock().await;
            Ok::<_, Infallible>(self.answer(&request, place, &mut before).await)
        });
        serve_requests(stream, self.limits, self.observer.stop(), service).await
    }

    async fn answer(
        &self,
        request: &Request<Incoming>,
        place: Place,
        before: &mut Before,
    ) -> Response<Full<Bytes>> {
        let started = Instant::now();
        let mut response = self.respond(request, place, &mut before.shown).await;
        before.requests += 1;
        let headers = response.headers_mut();
        // The bytes after an unread body cannot be distinguished from it.
        let has_body = request.headers().contains_key(header::TRANSFER_ENCODING)
            || request.headers().contains_key(header::CONTENT_LENGTH);
        if before.requests >= REQUESTS_MAX || has_body {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        for (name, value) in [
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let took = started.elapsed();
        self.observer.metrics().flight(Protocol::Http, 1, took);
        response
    }

    async fn respond(
        &self,
        request: &Request<Incoming>,
        place: Place,
        shown: &mut Shown,
    ) -> Response<Full<Bytes>> {
        let nobody_is_asked = self.gate.sight_of_anybody(place.is_local) > Sight::Health;
        let route = match route(request, nobody_is_asked && place.is_tcp) {
            Ok(route) => route,
            Err(refusal) => return refused(refusal),
        };
        match route {
            Route::Live => return text(StatusCode::OK, "alive\n"),
            Route::Ready => return self.ready(),
            Route::Metrics(_) | Route::State | Route::Page => {}
        }
        let header = request.headers().get(AUTHORIZATION);
        let header = header.map(HeaderValue::as_bytes);
        let sight = self.gate.sight(place.is_local, header, shown).await;
        if sight.is_err() {
            self.observer.metrics().refused();
            tracing::info!("an HTTP client was refused: its name or password is wrong");
        }
        let Some(sight) = sight.ok().filter(|sight| *sight > Sight::Health) else {
            return unknown_user();
        };
        match route {
            Route::Page => page(),
            Route::Metrics(format) => self.metrics(format).await,
            Route::State => self.state(sight).await,
            Route::Live | Route::Ready => text(StatusCode::OK, ""),
        }
    }

    fn ready(&self) -> Response<Full<Bytes>> {
        if !self.lease.is_held() {
            let sentence = "this host's lease has run out: another host may serve\n";
            return text(StatusCode::SERVICE_UNAVAILABLE, sentence);
        }
        if let Some(sentence) = self.lease.who_serves() {
            return text(StatusCode::SERVICE_UNAVAILABLE, format!("{sentence}\n"));
        }
        let readiness = self.observer.readiness();
        match readiness.ready {
            true => text(StatusCode::OK, "ready\n"),
            false => {
                let sentences = readiness.obstacles.join("\n");
                text(StatusCode::SERVICE_UNAVAILABLE, format!("{sentences}\n"))
            }
        }
    }

    async fn metrics(&self, format: Format) -> Response<Full<Bytes>> {
        let Some(state) = self.observer.state().await else {
            return busy();
        };
        body(
            StatusCode::OK,
            format.content_type(),
            figures::write(&state, format),
        )
    }

    async fn state(&self, sight: Sight) -> Response<Full<Bytes>> {
        let Some(state) = self.observer.state().await else {
            return busy();
        };
        let json = match sight {
            Sight::Statements => serde_json::to_vec(&*state),
            Sight::Figures | Sight::Health => serde_json::to_vec(&State {
                slow_statements: None,
                ..(*state).clone()
            }),
        };
        match json {
            Ok(json) => body(StatusCode::OK, "application/json", json),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }
}

/// Lets a service answer the requests of a connection, until its client or the server ends it.
///
/// # Errors
/// The connection's; the client does not speak HTTP/1, or took too long.
pub(super) async fn serve_requests<S, T>(
    stream: S,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
    service: T,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: Service<Request<Incoming>, Response = Response<Full<Bytes>>, Error = Infallible>,
{
    let stream = TokioIo::new(Patient::new(stream, limits.unread));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.greeting)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(stream, service);
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => Some(served),
        _ = stop.wait_for(|stop| *stop) => None,
    };
    let served = match served {
        Some(served) => served,
        None => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    served.map_err(io::Error::other)
}

fn page() -> Response<Full<Bytes>> {
    let page = Bytes::from_static(PAGE.as_bytes());
    let mut response = body(StatusCode::OK, "text/html; charset=utf-8", page);
    if let Ok(policy) = HeaderValue::from_str(&POLICY) {
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

fn refused(refusal: Refusal) -> Response<Full<Bytes>> {
    let (status, sentence) = refusal.told();
    let mut response = text(status, format!("{sentence}\n"));
    if refusal == Refusal::Method {
        let methods = HeaderValue::from_static("GET, HEAD");
        response.headers_mut().insert(header::ALLOW, methods);
    }
    response
}

fn unknown_user() -> Response<Full<Bytes>> {
    let sentence = "give the name and password of a user\n";
    let mut response = text(StatusCode::UNAUTHORIZED, sentence);
    let basic = HeaderValue::from_static("Basic realm=\"sardonyx\", charset=\"UTF-8\"");
    let headers = response.headers_mut();
    headers.insert(header::WWW_AUTHENTICATE, basic);
    response
}

fn busy() -> Response<Full<Bytes>> {
    let sentence = "a transaction has been running for long: ask again\n";
    text(StatusCode::SERVICE_UNAVAILABLE, sentence)
}

pub(super) fn text(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    body(status, "text/plain; charset=utf-8", text)
}

pub(super) fn body(
    status: StatusCode,
    kind: &'static str,
    content: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(content.into()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::options::{Right, User};
    use crate::passwords::Passwords;
    use crate::scram::Verifier;
    use crate::state::Observed;
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
    use sardonyx::Tables;
    use std::collections::BTreeMap;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::runtime::Runtime;
    use tokio::sync::watch;

    const HERE: Place = Place {
        is_local: true,
        is_tcp: true,
    };
    const ELSEWHERE: Place = Place {
        is_local: false,
        is_tcp: true,
    };

    struct World {
        _directory: tempfile::TempDir,
        http: Arc<Http>,
        stop: watch::Sender<bool>,
        /// Of one thread and a clock that jumps to whatever is waited for.
        runtime: Runtime,
    }

    impl World {
        fn new(users: BTreeMap<String, User>) -> World {
            let directory = tempfile::tempdir().unwrap();
            let tables = Arc::new(Tables::open(directory.path().join("x.sdx")).unwrap());
            let (stop, stopped) = watch::channel(false);
            let metrics = Arc::new(Metrics::default());
            metrics.slow("ada", "select '<b>'", Duration::from_secs(1));
            let observed = Observed::Tables(tables);
            let observer = Observer::new(observed, metrics, stopped, Lease::default());
            let gate = Gate::new(Arc::new(Passwords::new(users, [1; 32])));
            let mut builder = tokio::runtime::Builder::new_current_thread();
            World {
                _directory: directory,
                http: Arc::new(Http::new(
                    observer,
                    gate,
                    Limits::default(),
                    Lease::default(),
                )),
                stop,
                runtime: builder.enable_time().start_paused(true).build().unwrap(),
            }
        }

        fn with_ada() -> World {
            let ada = User {
                verifier: Verifier::of_password("pencil").unwrap(),
                tables: Right::Read,
                table: BTreeMap::new(),
                keys: Right::Read,
            };
            World::new(BTreeMap::from([("ada".into(), ada)]))
        }

        fn connect(&self, place: Place) -> (DuplexStream, tokio::task::JoinHandle<io::Result<()>>) {
            let (ours, theirs) = duplex(4096);
            let http = self.http.clone();
            let served = self
                .runtime
                .spawn(async move { http.serve(theirs, place).await });
            (ours, served)
        }

        /// The answers to these bytes, of a client that then waits.
        fn told(&self, place: Place, request: &str) -> String {
            let (mut client, _served) = self.connect(place);
            self.runtime.block_on(async {
                // A refused client may be cut off before it has sent all; the answer is readable all the same.
                let _ = client.write_all(request.as_bytes()).await;
                let mut answer = Vec::new();
                let _ = client.read_to_end(&mut answer).await;
                String::from_utf8(answer).unwrap()
            })
        }

        fn get(&self, place: Place, path: &str, headers: &str) -> String {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Connection: close\r\n\r\n"
            );
            self.told(place, &request)
        }
    }

    fn basic(text: &str) -> String {
        format!("Authorization: Basic {}\r\n", BASE64_STANDARD.encode(text))
    }

    fn state_of(answer: &str) -> State {
        let (head, json) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("content-type: application/json"), "{head}");
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn all_is_there() {
        let world = World::new(BTreeMap::new());
        let get = |path| world.get(HERE, path, "");
        assert!(get("/livez").starts_with("HTTP/1.1 200 OK\r\n"));
        assert!(get("/readyz").ends_with("\r\n\r\nready\n"));
        let metrics = get("/metrics");
        assert!(
            metrics.contains("content-type: text/plain; version=0.0.4"),
            "{metrics}"
        );
        assert!(metrics.contains("\nsardonyx_ready 1\n") && !metrics.contains("# EOF"));
        let accept = "Accept: application/openmetrics-text\r\n";
        let metrics = world.get(HERE, "/metrics", accept);
        assert!(
            metrics.ends_with("# EOF\n") && metrics.contains("openmetrics-text; version=1.0.0")
        );
        let state = state_of(&get("/api/state"));
        assert_eq!(state.slow_statements.unwrap()[0].text, "select '<b>'");
        let page = get("/");
        assert!(page.contains("content-security-policy: default-src 'none'; script-src 'sha256-"));
        assert!(page.ends_with("</html>\n"), "{page}");
        assert!(get("/x").starts_with("HTTP/1.1 404 "));
        let head = world.told(
            HERE,
            "HEAD /livez HTTP/1.1\r\nHost: [::1]\r\nConnection: close\r\n\r\n",
        );
        assert!(
            head.contains("content-length: 6") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
    }

    #[test]
    fn requests_of_a_connection_are_answered_in_order() {
        let world = World::new(BTreeMap::new());
        let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let last = request.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
        let answers = world.told(
            HERE,
            &format!("{request}{}{last}", request.replace("livez", "readyz")),
        );
        let bodies: Vec<&str> = answers.split("\r\n\r\n").skip(1).collect();
        assert_eq!(bodies.len(), 3, "{answers}");
        assert!(bodies[0].starts_with("alive") && bodies[1].starts_with("ready"));
    }

    #[test]
    fn hostile_clients_are_sent_away() {
        let world = World::new(BTreeMap::new());
        let starts = |request: &str, status: &str| {
            let answer = world.told(HERE, request);
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{request:.50}: {answer}"
            );
        };
        let host = "Host: localhost\r\n";
        // A body is neither read nor taken for the next request.
        let smuggled = format!(
            "POST / HTTP/1.1\r\n{host}Content-Length: 40\r\n\r\nGET /livez HTTP/1.1\r\n{host}\r\n"
        );
        starts(&smuggled, "405");
        assert_eq!(world.told(HERE, &smuggled).matches("HTTP/1.1 ").count(), 1);
        starts(
            &format!("GET / HTTP/1.1\r\n{host}Content-Length: 5\r\n\r\nhello"),
            "413",
        );
        starts("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421");
        starts("\x16\x03\x01 hello", "400");
        let many = "x: y\r\n".repeat(HEADERS_MAX + 1);
        starts(&format!("GET / HTTP/1.1\r\n{many}\r\n"), "431");
        let long = "x".repeat(2 * HEAD_BYTES_MAX);
        starts(&format!("GET / HTTP/1.1\r\n{host}x: {long}\r\n\r\n"), "431");
    }

    #[test]
    fn slow_clients_are_cut_off() {
        let world = World::new(BTreeMap::new());
        // A silent client, an unfinished request and an idle connection: none is waited for without end.
        assert_eq!(world.told(HERE, ""), "");
        world.told(HERE, "GET / HTTP/1.1\r\nHost:");
        let answer = world.told(HERE, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert!(answer.ends_with("alive\n"), "{answer}");
    }

    #[test]
    fn one_that_reads_nothing_is_cut_off() {
        let world = World::new(BTreeMap::new());
        let (mut client, served) = world.connect(HERE);
        let request = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let served = world.runtime.block_on(async {
            client.write_all(request.as_bytes()).await.unwrap();
            served.await.unwrap()
        });
        assert!(served.is_err());
    }

    #[test]
    fn users_are_asked_for_a_password_where_others_can_connect() {
        let world = World::with_ada();
        for path in ["/", "/metrics", "/api/state"] {
            let answer = world.get(ELSEWHERE, path, "");
            assert!(answer.starts_with("HTTP/1.1 401 "), "{path}: {answer}");
            assert!(answer.contains("www-authenticate: Basic realm"), "{path}");
            let answer = world.get(ELSEWHERE, path, &basic("ada:pen"));
            assert!(answer.starts_with("HTTP/1.1 401 "), "{path}");
            let answer = world.get(ELSEWHERE, path, &basic("ada:pencil"));
            assert!(answer.starts_with("HTTP/1.1 200 "), "{path}");
        }
        for path in ["/livez", "/readyz"] {
            assert!(
                world.get(ELSEWHERE, path, "").starts_with("HTTP/1.1 200 "),
                "{path}"
            );
        }
        let state = state_of(&world.get(ELSEWHERE, "/api/state", &basic("ada:pencil")));
        assert!(state.slow_statements.is_some());
        // At this place no password is asked for, and statements are not shown.
        assert_eq!(
            state_of(&world.get(HERE, "/api/state", "")).slow_statements,
            None
        );
    }

    #[test]
    fn a_server_that_stops_ends_connections_and_is_not_ready() {
        let world = World::new(BTreeMap::new());
        let (mut client, served) = world.connect(HERE);
        world.runtime.block_on(async {
            let request = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
            client.write_all(request.as_bytes()).await.unwrap();
            let mut answer = [0; 12];
            client.read_exact(&mut answer).await.unwrap();
            world.stop.send(true).unwrap();
            served.await.unwrap().unwrap();
        });
        assert_eq!(world.http.ready().status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
