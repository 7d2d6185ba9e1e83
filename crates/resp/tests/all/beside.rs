//! Reading beside a long transaction that has the serial stage: each command that only reads is answered from the
//! state committed before, and the rest waits for its turn.

use crate::common::{START, SetClock, encode, text::answers};
use bytes::{Bytes, BytesMut};
use redis_protocol::resp2::types::BytesFrame;
use sardonyx::low_level::Committed;
use sardonyx::rows::ReadRows;
use sardonyx::{Durability, Error, Options, Shape, Tables, Transaction};
use sardonyx_base::waiting::{Interrupt, interruptible};
use sardonyx_resp::{
    Called, Failure, FunctionCall, Functions, KEY_TABLES, Keyspace, Listed, Reply, Session,
    SessionOptions, Within,
};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A wait that has failed.
const FOR_EVER: Duration = Duration::from_secs(60);

/// A line for each command that only reads. A new command needs a line here.
const READS: &[&str] = &[
    "GET string",
    "GET list",
    "GET absent",
    "GET expired",
    "MGET string absent list number",
    "STRLEN string",
    "GETRANGE string 1 3",
    "SUBSTR string 0 -2",
    "EXISTS string hash expired absent",
    "TOUCH string hash absent",
    "TYPE zset",
    "TYPE expired",
    "TTL string",
    "TTL later",
    "PTTL later",
    "EXPIRETIME later",
    "PEXPIRETIME later",
    "RANDOMKEY",
    "DBSIZE",
    "DUMP string",
    "DUMP list",
    "DUMP absent",
    "FUNCTION LIST",
    "FUNCTION STATS",
    "FUNCTION DUMP",
    "OBJECT ENCODING string",
    "OBJECT REFCOUNT number",
    "OBJECT IDLETIME string",
    "OBJECT ENCODING zset",
    "MEMORY USAGE hash",
    "SCAN 0 COUNT 100",
    "SCAN 0 MATCH s* TYPE set",
    "KEYS *",
    "KEYS z*",
    "HSCAN hash 0",
    "SSCAN set 0",
    "ZSCAN zset 0",
    "HGET hash a",
    "HMGET hash a absent",
    "HGETALL hash",
    "HKEYS hash",
    "HVALS hash",
    "HEXISTS hash a",
    "HLEN hash",
    "HSTRLEN hash b",
    "HRANDFIELD hash 2 WITHVALUES",
    "SMEMBERS set",
    "SISMEMBER set one",
    "SMISMEMBER set one absent",
    "SCARD set",
    "SRANDMEMBER set -5",
    "SINTER set other",
    "SUNION set other",
    "SDIFF set other",
    "SINTERCARD 2 set other",
    "LLEN list",
    "LRANGE list 0 -1",
    "LINDEX list 1",
    "LPOS list c",
    "ZSCORE zset b",
    "ZMSCORE zset a absent",
    "ZCARD zset",
    "ZCOUNT zset 1 2",
    "ZLEXCOUNT zset - +",
    "ZRANK zset b WITHSCORE",
    "ZREVRANK zset b",
    "ZRANGE zset 0 -1 WITHSCORES",
    "ZREVRANGE zset 0 1",
    "ZRANGEBYSCORE zset (1 inf",
    "ZREVRANGEBYSCORE zset inf 2",
    "ZRANGEBYLEX zset [a (c",
    "ZREVRANGEBYLEX zset + -",
    "ZUNION 2 zset set WITHSCORES",
    "ZINTER 2 zset zset",
    "ZDIFF 2 zset set",
    "ZINTERCARD 2 zset zset",
    "ZRANDMEMBER zset 2",
    "XLEN stream",
    "XRANGE stream - +",
    "XREVRANGE stream + - COUNT 1",
    "XREAD STREAMS stream absent 1 0",
    "XREAD STREAMS stream $",
    "XPENDING stream group",
    "XPENDING stream group - + 5 consumer",
    "XINFO STREAM stream FULL",
    "XINFO GROUPS stream",
    "XINFO CONSUMERS stream group",
    "FCALL_RO keys 1 string",
    "FCALL_RO keys x",
    "EVAL_RO return(redis.call('get','string')) 0",
    "EVALSHA_RO 0000 0",
    "GETBIT string 1",
    "BITCOUNT string 0 1",
    "BITPOS string 1",
    "BITFIELD_RO string GET u8 0",
    "SORT_RO set ALPHA DESC",
    "LCS string number",
    "PFCOUNT absent",
    "GEOPOS zset a absent",
    "GEODIST zset a b km",
    "GEOHASH zset a",
    "GEOSEARCH zset FROMMEMBER a BYRADIUS 10 km ASC WITHDIST",
    "GEORADIUS_RO zset -180 -85 100 km WITHCOORD",
    "GEORADIUSBYMEMBER_RO zset a 1 m",
    "FCALL_RO keys 2 string",
    "FCALL_RO absent 0",
    "FCALL_RO absent x",
    "FCALL_RO absent 2 string",
];

