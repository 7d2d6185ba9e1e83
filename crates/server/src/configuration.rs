//! A server's configuration as a file: TOML, with comments; every line may be left out.
//!
//! ```toml
//! postgres = "127.0.0.1:5433"            # or a list; "off" for not at all; unix:PATH for a socket
//! redis = "off"
//! http = "127.0.0.1:8080"
//!
//! [tls]                                  # beside the file, if they are not absolute
//! certificate = "cert.pem"
//! key = "key.pem"
//!
//! [limits]
//! connections = 20000
//! greeting_seconds = 10
//! unread_seconds = 60
//! drain_seconds = 10
//! slow_statement_milliseconds = 100
//! statement_timeout_milliseconds = 0     # no limit
//! memory_max = "4GiB"                    # or bytes; as much as the cgroup or the machine has, if it is not said
//!
//! [otlp]                                 # spans, where the command was built with them
//! endpoint = "http://127.0.0.1:4318"
//! sample = 0.01
//!
//! [users.shop]
//! password = "SCRAM-SHA-256$4096:…"      # as `sardonyx password` prints it
//! tables = "read"                        # none, read, write or own; it must be said
//! keys = "none"                          # of Redis clients: none, read or write; as tables, if it is not said
//! ```
//!
//! The command line and the environment override it.

use crate::options::{Endpoint, Limits, Options, OptionsError, Otlp, Right, TlsFiles, User};
use crate::scram::{ScramError, Verifier};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest configuration, in bytes.
pub const CONFIGURATION_BYTES_MAX: u64 = 1 << 20;

