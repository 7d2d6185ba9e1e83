//! Cursors of SQL over sockets: a real client, by the simple and by the extended protocol.

use crate::common::{Running, postgres_alone};
use postgres::{Client, SimpleQueryMessage};

/// The rows and their number, as the simple protocol sends them.
fn told(client: &mut Client, text: &str) -> String {
    let answers = match client.simple_query(text) {
        Ok(answers) => answers,
        Err(error) => {
            let code = error.code().map(|code| code.code().to_string());
            return code.unwrap_or_else(|| error.to_string());
        }
    };
    let mut told = Vec::new();
    for answer in answers {
        match answer {
            SimpleQueryMessage::Row(row) => {
                let values = (0..row.len()).map(|at| row.get(at).unwrap_or("NULL"));
                told.push(values.collect::<Vec<_>>().join("|"));
            }
            SimpleQueryMessage::CommandComplete(count) => told.push(format!("({count})")),
            _ => {}
        }
    }
    told.join(" ")
}

fn of_numbers(running: &Running, rows: u32) -> Client {
    let mut client = running.client();
    let made = format!(
        "CREATE TABLE t (id int PRIMARY KEY, name text);
         INSERT INTO t SELECT g, 'n' || g FROM generate_series(1, {rows}) AS s(g)"
    );
    client.batch_execute(&made).unwrap();
    client
}

/// Runs a test twice: transactions that write stay in the stage for some statements, or run aside from the first one on.
fn both_ways(test: impl Fn(&Running)) {
    for aside_from in [8, 0] {
        let running = Running::start(postgres_alone());
        running.database.set_aside_from(aside_from);
        test(&running);
    }
}

#[test]
fn rows_are_fetched_forward_and_the_cursor_ends_with_its_transaction() {
    both_ways(|running| {
        let mut client = of_numbers(running, 10);
        let mut says = |text: &str| told(&mut client, text);
        assert_eq!(
            says("BEGIN; DECLARE c CURSOR FOR SELECT id, name FROM t"),
            "(0) (0)"
        );
        assert_eq!(says("FETCH 2 FROM c"), "1|n1 2|n2 (2)");
        assert_eq!(says("fetch next in C;"), "3|n3 (1)");
        assert_eq!(says("FETCH c"), "4|n4 (1)");
        assert_eq!(says("MOVE FORWARD 3 FROM \"c\""), "(3)");
        assert_eq!(says("FETCH FORWARD 100 FROM c"), "8|n8 9|n9 10|n10 (3)");
        assert_eq!(says("FETCH ALL FROM c"), "(0)");
        assert_eq!(says("CLOSE c"), "(0)");
        assert_eq!(says("SAVEPOINT s"), "(0)");
        assert_eq!(says("FETCH 1 FROM c"), "34000");
        assert_eq!(says("FETCH 1 FROM c"), "25P02");
        assert_eq!(says("ROLLBACK TO s"), "(0)");
        assert_eq!(
            says("DECLARE one NO SCROLL CURSOR WITHOUT HOLD FOR TABLE t"),
            "(0)"
        );
        assert_eq!(says("DECLARE one CURSOR FOR TABLE t"), "42P03");
        assert_eq!(says("ROLLBACK"), "(0)");
        assert_eq!(says("FETCH 1 FROM one"), "34000");
        assert_eq!(says("DECLARE c CURSOR FOR TABLE t"), "25P01");
        assert_eq!(says("FETCH 1 FROM c"), "34000");
        assert_eq!(says("FETCH BACKWARD 1 FROM c"), "34000");
        assert_eq!(says("FETCH 1 FROM c; SELECT 1"), "34000");
        assert_eq!(says("FETCH 1 FROM c SELECT 1"), "42601");
        assert_eq!(says("DECLARE c BINARY CURSOR FOR TABLE t"), "0A000");
        assert_eq!(
            says("BEGIN; DECLARE c CURSOR FOR TABLE t; FETCH BACKWARD 1 FROM c"),
            "55000"
        );
        assert_eq!(says("ROLLBACK"), "(0)");
        // A value that cannot be computed fails when its portion is read, and with it the transaction.
        assert_eq!(
            says("BEGIN READ ONLY; DECLARE d CURSOR FOR SELECT 6 / (3 - id) FROM t"),
            "(0) (0)"
        );
        assert_eq!(says("FETCH 1 FROM d"), "3 (1)");
        assert_eq!(says("FETCH 2 FROM d"), "22012");
        assert_eq!(says("SELECT 1"), "25P02");
        assert_eq!(says("ROLLBACK"), "(0)");
    });
}

