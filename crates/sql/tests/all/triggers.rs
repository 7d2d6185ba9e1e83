//! Functions of users and triggers of rows on the paths that scripts do not take: large statements that run beside others,
//! `COPY`, open transactions that are compared at their commit, notifications, declarations, and the bounds.

use crate::common::{Fresh, copy_in, query, run};
use sardonyx_sql::{
    Access, BesideLimits, Rights, Session, SessionOptions, SqlError, code, declarations,
};

/// A table whose rows are counted by a trigger, in a table of its own, and doubled by another one.
const COUNTED: &str = "create table t (id int primary key, n int, twice int);
    create table counts (op text primary key, many int);
    insert into counts values ('INSERT', 0), ('UPDATE', 0), ('DELETE', 0);
    create function doubled() returns trigger language plpgsql as
        $$ begin new.twice := new.n * 2; return new; end $$;
    create function counted() returns trigger language plpgsql as
        $$ begin update counts set many = many + 1 where op = tg_op; return null; end $$;
    create trigger a before insert or update on t for each row execute function doubled();
    create trigger b after insert or update or delete on t for each row execute function counted()";

fn counted() -> (Fresh, Session) {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(&mut session, COUNTED).expect("they are made");
    (fresh, session)
}

fn one(session: &mut Session, text: &str) -> String {
    query(session, text).expect("it is read").join(" ")
}

fn code_of<T>(result: Result<T, SqlError>) -> &'static str {
    result.err().map_or("", |error| error.code)
}

#[test]
fn large_statements_run_triggers_for_each_row() {
    let (fresh, mut session) = counted();
    // Statements on so many rows run beside others, and would make next contents.
    fresh.database.set_beside(BesideLimits {
        from: 10,
        few: 5,
        slice: 4,
        ..BesideLimits::default()
    });
    let insert = "insert into t (id, n) select i, i from generate_series(1, 50) i";
    run(&mut session, insert).expect("they are inserted");
    run(&mut session, "update t set n = n + 1").expect("they are changed");
    run(&mut session, "delete from t where id > 40").expect("they are deleted");
    let rows = (51..=90).map(|id| format!("{id}\t{id}\t\\N\n"));
    let data: String = rows.collect();
    copy_in(&mut session, "copy t from stdin", data.as_bytes()).expect("they are copied");
    assert_eq!(
        one(&mut session, "select op, many from counts order by op"),
        "DELETE|10 INSERT|90 UPDATE|50"
    );
    assert_eq!(
        one(&mut session, "select count(*), sum(twice - 2 * n) from t"),
        "80|0"
    );
}

#[test]
fn an_open_transaction_with_triggers_is_compared_at_its_commit() {
    let (fresh, mut session) = counted();
    fresh.database.set_aside_from(1);
    let mut other = fresh.session();
    run(&mut session, "begin").expect("it begins");
    run(&mut session, "insert into t (id, n) values (1, 1)").expect("it is inserted");
    run(&mut other, "insert into t (id, n) values (2, 2)").expect("it is inserted");
    run(&mut session, "insert into t (id, n) values (3, 3)").expect("it is inserted");
    run(&mut session, "commit").expect("it is run again");
    assert_eq!(
        one(&mut other, "select many from counts where op = 'INSERT'"),
        "3"
    );
    run(
        &mut session,
        "begin; insert into t (id, n) values (4, 4); rollback",
    )
    .expect("it is undone");
    assert_eq!(
        one(&mut other, "select many from counts where op = 'INSERT'"),
        "3"
    );
    // A failed statement fires nothing.
    let failed = run(&mut session, "insert into t (id, n) values (5, 5), (1, 1)");
    assert_eq!(code_of(failed), code::UNIQUE);
    assert_eq!(
        one(&mut other, "select many from counts where op = 'INSERT'"),
        "3"
    );
}

#[test]
fn functions_notify_when_their_transaction_commits() {
    let fresh = Fresh::new();
    let options = |process| SessionOptions {
        user: "tester".into(),
        rights: Access::Define.into(),
        process,
        ..SessionOptions::default()
    };
    let mut one = Session::new(fresh.database.clone(), options(1)).expect("a session");
    let mut two = Session::new(fresh.database.clone(), options(2)).expect("a session");
    fresh.database.set_beside(BesideLimits {
        from: 2,
        few: 1,
        slice: 1,
        ..BesideLimits::default()
    });
    run(
        &mut two,
        "create table jobs (id int primary key, name text);
        create function tell() returns trigger language plpgsql as
            $$ begin perform pg_notify('jobs', row_to_json(new)::text); return null; end $$;
        create trigger told after insert on jobs for each row execute function tell();
        create function say(what text) returns void language sql as $$ select pg_notify('jobs', what) $$",
    )
    .expect("they are made");
    run(&mut one, "listen jobs").expect("it listens");
    let come = |session: &Session| -> Vec<String> {
        let inbox = session.inbox().expect("an inbox");
        let taken = inbox.take(usize::MAX).into_iter();
        taken
            .map(|one| String::from_utf8(one.payload.to_vec()).expect("a text"))
            .collect()
    };
    run(&mut two, "begin; insert into jobs values (1, 'a')").expect("it is inserted");
    assert!(come(&one).is_empty());
    run(&mut two, "commit").expect("it commits");
    assert_eq!(come(&one), ["{\"id\":1,\"name\":\"a\"}"]);
    run(
        &mut two,
        "insert into jobs select i, 'b' from generate_series(2, 5) i",
    )
    .expect("they are inserted");
    assert_eq!(come(&one).len(), 4);
    copy_in(&mut two, "copy jobs from stdin", b"6\tc\n7\tc\n8\tc\n").expect("they are copied");
    assert_eq!(come(&one).len(), 3);
    run(&mut two, "select say('x')").expect("it says so");
    assert_eq!(come(&one), ["x"]);
}

