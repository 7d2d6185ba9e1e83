//! Indexes and constraints of tables with many rows, made beside them while others commit at any time. The statement's
//! answer is that of a run alone at its end, and its definition holds from then on.

use crate::common::{query, run, session};
use crate::large::{Both, content, told, with_limits};
use crate::large_creating::reads_at_its_beginning;
use sardonyx_base::random::stride;
use sardonyx_sql::{BesideLimits, Database};
use std::sync::{Arc, Mutex};

/// A statement, one of another transaction between two of its calls, and one that tries the new index or constraint.
const CASES: [[&str; 3]; 44] = [
    [
        "create unique index t_new on t (b)",
        "insert into t values (900, 1, 'a text that is long 7', null)",
        "insert into t values (901, 1, 'a text that is long 7', null)",
    ],
    [
        "create unique index t_new on t (b)",
        "update t set b = 'a text that is long 9' where id = 8; delete from t where id = 9",
        "insert into t values (901, 1, 'a text that is long 9', null)",
    ],
    [
        "create index t_new on t (b, a)",
        "update t set b = b || '?' where id < 20; delete from t where id > 50; insert into t values (70, 3, 'new', null)",
        "select id from t where b > 'a text' order by b, a",
    ],
    [
        "alter table t add unique (a, id)",
        "update t set id = id + 100 where id < 9; update t set a = 3 where id = 30",
        "insert into t values (30, 3)",
    ],
    [
        "alter table w add primary key (n, v)",
        "update w set v = v + 100 where n > 50; insert into w values (7, 700); delete from w where n = 9",
        "insert into w values (8, null)",
    ],
    [
        "alter table w add primary key (n)",
        "insert into w values (null, 1)",
        "insert into w values (8, 1)",
    ],
    [
        "alter table t add check (a < 100)",
        "insert into t values (900, 100)",
        "insert into t values (901, 100)",
    ],
    [
        "alter table t add check (a < 100)",
        "update t set a = 99 where id = 5; insert into t values (900, 99)",
        "update t set a = 100 where id = 6",
    ],
    [
        "alter table t add check (length(b) > 3)",
        "insert into t values (900, 1, 'abc', null); delete from t where id = 900",
        "insert into t values (901, 1, 'abc', null)",
    ],
    [
        "alter table t alter column b set not null",
        "update t set b = null where id = 3",
        "insert into t values (901, 1, null, null)",
    ],
    [
        "alter table t alter column c set not null",
        "update t set c = c + 100 where id > 30; delete from t where id = 31",
        "insert into t values (901, 1, 'one', null)",
    ],
    [
        "alter table f add foreign key (id) references p",
        "insert into f values (61, null, 1)",
        "insert into f values (200, null, 1)",
    ],
    [
        "alter table f add foreign key (id) references p",
        "delete from p where id = 12",
        "insert into f values (200, null, 1)",
    ],
    [
        "alter table f add foreign key (id) references p",
        "delete from p where id > 50; insert into p values (61, 1); insert into f values (61, null, 1)",
        "delete from p where id = 61",
    ],
    [
        "alter table f add foreign key (id) references t (c) on delete cascade",
        "update t set c = c + 1000 where id = 12",
        "delete from t where c < 20",
    ],
    [
        "alter table f add foreign key (id) references t (c)",
        "update t set a = a + 1; update t set c = c + 1000 where id > 40",
        "update t set c = c + 2000",
    ],
    [
        "alter table s add foreign key (v) references s",
        "insert into s values (100, 100), (101, 100); delete from s where id = 101",
        "update s set v = 102 where id = 3",
    ],
    [
        "create index t_new on t (b, a)",
        "create index t_new on s (v)",
        "select id from t where b > 'a text' order by b, a",
    ],
    [
        "alter table f add foreign key (id) references t (c)",
        "alter table t drop constraint t_c_key",
        "insert into f values (200, null, 1)",
    ],
    [
        "alter table s add foreign key (v) references s",
        "update s set v = 77 where id = 3",
        "update s set v = 102 where id = 3",
    ],
    [
        "create unique index t_new on t (lower(b)) where a < 100",
        "insert into t values (900, 1, 'A TEXT that is long 7', null)",
        "insert into t values (901, 1, 'A TEXT that is long 7', null)",
    ],
    [
        "create unique index t_new on t (lower(b)) where a < 100",
        "insert into t values (900, 100, 'A TEXT that is long 7', null); update t set a = 101, b = 'x' where id = 8;
         insert into t values (902, 1, 'A TEXT that is long 8', null); delete from t where id = 9",
        "update t set a = 4 where id = 900",
    ],
    [
        "create unique index t_new on t ((a + id)) where b is not null",
        "update t set a = a + 5 where id < 20; update t set b = null where id > 18",
        "select id from t where a + id > 20 and b is not null order by a + id",
    ],
    [
        "create index t_new on t ((a * 2), lower(b))",
        "create index t_other on t (lower(b)); drop index t_up",
        "select id from t where a * 2 = 4 and lower(b) > 'a' order by lower(b)",
    ],
    [
        "alter table t alter column a type bigint",
        "insert into t values (900, 1, 'new', null); update t set a = a + 1 where id < 9; delete from t where id = 50",
        "update t set a = 3000000000 where id = 5",
    ],
    [
        "alter table t alter column c type bigint using c + 500",
        "update t set c = c + 1000 where id = 7; insert into t values (900, 1, 'new', null)",
        "insert into t values (901, 1, 'x', 1507)",
    ],
    [
        "alter table f alter column n type text using 'n' || n",
        "insert into f values (61, null, 1); update f set n = n + 10 where id < 5; delete from p where id = 12",
        "update f set n = n || '!' where n = 'n3'",
    ],
    [
        "alter table p alter column v type bigint",
        "insert into f values (300, 60, 1); delete from p where id = 9",
        "delete from p where id = 60",
    ],
    [
        "alter table t add column twice int generated always as (a * 2) stored",
        "insert into t values (900, 5, 'new', null); update t set a = 77 where id = 6; delete from t where id = 7",
        "select id from t where twice = 154 or twice = 10",
    ],
    [
        "alter table t alter column a type bigint, add column more int default 4 check (more < 5)",
        "alter table t drop constraint t_c_key",
        "insert into t (id, more) values (901, 5)",
    ],
    [
        "alter table t add constraint t_new unique (b) deferrable",
        "insert into t values (900, 1, 'a text that is long 7', null)",
        "insert into t values (901, 1, 'a text that is long 7', null)",
    ],
    [
        "alter table t add constraint t_new unique (b) deferrable initially deferred",
        "update t set b = 'a text that is long 9' where id = 8; delete from t where id = 9",
        "insert into t values (901, 1, 'a text that is long 9', null)",
    ],
    [
        "alter table s alter column v type smallint",
        "update s set v = 70000 where id = 3",
        "update s set v = 70000 where id = 4",
    ],
    [
        "alter table s add column g int not null generated always as (nullif(v, 3000)) stored",
        "update s set v = 3000 where id = 3",
        "insert into s (id, v) values (901, 3000)",
    ],
    [
        "alter table t add column g int not null default (random() * 0 + 3)::int",
        "insert into t values (900, 5, 'new', null); update t set a = 77 where id = 6; delete from t where id = 7",
        "select id from t where g is distinct from 3",
    ],
    [
        "alter table t add column if not exists a int default (random() * 0 + 7)::int,
         add column if not exists g int default (random() * 0 + 3)::int, add column if not exists g int default 4",
        "update t set a = 77 where id = 6",
        "select id from t where a = 7 or g is distinct from 3",
    ],
    [
        "create table made as select id, a, b from t where a > 1",
        "update t set a = a + 1 where id = 8; delete from t where id = 9; insert into t values (900, 5, 'new', null)",
        "insert into made values (1, 2, 'a row of its own')",
    ],
    [
        "create table made as select id, v from p",
        "create table made (n int, v int); insert into made values (1, 2)",
        "insert into made values (3, 4)",
    ],
    [
        "select id, v + 1 as v into made from p",
        "create table other (n int); drop index t_a",
        "delete from made where v > 5",
    ],
    [
        "create materialized view seen as select a, count(*) as n from t group by a",
        "delete from t where id < 20",
        "refresh materialized view seen",
    ],
    [
        "create temporary table own as select id, v from p",
        "update p set v = v + 1 where id = 8; create table own (n int)",
        "insert into own values (1000)",
    ],
    [
        "refresh materialized view copy",
        "update p set v = v + 1 where id = 8; insert into p values (900, 1)",
        "select * from copy order by id",
    ],
    [
        "refresh materialized view copy",
        "update p set v = v + 1 where id = 8; refresh materialized view copy",
        "select * from copy order by id",
    ],
    [
        "refresh materialized view copy",
        "drop materialized view copy; create materialized view copy as select id, v + 1 as v from p; update p set v = 7",
        "select * from copy order by id",
    ],
];

