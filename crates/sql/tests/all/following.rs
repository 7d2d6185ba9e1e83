//! Sessions on tables that another program has open: they read its commits, in one state for each statement and each
//! transaction, and change nothing.

use crate::common::{Fresh, copy_in, drain, execute, flight, lines, query, run, session, wait};
use sardonyx::{Follower, Options, Tables};
use sardonyx_sql::{
    AgeBound, BesideLimits, Database, FollowOptions, Outcome, Session, SessionOptions, SqlType,
    Step, TransactionStatus, Value,
};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The most time that a test waits for an event.
const PATIENCE: Duration = Duration::from_secs(120);

/// A program that writes, and another one's sight of it.
struct Both {
    fresh: Fresh,
    follower: Arc<Follower>,
    followed: Arc<Database>,
}

impl Both {
    fn new() -> Both {
        Both::with(Options::new())
    }

    fn with(options: Options) -> Both {
        let fresh = Fresh::new();
        let follower = options.follow_tables(fresh.directory.path().join("test.sdx"));
        let follower = Arc::new(follower.expect("it is followed"));
        Both {
            followed: Database::follow(follower.clone(), FollowOptions::default()),
            follower,
            fresh,
        }
    }

    fn tables(&self) -> &Arc<Tables> {
        self.fresh.database.tables().expect("in main memory")
    }

    /// The other program commits, and the follower has it.
    fn write(&self, text: &str) {
        run(&mut self.fresh.session(), text).expect(text);
        let position = self.tables().position().expect("it is open");
        let waited = self.follower.wait_for(position, PATIENCE);
        waited.expect("the follower comes there");
    }

    fn reader(&self) -> Session {
        session(&self.followed)
    }
}

/// The code with which a text is refused.
fn code(session: &mut Session, text: &str) -> &'static str {
    match run(session, text) {
        Ok(_) => "none",
        Err(error) => error.code,
    }
}

#[test]
fn a_statement_reads_what_is_committed_and_a_transaction_reads_one_state() {
    let both = Both::new();
    both.write("create table t (id int primary key, x text)");
    both.write("insert into t values (1, 'one')");
    let (mut open, mut reader) = (both.reader(), both.reader());
    run(&mut open, "begin").unwrap();
    assert_eq!(query(&mut open, "select x from t").unwrap(), ["one"]);
    both.write("insert into t values (2, 'two')");
    both.write("update t set x = 'uno' where id = 1");
    let all = "select x from t order by id";
    assert_eq!(query(&mut reader, all).unwrap(), ["uno", "two"]);
    assert_eq!(query(&mut open, all).unwrap(), ["one"]);
    run(&mut open, "commit").unwrap();
    assert_eq!(query(&mut open, all).unwrap(), ["uno", "two"]);
    // Statements that are sent together read one state, too: the writer commits between them.
    let mut steps = flight(&mut reader, "select count(*) from t").unwrap();
    steps.pop();
    let count = |outcomes: Vec<Outcome>| match &outcomes[0] {
        Outcome::Done(complete) => lines(complete),
        other => panic!("{other:?}"),
    };
    assert_eq!(count(wait(reader.run(steps))), ["2"]);
    both.write("insert into t values (3, 'three')");
    let steps = flight(&mut reader, "select count(*) from t").unwrap();
    assert_eq!(count(wait(reader.run(steps))), ["2"]);
    assert_eq!(query(&mut reader, "select count(*) from t").unwrap(), ["3"]);
}

