//! A blocking HTTP client: one request a connection, with a bound on the time and on the response's size.
//!
//! `top` asks a Sardonyx server with it, and spans are sent to a collector with it. Both servers are given by their
//! address, so proxies and redirects are not supported.

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::header::{CONNECTION, HOST, HeaderValue};
use hyper::http::uri::Scheme;
use hyper::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use sardonyx_tls::TlsError;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// The longest response that is read, in bytes.
const RESPONSE_BYTES_MAX: usize = 10 << 20;

/// The reason why a request has no response.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The URL has no host, or a scheme other than `http` and `https`.
    #[error("{0:?} is not the URL of a server: write http://HOST:PORT or https://HOST:PORT")]
    Address(String),
    /// The connection failed, or the server's certificate is not trusted.
    #[error(transparent)]
    Connection(#[from] io::Error),
    /// The response is not HTTP, or the connection ended before it.
    #[error(transparent)]
    Http(#[from] hyper::Error),
    /// The response's body ended early, or is longer than [`RESPONSE_BYTES_MAX`].
    #[error("the response cannot be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// The time limit has passed.
    #[error("no response within {} s", .0.as_secs_f64())]
    Late(Duration),
}

/// A client with its trusted certificate authority and its time limit.
pub struct HttpClient {
    connector: TlsConnector,
    patience: Duration,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpClient")
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

impl HttpClient {
    /// `ca`: the file with the certificate authority's certificate; without it no `https` server is trusted.
    /// `patience`: the time limit of a request, from the connection to the response's end.
    ///
    /// # Errors
    /// [`TlsError`], if the file has no certificate.
    pub fn new(ca: Option<&Path>, patience: Duration) -> Result<HttpClient, TlsError> {
        let config = sardonyx_tls::client(ca)?;
        Ok(HttpClient {
            connector: TlsConnector::from(Arc::new(config)),
            patience,
        })
    }

    /// Sends a request, whose URI is absolute, and waits for the response. A response with an error status is not an
    /// error.
    ///
    /// # Errors
    /// [`HttpError`].
    ///
    /// # Panics
    /// If a task of tokio calls it, since it blocks the thread.
    pub fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        runtime.block_on(async {
            let response = tokio::time::timeout(self.patience, self.response(request));
            response.await.map_err(|_| HttpError::Late(self.patience))?
        })
    }

    async fn response(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let address = || HttpError::Address(request.uri().to_string());
        let is_encrypted = match request.uri().scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(address()),
        };
        let host = request.uri().host().ok_or_else(address)?;
        // An IPv6 address is in brackets only where a port may follow.
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_string();
        let port = request
            .uri()
            .port_u16()
            .unwrap_or(if is_encrypted { 443 } else { 80 });
        let name = match is_encrypted {
            true => Some(ServerName::try_from(host.clone()).map_err(|_| address())?),
            false => None,
        };
        let stream = TcpStream::connect((host, port)).await?;
        match name {
            Some(name) => exchange(self.connector.connect(name, stream).await?, request).await,
            None => exchange(stream, request).await,
        }
    }
}

/// One request and its response on a connection.
async fn exchange<S>(stream: S, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut parts, body) = request.into_parts();
    let address = || HttpError::Address(parts.uri.to_string());
    let host = parts.uri.authority().ok_or_else(address)?.as_str();
    // The host follows a name and a password in the address.
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = HeaderValue::from_str(host).map_err(|_| address())?;
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = Uri::try_from(path).map_err(|_| address())?;
    parts.headers.insert(HOST, host);
    parts
        .headers
        .insert(CONNECTION, HeaderValue::from_static("close"));
    let request = Request::from_parts(parts, Full::new(body));
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    // Its errors reach the request. It ends with the runtime at the latest.
    tokio::spawn(connection);
    let (parts, body) = sender.send_request(request).await?.into_parts();
    let body = Limited::new(body, RESPONSE_BYTES_MAX).collect().await;
    let body = body.map_err(HttpError::Body)?.to_bytes();
    Ok(Response::from_parts(parts, body))
}