/// The reason why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigurationError {
    /// The file cannot be read.
    #[error("{} cannot be read: {source}", file.display())]
    Read {
        /// As given by `--config` or `SARDONYX_CONFIG`.
        file: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is too long.
    #[error("{} has more than {CONFIGURATION_BYTES_MAX} bytes: it is not a configuration", file.display())]
    TooLong {
        /// As given by `--config` or `SARDONYX_CONFIG`.
        file: PathBuf,
    },
    /// The text is not TOML, or has unknown keys.
    #[error("{}: {reason}", file.display())]
    Parse {
        /// As given by `--config` or `SARDONYX_CONFIG`.
        file: PathBuf,
        /// The fault, with its line.
        reason: String,
    },
    /// A value is not valid.
    #[error("{}: {name}: {source}", file.display())]
    Value {
        /// As given by `--config` or `SARDONYX_CONFIG`.
        file: PathBuf,
        /// The value's name.
        name: String,
        /// The fault of the value.
        source: OptionsError,
    },
    /// A user has no right on tables. None is given by default: the greatest would let a user drop tables that was added
    /// in haste, and a lesser one would take rights from a user who had them by an earlier version's default.
    #[error("{}: users.{user}: `tables` is missing: write tables = \"none\", \"read\", \"write\" or \"own\"", file.display())]
    WithoutRight {
        /// As given by `--config` or `SARDONYX_CONFIG`.
        file: PathBuf,
        /// The key of its section under `users`.
        user: String,
    },
    /// The password of a user is not a verifier.
    #[error("{}: the password of the user {user:?}: {source}; make one with `sardonyx password`", file.display())]
    Password {
        /// As given by `--config` or `SARDONYX_CONFIG`.
        file: PathBuf,
        /// The key of its section under `users`.
        user: String,
        /// The fault of the verifier.
        source: ScramError,
    },
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct File {
    postgres: Option<Endpoints>,
    redis: Option<Endpoints>,
    http: Option<Endpoints>,
    tls: Option<TlsSection>,
    limits: LimitsSection,
    otlp: OtlpSection,
    users: BTreeMap<String, UserSection>,
}

/// One value, or a list.
#[derive(Deserialize)]
#[serde(untagged)]
enum Endpoints {
    One(String),
    Several(Vec<String>),
}

/// A size: bytes, or a text with a unit.
#[derive(Deserialize)]
#[serde(untagged)]
enum Size {
    Bytes(u64),
    Text(String),
}

impl Size {
    fn bytes(&self) -> Result<u64, OptionsError> {
        let text = match self {
            Size::Bytes(bytes) => return Ok(*bytes),
            Size::Text(text) => text,
        };
        let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1_u64 << 30)];
        let read = units.iter().find_map(|(unit, one)| {
            let number: u64 = text.strip_suffix(unit)?.trim().parse().ok()?;
            number.checked_mul(*one)
        });
        read.ok_or_else(|| OptionsError::Size { text: text.clone() })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TlsSection {
    certificate: PathBuf,
    key: PathBuf,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct LimitsSection {
    connections: Option<usize>,
    greeting_seconds: Option<u64>,
    unread_seconds: Option<u64>,
    drain_seconds: Option<u64>,
    slow_statement_milliseconds: Option<u64>,
    statement_timeout_milliseconds: Option<u64>,
    memory_max: Option<Size>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct OtlpSection {
    endpoint: Option<String>,
    sample: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UserSection {
    password: String,
    #[serde(default)]
    tables: Option<String>,
    #[serde(default)]
    table: BTreeMap<String, String>,
    #[serde(default)]
    keys: Option<String>,
}

/// Reads a configuration. The endpoints that it does not name are those of `defaults`.
///
/// # Errors
/// The fault and its place. No error contains a password.
pub fn read(file: &Path, defaults: Options) -> Result<Options, ConfigurationError> {
    let failed = |source| ConfigurationError::Read {
        file: file.into(),
        source,
    };
    if std::fs::metadata(file).map_err(failed)?.len() > CONFIGURATION_BYTES_MAX {
        return Err(ConfigurationError::TooLong { file: file.into() });
    }
    parse(
        &std::fs::read_to_string(file).map_err(failed)?,
        file,
        defaults,
    )
}

/// Reads the text of a configuration file.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, file: &Path, defaults: Options) -> Result<Options, ConfigurationError> {
    let read: File = toml::from_str(text).map_err(|error| ConfigurationError::Parse {
        file: file.into(),
        // Not the error's text, which shows the line, and with it perhaps a password.
        reason: match error.span() {
            Some(span) => {
                let line = text[..span.start.min(text.len())].matches('\n').count() + 1;
                format!("line {line}: {}", error.message())
            }
            None => error.message().to_string(),
        },
    })?;
    let value = |name: &str| {
        let name = name.to_string();
        move |source| ConfigurationError::Value {
            file: file.into(),
            name: name.clone(),
            source,
        }
    };
    let mut options = defaults;
    let places = [
        ("postgres", read.postgres, &mut options.postgres),
        ("redis", read.redis, &mut options.redis),
        ("http", read.http, &mut options.http),
    ];
    for (name, given, place) in places {
        let texts = match given {
            None => continue,
            Some(Endpoints::One(text)) => vec![text],
            Some(Endpoints::Several(texts)) => texts,
        };
        *place = endpoints(&texts).map_err(value(name))?;
    }
    let beside = |path: PathBuf| file.parent().unwrap_or(Path::new("")).join(path);
    options.tls = read.tls.map(|tls| TlsFiles {
        certificate: beside(tls.certificate),
        key: beside(tls.key),
    });
    let (limits, said) = (&mut options.limits, read.limits);
    *limits = Limits {
        connections_max: said.connections.unwrap_or(limits.connections_max),
        greeting: seconds(said.greeting_seconds, limits.greeting),
        unread: seconds(said.unread_seconds, limits.unread),
        drain: seconds(said.drain_seconds, limits.drain),
        slow_statement: said
            .slow_statement_milliseconds
            .map_or(limits.slow_statement, Duration::from_millis),
        statement: said
            .statement_timeout_milliseconds
            .filter(|limit| *limit > 0)
            .map(Duration::from_millis),
        memory_max: said
            .memory_max
            .map(|size| size.bytes().map_err(value("limits.memory_max")))
            .transpose()?,
    };
    options.otlp = Otlp {
        endpoint: read.otlp.endpoint,
        sample: read.otlp.sample,
    };
    for (name, section) in read.users {
        let verifier: Result<Verifier, _> = section.password.parse();
        let verifier = verifier.map_err(|source| ConfigurationError::Password {
            file: file.into(),
            user: name.clone(),
            source,
        })?;
        let right = |text: &str| {
            text.parse::<Right>()
                .map_err(value(&format!("users.{name}")))
        };
        let Some(tables) = &section.tables else {
            let (file, user) = (file.into(), name);
            return Err(ConfigurationError::WithoutRight { file, user });
        };
        let tables = right(tables)?;
        let mut table = BTreeMap::new();
        for (name, text) in &section.table {
            table.insert(name.clone(), right(text)?);
        }
        let user = User {
            verifier,
            tables,
            table,
            keys: section.keys.as_deref().map_or(Ok(tables), right)?,
        };
        options.users.insert(name, user);
    }
    Ok(options)
}

/// Parses endpoints; `off` alone gives none.
///
/// # Errors
/// [`OptionsError::Endpoint`].
pub fn endpoints(texts: &[String]) -> Result<Vec<Endpoint>, OptionsError> {
    match texts {
        [text] if text == "off" => Ok(Vec::new()),
        _ => texts.iter().map(|text| text.parse()).collect(),
    }
}

fn seconds(said: Option<u64>, usual: Duration) -> Duration {
    said.map_or(usual, Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Options, String> {
        let file = Path::new("/etc/sardonyx/server.toml");
        parse(text, file, Options::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_whole_configuration() {
        let verifier = Verifier::of_password("pencil").unwrap();
        let text = format!(
            "# comment\npostgres = [\"127.0.0.1:1\", \"unix:/run/sdx\"]\nredis = \"off\"\n\
             [tls]\ncertificate = \"cert.pem\"\nkey = \"/k/key.pem\"\n[limits]\nconnections = 7\nmemory_max = \"3MiB\"\nstatement_timeout_milliseconds = 5\n\
             [users.shop]\npassword = \"{verifier}\"\ntables = \"read\"\nkeys = \"write\"\n\
             [otlp]\nendpoint = \"http://[::1]:4318\"\nsample = 0.5\n[users.shop.table]\nsalaries = \"none\"\n"
        );
        let options = parsed(&text).unwrap();
        assert_eq!(options.postgres.len(), 2);
        assert!(options.redis.is_empty() && !options.http.is_empty());
        let tls = options.tls.unwrap();
        assert_eq!(tls.certificate, Path::new("/etc/sardonyx/cert.pem"));
        assert_eq!(tls.key, Path::new("/k/key.pem"));
        assert_eq!(options.limits.connections_max, 7);
        assert_eq!(options.limits.memory_max, Some(3 << 20));
        assert_eq!(options.limits.statement, Some(Duration::from_millis(5)));
        let endpoint = options.otlp.endpoint.as_deref();
        assert_eq!(endpoint, Some("http://[::1]:4318"));
        assert_eq!(options.otlp.sample, Some(0.5));
        let shop = &options.users["shop"];
        assert_eq!((shop.tables, shop.keys), (Right::Read, Right::Write));
        assert_eq!(shop.table["salaries"], Right::None);
        assert!(!shop.may_read_all());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_without_passwords() {
        let said = parsed("postgres = \"x\"").unwrap_err();
        assert!(
            said.contains("server.toml: postgres: \"x\" is not an address"),
            "{said}"
        );
        let said = parsed("[limits]\nmemory_max = \"3 pages\"").unwrap_err();
        assert!(
            said.contains("limits.memory_max: \"3 pages\" is not a size"),
            "{said}"
        );
        let said = parsed("\nports = 1").unwrap_err();
        assert!(said.contains("line 2") && said.contains("ports"), "{said}");
        let said = parsed("[users.ada]\npassword = \"hunter2\"").unwrap_err();
        assert!(
            said.contains("sardonyx password") && !said.contains("hunter2"),
            "{said}"
        );
        let verifier = Verifier::of_password("pencil").unwrap();
        let said = parsed(&format!("[users.ada]\npassword = \"{verifier}\"")).unwrap_err();
        assert!(
            said.contains("users.ada: `tables` is missing") && !said.contains("SCRAM"),
            "{said}"
        );
        let said = parsed("[users.ada]\npassword = \"hunter2\nx").unwrap_err();
        assert!(!said.contains("hunter2"), "{said}");
    }
}
