//! The start of a session: TLS, the client's request, authentication.
//!
//! "Start-up" and "SASL Authentication" in PostgreSQL's documentation. If users are configured, every client
//! authenticates with a password by SCRAM-SHA-256. Otherwise every client that reaches the server is accepted, which is
//! this host only ([`Options::check`](crate::Options::check)).

use super::answer::{Answers, Severity};
use super::message::{GREETING_BYTES_MAX, Greeting, Message, split, split_greeting};
use crate::connection::{Connection, Received};
use crate::passwords::Users;
use crate::scram::{Exchange, MECHANISM, random};
use crate::server::Shared;
use bytes::{Buf, BytesMut};
use sardonyx_sql::{SqlError, code};
use std::io;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// The newest minor version of the protocol that is supported.
const MINOR: u16 = 2;

/// A client that is authenticated.
#[derive(Debug)]
pub struct Client {
    pub connection: Connection,
    /// The user's name.
    pub user: String,
    /// The users at the time of the authentication.
    pub users: Arc<Users>,
    /// The other parameters of the startup, in order.
    pub parameters: Vec<(String, String)>,
    /// The number by which its statements can be cancelled.
    pub process: u32,
}

/// The request of a client that connects.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one for each connection that begins, and most have the large variant"
)]
pub enum Greeted {
    /// A session with this protocol version.
    Startup {
        /// The connection, with TLS if the client asked for TLS.
        connection: Connection,
        /// The major and the minor version.
        version: (u16, u16),
        /// The parameters of the startup, in order.
        parameters: Vec<(String, String)>,
    },
    /// A request to cancel another session's statement.
    Cancel {
        /// That session's number.
        process: u32,
        /// That session's secret.
        secret: Vec<u8>,
    },
    /// A message that is not understood, or a connection that ended.
    Nothing,
}

/// Reads a client's request, with TLS if both sides want it.
///
/// # Errors
/// The connection's.
pub async fn greet(
    mut connection: Connection,
    tls: impl Fn() -> Option<TlsAcceptor>,
) -> io::Result<Greeted> {
    loop {
        let end = loop {
            match split_greeting(&connection.incoming.input) {
                Ok(Some(end)) => break end,
                Ok(None) => {}
                // Whatever this is, it is not a PostgreSQL client.
                Err(_) => return Ok(Greeted::Nothing),
            }
            if connection.receive().await? != Received::Bytes {
                return Ok(Greeted::Nothing);
            }
        };
        let greeting = connection.incoming.input.split_to(end);
        match Greeting::read(&greeting) {
            Ok(Greeting::Tls) => match offer_tls(connection, tls()).await? {
                Some(other) => connection = other,
                None => return Ok(Greeted::Nothing),
            },
            Ok(Greeting::Gss) => send(&mut connection, b"N").await?,
            Ok(Greeting::Cancel { process, secret }) => {
                let secret = secret.to_vec();
                return Ok(Greeted::Cancel { process, secret });
            }
            Ok(Greeting::Startup {
                version,
                parameters,
            }) => {
                let parameters = parameters
                    .into_iter()
                    .map(|(name, value)| (name.to_string(), value.to_string()))
                    .collect();
                return Ok(Greeted::Startup {
                    connection,
                    version,
                    parameters,
                });
            }
            Err(error) => {
                let error = SqlError::new(error.code(), error.to_string());
                refuse(&mut connection, &error).await?;
                return Ok(Greeted::Nothing);
            }
        }
    }
}

/// Authenticates a client, or ends its connection: then it returns `None`.
///
/// # Errors
/// The connection's.
pub async fn begin(connection: Connection, shared: &Shared) -> io::Result<Option<Client>> {
    match greet(connection, || shared.tls()).await? {
        Greeted::Startup {
            connection,
            version,
            parameters,
        } => start(connection, shared, version, parameters).await,
        Greeted::Cancel { process, secret } => {
            shared.cancelling.cancel(process, &secret);
            Ok(None)
        }
        Greeted::Nothing => Ok(None),
    }
}

async fn offer_tls(
    mut connection: Connection,
    tls: Option<TlsAcceptor>,
) -> io::Result<Option<Connection>> {
    let Some(tls) = tls else {
        send(&mut connection, b"N").await?;
        return Ok(Some(connection));
    };
    if connection.is_encrypted() || !connection.incoming.input.is_empty() {
        // Unencrypted bytes after the request would be taken for encrypted ones.
        return Ok(None);
    }
    send(&mut connection, b"S").await?;
    Ok(Some(connection.encrypted(&tls).await?))
}