/// Commands that store the data to be read.
const STORED: &[&str] = &[
    "SET string text",
    "SET number 7",
    "SET later x PX 100000",
    "SET expired x PX 1000",
    "HSET hash a 1 b 22 c 333",
    "SADD set one two three",
    "SADD other two three four",
    "RPUSH list a b c d",
    "ZADD zset 1 a 2 b 3 c",
    "XADD stream 1-1 a 1",
    "XADD stream 2-1 a 2",
    "XGROUP CREATE stream group 0",
    "XREADGROUP GROUP group consumer COUNT 1 STREAMS stream >",
];

/// Answers how many keys it was given, and in which way it was called.
struct Counting;

impl Functions for Counting {
    fn call(
        &self,
        call: &FunctionCall<'_>,
        _: &mut Transaction<'_>,
    ) -> Result<Option<Called>, Failure> {
        let is_it = call.name == b"keys";
        let reply = is_it.then_some(Reply::Int(call.keys as i64));
        let committed = None;
        Ok(reply.map(|reply| Called { reply, committed }))
    }

    fn read(&self, call: &FunctionCall<'_>, at: &Committed) -> Result<Option<Reply>, Failure> {
        assert!(call.only_reads && at.snapshot.rows("pg_redis.kv")?.count()? > 0);
        let is_it = call.name == b"keys";
        Ok(is_it.then_some(Reply::Int(call.keys as i64)))
    }

    fn has(&self, name: &[u8], within: &Within<'_, '_>) -> Result<bool, Failure> {
        if let Within::Committed(at) = within {
            assert!(at.snapshot.rows("pg_redis.kv")?.count()? > 0);
        }
        Ok(name == b"keys")
    }

    fn may_take_long(&self, _: &[u8]) -> bool {
        false
    }

    fn list(&self, _: &Within<'_, '_>) -> Result<Vec<Listed>, Failure> {
        Ok(Vec::new())
    }
}

/// A database with keys.
struct World {
    keyspace: Arc<Keyspace>,
    clock: SetClock,
    runtime: tokio::runtime::Runtime,
    _directory: tempfile::TempDir,
}

impl World {
    fn new(options: Options) -> World {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("x.sdx");
        let tables = options.open_tables(path).expect("it opens");
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let world = World {
            keyspace: Keyspace::open(Arc::new(tables)).expect("it opens"),
            clock: SetClock(Arc::new(AtomicI64::new(START))),
            runtime: runtime.expect("a runtime"),
            _directory: directory,
        };
        let mut session = world.session();
        for line in STORED {
            let answer = world.ask(&mut session, line);
            assert!(!answer.starts_with('-'), "{line}: {answer}");
        }
        world.clock.0.fetch_add(5000, Ordering::Relaxed);
        world
    }

    fn tables(&self) -> &Arc<Tables> {
        self.keyspace.tables().expect("of its own")
    }

    fn session(&self) -> Session {
        let options = SessionOptions {
            clock: Arc::new(self.clock.clone()),
            seed: Some(7),
            functions: Some(Arc::new(Counting)),
            ..SessionOptions::default()
        };
        Session::new(self.keyspace.clone(), options)
    }

    /// The answers to commands that arrive together.
    fn ask_all(&self, session: &mut Session, lines: &[&str]) -> Vec<String> {
        let mut input = sent(lines);
        let mut output = BytesMut::new();
        let flight = session.take(&mut input).expect("commands");
        self.runtime.block_on(session.run(flight, &mut output));
        answers(&output)
    }