#[test]
fn each_kind_of_reading_works() {
    let both = Both::new();
    both.write("create table t (id int primary key, g int, x text)");
    both.write("create index t_g on t (g)");
    both.write("create view v as select id, x from t where g = 1");
    for id in 0..300 {
        let text = format!("insert into t values ({id}, {}, 'row {id}')", id % 3);
        run(&mut both.fresh.session(), &text).unwrap();
    }
    both.write("comment on table t is 'rows'");
    let mut reader = both.reader();
    assert_eq!(
        query(&mut reader, "select count(*) from v").unwrap(),
        ["100"]
    );
    assert_eq!(
        query(
            &mut reader,
            "select a.id from t a join t b on a.id = b.g order by 1 limit 2"
        )
        .unwrap(),
        ["0", "0"]
    );
    // With parameters, prepared by name, and in portions.
    let found = execute(
        &mut reader,
        "select x from t where id = $1",
        &[Some(SqlType::Int4)],
        &[Value::Int(7)],
    );
    assert_eq!(lines(&found.unwrap()), ["row 7"]);
    run(
        &mut reader,
        "prepare p (int) as select x from t where id = $1",
    )
    .unwrap();
    assert_eq!(query(&mut reader, "execute p(8)").unwrap(), ["row 8"]);
    let statement = reader.prepare("select id from t", &[]).unwrap().remove(0);
    let step = Step::Execute {
        statement,
        parameters: Vec::new(),
        rows_max: 7,
    };
    match wait(reader.run(vec![step, Step::Sync])).remove(0) {
        Outcome::Done(complete) => assert_eq!(drain(complete, 11).len(), 300),
        other => panic!("{other:?}"),
    }
    let copied = run(
        &mut reader,
        "copy (select id, x from t where id < 2 order by id) to stdout",
    );
    let copied = copied.unwrap().remove(0).copy_out.expect("it has data");
    assert_eq!(copied.0, b"0\trow 0\n1\trow 1\n");
    let plan = query(&mut reader, "explain analyze select * from t where g = 1").unwrap();
    assert!(plan.iter().any(|line| line.contains("t_g")), "{plan:?}");
    assert!(
        !query(&mut reader, "explain update t set g = 2")
            .unwrap()
            .is_empty()
    );
    let catalogue = "select c.relname, obj_description(c.oid, 'pg_class') from pg_class c where c.relname = 't'";
    assert_eq!(query(&mut reader, catalogue).unwrap(), ["t|rows"]);
    assert_eq!(
        query(&mut reader, "select 1 union select 2 order by 1").unwrap(),
        ["1", "2"]
    );
    // The statement before `begin` belongs to the same transaction.
    let done = run(
        &mut reader,
        "select 1; begin; select 2; savepoint s; select 3",
    );
    assert_eq!(done.unwrap().len(), 5);
    assert_eq!(reader.status(), TransactionStatus::Open);
    run(&mut reader, "rollback to s; release s; commit").unwrap();
    assert_eq!(reader.status(), TransactionStatus::Idle);
}

#[test]
fn i16_what_would_change_something_is_refused_by_name() {
    let both = Both::new();
    both.write("create table t (id int primary key, x text)");
    both.write("create sequence s");
    both.write("create procedure p() language sql as 'insert into t values (1, null)'");
    let mut reader = both.reader();
    for text in [
        "insert into t values (1, 'x')",
        "insert into t values (1, 'x') returning id",
        "update t set x = 'y'",
        "delete from t",
        "with d as (select 1) delete from t",
        "truncate t",
        "create table u (id int)",
        "alter table t add column y int",
        "drop table t",
        "create index i on t (x)",
        "create view v as select 1",
        "comment on table t is 'x'",
        "call p()",
        "explain analyze delete from t",
        "select nextval('s')",
        "select setval('s', 7)",
        "copy t from stdin",
        "listen c",
        "notify c",
        "select pg_notify('c', 'x')",
        "set constraints all deferred",
        "checkpoint",
        "vacuum",
        "analyze t",
        "reindex table t",
    ] {
        assert_eq!(code(&mut reader, text), "25006", "{text}");
        let error = run(&mut reader, text).unwrap_err();
        assert!(
            error
                .hint
                .as_ref()
                .is_some_and(|hint| hint.contains("has the database open")),
            "{text}"
        );
        // In a transaction it fails that one.
        run(&mut reader, "begin").unwrap();
        assert_eq!(code(&mut reader, text), "25006", "{text}");
        assert_eq!(reader.status(), TransactionStatus::Failed, "{text}");
        run(&mut reader, "rollback").unwrap();
    }
    assert_eq!(
        copy_in(&mut reader, "copy t from stdin", b"1\tx\n")
            .unwrap_err()
            .code,
        "25006"
    );
    assert_eq!(reader.check_copy_in().unwrap_err().code, "25006");
    run(&mut reader, "prepare i as insert into t values (1, 'x')").unwrap();
    assert_eq!(code(&mut reader, "execute i"), "25006");
    // They are not refused, since they change nothing: a pool sends them to each connection that it takes back.
    run(&mut reader, "unlisten *").unwrap();
    run(&mut reader, "reset all").unwrap();
    run(&mut reader, "discard all").unwrap();
    assert_eq!(query(&mut reader, "select count(*) from t").unwrap(), ["0"]);
    assert_eq!(
        query(&mut both.fresh.session(), "select count(*) from t").unwrap(),
        ["0"]
    );
}

