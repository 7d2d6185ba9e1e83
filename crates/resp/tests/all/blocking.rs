//! Clients that wait, beyond the transcript: their time, their ends, and the commands behind a command that waits.

use crate::common::text::answers;
use crate::common::{World, encode, send};
use bytes::BytesMut;
use sardonyx::low_level::Committed;
use sardonyx::{Options, Shape, Transaction};
use sardonyx_base::channels::{Event, Over};
use sardonyx_base::memory::Budget;
use sardonyx_resp::{
    Called, Failure, FunctionCall, Functions, Keyspace, Listed, Reply, Session, SessionOptions,
    Within,
};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

fn ask(session: &mut Session, text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    answers(&send(session, &encode(&words)).0)
}

/// The messages that a session receives without asking, those of its timeout included.
fn told(session: &mut Session) -> Vec<String> {
    let mut output = BytesMut::new();
    session.tell(&mut output);
    session.time_out(&mut output);
    answers(&output)
}

#[test]
fn a_client_waits_until_its_time_is_over_and_no_longer() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    assert!(ask(&mut one, "BLPOP a 0.5").is_empty() && one.waits_for_elements());
    assert_eq!(one.wait_limit(), Some(Duration::from_millis(500)));
    world.advance(499);
    assert!(told(&mut one).is_empty());
    world.advance(1);
    assert_eq!(told(&mut one), ["nil"]);
    assert!(!one.waits_for_elements() && one.wait_limit().is_none());
    // It takes nothing that comes later.
    assert_eq!(ask(&mut other, "RPUSH a 1"), [":1"]);
    assert_eq!(ask(&mut other, "LLEN a"), [":1"]);
    assert!(ask(&mut one, "BLPOP b 0").is_empty());
    assert_eq!(one.wait_limit(), None);
    world.advance(i64::from(u32::MAX));
    assert!(told(&mut one).is_empty());
    assert_eq!(ask(&mut other, "RPUSH b 1"), [":1"]);
    assert_eq!(told(&mut one), ["[\"b\" \"1\"]"]);
}

#[test]
fn a_client_that_has_left_waits_no_more_and_the_next_one_is_served() {
    let world = World::new(1);
    let (mut one, mut two, mut other) = (world.session(), world.session(), world.session());
    ask(&mut one, "BLPOP a 0");
    ask(&mut two, "BLPOP a 0");
    drop(one);
    assert_eq!(ask(&mut other, "RPUSH a 1 2"), [":2"]);
    assert_eq!(told(&mut two), ["[\"a\" \"1\"]"]);
    assert_eq!(ask(&mut other, "LRANGE a 0 -1"), ["[\"2\"]"]);
}

#[test]
fn commands_behind_one_that_waits_are_answered_behind_it() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    let mut sent = BytesMut::new();
    for text in ["SET k 1", "BLPOP a 0", "INCR k", "BLPOP b 0.001", "INCR k"] {
        let words: Vec<&str> = text.split(' ').collect();
        sent.extend_from_slice(&encode(&words));
    }
    let mut run = |one: &mut Session| {
        let mut output = BytesMut::new();
        loop {
            let flight = one.take(&mut sent).expect("commands");
            if flight.is_empty() {
                return answers(&output);
            }
            crate::common::now(one.run(flight, &mut output));
        }
    };
    assert_eq!(run(&mut one), ["+OK"]);
    assert_eq!(ask(&mut other, "GET k"), ["\"1\""]);
    let context = Context::from_waker(Waker::noop());
    assert_eq!(one.poll_messages(&context), Poll::Pending);
    ask(&mut other, "RPUSH a x");
    assert!(one.poll_messages(&context).is_ready());
    assert_eq!(told(&mut one), ["[\"a\" \"x\"]"]);
    assert_eq!(run(&mut one), [":2"]);
    world.advance(1);
    assert_eq!(told(&mut one), ["nil"]);
    assert_eq!(run(&mut one), [":3"]);
}

#[test]
fn another_client_unblocks_one_that_waits() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    for (word, answer) in [
        ("", "nil"),
        (" TIMEOUT", "nil"),
        (" ERROR", "-UNBLOCKED client unblocked via CLIENT UNBLOCK"),
    ] {
        ask(&mut one, "BLPOP a 0");
        let id = one.id();
        assert_eq!(
            ask(&mut other, &format!("CLIENT UNBLOCK {id}{word}")),
            [":1"]
        );
        assert_eq!(
            ask(&mut other, &format!("CLIENT UNBLOCK {id}{word}")),
            [":0"]
        );
        assert_eq!(told(&mut one), [answer]);
        assert_eq!(ask(&mut one, "PING"), ["+PONG"]);
    }
    ask(&mut other, "RPUSH a 1");
    assert_eq!(ask(&mut other, "LLEN a"), [":1"]);
}

