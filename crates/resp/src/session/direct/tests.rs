//! Flights that run directly, and the same commands as requests of a batch: the answers are the same, also if the log refuses
//! some, and a flight that is given up leaves nothing.

use super::super::clients::Answers as Wanted;
use super::super::queue::Queue;
use super::super::{Keyspace, SessionOptions};
use super::*;
use sardonyx::disk::{Faults, GroupLimits, SimulatedDisk};
use sardonyx::{Options, Shape, Tables};
use std::collections::BTreeSet;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// When commands run, in milliseconds since 1970.
const NOW: i64 = 1_700_000_000_000;

/// Flights of short commands on data, with errors among them.
const FLIGHTS: &[&[&str]] = &[
    &[
        "SET a 1", "GET a", "GET b", "INCR a", "INCR a", "GET a", "STRLEN a",
    ],
    &[
        "MSET a 5 b 6 c x",
        "MGET a b c d a",
        "INCR c",
        "INCRBY a 7",
        "DECR none",
    ],
    &[
        "LPUSH l x y z",
        "RPUSH l w",
        "LLEN l",
        "LPUSH a x",
        "LPOP l",
        "RPOP l",
        "LPOP l 2",
        "LPOP l",
    ],
    &[
        "SADD s a b c a",
        "SADD s a",
        "SISMEMBER s b",
        "SCARD s",
        "SREM s a x",
        "SADD l x",
        "SPOP s",
        "SPOP s",
    ],
    &[
        "HSET h f 1 g 2",
        "HSET h f 3",
        "HGET h f",
        "HINCRBY h g 5",
        "HDEL h f x",
        "HLEN h",
        "HGET a f",
    ],
    &[
        "ZADD z 1 m 2 n",
        "ZADD z 3 m",
        "ZSCORE z m",
        "ZINCRBY z 1 n",
        "ZADD z x m",
        "ZCARD z",
        "ZREM z m n o",
    ],
    &[
        "SET e x PX 100",
        "PTTL e",
        "EXISTS e a",
        "PERSIST e",
        "TTL e",
        "EXPIRE e 10",
        "DEL e a b none",
    ],
    &[
        "SET a 1 NX",
        "SET a 2 NX",
        "SET a 3 XX GET",
        "GETDEL a",
        "GETDEL a",
        "SETNX a 4",
        "APPEND a 5",
        "TYPE a",
    ],
];

fn tables_on(disk: &SimulatedDisk) -> Arc<Tables> {
    let limits = GroupLimits {
        group_bytes: 8 << 10,
        transaction_bytes: 16 << 10,
        depth: 2,
        buffers: 6,
    };
    let options = Options::new()
        .shape(Shape::Threadless)
        .hash_seed(7)
        .identity(7)
        .group_limits(limits)
        .segment_bytes(64 << 10)
        .block_bytes(16 << 10)
        .log_bytes_max(8 * (64 << 10))
        .log_bytes_prepared(0)
        .memory_bytes_max(64 << 20);
    Arc::new(
        options
            .open_tables_on(Arc::new(disk.clone()))
            .expect("opens"),
    )
}

fn session_of(tables: Arc<Tables>, options: SessionOptions) -> Session {
    let seed = Some(7);
    let keyspace = Keyspace::open(tables).expect("opens");
    Session::new(keyspace, SessionOptions { seed, ..options })
}

fn session() -> Session {
    let disk = SimulatedDisk::new(1, Faults::default());
    session_of(tables_on(&disk), SessionOptions::default())
}

fn flight_of(session: &mut Session, sent: &str) -> Flight {
    session.take(&mut BytesMut::from(sent)).expect("commands")
}

fn text(flight: &[&str]) -> String {
    flight.iter().map(|line| format!("{line}\r\n")).collect()
}

/// Runs a flight, which must run directly. It is not answered yet.
fn begin(session: &mut Session, sent: &str) -> (Flight, Ticket<()>, Direct) {
    let flight = flight_of(session, sent);
    session.pending.release();
    let (ticket, direct) = session
        .run_directly(&flight, NOW)
        .expect("it runs directly");
    (flight, ticket, direct)
}

fn directly(session: &mut Session, sent: &str) -> String {
    let (flight, ticket, direct) = begin(session, sent);
    let mut output = BytesMut::new();
    session.give_directly(direct, &flight, ticket.wait(), &mut output);
    String::from_utf8_lossy(&output).into_owned()
}

