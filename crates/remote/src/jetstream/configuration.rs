//! The settings that a stream needs to keep a log: created so if it is absent, and refused with a sentence if they
//! differ.
//!
//! One condition cannot be seen from here: that the servers sync each message to disk before they acknowledge it
//! (`sync_interval: always`). Without that, servers that lose power together lose acknowledged messages.

use serde::{Deserialize, Serialize};

/// Replicas in a cluster.
const REPLICAS: usize = 3;

/// Servers before this version cannot put a condition on other subjects than a message's own.
const VERSION_LEAST: (u32, u32) = (2, 12);

/// The least that messages have to be allowed to have.
const PAYLOAD_BYTES_LEAST: usize = 16 << 10;

/// A stream's configuration, as far as it matters here, as JetStream's API has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct StreamConfiguration {
    pub name: String,
    pub subjects: Vec<String>,
    pub retention: String,
    pub storage: String,
    pub discard: String,
    pub num_replicas: usize,
    pub max_msgs: i64,
    pub max_bytes: i64,
    pub max_age: i64,
    pub max_msgs_per_subject: i64,
    #[serde(skip_serializing_if = "is_none")]
    pub max_msg_size: i64,
    pub allow_rollup_hdrs: bool,
    pub allow_direct: bool,
    pub deny_delete: bool,
    pub deny_purge: bool,
    #[serde(skip_serializing_if = "is_no")]
    pub no_ack: bool,
    #[serde(skip_serializing_if = "is_no")]
    pub sealed: bool,
    #[serde(skip_serializing)]
    pub allow_msg_counter: bool,
    #[serde(skip_serializing)]
    pub persist_mode: String,
    #[serde(skip_serializing)]
    pub mirror: Option<serde_json::Value>,
    #[serde(skip_serializing)]
    pub sources: Vec<serde_json::Value>,
    #[serde(skip_serializing)]
    pub subject_transform: Option<serde_json::Value>,
}

fn is_none(limit: &i64) -> bool {
    *limit <= 0
}

fn is_no(flag: &bool) -> bool {
    !flag
}

/// The meaning of a field that a server leaves out.
impl Default for StreamConfiguration {
    fn default() -> Self {
        StreamConfiguration {
            name: String::new(),
            subjects: Vec::new(),
            retention: "limits".into(),
            storage: "file".into(),
            discard: "old".into(),
            num_replicas: 1,
            max_msgs: -1,
            max_bytes: -1,
            max_age: 0,
            max_msgs_per_subject: -1,
            max_msg_size: -1,
            allow_rollup_hdrs: false,
            allow_direct: false,
            deny_delete: false,
            deny_purge: false,
            no_ack: false,
            sealed: false,
            allow_msg_counter: false,
            persist_mode: String::new(),
            mirror: None,
            sources: Vec::new(),
            subject_transform: None,
        }
    }
}

impl StreamConfiguration {
    /// The configuration of a stream that keeps logs, on a cluster or on one server.
    pub fn of_a_log(stream: &str, is_cluster: bool) -> Self {
        StreamConfiguration {
            name: stream.into(),
            subjects: vec![subjects_of(stream)],
            discard: "new".into(),
            num_replicas: if is_cluster { REPLICAS } else { 1 },
            allow_rollup_hdrs: true,
            allow_direct: true,
            ..StreamConfiguration::default()
        }
    }

    /// The necessary changes for a log to be kept there, if any.
    pub fn objection(&self, is_cluster: bool) -> Option<String> {
        let subjects = subjects_of(&self.name);
        let has_subjects = self.subjects.contains(&subjects);
        let replicas = if is_cluster { REPLICAS } else { 1 };
        let has_limit = |limit: i64| limit > 0;
        let rules: [(bool, String); 18] = [
            (
                self.storage != "file",
                "it keeps messages in memory only; make one with --storage=file".into(),
            ),
            (
                self.persist_mode == "async",
                "it acknowledges unwritten messages; make one with --persist-mode=default".into(),
            ),
            (
                self.num_replicas < replicas,
                format!(
                    "it has {} replicas of {replicas}; set --replicas={replicas}",
                    self.num_replicas
                ),
            ),
            (
                self.retention != "limits",
                "it deletes messages that consumers have read; make one with --retention=limits"
                    .into(),
            ),
            (
                self.discard != "new",
                "it deletes old messages when it is full; set --discard=new".into(),
            ),
            (
                has_limit(self.max_age),
                "it deletes messages by their age; set --max-age=0".into(),
            ),
            (
                has_limit(self.max_msgs),
                "it has a limit of messages; set --max-msgs=-1".into(),
            ),
            (
                has_limit(self.max_bytes),
                "it has a limit of bytes; set --max-bytes=-1".into(),
            ),
            (
                has_limit(self.max_msgs_per_subject),
                "it has a limit of messages for each subject; set --max-msgs-per-subject=-1".into(),
            ),
            (
                has_limit(self.max_msg_size),
                "it has a limit of a message's bytes; set --max-msg-size=-1".into(),
            ),
            (
                !has_subjects,
                format!("it does not have the subjects `{subjects}`; set --subjects={subjects}"),
            ),
            (
                !self.allow_rollup_hdrs,
                "no message can replace those before it; set --allow-rollup".into(),
            ),
            (
                !self.allow_direct,
                "its replicas cannot be read; set --allow-direct".into(),
            ),
            (
                self.deny_purge || self.deny_delete,
                "nothing in it can be deleted; make one without --deny-purge and --deny-delete"
                    .into(),
            ),
            (
                self.no_ack,
                "it does not acknowledge messages; set --ack".into(),
            ),
            (
                self.sealed,
                "it is sealed, so nothing can be put there; make another one".into(),
            ),
            (
                self.mirror.is_some() || !self.sources.is_empty(),
                "it copies another stream; make another one".into(),
            ),
            (
                self.subject_transform.is_some() || self.allow_msg_counter,
                "it changes messages; make one without transforms and counters".into(),
            ),
        ];
        let broken = rules.into_iter().filter(|(is_broken, _)| *is_broken);
        let sentences: Vec<String> = broken.map(|(_, sentence)| sentence).collect();
        match sentences.is_empty() {
            true => None,
            false => Some(format!(
                "of the stream `{}`: {} (`nats stream edit` and `nats stream add` have these options)",
                self.name,
                sentences.join("; ")
            )),
        }
    }
}

