//! Messages on channels beyond the transcripts: the third version of the protocol, undone transactions, and clients
//! that do not read.

use crate::common::{World, encode, send};
use bytes::BytesMut;
use sardonyx_base::channels::{Event, Over};
use sardonyx_resp::{Failure, Session};
use std::task::{Context, Poll, Waker};

fn ask(session: &mut Session, words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let (output, _) = send(session, &encode(&words));
    String::from_utf8(output.to_vec()).expect("text")
}

fn told(session: &mut Session) -> String {
    let mut output = BytesMut::new();
    session.tell(&mut output);
    String::from_utf8(output.to_vec()).expect("text")
}

#[test]
fn with_the_third_version_messages_are_pushes_and_any_command_is_allowed() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    assert!(ask(&mut one, "HELLO 3").starts_with('%'));
    let begun =
        ">3\r\n$9\r\nsubscribe\r\n$1\r\na\r\n:1\r\n>3\r\n$9\r\nsubscribe\r\n$1\r\nb\r\n:2\r\n";
    assert_eq!(ask(&mut one, "SUBSCRIBE a b"), begun);
    assert_eq!(ask(&mut one, "PING"), "+PONG\r\n");
    assert_eq!(ask(&mut other, "PUBLISH a hi"), ":1\r\n");
    let message = ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n$2\r\nhi\r\n";
    // Behind the answers of a flight.
    assert_eq!(ask(&mut one, "GET k"), format!("_\r\n{message}"));
    assert_eq!(ask(&mut one, "PUBLISH a hi"), format!(":1\r\n{message}"));
    assert_eq!(
        ask(&mut one, "UNSUBSCRIBE a"),
        ">3\r\n$11\r\nunsubscribe\r\n$1\r\na\r\n:1\r\n"
    );
    assert_eq!(
        ask(&mut one, "PUNSUBSCRIBE"),
        ">3\r\n$12\r\npunsubscribe\r\n_\r\n:1\r\n"
    );
    let listed = ask(&mut one, "CLIENT INFO");
    assert!(
        listed.contains(" flags=P ") && listed.contains(" sub=1 psub=0 ssub=0 "),
        "{listed}"
    );
    assert!(ask(&mut one, "HELLO 2").starts_with('*'));
    assert!(ask(&mut one, "GET k").starts_with("-ERR Can't execute 'get'"));
    let in_transaction = "-ERR Command not allowed inside a transaction\r\n";
    assert_eq!(ask(&mut other, "MULTI"), "+OK\r\n");
    assert_eq!(ask(&mut other, "SUBSCRIBE a"), in_transaction);
}

#[test]
fn what_is_undone_sends_nothing_and_a_listener_hears_in_the_order_of_the_commits() {
    let world = World::new(1);
    world
        .keyspace
        .register_function("refuses", |_, _, _| Err(Failure::Function("no".into())));
    let (mut one, mut other) = (world.session(), world.session());
    ask(&mut one, "SUBSCRIBE a");
    for words in ["MULTI", "PUBLISH a never", "FCALL refuses 0"] {
        ask(&mut other, words);
    }
    assert!(ask(&mut other, "EXEC").starts_with("-EXECABORT"));
    assert_eq!(told(&mut one), "");
    // A flight of several commands.
    let mut sent = Vec::new();
    for words in [
        ["PUBLISH", "a", "1"],
        ["SET", "k", "v"],
        ["PUBLISH", "a", "2"],
    ] {
        sent.extend(encode(&words));
    }
    assert_eq!(&send(&mut other, &sent).0[..], b":1\r\n+OK\r\n:1\r\n");
    let message = |text| format!("*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\n{text}\r\n");
    assert_eq!(told(&mut one), message("1") + &message("2"));
    // A client that has left is not counted.
    drop(one);
    assert_eq!(ask(&mut other, "PUBLISH a 3"), ":0\r\n");
    assert_eq!(
        ask(&mut other, "PUBSUB NUMSUB a"),
        "*2\r\n$1\r\na\r\n:0\r\n"
    );
}

#[test]
fn a_client_that_does_not_read_is_ended_at_the_bound_and_one_that_does_is_told_all() {
    let world = World::new(1);
    let (mut slow, mut quick, mut other) = (world.session(), world.session(), world.session());
    ask(&mut slow, "PSUBSCRIBE *");
    ask(&mut quick, "SUBSCRIBE a");
    let context = Context::from_waker(Waker::noop());
    assert_eq!(slow.poll_messages(&context), Poll::Pending);
    let payload = "x".repeat(8_000_000);
    for _ in 0..3 {
        assert_eq!(ask(&mut other, &format!("PUBLISH a {payload}")), ":2\r\n");
        assert_eq!(quick.poll_messages(&context), Poll::Ready(Event::Messages));
        assert!(told(&mut quick).len() > payload.len());
    }
    assert_eq!(
        slow.poll_messages(&context),
        Poll::Ready(Event::Over(Over::Behind))
    );
    let mut output = BytesMut::new();
    assert!(slow.refuse_over(&mut output) && !quick.refuse_over(&mut output));
    let text = "-ERR more than 16777216 bytes of messages wait for the client\r\n";
    assert_eq!(output, text);
    assert_eq!(ask(&mut other, "PUBLISH a x"), ":1\r\n");
    let refused = ask(&mut other, &format!("PUBLISH a {}", "x".repeat(8_400_000)));
    assert!(
        refused.starts_with("-ERR a message has at most 8323072 bytes"),
        "{refused}"
    );
}

#[test]
fn a_name_that_is_too_long_is_refused_and_ends_no_listener() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    ask(&mut one, "PSUBSCRIBE *");
    for command in ["PUBLISH", "SPUBLISH"] {
        let refused = ask(
            &mut other,
            &format!("{command} {} x", "n".repeat(9_000_000)),
        );
        let text = "-ERR a key, field or member has at most 4000 bytes";
        assert!(refused.starts_with(text), "{refused}");
    }
    let longest = "n".repeat(4000);
    assert_eq!(ask(&mut other, &format!("PUBLISH {longest} x")), ":1\r\n");
    assert!(told(&mut one).ends_with(&format!("{longest}\r\n$1\r\nx\r\n")));
}

#[cfg(feature = "lua")]
#[test]
fn a_script_that_fails_has_sent_nothing_alone_and_undoes_its_exec() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    ask(&mut one, "SUBSCRIBE a");
    let script = "redis.call('publish', 'a', 'never'); return redis.call('nothing')";
    let eval = |session: &mut Session| {
        let (output, _) = send(session, &encode(&["EVAL", script, "0"]));
        String::from_utf8(output.to_vec()).expect("text")
    };
    assert!(eval(&mut other).starts_with('-'));
    assert_eq!(told(&mut one), "");
    assert_eq!(ask(&mut other, "MULTI"), "+OK\r\n");
    ask(&mut other, "PUBLISH a 1");
    eval(&mut other);
    ask(&mut other, "PUBLISH a 2");
    let executed = ask(&mut other, "EXEC");
    assert!(executed.starts_with("-EXECABORT"), "{executed}");
    assert_eq!(told(&mut one), "", "a message is a part of its transaction");
}
