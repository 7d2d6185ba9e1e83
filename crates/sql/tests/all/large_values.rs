//! Large statements that read more than their rows: the names and definitions of tables, and lists of values.

use crate::common::{Fresh, query, run};
use crate::large::{Both, content, told, with_limits};
use sardonyx_sql::{BesideLimits, Session, code};
use std::sync::{Arc, Mutex};

const NAMES: &str = "create view w as select id from t;
    alter table t add column o oid;
    update t set o = 'w'::regclass;
    create table made (id int primary key, o oid, name text)";

/// Statements that name tables, ask for definitions, or have a long list.
const ASKING: [&str; 10] = [
    "update t set o = to_regclass('s')",
    "update t set b = o::regclass::text",
    "update t set b = pg_get_viewdef(o)",
    "update t set b = pg_get_viewdef(o) where a = 4",
    "update t set b = o::regclass::text where a = 4 returning b",
    "delete from t where o = 'w'::regclass",
    "delete from t where o <> 's'::regclass and a = 4",
    "insert into made select id, to_regclass('t')::oid, 'w'::regclass::text from t",
    "insert into made select id, 's'::regclass::oid, pg_get_viewdef(o) from t",
    "update t set a = a + 1 where id <> all ('{1,2,3,4,5,6,7,8,9,10,11,12}')",
];

const FOUND: [&str; 2] = [
    "select id, a, b, o::regclass from t order by id",
    "select id, o::regclass, name from made order by id",
];

#[test]
fn a_large_statement_knows_the_names_and_definitions_of_tables() {
    for asking in ASKING {
        for few in [0, 100] {
            let both = Both::new();
            for fresh in [&both.aside, &both.plain] {
                run(&mut fresh.session(), NAMES).expect("they are there");
            }
            let database = both.aside.database.clone();
            let times = Arc::new(Mutex::new(0));
            let counted = times.clone();
            // A row that another changes is made again.
            let change = "update t set c = c + 1000 where id = 4";
            with_limits(&both.aside, few, move || {
                let mut times = counted.lock().expect("no panic");
                *times += 1;
                if *times == 1 {
                    run(&mut crate::common::session(&database), change).expect("it runs");
                }
            });
            let aside = told(&mut both.aside.session(), asking);
            run(&mut both.plain.session(), change).expect("it runs");
            let plain = told(&mut both.plain.session(), asking);
            assert_eq!(aside, plain, "{asking}");
            assert!(plain.is_ok(), "{asking}: {plain:?}");
            assert!(*times.lock().expect("no panic") > 0, "{asking} ran aside");
            both.aside.database.set_beside(crate::large::unlimited());
            for text in FOUND {
                let [aside, plain] = [&both.aside, &both.plain]
                    .map(|fresh| query(&mut fresh.session(), text).expect(text));
                assert_eq!(aside, plain, "{asking}");
            }
        }
    }
}

#[test]
fn a_statement_whose_answer_has_no_memory_changes_nothing() {
    let both = Both::new();
    // The computed rows take 2 MB, and the answer three times as much.
    let times = Arc::new(Mutex::new(0));
    let counted = times.clone();
    with_limits(&both.aside, 100, move || {
        *counted.lock().expect("no panic") += 1;
    });
    both.aside.database.memory().set_bytes_max(4_000_000);
    let text = "update t set a = a + 100 where b like '% 7' returning repeat('x', 2000000)";
    let aside = told(&mut both.aside.session(), text);
    assert_eq!(aside, Err(code::OUT_OF_MEMORY));
    assert_eq!(*times.lock().expect("no panic"), 1, "it ran aside");
    both.aside.database.memory().set_bytes_max(usize::MAX);
    assert_eq!(content(&both.aside.database), content(&both.plain.database));
}

/// Counts the turns of others while a statement ran aside.
fn pauses(few: u64, text: &str) -> usize {
    let both = Both::new();
    let tables = "create table k (id int primary key, v int); create table n (a int, b int);
        create table u (id int primary key, a int, b varchar(80));
        insert into u select id, a, b from t";
    run(&mut both.aside.session(), tables).expect("they are there");
    let times = Arc::new(Mutex::new(0));
    let counted = times.clone();
    with_limits(&both.aside, few, move || {
        *counted.lock().expect("no panic") += 1;
    });
    run(&mut both.aside.session(), text).expect(text);
    *times.lock().expect("no panic")
}

