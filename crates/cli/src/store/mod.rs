//! `store`: a database whose log is in a store: its contents, the serving host, copies.

#[cfg(feature = "sql")]
mod base_ages;
#[cfg(feature = "sql")]
mod bases;
mod clone;
mod copies;
mod every;
mod follow;
mod following;
mod hand_over;
mod retention;
mod serve;
#[cfg(feature = "sql")]
mod serving_host;
mod status;
mod unserved;
mod verify;

#[cfg(feature = "sql")]
pub use base_ages::BasesSeen;
#[cfg(feature = "sql")]
pub use bases::{Bases, BasesOption};
pub use clone::{Report as Copied, Until, clear, copy as copy_from_store, has_lock_alone};
#[cfg(feature = "sql")]
pub use serving_host::ServingHost;

use clap::Subcommand;
use sardonyx::Options;
use sardonyx::disk::GroupLimits;
use sardonyx::hosts::{DurableAt, RemoteLog};
use sardonyx_command::durable_at::DurableAtChoice;
use sardonyx_command::exit::{Exit, UsageError};
use sardonyx_command::output::Output;
use sardonyx_remote::{RemoteOptions, open};
use sardonyx_rows::schema::{Type, Value};
use sardonyx_rows::value_text::parse_value;
use sardonyx_storage::engine::{StorageOptions, stored_manifest};
use sardonyx_storage::manifest::Manifest;
use sardonyx_storage::remote_log::entry_log::ENTRIES_FILE;
use sardonyx_storage::remote_log::known::STORE_FILE;
use std::path::Path;
use std::time::Duration;

pub use unserved::{Held, exit_of};

/// Show, copy, serve or hand over a log in a store.
///
/// A server (`serve --store PLACE`) or a program (`Options::store`) puts its log into a store. These verbs show and
/// manage the store. A PLACE is one of these:
///
/// s3://BUCKET/PREFIX: an object store. Endpoint, region and credentials are those of AWS's tools: AWS_ENDPOINT_URL,
/// AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.
///
/// nats://HOST[:PORT][,HOST...]/STREAM[/PREFIX], or the same with tls://: NATS JetStream. Credentials are those of NATS's
/// tools: NATS_CREDS, NATS_NKEY, NATS_USER and NATS_PASSWORD, NATS_TOKEN; for TLS NATS_CA, NATS_CERT and NATS_KEY.
///
/// tcp://HOST:PORT: another host that runs `sardonyx store serve`. If that requires them, set SARDONYX_STORE_TLS and
/// SARDONYX_STORE_TOKEN_FILE.
///
/// file:DIRECTORY: a directory, for a trial on one machine.
///
/// 'copies:KEEPER;PLACE;PLACE': the log is on all places after the first one. The first one, the keeper, has the register
/// of the places that are in sync. It may also be etcd://HOST:PORT[,HOST:PORT...]/NAME, or the same with etcds:// (TLS).
/// Credentials are those of etcd's tool: ETCDCTL_CACERT, ETCDCTL_CERT, ETCDCTL_KEY, ETCDCTL_USER, ETCDCTL_PASSWORD.
///
/// SARDONYX_STORE_KEYS encrypts everything in the store. It names a file of keys, a line of 64 hexadecimal digits for
/// each: the first one encrypts, all decrypt. Times are UTC, such as 2026-11-22T10:15:00Z.
///
/// Examples:
///   sardonyx store status s3://ledger/bank
///   sardonyx store promote s3://ledger/bank --to host-2
///   sardonyx store follow s3://ledger/bank copy.sdx --base-every 4GiB --keep-bases 3
///   sardonyx store clone s3://ledger/bank yesterday.sdx --at 2026-11-22T10:15:00Z
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Status(status::Arguments),
    Verify(verify::Arguments),
    Promote(hand_over::Promote),
    Drain(hand_over::Drain),
    Follow(follow::Arguments),
    Clone(clone::Arguments),
    Trim(retention::Arguments),
    Serve(serve::Arguments),
    Copies(copies::Arguments),
}

