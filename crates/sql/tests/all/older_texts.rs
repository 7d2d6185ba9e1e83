//! Views and procedures as an earlier version stored them: they mean what they meant there.

use crate::common::{Fresh, query, run};
use sardonyx::schema::Value;

/// Stores an object of SQL as it is.
fn store(fresh: &Fresh, kind: &str, name: &str, body: &str) {
    let values = [
        ("kind", Value::from(kind)),
        ("name", Value::from(name)),
        ("body", Value::from(body)),
    ];
    let tables = fresh.database.tables().expect("in main memory");
    let stored = tables.run(|tx| tx.rows("sql.objects")?.insert(&values));
    stored.expect("it is stored");
}

/// Stores a view with one column, whose name in the query is given.
fn view(fresh: &Fresh, name: &str, inner: &str, text: &str) {
    let body = format!("{{\"columns\":[[\"{inner}\",\"x\"]],\"query\":\"{text}\"}}");
    store(fresh, "view", name, &body);
}

fn procedure(fresh: &Fresh, name: &str, text: &str) {
    let body = format!("{{\"name\":\"{name}\",\"parameters\":[],\"body\":\"{text}\"}}");
    store(fresh, "procedure", name, &body);
}

#[test]
fn older_views_and_procedures_mean_what_they_meant() {
    let mut fresh = Fresh::new();
    let made = "create table t (a text, o oid, i int, value int); insert into t values ('a', 23, -1, 5);
        create view first as select 1; create view newer as select value from jsonb_array_elements('[7]') e;
        create procedure first() as $$ select 1 $$";
    run(&mut fresh.session(), made).expect("they are made");
    let views = [
        (
            "v1",
            "e",
            "SELECT * FROM jsonb_array_elements('[1]') AS e",
            "1",
        ),
        (
            "v2",
            "jsonb_array_elements",
            "SELECT * FROM jsonb_array_elements('[2]')",
            "2",
        ),
        (
            "v3",
            "e",
            "SELECT e.e FROM jsonb_array_elements('[3]') AS e",
            "3",
        ),
        (
            "v4",
            "value",
            "SELECT value FROM t, jsonb_array_elements('[4]') AS e",
            "5",
        ),
        ("v5", "?column?", "SELECT a IS NORMALIZED FROM t", "t"),
        (
            "v6",
            "a",
            "SELECT DISTINCT a FROM t ORDER BY 'x'::text",
            "a",
        ),
        (
            "v7",
            "n",
            "SELECT CASE '1' WHEN 1 THEN 'one' END AS n",
            "one",
        ),
        (
            "v8",
            "n",
            "SELECT coalesce(5000000000, o) AS n FROM t",
            "5000000000",
        ),
        ("v9", "n", "SELECT i::oid = i AS n FROM t", "t"),
        ("v10", "n", "SELECT avg(o)::int AS n FROM t", "23"),
        ("v12", "n", "SELECT 1 AS n FROM t WHERE 1=1and true", "1"),
        ("v13", "n", "SELECT max('int4'::regtype) AS n", "integer"),
        ("v14", "x", "SELECT x FROM v1", "1"),
    ];
    for (name, inner, text, _) in views {
        view(&fresh, name, inner, text);
    }
    procedure(
        &fresh,
        "p1",
        "select e.e from jsonb_array_elements('[8]') e",
    );
    procedure(&fresh, "p2", "select 9 where 1=1and true");
    for _ in 0..2 {
        let mut session = fresh.session();
        for (name, _, text, answer) in views {
            let rows = query(&mut session, &format!("select x from {name}"));
            assert_eq!(rows.expect(text), [answer], "{text}");
        }
        for (call, answer) in [("call p1()", "8"), ("call p2()", "9")] {
            assert_eq!(query(&mut session, call).expect(call), [answer], "{call}");
        }
        let newer = query(&mut session, "select value from newer");
        assert_eq!(newer.expect("the name of now"), ["7"]);
        drop(session);
        fresh.reopen();
    }
    // New texts are of the rules of now.
    let junk = "create procedure p3() as $$ select 9 where 1=1and true $$";
    let refused = run(&mut fresh.session(), junk).expect_err("letters behind a number");
    assert_eq!(refused.code, "42601");
    // Changes of the table look at all views.
    run(&mut fresh.session(), "alter table t add column more int").expect("the views stay");
}

#[test]
fn older_functions_triggers_and_defaults_go_on() {
    let mut fresh = Fresh::new();
    let made = "create table t (a int, b text default substr('foobar', 'o.b'));
        create function stamp() returns trigger language plpgsql as
            $$ begin new.a := new.a + (select count(*) from (select 1)); return new; end $$;
        create trigger stamps before insert on t for each row execute function stamp()";
    run(&mut fresh.session(), made).expect("they are made");
    let parameter = r#"{"name":"p","kind":25,"default":"substr('foobar', 'o.b')"}"#;
    let body = format!(
        r#"{{"number":19999,"schema":"public","name":"older","parameters":[{parameter}],"returns":{{"value":25}},"language":"sql","body":"SELECT p || count(*)::text FROM (SELECT 1)","volatility":"v"}}"#
    );
    store(&fresh, "function", "older(25)", &body);
    for _ in 0..2 {
        let mut session = fresh.session();
        run(&mut session, "delete from t; insert into t (a) values (1)").expect("its trigger runs");
        let rows = query(&mut session, "select a, b, older(), older('x') from t");
        assert_eq!(rows.expect("it is called"), ["2|oob|oob1|x1"]);
        drop(session);
        fresh.reopen();
    }
    let new =
        "create function newer() returns bigint language sql as 'select count(*) from (select 1)'";
    let refused = run(&mut fresh.session(), new).expect_err("a query without a name");
    assert_eq!(refused.code, "42601");
}
