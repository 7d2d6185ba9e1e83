//! Statements that change many rows, run aside while others write: each has the result of a run alone at its end. A
//! next content that does not replace the table's leaves nothing behind.

use crate::common::{Fresh, Image, lines, query, run};
use sardonyx_base::random::{Random, stride};
use sardonyx_sql::{BesideLimits, Database, Interrupt, Session, SqlError, code};
use std::sync::{Arc, LazyLock, Mutex};

pub const TABLE: &str = "create table t (id int primary key, a int check (a > -500), b varchar(80), c int unique);
    create index t_a on t (a);
    create index t_up on t (upper(b), (a + id)) where a > 3;
    create table s (id int primary key, v int);
    insert into s select n, n from generate_series(1, 30) as s (n);
    insert into t select n, n % 10, 'a text that is long ' || n, n from generate_series(1, 60) as s (n);
    create table p (id int primary key, v int);
    create table f (id int primary key, t int references p on delete cascade, n int);
    create index f_t on f (t);
    insert into p select n, n from generate_series(1, 60) as s (n);
    insert into f select n, n, n % 7 from generate_series(1, 40) as s (n)";

/// Statements that change many rows; some of them cannot.
const LARGE: [&str; 81] = [
    "update t set a = a + 1",
    "update t set b = b || '!' where a > 3",
    "update t set b = null, a = a + 100 where id > 20 and a <> 5",
    "update t set id = id + 1000 where a % 2 = 0",
    "update t set id = -id",
    "update t set c = c + 1",
    "update t set c = null where a in (1, 2, 3)",
    "delete from t where a % 3 = 0",
    "delete from t",
    "update t set a = a + 1 where id > 7 returning id, a, b",
    "update t set a = a - 504",
    "update t set c = 1 where id > 0",
    "insert into t select id + 2000, v, 'inserted', null from s where v > 3",
    "insert into t (id, a) select id + 3000, a from t where a < 9",
    "insert into t select id, v, null, null from s",
    "create index if not exists t_b on t (b, a desc)",
    "create unique index t_ac on t (a, id)",
    "alter table t add constraint t_bc unique (b)",
    "alter table t add column more int default 4; create index on t (more, a)",
    "alter table t add column more int; update t set more = id where a > 3; create unique index on t (more)",
    "alter table t add constraint t_check check (a < 90 or b is null)",
    "alter table t add check (length(b) < 30)",
    "alter table t alter column b set not null",
    "alter table t alter column a set not null",
    "alter table f add constraint f_id foreign key (id) references p",
    "alter table f add constraint f_n foreign key (n) references s",
    "alter table s add foreign key (v) references t (c)",
    "alter table s add constraint s_v foreign key (v) references s deferrable initially deferred",
    "update t set a = t.a + s.v from s where s.id = t.id",
    "update t set b = t.b || s.v from s where s.id = t.id and s.v > 7 returning t.id",
    "delete from t using s where s.id = t.id and s.v % 2 = 0 returning t.id, s.v",
    "delete from t where id in (select v from s where v > 5)",
    "delete from t where not exists (select from s where s.id = t.id) and id % 2 = 0",
    "update t set a = (select max(v) from s where s.id <= t.id) where id > 5 and id < 60",
    "update t set id = id + 5000 where id in (select id from s) returning id, c",
    "insert into t select id + 20, v, 'again', null from s on conflict (id) do update set a = excluded.a, b = t.b || '?'",
    "insert into t select id, v, 'twice', id + 40 from s on conflict do nothing returning id",
    "insert into t select id + 2000, v, 'told', null from s returning id, b",
    "insert into t (id, c) select id + 2000, id from s on conflict (c) do update set a = 3 returning id",
    "insert into f select id + 100, id, id % 3 from s",
    "insert into f select id + 200, id, 1 from t where id < 60 returning *",
    "insert into f select id + 300, id + 58, 1 from s",
    "update f set t = t + 1 where n < 5",
    "update f set t = null where n <> 3 returning id",
    "delete from f where n in (select v from s)",
    "update t set a = a + n from f where f.t = t.id and f.id = t.id",
    "delete from p where id % 2 = 0",
    "delete from p using s where s.id = p.id and s.v > 4 returning p.id",
    "update p set id = id + 70 where id > 45",
    "update p set v = v + 1 returning *",
    "with gone as (delete from t where id > 5 returning id, a) update s set v = v + 100 from gone where gone.id = s.id",
    "with up as (update t set a = a + 1 returning id, a), ins as (insert into s select id + 500, a from up on conflict \
     do nothing returning id) select count(*), sum(id) from ins",
    "merge into t using s on s.id = t.id when matched and v % 3 = 0 then delete when matched then update set a = v \
     when not matched then insert (id, a) values (s.id, v)",
    "insert into s select t.id + 100, f.n from t join f on f.t = t.id",
    "update t set c = t.c + 200 from f where f.t = t.id and f.n < 6",
    "alter table t alter column a type bigint",
    "alter table t alter a type bigint using a * 1000000000, alter c type bigint using c + 1",
    "alter table t alter column c type bigint using -c",
    "alter table t alter column b type varchar(21)",
    "alter table t alter column a type int using b::int",
    "alter table f alter column n type text using 'n' || n, add column g int generated always as (id + t) stored",
    "alter table f alter column t type bigint",
    "alter table p alter column v type numeric(9, 2)",
    "alter table t add column g int generated always as (a * 2) stored check (g < 40), add column h int default 4",
    "alter table t add column g int generated always as (100 / (a - 3)) stored",
    "alter table t add column g bigint generated always as (c + id) stored unique",
    "alter table t add column h int unique, add column k int default 7 check (k > 3)",
    "alter table t add constraint t_ba unique (b, a) deferrable initially deferred",
    "alter table t add constraint t_ad unique (a) deferrable",
    "alter table s add column g int not null generated always as (nullif(v, 3)) stored",
    "alter table s add column g int default (random() * 0 + 3)::int, add column h text not null default 'x' check (h <> 'y')",
    "alter table f add column g timestamptz not null default now() - now() + date '2020-02-02'",
    "alter table t add column g int default 100 / (random() * 0)::int",
    "create table made as select id, a, b from t where a > 1",
    "create table if not exists made as select t.id, v from t join s using (id)",
    "create table made as select id, 100 / (a - 3) as a from t",
    "select a, count(*) as n into made from t group by a",
    "create materialized view seen as select a, count(*) as n from t group by a",
    "create materialized view seen as select id, v from s; create unique index on seen (id)",
    "refresh materialized view seen",
    "insert into s select id + 700, n from (select id, a as n from t) as x; refresh materialized view seen",
];

