//! A store at another host, as a client has it: one request at a time on each of some connections.
//!
//! A connection that has answered is kept for the next request, unless its server has closed it meanwhile. After any
//! failure it is given up, and the request is not repeated.
//!
//! A client knows the store that it was opened with by a random number in the server's welcome. It asks no other store
//! that is at the address later: in an emptied one a number could be created again.

use super::ahead::{Ahead, Sent, finish};
use super::link::{Link, Network, Sockets, Stream, Welcome};
use super::message::{Answer, EntryRequest, Request};
use super::planted::{self, Planted};
use super::{BODY_BYTES_MAX, CONTENT_BYTES_MAX, TAKES_AHEAD};
use crate::host::{ALLOW_PLAIN_VARIABLE, is_plain_allowed, is_this_host};
use crate::options::RemoteOptions;
use sardonyx_base::crc32c::{crc32c, crc32c_joined};
use sardonyx_base::frame::{self, FrameError};
use sardonyx_base::greeting::{GreetingError, Trust, send, send_summed};
use sardonyx_base::sync::Mutex;
use sardonyx_base::token::Token;
use sardonyx_base::transport::{Plain, TransportError};
use sardonyx_storage::log::writer::SendsAhead;
use sardonyx_storage::remote_log::entry::Entry;
use sardonyx_storage::remote_log::objects::{ListedObject, RemoteObjects, check_object_name};
use sardonyx_storage::remote_log::store::{
    Appended, Listed, Register, RegisterVersion, RemoteStore, StoreError, StoredRegister, Swapped,
};
use sardonyx_tls::{Tls, TlsFiles};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The environment's variable that names a directory with `ca.pem`, `cert.pem` and `key.pem`: `tcp:` then uses TLS.
pub const TLS_VARIABLE: &str = "SARDONYX_STORE_TLS";

/// The environment's variable that names a file with the token that the store's server asks for.
pub const TOKEN_FILE_VARIABLE: &str = "SARDONYX_STORE_TOKEN_FILE";

/// The most connections that are kept for later requests.
const KEPT_MAX: usize = 8;

/// The trust that the environment's variables configure.
///
/// # Errors
/// A file that they name is wrong.
fn trust_of_environment() -> Result<Trust, StoreError> {
    let file_of = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let setup = |name: &str, error: &dyn std::error::Error| StoreError::Setup {
        place: "the store over TCP".into(),
        reason: format!("{name}: {error}"),
    };
    let mut trust = Trust {
        transport: Arc::new(Plain),
        token: None,
    };
    if let Some(directory) = file_of(TLS_VARIABLE) {
        let tls = Tls::new(&TlsFiles::in_directory(directory));
        trust.transport = Arc::new(tls.map_err(|error| setup(TLS_VARIABLE, &error))?);
    }
    if let Some(file) = file_of(TOKEN_FILE_VARIABLE) {
        let token = Token::of_file(file);
        trust.token = Some(token.map_err(|error| setup(TOKEN_FILE_VARIABLE, &error))?);
    }
    Ok(trust)
}

/// A log that a [`StoreServer`](super::StoreServer) keeps.
#[derive(Debug)]
pub struct TcpLog {
    /// `HOST:PORT`.
    address: String,
    network: Box<dyn Network>,
    request_limit: Duration,
    register_limit: Duration,
    entry_bytes_max: u64,
    /// The random number of the store there; 0 of a server that gives none.
    identity: u64,
    kept: Mutex<Vec<Link>>,
    /// The server takes groups of the next entry.
    takes_ahead: bool,
    pub(super) ahead: Ahead,
}

impl TcpLog {
    /// The log of the server at this address, `HOST:PORT`.
    ///
    /// # Errors
    /// The address is invalid, or of another host without TLS, which the user has not allowed ([`StoreError::Place`]).
    /// The server does not answer ([`StoreError::Unclear`]). One end does not trust the other ([`StoreError::Setup`]).
    pub fn open(address: &str, options: &RemoteOptions) -> Result<TcpLog, StoreError> {
        let trust = match &options.trust {
            Some(trust) => trust.clone(),
            None => trust_of_environment()?,
        };
        check_address(address, trust.transport.is_secret() || is_plain_allowed())?;
        let sockets = Sockets {
            address: address.into(),
            trust,
        };
        TcpLog::over(Box::new(sockets), address.into(), options)
    }

