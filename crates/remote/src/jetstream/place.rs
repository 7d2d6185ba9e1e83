//! The place of a log in JetStream: `nats://HOST[:PORT][,HOST...]/STREAM[/PREFIX]`, or `tls://` with the same.
//!
//! Any of the servers is asked, and they name the others of their cluster. Several logs can be in one stream, under
//! prefixes. A place contains no credentials.

use crate::host::{ALLOW_PLAIN_VARIABLE, is_this_host};
use sardonyx_storage::remote_log::store::StoreError;

/// The most bytes of a stream's name.
const STREAM_BYTES_MAX: usize = 64;

/// The most bytes of a prefix.
const PREFIX_BYTES_MAX: usize = 200;

/// A place that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct JetStreamPlace {
    /// True if the connection has to use TLS.
    pub tls: bool,
    /// The servers, with ports if they were given.
    pub hosts: Vec<String>,
    pub stream: String,
    /// The log's prefix in it; may be empty.
    pub prefix: String,
}

impl JetStreamPlace {
    /// The part behind `nats:` or `tls:`.
    ///
    /// # Errors
    /// The fault of a place, without showing any of it.
    pub fn parse(tls: bool, rest: &str, allow_plain: bool) -> Result<Self, StoreError> {
        let scheme = if tls { "tls" } else { "nats" };
        let wrong = |reason: String| {
            Err(StoreError::Place {
                place: format!("the place that begins with {scheme}:"),
                reason,
            })
        };
        let form = format!("write {scheme}://HOST[:PORT][,HOST...]/STREAM[/PREFIX]");
        let Some(rest) = rest.strip_prefix("//") else {
            return wrong(form);
        };
        if rest.contains('@') {
            return wrong("it has no credentials in it: give them by the environment, as NATS_CREDS or NATS_USER and NATS_PASSWORD".into());
        }
        if rest.contains(['?', '#']) {
            return wrong("it has no options in it".into());
        }
        let (hosts, stream) = rest.split_once('/').unwrap_or((rest, ""));
        let (stream, prefix) = stream.split_once('/').unwrap_or((stream, ""));
        let prefix = prefix.trim_end_matches('/');
        let hosts: Vec<String> = hosts.split(',').map(str::to_string).collect();
        if hosts.iter().any(|host| !is_host(host)) {
            return wrong(format!(
                "a server in it has no name, or no right one; {form}"
            ));
        }
        if !is_name(stream, STREAM_BYTES_MAX) {
            return wrong(format!(
                "a stream is wanted, whose name has 1 to {STREAM_BYTES_MAX} letters, digits, `-` and `_`: {form}"
            ));
        }
        if !prefix.is_empty()
            && !prefix
                .split('/')
                .all(|part| is_name(part, PREFIX_BYTES_MAX))
            || prefix.len() > PREFIX_BYTES_MAX
        {
            return wrong(format!(
                "its prefix has other characters than letters, digits, `-`, `_` and `/`, or more than {PREFIX_BYTES_MAX}"
            ));
        }
        let elsewhere = hosts.iter().find(|host| !is_this_host(host));
        if let Some(host) = elsewhere.filter(|_| !tls && !allow_plain) {
            return wrong(format!(
                "{host} would be called without TLS; use tls://, or set {ALLOW_PLAIN_VARIABLE}=true if the \
                 network cannot be tapped"
            ));
        }
        Ok(JetStreamPlace {
            tls,
            hosts,
            stream: stream.into(),
            prefix: prefix.into(),
        })
    }

    /// The text as it was written.
    pub fn text(&self) -> String {
        let scheme = if self.tls { "tls" } else { "nats" };
        let hosts = self.hosts.join(",");
        match self.prefix.as_str() {
            "" => format!("{scheme}://{hosts}/{}", self.stream),
            prefix => format!("{scheme}://{hosts}/{}/{prefix}", self.stream),
        }
    }

    /// The servers' addresses, as the client wants them.
    pub fn addresses(&self) -> Vec<String> {
        let scheme = if self.tls { "tls" } else { "nats" };
        let hosts = self.hosts.iter();
        hosts.map(|host| format!("{scheme}://{host}")).collect()
    }
}

fn is_name(name: &str, most: usize) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    (1..=most).contains(&name.len()) && name.bytes().all(is_good)
}

fn is_host(host: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
    !host.is_empty() && !host.starts_with(':') && host.bytes().all(is_good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_apart_and_others_refused_without_showing_them() {
        let place = JetStreamPlace::parse(false, "//127.0.0.1:4222,localhost/BANK/a/b/", false);
        let place = place.unwrap();
        assert_eq!(place.text(), "nats://127.0.0.1:4222,localhost/BANK/a/b");
        assert_eq!(
            place.addresses(),
            ["nats://127.0.0.1:4222", "nats://localhost"]
        );
        let place = JetStreamPlace::parse(true, "//nats.example.org/BANK", false).unwrap();
        assert_eq!(place.text(), "tls://nats.example.org/BANK");
        for (place, says) in [
            ("BANK", "nats://HOST"),
            ("//127.0.0.1", "a stream is wanted"),
            ("//127.0.0.1/", "a stream is wanted"),
            ("//127.0.0.1/hunter2.>", "a stream is wanted"),
            ("///BANK", "a server in it has no name"),
            ("//127.0.0.1,/BANK", "a server in it has no name"),
            ("//u:hunter2@127.0.0.1/BANK", "no credentials"),
            ("//127.0.0.1/BANK?token=hunter2", "no options"),
            ("//127.0.0.1/BANK/hunter2*", "its prefix"),
            ("//127.0.0.1/BANK/a//b", "its prefix"),
            ("//127.0.0.1,nats.example.org/BANK", "without TLS"),
        ] {
            let error = JetStreamPlace::parse(false, place, false).unwrap_err();
            let error = error.to_string();
            assert!(
                error.contains(says) && !error.contains("hunter2"),
                "{error}"
            );
        }
        JetStreamPlace::parse(false, "//nats.example.org/BANK", true).unwrap();
    }
}
