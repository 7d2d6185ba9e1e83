//! The reasons why etcd gave no usable answer, and their meaning for a log's keeper.

use crate::shown::shortened;
use sardonyx_storage::remote_log::store::StoreError;

/// The codes of gRPC with which etcd says that the request cannot succeed as it is: invalid argument, permission denied,
/// failed precondition, unimplemented, data loss, unauthenticated.
const NEVER: [i64; 6] = [3, 7, 9, 12, 15, 16];

/// The code of gRPC for a limit: too many requests, or no space.
const EXHAUSTED: i64 = 8;

/// The reason why etcd gave no usable answer. The request may be done or not.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EtcdError {
    /// No endpoint could be asked.
    #[error("etcd cannot be asked at {endpoint}: {source}")]
    Unreachable {
        /// The last one.
        endpoint: String,
        /// The result of the request.
        #[source]
        source: Box<ureq::Error>,
    },
    /// The list of addresses is empty.
    #[error("no endpoint of etcd is given")]
    NoEndpoint,
    /// With a status other than success.
    #[error("etcd at {endpoint} refuses {path} with {status}: {text}")]
    Refused {
        /// Its address.
        endpoint: String,
        /// The request.
        path: &'static str,
        /// The status of HTTP.
        status: u16,
        /// The code of gRPC, if the answer has one.
        code: Option<i64>,
        /// The answer.
        text: String,
    },
    /// It answers something else than it should.
    #[error("etcd's answer to {path} lacks {what}")]
    Answer {
        /// The request.
        path: &'static str,
        /// The missing thing.
        what: &'static str,
    },
    /// Another cluster answers.
    #[error(
        "the etcd cluster {found:016x} answers, and {expected:016x} did before: name the servers of one cluster"
    )]
    Cluster {
        /// The cluster that answered first.
        expected: u64,
        /// The one that answers now.
        found: u64,
    },
    /// It shows an older state than before.
    #[error(
        "etcd shows revision {found} of {what}, and showed {seen} before: it was restored from an older state, so what \
         the registers say may no longer hold. End all hosts, and see docs/hosts.md, \"An etcd that was restored\""
    )]
    Restored {
        /// The cluster, or a key.
        what: String,
        /// The revision of before.
        seen: i64,
        /// The one now.
        found: i64,
    },
}

impl EtcdError {
    /// True if etcd gives no tokens, since it asks for none.
    pub(super) fn is_without_authentication(&self) -> bool {
        matches!(self, EtcdError::Refused { text, .. } if text.contains("authentication is not enabled"))
    }

    /// True if the credentials are missing, or a token has expired. etcd did nothing.
    pub(super) fn is_about_credentials(&self) -> bool {
        match self {
            EtcdError::Refused { code, text, .. } => {
                *code == Some(16)
                    || text.contains("user name is empty")
                    || text.contains("invalid auth token")
                    || text.contains("revision of auth store is old")
            }
            _ => false,
        }
    }

    /// The same, for a request of this name to the keeper at a place.
    pub(super) fn of_store(&self, what: &str, place: &str) -> StoreError {
        let (what, place, reason) = (what.to_string(), place.to_string(), self.reason());
        match self {
            EtcdError::Cluster { .. } | EtcdError::Restored { .. } | EtcdError::NoEndpoint => {
                StoreError::Setup { place, reason }
            }
            EtcdError::Refused {
                code: Some(EXHAUSTED),
                ..
            } => StoreError::NotNow {
                what,
                place,
                reason,
            },
            EtcdError::Refused { code, status, .. }
                if code.is_some_and(|code| NEVER.contains(&code))
                    || code.is_none() && (400..500).contains(status) && *status != 429 =>
            {
                StoreError::Refused {
                    what,
                    place,
                    reason,
                }
            }
            EtcdError::Unreachable { .. }
            | EtcdError::Refused { .. }
            | EtcdError::Answer { .. } => StoreError::Unclear {
                what,
                place,
                reason,
            },
        }
    }

    fn reason(&self) -> String {
        let text = match self {
            EtcdError::Refused {
                status: 404,
                code: None,
                endpoint,
                ..
            } => format!("{endpoint} is no etcd of version 3.4 or newer"),
            EtcdError::Refused { text, endpoint, .. } if text.contains("user name is empty") => {
                format!(
                    "etcd at {endpoint} asks for a user: set ETCDCTL_USER and ETCDCTL_PASSWORD ({text})"
                )
            }
            EtcdError::Refused { text, endpoint, .. } if text.contains("authentication failed") => {
                format!(
                    "etcd at {endpoint} does not take the user's name or password: set the right ETCDCTL_USER \
                     and ETCDCTL_PASSWORD ({text})"
                )
            }
            EtcdError::Refused { text, endpoint, .. } if text.contains("permission denied") => {
                format!(
                    "etcd at {endpoint} does not let the user read or write these keys: grant its role the keys that \
                     begin with the place's name ({text})"
                )
            }
            EtcdError::Refused { text, endpoint, .. }
                if text.contains("database space exceeded") =>
            {
                format!(
                    "etcd at {endpoint} is full: compact and defragment it, and disarm its alarm ({text})"
                )
            }
            other => other.to_string(),
        };
        shortened(&text, &[])
    }
}
