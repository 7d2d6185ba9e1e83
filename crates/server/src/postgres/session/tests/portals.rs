//! Portals and prepared statements: when they end, how often they run, and the names that they share with SQL's.

use super::{World, extended, message, query, sync};

fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

fn bind(name: &str) -> Vec<u8> {
    message(b'B', format!("\0{name}\0\0\0\0\0\0\0").as_bytes())
}

fn execute() -> Vec<u8> {
    message(b'E', &[0; 5])
}

#[test]
fn a_transaction_that_failed_takes_nothing_but_its_end() {
    let mut world = World::new();
    let describe = |kind: char, name: &str| message(b'D', format!("{kind}{name}\0").as_bytes());
    let named = [parse("s", "SELECT 1"), parse("i", "DELETE FROM t"), sync()].concat();
    assert_eq!(world.say(named), "1 1 Z:I");
    assert_eq!(world.say(query("BEGIN; SELECT 1 / 0")), "C E:22012 Z:E");
    for (bytes, heard) in [
        (parse("", "SELECT 1"), "E:25P02 Z:E"),
        // The error is that of the transaction, also if the statement has another.
        (parse("", "SELECT * FROM nowhere"), "E:25P02 Z:E"),
        (parse("", "selec 1"), "E:42601 Z:E"),
        (parse("", ""), "1 Z:E"),
        ([parse("", ""), bind("")].concat(), "1 E:25P02 Z:E"),
        (bind("s"), "E:25P02 Z:E"),
        (bind("nothing"), "E:26000 Z:E"),
        (describe('S', "s"), "E:25P02 Z:E"),
        (describe('S', "i"), "t n Z:E"),
        (query("SELECT 1"), "E:25P02 Z:E Z:E"),
        (
            [parse("", "COMMIT"), describe('S', "")].concat(),
            "1 t n Z:E",
        ),
    ] {
        assert_eq!(world.say([bytes, sync()].concat()), heard);
    }
    let undo = [parse("", "ROLLBACK"), bind(""), execute()].concat();
    let bytes = [undo, extended("SELECT 1", 0), sync()].concat();
    assert_eq!(world.say(bytes), "1 2 C 1 2 D C Z:I");
}

#[test]
fn what_is_sent_behind_a_failure_that_is_not_seen_yet_is_refused_too() {
    let mut world = World::new();
    let fails = || extended("SELECT 1 / 0", 0);
    assert_eq!(world.say(query("BEGIN")), "C Z:T");
    let undo = [parse("", "ROLLBACK"), bind(""), execute(), sync()].concat();
    let one = [bind("n"), execute(), sync()].concat();
    let bytes = [
        [fails(), sync()].concat(),
        [extended("SELECT 1", 0), sync()].concat(),
        [parse("n", "SELECT 1"), sync()].concat(),
        undo,
        one.clone(),
    ];
    let heard = "1 2 E:22012 Z:E E:25P02 Z:E E:25P02 Z:E 1 2 C Z:I E:26000 Z:I";
    assert_eq!(world.say(bytes.concat()), heard);
    // A name that was not heard to be taken is free.
    let parsed = || parse("n", "SELECT 1");
    let bytes = [fails(), parsed(), sync(), parsed(), one.clone()].concat();
    assert_eq!(world.say(bytes), "1 2 E:22012 Z:I 1 2 D C Z:I");
    // A statement whose end was passed over remains.
    let bytes = [fails(), message(b'C', b"Sn\0"), sync(), one].concat();
    assert_eq!(world.say(bytes), "1 2 E:22012 Z:I 2 D C Z:I");
}

#[test]
fn a_copy_in_a_transaction_that_failed_is_passed_over_up_to_its_end() {
    let mut world = World::new();
    assert_eq!(world.say(query("BEGIN; SELECT 1 / 0")), "C E:22012 Z:E");
    assert_eq!(world.say(query("COPY t FROM STDIN")), "E:25P02 Z:E");
    let data = [message(b'd', b"9\n"), message(b'c', b"")].concat();
    assert_eq!(world.say(data), "");
    // It does not wait for a Sync that a simple query does not send.
    assert_eq!(world.say(query("ROLLBACK")), "C Z:I");
    assert_eq!(world.say(query("SELECT id FROM t WHERE id = 9")), "T C Z:I");
}