/// Databases with the tables of the cases.
fn both_of_cases() -> Both {
    let both = Both::new();
    for fresh in [&both.aside, &both.plain] {
        let text = "create table w (n int, v int); insert into w select n, n from generate_series(1, 60) as s (n);
             create materialized view copy as select id, v from p";
        run(&mut fresh.session(), text).expect("made");
    }
    both
}

/// Runs the statement aside, with the other transaction before one of its calls. Returns false if it has fewer calls.
fn judge([large, meanwhile, after]: [&'static str; 3], phase: usize) -> bool {
    let both = both_of_cases();
    let database = both.aside.database.clone();
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    with_limits(&both.aside, 0, move || {
        let call = {
            let Ok(mut calls) = counted.try_lock() else {
                return;
            };
            *calls += 1;
            *calls
        };
        if call == phase {
            let told = run(&mut session(&database), meanwhile);
            told.expect(meanwhile);
        }
    });
    let told_aside = told(&mut both.aside.session(), large);
    if *calls.lock().expect("no panic") < phase {
        return false;
    }
    both.aside.database.set_beside(crate::large::unlimited());
    run(&mut both.plain.session(), meanwhile).expect(meanwhile);
    let mut told_plain = told(&mut both.plain.session(), large);
    let mut other = None;
    if reads_at_its_beginning(large)
        && content(&both.aside.database) != content(&both.plain.database)
    {
        let instead = other.insert(both_of_cases());
        told_plain = told(&mut instead.plain.session(), large);
        run(&mut instead.plain.session(), meanwhile).expect(meanwhile);
    }
    let plain = &other.as_ref().unwrap_or(&both).plain;
    let case = format!("{large}; {meanwhile}, before call {phase}");
    assert_eq!(told_aside, told_plain, "{case}");
    assert_eq!(
        content(&both.aside.database),
        content(&plain.database),
        "{case}"
    );
    let told_aside = told(&mut both.aside.session(), after);
    assert_eq!(told_aside, told(&mut plain.session(), after), "{case}");
    assert_eq!(
        content(&both.aside.database),
        content(&plain.database),
        "{case}"
    );
    true
}

/// Judges every fourth case before its first call, and before others. All calls take half of this program's time.
fn judge_a_quarter(first: usize) {
    let stride = stride(5);
    for (number, case) in CASES.iter().enumerate().skip(first).step_by(4) {
        assert!(judge(*case, 1), "{case:?} did not run aside");
        let mut phases = (2 + number / 4 % stride..200).step_by(stride);
        let ends = phases.any(|phase| !judge(*case, phase));
        assert!(ends, "{case:?} does not end");
    }
}

#[test]
fn what_others_commit_before_any_of_its_calls_counts_in_cases_0_4_and_so_on() {
    judge_a_quarter(0);
}

#[test]
fn what_others_commit_before_any_of_its_calls_counts_in_cases_1_5_and_so_on() {
    judge_a_quarter(1);
}

#[test]
fn what_others_commit_before_any_of_its_calls_counts_in_cases_2_6_and_so_on() {
    judge_a_quarter(2);
}

#[test]
fn what_others_commit_before_any_of_its_calls_counts_in_cases_3_7_and_so_on() {
    judge_a_quarter(3);
}

/// Runs a statement aside. Returns the number of its calls; before each, `meanwhile` gets its number.
pub fn calls_of(
    large: &str,
    keys_max: usize,
    meanwhile: impl Fn(u32, &Arc<Database>) + Send + Sync + 'static,
) -> u32 {
    let both = Both::new();
    calls_in(&both, (large, 1), keys_max, meanwhile)
}

/// The same in these databases, where a table of so many rows is large.
pub fn calls_in(
    both: &Both,
    (large, from): (&str, u64),
    keys_max: usize,
    meanwhile: impl Fn(u32, &Arc<Database>) + Send + Sync + 'static,
) -> u32 {
    let database = both.aside.database.clone();
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    let between = move || {
        // Statements between two calls have calls of their own.
        if let Ok(mut calls) = counted.try_lock() {
            *calls += 1;
            meanwhile(*calls, &database);
        }
    };
    both.aside.database.set_beside(BesideLimits {
        from,
        few: 0,
        slice: 5,
        keys_max,
        run_bytes: 1500,
        between: Some(Arc::new(between)),
        within: None,
    });
    run(&mut both.aside.session(), large).expect(large);
    *calls.lock().expect("no panic")
}

#[test]
fn a_definition_of_another_table_does_not_make_it_begin_again() {
    for large in [
        "create unique index t_new on t (b, a)",
        "alter table t add check (a < 100)",
        "alter table f add foreign key (id) references p",
        "create table made as select id, a from t",
        "create temporary table made as select id, a from t",
        "create materialized view seen as select id, b from t",
    ] {
        let alone = calls_of(large, 1000, |_, _| {});
        assert!(alone > 3, "{large} did not run aside");
        let beside_others = calls_of(large, 1000, |call, database| {
            let mut session = session(database);
            let text = format!("create table other{call} (id int primary key)");
            run(&mut session, &text).expect("it is created");
            // Another creation, which is tried and undone first.
            let text = format!("create table another{call} as select id, v from p");
            run(&mut session, &text).expect("it is created");
            // Another build of an index, which succeeds or not.
            let text = match call % 2 {
                0 => format!("create index other_s{call} on s (v)"),
                _ => "create unique index other_s on t (a)".into(),
            };
            let told = told(&mut session, &text);
            assert_eq!(told.is_ok(), call % 2 == 0, "{text}");
        });
        assert_eq!(beside_others, alone, "{large}");
    }
}

#[test]
fn an_index_follows_more_changes_than_its_last_call_makes() {
    let large = "create unique index t_new on t (b, a)";
    let changing = |changes: &'static [u32]| {
        calls_of(large, 10, move |call, database| {
            if changes.contains(&call) {
                // Alone it would give the table another content.
                let text = "begin; update t set b = b || '?'; commit";
                run(&mut session(database), text).expect("changed");
            }
        })
    };
    // It takes 60 rows out and puts 60 in, by five.
    assert!(changing(&[1]) >= changing(&[]) + 24);
}

