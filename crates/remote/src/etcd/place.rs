//! The place of registers in etcd: `etcd://HOST:PORT[,HOST:PORT...]/NAME`, or `etcds://` with TLS.
//!
//! All servers of the cluster are named, since each may be away. Several databases can be in one etcd, under names. A
//! place contains no credentials.

use crate::host::{ALLOW_PLAIN_VARIABLE, is_this_host};
use sardonyx_storage::remote_log::store::StoreError;
use std::net::Ipv6Addr;

/// The most bytes of a name.
const NAME_BYTES_MAX: usize = 200;

/// The port of etcd's clients.
const PORT: u16 = 2379;

/// A place that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EtcdPlace {
    /// True if the connections use TLS.
    pub tls: bool,
    /// The servers, with ports if they were given.
    pub hosts: Vec<String>,
    /// Begins all keys.
    pub name: String,
}

impl EtcdPlace {
    /// The part behind `etcd:` or `etcds:`.
    ///
    /// # Errors
    /// The fault of a place, without showing any of it.
    pub fn parse(tls: bool, rest: &str, allow_plain: bool) -> Result<Self, StoreError> {
        let scheme = scheme(tls);
        let wrong = |reason: String| {
            Err(StoreError::Place {
                place: format!("the place that begins with {scheme}:"),
                reason,
            })
        };
        let form = format!("write {scheme}://HOST:PORT[,HOST:PORT...]/NAME");
        let Some(rest) = rest.strip_prefix("//") else {
            return wrong(form);
        };
        if rest.contains('@') {
            return wrong(
                "it has no credentials in it: give them by the environment, as ETCDCTL_USER and ETCDCTL_PASSWORD".into(),
            );
        }
        if rest.contains(['?', '#']) {
            return wrong("it has no options in it".into());
        }
        let (hosts, name) = rest.split_once('/').unwrap_or((rest, ""));
        let name = name.trim_end_matches('/');
        let hosts: Vec<String> = hosts.split(',').map(str::to_string).collect();
        if hosts.iter().any(|host| !is_host(host)) {
            return wrong(format!(
                "a server in it has no name, or no right one, or a port that is not of 1 to 65535; {form}"
            ));
        }
        if name.len() > NAME_BYTES_MAX || !name.split('/').all(is_part) {
            return wrong(format!(
                "the name of the registers in it has letters, digits, `-` and `_`, parts between `/`, and at most \
                 {NAME_BYTES_MAX} bytes; {form}"
            ));
        }
        // The keys of `a/objects/b` would be objects of `a`.
        if name.split('/').skip(1).any(|part| part == "objects") {
            return wrong("the name of the registers in it has a part `objects`, which is kept for the objects of a set".into());
        }
        let elsewhere = hosts.iter().find(|host| !is_this_host(host));
        if let Some(host) = elsewhere.filter(|_| !tls && !allow_plain) {
            return wrong(format!(
                "{host} would be called without TLS; use etcds://, or set {ALLOW_PLAIN_VARIABLE}=true if the network \
                 cannot be tapped"
            ));
        }
        Ok(EtcdPlace {
            tls,
            hosts,
            name: name.into(),
        })
    }

    /// The text as it was written.
    pub fn text(&self) -> String {
        format!(
            "{}://{}/{}",
            scheme(self.tls),
            self.hosts.join(","),
            self.name
        )
    }

    /// The servers' URLs.
    pub fn endpoints(&self) -> Vec<String> {
        let scheme = if self.tls { "https" } else { "http" };
        let hosts = self.hosts.iter();
        let endpoint = |host: &String| {
            let after = host.rsplit(']').next().unwrap_or_default();
            match after.contains(':') {
                true => format!("{scheme}://{host}"),
                false => format!("{scheme}://{host}:{PORT}"),
            }
        };
        hosts.map(endpoint).collect()
    }
}

fn scheme(tls: bool) -> &'static str {
    if tls { "etcds" } else { "etcd" }
}

fn is_part(part: &str) -> bool {
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !part.is_empty() && part.bytes().all(is_good)
}

/// True for `NAME`, `ADDRESS` and `[ADDRESS]`, each with `:PORT` or without.
fn is_host(host: &str) -> bool {
    let (is_name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let Some((address, after)) = rest.split_once(']') else {
                return false;
            };
            let is_address = address.parse::<Ipv6Addr>().is_ok();
            match after.strip_prefix(':') {
                Some(port) => (is_address, Some(port)),
                None => (is_address && after.is_empty(), None),
            }
        }
        None => {
            let (name, port) = match host.split_once(':') {
                Some((name, port)) => (name, Some(port)),
                None => (host, None),
            };
            let is_good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            (!name.is_empty() && name.bytes().all(is_good), port)
        }
    };
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit()) && matches!(port.parse::<u16>(), Ok(1..))
    };
    is_name && port.is_none_or(is_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_taken_apart_and_others_refused_without_showing_them() {
        let place = EtcdPlace::parse(
            false,
            "//127.0.0.1:4001,localhost,[::1]/ledger/bank/",
            false,
        );
        let place = place.unwrap();
        assert_eq!(
            place.text(),
            "etcd://127.0.0.1:4001,localhost,[::1]/ledger/bank"
        );
        assert_eq!(
            place.endpoints(),
            [
                "http://127.0.0.1:4001",
                "http://localhost:2379",
                "http://[::1]:2379"
            ]
        );
        let place = EtcdPlace::parse(true, "//etcd.example.org:2379/bank", false).unwrap();
        assert_eq!(place.endpoints(), ["https://etcd.example.org:2379"]);
        for (place, says) in [
            ("bank", "write etcd://HOST"),
            ("//127.0.0.1", "the name of the registers"),
            ("//127.0.0.1/", "the name of the registers"),
            ("//127.0.0.1/hunter2.", "the name of the registers"),
            ("//127.0.0.1/a//b", "the name of the registers"),
            ("///bank", "a server in it has no name"),
            ("//127.0.0.1,/bank", "a server in it has no name"),
            ("//127.0.0.1:99999/bank", "a port that is not of 1"),
            ("//127.0.0.1:0/bank", "a port that is not of 1"),
            ("//127.0.0.1:hunter2/bank", "a port that is not of 1"),
            ("//127.0.0.1:/bank", "a port that is not of 1"),
            ("//127.0.0.1:1:2/bank", "a port that is not of 1"),
            ("//[::1/bank", "a server in it has no name"),
            ("//[::1]hunter2/bank", "a server in it has no name"),
            ("//[::1]:x/bank", "a port that is not of 1"),
            ("//127.0.0.1/bank/objects/copies", "a part `objects`"),
            ("//u:hunter2@127.0.0.1/bank", "no credentials"),
            ("//127.0.0.1/bank?token=hunter2", "no options"),
            ("//127.0.0.1,etcd.example.org/bank", "without TLS"),
        ] {
            let error = EtcdPlace::parse(false, place, false)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(says) && !error.contains("hunter2"),
                "{error}"
            );
        }
        EtcdPlace::parse(false, "//etcd.example.org/bank", true).unwrap();
    }
}