#[test]
fn a_message_without_a_place_in_a_copy_ends_the_connection() {
    for begun in [query("COPY t FROM STDIN"), extended("COPY t FROM STDIN", 0)] {
        for (kind, bytes) in [
            (b'Q', query("SELECT 1")),
            (b'P', parse("", "SELECT 1")),
            (b'p', message(b'p', b"x\0")),
            (b'z', message(b'z', b"")),
        ] {
            let mut world = World::new();
            assert!(world.say(begun.clone()).ends_with('G'));
            let error = world.session.receive(&mut BytesMut::from(&bytes[..]));
            assert_eq!(error.unwrap_err(), MessageError::InCopy { kind });
        }
    }
    let mut world = World::new();
    let waits = [sync(), message(b'H', b""), message(b'c', b"")].concat();
    assert_eq!(world.say(query("COPY t FROM STDIN")), "G");
    assert_eq!(world.say(waits), "C Z:I");
    // Outside of a copy its messages mean nothing.
    let stray = [message(b'd', b"x"), message(b'c', b""), message(b'f', b"x")].concat();
    assert_eq!(world.say([stray, query("SELECT 1")].concat()), "T D C Z:I");
}

#[test]
fn a_message_that_cannot_be_read_is_an_error_and_not_the_end() {
    let mut world = World::new();
    let one = || query("SELECT 1");
    for (bytes, heard) in [
        (message(b'Q', b"SELECT 1"), "E:08P01 Z:I"),
        (message(b'Q', b"SELECT 1\0x"), "E:08P01 Z:I"),
        (message(b'Q', b"SELECT '\xff'\0"), "E:22021 Z:I"),
        (message(b'S', b"x"), "E:08P01 Z:I"),
        (message(b'F', b""), "E:0A000 Z:I"),
        // Up to the Sync, what belongs together is passed over.
        (
            [
                message(b'B', b"x"),
                bind(""),
                message(b'D', b"Zx\0"),
                sync(),
            ]
            .concat(),
            "E:08P01 Z:I",
        ),
        (
            [message(b'P', b"\0\xff\0\0\0"), sync()].concat(),
            "E:22021 Z:I",
        ),
        (
            [message(b'B', b"\0\0\0\x01\0\x07\0\0\0\0"), sync()].concat(),
            "E:22023 Z:I",
        ),
    ] {
        assert_eq!(
            world.say([bytes, one()].concat()),
            format!("{heard} T D C Z:I")
        );
    }
    // What stands before one that ends the connection is answered.
    let bytes = [one(), message(b'z', b"")].concat();
    let mut input = BytesMut::from(&bytes[..]);
    assert_eq!(world.session.receive(&mut input).unwrap(), Wants::Run);
    assert_eq!(world.heard(Vec::new(), false), "T D C Z:I");
    let error = world.session.receive(&mut input).unwrap_err();
    assert_eq!(error, MessageError::Kind { kind: b'z' });
}

fn parse(name: &str, text: &str) -> Vec<u8> {
    message(b'P', format!("{name}\0{text}\0\0\0").as_bytes())
}

fn bind(portal: &str, statement: &str) -> Vec<u8> {
    let mut body = format!("{portal}\0{statement}\0").into_bytes();
    body.extend([0; 6]);
    message(b'B', &body)
}

fn execute(portal: &str, rows_max: u8) -> Vec<u8> {
    let mut body = format!("{portal}\0").into_bytes();
    body.extend([0, 0, 0, rows_max]);
    message(b'E', &body)
}

fn describe(kind: char, name: &str) -> Vec<u8> {
    message(b'D', format!("{kind}{name}\0").as_bytes())
}

#[test]
fn a_portal_without_rows_runs_once() {
    let mut world = World::new();
    let twice = [
        extended("INSERT INTO t VALUES (10)", 0),
        execute("", 0),
        sync(),
    ];
    assert_eq!(world.say(twice.concat()), "1 2 C E:55000 Z:I");
    let there = world.say(query("SELECT id FROM t WHERE id = 10"));
    assert_eq!(there, "T C Z:I", "all of it is undone");
}