#[test]
fn keys_that_come_back_or_to_which_no_row_refers_do_not_make_a_reference_run_in_the_stage() {
    let large = "alter table f add foreign key (id) references p";
    let alone = calls_of(large, 1000, |_, _| {});
    let replacing = calls_of(large, 1000, |_, database| {
        let text = "begin; delete from p where id = 50; insert into p values (50, 0); commit";
        run(&mut session(database), text).expect("replaced");
    });
    assert_eq!(replacing, alone);
    // A row is inserted, and removed before the next round.
    let passing = calls_of(large, 1000, |call, database| {
        if call <= 40 {
            let (gone, come) = (call + 999, call + 1000);
            let text = format!(
                "begin; delete from p where id = {gone}; insert into p values ({come}, 0); commit"
            );
            run(&mut session(database), &text).expect("replaced");
        }
    });
    // It begins again twice before it runs in the stage.
    assert!(passing > 3 * alone, "{passing} calls, {alone} alone");
}

/// A statement after which rows violate the next one, that one, and one after which they meet it again.
const VIOLATED: [[&str; 3]; 9] = [
    [
        "update t set b = 'a text that is long 1' where id = 60",
        "create unique index t_new on t (b)",
        "delete from t where id = 60",
    ],
    [
        "update t set b = 'a text that is long 1' where id = 60",
        "alter table t add constraint t_new unique (b)",
        "delete from t where id = 60",
    ],
    [
        "update t set a = 100 where id = 60",
        "alter table t add check (a < 100)",
        "update t set a = 9 where id = 60",
    ],
    [
        "update t set b = null where id = 60",
        "alter table t alter column b set not null",
        "update t set b = '' where id = 60",
    ],
    [
        "insert into f values (61, null, 1)",
        "alter table f add foreign key (id) references p",
        "delete from f where id = 61",
    ],
    [
        "update s set v = 77 where id = 30",
        "alter table s add foreign key (v) references s",
        "update s set v = 7 where id = 30",
    ],
    [
        "update s set v = 70000 where id = 30",
        "alter table s alter column v type smallint",
        "update s set v = 7 where id = 30",
    ],
    [
        "update t set b = 'no number' where id = 60",
        "alter table t alter column c type int using case b when 'no number' then b::int else c end",
        "delete from t where id = 60",
    ],
    [
        "update t set c = null where id = 60",
        "alter table t add column g int not null generated always as (c + 1) stored",
        "delete from t where id = 60",
    ],
];

