//! Indexes and constraints of tables with many rows, made beside them while others commit at any time. The statement's
//! answer is that of a run alone at its end, and its definition holds from then on.

use crate::common::{Fresh, query, run, session};
use crate::large::{Both, aside, content, told, with_limits};
use sardonyx_sql::{BesideLimits, Database};
use std::sync::{Arc, Mutex};

/// Runs a statement aside. Returns the number of its calls; before each, `meanwhile` gets its number.
pub fn calls_of(
    large: &str,
    keys_max: usize,
    meanwhile: impl Fn(u32, &Arc<Database>) + Send + Sync + 'static,
) -> u32 {
    calls_in(&aside(), (large, 1), keys_max, meanwhile)
}

/// The same in this database, where a table of so many rows is large.
pub fn calls_in(
    fresh: &Fresh,
    (large, from): (&str, u64),
    keys_max: usize,
    meanwhile: impl Fn(u32, &Arc<Database>) + Send + Sync + 'static,
) -> u32 {
    let database = fresh.database.clone();
    let calls = Arc::new(Mutex::new(0));
    let counted = calls.clone();
    let between = move || {
        // Statements between two calls have calls of their own.
        if let Ok(mut calls) = counted.try_lock() {
            *calls += 1;
            meanwhile(*calls, &database);
        }
    };
    fresh.database.set_beside(BesideLimits {
        from,
        few: 0,
        slice: 5,
        keys_max,
        run_bytes: 1500,
        between: Some(Arc::new(between)),
        ..BesideLimits::default()
    });
    run(&mut fresh.session(), large).expect(large);
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
                // Alone, or behind `BEGIN`, it would give the table another content.
                let text = "update t set b = b || '?'; select 1";
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
