//! `COPY` in PostgreSQL's binary format: exported data is imported again, through the same checks as text, and errors
//! name their place.

use crate::common::{Fresh, copy_in, query, run};
use sardonyx_sql::{CopyFormat, Session, SqlError, code};

const EVERY_TYPE: &str = "create table every (id int primary key, b bool, s smallint, l bigint, f real, d float8,
    n numeric(8,2), t text, v varchar(5), c char(3), x bytea, da date, ti time, ts timestamp, tz timestamptz, u uuid)";

/// The bytes of `COPY … TO STDOUT`.
fn copy_out(session: &mut Session, text: &str) -> Vec<u8> {
    let mut done = run(session, text).expect("it is copied");
    let data = done.pop().and_then(|complete| complete.copy_out);
    data.expect("it is data").0
}

fn refused(session: &mut Session, text: &str, data: &[u8]) -> SqlError {
    copy_in(session, text, data).expect_err("it is refused")
}

#[test]
fn rows_of_every_type_come_back() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    run(&mut session, EVERY_TYPE).expect("it is made");
    let rows = "insert into every values
        (1, true, -5, 9223372036854775807, 1.5, -1e300, -12.50, 'ä', 'vw', 'xyz', '\\x00ff', '0044-03-15 BC',
         '23:59:59.5', '2024-02-29 12:00:00.000001', '1969-12-31 23:59:59+00', '67e55044-10b1-426f-9247-bb680e5fe0c8'),
        (2, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null)";
    run(&mut session, rows).expect("they are inserted");
    let all = "select * from every order by id";
    let before = query(&mut session, all).expect("they are read");
    let data = copy_out(&mut session, "copy every to stdout (format binary)");
    assert!(data.starts_with(b"PGCOPY\n\xff\r\n\0"));
    run(&mut session, "delete from every").expect("they are deleted");
    let done = copy_in(&mut session, "copy every from stdin binary", &data).expect("it is copied");
    assert_eq!(done.tag.to_string(), "COPY 2");
    assert_eq!(query(&mut session, all).expect("they are read"), before);
}

#[test]
fn defaults_and_checks_are_those_of_every_insert() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let made = "create table k (id int primary key, v varchar(3), n int default 7 check (n < 10));
        create table source (id bigint primary key, v text, n int)";
    run(&mut session, made).expect("they are made");
    let mut bytes = |values: &str, columns: &str| {
        let text = format!("delete from source; insert into source values {values}");
        run(&mut session, &text).expect("they are inserted");
        copy_out(
            &mut session,
            &format!("copy (select {columns} from source order by id) to stdout (format binary)"),
        )
    };
    let (two, long) = (
        bytes("(1, 'a', 1), (2, 'b', 2)", "id::int, v"),
        bytes("(3, 'long', 1)", "id::int, v"),
    );
    let (checked, wide) = (
        bytes("(3, 'a', 10)", "id::int, v, n"),
        bytes("(1, 'a', 1)", "id, v"),
    );
    let (twice, null) = (
        bytes("(0, 'a', 1), (1, 'b', 1)", "id::int, v"),
        bytes("(4, null, 1)", "n, v, n"),
    );
    let cut = bytes("(7, 'a', 1), (8, 'b', 1)", "id::int, v");
    let into = "copy k (id, v) from stdin (format binary)";
    copy_in(&mut session, into, &two).expect("they are copied");
    let rows = query(&mut session, "select * from k order by id").expect("they are read");
    assert_eq!(rows, ["1|a|7", "2|b|7"]);
    let cases: [(&str, &[u8], _, _); 7] = [
        (into, &long, code::STRING_TOO_LONG, "COPY k, line 1"),
        (
            into,
            &wide,
            code::INVALID_BINARY,
            "COPY k, line 1, column id",
        ),
        (into, &twice, code::UNIQUE, "COPY k, line 2"),
        (into, &null, code::BAD_COPY, "COPY k, line 1"),
        (
            "copy k from stdin binary",
            &checked,
            code::CHECK,
            "COPY k, line 1",
        ),
        (
            into,
            &cut[..cut.len() - 4],
            code::BAD_COPY,
            "COPY k, line 2",
        ),
        (into, &[], code::BAD_COPY, "COPY k, line 1"),
    ];
    for (text, data, expected, place) in cases {
        let error = refused(&mut session, text, data);
        assert_eq!(
            (error.code, error.context.as_deref()),
            (expected, Some(place)),
            "{error}"
        );
    }
    assert_eq!(
        query(&mut session, "select count(*) from k").expect("they are read"),
        ["2"]
    );
    // An error of text names its place, too.
    let error = refused(&mut session, "copy k (id, v) from stdin", b"5\ta\nx\tb\n");
    assert_eq!(error.context.as_deref(), Some("COPY k, line 2, column id"));
}

#[test]
fn each_row_is_a_piece_of_its_own() {
    let fresh = Fresh::new();
    let mut session = fresh.session();
    let statement = |session: &mut Session, text: &str| {
        let prepared = session
            .prepare(text, &[])
            .expect("it is a statement")
            .remove(0);
        let mut done = run(session, text).expect("it is copied");
        let data = done.remove(0).copy_out.expect("it is data");
        let pieces = data.pieces(prepared.copy_format(), prepared.copy_columns());
        pieces.into_iter().map(<[u8]>::len).collect::<Vec<_>>()
    };
    // 19 bytes of the header, 2 and 4 + 4 of a row, 2 of the trailer.
    let text = "copy (select 1 union all select 2) to stdout (format binary)";
    assert_eq!(statement(&mut session, text), [29, 10, 2]);
    let text = "copy (select 1 where false) to stdout (format binary)";
    assert_eq!(statement(&mut session, text), [21]);
    assert_eq!(
        statement(
            &mut session,
            "copy (select 1 union all select 22) to stdout"
        ),
        [2, 3]
    );
    let csv = session
        .prepare("copy (select 1) to stdout csv", &[])
        .expect("it is a statement");
    assert_eq!(csv[0].copy_format(), CopyFormat::Csv);
}