#[test]
fn a_table_that_is_read_by_what_is_inserted_into_it_gets_its_rows_at_once() {
    for few in [0, 100] {
        // It pauses as often as for another table: the rows are made once.
        let of_another = pauses(few, "insert into t select id + 2000, a, b, null from u");
        let of_its_own = pauses(few, "insert into t select id + 2000, a, b, null from t");
        assert_eq!(of_its_own, of_another, "with {few} rows kept");
        // The next number of a row without a key is read from the table.
        let with_key = pauses(few, "insert into k select id, a from t");
        let without = pauses(few, "insert into n select id, a from t");
        assert_eq!(without, with_key, "with {few} rows kept");
        assert!(of_another > 0 && with_key > 0);
    }
}

#[test]
fn a_statement_whose_snapshot_is_ended_runs_in_the_stage() {
    let options = sardonyx::Options::new().snapshot_bytes_max(8 * 4096);
    for (large, few, told_of) in [
        ("update big set v = v + 1", 0, Ok(200)),
        ("update big set v = v + 1 where v >= 100", 150, Ok(100)),
        ("delete from big where v >= 100", 0, Ok(100)),
        ("create index big_v on big (v)", 0, Ok(0)),
        (
            "insert into big select id + 1000, v, b from big",
            0,
            Ok(200),
        ),
        (
            "insert into big select id + 1000, v, b from big",
            1000,
            Ok(200),
        ),
        (
            "update big set v = 1 / (v - 150)",
            0,
            Err(code::DIVISION_BY_ZERO),
        ),
    ] {
        for phase in [1, 3] {
            let fresh = Fresh::with(&options);
            let mut session = fresh.session();
            let rows = "create table big (id int primary key, v int, b varchar(600));
                insert into big select n, n, repeat('b', 500) from generate_series(0, 199) as g (n)";
            run(&mut session, rows).expect("they are there");
            let database = fresh.database.clone();
            let times = Arc::new(Mutex::new(0));
            let counted = times.clone();
            with_limits(&fresh, few, move || {
                let mut times = counted.lock().expect("no panic");
                *times += 1;
                if *times == phase {
                    let mut session = crate::common::session(&database);
                    for id in 0..200 {
                        let text = format!("update big set b = repeat('c', 500) where id = {id}");
                        run(&mut session, &text).expect("it is changed");
                    }
                }
            });
            let done = run(&mut session, large).map_err(|error| error.code);
            let rows = |done: Vec<sardonyx_sql::Complete>| done[0].tag.rows.unwrap_or(0);
            assert_eq!(done.map(rows), told_of, "{large}, phase {phase}");
            let times = *times.lock().expect("no panic");
            assert!(times > 0, "{large} did not run aside");
            fresh.database.set_beside(crate::large::unlimited());
        }
    }
}

#[test]
fn others_read_while_one_call_changes_more_rows_than_a_slice() {
    for (large, is_long) in [
        ("update t set a = a + 1 where a = 4", true),
        ("delete from t where a = 4 returning id", true),
        ("update t set a = a + 1 where b like '% 7'", false),
        (
            "insert into t select id + 2000, v, 'new', null from s",
            true,
        ),
        (
            "insert into t select id + 2000, v, 'new', null from s where id < 4",
            false,
        ),
    ] {
        let both = Both::new();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (database, noted) = (both.aside.database.clone(), seen.clone());
        let within = move || {
            let tables = database.tables().expect("tables in main memory");
            noted.lock().expect("no panic").push(tables.has_long());
        };
        both.aside.database.set_beside(BesideLimits {
            from: 1,
            few: 100,
            slice: 5,
            between: None,
            within: Some(Arc::new(within)),
            ..BesideLimits::default()
        });
        run(&mut both.aside.session(), large).expect(large);
        assert_eq!(*seen.lock().expect("no panic"), [is_long], "{large}");
        let tables = both.aside.database.tables().expect("in main memory");
        assert!(!tables.has_long(), "{large}");
    }
}

