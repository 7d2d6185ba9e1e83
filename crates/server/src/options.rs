//! Options of a server, and the combinations that are refused before it starts.
//!
//! Invariant: an address that other hosts can reach is served only to users with a password ([`Options::check`]). By
//! default there are no users, and only this host can connect.

use crate::scram::Verifier;
use crate::spans::ContinueTrace;
use sardonyx_resp::KEY_TABLES;
use sardonyx_sql::{Access, Rights};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Options of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The endpoints for PostgreSQL clients.
    pub postgres: Vec<Endpoint>,
    /// The endpoints for Redis clients.
    pub redis: Vec<Endpoint>,
    /// The endpoints for metrics and the page.
    pub http: Vec<Endpoint>,
    /// Certificate and key, with which TLS is offered.
    pub tls: Option<TlsFiles>,
    /// The users who may connect. Without any, every client of this host may.
    pub users: BTreeMap<String, User>,
    /// Bounds on connections, times and memory.
    pub limits: Limits,
    /// The destination of spans, for the program that starts the server: the server sends none itself.
    pub otlp: Otlp,
    /// Makes flights part of the traces that clients name; without it they are traces of their own.
    pub continue_trace: Option<ContinueTrace>,
}

/// The destination of spans.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Otlp {
    /// The URL of an OpenTelemetry collector for OTLP over HTTP.
    pub endpoint: Option<String>,
    /// The share of flights and connections with spans, from 0 to 1.
    pub sample: Option<f64>,
}

/// PEM files of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TlsFiles {
    /// The certificate, and those between it and the CA.
    pub certificate: PathBuf,
    /// The file of the certificate's private key.
    pub key: PathBuf,
}

/// A name that clients authenticate as, with a verifier and rights.
#[derive(Clone, Debug)]
pub struct User {
    /// The verifier of the password.
    pub verifier: Verifier,
    /// For tables that are not named as exceptions.
    pub tables: Right,
    /// The rights on single tables by name, which override `tables`.
    pub table: BTreeMap<String, Right>,
    /// The right on the keys of Redis clients.
    pub keys: Right,
}

impl Options {
    /// The users, with their rights on tables.
    pub(crate) fn rights(&self) -> impl Iterator<Item = (String, Rights)> {
        self.users
            .iter()
            .map(|(name, user)| (name.clone(), user.rights()))
    }
}

impl User {
    /// The user's rights on tables, in the form of SQL sessions.
    pub fn rights(&self) -> Rights {
        let access = |right| match right {
            Right::Own => Access::Define,
            Right::Write => Access::Write,
            Right::Read => Access::Read,
            Right::None => Access::Nothing,
        };
        let all = Rights::from(access(self.tables));
        // By SQL a user reads no more of the key tables than by commands, unless the table has a right of its own.
        let keys = KEY_TABLES.iter().filter(|_| self.keys < self.tables);
        let all = keys.fold(all, |rights, name| {
            rights.with_table(*name, access(self.keys))
        });
        // A configuration may name them without their schema, as an older version had them. A table of the user's own may
        // have the name, too, so this gives no right.
        let older = KEY_TABLES.iter().filter_map(|name| {
            let (_, older) = name.split_once('.')?;
            let right = *self.table.get(older)?;
            (right < self.keys.min(self.tables)).then_some((name, right))
        });
        let all = older.fold(all, |rights, (name, right)| {
            rights.with_table(*name, access(right))
        });
        let tables = self.table.iter();
        tables.fold(all, |rights, (name, right)| {
            rights.with_table(name, access(*right))
        })
    }
}

/// Each right includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Right {
    /// Nothing.
    None,
    /// Queries, and commands that only read.
    Read,
    /// Read and change rows.
    Write,
    /// Also create, change and drop tables.
    Own,
}

/// The limits of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections at once, of all protocols.
    pub connections_max: usize,
    /// The time that a client has to authenticate.
    pub greeting: Duration,
    /// The time for which a client may leave sent answers unread.
    pub unread: Duration,
    /// The time that running statements have to finish when the server stops.
    pub drain: Duration,
    /// The time beyond which a statement is reported as slow.
    pub slow_statement: Duration,
    /// The time after which a statement is ended, if its session does not set another limit (`statement_timeout`); for
    /// Redis clients it limits a flight. `None`: no limit.
    pub statement: Option<Duration>,
    /// The most bytes of memory of the whole process. `None`: the limit of its cgroup, or the machine's memory.
    pub memory_max: Option<u64>,
}

impl Default for Limits {
    /// 20,000 connections; 10 s, 60 s, 10 s; 100 ms; no limit on statements.
    fn default() -> Self {
        Limits {
            connections_max: 20_000,
            greeting: Duration::from_secs(10),
            unread: Duration::from_secs(60),
            drain: Duration::from_secs(10),
            slow_statement: Duration::from_millis(100),
            statement: None,
            memory_max: None,
        }
    }
}