    /// The log of the server that this network reaches, which has this address.
    ///
    /// # Errors
    /// As [`TcpLog::open`].
    pub(super) fn over(
        network: Box<dyn Network>,
        address: String,
        options: &RemoteOptions,
    ) -> Result<TcpLog, StoreError> {
        let mut log = TcpLog {
            address,
            network,
            request_limit: options.request_limit,
            register_limit: options.register_limit().unwrap_or(options.request_limit),
            entry_bytes_max: 0,
            identity: 0,
            kept: Mutex::default(),
            takes_ahead: false,
            ahead: Ahead::default(),
        };
        let connected = log.connect(log.request_limit);
        let (link, welcome) = connected.map_err(|error| log.not_opened(&error))?;
        log.entry_bytes_max = welcome.entry_bytes_max.min(options.entry_bytes_max);
        log.identity = welcome.identity;
        log.takes_ahead = link.takes_ahead;
        log.keep(link);
        Ok(log)
    }

    /// A new connection, and the server's welcome, for which at most so long is waited.
    fn connect(&self, within: Duration) -> Result<(Link, Welcome), GreetingError> {
        let (connection, welcome) = self.network.connect(within)?;
        let limited = connection.limit(self.request_limit);
        limited.map_err(|source| TransportError::failed(&self.address, source))?;
        let welcome = Welcome::read(&welcome);
        let takes_ahead = welcome.abilities & TAKES_AHEAD != 0;
        let link = Link {
            connection,
            takes_ahead,
        };
        Ok((link, welcome))
    }

    /// A server that is about to start or to end closes connections: it is asked again.
    fn not_opened(&self, error: &GreetingError) -> StoreError {
        let is_final = matches!(
            error,
            GreetingError::Refused { .. }
                | GreetingError::Transport(
                    TransportError::NotTrusted { .. } | TransportError::Refused { .. }
                )
                | GreetingError::Frame(
                    FrameError::Length { .. }
                        | FrameError::Kind { .. }
                        | FrameError::Content { .. }
                )
        );
        match is_final {
            true => StoreError::Setup {
                place: self.place(),
                reason: error.to_string(),
            },
            false => StoreError::Unclear {
                what: "a greeting".into(),
                place: self.place(),
                reason: error.to_string(),
            },
        }
    }

    /// A connection that was kept, if its server has not closed it, or a new one.
    pub(super) fn link(&self, request: &Request<'_>) -> Result<Link, StoreError> {
        self.link_within(self.limit_of(request), request.name())
    }

    /// The same for a purpose of this name. A new one is waited for so long.
    pub(super) fn link_within(
        &self,
        within: Duration,
        what: impl Into<String>,
    ) -> Result<Link, StoreError> {
        while let Some(kept) = self.kept.lock().pop() {
            if kept.connection.is_open() {
                return Ok(kept);
            }
        }
        // Nothing was asked for yet.
        let what = what.into();
        let not_now = |reason| StoreError::NotNow {
            what: what.clone(),
            place: self.place(),
            reason,
        };
        let connected = self.connect(within);
        let connected = connected.map_err(|error| not_now(error.to_string()));
        let (link, welcome) = connected?;
        let is_it = [welcome.identity, 0].contains(&self.identity);
        match is_it || planted::is(Planted::AnyStoreAsked) {
            true => Ok(link),
            false => Err(not_now(
                "this is not the store of before: it was emptied, or its directory is another one"
                    .into(),
            )),
        }
    }

    fn limit_of(&self, request: &Request<'_>) -> Duration {
        match request.is_of_register() {
            true => self.register_limit,
            false => self.request_limit,
        }
    }

    pub(super) fn keep(&self, link: Link) {
        let mut kept = self.kept.lock();
        if kept.len() < KEPT_MAX {
            kept.push(link);
        }
    }

    fn ask<T>(
        &self,
        request: &Request<'_>,
        wanted: impl FnOnce(Answer) -> Result<T, Answer>,
    ) -> Result<T, StoreError> {
        let (head, content) = request.parts();
        let sends = |to: &mut Box<dyn Stream>| send(to, &[&head, content]);
        self.ask_at(self.link(request)?, request, sends, wanted)
    }

