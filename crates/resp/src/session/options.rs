//! The options of a session: bounds, the time, permissions.

use crate::functions::Functions;
use sardonyx_base::memory::Budget;
use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// The user of a client that gives no name.
pub(super) const DEFAULT_USER: &str = "default";

/// The permission of an authenticated client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permission {
    /// Commands of the connection, such as `PING`.
    Nothing,
    /// Commands that change nothing.
    Read,
    /// All commands.
    Write,
}

/// A pending authentication.
pub type Authenticated<'a> = Pin<Box<dyn Future<Output = Option<Permission>> + Send + 'a>>;

/// Determines permissions by name and password.
pub trait Authenticate: Send + Sync {
    /// The permission of this user; `None` if there is no such user, or the password is wrong. A client that gives no
    /// name is `default`. The session's task awaits the result: run slow checks on a thread of their own. The time
    /// must not reveal which users exist.
    fn authenticate<'a>(&'a self, user: &'a [u8], password: &'a [u8]) -> Authenticated<'a>;
}

/// A source of the time.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01 00:00 UTC.
    fn now(&self) -> i64;
}

/// The system's time.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        system_time()
    }
}

/// The system's time, in milliseconds since 1970.
pub(crate) fn system_time() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}

/// The bounds of one connection, and the parts that it shares with others.
#[derive(Clone)]
pub struct SessionOptions {
    /// The most bytes of one command (default 32 MiB).
    pub command_bytes_max: usize,
    /// The same before the client has authenticated (default 16 KiB), if that is required.
    pub unknown_bytes_max: usize,
    /// The most commands of a flight (default 1,024): while they run, other sessions' wait.
    pub flight_commands_max: usize,
    /// After so many bytes of commands (default 16 MiB) a flight is full.
    pub flight_bytes_max: usize,
    /// The most bytes of commands between `MULTI` and `EXEC` (default 64 MiB).
    pub transaction_bytes_max: usize,
    /// The most bytes of the answer to a command, or to an `EXEC` (default 256 MiB).
    pub answer_bytes_max: usize,
    /// From so many bytes of answers on (default 4 MiB) the rest of a flight waits until they are sent: see
    /// [`Session::take`](crate::Session::take).
    pub flight_answer_bytes_max: usize,
    /// The memory budget for the answers of all sessions (default: without a bound of its own).
    pub memory: Arc<Budget>,
    /// The client's address, for `CLIENT INFO` (default: unknown).
    pub address: Option<SocketAddr>,
    /// The time (default: the system's).
    pub clock: Arc<dyn Clock>,
    /// The source of permissions. Without one, every client may run every command.
    pub authentication: Option<Arc<dyn Authenticate>>,
    /// The functions of `FCALL` besides those registered with the keyspace (default: none).
    pub functions: Option<Arc<dyn Functions>>,
    /// The seed of random numbers, for tests (default: random).
    pub seed: Option<u64>,
}

impl Default for SessionOptions {
    fn default() -> Self {
        SessionOptions {
            command_bytes_max: 32 << 20,
            unknown_bytes_max: 16 << 10,
            flight_commands_max: 1024,
            flight_bytes_max: 16 << 20,
            transaction_bytes_max: 64 << 20,
            answer_bytes_max: 256 << 20,
            flight_answer_bytes_max: 4 << 20,
            memory: Arc::default(),
            address: None,
            clock: Arc::new(SystemClock),
            authentication: None,
            functions: None,
            seed: None,
        }
    }
}

impl SessionOptions {
    /// The permission of a client that has not authenticated.
    pub(super) fn permission_without_password(&self) -> Option<Permission> {
        match self.authentication {
            Some(_) => None,
            None => Some(Permission::Write),
        }
    }
}

impl fmt::Debug for SessionOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionOptions")
            .field("command_bytes_max", &self.command_bytes_max)
            .field("unknown_bytes_max", &self.unknown_bytes_max)
            .field("flight_commands_max", &self.flight_commands_max)
            .field("flight_bytes_max", &self.flight_bytes_max)
            .field("transaction_bytes_max", &self.transaction_bytes_max)
            .field("answer_bytes_max", &self.answer_bytes_max)
            .field("flight_answer_bytes_max", &self.flight_answer_bytes_max)
            .field("memory", &self.memory)
            .field("address", &self.address)
            .field("authentication", &self.authentication.is_some())
            .field("functions", &self.functions.is_some())
            .finish_non_exhaustive()
    }
}