#[test]
fn a_scrolling_cursor_goes_back_and_forth() {
    both_ways(|running| {
        let mut client = of_numbers(running, 2500);
        let mut says = |text: &str| told(&mut client, text);
        assert_eq!(
            says("BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM t"),
            "(0) (0)"
        );
        // The answers of PostgreSQL 15.
        for (text, answer) in [
            ("FETCH BACKWARD 1 FROM c", "(0)"),
            ("FETCH 0 FROM c", "(0)"),
            ("FETCH 3 FROM c", "1 2 3 (3)"),
            ("FETCH 0 FROM c", "3 (1)"),
            ("FETCH PRIOR FROM c", "2 (1)"),
            ("FETCH RELATIVE 0 FROM c", "2 (1)"),
            ("FETCH BACKWARD 5 FROM c", "1 (1)"),
            ("FETCH c", "1 (1)"),
            ("FETCH ABSOLUTE 2000 FROM c", "2000 (1)"),
            ("FETCH -2 FROM c", "1999 1998 (2)"),
            ("FETCH LAST FROM c", "2500 (1)"),
            ("FETCH NEXT FROM c", "(0)"),
            ("FETCH NEXT FROM c", "(0)"),
            ("FETCH BACKWARD 2 FROM c", "2500 2499 (2)"),
            ("FETCH ABSOLUTE -2500 FROM c", "1 (1)"),
            ("FETCH ABSOLUTE -2501 FROM c", "(0)"),
            ("FETCH FIRST FROM c", "1 (1)"),
            ("MOVE RELATIVE 10 FROM c", "(1)"),
            ("FETCH RELATIVE -3 FROM c", "8 (1)"),
            ("MOVE BACKWARD ALL FROM c", "(7)"),
            ("MOVE FORWARD ALL FROM c", "(2500)"),
            ("FETCH ABSOLUTE 0 FROM c", "(0)"),
            ("FETCH RELATIVE 2501 FROM c", "(0)"),
            ("FETCH BACKWARD -1 FROM c", "(0)"),
            ("FETCH PRIOR FROM c", "2500 (1)"),
        ] {
            assert_eq!(says(text), answer, "{text}");
        }
        assert_eq!(says("ROLLBACK"), "(0)");
        let locks = "BEGIN; DECLARE c SCROLL CURSOR FOR SELECT id FROM t FOR UPDATE";
        assert_eq!(says(locks), "0A000");
        assert_eq!(says("ROLLBACK"), "(0)");
        // It goes back after its transaction, too.
        let held =
            "BEGIN; DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT id FROM t; FETCH 2 FROM h; COMMIT";
        assert_eq!(says(held), "(0) (0) 1 2 (2) (0)");
        assert_eq!(says("FETCH PRIOR FROM h"), "1 (1)");
        assert_eq!(says("FETCH ABSOLUTE 2500 FROM h"), "2500 (1)");
    });
}