#[test]
fn a_session_says_that_it_only_reads_and_cannot_be_set_to_write() {
    let both = Both::new();
    let mut reader = both.reader();
    let shown = |reader: &mut Session| {
        [
            "transaction_read_only",
            "default_transaction_read_only",
            "in_hot_standby",
        ]
        .map(|name| query(reader, &format!("show {name}")).unwrap().remove(0))
    };
    assert_eq!(shown(&mut reader), ["on"; 3]);
    assert_eq!(
        query(&mut reader, "select pg_is_in_recovery()").unwrap(),
        ["t"]
    );
    let reported = reader.reported_parameters();
    for name in ["default_transaction_read_only", "in_hot_standby"] {
        assert!(reported.contains(&(name.into(), "on".into())), "{name}");
    }
    for text in [
        "begin read write",
        "start transaction isolation level serializable, read write",
        "begin; set transaction read write",
        "set session characteristics as transaction read write",
        "set default_transaction_read_only = off",
    ] {
        assert_eq!(code(&mut reader, text), "0A000", "{text}");
        run(&mut reader, "rollback").unwrap();
    }
    assert_eq!(code(&mut reader, "set in_hot_standby = off"), "55P02");
    for text in [
        "reset all",
        "discard all",
        "reset default_transaction_read_only",
    ] {
        run(&mut reader, text).unwrap();
    }
    run(
        &mut reader,
        "set default_transaction_read_only = on; begin read only",
    )
    .unwrap();
    assert_eq!(shown(&mut reader), ["on"; 3]);
    let failed = run(&mut reader, "select 1/0");
    assert_eq!(failed.unwrap_err().code, "22012");
    assert_eq!(
        query(&mut reader, "rollback; show transaction_read_only").unwrap(),
        ["on"]
    );
    // Nor by how it begins.
    let begins = SessionOptions {
        parameters: vec![("default_transaction_read_only".into(), "off".into())],
        rights: sardonyx_sql::Access::Define.into(),
        user: "tester".into(),
        ..SessionOptions::default()
    };
    let begun = Session::new(both.followed.clone(), begins);
    assert_eq!(begun.unwrap_err().code, "0A000");
    // Nothing has changed at its place.
    let mut writer = both.fresh.session();
    assert_eq!(shown(&mut writer), ["off"; 3]);
    assert_eq!(
        query(&mut writer, "select pg_is_in_recovery()").unwrap(),
        ["f"]
    );
}

#[test]
fn a_schema_that_changes_is_seen_also_by_what_was_prepared_before() {
    let both = Both::new();
    let mut reader = both.reader();
    assert_eq!(code(&mut reader, "select * from t"), "42P01");
    both.write("create table t (id int primary key, x text)");
    both.write("insert into t values (1, 'one')");
    run(&mut reader, "prepare p as select x from t where id = 1").unwrap();
    run(&mut reader, "prepare c as select count(*) from v").unwrap_err();
    both.write("create view v as select * from t where id < 10");
    run(&mut reader, "prepare c as select count(*) from v").unwrap();
    assert_eq!(query(&mut reader, "execute c").unwrap(), ["1"]);
    // Another query under the same name: no table of the plan has changed.
    both.write("create or replace view v as select * from t where id < 0");
    assert_eq!(query(&mut reader, "execute c").unwrap(), ["0"]);
    both.write("create index t_x on t (x)");
    both.write("alter table t add column y int default 7");
    assert_eq!(query(&mut reader, "execute p").unwrap(), ["one"]);
    assert_eq!(query(&mut reader, "select * from t").unwrap(), ["1|one|7"]);
    // A transaction that reads continues with its tables unchanged.
    run(&mut reader, "begin").unwrap();
    assert_eq!(query(&mut reader, "execute p").unwrap(), ["one"]);
    both.write("drop view v");
    both.write("drop table t");
    both.write("create table t (id int primary key, x int)");
    assert_eq!(query(&mut reader, "select x, y from t").unwrap(), ["one|7"]);
    run(&mut reader, "commit").unwrap();
    assert_eq!(
        query(&mut reader, "select * from t").unwrap(),
        Vec::<String>::new()
    );
    // Its client got a description with a text.
    assert_eq!(code(&mut reader, "execute p"), "0A000");
    both.write("alter table t rename to u");
    assert_eq!(code(&mut reader, "select * from t"), "42P01");
}