#[test]
fn a_portal_that_gave_as_many_rows_as_were_asked_for_is_suspended() {
    let mut world = World::new();
    let all = [extended("SELECT id FROM t", 3), execute("", 3), sync()];
    assert_eq!(world.say(all.concat()), "1 2 D D D s C Z:I");
    let returned = "INSERT INTO t VALUES (11), (12) RETURNING id";
    let one = [extended(returned, 1), execute("", 0), sync()];
    assert_eq!(world.say(one.concat()), "1 2 D s D C Z:I");
}

#[test]
fn portals_end_with_their_transaction_also_when_all_arrives_at_once() {
    let mut world = World::new();
    let late = [
        parse("", "SELECT 1"),
        bind("p", ""),
        sync(),
        execute("p", 0),
        sync(),
    ];
    assert_eq!(world.say(late.concat()), "1 2 Z:I E:34000 Z:I");
    let described = [
        parse("", "SELECT 1"),
        bind("p", ""),
        sync(),
        describe('P', "p"),
        sync(),
    ];
    assert_eq!(world.say(described.concat()), "1 2 Z:I E:34000 Z:I");
    let open = [
        query("BEGIN"),
        parse("", "SELECT id FROM t"),
        bind("p", ""),
        execute("p", 1),
        sync(),
        execute("p", 0),
        sync(),
        query("COMMIT"),
    ];
    assert_eq!(
        world.say(open.concat()),
        "C Z:T 1 2 D s Z:T D D C Z:T C Z:I"
    );
}

#[test]
fn a_parse_that_fails_leaves_no_unnamed_statement() {
    let mut world = World::new();
    let failed = [
        parse("", "SELECT 1"),
        sync(),
        parse("", "SELEC"),
        sync(),
        describe('S', ""),
        sync(),
    ];
    assert_eq!(world.say(failed.concat()), "1 Z:I E:42601 Z:I E:26000 Z:I");
}

#[test]
fn statements_have_one_name_in_sql_and_in_the_protocol() {
    let mut world = World::new();
    let of_protocol = [
        parse("n", "SELECT 1"),
        sync(),
        query("EXECUTE n"),
        query("DEALLOCATE n"),
        bind("", "n"),
        sync(),
    ];
    assert_eq!(
        world.say(of_protocol.concat()),
        "1 Z:I T D C Z:I C Z:I E:26000 Z:I"
    );
    let of_sql = [
        query("PREPARE s AS SELECT 1"),
        bind("", "s"),
        execute("", 0),
        describe('S', "s"),
        message(b'C', b"Ss\0"),
        sync(),
        query("EXECUTE s"),
    ];
    assert_eq!(
        world.say(of_sql.concat()),
        "C Z:I 2 D C t T 3 Z:I E:26000 Z:I"
    );
    for all in ["DEALLOCATE ALL", "DISCARD ALL"] {
        let removed = [
            parse("a", "SELECT 1"),
            sync(),
            query(all),
            bind("", "a"),
            sync(),
            parse("a", "SELECT 2"),
            sync(),
            query("DEALLOCATE a"),
        ];
        let heard = world.say(removed.concat());
        assert_eq!(heard, "1 Z:I C Z:I E:26000 Z:I 1 Z:I C Z:I", "{all}");
    }
    let other = [
        parse("b", "BEGIN"),
        sync(),
        query("EXECUTE b"),
        query("PREPARE b AS SELECT 1"),
    ];
    assert_eq!(world.say(other.concat()), "1 Z:I E:42601 Z:I E:42P05 Z:I");
}

#[test]
fn data_of_a_copy_that_takes_too_much_memory_is_refused_before_its_end() {
    let mut world = World::new();
    world.session.sql().memory().set_bytes_max(4 << 20);
    assert_eq!(world.say(query("COPY t FROM STDIN")), "G");
    let piece = message(b'd', &vec![b'1'; 1 << 20]);
    let mut heard = Vec::new();
    for _ in 0..6 {
        heard.push(world.say(piece.clone()));
    }
    assert_eq!(heard.concat(), "E:53200 Z:I");
    assert_eq!(world.say(message(b'c', b"")), "");
    assert_eq!(world.session.sql().memory().taken(), 0);
    assert_eq!(world.say(query("SELECT 1")), "T D C Z:I");
}