    fn ask(&self, session: &mut Session, line: &str) -> String {
        self.ask_all(session, &[line]).remove(0)
    }
}

/// Commands as they are sent.
fn sent(lines: &[&str]) -> BytesMut {
    let lines = lines
        .iter()
        .flat_map(|line| encode(&line.split(' ').collect::<Vec<_>>()));
    BytesMut::from(&*lines.collect::<Vec<_>>())
}

/// A transaction that has the serial stage, and has deleted all keys.
struct Long {
    end: Sender<()>,
    thread: JoinHandle<Result<(), Error>>,
}

impl Long {
    /// Begins it, and returns when it has deleted them.
    fn begin(world: &World) -> Long {
        Long::begin_then(world, |_| {})
    }

    /// The same; it calls `waits` once it has reported that it has the stage.
    fn begin_then(world: &World, waits: impl FnOnce(&Receiver<()>)) -> Long {
        let tables = world.tables().clone();
        let (told, tells) = channel();
        let (end, ends) = channel();
        let thread = std::thread::spawn(move || {
            let mut turn = tables.turn()?;
            let _ = told.send(());
            let begun = turn.set_out();
            turn.run(Durability::Durable, |tx| {
                for name in KEY_TABLES {
                    // The tables of other databases exist once these have had a key.
                    if tx.definitions().iter().any(|there| there.name == name) {
                        tx.rows(name)?.retain(|_| Ok(false))?;
                    }
                }
                let _ = told.send(());
                let _ = ends.recv();
                drop(begun);
                Ok(())
            })
        });
        tells.recv().expect("it has the stage");
        waits(&tells);
        tells.recv().expect("it has deleted them");
        Long { end, thread }
    }

    /// Has it commit.
    fn commit(self) {
        assert!(!self.thread.is_finished());
        drop(self.end);
        let ended = self.thread.join().expect("it does not panic");
        ended.expect("it commits");
    }
}

/// All shapes in which others can have the stage.
fn shapes() -> [Shape; 2] {
    let pipelined = Shape::Pipelined {
        input_threads: 1,
        output_threads: 1,
    };
    [Shape::Coalesced, pipelined]
}

/// The names of all commands that only read, as `COMMAND` reports them.
fn names_of_reads(world: &World) -> BTreeSet<String> {
    let mut session = world.session();
    let mut input = BytesMut::from(&b"COMMAND\r\n"[..]);
    let mut output = BytesMut::new();
    let flight = session.take(&mut input).expect("a command");
    world.runtime.block_on(session.run(flight, &mut output));
    let output = Bytes::from(output.to_vec());
    let decoded = redis_protocol::resp2::decode::decode_bytes(&output);
    let Ok(Some((BytesFrame::Array(commands), _))) = decoded else {
        panic!("no list of commands");
    };
    let text = |frame: &BytesFrame| match frame {
        BytesFrame::SimpleString(bytes) | BytesFrame::BulkString(bytes) => {
            String::from_utf8(bytes.to_vec()).expect("a text")
        }
        other => panic!("no text: {other:?}"),
    };
    // Commands of which some subcommands read.
    let mut names = BTreeSet::from(["function", "object", "memory", "xinfo"].map(str::to_string));
    for command in &commands {
        let BytesFrame::Array(facts) = command else {
            panic!("no command: {command:?}");
        };
        let BytesFrame::Array(flags) = &facts[2] else {
            panic!("no flags: {facts:?}");
        };
        if flags.iter().map(text).any(|flag| flag == "readonly") {
            names.insert(text(&facts[0]));
        }
    }
    names
}

#[test]
fn each_command_that_only_reads_is_answered_beside_a_long_transaction() {
    for shape in shapes() {
        let world = World::new(Options::new().shape(shape));
        let name_of = |line: &&str| line.split(' ').next().map(str::to_lowercase);
        let asked: BTreeSet<_> = READS.iter().filter_map(name_of).collect();
        assert_eq!(names_of_reads(&world), asked, "a line in READS for each");
        let mut before = world.session();
        let expected: BTreeMap<_, _> = READS
            .iter()
            .map(|line| (*line, world.ask(&mut before, line)))
            .collect();
        let long = Long::begin(&world);
        // The same random numbers.
        let mut beside = world.session();
        for line in READS {
            assert_eq!(world.ask(&mut beside, line), expected[line], "{line}");
        }
        let together = world.ask_all(&mut world.session(), READS);
        let each: Vec<_> = READS.iter().map(|line| expected[line].clone()).collect();
        assert_eq!(together, each);
        let info = world.ask(&mut beside, "INFO");
        assert!(info.contains("db0:keys=10,"), "{info}");
        long.commit();
        assert_eq!(world.ask(&mut beside, "DBSIZE"), ":0");
        assert_eq!(world.ask(&mut beside, "MGET string number"), "[nil nil]");
    }
}

