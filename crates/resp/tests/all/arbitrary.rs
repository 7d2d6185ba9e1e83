//! Arbitrary input of clients: nothing panics, every command has one answer, and the answers are whole in either
//! version of the protocol, as another implementation decodes them.

use crate::common::{World, encode, now, send, text::answers};
use bytes::{Bytes, BytesMut};
use proptest::prelude::*;
use sardonyx_resp::{Continue, SessionOptions};

/// The names of all commands that keep the connection as it is.
fn names(world: &World) -> Vec<String> {
    let sent = encode(&["COMMAND", "LIST"]);
    let listed = answers(&send(&mut world.session(), &sent).0).remove(0);
    let names = listed.trim_matches(['[', ']']).split(' ');
    let names = names.map(|name| name.trim_matches('"').to_string());
    // A client that monitors is shown its own commands, too.
    let changes = ["quit", "reset", "hello", "save", "bgsave", "monitor"];
    names
        .filter(|name| !changes.contains(&name.as_str()))
        .collect()
}

/// A word that some command has a use for.
fn word() -> impl Strategy<Value = Vec<u8>> {
    let words = [
        "k1",
        "k2",
        "k3",
        "0",
        "1",
        "2",
        "-1",
        "-5",
        "100",
        "9223372036854775807",
        "-9223372036854775808",
        "1.5",
        "inf",
        "-inf",
        "nan",
        "(1",
        "[a",
        "(b",
        "-",
        "+",
        "*",
        "a*",
        "[",
        "\\",
        "",
        "nx",
        "xx",
        "gt",
        "lt",
        "ch",
        "incr",
        "ex",
        "px",
        "keepttl",
        "get",
        "limit",
        "withscores",
        "withscore",
        "withvalues",
        "byscore",
        "bylex",
        "rev",
        "weights",
        "aggregate",
        "max",
        "match",
        "count",
        "type",
        "before",
        "after",
        "left",
        "right",
        "rank",
        "maxlen",
        "replace",
        "encoding",
        "usage",
        "list",
        "info",
        "docs",
        "getkeys",
        "a",
        "b",
    ];
    prop_oneof![
        8 => proptest::sample::select(words.to_vec()).prop_map(|word| word.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..20),
        1 => (3990_usize..4100).prop_map(|length| vec![0xff; length]),
        1 => (1990_usize..2010).prop_map(|length| vec![0; length]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(sardonyx_base::random::cases(60)))]

    #[test]
    fn any_command_with_any_arguments_has_one_whole_answer(
        commands in proptest::collection::vec((any::<proptest::sample::Index>(), proptest::collection::vec(word(), 0..7)), 1..40),
        newer in any::<bool>(),
    ) {
        let world = World::new(1);
        let names = names(&world);
        let mut session = world.session();
        if newer {
            send(&mut session, b"HELLO 3\r\n");
        }
        // So that there is something of each kind.
        send(&mut session, b"SET k1 5\r\nZADD k2 1 a 2 b\r\nRPUSH k3 a b a\r\nHSET a a 1\r\nSADD b a b\r\n");
        for (name, arguments) in commands {
            let mut parts = vec![name.get(&names).as_bytes().to_vec()];
            parts.extend(arguments);
            // These have an answer for each name, and leave few commands to a session.
            if parts[0].ends_with(b"subscribe") {
                continue;
            }
            let (mut output, next) = send(&mut session, &encode(&parts));
            prop_assert_eq!(next, Continue::More);
            if session.waits_for_elements() {
                prop_assert!(output.is_empty(), "{:?}: {:?}", &parts, output);
                match session.wait_limit() {
                    Some(limit) => world.advance(limit.as_millis() as i64),
                    None => {
                        send(&mut world.session(), format!("CLIENT UNBLOCK {}\r\n", session.id()).as_bytes());
                    }
                }
                session.tell(&mut output);
                session.time_out(&mut output);
            }
            let text = String::from_utf8_lossy(&output);
            prop_assert!(!text.contains("panicked"), "{:?}: {}", &parts, text);
            let bytes = output.freeze();
            let length = match newer {
                true => redis_protocol::resp3::decode::complete::decode_bytes(&bytes).map(|found| found.map(|(_, length)| length)),
                false => redis_protocol::resp2::decode::decode_bytes(&bytes).map(|found| found.map(|(_, length)| length)),
            };
            prop_assert!(matches!(length, Ok(Some(length)) if length == bytes.len()), "{:?}: {:?}", &parts, bytes);
        }
    }

    #[test]
    fn any_bytes_are_commands_or_refused(mut sent in proptest::collection::vec(any::<u8>(), 0..400), marks in proptest::collection::vec((any::<proptest::sample::Index>(), 0_usize..6), 0..40)) {
        // Mostly bytes of the protocol.
        for (at, mark) in marks {
            if !sent.is_empty() {
                let place = at.index(sent.len());
                sent[place] = b"*$\r\n1 "[mark];
            }
        }
        let world = World::new(1);
        let mut session = world.session();
        let (output, _) = send(&mut session, &sent);
        answers(&output);
    }

    #[test]
    fn commands_are_the_same_in_whatever_pieces_they_arrive(cuts in proptest::collection::vec(0_usize..200, 0..12)) {
        let sent: Vec<u8> = [
            &encode(&["SET", "a", "\r\n*1\r\n"])[..], b"APPEND a x\r\n", &encode(&["GET", "a"]), b"\r\nECHO 'b c'\r\n",
            &encode(&["MSET", "b", "1", "c", ""]), &encode(&["MGET", "a", "b", "c"]),
        ].concat();
        let whole = send(&mut World::new(1).session(), &sent).0;
        let world = World::new(1);
        let mut session = world.session();
        let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut < sent.len()).chain([sent.len()]).collect();
        cuts.sort_unstable();
        let (mut input, mut output, mut at) = (BytesMut::new(), BytesMut::new(), 0);
        for cut in cuts {
            input.extend_from_slice(&sent[at..cut]);
            at = cut;
            let flight = session.take(&mut input).expect("commands");
            now(session.run(flight, &mut output));
        }
        prop_assert_eq!(Bytes::from(output), Bytes::from(whole));
    }
}

