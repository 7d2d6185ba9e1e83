//! Answers of a session that is cancelled between the run of its statements and their answers, and of messages for one
//! portal that arrive together.

mod failures;
mod portals;

use super::answering::Send;
use super::{Session, Wants};
use crate::postgres::message::MessageError;
use bytes::BytesMut;
use sardonyx::disk::GroupLimits;
use sardonyx::{Options, Tables};
use sardonyx_sql::{Database, Interrupt, SessionOptions};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A client that cancels the statement that has just run.
struct Canceller(Option<Arc<Interrupt>>);

impl Send for Canceller {
    async fn send(&mut self, _: &mut BytesMut) -> std::io::Result<()> {
        Ok(())
    }

    fn ran<'a>(&mut self, _: impl Iterator<Item = &'a str>, _: Duration) {
        if let Some(interrupt) = &self.0 {
            interrupt.request();
        }
    }
}

struct World {
    _directory: TempDir,
    session: Session,
    interrupt: Arc<Interrupt>,
    database: Arc<Database>,
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

fn query(text: &str) -> Vec<u8> {
    message(b'Q', format!("{text}\0").as_bytes())
}

fn extended(text: &str, rows_max: u8) -> Vec<u8> {
    let mut bytes = message(b'P', format!("\0{text}\0\0\0").as_bytes());
    bytes.extend(message(b'B', b"\0\0\0\0\0\0\0\0"));
    bytes.extend(message(b'E', &[0, 0, 0, 0, rows_max]));
    bytes
}

fn sync() -> Vec<u8> {
    message(b'S', b"")
}

impl World {
    fn new() -> World {
        let directory = tempfile::tempdir().unwrap();
        let tables = Options::new()
            .segment_bytes(1 << 20)
            .log_bytes_max(8 << 20)
            .log_bytes_prepared(0)
            .memory_bytes_max(64 << 20)
            .group_limits(GroupLimits {
                group_bytes: 256 << 10,
                transaction_bytes: 256 << 10,
                depth: 2,
                buffers: 6,
            })
            .open_tables(directory.path().join("bank.sdx"));
        let database = Database::new(Arc::<Tables>::new(tables.unwrap())).unwrap();
        let interrupt = Arc::new(Interrupt::default());
        let sql = sardonyx_sql::Session::new(database.clone(), SessionOptions::default()).unwrap();
        let mut world = World {
            _directory: directory,
            session: Session::new(sql, interrupt.clone()),
            interrupt,
            database,
        };
        let made = "CREATE TABLE t (id int PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3)";
        assert_eq!(world.say(query(made)), "C C Z:I");
        world
    }

    /// The session's messages as text: their kinds, the code of an error, and the status.
    fn heard(&mut self, bytes: Vec<u8>, cancels: bool) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let mut client = Canceller(cancels.then(|| self.interrupt.clone()));
        let (mut input, mut output) = (BytesMut::from(&bytes[..]), BytesMut::new());
        let runtime = runtime.unwrap();
        while self.session.receive(&mut input).unwrap() != Wants::Bytes {
            let run = self.session.run(&mut output, &mut client);
            runtime.block_on(run).unwrap();
        }
        let mut heard = Vec::new();
        while !output.is_empty() {
            let length = u32::from_be_bytes(output[1..5].try_into().unwrap()) as usize;
            let one = output.split_to(length + 1);
            heard.push(match one[0] {
                b'E' => {
                    let fields = one[5..].split(|&byte| byte == 0);
                    let code = fields.filter_map(|field| field.strip_prefix(b"C")).next();
                    format!("E:{}", String::from_utf8_lossy(code.unwrap()))
                }
                b'Z' => format!("Z:{}", one[5] as char),
                kind => (kind as char).to_string(),
            });
        }
        heard.join(" ")
    }

    fn say(&mut self, bytes: Vec<u8>) -> String {
        self.heard(bytes, false)
    }

    fn cancelled(&mut self, bytes: Vec<u8>) -> String {
        self.heard(bytes, true)
    }
}