/// While a command that may take long has the stage, only it can close the group of what was executed before.
#[test]
fn i1_what_was_executed_before_a_long_command_is_durable_and_answered_while_it_runs() {
    let world = World::new(Options::new().shape(Shape::Coalesced));
    let ((begun, begins), (end, ends)) = (channel(), channel());
    let ends = Mutex::new(ends);
    world.keyspace.register_function("long", move |_, _, _| {
        let _ = begun.send(());
        let _ = ends.lock().expect("one at a time").recv();
        Ok(Reply::Ok)
    });
    let gathering = world.tables().gather();
    for lines in [&["FCALL long 0"][..], &["MULTI", "FCALL long 0", "EXEC"]] {
        let (mut one, mut other) = (world.session(), world.session());
        let mut output = BytesMut::new();
        let flight = one.take(&mut sent(&["INCR counter"])).expect("a command");
        let mut counted = pin!(one.run(flight, &mut output));
        let mut context = Context::from_waker(Waker::noop());
        // Its group gathers: no thread rests.
        assert!(counted.as_mut().poll(&mut context).is_pending());
        let mut input = sent(lines);
        let long = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let runtime = runtime.expect("a runtime");
            let mut output = BytesMut::new();
            while !input.is_empty() {
                let flight = other.take(&mut input).expect("commands");
                runtime.block_on(other.run(flight, &mut output));
            }
            answers(&output)
        });
        begins.recv().expect("it has the stage");
        let begun = Instant::now();
        while counted.as_mut().poll(&mut context).is_pending() {
            assert!(begun.elapsed() < FOR_EVER, "it waits for the long command");
            std::thread::yield_now();
        }
        assert!(!long.is_finished());
        end.send(()).expect("it runs");
        let answers = long.join().expect("it ends");
        assert!(answers.last().is_some_and(|last| last.contains("OK")));
    }
    drop(gathering);
    assert_eq!(world.ask(&mut world.session(), "GET counter"), "\"2\"");
}

#[test]
fn what_has_expired_is_absent_and_stays() {
    let world = World::new(Options::new());
    let long = Long::begin(&world);
    let mut session = world.session();
    assert_eq!(world.ask(&mut session, "GET expired"), "nil");
    assert_eq!(world.ask(&mut session, "EXISTS expired later"), ":1");
    // It is counted until a command or a sweep deletes it, as everywhere.
    assert_eq!(world.ask(&mut session, "DBSIZE"), ":10");
    long.commit();
}

#[test]
fn transactions_that_only_read_are_answered_and_watched_keys_are_compared_later() {
    for shape in shapes() {
        let world = World::new(Options::new().shape(shape));
        let (mut one, mut other) = (world.session(), world.session());
        let long = Long::begin(&world);
        let lines = [
            "WATCH string",
            "MULTI",
            "PING",
            "GET string",
            "LLEN list",
            "EXEC",
        ];
        let answered = [
            "+OK",
            "+OK",
            "+QUEUED",
            "+QUEUED",
            "+QUEUED",
            "[+PONG \"text\" :4]",
        ];
        assert_eq!(world.ask_all(&mut one, &lines), answered);
        assert_eq!(
            world.ask_all(&mut one, &["WATCH string absent", "MULTI", "SET k v"]),
            ["+OK", "+OK", "+QUEUED"]
        );
        assert_eq!(world.ask(&mut other, "WATCH absent"), "+OK");
        long.commit();
        // One of its keys has changed, the other's has not.
        assert_eq!(world.ask(&mut one, "EXEC"), "nil");
        let lines = ["MULTI", "SET k v", "EXEC"];
        assert_eq!(world.ask_all(&mut other, &lines)[2], "[+OK]");
    }
}