#[test]
fn statements_of_cursors_stand_among_others_in_one_text() {
    both_ways(|running| {
        let mut client = of_numbers(running, 10);
        let mut says = |text: &str| told(&mut client, text);
        assert_eq!(
        says(
            "BEGIN; DECLARE c CURSOR FOR SELECT id, name FROM t; FETCH 2 FROM c; move 1 in c; FETCH c; CLOSE c;
             DECLARE c CURSOR FOR SELECT 7; FETCH c; SELECT 8; COMMIT"
        ),
        "(0) (0) 1|n1 2|n2 (2) (1) 4|n4 (1) (0) (0) 7 (1) 8 (1) (0)"
    );
        assert_eq!(says("FETCH c"), "34000");
        assert_eq!(
            says("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t; FETCH c; CLOSE c; COMMIT"),
            "(0) (0) 1 (1) (0) (0)"
        );
        // Without BEGIN the text is a transaction.
        assert_eq!(
            says(
                "SELECT 1; DECLARE c CURSOR FOR SELECT 7; FETCH c; INSERT INTO t VALUES (11, 'n11')"
            ),
            "1 (1) (0) 7 (1) (1)"
        );
        assert_eq!(says("FETCH c"), "34000");
        let fails = "INSERT INTO t VALUES (12, 'n12'); DECLARE c CURSOR FOR SELECT 7; FETCH d; DELETE FROM t";
        assert_eq!(says(fails), "34000");
        assert_eq!(says("SELECT max(id), count(*) FROM t"), "11|11 (1)");
        // A failed statement ends its text, and only that.
        assert_eq!(
            says("BEGIN; DECLARE c CURSOR FOR SELECT 7; FETCH d; SELECT 1"),
            "34000"
        );
        assert_eq!(says("FETCH c; SELECT 1"), "25P02");
        assert_eq!(
            says("ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT 9"),
            "(0) (0) (0)"
        );
        assert_eq!(says("FETCH ALL c; COMMIT; BEGIN"), "9 (1) (0) (0)");
        assert_eq!(says("DECLARE c CURSOR FOR SELECT 9; ROLLBACK"), "(0) (0)");
        assert_eq!(says("CREATE VIEW v AS FETCH c"), "42601");
    });
}

#[test]
fn a_cursor_ends_with_the_part_of_its_transaction_that_is_undone() {
    both_ways(|running| {
        let mut client = of_numbers(running, 5);
        let mut says = |text: &str| told(&mut client, text);
        let declare =
            |name: &str| format!("DECLARE {name} CURSOR FOR SELECT id FROM t ORDER BY id");
        assert_eq!(says("BEGIN"), "(0)");
        assert_eq!(says(&declare("before")), "(0)");
        assert_eq!(says("FETCH 1 FROM before"), "1 (1)");
        assert_eq!(says("SAVEPOINT a"), "(0)");
        assert_eq!(says(&declare("within")), "(0)");
        assert_eq!(says("SAVEPOINT b"), "(0)");
        assert_eq!(says(&declare("deep")), "(0)");
        assert_eq!(
            says("FETCH 1 FROM before; FETCH 1 FROM within"),
            "2 (1) 1 (1)"
        );
        assert_eq!(says("RELEASE b; FETCH 2 FROM deep"), "(0) 1 2 (2)");
        assert_eq!(says("ROLLBACK TO a"), "(0)");
        assert_eq!(says("FETCH 1 FROM within"), "34000");
        assert_eq!(says("ROLLBACK TO a; FETCH 1 FROM deep"), "34000");
        // The position of a cursor that stays is not rolled back.
        assert_eq!(says("ROLLBACK TO a; FETCH 1 FROM before"), "(0) 3 (1)");
        // The name is free again, and the savepoint is still set.
        assert_eq!(says(&declare("within")), "(0)");
        assert_eq!(
            says("SAVEPOINT a; ROLLBACK TO a; FETCH 1 FROM within"),
            "(0) (0) 1 (1)"
        );
        assert_eq!(says("RELEASE a; ROLLBACK TO a; FETCH within"), "34000");
        assert_eq!(says("ROLLBACK; FETCH before"), "34000");
        // A held one is not, before the transaction is committed.
        let held =
            "BEGIN; SAVEPOINT a; DECLARE h CURSOR WITH HOLD FOR SELECT 7; ROLLBACK TO a; COMMIT";
        assert_eq!(says(held), "(0) (0) (0) (0) (0)");
        assert_eq!(says("FETCH h"), "34000");
        let held =
            "BEGIN; DECLARE h CURSOR WITH HOLD FOR SELECT 7; SAVEPOINT a; ROLLBACK TO a; COMMIT";
        assert_eq!(says(held), "(0) (0) (0) (0) (0)");
        assert_eq!(
            says("BEGIN; SAVEPOINT b; ROLLBACK TO b; COMMIT"),
            "(0) (0) (0) (0)"
        );
        assert_eq!(says("FETCH h"), "7 (1)");
    });
}

