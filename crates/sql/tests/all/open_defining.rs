//! Interactive transactions that define tables, a statement at a time. They see their own definitions; other sessions
//! do not. Their answers are those of the same statements in one call of the serial stage.

use crate::common::{Fresh, copy_in, execute, query, run};
use sardonyx_base::random::Random;
use sardonyx_sql::{Session, TransactionStatus, code};

/// The answer of a statement: its tag and rows, or the code of its error.
fn answer(session: &mut Session, text: &str) -> String {
    if text.starts_with("select") {
        return match query(session, text) {
            Ok(lines) => lines.join("; "),
            Err(error) => error.code.to_string(),
        };
    }
    match run(session, text) {
        Ok(done) => done
            .iter()
            .map(|complete| complete.tag.to_string())
            .collect::<Vec<_>>()
            .join("; "),
        Err(error) => error.code.to_string(),
    }
}

/// The definitions, and all rows of the tables of the tests.
const LOOKS: [&str; 6] = [
    "select c.relname, c.relkind from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' order by 1, 2",
    "select table_name, column_name, ordinal_position, data_type, is_nullable, column_default
     from information_schema.columns where table_schema = 'public' order by 1, 3",
    "select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2",
    "select conname, contype, pg_get_constraintdef(oid) from pg_constraint order by 1, 2, 3",
    "select * from kept order by id",
    "select * from other order by id",
];

fn state(session: &mut Session) -> Vec<String> {
    let mut all: Vec<String> = LOOKS.iter().map(|text| answer(session, text)).collect();
    for table in TABLES {
        all.push(answer(
            session,
            &format!("select * from {table} order by 1, 2"),
        ));
        // Its rules hold for new rows, too.
        all.push(answer(
            session,
            &format!("insert into {table} values (7, 7)"),
        ));
    }
    all
}

const TABLES: [&str; 3] = ["one", "two", "three"];

fn begun() -> Fresh {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    for text in [
        "create table kept (id int primary key, a int unique, b text)",
        "create table other (id int primary key, kept int references kept)",
        "insert into kept values (1, 10, 'x'), (2, 20, 'y'), (3, 30, null)",
        "insert into other values (1, 1), (2, null)",
    ] {
        run(&mut session, text).expect(text);
    }
    fresh
}

/// A statement of a transaction.
fn statement(random: &mut Random, savepoints: &mut u64) -> String {
    let table = TABLES[random.below(3) as usize];
    let other = TABLES[random.below(3) as usize];
    let number = random.below(8);
    match random.below(45) {
        0..5 => {
            let columns = [
                "(id int primary key, a int)",
                "(id serial primary key, a int default 4 not null check (a < 100))",
                "(id int primary key, a int unique)",
                "(id int primary key, a int references kept (a) on delete cascade)",
                "(id int, a text)",
            ][random.below(5) as usize];
            format!("create table {table} {columns}")
        }
        5 => format!("create table if not exists {table} (id int primary key, a int)"),
        6 => format!("drop table {table}"),
        7 => format!("drop table if exists {table} cascade"),
        8 => format!("create index {table}_a on {table} (a)"),
        9 => format!("create unique index {table}_u on {table} (a, id)"),
        10 => format!("drop index {table}_a"),
        11 => format!("alter table {table} add column c{number} text default 'd{number}'"),
        12 => format!("alter table {table} add column n{number} int"),
        13 => format!("alter table {table} drop column c{number}"),
        14 => format!("alter table {table} rename to {other}"),
        15 => format!(
            "alter table {table} rename column a to z; alter table {table} rename column z to a"
        ),
        16 => format!(
            "alter table {table} add constraint {table}_f foreign key (a) references {other}"
        ),
        17 => format!("alter table {table} drop constraint {table}_f"),
        18 => format!("alter table {table} add check (a <> {number})"),
        19 => format!("alter table {table} alter column a type bigint"),
        20 => format!("alter table {table} alter column a drop not null"),
        21 => format!("alter table {table} alter column a set default {number}"),
        22 => format!("truncate {table}"),
        23 => format!("create view v{number} as select * from {table}"),
        24 => format!("create table {table} as select id, a from kept"),
        25 => format!("create sequence s{number}; select nextval('s{number}')"),
        26 => "alter table kept add column c int default 5".to_string(),
        27 => "create index kept_b on kept (b, a)".to_string(),
        28..31 => format!(
            "insert into {table} (id, a) values ({number}, {})",
            random.below(4)
        ),
        31 => format!("insert into {table} (a) values ({number})"),
        32 => format!("insert into {table} (id, a) select id, a from kept"),
        33 => format!("update {table} set a = {number} where id > 3"),
        34 => format!("delete from {table} where id = {number}"),
        35 => format!("update kept set a = a + 1 where id = {}", random.below(4)),
        36 => format!("select * from {table} where a > 1 order by id, a"),
        37 | 38 => {
            *savepoints += 1;
            format!("savepoint p{savepoints}")
        }
        39 => format!("rollback to p{}", 1 + random.below((*savepoints).max(1))),
        40 => format!("alter table {table} alter column id type bigint"),
        41 => format!("alter table {table} drop constraint {table}_pkey"),
        42 => format!("alter table {table} add primary key (id)"),
        43 => "alter table kept alter column id type bigint".to_string(),
        _ => format!("alter table {table} drop column id"),
    }
}