#[test]
fn a_scan_goes_on_beside_a_long_transaction_and_behind_it() {
    let world = World::new(Options::new());
    let mut session = world.session();
    let fields: Vec<_> = (0..2000).map(|n| format!("f{n:04} v")).collect();
    world.ask(&mut session, &format!("HSET large {}", fields.join(" ")));
    let part = |answer: &str| {
        let cursor = answer.split('"').nth(1).expect("a cursor").to_string();
        (cursor, answer.matches("\"v\"").count())
    };
    let (cursor, first) = part(&world.ask(&mut session, "HSCAN large 0 COUNT 600"));
    let long = Long::begin(&world);
    let line = format!("HSCAN large {cursor} COUNT 1000");
    let (cursor, second) = part(&world.ask(&mut session, &line));
    assert_eq!((first, second), (600, 1000));
    let (end, third) = part(&world.ask(&mut session, &format!("HSCAN large {cursor} COUNT 1000")));
    assert_eq!((end.as_str(), third), ("0", 400));
    long.commit();
    let behind = world.ask(&mut session, &format!("HSCAN large {cursor}"));
    assert_eq!(behind, "[\"0\" []]");
}

#[test]
fn a_flight_that_changes_something_waits_as_long_as_it_may() {
    for shape in shapes() {
        let world = World::new(Options::new().shape(shape));
        world
            .keyspace
            .register_reading_function("own", |_, _, _| Ok(Reply::Int(1)));
        let long = Long::begin(&world);
        for lines in [
            &["SET a 1"][..],
            &["GET string", "INCR a", "GET string"],
            &["MULTI", "GET string", "DEL string", "EXEC"],
            // The program's own want a transaction.
            &["FCALL_RO own 0"],
            // One that waits reads where others write.
            &["XREAD BLOCK 0 STREAMS stream 0"],
        ] {
            let mut session = world.session();
            let interrupt = Arc::new(Interrupt::default());
            interrupt.request();
            let answers = interruptible(&interrupt, None, || world.ask_all(&mut session, lines));
            let last = answers.last().map(String::as_str);
            assert_eq!(
                last,
                Some("-ERR not run: interrupted (Request)"),
                "{lines:?}"
            );
            // The connection goes on.
            assert_eq!(world.ask(&mut session, "GET number"), "\"7\"");
        }
        long.commit();
        assert_eq!(world.ask(&mut world.session(), "EXISTS a"), ":0");
    }
}

#[test]
fn a_read_that_waits_goes_on_when_a_long_transaction_sets_out() {
    for shape in shapes() {
        let world = World::new(Options::new().shape(shape));
        let mut session = world.session();
        let (answer, answers) = channel();
        std::thread::scope(|scope| {
            let long = Long::begin_then(&world, |_| {
                // It comes while the stage is taken, before the state can be read, or just then.
                scope.spawn(|| {
                    let mut input = BytesMut::from(&b"GET string\r\n"[..]);
                    let mut output = BytesMut::new();
                    let flight = session.take(&mut input).expect("a command");
                    let runtime = tokio::runtime::Builder::new_current_thread().build();
                    let runtime = runtime.expect("a runtime");
                    runtime.block_on(session.run(flight, &mut output));
                    answer.send(output).expect("somebody waits");
                });
            });
            assert_eq!(&answers.recv().expect("an answer")[..], b"$4\r\ntext\r\n");
            long.commit();
        });
    }
}

#[test]
fn a_read_waits_where_there_is_no_memory_for_the_state_from_before() {
    let world = World::new(Options::new().snapshot_bytes_max(1 << 16));
    let mut session = world.session();
    let fields: Vec<_> = (0..5000).map(|n| format!("f{n:04} v")).collect();
    world.ask(&mut session, &format!("HSET large {}", fields.join(" ")));
    // It changes many pages.
    let long = Long::begin(&world);
    let interrupt = Arc::new(Interrupt::default());
    interrupt.request();
    let waits = interruptible(&interrupt, None, || world.ask(&mut session, "GET string"));
    assert_eq!(waits, "-ERR not run: interrupted (Request)");
    long.commit();
    assert_eq!(world.ask(&mut session, "GET string"), "nil");
}
