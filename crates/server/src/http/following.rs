//! HTTP of a host that does not serve the database: it lives, names the serving host, and has metrics of how it
//! follows.

use super::connection::{body, serve_requests, text};
use super::figures;
use super::route::{Refusal, Route, route};
use crate::options::Limits;
use crate::state::SeesHost;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use std::convert::Infallible;
use std::io;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// Answers a client until the client or the server ends the connection. `says` names the serving host.
///
/// # Errors
/// The connection's.
pub async fn serve<S>(
    stream: S,
    limits: Limits,
    stop: watch::Receiver<bool>,
    says: &(dyn Fn() -> String + Send + Sync),
    host: &SeesHost,
) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let service = service_fn(async |request| Ok::<_, Infallible>(answer(&request, says, host)));
    serve_requests(stream, limits, stop, service).await
}

fn answer(
    request: &Request<Incoming>,
    says: &(dyn Fn() -> String + Send + Sync),
    host: &SeesHost,
) -> Response<Full<Bytes>> {
    match route(request, false) {
        Ok(Route::Live) => text(StatusCode::OK, "alive\n"),
        Ok(Route::Metrics(format)) => body(
            StatusCode::OK,
            format.content_type(),
            figures::write_host(&host.see(), format),
        ),
        Ok(_) => text(StatusCode::SERVICE_UNAVAILABLE, format!("{}\n", says())),
        Err(refusal) => {
            let (status, sentence) = Refusal::told(refusal);
            text(status, format!("{sentence}\n"))
        }
    }
}
