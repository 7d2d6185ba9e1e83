//! The register in etcd.

use sardonyx_remote::etcd::{Client, EtcdError, Found, number};
use sardonyx_sharing::node::NodeError;
use sardonyx_sharing::node::loose::{Register, decode_view_bytes, encode_view};
use sardonyx_sharing::protocol::membership::View;
use sardonyx_sharing::protocol::{Epoch, NodeId};
use serde_json::json;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

const RANGE: &str = "/v3/kv/range";
const GRANT: &str = "/v3/lease/grant";
const KEEP_ALIVE: &str = "/v3/lease/keepalive";
const REVOKE: &str = "/v3/lease/revoke";

/// Tries to count a node's number up, when others do, too.
const ATTEMPTS: u32 = 100;

/// The place of etcd, and its options.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// As `http://host:port`; tried in turn.
    pub endpoints: Vec<String>,
    /// Begins all keys: of this system of nodes, and of no other.
    pub prefix: String,
    /// A node that does nothing for so long counts as failed. At least 2 s are sensible; etcd counts whole seconds.
    pub lease: Duration,
    /// For so long an answer is waited for.
    pub time_limit: Duration,
    /// The interval at which a node looks for others.
    pub look_every: Duration,
}

impl EtcdOptions {
    /// At these endpoints, under this prefix; a lease of 5 s.
    pub fn new(
        endpoints: impl IntoIterator<Item = impl Into<String>>,
        prefix: impl Into<String>,
    ) -> Self {
        EtcdOptions {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            prefix: prefix.into(),
            lease: Duration::from_secs(5),
            time_limit: Duration::from_secs(2),
            look_every: Duration::from_millis(200),
        }
    }
}

/// The register in etcd.
#[derive(Debug)]
pub struct Etcd {
    client: Client,
    options: EtcdOptions,
    /// This node's lease, and until when it lives at least.
    lease: Option<(String, Instant)>,
    renewed: Instant,
}

