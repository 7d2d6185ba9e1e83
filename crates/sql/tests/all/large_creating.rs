//! Tables made of a query on many rows, beside writers of the tables that it reads; and the size from which a product of
//! small tables is many rows.

use crate::common::{Fresh, query, run, session};
use crate::large::{Both, content, with_limits};
use crate::large_defining::{calls_in, calls_of};

/// True for a statement that counts as run at its snapshot: rows that it has read may change before its end.
pub fn reads_at_its_beginning(large: &str) -> bool {
    [" as select", "into made", "refresh"]
        .iter()
        .any(|word| large.contains(word))
}

#[test]
fn a_table_made_of_rows_that_change_has_those_of_one_state() {
    for (large, made) in [
        (
            "create table made as select id, a from t",
            "select * from made order by id",
        ),
        (
            "create materialized view seen as select id, a from t",
            "select * from seen order by id",
        ),
    ] {
        let alone = calls_of(large, 1000, |_, _| {});
        assert!(alone > 3, "{large} did not run aside");
        let both = Both::new();
        let before = query(&mut both.plain.session(), "select id, a from t order by id");
        let changing = calls_in(&both.aside, (large, 1), 1000, |_, database| {
            let change = "update t set a = a + 1; delete from t where id = 5";
            run(&mut session(database), change).expect("changed");
        });
        assert_eq!(changing, alone, "{large}");
        let rows = query(&mut both.aside.session(), made);
        assert_eq!(rows.expect("read"), before.expect("read"), "{large}");
    }
}

#[test]
fn a_product_of_small_tables_is_large() {
    for (large, aside) in [
        (
            "create table made as select a.id, b.v from p as a, p as b",
            true,
        ),
        (
            "create table made as select a.id, b.v from p as a, (values (1), (2)) as b (v)",
            false,
        ),
        (
            "insert into s select a.id + 1000 * b.id, null from p as a, p as b",
            true,
        ),
        (
            "insert into s select s.id + 1000 * p.id, null from s, p",
            true,
        ),
        ("insert into s select id + 1000, null from s", false),
        (
            "delete from s using p as a, p as b where a.v + b.v = s.id",
            true,
        ),
    ] {
        let both = Both::new();
        let calls = calls_in(&both.aside, (large, 1000), 1000, |_, _| {});
        assert_eq!(calls > 0, aside, "{large}: {calls} calls");
    }
}

/// A statement that makes a content of a table, another one that begins meanwhile, and a query of the rows afterwards.
const WAITING: [[&str; 3]; 8] = [
    [
        "refresh materialized view seen",
        "refresh materialized view seen",
        "select * from seen order by id",
    ],
    [
        "update t set a = a + 1",
        "update t set a = a + 10",
        "select id, a from t order by id",
    ],
    [
        "update t set a = a + 1",
        "update t set a = t.a + s.v from s where s.id = t.id",
        "select id, a from t order by id",
    ],
    [
        "update t set a = t.a + s.v from s where s.id = t.id",
        "delete from t where a % 2 = 0",
        "select id, a from t order by id",
    ],
    [
        "delete from t where id < 20",
        "insert into t select id + 100, v from s",
        "select id, a from t order by id",
    ],
    [
        "insert into t select id + 100, v from s",
        "alter table t alter a type bigint using a::bigint * 10",
        "select id, a from t order by id",
    ],
    [
        "alter table t alter a type bigint",
        "alter table t alter c type bigint using c + 1",
        "select id, a, c from t order by id",
    ],
    [
        "alter table t alter a type bigint",
        "update t set a = a * 100",
        "select id, a from t order by id",
    ],
];

/// Databases with a view of rows that have changed since.
fn made_again() -> Both {
    let both = Both::new();
    for fresh in [&both.aside, &both.plain] {
        let made = "create materialized view seen as select id, a from t; update t set a = a + 1 where id < 9";
        run(&mut fresh.session(), made).expect("it is made");
    }
    both
}