    /// As [`TcpLog::ask`], on this connection, of a request that is sent so.
    fn ask_at<T>(
        &self,
        mut link: Link,
        request: &Request<'_>,
        sends: impl FnOnce(&mut Box<dyn Stream>) -> io::Result<()>,
        wanted: impl FnOnce(Answer) -> Result<T, Answer>,
    ) -> Result<T, StoreError> {
        let unclear = |reason: String| StoreError::Unclear {
            what: request.name(),
            place: self.place(),
            reason,
        };
        let connection = &mut link.connection;
        let time_limit = self.limit_of(request);
        if time_limit < self.request_limit {
            let limited = connection.limit(time_limit);
            limited.map_err(|error| unclear(error.to_string()))?;
        }
        sends(connection).map_err(|error| unclear(error.to_string()))?;
        let body = frame::read(connection, &(1..=BODY_BYTES_MAX));
        let answer = body.and_then(|body| Answer::decode(&body));
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                if planted::is(Planted::KeptAfterSilence) {
                    self.keep(link);
                }
                return Err(unclear(error.to_string()));
            }
        };
        if time_limit < self.request_limit {
            let limited = connection.limit(self.request_limit);
            limited.map_err(|error| unclear(error.to_string()))?;
        }
        match wanted(answer) {
            Ok(answer) => {
                self.keep(link);
                Ok(answer)
            }
            Err(Answer::Failed(failed)) => {
                self.keep(link);
                Err(failed.at(self.place()))
            }
            Err(_) => Err(unclear("the answer is to another request".into())),
        }
    }

    /// The limits of reads and writes on the connection that was kept last.
    #[cfg(test)]
    pub fn kept_limits(&self) -> Option<(Option<Duration>, Option<Duration>)> {
        let kept = self.kept.lock();
        let socket = kept.last()?.connection.socket()?;
        Some((socket.read_timeout().ok()?, socket.write_timeout().ok()?))
    }

    /// Appends an entry whose first groups may be at the server.
    fn send_entry(&self, number: u64, entry: &Entry) -> Result<Appended, StoreError> {
        let bytes = entry.length();
        self.check_length("an entry", bytes, self.entry_bytes_max)?;
        let request = Request::AppendAt(number, &[]);
        if let Some(Sent { link, groups, .. }) = self.ahead.take()
            && let Some(parts) = entry.parts_behind(&groups)
            && link.connection.limit_writes(self.request_limit).is_ok()
        {
            let sends = |to: &mut Box<dyn Stream>| finish(to, number, bytes, parts);
            let outcome = self.ask_at(link, &request, sends, appended);
            if outcome.is_err() {
                self.ahead.failed();
            }
            return outcome;
        }
        let head = EntryRequest::Append { number }.encode(bytes);
        // The groups are sent from where they are, and not summed once more.
        let sum = crc32c_joined(crc32c(&head), entry.sum(), bytes);
        let mut parts = entry.parts();
        parts.insert(0, &head);
        let sends = |to: &mut Box<dyn Stream>| send_summed(to, sum, &parts);
        self.ask_at(self.link(&request)?, &request, sends, appended)
    }

    fn check_length(&self, what: &str, bytes: usize, most: u64) -> Result<(), StoreError> {
        match bytes as u64 <= most {
            true => Ok(()),
            false => Err(StoreError::Refused {
                what: what.into(),
                place: self.place(),
                reason: format!("it has {bytes} bytes, and at most {most} are taken"),
            }),
        }
    }
}

/// Refuses an address that cannot be one, and one of another host unless that `may_leave` this one.
///
/// # Errors
/// [`StoreError::Place`].
pub(super) fn check_address(address: &str, may_leave: bool) -> Result<(), StoreError> {
    let wrong = |reason: String| StoreError::Place {
        place: format!("tcp://{address}"),
        reason,
    };
    let parts = address.rsplit_once(':');
    let parts = parts.map(|(host, port)| (host, port.parse::<u16>()));
    match parts {
        Some((host, Ok(1..))) if !host.is_empty() && !address.contains(['/', '@']) => {}
        _ => {
            return Err(wrong(
                "give it a host and a port, as in tcp://10.0.0.7:7071".into(),
            ));
        }
    }
    match may_leave || is_this_host(address) {
        true => Ok(()),
        false => Err(wrong(format!(
            "it is another host, and the connection would be without TLS: set {TLS_VARIABLE} to a directory with \
             ca.pem, cert.pem and key.pem, or {ALLOW_PLAIN_VARIABLE}=true if the network cannot be tapped"
        ))),
    }
}