/// Runs a transaction a statement at a time, with others' statements between, and the same in the stage after the
/// others'. Returns the end of the transaction, and true if it was then installed.
fn compare(seed: u64, with_others: bool) -> String {
    let mut random = Random::new(seed);
    let (fresh, judge) = (begun(), begun());
    // Half of them go aside with the first statement; else a definition has them go there.
    fresh
        .database
        .set_aside_from(if seed.is_multiple_of(2) { 0 } else { 8 });
    let (mut session, mut others) = (fresh.session(), fresh.session());
    let (mut texts, mut answers, mut savepoints) = (Vec::new(), Vec::new(), 0);
    let mut text = "begin".to_string();
    for step in 0..25 {
        answers.push(answer(&mut session, &text));
        let has_failed = session.status() == TransactionStatus::Failed;
        texts.push(text);
        if with_others && random.below(8) == 0 {
            let text = [
                "insert into other values (100 + (select count(*) from other), 2)",
                "update kept set b = 'others' where id = 3",
                "create table apart (id int primary key)",
                "insert into kept values (50 + (select count(*) from kept), null, 'new')",
            ][random.below(4) as usize];
            assert_eq!(
                answer(&mut others, text),
                answer(&mut judge.session(), text),
                "{text}"
            );
        }
        text = match has_failed {
            // One that has changed nothing is as if it had run at its begin, and not behind the others.
            _ if step == 0 => "insert into other values (900, null)".to_string(),
            _ if step == 1 => {
                savepoints = 1;
                "savepoint p1".to_string()
            }
            true if random.below(20) == 0 => break,
            true => format!("rollback to p{}", 1 + random.below(savepoints)),
            false if step == 23 => break,
            false => statement(&mut random, &mut savepoints),
        };
    }
    assert_eq!(
        answer(
            &mut others,
            "select count(*) from pg_class where relname in ('one', 'two', 'three')"
        ),
        "0",
        "others see nothing before the commit"
    );
    texts.push("commit".to_string());
    answers.push(answer(&mut session, "commit"));
    let committed = answers.last().cloned().unwrap_or_default();
    if committed == code::SERIALIZATION_FAILURE {
        assert!(with_others, "seed {seed}: nothing has changed meanwhile");
        return committed;
    }
    // In the stage, each statement repeats the earlier ones.
    judge.database.set_aside_from(usize::MAX);
    let mut judging = judge.session();
    let judged: Vec<String> = texts
        .iter()
        .map(|text| answer(&mut judging, text))
        .collect();
    // A transaction that is rolled back may have read rows that have changed since.
    if !with_others || committed == "COMMIT" {
        assert_eq!(answers, judged, "seed {seed}: {texts:#?}");
    }
    let (found, wanted) = (state(&mut others), state(&mut judge.session()));
    assert_eq!(found, wanted, "seed {seed}: {texts:#?}");
    committed
}

#[test]
fn definitions_and_rows_are_those_of_the_stage() {
    let seeds = 0..sardonyx_base::random::seeds(12);
    let ended: Vec<String> = seeds.map(|seed| compare(seed, false)).collect();
    assert!(
        ended.iter().filter(|end| *end == "COMMIT").count() > ended.len() / 3,
        "{ended:?}"
    );
}

#[test]
fn definitions_among_others_changes_are_those_of_a_run_behind_them() {
    let seeds = 100..100 + sardonyx_base::random::seeds(30);
    let ended: Vec<String> = seeds.map(|seed| compare(seed, true)).collect();
    assert!(
        ended.iter().filter(|end| *end == "COMMIT").count() > ended.len() / 6,
        "{ended:?}"
    );
}