#[test]
fn a_database_declares_functions_and_triggers_by_a_text_that_makes_them() {
    let (fresh, mut session) = counted();
    run(
        &mut session,
        "create function of_rows(least int default 1) returns table (a int, b text) language sql stable strict as
            $$ select id, 'x'::text from t where id >= least $$;
        create view v as select id, n from t;
        create function of_view() returns setof int language sql as $$ select id from v $$;
        create function named(id int) returns text language sql immutable as $$ select 'row ' || id $$;
        create view w as select id, named(id) from t;
        alter table t disable trigger b",
    )
    .expect("they are made");
    let declared = |fresh: &Fresh| -> Vec<String> {
        let tables = fresh.database.tables().expect("tables in memory").clone();
        let all = tables.read(|view| Ok(declarations(view).expect("they are written")));
        let all = all.expect("they are read").into_iter();
        all.map(|one| one.sql).collect()
    };
    let texts = declared(&fresh);
    let count = |word: &str| texts.iter().filter(|text| text.starts_with(word)).count();
    assert_eq!(
        (count("CREATE OR REPLACE FUNCTION"), count("CREATE TRIGGER")),
        (5, 2)
    );
    let copy = Fresh::new();
    let mut other = copy.session();
    for text in &texts {
        run(&mut other, text).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    assert_eq!(declared(&copy), texts);
    assert_eq!(
        one(
            &mut other,
            "select tgname, tgenabled from pg_trigger order by 1"
        ),
        "a|O b|D"
    );
}

#[test]
fn calls_have_bounds() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create function deep(n int) returns int language plpgsql as $$ begin return deep(n + 1); end $$;
        create function endless() returns int language plpgsql as $$ begin loop null; end loop; end $$;
        create function long() returns int language plpgsql as
            $$ declare n int := 0; begin while true loop n := n + 1; end loop; return n; end $$;
        create table t (id int primary key);
        create function again() returns trigger language plpgsql as
            $$ begin insert into t values (new.id + 1); return null; end $$;
        create trigger again after insert on t for each row execute function again()",
    )
    .expect("they are made");
    for (text, wanted) in [
        ("select deep(1)", code::TOO_COMPLEX),
        ("select endless()", code::PROGRAM_LIMIT),
        ("select long()", code::PROGRAM_LIMIT),
        ("insert into t values (1)", code::TOO_COMPLEX),
    ] {
        assert_eq!(code_of(run(&mut session, text)), wanted, "{text}");
    }
    assert_eq!(one(&mut session, "select count(*) from t"), "0");
}

#[test]
fn forms_that_would_not_be_whole_are_refused_by_name() {
    let (_fresh, mut session) = counted();
    run(
        &mut session,
        "create table parents (id int primary key);
        create table kids (id int primary key, parent int references parents on delete cascade);
        create table source (id int primary key, n int);
        create table emptied (id int primary key);
        create trigger e after truncate on emptied execute function counted();
        insert into source values (0, 0);
        create function writes() returns trigger language plpgsql as
            $$ begin insert into source values (new.id); return new; end $$;
        create function adds(i int) returns int language sql as 'insert into source values (i) returning id'",
    )
    .expect("they are made");
    for text in [
        "truncate emptied",
        "create trigger x after truncate on t for each row execute function counted()",
        "create constraint trigger x after insert on t for each row execute function counted()",
        "create trigger x after insert on t referencing new table as n for each row execute function counted()",
        "create trigger x before insert on t for each row execute function writes()",
        "create trigger x after delete on kids for each row execute function counted()",
        "merge into t using source s on t.id = s.id when not matched then insert values (s.id, s.n)",
        "with x as (insert into t (id, n) values (1, 1) on conflict do nothing returning id) select * from x",
        "select adds(1) from source",
        "select * from source where id = adds(1)",
        "create function f() returns int language plpgsql as $$ begin execute 'x'; return 1; end $$",
        "create function f() returns record language sql as 'select 1, 2'",
    ] {
        assert_eq!(
            code_of(run(&mut session, text)),
            code::FEATURE_NOT_SUPPORTED,
            "{text}"
        );
    }
    // A reference with an action is refused beside a trigger that it would not run.
    run(
        &mut session,
        "create table young (id int primary key, parent int);
        create trigger y after delete on young for each row execute function counted()",
    )
    .expect("they are made");
    let add = "alter table young add foreign key (parent) references parents on delete cascade";
    assert_eq!(code_of(run(&mut session, add)), code::FEATURE_NOT_SUPPORTED);
    run(
        &mut session,
        "alter table young add foreign key (parent) references parents on delete set null",
    )
    .expect("it changes no row that a trigger is for");
}

#[test]
fn a_function_has_the_rights_of_its_caller() {
    let (fresh, mut session) = counted();
    run(
        &mut session,
        "create function many() returns bigint language sql as 'select count(*) from counts'",
    )
    .expect("it is made");
    let options = SessionOptions {
        user: "reader".into(),
        rights: Rights::from(Access::Read).with_table("counts", Access::Nothing),
        ..SessionOptions::default()
    };
    let mut reader = Session::new(fresh.database.clone(), options).expect("a session");
    assert_eq!(
        code_of(run(&mut reader, "select many()")),
        code::INSUFFICIENT_PRIVILEGE
    );
}