impl Etcd {
    /// The register; nothing is asked yet.
    pub fn new(options: EtcdOptions) -> Self {
        Etcd {
            client: Client::new(options.endpoints.clone(), options.time_limit),
            options,
            lease: None,
            renewed: Instant::now(),
        }
    }

    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.options.prefix)
    }

    /// A key's value, and its revision; revision 0 if there is no such key.
    fn get(&self, name: &str) -> Result<(Option<Vec<u8>>, i64), EtcdError> {
        let found = self.client.get(&self.key(name))?;
        Ok(match found {
            None => (None, 0),
            Some(Found {
                value, revision, ..
            }) => (Some(value), revision),
        })
    }

    /// Puts a value if the key's revision is still this. Returns whether it did.
    fn put(
        &self,
        name: &str,
        revision: i64,
        value: &[u8],
        lease: Option<&str>,
    ) -> Result<bool, EtcdError> {
        self.client.put_if(&self.key(name), revision, value, lease)
    }

    fn view(&self) -> Result<(View, i64), EtcdError> {
        let (value, revision) = self.get("view")?;
        let view = match value {
            None => View::default(),
            Some(value) => decode_view_bytes(&value).ok_or(EtcdError::Answer {
                path: RANGE,
                what: "a view",
            })?,
        };
        Ok((view, revision))
    }

    fn grant(&mut self) -> Result<String, EtcdError> {
        let before = Instant::now();
        let seconds = self.options.lease.as_secs().max(1);
        let answer = self
            .client
            .ask_of_lease(GRANT, &json!({ "TTL": seconds.to_string() }))?;
        let missing = EtcdError::Answer {
            path: GRANT,
            what: "ID",
        };
        let lease = answer["ID"].as_str().ok_or(missing)?.to_string();
        self.lease = Some((lease.clone(), before + Duration::from_secs(seconds)));
        self.renewed = before;
        Ok(lease)
    }

    fn keep_alive(&mut self) -> Result<(), EtcdError> {
        let Some((lease, until)) = &mut self.lease else {
            return Ok(());
        };
        let before = Instant::now();
        let answer = self
            .client
            .ask_of_lease(KEEP_ALIVE, &json!({ "ID": lease }))?;
        let seconds = number(&answer["result"]["TTL"]).unwrap_or(0);
        // No answer about an ended lease: it lives no longer than was known.
        if let Ok(seconds @ 1..) = u64::try_from(seconds) {
            *until = before + Duration::from_secs(seconds);
            self.renewed = before;
        }
        Ok(())
    }

    fn enter_at(&mut self, address: SocketAddr) -> Result<Option<NodeId>, EtcdError> {
        let lease = self.grant()?;
        for _ in 0..ATTEMPTS {
            let (value, revision) = self.get("next")?;
            // A number that cannot be read must not begin anew: it would name nodes that are dead.
            let next: u16 = match value {
                None => 0,
                Some(value) => {
                    let next = str::from_utf8(&value)
                        .ok()
                        .and_then(|next| next.parse().ok());
                    next.ok_or(EtcdError::Answer {
                        path: RANGE,
                        what: "the number of the next node",
                    })?
                }
            };
            if next == u16::MAX {
                return Ok(None);
            }
            let after = (next + 1).to_string();
            if !self.put("next", revision, after.as_bytes(), None)? {
                continue;
            }
            let name = format!("node/{next}");
            let address = address.to_string();
            if self.put(&name, 0, address.as_bytes(), Some(&lease))? {
                return Ok(Some(NodeId(next)));
            }
        }
        Ok(None)
    }

    fn nodes(&self) -> Result<BTreeMap<NodeId, SocketAddr>, EtcdError> {
        let prefix = self.key("node/");
        let mut nodes = BTreeMap::new();
        for found in self.client.list(&prefix)? {
            let key = String::from_utf8(found.key).ok();
            let value = String::from_utf8(found.value).ok();
            let number = key.and_then(|key| key.strip_prefix(&prefix)?.parse().ok());
            let address = value.and_then(|value| value.parse().ok());
            nodes.extend(number.map(NodeId).zip(address));
        }
        Ok(nodes)
    }
}

fn failed(error: impl std::error::Error) -> NodeError {
    NodeError::Membership {
        reason: error.to_string(),
    }
}

impl Register for Etcd {
    fn enter(&mut self, address: SocketAddr) -> Result<NodeId, NodeError> {
        self.enter_at(address)
            .map_err(failed)?
            .ok_or_else(|| NodeError::Membership {
                reason:
                    "no number for a node can be had: 65535 were here, or too many come at once"
                        .into(),
            })
    }

    fn read(&mut self) -> Result<View, NodeError> {
        Ok(self.view().map_err(failed)?.0)
    }

    fn swap(&mut self, expected: Epoch, view: &View) -> Result<bool, NodeError> {
        let (found, revision) = self.view().map_err(failed)?;
        if found.epoch != expected {
            return Ok(false);
        }
        let mut value = Vec::new();
        encode_view(view, &mut value);
        self.put("view", revision, &value, None).map_err(failed)
    }

    fn present(&mut self) -> Result<BTreeMap<NodeId, SocketAddr>, NodeError> {
        self.nodes().map_err(failed)
    }

    fn stay(&mut self) -> Result<Option<Instant>, NodeError> {
        if self.renewed.elapsed() >= self.options.lease / 4 {
            self.keep_alive().map_err(failed)?;
        }
        Ok(self.lease.as_ref().map(|(_, until)| *until))
    }

    fn leave(&mut self) {
        if let Some((lease, _)) = self.lease.take() {
            let revoked = self.client.ask_of_lease(REVOKE, &json!({ "ID": lease }));
            if let Err(error) = revoked {
                tracing::warn!(%error, "a lease is left to run out");
            }
        }
    }

    fn look_every(&self) -> Duration {
        self.options.look_every
    }
}