#[test]
fn a_violation_in_a_snapshot_is_the_answer_and_it_is_that_of_the_stage() {
    for [violates, large, meets] in VIOLATED {
        let both = Both::new();
        for fresh in [&both.aside, &both.plain] {
            run(&mut fresh.session(), violates).expect(violates);
        }
        let database = both.aside.database.clone();
        let is_first = Mutex::new(true);
        with_limits(&both.aside, 0, move || {
            if let Ok(mut is_first) = is_first.try_lock()
                && std::mem::take(&mut *is_first)
            {
                run(&mut session(&database), meets).expect(meets);
            }
        });
        let aside = run(&mut both.aside.session(), large).expect_err(large);
        let plain = run(&mut both.plain.session(), large).expect_err(large);
        assert_eq!(*aside, *plain, "{large}");
    }
}

#[test]
fn what_is_wrong_with_a_statement_is_said_before_its_rows_are_looked_at() {
    for large in [
        "alter table t add primary key (a)",
        "alter table t add constraint t_a_check unique (a)",
        "alter table t add constraint t_a_check check (a > 5)",
    ] {
        let both = Both::new();
        with_limits(&both.aside, 0, || {});
        let aside = run(&mut both.aside.session(), large).expect_err(large);
        let plain = run(&mut both.plain.session(), large).expect_err(large);
        assert_eq!(*aside, *plain, "{large}");
    }
}

