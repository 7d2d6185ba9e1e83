//! Failures of transactions and of messages, and messages that are not allowed in the session's state.

use super::{MessageError, Wants, World, extended, message, query, sync};
use bytes::BytesMut;

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
        // The error is the transaction's, even if the statement has another.
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
    // A name is free if the client did not receive the message that it is taken.
    let parsed = || parse("n", "SELECT 1");
    let bytes = [fails(), parsed(), sync(), parsed(), one.clone()].concat();
    assert_eq!(world.say(bytes), "1 2 E:22012 Z:I 1 2 D C Z:I");
    // A statement remains if the message to close it was skipped.
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
            // As in PostgreSQL: the end of the connection within a copy is an error, and no row is kept.
            (b'X', message(b'X', b"")),
            (b'X', [message(b'd', b"9\n"), message(b'X', b"")].concat()),
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
    // Outside of a copy, its messages have no effect.
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
        // Up to the Sync, the messages are skipped.
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
    // The messages before one that ends the connection are answered.
    let bytes = [one(), message(b'z', b"")].concat();
    let mut input = BytesMut::from(&bytes[..]);
    assert_eq!(world.session.receive(&mut input).unwrap(), Wants::Run);
    assert_eq!(world.heard(Vec::new(), false), "T D C Z:I");
    let error = world.session.receive(&mut input).unwrap_err();
    assert_eq!(error, MessageError::Kind { kind: b'z' });
}
