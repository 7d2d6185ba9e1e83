//! TLS as a transport: the greeting, of the calling and the called end, within a time.
//!
//! With TLS 1.3 the calling end is done before the called one has checked its certificate: a refusal comes with the
//! first read. It would be lost if the other end closed a socket in which bytes wait (the system then resets the
//! connection). So a refusing end reads on, within the greeting's time and up to a bound, until the other end has
//! closed.

use crate::connection::TlsConnection;
use crate::explain;
use crate::files::{self, TlsError, TlsFiles};
use crate::verify::Members;
use rustls::client::Resumption;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{ServerName, UnixTime};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::ClientCertVerifier;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, ClientConnection, Connection as Machine, Error, InconsistentKeys, ServerConfig,
    ServerConnection,
};
use sardonyx_base::transport::{Connection, Transport, TransportError, peer_of};
use std::fmt;
use std::io::{self, Read};
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of bytes that are read on from a refused end.
const REFUSED_BYTES_MAX: usize = 64 << 10;

/// TLS with certificates at both ends. A copy is the same one. Connections that it makes have no time limits.
#[derive(Clone)]
pub struct Tls {
    calls: Arc<ClientConfig>,
    answers: Arc<ServerConfig>,
    certificate: PathBuf,
}

impl fmt::Debug for Tls {
    /// The place of its certificate; nothing of its key.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &mut formatter.debug_struct("Tls");
        shown.field("certificate", &self.certificate);
        shown.finish_non_exhaustive()
    }
}

/// The name that the interface requires for a server; it is not checked.
fn no_name() -> ServerName<'static> {
    ServerName::IpAddress(IpAddr::V4(Ipv4Addr::UNSPECIFIED).into())
}

impl Tls {
    /// With these files, which are read now.
    ///
    /// # Errors
    /// [`TlsError`], which names the file.
    pub fn new(files: &TlsFiles) -> Result<Tls, TlsError> {
        let provider = Arc::new(default_provider());
        let unusable = |file: &PathBuf, reason: String| TlsError::Unusable {
            file: file.clone(),
            reason,
        };
        let name = match &files.name {
            Some(name) => match ServerName::try_from(name.clone()) {
                Ok(known @ ServerName::DnsName(_)) => Some(known),
                _ => return Err(TlsError::Name { name: name.clone() }),
            },
            None => None,
        };
        let roots = files::authority(&files.authority)?;
        let certificates = files::certificates(&files.certificate)?;
        let key = files::key(&files.key)?;
        let members = Members::of(roots, provider.clone(), name)
            .map_err(|error| unusable(&files.authority, error.to_string()))?;
        // The verdicts of the others.
        let now = UnixTime::now();
        let (own, between) = certificates
            .split_first()
            .ok_or_else(|| unusable(&files.certificate, "there is no certificate in it".into()))?;
        members
            .verify_server_cert(own, between, &no_name(), &[], now)
            .and_then(|_| members.verify_client_cert(own, between, now))
            .map_err(|error| TlsError::Certificate {
                certificate: files.certificate.clone(),
                authority: files.authority.clone(),
                reason: match &error {
                    Error::InvalidCertificate(wrong) => explain::certificate(wrong),
                    other => other.to_string(),
                },
            })?;
        let members = Arc::new(members);
        let wrong_key = |error: Error| match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => TlsError::OtherKey {
                key: files.key.clone(),
                certificate: files.certificate.clone(),
            },
            // The text is of the kind of key, and has nothing of it.
            error => unusable(&files.key, error.to_string()),
        };
        let versions = |error: Error| unusable(&files.certificate, error.to_string());
        let mut calls = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(versions)?
            .dangerous()
            .with_custom_certificate_verifier(members.clone())
            .with_client_auth_cert(certificates.clone(), key.clone_key())
            .map_err(wrong_key)?;
        calls.resumption = Resumption::disabled();
        calls.enable_sni = false;
        let mut answers = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(versions)?
            .with_client_cert_verifier(members)
            .with_single_cert(certificates, key)
            .map_err(wrong_key)?;
        answers.session_storage = Arc::new(NoServerSessionStorage {});
        answers.send_tls13_tickets = 0;
        Ok(Tls {
            calls: Arc::new(calls),
            answers: Arc::new(answers),
            certificate: files.certificate.clone(),
        })
    }
}

impl Transport for Tls {
    fn is_secret(&self) -> bool {
        true
    }

    fn call(
        &self,
        socket: TcpStream,
        within: Duration,
    ) -> Result<Box<dyn Connection>, TransportError> {
        let machine = ClientConnection::new(self.calls.clone(), no_name());
        greet(machine.map(Machine::from), socket, within)
    }

    fn answer(
        &self,
        socket: TcpStream,
        within: Duration,
    ) -> Result<Box<dyn Connection>, TransportError> {
        let machine = ServerConnection::new(self.answers.clone());
        greet(machine.map(Machine::from), socket, within)
    }
}

/// Greets, at either end.
fn greet(
    machine: Result<Machine, Error>,
    socket: TcpStream,
    within: Duration,
) -> Result<Box<dyn Connection>, TransportError> {
    let until = Instant::now() + within;
    let peer = peer_of(&socket);
    let machine = machine.map_err(|error| explain::error(&peer, &error))?;
    let mut connection = TlsConnection::new(machine, socket, peer);
    match greet_until(&mut connection, until) {
        Ok(()) => Ok(Box::new(connection)),
        Err(error) => Err(match TransportError::of(&error) {
            Some(refused) => {
                let refused = refused.clone();
                hear_out(&connection, until);
                refused
            }
            None => explain::greeting(connection.peer(), error),
        }),
    }
}

/// Has the socket wait no longer than until then.
fn limit(socket: &TcpStream, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    socket.set_read_timeout(Some(left))?;
    socket.set_write_timeout(Some(left))
}

fn greet_until(connection: &mut TlsConnection, until: Instant) -> io::Result<()> {
    while connection.is_greeting() {
        limit(connection.socket(), until)?;
        connection.send()?;
        if connection.is_greeting() && !connection.receive()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    connection.send()?;
    connection.socket().set_read_timeout(None)?;
    connection.socket().set_write_timeout(None)
}

/// Lets the other end read why it is refused.
fn hear_out(connection: &TlsConnection, until: Instant) {
    let mut socket = connection.socket();
    let _ = socket.shutdown(Shutdown::Write);
    let (mut bytes, mut heard) = ([0; 4096], 0);
    while heard < REFUSED_BYTES_MAX && limit(socket, until).is_ok() {
        match socket.read(&mut bytes) {
            Ok(read @ 1..) => heard += read,
            _ => return,
        }
    }
}