/// Two databases: in one of them large statements run aside.
pub struct Both {
    pub aside: Fresh,
    pub plain: Fresh,
}

pub fn unlimited() -> BesideLimits {
    BesideLimits {
        from: u64::MAX,
        ..BesideLimits::default()
    }
}

/// A database with the tables, in which large statements run aside.
pub fn aside() -> Fresh {
    static TABLES: LazyLock<Image> = LazyLock::new(|| Image::behind(TABLE));
    Fresh::of(&TABLES)
}

/// The same, in which each statement runs in the stage.
pub fn plain() -> Fresh {
    let fresh = aside();
    fresh.database.set_beside(unlimited());
    fresh
}

impl Both {
    pub fn new() -> Both {
        Both {
            aside: aside(),
            plain: plain(),
        }
    }
}

/// Rows and the number of a tag, or the code of an error.
pub type Told = Result<(Vec<String>, Option<u64>), &'static str>;

/// The answer of a statement: its rows, in order, and its tag; or the code of its error.
pub fn told(session: &mut Session, text: &str) -> Told {
    let done = run(session, text).map_err(|error| error.code)?;
    let mut rows: Vec<String> = done.iter().flat_map(lines).collect();
    rows.sort();
    Ok((rows, done.last().and_then(|last| last.tag.rows)))
}