#[test]
fn rows_of_before_a_column_was_added_are_rewritten_first() {
    for large in [
        "create index t_more on t (more, a)",
        "create index t_more on t (a, more)",
        "alter table t add foreign key (more) references p",
    ] {
        let mut both = Both::new();
        for fresh in [&both.aside, &both.plain] {
            run(
                &mut fresh.session(),
                "alter table t add column more int default 4",
            )
            .expect("added");
        }
        let database = both.aside.database.clone();
        let calls = Arc::new(Mutex::new(0));
        let counted = calls.clone();
        with_limits(&both.aside, 0, move || {
            let Ok(mut calls) = counted.try_lock() else {
                return;
            };
            *calls += 1;
            if *calls % 5 == 2 {
                let (rest, id) = (*calls % 11, *calls + 500);
                let text = format!(
                    "update t set more = 9 where id % 11 = {rest}; delete from t where id = {rest};
                     insert into t values ({id}, 5, 'new', {id}, 7)"
                );
                run(&mut session(&database), &text).expect("it runs");
            }
        });
        let told_aside = told(&mut both.aside.session(), large);
        assert!(told_aside.is_ok(), "{large}: {told_aside:?}");
        let calls = *calls.lock().expect("no panic");
        assert!(calls > 20, "{large}: {calls} calls");
        both.aside.database.set_beside(crate::large::unlimited());
        let sorted = "select id, more, a from t where more >= 0 order by more, a, id";
        let of = "select id, more, a from t order by more, a, id";
        let (by_index, all) = (
            query(&mut both.aside.session(), sorted),
            query(&mut both.aside.session(), of),
        );
        assert_eq!(by_index.expect("read"), all.expect("read"), "{large}");
        if large.contains("references") {
            let refused = "insert into t (id, more) values (9000, 999)";
            let refused = told(&mut both.aside.session(), refused);
            assert_eq!(refused, Err(sardonyx_sql::code::FOREIGN_KEY), "{large}");
        }
        let now = content(&both.aside.database);
        both.aside.reopen();
        assert_eq!(content(&both.aside.database), now, "{large}");
    }
}

#[test]
fn a_column_that_loses_its_condition_and_its_type_may_have_nulls() {
    let both = Both::new();
    both.aside.database.set_beside(BesideLimits {
        from: 1,
        few: 0,
        slice: 5,
        ..BesideLimits::default()
    });
    for fresh in [&both.aside, &both.plain] {
        let mut session = fresh.session();
        run(&mut session, "alter table p alter v set not null").expect("no value is null");
        let both =
            "alter table p alter v drop not null, alter v type text using nullif(v::text, '3')";
        run(&mut session, both).expect("nulls are allowed first");
        let nulls = query(&mut session, "select id from p where v is null").expect("rows");
        assert_eq!(nulls, ["3"]);
    }
}
