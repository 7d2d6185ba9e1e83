//! A client of etcd: keys that are read, and put if their revision is still the one that was read.
//!
//! It knows the cluster that answered first, and the newest revision of it. An answer of another cluster, or of an older
//! revision than an answer had before the request was made, is an error ([`super`], rule 2).

use super::credentials::Credentials;
use super::error::EtcdError;
use super::http::{Call, Effect, Http, bytes, number, text};
use sardonyx_base::sync::Mutex;
use serde_json::{Value, json};
use std::time::Duration;

const RANGE: &str = "/v3/kv/range";
const TXN: &str = "/v3/kv/txn";
const DELETE: &str = "/v3/kv/deleterange";

/// A key, as etcd has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// With the prefix of the log.
    pub key: Vec<u8>,
    /// As bytes; etcd does not read them.
    pub value: Vec<u8>,
    /// The revision of the cluster that put the value.
    pub revision: i64,
}

/// The state of the cluster, as answers showed it.
#[derive(Clone, Copy, Default, Debug)]
struct Seen {
    /// None: no answer yet.
    cluster: Option<u64>,
    revision: i64,
}

/// A client of etcd.
#[derive(Debug)]
pub struct Client {
    call: Box<dyn Call>,
    seen: Mutex<Seen>,
}

impl Client {
    /// A client of the servers at these endpoints (`http://host:port`), without credentials. Nothing is asked yet.
    pub fn new(endpoints: Vec<String>, time_limit: Duration) -> Self {
        let credentials = Credentials::default();
        Self::over(Box::new(Http::new(endpoints, credentials, time_limit)))
    }

    pub(crate) fn over(call: Box<dyn Call>) -> Self {
        Client {
            call,
            seen: Mutex::default(),
        }
    }

    /// Makes a call of a lease. Its answers may come from a server that lags, so they are not compared with others. Any
    /// server is asked when one gives no answer: a lease that is granted twice runs out.
    ///
    /// # Errors
    /// There is no usable answer.
    pub fn ask_of_lease(&self, path: &'static str, body: &Value) -> Result<Value, EtcdError> {
        self.call.call(path, body, Effect::Repeatable)
    }

    /// Makes a call of keys, and compares the state that the answer shows. A server of another cluster is not asked first any
    /// more, and others answer what may be asked again.
    fn ask(&self, path: &'static str, body: &Value, effect: Effect) -> Result<Value, EtcdError> {
        let mut left = self.call.servers();
        loop {
            let answer = self.ask_once(path, body, effect);
            if !matches!(answer, Err(EtcdError::Cluster { .. })) {
                return answer;
            }
            self.call.distrust();
            left = left.saturating_sub(1);
            if left == 0 || effect != Effect::Repeatable {
                return answer;
            }
        }
    }

    fn ask_once(
        &self,
        path: &'static str,
        body: &Value,
        effect: Effect,
    ) -> Result<Value, EtcdError> {
        let before = *self.seen.lock();
        let answer = self.call.call(path, body, effect)?;
        let header = &answer["header"];
        let cluster = header["cluster_id"].as_str();
        let cluster = cluster.and_then(|cluster| cluster.parse().ok());
        let missing = |what| EtcdError::Answer { path, what };
        let cluster: u64 = cluster.ok_or(missing("the cluster's id"))?;
        let found = number(&header["revision"]).ok_or(missing("the cluster's revision"))?;
        if let Some(expected) = before.cluster
            && expected != cluster
        {
            let found = cluster;
            return Err(EtcdError::Cluster { expected, found });
        }
        // Of several requests at once, the newer answer may come first.
        if found < before.revision {
            return Err(EtcdError::Restored {
                what: "the cluster".into(),
                seen: before.revision,
                found,
            });
        }
        let mut seen = self.seen.lock();
        let expected = *seen.cluster.get_or_insert(cluster);
        if expected != cluster {
            let found = cluster;
            return Err(EtcdError::Cluster { expected, found });
        }
        seen.revision = seen.revision.max(found);
        Ok(answer)
    }

    /// A key, if it is there.
    ///
    /// # Errors
    /// There is no usable answer.
    pub fn get(&self, key: &str) -> Result<Option<Found>, EtcdError> {
        let found = self.range(&json!({ "key": text(key) }))?;
        Ok(found.into_iter().next())
    }

    /// All keys that begin so, in their order.
    ///
    /// # Errors
    /// There is no usable answer.
    pub fn list(&self, prefix: &str) -> Result<Vec<Found>, EtcdError> {
        // Up to the next key that does not begin so.
        let mut end = prefix.as_bytes().to_vec();
        while end.last() == Some(&0xff) {
            end.pop();
        }
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        self.range(&json!({ "key": text(prefix), "range_end": text(end) }))
    }

    fn range(&self, body: &Value) -> Result<Vec<Found>, EtcdError> {
        let answer = self.ask(RANGE, body, Effect::Repeatable)?;
        let missing = |what| EtcdError::Answer { path: RANGE, what };
        let found = answer["kvs"].as_array().into_iter().flatten();
        let found = found.map(|found| {
            Ok(Found {
                key: bytes(&found["key"]).ok_or(missing("a key"))?,
                value: match &found["value"] {
                    Value::Null => Vec::new(),
                    value => bytes(value).ok_or(missing("a value"))?,
                },
                revision: number(&found["mod_revision"]).ok_or(missing("mod_revision"))?,
            })
        });
        found.collect()
    }

    /// Puts a value if the key's revision is still this; 0: if there is no such key. Returns whether it did.
    ///
    /// # Errors
    /// There is no usable answer: the value may be put, or be put later.
    pub fn put_if(
        &self,
        key: &str,
        revision: i64,
        value: &[u8],
        lease: Option<&str>,
    ) -> Result<bool, EtcdError> {
        let key = text(key);
        let mut put = json!({ "key": key, "value": text(value) });
        if let Some(lease) = lease {
            put["lease"] = json!(lease);
        }
        let body = json!({
            "compare": [{
                "key": key,
                "target": "MOD",
                "result": "EQUAL",
                "mod_revision": revision.to_string(),
            }],
            "success": [{ "request_put": put }],
        });
        let answer = self.ask(TXN, &body, Effect::Once)?;
        // etcd leaves out what is false.
        Ok(answer["succeeded"].as_bool().unwrap_or(false))
    }

    /// Deletes a key, if it is there.
    ///
    /// # Errors
    /// There is no usable answer: it may be deleted.
    pub fn delete(&self, key: &str) -> Result<(), EtcdError> {
        let body = json!({ "key": text(key) });
        self.ask(DELETE, &body, Effect::Once).map(drop)
    }
}