#[test]
fn a_cursor_sees_what_its_transaction_wrote_before_and_nothing_else() {
    both_ways(|running| {
        let mut client = of_numbers(running, 3);
        let mut other = running.client();
        let mut says = |text: &str| told(&mut client, text);
        assert_eq!(says("BEGIN; DELETE FROM t WHERE id = 2"), "(0) (1)");
        assert_eq!(says("DECLARE c CURSOR FOR SELECT id FROM t"), "(0)");
        assert_eq!(says("INSERT INTO t VALUES (4, 'later')"), "(1)");
        assert_eq!(told(&mut other, "INSERT INTO t VALUES (9, 'other')"), "(1)");
        assert_eq!(says("FETCH ALL FROM c"), "1 3 (2)");
        // The cursor's rows have changed before the commit.
        assert_eq!(says("COMMIT"), "40001");
        // A transaction that only reads continues as it began.
        assert_eq!(
            says("BEGIN; DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id DESC"),
            "(0) (0)"
        );
        assert_eq!(told(&mut other, "DELETE FROM t"), "(4)");
        assert_eq!(says("FETCH 9 FROM c"), "9 3 2 1 (4)");
        assert_eq!(says("COMMIT"), "(0)");
    });
}

#[test]
fn a_cursor_that_is_held_stays_if_its_transaction_does() {
    both_ways(|running| {
        let mut client = of_numbers(running, 2500);
        let mut says = |text: &str| told(&mut client, text);
        let declare = "DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t WHERE id > 2400";
        assert_eq!(says(&format!("BEGIN; {declare}; ROLLBACK")), "(0) (0) (0)");
        assert_eq!(says("FETCH 1 FROM c"), "34000");
        assert_eq!(
            says("BEGIN; INSERT INTO t VALUES (2501, 'mine')"),
            "(0) (1)"
        );
        assert_eq!(says(declare), "(0)");
        assert_eq!(says("COMMIT"), "(0)");
        assert_eq!(says("DELETE FROM t"), "(2501)");
        assert_eq!(says("MOVE 99 FROM c"), "(99)");
        assert_eq!(says("FETCH ALL FROM c"), "2500 2501 (2)");
        assert_eq!(says("CLOSE ALL"), "(0)");
        assert_eq!(says("FETCH 1 FROM c"), "34000");
        // Outside of a transaction it is held at once.
        assert_eq!(says("DECLARE h CURSOR WITH HOLD FOR SELECT 7"), "(0)");
        assert_eq!(says("FETCH h"), "7 (1)");
        assert_eq!(says("DISCARD ALL"), "(0)");
        assert_eq!(says("FETCH h"), "34000");
    });
}

#[test]
fn the_extended_protocol_gives_rows_as_the_client_asks() {
    both_ways(|running| {
        let mut client = of_numbers(running, 2500);
        let mut transaction = client.transaction().unwrap();
        let declared = "DECLARE c CURSOR FOR SELECT id, name FROM t WHERE id > $1::int";
        assert_eq!(transaction.execute(declared, &[&1000]).unwrap(), 0);
        let mut ids = Vec::new();
        loop {
            let rows = transaction.query("FETCH FORWARD 400 FROM c", &[]).unwrap();
            let found = rows
                .iter()
                .map(|row| (row.get::<_, i32>(0), row.get::<_, &str>(1).len()));
            ids.extend(found.map(|(id, length)| {
                assert_eq!(length, 5);
                id
            }));
            if rows.len() < 400 {
                break;
            }
        }
        assert_eq!(ids, (1001..=2500).collect::<Vec<_>>());
        transaction.execute("CLOSE c", &[]).unwrap();
        let error = transaction.query("FETCH 1 FROM c", &[]).unwrap_err();
        assert_eq!(error.code().map(|code| code.code()), Some("34000"));
    });
}