/// Everything that is put into a stream.
fn subjects_of(stream: &str) -> String {
    format!("{stream}.>")
}

/// The reason why a server of this version, which takes messages of so many bytes, cannot be used, if so.
pub(super) fn objection_to_server(version: &str, max_payload: usize) -> Option<String> {
    let mut numbers = version.split(['.', '-']).map(str::parse::<u32>);
    let known = match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => Some((major, minor)),
        _ => None,
    };
    let (major, minor) = VERSION_LEAST;
    if known.is_none_or(|known| known < VERSION_LEAST) {
        return Some(format!(
            "its server has version {version}; use {major}.{minor} or a newer one"
        ));
    }
    (max_payload < PAYLOAD_BYTES_LEAST).then(|| {
        format!("its server takes messages of {max_payload} bytes; set max_payload to {PAYLOAD_BYTES_LEAST} at least, better to the 1 MiB that is usual")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_created_is_accepted_and_sent_as_the_api_has_it() {
        for is_cluster in [false, true] {
            let made = StreamConfiguration::of_a_log("BANK", is_cluster);
            assert_eq!(made.objection(is_cluster), None);
            let sent = serde_json::to_value(&made).unwrap();
            assert_eq!(sent["num_replicas"], if is_cluster { 3 } else { 1 });
            assert_eq!(sent["subjects"][0], "BANK.>");
            assert_eq!(
                (&sent["discard"], &sent["max_age"]),
                (&"new".into(), &0.into())
            );
            assert!(sent.get("mirror").is_none() && sent.get("sealed").is_none());
            assert_eq!(
                serde_json::from_value::<StreamConfiguration>(sent).unwrap(),
                made
            );
        }
        let alone = StreamConfiguration::of_a_log("BANK", false);
        assert!(alone.objection(true).unwrap().contains("--replicas=3"));
    }

    #[test]
    fn what_would_lose_a_log_is_refused_with_what_to_change() {
        type Change = fn(&mut StreamConfiguration);
        let changes: [(Change, &str); 18] = [
            (|c| c.storage = "memory".into(), "--storage=file"),
            (
                |c| c.persist_mode = "async".into(),
                "--persist-mode=default",
            ),
            (|c| c.num_replicas = 1, "it has 1 replicas of 3"),
            (|c| c.retention = "workqueue".into(), "--retention=limits"),
            (|c| c.discard = "old".into(), "--discard=new"),
            (|c| c.max_age = 1, "--max-age=0"),
            (|c| c.max_msgs = 1, "--max-msgs=-1"),
            (|c| c.max_bytes = 1, "--max-bytes=-1"),
            (|c| c.max_msgs_per_subject = 1, "--max-msgs-per-subject=-1"),
            (|c| c.max_msg_size = 1, "--max-msg-size=-1"),
            (|c| c.subjects = vec!["BANK.a".into()], "--subjects=BANK.>"),
            (|c| c.allow_rollup_hdrs = false, "--allow-rollup"),
            (|c| c.allow_direct = false, "--allow-direct"),
            (|c| c.deny_purge = true, "--deny-purge"),
            (|c| c.deny_delete = true, "--deny-delete"),
            (|c| c.no_ack = true, "--ack"),
            (|c| c.sealed = true, "sealed"),
            (|c| c.mirror = Some("x".into()), "copies another"),
        ];
        for (change, says) in changes {
            let mut configuration = StreamConfiguration::of_a_log("BANK", true);
            change(&mut configuration);
            let sentence = configuration.objection(true).unwrap();
            assert!(
                sentence.contains(says) && sentence.contains("`BANK`"),
                "{sentence}"
            );
        }
        // The default meaning of a field that an API leaves out.
        let bare: StreamConfiguration = serde_json::from_str(r#"{"name":"BANK"}"#).unwrap();
        assert!(bare.objection(false).unwrap().contains("--discard=new"));
    }

    #[test]
    fn servers_that_cannot_do_it_are_refused() {
        for version in ["2.12.0", "2.15.2", "3.0.0-beta.1"] {
            assert_eq!(objection_to_server(version, 1 << 20), None);
        }
        for version in ["2.11.9", "1.99.0", "", "new"] {
            assert!(objection_to_server(version, 1 << 20).is_some(), "{version}");
        }
        let small = objection_to_server("2.12.0", 4096).unwrap();
        assert!(small.contains("max_payload"), "{small}");
    }
}
