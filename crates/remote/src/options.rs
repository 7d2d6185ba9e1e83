//! The options of a store, below all stores.

use crate::encrypted::Keys;
use sardonyx_base::greeting::Trust;
use sardonyx_storage::remote_log::store::StoreError;
use std::path::PathBuf;
use std::time::Duration;

/// The options of a store.
#[derive(Clone, Debug)]
pub struct RemoteOptions {
    /// The longest wait for an answer to one request.
    pub request_limit: Duration,
    /// The same for a register of an object store, of `tcp:`, and of the keeper of `copies:`. It names the serving
    /// host, and a lease runs out meanwhile, so a later answer is of no use. The greatest limit is
    /// [`RemoteOptions::request_limit`]; `None` and zero mean that. A request of `tcp:` that needs a new connection
    /// has this time for the connection, and again for the answer.
    pub register_limit: Option<Duration>,
    /// The most bytes of an entry.
    pub entry_bytes_max: u64,
    /// True if the store is probed when it is opened. Leave it out only if the store is known to have been probed.
    pub probe: bool,
    /// True if the directory of `file:` is made if it is absent. Leave it out for a database whose log is there
    /// already: if a file system is not mounted there would be an empty store.
    pub make: bool,
    /// True if a copy of a log on several places (`copies:`) that gives no answer to a read may be excluded. A tool
    /// that only looks leaves that to the hosts.
    pub changes_copies: bool,
    /// The directory of a host's database. The newest register of a set of copies (`copies:`) is kept there, and an
    /// older one is refused: its keeper was restored from a backup. `None`: a tool, which remembers nothing.
    pub home: Option<PathBuf>,
    /// With these everything is encrypted before it goes there.
    pub keys: Option<Keys>,
    /// The credentials of this process and of the server of a store over TCP; none: those of the environment
    /// ([`TLS_VARIABLE`](crate::TLS_VARIABLE), [`TOKEN_FILE_VARIABLE`](crate::TOKEN_FILE_VARIABLE)).
    pub trust: Option<Trust>,
}

/// The environment's variable that names a file of keys ([`Keys::of_file`]).
pub const KEYS_VARIABLE: &str = "SARDONYX_STORE_KEYS";

impl RemoteOptions {
    /// The time that an answer about a register is waited for, if it is set.
    pub(crate) fn register_limit(&self) -> Option<Duration> {
        let limit = self.register_limit.filter(|limit| !limit.is_zero())?;
        Some(limit.min(self.request_limit))
    }

    /// The defaults, with the keys of the file that [`KEYS_VARIABLE`] names, if it does.
    ///
    /// # Errors
    /// The file is wrong.
    pub fn from_environment() -> Result<Self, StoreError> {
        let file = std::env::var_os(KEYS_VARIABLE);
        let keys = file.map(|file| Keys::of_file(file.as_ref())).transpose()?;
        Ok(RemoteOptions {
            keys,
            ..RemoteOptions::default()
        })
    }
}

impl Default for RemoteOptions {
    /// 10 s, 64 MiB, probed.
    fn default() -> Self {
        RemoteOptions {
            request_limit: Duration::from_secs(10),
            register_limit: None,
            entry_bytes_max: 64 << 20,
            probe: true,
            make: true,
            changes_copies: true,
            home: None,
            keys: None,
            trust: None,
        }
    }
}

/// The reason for which etcd is no place of a log.
pub(crate) const NO_LOG: &str = "etcd keeps registers, and no log: name it as the keeper of copies, as in \
                      'copies:etcd://HOST:PORT,HOST:PORT/NAME;tcp://HOST:PORT;tcp://HOST:PORT'";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_registers_that_is_zero_is_none_and_one_that_is_longer_is_cut() {
        let limit = |register_limit| {
            let options = RemoteOptions {
                register_limit,
                ..RemoteOptions::default()
            };
            options.register_limit()
        };
        let second = Duration::from_secs(1);
        assert_eq!(limit(None), None);
        assert_eq!(limit(Some(Duration::ZERO)), None);
        assert_eq!(limit(Some(second)), Some(second));
        assert_eq!(limit(Some(11 * second)), Some(10 * second));
    }
}