impl RemoteStore for TcpLog {
    fn place(&self) -> String {
        format!("tcp://{}", self.address)
    }

    fn is_near(&self) -> bool {
        true
    }

    fn entry_bytes_max(&self) -> u64 {
        self.entry_bytes_max
    }

    fn append_at(&self, number: u64, bytes: &[u8]) -> Result<Appended, StoreError> {
        self.check_length("an entry", bytes.len(), self.entry_bytes_max)?;
        self.ask(&Request::AppendAt(number, bytes), appended)
    }

    fn ahead(&self) -> Option<&dyn SendsAhead> {
        self.takes_ahead.then_some(self as &dyn SendsAhead)
    }

    fn append_entry(&self, number: u64, entry: &Entry) -> Result<Appended, StoreError> {
        match self.send_entry(number, entry) {
            Err(StoreError::Unclear { .. }) if planted::is(Planted::SilenceIsCreation) => {
                Ok(Appended::Ok)
            }
            appended => appended,
        }
    }

    fn read(&self, number: u64) -> Result<Option<Vec<u8>>, StoreError> {
        let mut found = self.read_several(&[number])?;
        Ok(found.pop().flatten())
    }

    fn read_several(&self, numbers: &[u64]) -> Result<Vec<Option<Vec<u8>>>, StoreError> {
        let most = numbers.len();
        let request = Request::ReadSeveral(numbers.to_vec());
        self.ask(&request, |answer| match answer {
            Answer::Found(found) if found.len() <= most && found.is_empty() == (most == 0) => {
                Ok(found)
            }
            other => Err(other),
        })
    }

    fn list(&self, from: u64) -> Result<Vec<Listed>, StoreError> {
        self.ask(&Request::List(from), |answer| match answer {
            Answer::Listed(listed) => Ok(listed),
            other => Err(other),
        })
    }

    fn remove(&self, numbers: &[u64]) -> Result<(), StoreError> {
        self.ask(&Request::Remove(numbers.to_vec()), removed)
    }

    fn read_register(&self, register: Register) -> Result<Option<StoredRegister>, StoreError> {
        self.ask(&Request::ReadRegister(register), |answer| match answer {
            Answer::Register(stored) => Ok(stored),
            other => Err(other),
        })
    }

    fn swap_register(
        &self,
        register: Register,
        expected: Option<&RegisterVersion>,
        bytes: &[u8],
    ) -> Result<Swapped, StoreError> {
        let request = Request::SwapRegister(register, expected.cloned(), bytes);
        self.ask(&request, |answer| match answer {
            Answer::Swapped(swapped) => Ok(swapped),
            other => Err(other),
        })
    }
}

fn appended(answer: Answer) -> Result<Appended, Answer> {
    match answer {
        Answer::Appended(appended) => Ok(appended),
        other => Err(other),
    }
}

fn removed(answer: Answer) -> Result<(), Answer> {
    match answer {
        Answer::Removed => Ok(()),
        other => Err(other),
    }
}

impl RemoteObjects for TcpLog {
    fn create_object(&self, name: &str, bytes: &[u8]) -> Result<Appended, StoreError> {
        check_object_name(&self.place(), name)?;
        self.check_length("an object", bytes.len(), CONTENT_BYTES_MAX)?;
        self.ask(&Request::CreateObject(name, bytes), appended)
    }

    fn read_object(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        check_object_name(&self.place(), name)?;
        self.ask(&Request::ReadObject(name), |answer| match answer {
            Answer::Found(mut found) if found.len() == 1 => Ok(found.pop().flatten()),
            other => Err(other),
        })
    }

    fn list_objects(&self, folder: &str) -> Result<Vec<ListedObject>, StoreError> {
        self.ask(&Request::ListObjects(folder), |answer| match answer {
            Answer::Objects(objects) => Ok(objects),
            other => Err(other),
        })
    }

    fn remove_objects(&self, names: &[String]) -> Result<(), StoreError> {
        self.ask(&Request::RemoveObjects(names.to_vec()), removed)
    }
}