#[test]
fn numbers_that_are_drawn_leave_plans_as_they_are_and_sequences_are_shown() {
    let both = Both::new();
    both.write("create table t (id serial primary key, x text)");
    let mut reader = both.reader();
    let statement = reader
        .prepare("select x from t where id = 70", &[])
        .unwrap();
    let version = |database: &Arc<Database>| database.plans_version();
    query(&mut reader, "select 1").unwrap();
    let before = version(&both.followed);
    for _ in 0..70 {
        both.write("insert into t (x) values ('x')");
        query(&mut reader, "select count(*) from t").unwrap();
    }
    assert_eq!(version(&both.followed), before);
    assert_eq!(code(&mut reader, "select nextval('t_id_seq')"), "25006");
    assert_eq!(
        query(
            &mut reader,
            "select relname from pg_class where relkind = 'S'"
        )
        .unwrap(),
        ["t_id_seq"]
    );
    drop(statement);
    both.write("create sequence other");
    query(&mut reader, "select 1").unwrap();
    assert!(version(&both.followed) > before);
}

#[test]
fn i13_a_transaction_that_is_left_open_is_ended_at_the_bound_on_memory_by_name() {
    let both = Both::with(Options::new().snapshot_bytes_max(1 << 20));
    both.write("create table t (id int primary key, x text)");
    both.write("insert into t select g, repeat('x', 100) from generate_series(1, 20000) g");
    let mut reader = both.reader();
    run(&mut reader, "begin").unwrap();
    assert_eq!(
        query(&mut reader, "select count(*) from t").unwrap(),
        ["20000"]
    );
    // Few at once, so that they are changed where they are.
    for first in (1..=20000).step_by(1000) {
        let few = format!("id between {first} and {}", first + 999);
        both.write(&format!("update t set x = repeat('y', 100) where {few}"));
    }
    let ended = run(&mut reader, "select sum(id) from t where x like 'x%'").unwrap_err();
    assert_eq!(ended.code, "40001", "{ended}");
    run(&mut reader, "rollback").unwrap();
    assert_eq!(
        query(&mut reader, "select count(*) from t where x like 'y%'").unwrap(),
        ["20000"]
    );
}

#[test]
fn an_end_of_following_is_an_error_of_every_statement() {
    let both = Both::new();
    both.write("create table t (id int primary key)");
    let mut reader = both.reader();
    run(&mut reader, "begin; select * from t").unwrap();
    both.follower.close();
    // The rows that were read stay readable.
    assert_eq!(query(&mut reader, "select count(*) from t").unwrap(), ["0"]);
    run(&mut reader, "commit").unwrap();
    assert_eq!(code(&mut reader, "select * from t"), "57P01");
}

#[test]
fn the_wait_for_a_group_that_is_applied_can_be_cancelled_and_read_on_in_a_transaction() {
    let both = Both::new();
    both.write("create table t (id int primary key)");
    let (mut open, mut reader) = (both.reader(), both.reader());
    let interrupt = Arc::new(sardonyx_sql::Interrupt::default());
    reader.set_interrupt(interrupt.clone());
    run(&mut open, "begin; select * from t").unwrap();
    let (begins, has_begun) = channel();
    let (end, is_to_end) = channel::<()>();
    let follower = both.follower.clone();
    let applying = std::thread::spawn(move || {
        // A group that is applied waits in the same way.
        follower.look(|_| {
            begins.send(()).unwrap();
            let _ = is_to_end.recv();
        })
    });
    has_begun.recv().unwrap();
    assert_eq!(query(&mut open, "select count(*) from t").unwrap(), ["0"]);
    for _ in 0..2 {
        interrupt.request();
        assert_eq!(code(&mut reader, "select count(*) from t"), "57014");
    }
    end.send(()).unwrap();
    applying.join().unwrap().unwrap();
    assert_eq!(query(&mut reader, "select count(*) from t").unwrap(), ["0"]);
}