#[test]
fn a_flight_and_a_transaction_have_bounds() {
    let options = SessionOptions {
        flight_commands_max: 3,
        transaction_bytes_max: 1000,
        command_bytes_max: 600,
        ..SessionOptions::default()
    };
    let world = World::new(1);
    let mut session = world.session_with(options);
    let mut input = BytesMut::from(&b"PING\r\n".repeat(5)[..]);
    assert_eq!(session.take(&mut input).map(|flight| flight.len()), Ok(3));
    assert_eq!(session.take(&mut input).map(|flight| flight.len()), Ok(2));
    let long = "x".repeat(500);
    let sent = [
        encode(&["MULTI"]),
        encode(&["SET", "a", &long]),
        encode(&["SET", "b", &long]),
        encode(&["EXEC"]),
    ];
    let got = answers(&send(&mut session, &sent.concat()).0);
    assert_eq!(
        got,
        [
            "+OK",
            "+QUEUED",
            "-ERR more than 1000 bytes between MULTI and EXEC",
            "-EXECABORT Transaction discarded because of previous errors.",
        ]
    );
    let (output, next) = send(&mut session, b"*2\r\n$3\r\nGET\r\n$601\r\n");
    assert_eq!(
        answers(&output),
        ["-ERR Protocol error: a command of more than 600 bytes"]
    );
    assert_eq!(next, Continue::Close);
}

#[test]
fn commands_before_what_is_none_are_run() {
    let world = World::new(1);
    let (output, next) = send(&mut world.session(), b"SET a 1\r\nGET a\r\n*1\r\nx");
    assert_eq!(
        answers(&output),
        ["+OK", "\"1\"", "-ERR Protocol error: expected '$', got 'x'"]
    );
    assert_eq!(next, Continue::Close);
}

#[test]
fn an_http_request_runs_none_of_its_lines() {
    let refused = "-ERR Protocol error: this port speaks Redis' protocol, not HTTP";
    let posted =
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\n\r\nSET a 2\r\nDEL b\r\n";
    let got = b"GET / HTTP/1.1\r\nhOST: x\r\n\r\nSET a 2\r\nDEL b\r\n";
    let wrong = "-ERR wrong number of arguments for 'get' command";
    let parts = encode(&["post", "/"]);
    for (sent, told) in [
        (&posted[..], vec![refused]),
        (&got[..], vec![wrong, refused]),
        (&parts[..], vec![refused]),
    ] {
        let world = World::new(1);
        send(&mut world.session(), b"SET a 1\r\nSET b 1\r\n");
        let (output, next) = send(&mut world.session(), sent);
        assert_eq!(answers(&output), told);
        assert_eq!(next, Continue::Close);
        let (output, _) = send(&mut world.session(), b"MGET a b\r\n");
        assert_eq!(answers(&output), ["[\"1\" \"1\"]"]);
    }
}
