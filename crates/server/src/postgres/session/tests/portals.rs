//! Portals and prepared statements: when they end, how often they run, and the names that they share with SQL.

use super::{World, extended, message, query, sync};

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
