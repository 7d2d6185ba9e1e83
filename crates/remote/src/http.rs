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
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Proxy};

/// A setting of the environment that this client does not have.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not supported: unset it")]
struct NotSupported(&'static str);

/// Makes clients whose requests take at most this long.
#[derive(Debug)]
pub(crate) struct UreqConnector {
    /// The time limit of a request with its answer.
    pub request_limit: Duration,
}

impl HttpConnector for UreqConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let is_set = |key| {
            options
                .get_config_value(&key)
                .is_some_and(|value| value == "true")
        };
        let refused = [
            ("AWS_HTTP2_ONLY", is_set(ClientConfigKey::Http2Only)),
            (
                "AWS_PROXY_CA_CERTIFICATE",
                options
                    .get_config_value(&ClientConfigKey::ProxyCaCertificate)
                    .is_some(),
            ),
            (
                "AWS_PROXY_EXCLUDES",
                options
                    .get_config_value(&ClientConfigKey::ProxyExcludes)
                    .is_some(),
            ),
        ];
        if let Some((name, _)) = refused.into_iter().find(|(_, is_set)| *is_set) {
            return Err(generic(NotSupported(name)));
        }
        let mut tls = TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::PlatformVerifier)
            .disable_verification(is_set(ClientConfigKey::AllowInvalidCertificates));
        if is_set(ClientConfigKey::NoSystemCertificates) {
            tls = tls.root_certs(RootCerts::Specific(Arc::new(Vec::new())));
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(self.request_limit))
            .https_only(!is_set(ClientConfigKey::AllowHttp))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .allow_non_standard_methods(true)
            .tls_config(tls.build());
        if let Some(url) = options.get_config_value(&ClientConfigKey::ProxyUrl) {
            let proxy = Proxy::new(&url).map_err(generic)?;
            config = config.proxy(Some(proxy));
        }
        Ok(HttpClient::new(Requester(config.build().into())))
    }
}

fn generic(source: impl std::error::Error + Send + Sync + 'static) -> object_store::Error {
    object_store::Error::Generic {
        store: "S3",
        source: Box::new(source),
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