#[test]
fn what_is_durable_is_not_told_to_be_cancelled() {
    let mut world = World::new();
    let insert = "INSERT INTO t VALUES (4) RETURNING id";
    assert_eq!(world.cancelled(query(insert)), "T D C Z:I");
    let both = "INSERT INTO t VALUES (5); SELECT id FROM t WHERE id = 5";
    assert_eq!(world.cancelled(query(both)), "C T D C Z:I");
    // In pieces of one transaction, of which the first is done when the second arrives.
    let mut bytes = extended("CREATE TABLE u (id int PRIMARY KEY)", 0);
    bytes.extend(extended("SELECT id FROM u", 0));
    bytes.extend(sync());
    assert_eq!(world.cancelled(bytes), "1 2 C 1 2 C Z:I");
    assert_eq!(world.say(query("BEGIN")), "C Z:T");
    let delete = "DELETE FROM t WHERE id = 4 RETURNING id";
    assert_eq!(world.cancelled(query(delete)), "T D C Z:T");
    // The commit is of what was deleted.
    let both = "SELECT id FROM t WHERE id = 1; COMMIT";
    assert_eq!(world.cancelled(query(both)), "T D C C Z:I");
    assert_eq!(
        world.say(query("SELECT id FROM t WHERE id >= 4")),
        "T D C Z:I"
    );
    // Rows of a change that were not fetched yet.
    assert_eq!(world.say(query("BEGIN")), "C Z:T");
    let mut bytes = extended("DELETE FROM t RETURNING id", 2);
    bytes.extend(message(b'E', &[0, 0, 0, 0, 1]));
    bytes.extend(sync());
    assert_eq!(world.cancelled(bytes), "1 2 D D s D s Z:T");
    let more = [message(b'E', &[0, 0, 0, 0, 0]), sync()].concat();
    assert_eq!(world.cancelled(more), "D C Z:T");
    assert_eq!(world.say(query("ROLLBACK")), "C Z:I");
}

#[test]
fn a_cancelled_read_fails_the_transaction_that_it_is_in() {
    let mut world = World::new();
    let read = "SELECT id FROM t";
    assert_eq!(world.cancelled(query(read)), "T E:57014 Z:I");
    assert_eq!(
        world.cancelled(query("BEGIN; SELECT id FROM t")),
        "C T E:57014 Z:E"
    );
    assert_eq!(world.say(query(read)), "E:25P02 Z:E");
    assert_eq!(world.say(query("COMMIT")), "C Z:I");
    // The earlier insert is undone.
    let written = "BEGIN; INSERT INTO t VALUES (9)";
    assert_eq!(world.say(query(written)), "C C Z:T");
    assert_eq!(world.cancelled(query(read)), "T E:57014 Z:E");
    assert_eq!(world.say(query("COMMIT")), "C Z:I");
    assert_eq!(world.say(query("SELECT id FROM t WHERE id = 9")), "T C Z:I");
}

#[test]
fn after_an_error_nothing_is_said_up_to_the_sync() {
    let mut world = World::new();
    let read = || extended("SELECT id FROM t", 0);
    let mut bytes = read();
    bytes.extend(read());
    bytes.extend(message(b'B', b"\0\0\0\0\0\0\0\0"));
    bytes.extend(extended("SELECT * FROM nowhere", 0));
    bytes.extend(sync());
    assert_eq!(world.cancelled(bytes), "1 2 E:57014 Z:I");
    // The next part is answered.
    let bytes = [read(), sync(), extended("SELECT 1", 0), sync()].concat();
    assert_eq!(world.cancelled(bytes), "1 2 E:57014 Z:I 1 2 D C Z:I");
    // Each end reports the status at its own place, not the last one.
    let bytes = [query("BEGIN"), query("SELECT 1"), query("COMMIT")].concat();
    assert_eq!(world.cancelled(bytes), "C Z:T T D C Z:T C Z:I");
}

#[test]
fn a_portal_gives_its_rows_before_it_is_closed_or_bound_anew() {
    let mut world = World::new();
    let more = |most| message(b'E', &[0, 0, 0, 0, most]);
    let read = "SELECT id FROM t";
    let close = message(b'C', b"P\0");
    let bytes = [extended(read, 1), more(1), close.clone(), sync()].concat();
    assert_eq!(world.say(bytes), "1 2 D s D s 3 Z:I");
    let anew = extended(read, 2);
    let bytes = [extended(read, 1), more(1), more(0), anew, sync()].concat();
    assert_eq!(world.say(bytes), "1 2 D s D s D C 1 2 D D s Z:I");
    // No statement after the error runs.
    let wrong = extended("SELECT 1 / 0", 1);
    let bytes = [wrong, more(1), close, sync(), query("SELECT 1")].concat();
    assert_eq!(world.say(bytes), "1 2 E:22012 Z:I T D C Z:I");
}

#[test]
fn a_password_that_was_not_asked_for_ends_the_connection() {
    let mut world = World::new();
    let bytes = [query("SELECT 1"), message(b'p', b"x\0")].concat();
    let mut input = BytesMut::from(&bytes[..]);
    // The messages before it are answered.
    assert_eq!(world.session.receive(&mut input).unwrap(), Wants::Run);
    assert_eq!(world.heard(Vec::new(), false), "T D C Z:I");
    let error = world.session.receive(&mut input).unwrap_err();
    assert_eq!(error, MessageError::Kind { kind: b'p' });
}