/// Runs a flight as requests of a batch. Without threads it is answered while it is asked.
fn planned(session: &mut Session, sent: &str) -> String {
    let flight = flight_of(session, sent);
    session.pending.release();
    let mut output = BytesMut::new();
    let polled = {
        let run = pin!(session.run_planned(flight, NOW, &mut output));
        run.poll(&mut Context::from_waker(Waker::noop()))
    };
    assert_eq!(polled, Poll::Ready(()));
    String::from_utf8_lossy(&output).into_owned()
}

/// The counts of a session since the last call.
fn counts(session: &mut Session) -> String {
    let errors = session.take_errors();
    let counts = format!("{:?} {errors}", session.tally);
    session.tally.clear();
    counts
}

#[test]
fn flights_that_run_directly_are_answered_and_counted_as_requests_are() {
    let (mut one, mut other) = (session(), session());
    for flight in FLIGHTS {
        let sent = text(flight);
        assert_eq!(
            directly(&mut one, &sent),
            planned(&mut other, &sent),
            "{flight:?}"
        );
        assert_eq!(counts(&mut one), counts(&mut other), "{flight:?}");
    }
    for wanted in [Wanted::SkipNext, Wanted::Skip, Wanted::None] {
        (one.answers, other.answers) = (wanted, wanted);
        let sent = "SET unanswered 1\r\nGET unanswered\r\nINCR l\r\n";
        assert_eq!(
            directly(&mut one, sent),
            planned(&mut other, sent),
            "{wanted:?}"
        );
        assert_eq!(counts(&mut one), counts(&mut other), "{wanted:?}");
    }
}

#[test]
fn large_answers_are_written_when_the_turn_is_over() {
    let (mut one, mut other) = (session(), session());
    let large = "x".repeat(WRITTEN_BYTES_MAX);
    let set = format!(
        "*3\r\n$3\r\nSET\r\n$5\r\nlarge\r\n${}\r\n{large}\r\n",
        large.len()
    );
    for session in [&mut one, &mut other] {
        assert_eq!(
            planned(session, &format!("{set}SET a 1\r\n")),
            "+OK\r\n+OK\r\n"
        );
        counts(session);
    }
    let sent = text(&[
        "GET a",
        "GET large",
        "INCR a",
        "MGET a large",
        "GET large",
        "GET a",
    ]);
    let (flight, ticket, direct) = begin(&mut one, &sent);
    assert!(
        direct.answers.written.len() < 100,
        "they are copied while others wait"
    );
    let places: Vec<_> = (direct.answers.later.iter())
        .map(|(place, ..)| *place)
        .collect();
    assert_eq!(places, [7, 11, 11]);
    let mut output = BytesMut::from("+before\r\n");
    one.give_directly(direct, &flight, ticket.wait(), &mut output);
    let expected = format!("+before\r\n{}", planned(&mut other, &sent));
    assert!(output == expected.as_bytes(), "{} bytes", output.len());
    assert_eq!(counts(&mut one), counts(&mut other));
    // Many that are not large are too many together.
    let middle = "y".repeat(WRITTEN_BYTES_MAX / 3);
    planned(&mut one, &format!("SET middle {middle}\r\n"));
    let (_, _, direct) = begin(&mut one, &"GET middle\r\n".repeat(5));
    assert_eq!(direct.answers.later.len(), 3);
    // An answer that its client does not want is none.
    one.answers = Wanted::None;
    let (_, _, direct) = begin(&mut one, "GET large\r\n");
    assert!(direct.answers.later.is_empty() && direct.answers.written.is_empty());
}

#[test]
fn a_flight_that_is_given_up_leaves_nothing_for_the_next() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let options = SessionOptions {
        flight_answer_bytes_max: 1000,
        ..SessionOptions::default()
    };
    let mut session = session_of(tables_on(&disk), options);
    planned(&mut session, &format!("SET a {}\r\n", "x".repeat(900)));
    counts(&mut session);
    let nothing = counts(&mut session);
    let (flight, ticket, direct) = begin(
        &mut session,
        "GET none\r\nINCR a\r\nGET a\r\nGET a\r\nINCR n\r\nGET n\r\n",
    );
    assert_eq!((direct.rest.len(), direct.errors), (2, 1));
    // Its client waits no longer.
    drop((flight, ticket, direct));
    assert_eq!(counts(&mut session), nothing);
    let flight = flight_of(&mut session, "GET n\r\n");
    assert_eq!((flight.rest.len(), flight.lines.len()), (0, 1));
    session.pending.release();
    let (ticket, direct) = session
        .run_directly(&flight, NOW)
        .expect("it runs directly");
    let mut output = BytesMut::new();
    session.give_directly(direct, &flight, ticket.wait(), &mut output);
    assert_eq!(output, "$-1\r\n");
}

