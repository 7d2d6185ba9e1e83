//! HTTP requests of an object store's client, made with `ureq`: the one HTTP client of this workspace, so that the program
//! does not contain a second one.
//!
//! A request blocks a thread of the runtime's blocking pool. It is made once: no redirect is followed and nothing is
//! retried, since a repeated request of a log is the caller's decision.

use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::BodyExt;
use object_store::client::{
    ClientConfigKey, ClientOptions, HttpClient, HttpConnector, HttpError, HttpErrorKind,
    HttpRequest, HttpResponse, HttpService,
};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

/// Makes clients whose requests take at most this long.
#[derive(Debug)]
pub(crate) struct UreqConnector {
    /// The time limit of a request with its answer.
    pub request_limit: Duration,
}

impl HttpConnector for UreqConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        // The other settings are not the user's: `s3::connect` makes them.
        let allow_http = options.get_config_value(&ClientConfigKey::AllowHttp);
        let tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::PlatformVerifier);
        let config = Agent::config_builder()
            .timeout_global(Some(self.request_limit))
            .https_only(allow_http.is_none_or(|allowed| allowed != "true"))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(tls.build());
        Ok(HttpClient::new(Requester(config.build().into())))
    }
}

/// One client, with its connections.
#[derive(Clone, Debug)]
struct Requester(Agent);

#[async_trait]
impl HttpService for Requester {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let agent = self.0.clone();
        let asked = tokio::task::spawn_blocking(move || ask(&agent, head, &body));
        // The task is lost if the runtime ends meanwhile.
        asked
            .await
            .map_err(|error| HttpError::new(HttpErrorKind::Interrupted, error))?
    }
}

fn ask(agent: &Agent, head: http::request::Parts, body: &Bytes) -> Result<HttpResponse, HttpError> {
    let answer = match body.is_empty() && !may_have_body(&head.method) {
        true => agent.run(http::Request::from_parts(head, ())),
        false => agent.run(http::Request::from_parts(head, body.as_ref())),
    };
    let (head, mut body) = answer.map_err(error)?.into_parts();
    let bytes = body.with_config().limit(u64::MAX).read_to_vec();
    Ok(HttpResponse::from_parts(head, bytes.map_err(error)?.into()))
}

/// Methods whose requests state the length of their body, also an empty one.
fn may_have_body(method: &http::Method) -> bool {
    matches!(*method, http::Method::PUT | http::Method::POST)
}

fn error(error: ureq::Error) -> HttpError {
    let kind = match &error {
        ureq::Error::Timeout(_) => HttpErrorKind::Timeout,
        ureq::Error::HostNotFound | ureq::Error::ConnectionFailed => HttpErrorKind::Connect,
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::TimedOut => HttpErrorKind::Timeout,
            io::ErrorKind::ConnectionRefused => HttpErrorKind::Connect,
            _ => HttpErrorKind::Interrupted,
        },
        _ => HttpErrorKind::Unknown,
    };
    HttpError::new(kind, error)
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