impl Default for Options {
    /// On this host alone: PostgreSQL clients at port 5433, Redis clients at 6380, HTTP at 8080.
    fn default() -> Self {
        let here = |port| vec![Endpoint::Tcp(SocketAddr::from(([127, 0, 0, 1], port)))];
        Options {
            postgres: here(5433),
            redis: here(6380),
            http: here(8080),
            tls: None,
            users: BTreeMap::new(),
            limits: Limits::default(),
            otlp: Otlp::default(),
            continue_trace: None,
        }
    }
}

impl User {
    /// Returns true if the user may read everything.
    pub fn may_read_all(&self) -> bool {
        let tables = self.table.values().copied().chain([self.tables, self.keys]);
        tables.min() >= Some(Right::Read)
    }
}

/// An endpoint of a server.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Endpoint {
    /// An IP address and a port; names of hosts are not resolved.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

impl Endpoint {
    /// Returns true if only this host reaches it.
    pub fn is_local(&self) -> bool {
        match self {
            Endpoint::Tcp(address) => match address.ip() {
                IpAddr::V6(ip) => ip.to_canonical().is_loopback(),
                IpAddr::V4(ip) => ip.is_loopback(),
            },
            Endpoint::Unix(_) => true,
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Tcp(address) => address.fmt(f),
            Endpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// The reason why an option is not valid.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A text that is not an endpoint.
    #[error("{text:?} is not an address: write HOST:PORT with an IP address, or unix:PATH")]
    Endpoint {
        /// As the option or the file has it.
        text: String,
    },
    /// Other hosts could connect without a password.
    #[error(
        "{endpoint} can be reached from other hosts, and no users are configured: configure some, or listen at 127.0.0.1"
    )]
    Unprotected {
        /// As the option or the file has it.
        endpoint: Endpoint,
    },
    /// Redis and HTTP clients send their password in plain text.
    #[error(
        "{endpoint} can be reached from other hosts, where passwords would be sent unencrypted: configure TLS"
    )]
    Unencrypted {
        /// As the option or the file has it.
        endpoint: Endpoint,
    },
    /// No endpoint is given.
    #[error("no address is configured: give at least one of the protocols an address")]
    Nothing,
    /// A share that is not between 0 and 1.
    #[error("{sample} is not a share: write a number from 0 to 1")]
    Sample {
        /// As the option or the file has it.
        sample: f64,
    },
    /// A size that cannot be read.
    #[error("{text:?} is not a size: write bytes, or a number with KiB, MiB or GiB, in quotes")]
    Size {
        /// As the option or the file has it.
        text: String,
    },
    /// A right that is unknown.
    #[error("{text:?} is not a right: write none, read, write or own")]
    Right {
        /// As the option or the file has it.
        text: String,
    },
}

impl FromStr for Endpoint {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        if let Some(path) = text.strip_prefix("unix:") {
            return Ok(Endpoint::Unix(path.into()));
        }
        // A port alone, or localhost, is on this host.
        let numeric = match text.strip_prefix("localhost:").or(text.strip_prefix(':')) {
            Some(port) => format!("127.0.0.1:{port}"),
            None => text.to_string(),
        };
        let address = numeric.parse().map_err(|_| OptionsError::Endpoint {
            text: text.to_string(),
        })?;
        Ok(Endpoint::Tcp(address))
    }
}

impl FromStr for Right {
    type Err = OptionsError;

    fn from_str(text: &str) -> Result<Self, OptionsError> {
        match text {
            "none" => Ok(Right::None),
            "read" => Ok(Right::Read),
            "write" => Ok(Right::Write),
            "own" => Ok(Right::Own),
            _ => Err(OptionsError::Right {
                text: text.to_string(),
            }),
        }
    }
}