/// Counts the turns of others between two calls, and the calls on few rows, while a statement ran aside.
fn calls(fresh: &Fresh, few: u64, run: impl FnOnce()) -> (usize, usize) {
    let times = Arc::new(Mutex::new((0, 0)));
    let (between, within) = (times.clone(), times.clone());
    fresh.database.set_beside(BesideLimits {
        from: 1,
        few,
        slice: 1000,
        between: Some(Arc::new(move || between.lock().expect("no panic").0 += 1)),
        within: Some(Arc::new(move || within.lock().expect("no panic").1 += 1)),
        ..BesideLimits::default()
    });
    run();
    fresh.database.set_beside(crate::large::unlimited());
    *times.lock().expect("no panic")
}

#[test]
fn a_slice_ends_by_its_bytes_too() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let rows = "create table v (id int primary key, a int, b text);
        create table w (id int primary key, a int, b text);
        insert into v select n, n, repeat('b', 600000) from generate_series(1, 10) as g (n)";
    run(&mut session, rows).expect("they are there");
    for large in ["update v set a = a + 1", "insert into w select * from v"] {
        let mut run = || drop(run(&mut session, large).expect(large));
        let (pauses, _) = calls(&fresh, 0, &mut run);
        // Two rows are a slice.
        assert!(pauses >= 5, "{large}: {pauses}");
    }
}

#[test]
fn rows_that_are_gathered_take_memory_or_the_statement_runs_in_the_stage() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let rows = "create table v (id int primary key, a int, b text);
        create table w (id int primary key, b text);
        insert into v select n, n, repeat('b', 60000) from generate_series(1, 10) as g (n)";
    run(&mut session, rows).expect("they are there");
    fresh.database.memory().set_bytes_max(300_000);
    let update = "update v set a = a + 1";
    let called = calls(&fresh, 0, || drop(run(&mut session, update).expect(update)));
    // After the rows are counted no call follows.
    assert_eq!(called, (1, 0));
    let line = |id: i64| format!("{id}\t{}\n", "x".repeat(1000));
    let data: String = (0..400).map(line).collect();
    let copy = |session: &mut Session| {
        let copied = crate::common::copy_in(session, "copy w from stdin", data.as_bytes());
        assert_eq!(copied.expect("it copies").tag.rows, Some(400));
    };
    let called = calls(&fresh, 1000, || copy(&mut session));
    assert_eq!(called, (0, 0));
    fresh.database.memory().set_bytes_max(usize::MAX);
    run(&mut session, "delete from w").expect("it deletes");
    let called = calls(&fresh, 1000, || copy(&mut session));
    assert_eq!(called, (1, 1));
    assert_eq!(fresh.database.memory().taken(), 0);
}

#[test]
fn what_a_process_left_of_a_next_content_is_dropped_when_the_database_is_opened() {
    let mut both = Both::new();
    let fresh = &mut both.aside;
    let has_left = |fresh: &Fresh| {
        let tables = fresh.database.tables().expect("in main memory");
        let has_left = tables.read(|view| Ok(view.has_next_contents()));
        has_left.expect("it reads")
    };
    let begin = |fresh: &Fresh| {
        let tables = fresh.database.tables().expect("in main memory");
        tables.run(|tx| {
            let definitions = tx.view().definitions().iter();
            let names: Vec<_> = definitions.map(|one| one.name.clone()).collect();
            let table = names.iter().position(|name| name == "t");
            tx.begin_beside(table.expect("it is there") as u16)
                .map(drop)
        })
    };
    begin(fresh).expect("it is begun");
    assert!(has_left(fresh));
    fresh.reopen();
    assert!(!has_left(fresh));
    // With its table it goes at once.
    begin(fresh).expect("it is begun");
    run(&mut fresh.session(), "drop table t").expect("it is dropped");
    assert!(!has_left(fresh));
}
