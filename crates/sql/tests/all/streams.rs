//! Results that are read in portions: from a table in its own order, in the order of an index with many equal keys,
//! forward and backward, with conditions and limits. They are of one state, whatever happens meanwhile.

use crate::common::{Fresh, drain, run, wait};
use sardonyx_sql::{Complete, Outcome, Session, Step, Value};

fn select(session: &mut Session, text: &str, rows_max: u64) -> Complete {
    let statement = session.prepare(text, &[]).expect(text).remove(0);
    let step = Step::Execute {
        statement,
        parameters: Vec::new(),
        rows_max,
    };
    match wait(session.run(vec![step, Step::Sync])).remove(0) {
        Outcome::Done(complete) => complete,
        other => panic!("{text}: {other:?}"),
    }
}

const ROWS: i128 = 500;

fn filled() -> Fresh {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(
        &mut session,
        "create table t (id int primary key, g int, x text)",
    )
    .expect("created");
    run(&mut session, "create index t_g on t (g)").expect("created");
    for id in 0..ROWS {
        let text = format!("insert into t values ({id}, {}, 'row {id}')", id % 3);
        run(&mut session, &text).expect("stored");
    }
    fresh
}

#[test]
fn portions_are_the_whole() {
    let fresh = filled();
    let mut session = fresh.session();
    for text in [
        "select id, x from t",
        "select id from t where id >= 100 order by id",
        "select id from t where id >= 100 order by id desc",
        "select id from t where g = 1",
        "select id from t where g > 0 order by g desc",
        "select id from t where x like '%7%'",
        "select id from t offset 10 limit 333",
        "select id from t where g >= 0 limit 0",
        "select id from t where id > 100.5 and id < 300.5 order by id desc",
        "select id from t where g in (2, 0, 2) order by g desc",
        "select id from t where g = any ('{0,5}') and id > 3.5 limit 50",
        "select id from t where g = 1 or id = 3 or id = 4",
        "select id from t where id <> all ('{1,2,3,4,5,6,7,8,9,10,11,12}')",
    ] {
        // A cursor-like read of one row at a time, and more, against all at once.
        let whole = drain(select(&mut session, text, 0), 1000);
        for portion in [1, 3, 100, 1000] {
            let found = drain(select(&mut session, text, portion), portion);
            assert_eq!(found, whole, "{text}, {portion} at a time");
        }
    }
    for (text, rows) in [
        ("select id from t where id > 100.5 and id < 300.5", 200),
        (
            "select id from t where id <> all ('{1,2,3,4,5,6,7,8,9,10,11,999}')",
            489,
        ),
        ("select id from t where g in (2, 0, 2, null)", 333),
    ] {
        let found = drain(select(&mut session, text, 7), 7);
        assert_eq!(found.len(), rows, "{text}");
    }
    let all = drain(select(&mut session, "select id from t", 7), 7);
    assert_eq!(all.len(), ROWS as usize);
}

#[test]
fn a_stream_is_of_one_state() {
    let fresh = filled();
    let mut session = fresh.session();
    let first = select(&mut session, "select id from t where g = 2", 10);
    let wanted = (0..ROWS).filter(|id| id % 3 == 2).map(Value::Int);
    let mut other = fresh.session();
    run(&mut other, "delete from t where id > 20").expect("deleted");
    run(&mut other, "update t set g = 2").expect("changed");
    let mut found = drain(first, 5);
    found.sort_by_key(|id| match id {
        Value::Int(id) => *id,
        _ => -1,
    });
    assert_eq!(found, wanted.collect::<Vec<_>>());
}

#[test]
fn a_stream_over_an_index_with_what_is_no_number_comes_to_its_end() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create table fl (id int primary key, f double precision); create index fl_f on fl (f);\n\
        insert into fl select i, case when i % 10 = 0 then i::double precision else 'NaN' end from generate_series(1, 500) as s (i);\n\
        insert into fl values (501, 0.0), (502, '-0.0'), (503, 0.0), (504, '-0.0')";
    run(&mut session, text).expect("stored");
    for text in [
        "select id from fl where f > 1 order by f",
        "select id from fl where f > 1 order by f desc",
        "select id from fl where f >= 0 order by f",
        "select id from fl where f >= 0 order by f desc",
    ] {
        let whole = drain(select(&mut session, text, 0), 1000);
        for portion in [1, 7, 100] {
            let rows = select(&mut session, text, portion)
                .rows
                .expect("it has rows");
            let (mut values, mut more) = (rows.values, rows.more);
            while let Some(stream) = &mut more {
                let (_, goes_on) = stream.next(portion, &mut values).expect("read");
                assert!(
                    values.len() <= whole.len(),
                    "{text}, {portion} at a time: it goes on"
                );
                if !goes_on {
                    more = None;
                }
            }
            assert_eq!(values, whole, "{text}, {portion} at a time");
        }
    }
}
