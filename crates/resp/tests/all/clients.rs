//! Clients of a keyspace: their information about each other, and commands about all.

use crate::common::text::answers;
use crate::common::{START, World, encode, send};
use bytes::BytesMut;
use sardonyx_resp::{Continue, Session, SessionOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

fn ask(session: &mut Session, text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    answers(&send(session, &encode(&words)).0).remove(0)
}

fn told(session: &mut Session) -> Vec<String> {
    let mut output = BytesMut::new();
    session.tell(&mut output);
    answers(&output)
}

fn session_at(world: &World, address: &str) -> Session {
    world.session_with(SessionOptions {
        address: Some(address.parse().expect("an address")),
        ..SessionOptions::default()
    })
}

/// Counts how often a task is woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn is_ready(session: &Session, waker: &Waker) -> bool {
    session
        .poll_messages(&Context::from_waker(waker))
        .is_ready()
}

#[test]
fn clients_are_listed_with_what_they_do() {
    let world = World::new(1);
    let mut one = session_at(&world, "10.0.0.1:1");
    let mut other = session_at(&world, "10.0.0.2:2");
    ask(&mut one, "CLIENT SETNAME me");
    ask(&mut other, "SELECT 3");
    ask(&mut other, "SUBSCRIBE a b");
    world.advance(5000);
    let list = ask(&mut one, "CLIENT LIST");
    for wanted in [
        "id=1 addr=10.0.0.1:1 laddr=?:0 fd=0 name=me age=5 idle=0 flags=N db=0 sub=0 ",
        "cmd=client|list user=default",
        "id=2 addr=10.0.0.2:2 laddr=?:0 fd=0 name= age=5 idle=5 flags=P db=3 sub=2 ",
        "cmd=subscribe user=default",
    ] {
        assert!(list.contains(wanted), "{wanted} in {list}");
    }
    let list = ask(&mut one, "CLIENT LIST TYPE pubsub");
    assert!(list.contains("id=2 ") && !list.contains("id=1 "), "{list}");
    let list = ask(&mut one, "CLIENT LIST ID 1 7");
    assert!(list.contains("id=1 ") && !list.contains("id=2 "), "{list}");
    ask(&mut one, "MULTI");
    ask(&mut one, "PING");
    let mut third = world.session();
    let list = ask(&mut third, "CLIENT LIST");
    assert!(
        list.contains("flags=x db=0 sub=0 psub=0 ssub=0 multi=1 "),
        "{list}"
    );
    drop((one, other));
    let list = ask(&mut third, "CLIENT LIST");
    assert!(
        list.starts_with("\"id=3 ") && list.matches("id=").count() == 1,
        "{list}"
    );
}

#[test]
fn a_client_that_is_killed_is_woken_and_ended() {
    let world = World::new(2);
    let (mut one, mut other) = (
        session_at(&world, "10.0.0.1:1"),
        session_at(&world, "10.0.0.2:2"),
    );
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    assert!(!is_ready(&other, &waker));
    assert_eq!(ask(&mut one, "CLIENT KILL TYPE normal"), ":1");
    assert_eq!(woken.0.load(Ordering::Relaxed), 1);
    assert!(is_ready(&other, &waker));
    let mut output = BytesMut::new();
    assert!(other.refuse_over(&mut output) && output.is_empty());
    // The commands that it sends do not run.
    assert_eq!(send(&mut other, &encode(&["PING"])).1, Continue::Close);
    drop(other);
    // A client that ends itself receives the answer.
    let (answer, goes_on) = send(&mut one, &encode(&["CLIENT", "KILL", "10.0.0.1:1"]));
    assert_eq!((&answer[..], goes_on), (&b"+OK\r\n"[..], Continue::Close));
}