/// A session on a disk that is full when it is open.
fn session_on_a_full_disk() -> Session {
    let disk = SimulatedDisk::new(1, Faults::default());
    drop(session_of(tables_on(&disk), SessionOptions::default()));
    let disk = SimulatedDisk::new(
        1,
        Faults {
            full_steps: Some((disk.steps() + 1, u64::MAX)),
            ..Faults::default()
        },
    );
    session_of(tables_on(&disk), SessionOptions::default())
}

#[test]
fn i10_each_command_of_a_flight_has_its_own_answer_when_the_log_refuses_some() {
    // So many that a flight has several groups of the log.
    const COMMANDS: usize = 12;
    let value = "x".repeat(3000);
    let mut seen = BTreeSet::new();
    for alone in 0..3 {
        let mut session = session_on_a_full_disk();
        for number in 0..alone {
            let set = format!("SET alone{number} {value}\r\n");
            assert_eq!(directly(&mut session, &set), "+OK\r\n");
        }
        // Each is a new key: the pages of a checkpoint have no room, so that the log gets none.
        for flight in 0..1000 {
            let set = |number| format!("SET key{flight}_{number} {value}\r\n");
            let sent: String = (0..COMMANDS).map(set).collect();
            let given = directly(&mut session, &sent);
            assert_eq!(session.end, Continue::More);
            let answers: Vec<&str> = given.lines().collect();
            assert_eq!(answers.len(), COMMANDS, "{answers:?}");
            let ran = answers.iter().take_while(|line| **line == "+OK").count();
            let is_refused = |line: &&str| line.starts_with("-ERR not run: ");
            assert!(answers[ran..].iter().all(is_refused), "{answers:?}");
            seen.insert(ran);
            if ran == 0 {
                break;
            }
        }
    }
    let is_between = |ran: &usize| (1..COMMANDS).contains(ran);
    assert!(seen.contains(&0) && seen.iter().any(is_between), "{seen:?}");
}

#[test]
fn a_part_of_an_answer_that_a_panic_left_is_forgotten() {
    let mut answers = Answers::default();
    let own = Version::Resp2;
    assert_eq!(answers.write(&Reply::Ok, Some(own), own), None);
    answers.written.extend_from_slice(b"$100\r\nx");
    answers.forget_part();
    answers.forget_part();
    assert_eq!(answers.write(&Reply::Int(1), Some(own), own), None);
    let mut output = BytesMut::new();
    answers.give(&mut output);
    assert_eq!(output, "+OK\r\n:1\r\n");
}

#[test]
fn a_flight_with_a_missing_answer_gives_those_before_and_ends_the_connection() {
    let mut session = session();
    let (flight, ticket, mut direct) = begin(&mut session, "INCR a\r\nGET a\r\nINCR a\r\n");
    assert_eq!(direct.settled, 3);
    // As if the second command's answer had panicked, and its error's, too.
    let first = b":1\r\n".len();
    (direct.settled, direct.answers.end) = (1, first);
    direct.answers.written.truncate(first);
    direct.answers.written.extend_from_slice(b"$1\r");
    let keyspace = Arc::clone(&session.keyspace);
    let mut running = Running {
        session: &mut session,
        direct: &mut direct,
        lines: &flight.lines,
        shared: keyspace.shared(),
        database: 0,
        now: NOW,
    };
    running.answer(2, Reply::Int(2));
    running.postpone(2);
    let mut output = BytesMut::new();
    session.give_directly(direct, &flight, ticket.wait(), &mut output);
    assert_eq!(output, ":1\r\n");
    assert!(session.end == Continue::Close && session.rest.is_empty());
}

/// Another session, whose commands were not long, of a keyspace with long values.
fn session_beside_long_values() -> Session {
    let disk = SimulatedDisk::new(1, Faults::default());
    let options = Options::new()
        .shape(Shape::Threadless)
        .memory_bytes_max(256 << 20);
    let tables = options.open_tables_on(Arc::new(disk)).expect("opens");
    let mut first = session_of(Arc::new(tables), SessionOptions::default());
    let field = "f".repeat(1_000_000);
    let hset = format!("*4\r\n$4\r\nHSET\r\n$4\r\nhash\r\n$5\r\nfield\r\n$1000000\r\n{field}\r\n");
    let sent = format!("SETRANGE long 8000000 x\r\n{hset}");
    assert_eq!(planned(&mut first, &sent), ":8000001\r\n");
    // The rest of the flight waits until the answer is sent.
    assert_eq!(planned(&mut first, ""), ":1\r\n");
    assert!(first.pending.is_long());
    Session::new(Arc::clone(&first.keyspace), SessionOptions::default())
}

