//! The host part of an endpoint. A connection that leaves this host needs TLS, unless the user allows it without.

/// The environment's variable that allows a log on another host without TLS, if it is `true`.
pub(crate) const ALLOW_PLAIN_VARIABLE: &str = "SARDONYX_STORE_ALLOW_PLAIN";

/// True if the user allows a connection to another host without TLS.
pub(crate) fn is_plain_allowed() -> bool {
    std::env::var(ALLOW_PLAIN_VARIABLE).is_ok_and(|allowed| allowed == "true")
}

/// The host of an endpoint, without path and port.
pub(crate) fn host_of(endpoint: &str) -> &str {
    let authority = endpoint.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    match host.rfind(']') {
        Some(end) => host.get(..=end).unwrap_or(host),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// True for a loopback address or `localhost`, with or without a port: the connection does not leave this host.
pub(crate) fn is_this_host(endpoint: &str) -> bool {
    let host = host_of(endpoint);
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_only_on_this_host() {
        for (endpoint, host, here) in [
            ("127.0.0.1:9000", "127.0.0.1", true),
            ("[::1]:9000/x", "[::1]", true),
            ("localhost/x", "localhost", true),
            ("127.0.0.1.example.org", "127.0.0.1.example.org", false),
            ("localhost@example.org:80", "example.org", false),
            ("10.0.0.1", "10.0.0.1", false),
        ] {
            assert_eq!((host_of(endpoint), is_this_host(endpoint)), (host, here));
        }
    }
}