async fn start(
    mut connection: Connection,
    shared: &Shared,
    (major, minor): (u16, u16),
    parameters: Vec<(String, String)>,
) -> io::Result<Option<Client>> {
    if major != 3 {
        let text = format!(
            "unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.{MINOR}"
        );
        let error = SqlError::new(code::FEATURE_NOT_SUPPORTED, text);
        refuse(&mut connection, &error).await?;
        return Ok(None);
    }
    let mut output = BytesMut::new();
    let unknown = parameters.iter().map(|(name, _)| name.as_str());
    let unknown: Vec<&str> = unknown.filter(|name| name.starts_with("_pq_.")).collect();
    if minor > MINOR || !unknown.is_empty() {
        Answers(&mut output).negotiate(minor.min(MINOR).into(), &unknown);
    }
    let find = |wanted: &str| {
        let mut found = parameters.iter().filter(|(name, _)| name == wanted);
        found.next().map(|(_, value)| value.clone())
    };
    let Some(user) = find("user").filter(|user| !user.is_empty()) else {
        let error = SqlError::new(
            "28000",
            "no PostgreSQL user name specified in startup packet",
        );
        refuse(&mut connection, &error).await?;
        return Ok(None);
    };
    let mut client = Client {
        connection,
        user,
        users: shared.passwords.users(),
        parameters,
        process: 0,
    };
    if !client.users.is_empty()
        && let Err(error) = authenticate(&mut client, shared, &mut output).await?
    {
        tracing::info!(user = client.user, reason = %error.message, "a client was refused");
        shared.metrics.refused();
        shared.metrics.error(error.code);
        refuse(&mut client.connection, &error).await?;
        return Ok(None);
    }
    Answers(&mut output).authenticated();
    client.connection.send(&mut output).await?;
    Ok(Some(client))
}

/// Asks for the password. The inner error is the reason why the client is refused.
async fn authenticate(
    client: &mut Client,
    shared: &Shared,
    output: &mut BytesMut,
) -> io::Result<Result<(), SqlError>> {
    // The same error for an unknown name and for a wrong password.
    let wrong = |user: &str| {
        let text = format!("password authentication failed for user {user:?}");
        SqlError::new("28P01", text)
    };
    let verifier = shared.passwords.verifier(&client.users, &client.user);
    Answers(output).sasl(&[MECHANISM]);
    client.connection.send(output).await?;
    let first = match password_message(&mut client.connection).await? {
        Ok(first) => first,
        Err(error) => return Ok(Err(error)),
    };
    // The mechanism's name, and a length that repeats the number of the remaining bytes.
    let response = first.iter().position(|&byte| byte == 0).and_then(|end| {
        let (name, rest) = first.split_at(end);
        (name == MECHANISM.as_bytes()).then_some(rest.get(5..)?)
    });
    let Some(response) = response else {
        let text = format!("the only supported authentication is {MECHANISM}");
        return Ok(Err(SqlError::new("28000", text)));
    };
    let (exchange, answer) = match Exchange::begin(verifier, response) {
        Ok(begun) => begun,
        Err(error) => return Ok(Err(SqlError::new("28000", error.to_string()))),
    };
    Answers(output).sasl_continue(answer.as_bytes());
    client.connection.send(output).await?;
    let last = match password_message(&mut client.connection).await? {
        Ok(last) => last,
        Err(error) => return Ok(Err(error)),
    };
    match exchange.prove(&last) {
        Ok(answer) => {
            Answers(output).sasl_final(answer.as_bytes());
            Ok(Ok(()))
        }
        Err(_) => Ok(Err(wrong(&client.user))),
    }
}

/// The next message of a client that authenticates.
async fn password_message(connection: &mut Connection) -> io::Result<Result<BytesMut, SqlError>> {
    let violation = |text: String| Ok(Err(SqlError::new(code::PROTOCOL_VIOLATION, text)));
    loop {
        match split(&connection.incoming.input, GREETING_BYTES_MAX) {
            Ok(Some((_, end))) => {
                let mut message = connection.incoming.input.split_to(end);
                match Message::read(&message) {
                    Ok(Message::Password(_)) => {
                        message.advance(5);
                        return Ok(Ok(message));
                    }
                    Ok(_) => return violation("a password was asked for".into()),
                    Err(error) => return violation(error.to_string()),
                }
            }
            Ok(None) => {}
            Err(error) => return violation(error.to_string()),
        }
        if connection.receive().await? != Received::Bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

/// Ends a connection with this error.
///
/// # Errors
/// The connection's.
pub async fn refuse(connection: &mut Connection, error: &SqlError) -> io::Result<()> {
    let mut output = BytesMut::new();
    Answers(&mut output).error(Severity::Fatal, error);
    connection.send(&mut output).await
}

async fn send(connection: &mut Connection, bytes: &[u8]) -> io::Result<()> {
    connection.send(&mut BytesMut::from(bytes)).await
}

/// A secret that other clients cannot guess.
pub fn cancel_secret() -> [u8; 4] {
    random().unwrap_or_default()
}