impl Arguments {
    /// Runs the verb.
    pub fn run(&self, output: &mut Output) -> anyhow::Result<Exit> {
        match &self.action {
            Action::Status(verb) => verb.run(output),
            Action::Verify(verb) => verb.run(output),
            Action::Promote(verb) => verb.run(output),
            Action::Drain(verb) => verb.run(output),
            Action::Follow(verb) => verb.run(output),
            Action::Clone(verb) => verb.run(output),
            Action::Trim(verb) => verb.run(output),
            Action::Serve(verb) => verb.run(output),
            Action::Copies(verb) => verb.run(output),
        }
    }
}

/// The least time to wait for one answer about a register, however short the lease.
const REGISTER_LIMIT_LEAST: Duration = Duration::from_millis(200);

/// The directory of a store's entries, in a store that is a directory.
const STORED_ENTRIES: &str = "entry";

/// A store, as an argument.
#[derive(Debug, clap::Args)]
pub struct Place {
    /// The place of the log: s3://BUCKET/PREFIX, nats://HOST/STREAM, tcp://HOST:PORT, file:DIRECTORY or
    /// 'copies:KEEPER;PLACE;PLACE'
    place: String,
}

impl Place {
    /// The store at this place.
    pub fn at(place: String) -> Place {
        Place { place }
    }

    fn as_str(&self) -> &str {
        &self.place
    }

    /// Opens the store. The writers have already checked that it can keep a log.
    fn open(&self) -> anyhow::Result<RemoteLog> {
        // Opening it would create the directory and its subdirectories, or a set of copies.
        if let Some(directory) = self.place.strip_prefix("file:")
            && !directory.is_empty()
            && !Path::new(directory).join(STORED_ENTRIES).is_dir()
            // A directory of a single process is refused when it is opened.
            && !Path::new(directory).join(ENTRIES_FILE).exists()
        {
            let place = &self.place;
            let reason = match Path::new(directory).is_dir() {
                true => "there is no log in this directory",
                false => "there is no such directory",
            };
            return Err(UsageError::NotThere(format!("{place} has no database: {reason}")).into());
        }
        let options = RemoteOptions {
            probe: false,
            make: !self.place.starts_with("copies:"),
            changes_copies: false,
            ..RemoteOptions::from_environment()?
        };
        Ok(RemoteLog::new(open(&self.place, &options)?))
    }

    /// The store with its database's manifest.
    fn database(&self) -> anyhow::Result<(RemoteLog, Manifest)> {
        let remote = self.open()?;
        let manifest = stored_manifest(&remote)?;
        let manifest = manifest.ok_or_else(|| {
            UsageError::NotThere(format!("{} has no database", remote.store.place()))
        })?;
        Ok((remote, manifest))
    }

    /// Waits for a database. `None` if the pause is to end the verb.
    fn awaited_database(
        &self,
        pause: Duration,
        goes_on: impl Fn(Duration) -> bool,
    ) -> anyhow::Result<Option<(RemoteLog, Manifest)>> {
        let remote = self.open()?;
        let mut has_said = false;
        loop {
            if let Some(manifest) = stored_manifest(&remote)? {
                return Ok(Some((remote, manifest)));
            }
            if !std::mem::replace(&mut has_said, true) {
                let place = remote.store.place();
                eprintln!("sardonyx: {place} has no database yet; waiting for one");
            }
            if !goes_on(pause) {
                return Ok(None);
            }
        }
    }
}

/// The store of a verb that opens a database to change it.
#[derive(Clone, Debug, clap::Args)]
pub struct StoreOption {
    /// The store of the log: a database whose log is in a store is opened with it
    #[arg(long, value_name = "PLACE", help_heading = "Store")]
    store: Option<String>,
    /// The copies that a transaction waits for before it is acknowledged [default: both]
    #[arg(long, value_enum, requires = "store", help_heading = "Store")]
    durable_at: Option<DurableAtChoice>,
    /// The time for which the store is asked, if not the default.
    #[arg(skip)]
    time_limit: Option<Duration>,
    /// The time to wait for one answer about a register, if not the default.
    #[arg(skip)]
    register_limit: Option<Duration>,
}