pub fn content(database: &Arc<Database>) -> Vec<Vec<String>> {
    let mut session = crate::common::session(database);
    let texts = [
        "select * from t order by id",
        "select id, a from t where a >= -500 order by a, id",
        "select id, c from t where c > -100000 order by c",
        "select id, b from t where upper(b) >= 'A' and a > 3 order by upper(b), a + id, id",
        "select count(*) from t",
        "select * from s order by id",
        "select * from f order by id",
        "select * from p order by id",
        "select t, id from f where t > -100000 order by t, id",
        "select b, a from t where b >= 'a' order by b, a desc",
        "select indexname from pg_indexes where tablename = 't' order by indexname",
        "select table_name from information_schema.tables where table_schema = 'public' order by table_name",
        "select conname, convalidated from pg_constraint order by conname",
        "select table_name, column_name, is_nullable from information_schema.columns where table_schema = 'public'
         order by table_name, column_name",
    ];
    let mut content: Vec<_> = texts
        .iter()
        .map(|text| query(&mut session, text).expect(text))
        .collect();
    // Some statements create these.
    for table in ["made", "seen", "copy"] {
        let text = format!("select * from {table} order by 1, 2");
        content.push(query(&mut session, &text).unwrap_or_default());
    }
    content
}

fn small(random: &mut Random) -> String {
    let id = random.below(70);
    let id = if random.below(4) == 0 { id + 1000 } else { id };
    let (a, n) = (random.below(12), random.below(60));
    match random.below(13) {
        0 => format!("insert into t values ({id}, {a}, 'new', {n})"),
        1 => format!("insert into t values ({id}, {a}, repeat('n', {n}), null)"),
        2 => format!("update t set a = {a} where id = {id}"),
        // The text has the same length and beginning, so the row itself stays unchanged.
        3 => format!("update t set b = 'a text that is lung ' || id where id = {id}"),
        4 => format!("delete from t where id = {id}"),
        5 => format!("update t set id = {id} + 500 where id = {id}"),
        6 => format!("update s set v = {a} where id = {n}"),
        7 => format!("insert into s values ({id}, {a}) on conflict (id) do update set v = s.v + 1"),
        8 => format!("insert into f values ({id} + 400, {n}, {a})"),
        9 => format!("insert into p values ({id}, {n}) on conflict (id) do update set v = {n}"),
        10 => format!("delete from p where id = {id}"),
        11 => format!("update f set t = {n}, n = {a} where id = {id}"),
        _ => format!("update t set c = {n}, b = repeat('z', {n}) where id = {id}"),
    }
}