#[test]
fn in_a_pause_clients_wait_with_their_commands() {
    let world = World::new(3);
    let (mut one, mut other) = (world.session(), world.session());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    ask(&mut one, "SET k 1");
    ask(&mut one, "CLIENT PAUSE 1000 WRITE");
    // The longer and the stricter pause counts.
    ask(&mut other, "CLIENT PAUSE 10 WRITE");
    assert_eq!(ask(&mut other, "GET k"), "\"1\"");
    for text in ["SET k 2", "PUBLISH a 1"] {
        let words: Vec<&str> = text.split(' ').collect();
        let mut session = world.session();
        assert!(send(&mut session, &encode(&words)).0.is_empty(), "{text}");
        assert!(session.waits());
        let info = ask(&mut other, "INFO clients");
        assert!(info.contains("blocked_clients:1"), "{info}");
    }
    ask(&mut other, "MULTI");
    assert_eq!(ask(&mut other, "GET k"), "+QUEUED");
    assert_eq!(ask(&mut other, "EXEC"), "[\"1\"]");
    // The commands behind a waiting command wait.
    let sent = [encode(&["SET", "k", "2"]), encode(&["GET", "k"])].concat();
    let mut input = BytesMut::from(&sent[..]);
    assert!(other.take(&mut input).expect("commands").is_empty());
    assert!(other.waits() && !is_ready(&other, &waker));
    assert_eq!(other.wait_limit(), Some(Duration::from_millis(1000)));
    world.advance(400);
    assert_eq!(other.wait_limit(), Some(Duration::from_millis(600)));
    let mut output = BytesMut::new();
    other.time_out(&mut output);
    assert!(output.is_empty() && other.take(&mut input).expect("commands").is_empty());
    assert_eq!(ask(&mut one, "GET k"), "\"1\"");
    world.advance(600);
    assert_eq!(other.wait_limit(), Some(Duration::ZERO));
    assert!(is_ready(&other, &waker));
    let flight = other.take(&mut input).expect("commands");
    assert_eq!(flight.len(), 2);
    crate::common::now(other.run(flight, &mut output));
    assert_eq!(answers(&output), ["+OK", "\"2\""]);
    assert!(!other.waits() && other.wait_limit().is_none());
    // A pause of commands that write; another client ends it before its time.
    let mut third = world.session();
    ask(&mut one, "CLIENT PAUSE 100000 WRITE");
    assert!(send(&mut other, &encode(&["INCR", "k"])).0.is_empty());
    assert!(!is_ready(&other, &waker));
    let before = woken.0.load(Ordering::Relaxed);
    assert_eq!(ask(&mut third, "CLIENT UNPAUSE"), "+OK");
    assert!(woken.0.load(Ordering::Relaxed) > before && is_ready(&other, &waker));
    assert_eq!(answers(&send(&mut other, b"").0), [":3"]);
    ask(&mut one, "CLIENT PAUSE 10");
    assert!(send(&mut third, &encode(&["PING"])).0.is_empty());
    world.advance(10);
    assert_eq!(answers(&send(&mut third, b"").0), ["+PONG"]);
}

#[test]
fn who_monitors_is_shown_what_all_do() {
    let world = World::new(4);
    let mut monitor = world.session();
    let mut one = session_at(&world, "10.0.0.1:1");
    assert_eq!(ask(&mut monitor, "MONITOR"), "+OK");
    assert_eq!(ask(&mut monitor, "MONITOR"), "+OK");
    let words: [&[u8]; 3] = [b"SET", b"k", b"a \"\\\n\x01\xff"];
    send(&mut one, &encode(&words));
    for text in [
        "CONFIG GET save",
        "AUTH secret",
        "SELECT 2",
        "NOSUCH x",
        "GET",
        "MULTI",
        "GET k",
        "EXEC",
    ] {
        ask(&mut one, text);
    }
    let at = format!("+{}.000000", START / 1000);
    let shown = [
        r#"[0 10.0.0.1:1] \"SET\" \"k\" \"a \\\"\\\\\\n\\x01\\xff\""#,
        r#"[0 10.0.0.1:1] \"AUTH\" \"(redacted)\""#,
        r#"[2 10.0.0.1:1] \"SELECT\" \"2\""#,
        r#"[2 10.0.0.1:1] \"MULTI\""#,
        r#"[2 10.0.0.1:1] \"GET\" \"k\""#,
        r#"[2 10.0.0.1:1] \"EXEC\""#,
    ];
    let shown = shown.map(|shown| format!("{at} {shown}"));
    assert_eq!(told(&mut monitor), shown);
    let list = ask(&mut one, "CLIENT LIST");
    assert!(list.contains("flags=O "), "{list}");
    told(&mut monitor);
    assert_eq!(ask(&mut monitor, "RESET"), "+RESET");
    ask(&mut one, "GET k");
    assert_eq!(told(&mut monitor), [""; 0]);
}

