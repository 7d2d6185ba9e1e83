//! Numbers of sequences after `ALTER SEQUENCE`, `TRUNCATE … RESTART IDENTITY`, and a return to a savepoint. The expected
//! numbers are PostgreSQL 15's.

use crate::common::{Fresh, query, run};

/// Statements, and the numbers that the queries among them give.
const CASES: [(&str, &[&str]); 20] = [
    (
        "create sequence u; select nextval('u'); alter sequence u restart with 1001; select nextval('u')",
        &["1", "1001"],
    ),
    (
        "create sequence u2; select nextval('u2'); alter sequence u2 restart; select nextval('u2')",
        &["1", "1"],
    ),
    (
        "create sequence u3; select nextval('u3'), nextval('u3'); alter sequence u3 restart with 1001 increment by 5; select nextval('u3'), nextval('u3')",
        &["1|2", "1001|1006"],
    ),
    (
        "create sequence u4; begin; select nextval('u4'), nextval('u4'); alter sequence u4 restart with 1; select nextval('u4'); commit; select nextval('u4')",
        &["1|2", "1", "2"],
    ),
    (
        "create sequence u5; begin; select nextval('u5'); alter sequence u5 restart with 1001; select nextval('u5'); rollback; select nextval('u5')",
        &["1", "1001", "2"],
    ),
    (
        "create table i1 (id int generated always as identity, v int); insert into i1 (v) values (1); alter sequence i1_id_seq restart with 1001; insert into i1 (v) values (2); select id from i1 order by v",
        &["1", "1001"],
    ),
    (
        "create table i2 (id serial, v int); insert into i2 (v) values (1),(2); alter sequence i2_id_seq restart with 1001; insert into i2 (v) values (3); select id from i2 order by v",
        &["1", "2", "1001"],
    ),
    (
        "create table i3 (id serial, v int); begin; insert into i3 (v) values (1),(2); truncate i3 restart identity; insert into i3 (v) values (3); commit; select id from i3 order by v",
        &["1"],
    ),
    (
        "create table i4 (id serial, v int); insert into i4 (v) values (1),(2); truncate i4 restart identity; insert into i4 (v) values (3); select id from i4 order by v",
        &["1"],
    ),
    (
        "create sequence u6; select nextval('u6'); alter sequence u6 increment by 10; select nextval('u6'); alter sequence u6 start with 7; select nextval('u6'); alter sequence u6 minvalue 0; select nextval('u6'); alter sequence u6 restart; select nextval('u6')",
        &["1", "11", "21", "31", "7"],
    ),
    (
        "create sequence u7 start 10 increment -1 minvalue -5000 maxvalue 10; select nextval('u7'); alter sequence u7 restart with -990; select nextval('u7')",
        &["10", "-990"],
    ),
    (
        "create sequence u8; select setval('u8', 5); select nextval('u8'); alter sequence u8 restart with 1006; select nextval('u8')",
        &["5", "6", "1006"],
    ),
    (
        "create sequence u9; select setval('u9', 5, false); alter sequence u9 restart with 5; select nextval('u9')",
        &["5", "5"],
    ),
    (
        "begin; create sequence s1; select nextval('s1'); savepoint p; select nextval('s1'); drop sequence s1; rollback to p; select nextval('s1'); commit",
        &["1", "2", "3"],
    ),
    (
        "begin; create sequence s2; select nextval('s2'); savepoint p; select nextval('s2'); alter sequence s2 rename to r2; select nextval('r2'); rollback to p; select nextval('s2'); commit; select nextval('s2')",
        &["1", "2", "3", "4", "5"],
    ),
    (
        "begin; create sequence s3; select nextval('s3'); savepoint p; select nextval('s3'); alter sequence s3 restart; select nextval('s3'); rollback to p; select nextval('s3'); commit; select nextval('s3')",
        &["1", "2", "1", "3", "4"],
    ),
    (
        "begin; create sequence s4; select nextval('s4'); savepoint p; alter sequence s4 increment by 10; select nextval('s4'); rollback to p; select nextval('s4'); commit",
        &["1", "11", "2"],
    ),
    (
        "begin; create sequence s5; savepoint p; select nextval('s5'); select setval('s5', 50); rollback to p; select nextval('s5'); commit",
        &["1", "50", "51"],
    ),
    (
        "begin; create sequence s6; select nextval('s6'); savepoint p; select nextval('s6'); drop sequence s6; create sequence s6; select nextval('s6'); rollback to p; select nextval('s6'); commit",
        &["1", "2", "1", "3"],
    ),
    (
        "create sequence s7; begin; select nextval('s7'); savepoint p; select nextval('s7'); alter sequence s7 restart with 100; select nextval('s7'); rollback to p; select nextval('s7'); commit; select nextval('s7')",
        &["1", "2", "100", "3", "4"],
    ),
];

#[test]
fn a_sequence_begins_again_where_it_is_said_and_no_savepoint_takes_numbers_back() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    for (texts, expected) in CASES {
        let mut found = Vec::new();
        for text in texts.split(';').map(str::trim) {
            match text.starts_with("select") {
                true => found.extend(query(&mut session, text).expect(text)),
                false => drop(run(&mut session, text).expect(text)),
            }
        }
        assert_eq!(found, *expected, "{texts}");
    }
}

#[test]
fn a_sequence_that_begins_again_does_so_after_a_crash() {
    let mut fresh = Fresh::new();
    let mut session = fresh.session();
    let text = "create sequence u; select nextval('u'); alter sequence u restart with 1001";
    run(&mut session, text).expect("restarted");
    drop(session);
    fresh.reopen();
    let number = query(&mut fresh.session(), "select nextval('u')");
    assert_eq!(number.expect("drawn"), ["1001"]);
}