#[test]
fn what_was_taken_on_behalf_of_a_client_is_gone_after_a_crash() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    ask(&mut one, "BLMOVE a b LEFT LEFT 0");
    ask(&mut other, "RPUSH a 1 2");
    assert_eq!(told(&mut one), ["\"1\""]);
    drop((one, other));
    let world = world.restart(sardonyx::disk::Faults::default());
    let mut session = world.session();
    assert_eq!(ask(&mut session, "LRANGE a 0 -1"), ["[\"2\"]"]);
    assert_eq!(ask(&mut session, "LRANGE b 0 -1"), ["[\"1\"]"]);
}

#[test]
fn with_the_third_version_a_client_that_waits_reads_messages_meanwhile() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    let raw = |session: &mut Session, text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        String::from_utf8(send(session, &encode(&words)).0.to_vec()).expect("text")
    };
    raw(&mut one, "HELLO 3");
    raw(&mut one, "SUBSCRIBE c");
    assert_eq!(raw(&mut one, "BZPOPMIN z 0"), "");
    raw(&mut other, "PUBLISH c hi");
    raw(&mut other, "ZADD z 1.5 m");
    let mut output = BytesMut::new();
    one.tell(&mut output);
    assert_eq!(
        output,
        ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\nhi\r\n*3\r\n$1\r\nz\r\n$1\r\nm\r\n,1.5\r\n"
    );
}

/// An act of a test in the transaction that serves a client, when the client's command has run and the transaction has not
/// committed.
type Act = Box<dyn FnOnce() + Send>;

/// The function `cross`, which does it.
#[derive(Default)]
struct Crossing(Mutex<Option<Act>>);

impl Functions for Crossing {
    fn call(
        &self,
        _: &FunctionCall<'_>,
        _: &mut Transaction<'_>,
    ) -> Result<Option<Called>, Failure> {
        let act = self.0.lock().expect("one thread").take();
        Ok(Some(Called {
            reply: Reply::Ok,
            committed: act.map(|act| act as Box<dyn FnOnce()>),
        }))
    }

    fn read(&self, _: &FunctionCall<'_>, _: &Committed) -> Result<Option<Reply>, Failure> {
        Ok(None)
    }

    fn has(&self, _: &[u8], _: &Within<'_, '_>) -> Result<bool, Failure> {
        Ok(true)
    }

    fn may_take_long(&self, _: &[u8]) -> bool {
        false
    }

    fn list(&self, _: &Within<'_, '_>) -> Result<Vec<Listed>, Failure> {
        Ok(Vec::new())
    }
}

#[test]
fn an_end_that_comes_while_a_client_is_served_loses_no_element() {
    for unblocks in [false, true] {
        for commits in [true, false] {
            let case = format!("unblocks: {unblocks}, commits: {commits}");
            let world = World::new(1);
            let crossing = Arc::new(Crossing::default());
            let options = SessionOptions {
                functions: Some(crossing.clone()),
                ..SessionOptions::default()
            };
            let one = Arc::new(Mutex::new(world.session()));
            let (mut other, mut third) = (world.session_with(options), world.session());
            let id = {
                let mut one = one.lock().expect("one thread");
                assert!(ask(&mut one, "BLPOP a 1").is_empty());
                one.id()
            };
            let (waiting, clock) = (one.clone(), world.clock.0.clone());
            let act = move || {
                if unblocks {
                    let unblocked = ask(&mut third, &format!("CLIENT UNBLOCK {id}"));
                    assert_eq!(unblocked, [":0"]);
                } else {
                    clock.fetch_add(1000, std::sync::atomic::Ordering::Relaxed);
                    let mut one = waiting.lock().expect("one thread");
                    assert!(told(&mut one).is_empty() && one.waits_for_elements());
                }
                assert!(commits, "it is undone");
            };
            *crossing.0.lock().expect("one thread") = Some(Box::new(act));
            ask(&mut other, "MULTI");
            ask(&mut other, "RPUSH a x");
            ask(&mut other, "FCALL cross 0");
            let executed = ask(&mut other, "EXEC");
            assert_eq!(
                executed[0].starts_with("-ERR the command panicked"),
                !commits,
                "{case}"
            );
            let mut one = one.lock().expect("one thread");
            let answer = if commits { "[\"a\" \"x\"]" } else { "nil" };
            assert_eq!(told(&mut one), [answer], "{case}");
            assert!(!one.waits_for_elements(), "{case}");
            // It is in no other wait, and takes nothing more.
            assert_eq!(ask(&mut other, "RPUSH a y"), [":1"], "{case}");
            assert_eq!(ask(&mut other, "LLEN a"), [":1"], "{case}");
            assert!(told(&mut one).is_empty(), "{case}");
        }
    }
}