#[test]
fn an_error_is_sent_at_the_flush_and_nothing_more_up_to_the_sync() {
    let mut world = World::new();
    let flush = || message(b'H', b"");
    let parse = |text: &str| message(b'P', format!("\0{text}\0\0\0").as_bytes());
    let describe = message(b'D', b"S\0");
    for (wrong, code) in [
        ("SELECT * FROM nowhere", "42P01"),
        ("selec 1", "42601"),
        ("SELECT nothing FROM t", "42703"),
    ] {
        let bytes = [parse(wrong), describe.clone(), flush()].concat();
        assert_eq!(world.say(bytes), format!("E:{code}"), "{wrong}");
        // The messages up to the Sync are skipped.
        let bytes = [parse("SELECT 1"), describe.clone(), flush()].concat();
        assert_eq!(world.say(bytes), "");
        assert_eq!(world.say(sync()), "Z:I");
    }
    // An error of Bind, of Describe, and of Execute.
    let bind = message(b'B', b"\0nothing\0\0\0\0\0\0\0");
    let unknown = message(b'D', b"Snothing\0");
    for (bytes, heard) in [
        ([bind, flush()].concat(), "E:26000"),
        ([unknown, flush()].concat(), "E:26000"),
        (
            [extended("SELECT 1 / 0", 0), flush()].concat(),
            "1 2 E:22012",
        ),
    ] {
        assert_eq!(world.say(bytes), heard);
        assert_eq!(world.say(flush()), "");
        assert_eq!(world.say(sync()), "Z:I");
    }
    // In a transaction that a client began.
    assert_eq!(world.say(query("BEGIN")), "C Z:T");
    let bytes = [parse("SELECT * FROM nowhere"), flush()].concat();
    assert_eq!(world.say(bytes), "E:42P01");
    assert_eq!(world.say(sync()), "Z:E");
    let bytes = [extended("SELECT 1", 0), describe, flush()].concat();
    assert_eq!(world.say(bytes), "E:25P02");
    assert_eq!(world.say(sync()), "Z:E");
    assert_eq!(world.say(query("ROLLBACK")), "C Z:I");
    let bytes = [
        extended("SELECT id FROM t WHERE id = 1", 0),
        flush(),
        sync(),
    ]
    .concat();
    assert_eq!(world.say(bytes), "1 2 D C Z:I");
}

#[test]
fn large_rows_that_are_read_in_portions_count_among_the_memory_of_all() {
    let mut world = World::new();
    let made = world.say(query("CREATE TABLE large (id int PRIMARY KEY, b text)"));
    assert_eq!(made, "C Z:I");
    for id in 0..6 {
        let insert = format!("INSERT INTO large VALUES ({id}, repeat('x', 200000))");
        assert_eq!(world.say(query(&insert)), "C Z:I");
    }
    // Each portion takes its bytes twice: as values and as written bytes.
    let memory = world.database.memory().clone();
    memory.set_bytes_max(2 << 20);
    let all = "SELECT b FROM large";
    assert_eq!(world.say(query(all)), "E:53200 Z:I");
    assert_eq!(memory.taken(), 0);
    memory.set_bytes_max(4 << 20);
    assert_eq!(world.say(query(all)), "T D D D D D D C Z:I");
    assert_eq!(memory.taken(), 0);
    // A portal that still has rows keeps their memory until it is closed.
    let bytes = [extended(all, 1), message(b'H', b"")].concat();
    let begun = world.say([query("BEGIN"), bytes].concat());
    assert!(begun.ends_with("D s"), "{begun}");
    assert!(memory.taken() > 0);
    assert_eq!(world.say([sync(), query("COMMIT")].concat()), "Z:T C Z:I");
    assert_eq!(memory.taken(), 0);
}

#[test]
fn what_is_made_of_rows_counts_before_it_is_made() {
    let mut world = World::new();
    let made = world.say(query("CREATE TABLE large (id int PRIMARY KEY, b text)"));
    assert_eq!(made, "C Z:I");
    for id in 0..6 {
        let insert = format!("INSERT INTO large VALUES ({id}, repeat('x', 200000))");
        assert_eq!(world.say(query(&insert)), "C Z:I");
    }
    let memory = world.database.memory().clone();
    for (text, answer) in [
        ("SELECT string_agg(b, '') FROM large", "T D C Z:I"),
        ("SELECT json_agg(b) FROM large", "T D C Z:I"),
        (
            "SELECT array_agg(b) FROM large GROUP BY id < 9",
            "T D C Z:I",
        ),
        ("COPY large TO STDOUT", "H d d d d d d c C Z:I"),
        ("SELECT repeat('x', 1200000)", "T D C Z:I"),
    ] {
        // The rows take 1.2 MB as values, and twice as much when they are written.
        memory.set_bytes_max(3 << 20);
        assert_eq!(world.say(query(text)), "E:53200 Z:I", "{text}");
        memory.set_bytes_max(9 << 20);
        assert_eq!(world.say(query(text)), answer, "{text}");
        assert_eq!(memory.taken(), 0, "{text}");
    }
}