/// Runs a large statement aside, with others between its calls by the seed, and beside it alone.
fn judge(seed: u64) {
    let mut both = Both::new();
    let random = Arc::new(Mutex::new(Random::new(seed)));
    let draw = |below: u64| random.lock().expect("no panic").below(below);
    for _ in 0..4 {
        let large = LARGE[draw(LARGE.len() as u64) as usize];
        let chance = draw(4);
        let (aside, plain) = (both.aside.database.clone(), both.plain.database.clone());
        // The errors of the definition at each moment: if the rows violate it in a snapshot, that is its answer.
        let defines = [
            "create",
            "alter",
            "refresh",
            "insert into s select id + 700",
        ]
        .iter()
        .any(|word| large.starts_with(word));
        let said = Arc::new(Mutex::new(Vec::new()));
        let say = {
            let (said, plain) = (said.clone(), plain.clone());
            move || {
                let trial = format!("begin; {large}; rollback");
                let trial = defines.then(|| told(&mut crate::common::session(&plain), &trial));
                if let Some(Err(code)) = trial {
                    said.lock().expect("no panic").push(code);
                }
            }
        };
        say();
        // It counts as run at its snapshot, before the others.
        let told_first = crate::large_creating::reads_at_its_beginning(large)
            .then(|| told(&mut both.plain.session(), large));
        let between = {
            let (random, aside) = (random.clone(), aside.clone());
            move || {
                // Between the calls of another one nothing more runs.
                let Ok(mut random) = random.try_lock() else {
                    return;
                };
                if random.below(4) < chance {
                    let text = small(&mut random);
                    let told_aside = told(&mut crate::common::session(&aside), &text);
                    let told_plain = told(&mut crate::common::session(&plain), &text);
                    assert_eq!(told_aside, told_plain, "{seed}: {text}");
                    say();
                }
            }
        };
        both.aside.database.set_beside(BesideLimits {
            from: 1,
            few: draw(12),
            slice: draw(9) as usize + 1,
            between: Some(Arc::new(between)),
            within: None,
            ..BesideLimits::default()
        });
        let told_aside = told(&mut both.aside.session(), large);
        aside.set_beside(unlimited());
        let was_said = match &told_aside {
            Err(code) => said.lock().expect("no panic").contains(code),
            Ok(_) => false,
        };
        if let Some(told_first) = told_first {
            assert_eq!(told_aside, told_first, "{seed}: {large}");
        } else if !was_said {
            let told_plain = told(&mut both.plain.session(), large);
            assert_eq!(told_aside, told_plain, "{seed}: {large}");
        }
        let now = content(&both.aside.database);
        assert_eq!(now, content(&both.plain.database), "{seed}: {large}");
        if draw(3) == 0 {
            drop(aside);
            both.aside.reopen();
            assert_eq!(
                now,
                content(&both.aside.database),
                "{seed}: {large}, reopened"
            );
        }
    }
}

#[test]
fn a_large_statement_is_as_if_it_had_run_alone_at_its_end() {
    for seed in 0..sardonyx_base::random::seeds(5) {
        judge(seed);
    }
}

pub fn with_limits(fresh: &Fresh, few: u64, between: impl Fn() + Send + Sync + 'static) {
    fresh.database.set_beside(BesideLimits {
        from: 1,
        few,
        slice: 5,
        // Indexes of these tables are built in several runs.
        run_bytes: 1500,
        between: Some(Arc::new(between)),
        within: None,
        ..BesideLimits::default()
    });
}

#[test]
fn others_neither_see_the_half_of_it_nor_wait_for_its_end() {
    for (large, few) in [
        ("update t set a = a + 1", 0),
        ("delete from t where a < 8", 0),
        ("update t set a = a + 1 where a = 4", 100),
        ("insert into t select id + 2000, v, 'new', null from s", 0),
        ("insert into t select id + 2000, a, b, null from t", 0),
        ("insert into t select id + 2000, a, b, null from t", 100),
        (
            "insert into t select n, n, 'new', null from generate_series(2000, 2030) as g (n)",
            0,
        ),
        (
            "insert into t select n, n, 'new', null from generate_series(2000, 2030) as g (n)",
            50,
        ),
        ("create index more on t (b)", 0),
        ("create unique index more on t (b, id)", 0),
        ("alter table t add unique (id, a)", 0),
        ("alter table s add unique (v)", 0),
        ("alter table t add check (length(b) < 100)", 0),
        ("alter table t alter column b set not null", 0),
        ("alter table f add foreign key (id) references p", 0),
        ("alter table f add foreign key (id) references t", 0),
        ("update t set a = t.a + s.v from s where s.id = t.id", 0),
        ("update t set a = t.a + s.v from s where s.id = t.id", 100),
        ("delete from t using s where s.id = t.id", 0),
        ("delete from t where id in (select id from s)", 100),
        ("update t set a = a + 1 returning id", 0),
        ("delete from t where id > 0 returning id", 0),
        (
            "insert into t select id + 50, v, 'new', null from s on conflict (id) do update set a = 7",
            0,
        ),
        ("insert into f select id + 2000, id, 0 from t", 0),
        ("update f set t = t + 1", 0),
        ("delete from p where id > 3", 0),
        ("delete from p where id > 3", 1000),
    ] {
        let fresh = aside();
        let database = fresh.database.clone();
        let seen = Arc::new(Mutex::new(0));
        let count = seen.clone();
        with_limits(&fresh, few, move || {
            let mut session = crate::common::session(&database);
            let there = query(&mut session, "select count(*), sum(a) from t").expect("it reads");
            assert_eq!(there, ["60|270"], "{large}");
            *count.lock().expect("no panic") += 1;
        });
        run(&mut fresh.session(), large).expect(large);
        assert!(
            *seen.lock().expect("no panic") > 0,
            "{large} did not run aside"
        );
    }
}