#[test]
fn an_answer_too_large_for_a_client_is_its_own_error_and_the_next_one_is_served() {
    let world = World::new(1);
    let memory = Arc::new(Budget::default());
    let bounded = |bytes| SessionOptions {
        answer_bytes_max: bytes,
        memory: memory.clone(),
        ..SessionOptions::default()
    };
    let (mut small, mut large) = (
        world.session_with(bounded(100_000)),
        world.session_with(bounded(1 << 20)),
    );
    let (mut last, mut other) = (world.session(), world.session());
    let element = "x".repeat(1000);
    for _ in 0..200 {
        ask(&mut other, &format!("RPUSH big {element}"));
    }
    for session in [&mut small, &mut large] {
        let waits = ask(session, "BLMPOP 0 1 a LEFT COUNT 1000000000");
        assert!(waits.is_empty());
    }
    ask(&mut last, "BLPOP a 0");
    assert_eq!(ask(&mut other, "RENAME big a"), ["+OK"]);
    let refused =
        "-ERR more than 100000 bytes would be gathered for the answer: ask for less at once";
    assert_eq!(told(&mut small), [refused]);
    // The next one has all, which counts until it is sent.
    assert!(memory.taken() > 200_000);
    assert!(told(&mut large)[0].len() > 200_000);
    large.sent();
    assert_eq!(memory.taken(), 0);
    assert!(told(&mut last).is_empty() && last.waits_for_elements());
    assert_eq!(ask(&mut other, "RPUSH a y"), [":1"]);
    assert_eq!(told(&mut last), ["[\"a\" \"y\"]"]);
}

#[test]
fn a_client_that_was_served_is_ended_when_the_log_fails() {
    let world = World::new(1);
    let (mut one, mut other) = (world.session(), world.session());
    ask(&mut one, "BLPOP a 0");
    let context = Context::from_waker(Waker::noop());
    assert_eq!(one.poll_messages(&context), Poll::Pending);
    world.disk.crash();
    assert!(ask(&mut other, "RPUSH a x")[0].starts_with('-'));
    // A thread finds the outcome of its post.
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().expect("a runtime");
    let event = runtime.block_on(poll_fn(|context| one.poll_messages(context)));
    assert_eq!(event, Event::Over(Over::Withdrawn));
    assert!(told(&mut one).is_empty());
    let mut output = BytesMut::new();
    assert!(one.refuse_over(&mut output));
    let refused = &answers(&output)[0];
    assert!(
        refused.contains("it is not known whether that is durable"),
        "{refused}"
    );
}

#[test]
fn with_a_pipeline_a_client_waits_on_when_its_command_before_is_forgotten() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipelined = Shape::Pipelined {
        input_threads: 1,
        output_threads: 1,
    };
    let tables = Options::new()
        .shape(pipelined)
        .open_tables(directory.path().join("x.sdx"))
        .expect("opens");
    let keyspace = Keyspace::open(Arc::new(tables)).expect("opens");
    let session = || Session::new(keyspace.clone(), SessionOptions::default());
    let (mut one, mut other) = (session(), session());
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.build().expect("a runtime");
    let ask = |session: &mut Session, text: &str| {
        let words: Vec<&str> = text.split(' ').collect();
        let (mut input, mut output) = (BytesMut::from(&encode(&words)[..]), BytesMut::new());
        let flight = session.take(&mut input).expect("a command");
        runtime.block_on(session.run(flight, &mut output));
        answers(&output)
    };
    for round in 0..50 {
        // Its job is dropped at some time behind the answer.
        assert_eq!(ask(&mut other, "RPUSH a x"), [":1"]);
        assert_eq!(ask(&mut one, "BLPOP a 0"), ["[\"a\" \"x\"]"]);
        assert!(ask(&mut one, "BLPOP b 0").is_empty());
        assert_eq!(ask(&mut other, "SET k v"), ["+OK"]);
        assert_eq!(ask(&mut other, &format!("RPUSH b {round}")), [":1"]);
        let event = runtime.block_on(poll_fn(|context| one.poll_messages(context)));
        assert_eq!(event, Event::Messages);
        assert_eq!(told(&mut one), [format!("[\"b\" \"{round}\"]")]);
    }
}