fn all(session: &mut Session, texts: &[&str]) {
    for text in texts {
        run(session, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

#[test]
fn a_transaction_sees_its_tables_and_others_do_not_before_its_commit() {
    let mut fresh = begun();
    let mut session = fresh.session();
    all(
        &mut session,
        &[
            "begin",
            "create type mood as enum ('sad', 'ok')",
            "create table one (id serial primary key, m mood, k int references kept, unique (m, k))",
            "create index one_k on one (k) where k > 0",
            "create table two (id int primary key, one int not null references one on delete cascade)",
            "insert into one (m, k) values ('ok', 1), ('sad', 1), ('ok', 2)",
            "alter table one add column note text default 'none'",
            "create view shown as select o.id, o.note, t.id as two from one o left join two t on t.one = o.id",
        ],
    );
    let copied = copy_in(
        &mut session,
        "copy two (id, one) from stdin",
        b"5\t1\n6\t3\n",
    );
    assert_eq!(copied.expect("copied").tag.to_string(), "COPY 2");
    assert!(session.bytes_aside() > 0);
    let refused = |session: &mut Session, text: &str| {
        all(session, &["savepoint s"]);
        let error = run(session, text).expect_err(text);
        all(session, &["rollback to s"]);
        error.code
    };
    assert_eq!(
        refused(&mut session, "insert into one (m, k) values ('ok', 1)"),
        code::UNIQUE
    );
    assert_eq!(
        refused(&mut session, "insert into one (m, k) values ('sad', 9)"),
        "23503"
    );
    assert_eq!(
        refused(&mut session, "insert into two values (7, 77)"),
        "23503"
    );
    assert_eq!(
        refused(&mut session, "create table two (id int)"),
        code::DUPLICATE_TABLE
    );
    let shown = "select id, note, two from shown order by id";
    let rows = ["1|none|5", "2|none|NULL", "3|none|6"];
    assert_eq!(query(&mut session, shown).expect("seen"), rows);
    let found = execute(
        &mut session,
        "select note from one where id = $1",
        &[],
        &[3.into()],
    );
    assert_eq!(
        found.expect("prepared over its own tables").tag.to_string(),
        "SELECT 1"
    );
    assert_eq!(
        query(
            &mut session,
            "select indexname from pg_indexes where tablename = 'one' order by 1"
        )
        .expect("seen"),
        ["one_k", "one_m_k_key", "one_pkey"]
    );
    let mut other = fresh.session();
    assert_eq!(answer(&mut other, "select * from one"), code::UNKNOWN_TABLE);
    assert_eq!(
        answer(
            &mut other,
            "select count(*) from pg_indexes where tablename = 'one'"
        ),
        "0"
    );
    // It stops no other.
    all(
        &mut other,
        &[
            "update kept set b = 'z' where id = 2",
            "insert into other values (3, 1)",
        ],
    );
    all(&mut session, &["commit"]);
    fresh.reopen();
    let mut other = fresh.session();
    assert_eq!(query(&mut other, shown).expect("there"), rows);
    assert_eq!(
        answer(&mut other, "insert into one (m, k) values ('ok', 2)"),
        code::UNIQUE
    );
    assert_eq!(answer(&mut other, "delete from kept where id = 1"), "23503");
    all(
        &mut other,
        &[
            "delete from one where id = 3",
            "insert into one (m) values ('ok')",
        ],
    );
    assert_eq!(answer(&mut other, "select id from two"), "5");
}

#[test]
fn definitions_of_an_undone_part_are_undone() {
    let fresh = begun();
    let mut session = fresh.session();
    all(
        &mut session,
        &[
            "begin",
            "create table one (id int primary key, a int)",
            "insert into one values (1, 1), (2, 2)",
            "savepoint s",
            "create index one_a on one (a)",
            "alter table one add column t text default 'new'",
            "update one set t = 'changed' where id = 1",
            "insert into one values (3, 3, 'more')",
            "create table two (id int primary key)",
            "drop table other",
            "alter table kept drop column b",
            "rollback to s",
        ],
    );
    assert_eq!(
        query(&mut session, "select * from one order by id").expect("seen"),
        ["1|1", "2|2"]
    );
    assert_eq!(answer(&mut session, "select count(*) from other"), "2");
    assert_eq!(answer(&mut session, "select b from kept where id = 1"), "x");
    all(
        &mut session,
        &[
            "create table two (a text)",
            "insert into two values ('again')",
            "commit",
        ],
    );
    let mut other = fresh.session();
    assert_eq!(
        query(&mut other, "select * from one order by id").expect("seen"),
        ["1|1", "2|2"]
    );
    assert_eq!(
        query(&mut other, "select * from two").expect("seen"),
        ["again"]
    );
    all(
        &mut session,
        &["begin", "create table three (id int)", "rollback"],
    );
    assert_eq!(
        answer(&mut session, "select * from three"),
        code::UNKNOWN_TABLE
    );
}

#[test]
fn a_plan_does_not_outlive_a_definition_nor_its_undoing() {
    let fresh = begun();
    let mut session = fresh.session();
    all(
        &mut session,
        &[
            "begin",
            "create view shown as select id from kept",
            "prepare p as select min(id) from shown",
        ],
    );
    let mut least = |text: &str| {
        all(&mut session, &[text]);
        query(&mut session, "execute p").expect("executed")
    };
    assert_eq!(least("savepoint s"), ["1"]);
    let other = "drop view shown; create view shown as select id + 10 as id from kept";
    assert_eq!(least(other), ["11"]);
    assert_eq!(least("rollback to s"), ["1"]);
    assert_eq!(least("commit"), ["1"]);
}

#[test]
fn two_transactions_that_define_both_commit_unless_they_take_one_name() {
    let fresh = begun();
    let (mut first, mut second) = (fresh.session(), fresh.session());
    all(
        &mut first,
        &[
            "begin",
            "create table one (id int primary key)",
            "insert into one values (1)",
        ],
    );
    all(
        &mut second,
        &[
            "begin",
            "create table two (id int primary key)",
            "insert into two values (2)",
        ],
    );
    all(&mut first, &["commit"]);
    all(&mut second, &["insert into two values (3)", "commit"]);
    assert_eq!(answer(&mut first, "select count(*) from one, two"), "2");
    all(
        &mut first,
        &["begin", "create table three (id int primary key)"],
    );
    all(
        &mut second,
        &["begin", "create table three (id int primary key)"],
    );
    all(&mut first, &["commit"]);
    let error = run(&mut second, "commit").expect_err("there is one");
    assert_eq!(error.code, code::SERIALIZATION_FAILURE);
    assert_eq!(second.status(), TransactionStatus::Idle);
}

#[test]
fn a_definition_that_copies_a_large_table_goes_on_in_the_stage() {
    let fresh = begun();
    fresh.database.set_aside_bytes_max(1 << 20);
    let mut session = fresh.session();
    all(
        &mut session,
        &[
            "create table large (id int primary key, a int)",
            "insert into large select n, n from generate_series(1, 10001) n",
            "begin",
            "create table one (id int primary key references large)",
            "alter table large add column t text default 'x'",
            "insert into one values (4)",
            "savepoint s",
        ],
    );
    assert!(session.bytes_aside() > 0);
    all(
        &mut session,
        &[
            "create index large_a on large (a)",
            "insert into one values (5)",
        ],
    );
    assert_eq!(session.bytes_aside(), 0);
    assert_eq!(
        answer(&mut session, "select t, id from large where a = 77"),
        "x|77"
    );
    all(
        &mut session,
        &[
            "rollback to s",
            "create unique index large_u on large (a)",
            "commit",
        ],
    );
    let mut other = fresh.session();
    assert_eq!(answer(&mut other, "select id from one"), "4");
    assert_eq!(
        answer(&mut other, "insert into large values (0, 77)"),
        code::UNIQUE
    );
}

/// A transaction that is too long to run again commits the tables that it made itself. Otherwise it fails at once, and
/// not with a conflict that another attempt would end.
#[test]
fn a_long_transaction_commits_its_tables_and_changes_none_of_others() {
    let fresh = begun();
    let mut session = fresh.session();
    let inserted = |session: &mut Session, table: &str| {
        (0..10_050).find_map(|id| {
            let text = format!("insert into {table} values ({id}, {id})");
            run(session, &text).err()
        })
    };
    for text in [
        "begin",
        "create table one (id int primary key, a int)",
        "create table two (id int primary key, a int)",
        "drop table one",
    ] {
        run(&mut session, text).expect("defined");
    }
    assert!(inserted(&mut session, "two").is_none());
    run(&mut session, "commit").expect("committed");
    let count = query(&mut session, "select count(*), sum(a) from two");
    assert_eq!(count.expect("rows"), ["10050|50496225"]);
    run(&mut session, "begin").expect("begun");
    run(&mut session, "alter table two add column b int").expect("altered");
    run(&mut session, "create table three (id int, a int)").expect("created");
    let error = inserted(&mut session, "three").expect("it is too long");
    assert_eq!(error.code, code::TOO_COMPLEX, "{error:?}");
    run(&mut session, "rollback").expect("ended");
    let error = query(&mut session, "select b from two").expect_err("undone");
    assert_eq!(error.code, code::UNKNOWN_COLUMN);
    // Behind a savepoint it has changed none of others, also if more of the text follows.
    for text in [
        "begin",
        "create table four (id int, a int)",
        "savepoint s",
        "alter table two add column b int",
    ] {
        run(&mut session, text).expect("defined");
    }
    inserted(&mut session, "four").expect("it is too long");
    for text in [
        "rollback to s; insert into four values (-1, -1)",
        "alter table two add column c int; rollback to s; insert into four values (-2, -2)",
        "commit",
    ] {
        run(&mut session, text).expect(text);
    }
    let left = query(&mut session, "select id from four");
    assert_eq!(left.expect("rows"), ["-2"]);
}