#[test]
fn short_commands_on_long_values_gather_nothing() {
    let mut session = session_beside_long_values();
    let each = [
        ("STRLEN long", ":8000001\r\n"),
        ("GETBIT long 3", ":0\r\n"),
        (
            "INCR long",
            "-ERR value is not an integer or out of range\r\n",
        ),
        ("INCRBYFLOAT long 1", "-ERR value is not a valid float\r\n"),
        (
            "PFADD long a",
            "-WRONGTYPE Key is not a valid HyperLogLog string value.\r\n",
        ),
        ("BITFIELD_RO long GET u8 100", "*1\r\n:0\r\n"),
        ("HSTRLEN hash field", ":1000000\r\n"),
        ("HEXISTS hash field", ":1\r\n"),
        (
            "HINCRBY hash field 1",
            "-ERR hash value is not an integer\r\n",
        ),
        (
            "HINCRBYFLOAT hash field 1",
            "-ERR hash value is not a float\r\n",
        ),
    ];
    // So many that gathering any of them would divide the flight.
    for (line, answer) in each {
        let given = directly(&mut session, &format!("{line}\r\n").repeat(40));
        assert!(given == answer.repeat(40), "{line}: {}", &given[..40]);
        assert!(
            session.rest.is_empty() && !session.pending.is_long(),
            "{line}"
        );
    }
    let (flight, ticket, direct) = begin(&mut session, &"APPEND long y\r\n".repeat(30));
    assert!(direct.rest.is_empty() && !session.pending.is_long());
    let mut output = BytesMut::new();
    session.give_directly(direct, &flight, ticket.wait(), &mut output);
    assert!(output.ends_with(b":8000031\r\n"));
}

#[test]
fn the_rest_of_a_flight_behind_a_long_command_steps_aside_and_so_do_the_next_ones() {
    let mut session = session_beside_long_values();
    let sent = "GET none\r\nRENAMENX long other\r\nRENAMENX other long\r\nGET none\r\n";
    let given = directly(&mut session, sent);
    assert_eq!(given, "$-1\r\n:1\r\n");
    assert_eq!((session.rest.len(), session.pending.is_long()), (2, true));
    // Each long one is a part of its own.
    assert_eq!(planned(&mut session, ""), ":1\r\n");
    assert_eq!(planned(&mut session, ""), "$-1\r\n");
    assert!(session.rest.is_empty());
    let mut aside = 0;
    while !runs(&mut session, "GET none\r\n") {
        session.pending.release();
        aside += 1;
    }
    assert!((2..=64).contains(&aside), "{aside}");
    // To look at a key that is watched takes long if it is large.
    planned(&mut session, "WATCH long\r\nUNWATCH\r\nWATCH long\r\n");
    assert!(session.pending.is_long());
}

fn runs(session: &mut Session, sent: &str) -> bool {
    let flight = flight_of(session, sent);
    session.run_directly(&flight, 0).is_some()
}

#[test]
fn flights_of_short_commands_on_data_run_directly_and_no_others() {
    let disk = SimulatedDisk::new(1, Faults::default());
    let tables = tables_on(&disk);
    let mut session = session_of(tables.clone(), SessionOptions::default());
    let short = "SET a 1\r\nGET a\r\nSADD s a b\r\nMSET a 1 b 2\r\nLPOP l 2\r\nINCR s\r\n";
    assert!(runs(&mut session, short));
    for other in [
        "PING",
        "KEYS *",
        "GET",
        "NONE a",
        "MULTI",
        "BLPOP l 0",
        "SMEMBERS s",
        "LPOP l 1000",
        "FCALL f 0",
    ] {
        assert!(
            !runs(&mut session, &format!("GET a\r\n{other}\r\n")),
            "{other}"
        );
    }
    let turn = tables.turn().expect("free");
    assert!(!runs(&mut session, short), "another has the stage");
    drop(turn);
    let monitors = session.keyspace.shared().clients.begin_to_monitor();
    assert!(!runs(&mut session, short), "its commands are shown");
    drop(monitors);
    session.queue = Some(Queue::default());
    assert!(!runs(&mut session, short), "they are queued");
    session.queue = None;
    assert!(runs(&mut session, short));
    // Commands behind the rest of another flight are answered behind it.
    let flight = flight_of(&mut session, short);
    session.rest.push(Rest {
        what: RestOf::Answered(Reply::Ok),
        version: None,
        counted: Counted::Queued,
    });
    assert!(session.run_directly(&flight, 0).is_none());
}