#[test]
fn a_changed_definition_begins_it_again_and_at_last_it_runs_in_the_stage() {
    for (large, few) in [
        ("update t set a = a + 1", 0),
        ("update t set a = a + 1 where a = 4", 100),
    ] {
        let both = Both::new();
        let database = both.aside.database.clone();
        let times = Arc::new(Mutex::new(0));
        let counted = times.clone();
        with_limits(&both.aside, few, move || {
            let mut times = counted.lock().expect("no panic");
            *times += 1;
            let text = format!("alter table t add column more{times} int");
            run(&mut crate::common::session(&database), &text).expect("it is altered");
        });
        let told_aside = told(&mut both.aside.session(), large);
        let times = *times.lock().expect("no panic");
        assert!(times >= 3, "{large}: {times}");
        let text = (1..=times).map(|n| format!("alter table t add column more{n} int"));
        let text = text.collect::<Vec<_>>().join("; ");
        run(&mut both.plain.session(), &text).expect("it is altered");
        assert_eq!(told_aside, told(&mut both.plain.session(), large));
        assert_eq!(content(&both.aside.database), content(&both.plain.database));
    }
}

#[test]
fn a_table_that_is_emptied_or_dropped_meanwhile_is_no_longer_changed() {
    for (meanwhile, after) in [
        (
            "truncate t; insert into t values (1, 1, 'one', 1)",
            Ok((Vec::new(), Some(1))),
        ),
        ("drop table t", Err(code::UNKNOWN_TABLE)),
    ] {
        let both = Both::new();
        let database = both.aside.database.clone();
        let first = Mutex::new(true);
        with_limits(&both.aside, 0, move || {
            if std::mem::take(&mut *first.lock().expect("no panic")) {
                run(&mut crate::common::session(&database), meanwhile).expect("it runs");
            }
        });
        let told = told(&mut both.aside.session(), "update t set a = a + 1");
        assert_eq!(told, after, "{meanwhile}");
    }
}

#[test]
fn a_request_and_a_time_limit_end_it_in_every_phase_and_nothing_is_left() {
    let before = content(&aside().database);
    for (large, few) in [
        ("update t set a = a + 1", 0),
        ("update t set a = a + 1 where a = 4", 100),
        (
            "insert into t select n, n, 'new', null from generate_series(2000, 2030) as g (n)",
            0,
        ),
        (
            "insert into t select n, n, 'new', null from generate_series(2000, 2030) as g (n)",
            50,
        ),
        ("create index t_new on t (b)", 0),
        ("alter table f add foreign key (id) references t", 0),
        ("create table made as select id, a, b from t", 0),
        ("create table made as select id, a, b from t", 1000),
        (
            "create materialized view seen as select a, sum(c) from t group by a",
            0,
        ),
    ] {
        for phase in (1..40).step_by(stride(3)) {
            let fresh = aside();
            let interrupt = Arc::new(Interrupt::default());
            let mut session = fresh.session();
            session.set_interrupt(interrupt.clone());
            let times = Arc::new(Mutex::new(0));
            let counted = times.clone();
            with_limits(&fresh, few, move || {
                let mut times = counted.lock().expect("no panic");
                *times += 1;
                if *times == phase {
                    interrupt.request();
                }
            });
            let ended = run(&mut session, large).map(drop);
            if *times.lock().expect("no panic") < phase {
                assert!(phase > 1, "it has phases");
                ended.expect("nothing asked for its end");
                break;
            }
            let error: SqlError = ended.expect_err("it was ended");
            assert_eq!(error.code, code::QUERY_CANCELED, "{large}, phase {phase}");
            assert_eq!(content(&fresh.database), before, "{large}, phase {phase}");
            let definitions = fresh
                .database
                .tables()
                .expect("tables in main memory")
                .read(|view| Ok(view.definitions().clone()));
            let definitions = definitions.expect("it reads");
            let mut definitions = definitions.iter();
            assert!(!definitions.any(|one| one.name.starts_with("sardonyx.next")));
            // The next one is not in the way of anything.
            fresh.database.set_beside(BesideLimits::default());
            run(&mut session, large).expect("it runs");
        }
    }
}