#[test]
fn a_statement_on_a_table_of_which_another_makes_a_content_waits_without_the_stage() {
    for [first, second, rows] in WAITING {
        let both = made_again();
        let (ends, pauses) = std::sync::mpsc::channel();
        let (database, other) = (both.aside.database.clone(), std::sync::Mutex::new(None));
        let (other, first_pause) = (
            std::sync::Arc::new(other),
            std::sync::Mutex::new(Some(pauses)),
        );
        let (begun, main) = (other.clone(), std::thread::current().id());
        with_limits(&both.aside, 0, move || {
            if std::thread::current().id() != main {
                // The second statement waits, or makes its own content.
                let _ = ends.send(());
                return;
            }
            if let Some(pauses) = first_pause.lock().expect("no panic").take() {
                let database = database.clone();
                let runs = move || run(&mut session(&database), second).map(drop);
                let thread = std::thread::spawn(runs);
                // A pause may come between two looks, and the end of the thread with it: so the end is looked at first.
                let has_paused = loop {
                    let is_over = thread.is_finished();
                    let has_paused = pauses.try_recv().is_ok();
                    if has_paused || is_over {
                        break has_paused;
                    }
                    std::thread::yield_now();
                };
                assert!(has_paused, "{second} ran in the stage");
                *begun.lock().expect("no panic") = Some(thread);
            }
        });
        run(&mut both.aside.session(), first).expect(first);
        let thread = other.lock().expect("no panic").take();
        let second_ended = thread.expect("it is begun").join().expect("no panic");
        second_ended.expect(second);
        both.aside.database.set_beside(crate::large::unlimited());
        let told = |fresh: &Fresh| {
            let rows = query(&mut fresh.session(), rows).expect(rows);
            (rows, content(&fresh.database))
        };
        // One of them runs after the other.
        let orders = [(first, second), (second, first)].map(|(first, second)| {
            let other = made_again();
            run(&mut other.plain.session(), first).expect(first);
            run(&mut other.plain.session(), second).expect(second);
            told(&other.plain)
        });
        let aside = told(&both.aside);
        assert!(orders.contains(&aside), "{first}; {second}: {aside:?}");
    }
}

/// The calls of a large update of `t` alone.
fn calls_alone() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    let both = made_again();
    let calls = std::sync::Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    with_limits(&both.aside, 0, move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    run(&mut both.aside.session(), "update t set a = a + 1").expect("it runs");
    calls.load(Ordering::SeqCst)
}

#[test]
fn a_statement_that_has_waited_for_one_does_not_wait_for_the_next_of_those_that_follow_each_other()
{
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    let alone = calls_alone();
    assert!(alone > 4, "{alone}");
    let both = made_again();
    let sum = |both: &Both| {
        let rows = query(&mut both.aside.session(), "select sum(a), count(*) from t");
        let row = rows.expect("it reads").remove(0);
        let numbers = row
            .split('|')
            .map(|number| number.parse::<i64>().expect("a number"));
        numbers.collect::<Vec<_>>()
    };
    let before = sum(&both);
    let (waits, waiting) = channel();
    let (goes_on, may_go_on) = channel::<()>();
    let (waits, may_go_on) = (Mutex::new((0, waits)), Mutex::new(may_go_on));
    let of_main = Mutex::new((0, waiting, None::<std::thread::JoinHandle<()>>));
    let goes_on = Mutex::new(Some(goes_on));
    let (database, main) = (both.aside.database.clone(), std::thread::current().id());
    with_limits(&both.aside, 0, move || {
        if std::thread::current().id() != main {
            // The second statement. It has more calls than it needs: so it waits for the first one.
            let mut waits = waits.lock().expect("no panic");
            waits.0 += 1;
            if waits.0 > alone {
                waits.1.send(()).expect("it is heard");
                // The first statement ends, and the third one begins, before this one looks again.
                let _ = may_go_on.lock().expect("no panic").recv();
            }
            return;
        }
        let mut of_main = of_main.lock().expect("no panic");
        of_main.0 += 1;
        if of_main.0 == alone / 2 {
            let database = database.clone();
            of_main.2 = Some(std::thread::spawn(move || {
                run(&mut session(&database), "update t set a = a + 10").expect("it runs");
            }));
            of_main.1.recv().expect("it waits");
        }
        // In the midst of the third statement.
        if of_main.0 == alone + alone / 2 {
            drop(goes_on.lock().expect("no panic").take());
            let second = of_main.2.take().expect("it is begun");
            while !second.is_finished() {
                let again = of_main.1.try_recv();
                assert!(again.is_err(), "it waits for the third one");
                std::thread::yield_now();
            }
            second.join().expect("no panic");
        }
    });
    run(&mut both.aside.session(), "update t set a = a + 1").expect("the first");
    run(&mut both.aside.session(), "update t set a = a + 100").expect("the third");
    both.aside.database.set_beside(crate::large::unlimited());
    let after = sum(&both);
    assert_eq!(after, [before[0] + 111 * before[1], before[1]]);
}