#[test]
fn slow_commands_are_kept_with_their_clients() {
    let world = World::new(5);
    let mut one = session_at(&world, "10.0.0.1:1");
    ask(&mut one, "CLIENT SETNAME me");
    // Nothing is measured, then everything is slow.
    ask(&mut one, "CONFIG SET slowlog-log-slower-than -1");
    ask(&mut one, "SET k 1");
    assert_eq!(ask(&mut one, "SLOWLOG LEN"), ":0");
    assert_eq!(ask(&mut one, "CONFIG SET slowlog-log-slower-than 0"), "+OK");
    for text in ["SET k 2", "MULTI", "GET k", "EXEC", "GET"] {
        ask(&mut one, text);
    }
    // The setting, SET, MULTI and GET; not EXEC, nor an unknown command.
    assert_eq!(ask(&mut one, "SLOWLOG LEN"), ":4");
    ask(&mut one, "AUTH secret");
    let got = ask(&mut one, "SLOWLOG GET 1");
    assert!(
        got.contains(r#"["AUTH" "(redacted)"] "10.0.0.1:1" "me"]"#),
        "{got}"
    );
    ask(&mut one, "CONFIG SET slowlog-log-slower-than -1");
    let got = ask(&mut one, "SLOWLOG GET");
    let time = START / 1000;
    // LEN, AUTH and GET came behind them.
    assert!(got.starts_with(&format!("[[:6 :{time} :")), "{got}");
    for kept in [r#"["SET" "k" "2"]"#, r#"["MULTI"]"#, r#"["GET" "k"]"#] {
        let kept = format!(r#"{kept} "10.0.0.1:1" "me"]"#);
        assert!(got.contains(&kept), "{kept} in {got}");
    }
    ask(&mut one, "CONFIG SET slowlog-max-len 1");
    assert_eq!(ask(&mut one, "SLOWLOG LEN"), ":1");
    ask(&mut one, "CONFIG SET slowlog-log-slower-than -1");
    ask(&mut one, "SLOWLOG RESET");
    ask(&mut one, "SET k 3");
    assert_eq!(ask(&mut one, "SLOWLOG LEN"), ":0");
}

#[test]
fn commands_of_the_connection_in_an_exec_act_only_if_it_runs() {
    for pipelined in [false, true] {
        let world = World::new(1);
        let (mut one, mut third) = (world.session(), world.session());
        let mut other = world.session();
        ask(&mut one, "CONFIG SET slowlog-log-slower-than 0");
        let kill = format!("CLIENT KILL ID {}", other.id());
        let inside = [
            "MULTI",
            &kill,
            "CLIENT SETNAME ann",
            "CONFIG SET slowlog-max-len 7",
            "SET k 2",
            "SLOWLOG RESET",
            "GET k",
            "SELECT 3",
            "CLIENT GETNAME",
            "EXEC",
        ];
        let run = |one: &mut Session| match pipelined {
            false => inside.map(|text| ask(one, text)).into_iter().last(),
            true => {
                let sent: Vec<u8> = (inside.iter())
                    .flat_map(|text| encode(&text.split(' ').collect::<Vec<_>>()))
                    .collect();
                answers(&send(one, &sent).0).pop()
            }
        };
        ask(&mut one, "WATCH k");
        ask(&mut third, "SET k 1");
        assert_eq!(run(&mut one).as_deref(), Some("nil"));
        assert!(!is_ready(&other, Waker::noop()));
        assert_eq!(ask(&mut one, "CLIENT GETNAME"), "nil");
        let length = ask(&mut one, "CONFIG GET slowlog-max-len");
        assert_eq!(length, r#"["slowlog-max-len" "128"]"#);
        assert_ne!(ask(&mut one, "SLOWLOG LEN"), ":0");
        assert_eq!(ask(&mut one, "GET k"), "\"1\"", "still in database 0");
        // Without a change that is watched they act, in their order, and are answered in their places.
        let executed = run(&mut one);
        let wanted = "[:1 +OK +OK +OK +OK \"2\" +OK \"ann\"]";
        assert_eq!(executed.as_deref(), Some(wanted));
        assert!(is_ready(&other, Waker::noop()));
        assert_eq!(ask(&mut one, "CLIENT GETNAME"), "\"ann\"");
        let length = ask(&mut one, "CONFIG GET slowlog-max-len");
        assert_eq!(length, r#"["slowlog-max-len" "7"]"#);
        assert_eq!(ask(&mut one, "GET k"), "nil", "in database 3");
        drop(send(&mut other, b""));
    }
    let world = World::new(1);
    let mut one = world.session();
    let refused = ask(&mut one, "CONFIG SET slowlog-max-len 10001");
    assert!(refused.ends_with("argument must be between 0 and 10000 inclusive"));
}
