//! Statements that define an index, a constraint, a column or a table of many rows. Each has another transaction that commits
//! before any of its calls. The answer is that of a run alone after the other one.

use crate::common::{Fresh, Image, run, session};
use crate::large::{TABLE, Told, content, told, unlimited, with_limits};
use crate::large_creating::reads_at_its_beginning;
use sardonyx_base::random::stride;
use std::cell::OnceCell;
use std::sync::{Arc, LazyLock, Mutex};

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

/// A database with the tables of the cases.
fn with_tables_of_cases() -> Fresh {
    static TABLES: LazyLock<Image> = LazyLock::new(|| {
        let more = "create table w (n int, v int); insert into w select n, n from generate_series(1, 60) as s (n);
             create materialized view copy as select id, v from p";
        Image::behind(&format!("{TABLE}; {more}"))
    });
    Fresh::of(&TABLES)
}

/// Answers of a case's statement and of the one behind it, with the content after each.
#[derive(PartialEq, Debug)]
struct Outcome {
    large: Told,
    content: Vec<Vec<String>>,
    after: Told,
    content_after: Vec<Vec<String>>,
}

/// The outcomes that a case may have before whichever call the other transaction commits.
struct Case {
    texts: [&'static str; 3],
    /// The statement is run alone behind the other transaction.
    behind: Outcome,
    /// The same before it, if a statement that counts as run at its snapshot needs it.
    before: OnceCell<Outcome>,
}

/// Runs a case in the stage, the statement behind the other transaction or before it.
fn alone([large, meanwhile, after]: [&'static str; 3], is_behind: bool) -> Outcome {
    let fresh = with_tables_of_cases();
    fresh.database.set_beside(unlimited());
    let commit = || drop(run(&mut fresh.session(), meanwhile).expect(meanwhile));
    if is_behind {
        commit();
    }
    let large = told(&mut fresh.session(), large);
    if !is_behind {
        commit();
    }
    Outcome {
        large,
        content: content(&fresh.database),
        after: told(&mut fresh.session(), after),
        content_after: content(&fresh.database),
    }
}

impl Case {
    fn new(texts: [&'static str; 3]) -> Case {
        Case {
            texts,
            behind: alone(texts, true),
            before: OnceCell::new(),
        }
    }

    /// Runs the statement aside, with the other transaction before one of its calls. Returns false if it has fewer calls.
    fn judge(&self, phase: usize) -> bool {
        let [large, meanwhile, after] = self.texts;
        let fresh = with_tables_of_cases();
        let database = fresh.database.clone();
        let calls = Arc::new(Mutex::new(0));
        let counted = calls.clone();
        with_limits(&fresh, 0, move || {
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
        let told_aside = told(&mut fresh.session(), large);
        if *calls.lock().expect("no panic") < phase {
            return false;
        }
        fresh.database.set_beside(unlimited());
        let outcome = Outcome {
            large: told_aside,
            content: content(&fresh.database),
            after: told(&mut fresh.session(), after),
            content_after: content(&fresh.database),
        };
        let is_before = reads_at_its_beginning(large) && outcome.content != self.behind.content;
        let expected = match is_before {
            true => self.before.get_or_init(|| alone(self.texts, false)),
            false => &self.behind,
        };
        let case = format!("{large}; {meanwhile}, before call {phase}");
        assert_eq!(outcome, *expected, "{case}");
        true
    }
}

/// Judges every fourth case before its first call, and before others. All calls take half of this program's time.
fn judge_a_quarter(first: usize) {
    let stride = stride(11);
    for (number, case) in CASES.iter().enumerate().skip(first).step_by(4) {
        let judged = Case::new(*case);
        assert!(judged.judge(1), "{case:?} did not run aside");
        let mut phases = (2 + number / 4 % stride..200).step_by(stride);
        let ends = phases.any(|phase| !judged.judge(phase));
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