impl Options {
    /// The options that differ in `others` and that a running server cannot change, by their names in the
    /// configuration.
    pub(crate) fn names_of_others(&self, others: &Options) -> Vec<&'static str> {
        let (limits, other) = (&self.limits, &others.limits);
        let same = [
            ("postgres", self.postgres == others.postgres),
            ("redis", self.redis == others.redis),
            ("http", self.http == others.http),
            ("otlp", self.otlp == others.otlp),
            (
                "limits.connections",
                limits.connections_max == other.connections_max,
            ),
            ("limits.greeting_seconds", limits.greeting == other.greeting),
            ("limits.unread_seconds", limits.unread == other.unread),
            ("limits.drain_seconds", limits.drain == other.drain),
            ("limits.memory_max", limits.memory_max == other.memory_max),
            (
                "limits.statement_timeout_milliseconds",
                limits.statement == other.statement,
            ),
        ];
        let differ = same.into_iter().filter(|(_, is_same)| !is_same);
        differ.map(|(name, _)| name).collect()
    }

    /// These options with the changes of `others` that a running server can make: users with their passwords and
    /// rights, the certificate, and the limit of slow statements. Also returns the names of other options that differ.
    /// Removing all users or the certificate is among them: a partly written file would otherwise let every client in.
    ///
    /// # Errors
    /// An option of `others` that is not valid with these endpoints.
    pub fn taken(&self, others: Options) -> Result<(Options, Vec<&'static str>), OptionsError> {
        let mut left = self.names_of_others(&others);
        let mut taken = self.clone();
        taken.limits.slow_statement = others.limits.slow_statement;
        match others.users.is_empty() && !self.users.is_empty() {
            true => left.push("users"),
            false => taken.users = others.users,
        }
        match others.tls.is_none() && self.tls.is_some() {
            true => left.push("tls"),
            false => taken.tls = others.tls,
        }
        let (otlp, checked) = (others.otlp, taken.clone());
        Options { otlp, ..checked }.check()?;
        Ok((taken, left))
    }

    /// Checks that a server may start with these options.
    ///
    /// # Errors
    /// [`OptionsError::Unprotected`], [`OptionsError::Unencrypted`], [`OptionsError::Nothing`], [`OptionsError::Sample`].
    pub fn check(&self) -> Result<(), OptionsError> {
        let plain = self.redis.iter().chain(&self.http);
        let all = self.postgres.iter().chain(plain.clone());
        if all.clone().next().is_none() {
            return Err(OptionsError::Nothing);
        }
        if let Some(sample) = self.otlp.sample
            && !(0.0..=1.0).contains(&sample)
        {
            return Err(OptionsError::Sample { sample });
        }
        let reached = |endpoint: &&Endpoint| !endpoint.is_local();
        if let Some(endpoint) = all.clone().find(reached).filter(|_| self.users.is_empty()) {
            return Err(OptionsError::Unprotected {
                endpoint: endpoint.clone(),
            });
        }
        if let Some(endpoint) = plain.clone().find(reached).filter(|_| self.tls.is_none()) {
            return Err(OptionsError::Unencrypted {
                endpoint: endpoint.clone(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listening_at(endpoint: &str) -> Options {
        Options {
            postgres: vec![endpoint.parse().unwrap()],
            ..Options::default()
        }
    }

    #[test]
    fn others_are_served_only_with_a_password() {
        assert_eq!(Options::default().check(), Ok(()));
        for local in [
            "127.0.0.1:1",
            "[::1]:1",
            "unix:/run/x",
            ":5433",
            "localhost:1",
        ] {
            assert_eq!(listening_at(local).check(), Ok(()), "{local}");
        }
        for reached in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[::ffff:192.0.2.1]:1"] {
            let mut options = listening_at(reached);
            let error = options.check().unwrap_err();
            assert!(matches!(error, OptionsError::Unprotected { .. }), "{error}");
            let user = User {
                verifier: Verifier::of_nobody("ada", &[0; 32]),
                tables: Right::Own,
                table: BTreeMap::new(),
                keys: Right::Own,
            };
            options.users.insert("ada".into(), user);
            assert_eq!(options.check(), Ok(()));
            options.redis = options.postgres.clone();
            let error = options.check().unwrap_err();
            assert!(matches!(error, OptionsError::Unencrypted { .. }), "{error}");
        }
    }

    #[test]
    fn who_may_not_read_all_is_not_told_of_all() {
        let user = |tables, keys| User {
            verifier: Verifier::of_nobody("ada", &[0; 32]),
            tables,
            table: BTreeMap::new(),
            keys,
        };
        assert!(user(Right::Read, Right::Own).may_read_all());
        assert!(!user(Right::Own, Right::None).may_read_all());
        assert!(!user(Right::None, Right::Read).may_read_all());
    }

    #[test]
    fn who_may_not_read_keys_does_not_read_their_tables() {
        let user = |tables, keys, table: &[(&str, Right)]| {
            let table = table.iter().map(|(name, right)| (name.to_string(), *right));
            let verifier = Verifier::of_nobody("ada", &[0; 32]);
            let table = table.collect();
            User {
                verifier,
                tables,
                table,
                keys,
            }
            .rights()
        };
        let none = user(Right::Own, Right::None, &[]);
        assert_eq!(
            (none.on("pg_redis.kv"), none.on("pg_redis.kv_zset")),
            (Access::Nothing, Access::Nothing)
        );
        assert_eq!(none.on("other"), Access::Define);
        let kv = "pg_redis.kv";
        assert_eq!(user(Right::Own, Right::Read, &[]).on(kv), Access::Read);
        assert_eq!(user(Right::None, Right::Write, &[]).on(kv), Access::Nothing);
        let named = user(Right::Own, Right::None, &[(kv, Right::Read)]);
        assert_eq!(
            (named.on(kv), named.on("pg_redis.kv_hash")),
            (Access::Read, Access::Nothing)
        );
        // The name without the schema takes rights, and gives none.
        let older = user(Right::Own, Right::Own, &[("kv", Right::None)]);
        assert_eq!(older.on(kv), Access::Nothing);
        let older = user(Right::Own, Right::None, &[("kv", Right::Own)]);
        assert_eq!(
            (older.on(kv), older.on("kv")),
            (Access::Nothing, Access::Define)
        );
    }

    #[test]
    fn what_is_no_endpoint_is_refused() {
        for text in [
            "",
            "db.example",
            "1.2.3.4",
            "1.2.3.4:99999",
            "example.org:1",
        ] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }
}