#[test]
fn several_large_statements_of_one_table_come_one_after_another() {
    let fresh = aside();
    let database = fresh.database.clone();
    let first = Mutex::new(4);
    with_limits(&fresh, 0, move || {
        let left = {
            let mut left = first.lock().expect("no panic");
            *left -= 1;
            *left
        };
        if left == 1 {
            run(
                &mut crate::common::session(&database),
                "update t set a = a * 2",
            )
            .expect("it runs");
        }
    });
    run(&mut fresh.session(), "update t set a = a + 1").expect("it runs");
    let sum = query(&mut fresh.session(), "select sum(a) from t").expect("it reads");
    assert_eq!(sum, ["600"]);
}

#[test]
fn rows_that_are_copied_go_into_a_next_content_or_run_in_the_stage() {
    let line = |id: i64| format!("{id}\t1\ta line that is somewhat long\t\\N\n");
    let good: String = (1000..4000).map(line).collect();
    for (data, few, copied) in [
        (good.clone(), 0, Some(3000)),
        (good.clone(), 1_000_000, Some(3000)),
        // A row that exists has the usual error.
        (format!("{good}{}", line(7)), 0, None),
        (format!("{good}{}", line(1007)), 0, None),
        (format!("{good}not a line\n"), 0, None),
    ] {
        let both = Both::new();
        let database = both.aside.database.clone();
        let first = Mutex::new(3);
        let moved = Arc::new(Mutex::new(false));
        let has_moved = moved.clone();
        with_limits(&both.aside, few, move || {
            let mut left = first.lock().expect("no panic");
            *left -= 1;
            if *left == 0 {
                let text = "update t set b = 'a text that is lung 5' where id = 5; delete from t where id = 6;
                    insert into t values (500, 1, 'new', 500)";
                run(&mut crate::common::session(&database), text).expect("it runs");
                *has_moved.lock().expect("no panic") = true;
            }
        });
        let text = "copy t from stdin";
        let told = crate::common::copy_in(&mut both.aside.session(), text, data.as_bytes());
        let text_of =
            |error: &SqlError| format!("{} {} {:?}", error.code, error.message, error.context);
        if *moved.lock().expect("no panic") {
            let text =
                "update t set b = 'a text that is lung 5' where id = 5; delete from t where id = 6;
                insert into t values (500, 1, 'new', 500)";
            run(&mut both.plain.session(), text).expect("it runs");
        }
        let plain = crate::common::copy_in(&mut both.plain.session(), text, data.as_bytes());
        assert_eq!(
            told.as_ref().ok().map(|done| done.tag.rows),
            copied.map(Some)
        );
        assert_eq!(
            told.as_ref().err().map(text_of),
            plain.as_ref().err().map(text_of)
        );
        assert_eq!(content(&both.aside.database), content(&both.plain.database));
    }
}
