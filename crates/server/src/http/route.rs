//! Routes of requests, and the refusals of all others. No I/O.
//!
//! Only GET and HEAD without bodies: requests change nothing. At an address without passwords, a request must name this
//! host. A foreign page in a browser here can have its own name resolved to this address, but the browser then sends
//! that name.

use super::exposition::Format;
use hyper::header::{ACCEPT, CONTENT_LENGTH, HOST, HeaderMap, TRANSFER_ENCODING};
use hyper::{Method, Request, StatusCode};
use std::net::IpAddr;

/// A resource.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    /// The liveness probe.
    Live,
    Ready,
    Metrics(Format),
    /// The state as JSON.
    State,
    Page,
}

/// The reason why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The method is neither GET nor HEAD.
    Method,
    /// The request has a body.
    Body,
    /// The path is unknown.
    Unknown,
    /// The request names another host.
    Host,
}

impl Refusal {
    /// The status and the sentence of the answer.
    pub fn told(self) -> (StatusCode, &'static str) {
        match self {
            Refusal::Method => (
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD are supported: HTTP is read-only",
            ),
            Refusal::Body => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "a request with a body is not supported",
            ),
            Refusal::Unknown => (
                StatusCode::NOT_FOUND,
                "the paths are /, /metrics, /livez, /readyz and /api/state",
            ),
            Refusal::Host => (
                StatusCode::MISDIRECTED_REQUEST,
                "where no password is asked for, ask for localhost or an IP address, not for another name",
            ),
        }
    }
}

/// The route of a request. `names_host`: the request must name this host by an address, or as localhost.
///
/// # Errors
/// The reason why it is refused.
pub fn route<B>(request: &Request<B>, names_host: bool) -> Result<Route, Refusal> {
    let headers = request.headers();
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return Err(Refusal::Method);
    }
    if has_body(headers) {
        return Err(Refusal::Body);
    }
    if names_host && !names_this_host(headers) {
        return Err(Refusal::Host);
    }
    match request.uri().path() {
        "/" => Ok(Route::Page),
        "/livez" => Ok(Route::Live),
        "/readyz" => Ok(Route::Ready),
        "/metrics" => {
            let accepts = headers.get_all(ACCEPT).iter();
            let accepts: Vec<&str> = accepts.filter_map(|value| value.to_str().ok()).collect();
            Ok(Route::Metrics(Format::of_accept(&accepts.join(","))))
        }
        "/api/state" => Ok(Route::State),
        _ => Err(Refusal::Unknown),
    }
}

fn has_body(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH);
    length.is_some_and(|length| length != "0") || headers.contains_key(TRANSFER_ENCODING)
}

/// Clients of HTTP/1.0 may name no host: no browser is among them.
fn names_this_host(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(HOST) else {
        return true;
    };
    let Ok(host) = host.to_str() else {
        return false;
    };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next(),
        None => host.split(':').next(),
    };
    let name = name.unwrap_or_default();
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: &str, path: &str, headers: &[(&str, &str)]) -> Result<Route, Refusal> {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        route(&request.body(()).unwrap(), true)
    }

    #[test]
    fn what_there_is() {
        assert_eq!(asked("GET", "/", &[]), Ok(Route::Page));
        assert_eq!(asked("HEAD", "/livez?x=1", &[]), Ok(Route::Live));
        assert_eq!(
            asked("GET", "/metrics", &[]),
            Ok(Route::Metrics(Format::Text))
        );
        let accept = [
            ("accept", "application/openmetrics-text;q=0.7"),
            ("accept", "text/plain;q=0.3"),
        ];
        assert_eq!(
            asked("GET", "/metrics", &accept),
            Ok(Route::Metrics(Format::OpenMetrics))
        );
        for path in ["/metrics/", "/api", "/../etc/passwd", "//", "/READYZ"] {
            assert_eq!(asked("GET", path, &[]), Err(Refusal::Unknown), "{path}");
        }
    }

    #[test]
    fn nothing_is_changed() {
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"] {
            assert_eq!(asked(method, "/", &[]), Err(Refusal::Method), "{method}");
        }
        assert_eq!(
            asked("GET", "/", &[("content-length", "1")]),
            Err(Refusal::Body)
        );
        assert_eq!(
            asked("GET", "/", &[("content-length", "0")]),
            Ok(Route::Page)
        );
        let chunked = [("transfer-encoding", "chunked")];
        assert_eq!(asked("GET", "/", &chunked), Err(Refusal::Body));
    }

    #[test]
    fn only_this_host_may_be_named() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "192.0.2.1",
        ] {
            assert_eq!(
                asked("GET", "/", &[("host", host)]),
                Ok(Route::Page),
                "{host}"
            );
        }
        for host in [
            "evil.example",
            "evil.example:8080",
            "",
            "localhost.evil.example",
            "[evil]:1",
        ] {
            assert_eq!(
                asked("GET", "/", &[("host", host)]),
                Err(Refusal::Host),
                "{host}"
            );
        }
        let request = Request::builder()
            .header("host", "db.example")
            .body(())
            .unwrap();
        assert_eq!(route(&request, false), Ok(Route::Page));
    }
}
