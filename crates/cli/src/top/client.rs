//! Reading a server's state: one small request over HTTP, again and again.

use crate::http_client::{HttpClient, HttpError};
use bytes::Bytes;
use hyper::Request;
use hyper::header::AUTHORIZATION;
use sardonyx_server::state::State;
use sardonyx_tls::TlsError;
use std::path::Path;
use std::time::Duration;

/// The time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The reason why a state was not read.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The server does not answer.
    #[error(
        "the server does not answer at {url}: {source}; name another one: `sardonyx top http://HOST:PORT`"
    )]
    Unreachable {
        /// The server's URL.
        url: String,
        /// The cause.
        #[source]
        source: HttpError,
    },
    /// The server asks for a password, or the given one is wrong.
    #[error(
        "the server at {url} needs the name and password of a user: --user NAME, with SARDONYX_PASSWORD in the environment"
    )]
    Password {
        /// The server's URL.
        url: String,
    },
    /// The server refuses.
    #[error("the server at {url} refuses with {status}: {text}")]
    Refused {
        /// The server's URL.
        url: String,
        status: u16,
        /// The answer's text.
        text: String,
    },
    /// The answer is not from a Sardonyx server.
    #[error("the server at {url} is not a Sardonyx server: {source}")]
    Answer {
        /// The server's URL.
        url: String,
        /// The fault of the answer.
        #[source]
        source: serde_json::Error,
    },
    /// The file has no certificate.
    #[error(transparent)]
    Certificate(#[from] TlsError),
}

/// A client of a server's state.
#[derive(Debug)]
pub struct Client {
    http: HttpClient,
    url: String,
    authorization: Option<String>,
}

impl Client {
    /// A client of a server; `user` is name and password, `ca` the file with the CA's certificate.
    ///
    /// # Errors
    /// [`StateError::Certificate`].
    pub fn new(
        server: &str,
        user: Option<(&str, &str)>,
        ca: Option<&Path>,
    ) -> Result<Client, StateError> {
        let has_scheme = server.contains("://");
        let scheme = if has_scheme { "" } else { "http://" };
        Ok(Client {
            http: HttpClient::new(ca, PATIENCE)?,
            url: format!("{scheme}{}/api/state", server.trim_end_matches('/')),
            authorization: user.map(|(name, password)| {
                use base64::Engine;
                let both = format!("{name}:{password}");
                format!("Basic {}", base64::prelude::BASE64_STANDARD.encode(both))
            }),
        })
    }

    /// The current state.
    ///
    /// # Errors
    /// The reason why it was not read.
    pub fn state(&self) -> Result<State, StateError> {
        let url = || self.url.clone();
        let unreachable = |source| StateError::Unreachable { url: url(), source };
        let mut request = Request::get(&self.url);
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        // It fails only if the address is not valid.
        let request = request.body(Bytes::new());
        let request = request.map_err(|_| unreachable(HttpError::Address(url())))?;
        let answer = self.http.send(request).map_err(unreachable)?;
        let (status, text) = (answer.status().as_u16(), answer.body());
        match status {
            200 => serde_json::from_slice(text)
                .map_err(|source| StateError::Answer { url: url(), source }),
            401 => Err(StateError::Password { url: url() }),
            _ => Err(StateError::Refused {
                url: url(),
                status,
                text: String::from_utf8_lossy(text)
                    .trim()
                    .chars()
                    .take(200)
                    .collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// The client's result for this answer of a server, and the server's request.
    fn asked(answer: &'static str) -> (Result<State, StateError>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap().to_string();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = Vec::new();
            let mut byte = [0];
            while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() > 0 {
                request.push(byte[0]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(request).unwrap()
        });
        let client = Client::new(&server, Some(("ada", "pen:cil")), None).unwrap();
        (client.state(), answering.join().unwrap())
    }

    #[test]
    fn an_answer_is_understood_and_others_are_told_of() {
        let state = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nnull";
        let (outcome, request) = asked(state);
        assert!(matches!(outcome, Err(StateError::Answer { .. })));
        assert!(
            request.starts_with("GET /api/state HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.contains("authorization: Basic YWRhOnBlbjpjaWw=\r\n"),
            "{request}"
        );
        let (outcome, _) = asked("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
        assert!(matches!(outcome, Err(StateError::Password { .. })));
        let (outcome, _) = asked("HTTP/1.1 503 X\r\nContent-Length: 5\r\n\r\nlater");
        let error = outcome.unwrap_err().to_string();
        assert!(error.ends_with("refuses with 503: later"), "{error}");
        let (outcome, _) = asked("");
        assert!(matches!(&outcome, Err(StateError::Unreachable { .. })));
        let error = outcome.unwrap_err().to_string();
        assert!(
            error.ends_with("`sardonyx top http://HOST:PORT`"),
            "{error}"
        );
    }

    #[test]
    fn a_file_without_a_certificate_is_named() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Client::new("x", None, Some(file.path())).unwrap_err();
        assert!(
            error.to_string().contains(file.path().to_str().unwrap()),
            "{error}"
        );
    }
}