#[test]
fn a_read_that_would_be_older_than_allowed_is_refused_and_says_how_old() {
    let fresh = Fresh::new();
    let follower = Tables::follow(fresh.directory.path().join("test.sdx")).unwrap();
    let follower = Arc::new(follower);
    let caught_up: Arc<Mutex<Option<(Instant, Duration)>>> = Arc::default();
    let told = caught_up.clone();
    let options = FollowOptions {
        bound: Some(AgeBound {
            age_max: PATIENCE,
            caught_up: Arc::new(move || *told.lock().unwrap()),
        }),
        says_who_writes: Some(Arc::new(|| "host host-1 serves the database".into())),
    };
    let followed = Database::follow(follower.clone(), options);
    let mut reader = session(&followed);
    let refused = run(&mut reader, "select 1").unwrap_err();
    assert_eq!(refused.code, "57P03");
    assert!(
        refused.message.contains("does not know how far"),
        "{refused}"
    );
    assert_eq!(
        refused.hint.as_deref(),
        Some("host host-1 serves the database")
    );
    run(&mut fresh.session(), "create table t (id int primary key)").unwrap();
    let position = fresh.database.tables().unwrap().position().unwrap();
    follower.wait_for(position, PATIENCE).unwrap();
    // The follower has looked since then, so that no read of a busy machine waits for too long.
    let moment = Instant::now();
    while follower.lag().unwrap() > moment.elapsed() {
        std::thread::yield_now();
    }
    *caught_up.lock().unwrap() = Some((moment, Duration::ZERO));
    assert_eq!(query(&mut reader, "select count(*) from t").unwrap(), ["0"]);
    // The age counts, and not the moment: the machine may have slept.
    *caught_up.lock().unwrap() = Some((moment, 2 * PATIENCE));
    let refused = run(&mut reader, "select count(*) from t").unwrap_err();
    assert_eq!(refused.code, "57P03");
    assert!(
        refused.message.contains("behind") && refused.message.contains("120s"),
        "{refused}"
    );
}

#[test]
fn tables_that_are_made_of_a_query_in_several_calls_are_followed_whole() {
    let both = Both::new();
    both.write("create table t (id int primary key, x text)");
    both.write("insert into t select n, repeat('x', n) from generate_series(1, 200) as g (n)");
    both.fresh.database.set_beside(BesideLimits {
        from: 1,
        few: 0,
        slice: 7,
        ..BesideLimits::default()
    });
    let mut reader = both.reader();
    for (text, table) in [
        ("create table made as select id, x from t", "made"),
        (
            "create materialized view seen as select id, x from made",
            "seen",
        ),
        (
            "update made set x = x || '!'; refresh materialized view seen",
            "seen",
        ),
        (
            "drop materialized view seen; drop table made; select id, x into other from t",
            "other",
        ),
    ] {
        both.write(text);
        let rows = format!("select * from {table} order by id");
        let writers = query(&mut both.fresh.session(), &rows).unwrap();
        assert_eq!(writers.len(), 200, "{text}");
        assert_eq!(query(&mut reader, &rows).unwrap(), writers, "{text}");
    }
}

/// The names that the catalogue shows, of what has names beside a table's own.
const NAMED: [&str; 3] = [
    "select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1",
    "select conname, contype, pg_get_constraintdef(oid) from pg_constraint order by 1",
    "select relname, relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace \
     where relkind in ('r', 'i', 'S', 'v') and nspname = 'public' order by 1, 2",
];

#[test]
fn indexes_and_constraints_have_the_writers_names_after_each_replayed_change_and_in_a_later_follower()
 {
    let both = Both::new();
    let mut seen = 0;
    for text in [
        "create table t (id int primary key, a int, b text, constraint a_small check (a < 1000))",
        "create index on t (a)",
        "create index of_both on t (b, a desc)",
        "create unique index b_once on t (lower(b))",
        "create index some on t (a) where a > 5",
        "alter table t add constraint a_once unique (a)",
        "insert into t values (1, 1, 'one'), (2, 9, 'two')",
        "alter index of_both rename to \"of Both\"",
        "alter table t rename constraint a_once to a_alone",
        "alter table t rename column b to c",
        "alter table t rename to u",
        "create table v (id int primary key, u_id int references u (id))",
        "drop index some",
        "truncate v",
        "alter table u add column d int generated always as (a + 1) stored",
        "create index u_d_idx on u (d)",
        "reindex table u",
        "vacuum",
    ] {
        both.write(text);
        let late = Options::new().follow_tables(both.fresh.directory.path().join("test.sdx"));
        let late = Database::follow(Arc::new(late.unwrap()), FollowOptions::default());
        for named in NAMED {
            let writers = query(&mut both.fresh.session(), named).unwrap();
            seen += writers.len();
            for (which, database) in [("the follower", &both.followed), ("a later one", &late)] {
                let found = query(&mut session(database), named).unwrap();
                assert_eq!(found, writers, "{which}, after {text}");
            }
        }
    }
    assert!(seen > 100, "{seen}");
    let mut reader = both.reader();
    let named = query(
        &mut reader,
        "select indexname from pg_indexes where tablename = 'u' order by 1",
    );
    let expected = [
        "a_alone", "b_once", "of Both", "t_a_idx", "t_pkey", "u_d_idx",
    ];
    assert_eq!(named.unwrap(), expected);
}
