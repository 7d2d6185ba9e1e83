//! Parameters of a startup message: kept, or refused with the code that `SET` would give.

use crate::common::{Running, Socket, postgres_alone, query};

/// Sends a startup message with these parameters.
fn start(running: &Running, parameters: &[(&str, &str)]) -> Socket {
    let mut socket = running.socket();
    socket.start(parameters);
    socket
}

/// The messages up to the first ReadyForQuery, or to the connection's end.
fn answer(socket: &mut Socket) -> Vec<(u8, String)> {
    let mut found = Vec::new();
    while let Some((kind, body)) = socket.message() {
        let body = body
            .iter()
            .map(|&byte| if byte == 0 { '|' } else { byte as char });
        found.push((kind, body.collect()));
        if kind == b'Z' {
            break;
        }
    }
    found
}

/// The value of a parameter in the session of a socket.
fn shown(socket: &mut Socket, name: &str) -> String {
    socket.send(&query(&format!("SHOW {name}")));
    let answer = answer(socket);
    let row = answer.iter().find(|(kind, _)| *kind == b'D');
    // The number of values, and the length of the one.
    row.map(|(_, body)| body.chars().skip(6).collect())
        .unwrap_or_default()
}

fn severity_and_code(answer: &[(u8, String)]) -> Option<(String, String)> {
    let (_, body) = answer.iter().find(|(kind, _)| *kind == b'E')?;
    let field = |code: char| {
        let mut fields = body.split('|');
        fields
            .find_map(|field| field.strip_prefix(code))
            .unwrap_or_default()
            .to_string()
    };
    Some((field('S'), field('C')))
}

#[test]
fn parameters_are_taken_and_reset_goes_back_to_them() {
    let running = Running::start(postgres_alone());
    let mut socket = start(
        &running,
        &[
            ("application_name", "tests"),
            ("lock_timeout", "5000"),
            ("own.name", "x"),
            (
                "options",
                r"-c application_name=hidden --client-min-messages=WARNING -c search_path=a,\ public",
            ),
        ],
    );
    let begun = answer(&mut socket);
    assert!(
        begun.contains(&(b'S', "application_name|tests|".into())),
        "{begun:?}"
    );
    for (name, value) in [
        ("lock_timeout", "5s"),
        ("own.name", "x"),
        ("client_min_messages", "warning"),
        ("search_path", "a, public"),
    ] {
        assert_eq!(shown(&mut socket, name), value, "{name}");
    }
    socket.send(&query(
        "SET lock_timeout = 0; SET own.name = 'y'; RESET ALL",
    ));
    answer(&mut socket);
    assert_eq!(shown(&mut socket, "lock_timeout"), "5s");
    assert_eq!(shown(&mut socket, "own.name"), "x");
    // A notice below the level that the client wants is not sent.
    socket.send(&query("DROP TABLE IF EXISTS nothing"));
    assert!(answer(&mut socket).iter().all(|(kind, _)| *kind != b'N'));
}

#[test]
fn what_cannot_be_kept_ends_the_connection() {
    let running = Running::start(postgres_alone());
    for (name, value, code) in [
        ("no_such_parameter", "1", "42704"),
        ("server_version", "9", "55P02"),
        ("client_encoding", "LATIN1", "22023"),
        ("session_authorization", "root", "0A000"),
        ("replication", "database", "0A000"),
        ("options", "-c no_such_parameter=1", "42704"),
        ("options", "-c lock_timeout=soon", "22023"),
        ("options", "-c lock_timeout", "42601"),
        ("options", "--single", "42601"),
        ("options", "-B 100", "42601"),
    ] {
        let mut socket = start(&running, &[(name, value)]);
        let answer = answer(&mut socket);
        let expected = ("FATAL".to_string(), code.to_string());
        assert_eq!(
            severity_and_code(&answer),
            Some(expected),
            "{name} = {value}"
        );
        assert!(
            answer.iter().all(|(kind, _)| *kind != b'Z'),
            "{name} = {value}"
        );
    }
}

#[test]
fn a_zone_that_a_driver_tells_unasked_is_answered_by_the_zone_that_holds() {
    let running = Running::start(postgres_alone());
    let mut socket = start(&running, &[("TimeZone", "Nowhere/Else"), ("_pq_.new", "1")]);
    let begun = answer(&mut socket);
    assert!(begun.contains(&(b'S', "TimeZone|UTC|".into())), "{begun:?}");
    assert!(
        begun
            .iter()
            .any(|(kind, body)| *kind == b'N' && body.contains("WARNING"))
    );
    // The protocol extension is listed as unsupported.
    assert!(
        begun
            .iter()
            .any(|(kind, body)| *kind == b'v' && body.contains("_pq_.new|"))
    );
}

#[test]
fn a_session_begins_in_the_zone_of_its_client() {
    let running = Running::start(postgres_alone());
    let mut socket = start(&running, &[("TimeZone", "europe/berlin")]);
    let begun = answer(&mut socket);
    let zone = (b'S', "TimeZone|Europe/Berlin|".into());
    assert!(begun.contains(&zone), "{begun:?}");
}

#[test]
fn a_client_that_thinks_longer_than_it_said_is_disconnected() {
    let running = Running::start(postgres_alone());
    let mut socket = start(&running, &[("idle_in_transaction_session_timeout", "1")]);
    answer(&mut socket);
    socket.send(&query("SELECT 1"));
    answer(&mut socket);
    socket.send(&query("BEGIN"));
    answer(&mut socket);
    let expected = ("FATAL".to_string(), "25P03".to_string());
    assert_eq!(severity_and_code(&answer(&mut socket)), Some(expected));
    let mut socket = start(&running, &[("options", "-c idle_session_timeout=1ms")]);
    let expected = ("FATAL".to_string(), "57P05".to_string());
    let mut heard = answer(&mut socket);
    heard.extend(answer(&mut socket));
    assert_eq!(severity_and_code(&heard), Some(expected));
}