impl StoreOption {
    /// The options for a host from which others take over after `wait`; the store is asked for `time_limit` when the
    /// database is opened and closed.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn of_host(&self, time_limit: Duration, wait: Duration) -> StoreOption {
        StoreOption {
            time_limit: Some(time_limit),
            // A sign is due after an eighth of the wait, and the lease is half of it: one lost answer leaves time for
            // another.
            register_limit: Some(wait / 4),
            ..self.clone()
        }
    }

    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn is_named(&self) -> bool {
        self.store.is_some()
    }

    /// True if a transaction is acknowledged when the directory and the store have it, and not before.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn is_durable_in_both(&self) -> bool {
        matches!(self.durable_at, None | Some(DurableAtChoice::Both))
    }

    /// The store, if one was given. The opening of the database checks that it can keep a log.
    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn remote(&self) -> anyhow::Result<Option<RemoteLog>> {
        let Some(place) = &self.store else {
            return Ok(None);
        };
        let options = RemoteOptions {
            probe: false,
            make: false,
            ..RemoteOptions::from_environment()?
        };
        Ok(Some(RemoteLog::new(open(place, &options)?)))
    }

    #[cfg_attr(not(feature = "sql"), allow(dead_code))]
    pub fn add(&self, options: Options, directory: &Path) -> anyhow::Result<Options> {
        Ok(match self.open(directory)? {
            Some(remote) => options.store(remote),
            None => options,
        })
    }

    /// Opens a database, for a verb that does so by itself: not while a host serves it; waits at most `wait`.
    pub fn open_unserved(
        &self,
        options: Options,
        path: &Path,
        wait: Duration,
    ) -> anyhow::Result<Held> {
        match self.open(path)? {
            Some(remote) => Held::open(remote, options, path, wait),
            None => Ok(options.open_tables(path)?.into()),
        }
    }

    fn open(&self, directory: &Path) -> anyhow::Result<Option<RemoteLog>> {
        let Some(place) = &self.store else {
            return Ok(None);
        };
        let defaults = RemoteOptions::from_environment()?;
        let limit = self.register_limit.unwrap_or(defaults.request_limit);
        let options = RemoteOptions {
            register_limit: Some(limit.clamp(REGISTER_LIMIT_LEAST, defaults.request_limit)),
            make: !directory.join(STORE_FILE).exists(),
            home: Some(directory.to_path_buf()),
            ..defaults
        };
        let store = open(place, &options)?;
        let mut remote = RemoteLog {
            durable_at: self.durable_at.map_or(DurableAt::Both, Into::into),
            ..RemoteLog::new(store)
        };
        remote.patience.time_limit = self.time_limit.unwrap_or(remote.patience.time_limit);
        Ok(Some(remote))
    }
}

/// The options of a copy that follows a store.
fn copy_options(remote: RemoteLog, manifest: &Manifest) -> StorageOptions {
    StorageOptions {
        limits: GroupLimits::for_segments(manifest.segment_bytes),
        log_bytes_max: manifest.segment_bytes.saturating_mul(8).max(2 << 30),
        remote: Some(remote),
        ..StorageOptions::default()
    }
}

/// A time in its text form, in microseconds since 1970, UTC.
fn parse_time_of_day(text: &str) -> Result<u64, String> {
    match parse_value(text, Type::Timestamp) {
        Ok(Value::Timestamp(time)) => {
            u64::try_from(time).map_err(|_| "no entry is older than 1970".to_string())
        }
        Ok(_) => Err("a time is expected".to_string()),
        Err(error) => Err(error.reason.to_string()),
    }
}

/// An entry's time as text.
fn shown_time(time: u64) -> String {
    Value::Timestamp(i64::try_from(time).unwrap_or(i64::MAX)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_back() {
        let time = parse_time_of_day("2026-11-22T10:15:00Z").unwrap();
        assert_eq!(time, 1_795_342_500_000_000);
        assert_eq!(shown_time(time), "2026-11-22T10:15:00Z");
        for wrong in ["", "yesterday", "1969-12-31T00:00:00Z"] {
            assert!(parse_time_of_day(wrong).is_err(), "{wrong}");
        }
    }
}
