//! The connections of loosely coupled nodes, and the place of their membership: plain TCP or TLS; a directory of this
//! host, or etcd.
//!
//! It is kept with the [`Setting`](crate::setting::Setting), so every process of the nodes has the same. It has the
//! directory of the certificates, but no secrets. The register belongs to the database, whose logs have the names that
//! it gave. So it stays the same from one start to the next, as does the prefix of a cluster in an etcd.

use crate::error::ClusterError;
use crate::places::Places;
use crate::setting::Coupling;
use sardonyx_base::random::system_random;
use sardonyx_base::transport::{Plain, Transport};
#[cfg(feature = "etcd")]
use sardonyx_etcd::{Etcd, EtcdOptions};
use sardonyx_sharing::node::loose::{OneHost, Register};
use sardonyx_tls::{Tls, TlsFiles};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The connections of loosely coupled nodes, and the place of their membership.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Connecting {
    /// The directory with the files of [`TlsFiles::in_directory`]; none: plain TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<PathBuf>,
    /// The etcd that keeps the membership; none: the cluster's directory keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdSetting>,
}

/// The etcd, and the prefix in it, that keeps the membership.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EtcdSetting {
    /// As `http://host:port`, tried in turn.
    pub endpoints: Vec<String>,
    /// Begins all keys: of this cluster, and of no other.
    pub prefix: String,
}

impl EtcdSetting {
    /// An etcd at these endpoints, under a new prefix.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        EtcdSetting {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: format!("sardonyx/{:016x}", system_random()),
        }
    }

    #[cfg(feature = "etcd")]
    fn register(&self) -> Result<Box<dyn Register>, ClusterError> {
        let options = EtcdOptions::new(&self.endpoints, &self.prefix);
        Ok(Box::new(Etcd::new(options)))
    }

    #[cfg(not(feature = "etcd"))]
    fn register(&self) -> Result<Box<dyn Register>, ClusterError> {
        Err(ClusterError::MissingFeature { feature: "etcd" })
    }
}

impl Connecting {
    /// Checks everything that needs no access to files or servers.
    ///
    /// # Errors
    /// [`ClusterError::Setting`].
    pub fn check(&self, coupling: Coupling) -> Result<(), ClusterError> {
        if coupling == Coupling::Close && *self != Connecting::default() {
            return Err(ClusterError::Setting {
                what: "a coupling",
                found: "close, with TLS or etcd,".into(),
                allowed: "--coupling loose, or leave --tls and --etcd out".into(),
            });
        }
        let Some(etcd) = &self.etcd else {
            return Ok(());
        };
        let is_none = |endpoint: &&String| !endpoint.starts_with("http://");
        let wrong = match &etcd.endpoints[..] {
            [] => Some("none".to_string()),
            all => all.iter().find(is_none).cloned(),
        };
        wrong.map_or(Ok(()), |found| {
            Err(ClusterError::Setting {
                what: "an endpoint of etcd",
                found,
                allowed:
                    "addresses such as http://127.0.0.1:2379; connections to etcd are without TLS"
                        .into(),
            })
        })
    }

    /// Checks that the files exist and are valid, and that etcd answers, before processes are started that would report
    /// it only in their logs.
    ///
    /// # Errors
    /// [`ClusterError::Tls`], [`ClusterError::Node`], [`ClusterError::MissingFeature`].
    pub fn look(&self) -> Result<(), ClusterError> {
        self.transport()?;
        if let Some(etcd) = &self.etcd {
            etcd.register()?.read()?;
        }
        Ok(())
    }

    /// The transport for connections; files are read now.
    ///
    /// # Errors
    /// [`ClusterError::Tls`].
    pub fn transport(&self) -> Result<Arc<dyn Transport>, ClusterError> {
        Ok(match &self.tls {
            None => Arc::new(Plain),
            Some(directory) => Arc::new(Tls::new(&TlsFiles::in_directory(directory))?),
        })
    }

    /// The membership. A node of this host whose process is stopped for so long is shut out; with an etcd its lease
    /// determines that.
    ///
    /// # Errors
    /// [`ClusterError::Node`], [`ClusterError::MissingFeature`].
    pub fn register(
        &self,
        places: &Places,
        stopped_process_wait: Duration,
    ) -> Result<Box<dyn Register>, ClusterError> {
        Ok(match &self.etcd {
            None => Box::new(
                OneHost::open(places.members())?.with_stopped_process_wait(stopped_process_wait),
            ),
            Some(etcd) => etcd.register()?,
        })
    }

    /// The register's name for people; another register has another name.
    pub fn register_name(&self, places: &Places) -> String {
        match &self.etcd {
            None => places.members().display().to_string(),
            Some(etcd) => format!("etcd under {}", etcd.prefix),
        }
    }

    /// The nodes ran before: they keep their prefix.
    pub(crate) fn go_on_from(&mut self, before: &Connecting) {
        if let (Some(now), Some(before)) = (&mut self.etcd, &before.etcd) {
            now.prefix.clone_from(&before.prefix);
        }
    }
}
