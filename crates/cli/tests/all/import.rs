//! `import` stores rows as SQL does: declared types, defaults, sequences and conditions hold; `--create` reads no value
//! as a different one; bad rows are reported with file, line and column, and left out if an option asks for it.

use crate::rows::{sardonyx, text};
use std::fs;
use std::path::Path;

/// The rows of statements, a line each, separated by `|`.
#[track_caller]
fn sql(at: &Path, statements: &str) -> String {
    let output = sardonyx(
        at,
        &[
            "sql", "db.sdx", "--create", "--format", "csv", "-c", statements,
        ],
    );
    assert!(output.status.success(), "{statements}: {}", text(&output));
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    printed.replace('\r', "")
}

/// Imports a file of this text; returns the exit code and all messages.
#[track_caller]
fn import(at: &Path, file: &str, content: impl AsRef<[u8]>, more: &[&str]) -> (i32, String) {
    fs::write(at.join(file), content).expect("written");
    let output = sardonyx(at, &[&["import", "db.sdx", "t", file], more].concat());
    let code = output.status.code().expect("no signal");
    (code, text(&output))
}

const DECLARED: &str = "create table other (n int primary key); insert into other values (1);
    create table t (id serial primary key, short varchar(3), fixed char(4), money numeric(5,2), small smallint,
        made timestamptz default now(), token uuid default gen_random_uuid(), price int default 7 check (price > 0),
        n int references other, name text not null default 'none', unique (name, short))";

#[test]
fn declared_types_and_conditions_hold() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(at, DECLARED);
    for (column, value, said) in [
        (
            "short",
            "toolong",
            "value too long for type character varying(3)",
        ),
        ("fixed", "abcde", "value too long for type character(4)"),
        ("money", "12345678901", "numeric"),
        ("small", "32768", "out of range for type smallint"),
        ("small", "1.5", "invalid input syntax for type smallint"),
        ("made", "garbage", "timestamp"),
        ("token", "none", "uuid"),
        ("price", "0", "\"t_price_check\""),
        ("n", "2", "other"),
        ("name", "", "null value in column \"name\""),
        ("nothing", "1", "\"nothing\""),
    ] {
        let lines = format!("id,{column}\n5,{value}\n");
        let (csv, told) = import(at, "one.csv", lines, &[]);
        assert!(
            csv != 0 && told.to_lowercase().contains(said),
            "{column}: {told}"
        );
        let json = match value {
            "" => format!("{{\"{column}\":null}}\n"),
            value => format!("{{\"{column}\":\"{value}\"}}\n"),
        };
        let (code, told) = import(at, "one.jsonl", json, &[]);
        assert!(
            code != 0 && told.to_lowercase().contains(said),
            "{column}: {told}"
        );
    }
    assert_eq!(sql(at, "select count(*) from t"), "count\n0\n");
}

#[test]
fn what_is_not_given_has_its_default() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(at, DECLARED);
    let (code, said) = import(
        at,
        "some.csv",
        "short,fixed,money\na,x,1.005\nb,y  ,\n",
        &[],
    );
    assert_eq!(code, 0, "{said}");
    let rows = "select id, short, fixed || '.', money, price, name, made is null, token is null from t order by id";
    let numbers = sql(at, "select id from t order by id");
    // As COPY and INSERT store the same.
    sql(
        at,
        "delete from t; insert into t (short, fixed, money) values ('a', 'x', 1.005), ('b', 'y  ', null)",
    );
    let wanted = sql(at, rows);
    sql(at, "delete from t");
    let lines = "{\"short\":\"a\",\"fixed\":\"x\",\"money\":1.005}\n{\"money\":null,\"short\":\"b\",\"fixed\":\"y  \"}\n";
    assert_eq!(import(at, "some.jsonl", lines, &[]).0, 0);
    let without_number = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .map(|line| line.split_once(',').map_or("", |(_, rest)| rest));
        lines.map(str::to_string).collect()
    };
    assert_eq!(without_number(&sql(at, rows)), without_number(&wanted));
    // Numbers are drawn once: none is drawn again after an import.
    let numbers: Vec<&str> = numbers.lines().skip(1).collect();
    assert_eq!(numbers.len(), 2);
    let again = sql(
        at,
        "insert into t (short, name) values ('z', 'z') returning id",
    );
    assert!(
        !numbers.contains(&again.lines().nth(1).expect("a row")),
        "{again}"
    );
}

#[test]
fn identities_and_hidden_keys_are_filled() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(
        at,
        "create table t (id int generated always as identity, v text)",
    );
    assert_eq!(import(at, "a.csv", "v\nx\ny\n", &[]).0, 0);
    assert_eq!(import(at, "b.csv", "id,v\n10,z\n", &[]).0, 0);
    assert_eq!(
        sql(at, "select * from t order by id"),
        "id,v\n1,x\n2,y\n10,z\n"
    );
    let (code, said) = import(at, "c.csv", "sql.row,v\n1,x\n", &[]);
    assert!(code != 0 && said.contains("sql.row"), "{said}");
    let exported = sardonyx(at, &["export", "db.sdx", "t", "-", "--format", "tsv"]);
    assert_eq!(text(&exported), "id\tv\n1\tx\n2\ty\n10\tz\n");
}

#[test]
fn columns_beyond_sql_keep_their_values() {
    use sardonyx::schema::{Schema, Type};
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let tables = sardonyx::Tables::open(at.join("db.sdx")).expect("a database");
    let schema = Schema::new()
        .column("a", Type::U64)
        .column("b", Type::U128)
        .column("c", Type::I8)
        .primary_key(["a"]);
    tables.create_table("t", schema).expect("created");
    tables.close().expect("closed");
    let rows = "a,b,c\n1,2,-3\n18446744073709551615,340282366920938463463374607431768211455,127\n";
    assert_eq!(import(at, "a.csv", rows, &[]).0, 0);
    let exported = text(&sardonyx(
        at,
        &["export", "db.sdx", "t", "-", "--format", "csv"],
    ));
    let mut lines: Vec<&str> = exported.lines().collect();
    lines.sort_unstable_by_key(|line| line.len());
    assert_eq!(lines.join("\n") + "\n", rows);
    sql(
        at,
        "insert into t values (5, 6, 7); update t set b = 9 where c = 7",
    );
    assert_eq!(sql(at, "select b from t where c = 7"), "b\n9\n");
}

#[test]
fn a_new_table_has_types_that_keep_every_value() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let rows = "id,big,huge,money,zip,phone,day,at,zoned,token,yes,ratio\n\
        1,12345678901,12345678901234567890,12.30,01234,+4930,2026-01-31,2026-01-31 10:00:00,2026-01-31 10:00:00+02,\
        67e55044-10b1-426f-9247-bb680e5fe0c8,true,1e-3\n\
        2,1,1,7.125,5,1,2026-02-01,2026-02-01 00:00:00,2026-01-31 10:00:00Z,\
        67e55044-10b1-426f-9247-bb680e5fe0c9,false,2\n";
    let (code, said) = import(at, "t.csv", rows, &["--create"]);
    assert_eq!(code, 0, "{said}");
    let types = sql(
        at,
        "select format_type(atttypid, atttypmod) from pg_attribute where attrelid = 't'::regclass and attnum > 0 order by attnum",
    );
    let types: Vec<&str> = types
        .lines()
        .skip(1)
        .map(|line| line.trim_matches('"'))
        .collect();
    let wanted = [
        "bigint",
        "bigint",
        "numeric(38,0)",
        "numeric(38,3)",
        "text",
        "text",
        "date",
        "timestamp without time zone",
        "timestamp with time zone",
        "uuid",
        "boolean",
        "double precision",
    ];
    assert_eq!(types, wanted);
    assert_eq!(
        sql(at, "select huge, money, zip, phone from t where id = 1"),
        "huge,money,zip,phone\n12345678901234567890,12.300,01234,+4930\n"
    );

    // A digit beyond those of the first rows is not rounded away.
    let mut many = "id,money\n".to_string();
    (0..10_000).for_each(|id| many += &format!("{id},1.5\n"));
    fs::write(at.join("many.csv"), many + "10000,1.25\n").expect("written");
    let output = sardonyx(at, &["import", "new.sdx", "m", "many.csv", "--create"]);
    let said = text(&output);
    assert!(!output.status.success(), "{said}");
    assert!(
        said.contains("line 10002, column \"money\"") && said.contains("more than 1 digits"),
        "{said}"
    );
}

#[test]
fn bad_rows_are_told_and_left_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(
        at,
        "create table t (id int primary key, name varchar(9) unique, part int check (part < 10))",
    );
    let lines: &[u8] = b"\xef\xbb\xbf\"id\",\"name\",part\n1,a,1\n\nx,b,1\n3,\xff,1\n4,\"d,1\n5,\"e\"e,1\n6,a,1\n7,g,10\n\
        8,h\n9,i,1,1\n10,toolongname,1\n11,k,1\n1,l,1\n12,m\0m,1\n13,\"n \"\"n\"\"\",\n";
    let (code, said) = import(at, "t.csv", lines, &["--on-error", "skip"]);
    assert_eq!(code, 1, "{said}");
    for line in [
        "line 4, column \"id\": invalid input syntax for type integer: \"x\"",
        "line 5: it is not UTF-8",
        "line 6: text between a closing quote",
        "line 7: text between a closing quote",
        "line 8: ",
        "line 9: ",
        "line 10, column \"part\": no field for it: 2 fields, where the header has 3",
        "line 11: 4 fields, where the header has 3",
        "line 12, column \"name\": value too long",
        "line 14: ",
        "line 15, column \"name\": ",
        "3 rows inserted, 11 bad lines",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(
        sql(at, "select id, name from t order by id"),
        "id,name\n1,a\n11,k\n13,\"n \"\"n\"\"\"\n"
    );

    let (code, said) = import(at, "t.csv", "id,name\n20,x\n1,y\n", &[]);
    assert!(
        code != 0 && said.contains("t.csv, line 3: ") && said.contains("0 before it were"),
        "{said}"
    );
    assert_eq!(sql(at, "select count(*) from t"), "count\n3\n");
}

#[test]
fn delimiters_are_named_and_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let semicolons = "id;name\r\n1;\"a;b\"\r\n2;c,d\r\n";
    let (code, said) = import(at, "t.csv", semicolons, &["--create"]);
    assert!(
        code != 0 && said.contains("t.csv: line 1: the delimiter seems to be ';'"),
        "{said}"
    );
    assert!(
        said.contains("--delimiter ';'") && !at.join("db.sdx").exists(),
        "{said}"
    );
    assert_eq!(
        import(at, "t.csv", semicolons, &["--create", "--delimiter", ";"]).0,
        0
    );
    assert_eq!(import(at, "t.tsv", "id\tname\n3\te,f\n", &[]).0, 0);
    assert_eq!(
        import(at, "t.csv", "id\tname\n4\tg\n", &["--delimiter", "tab"]).0,
        0
    );
    let rows = "id,name\n1,a;b\n2,\"c,d\"\n3,\"e,f\"\n4,g\n";
    assert_eq!(sql(at, "select * from t order by id"), rows);
    for (header, said) in [
        ("id,id\n", "the column \"id\" twice"),
        ("id,who\n", "a column \"who\""),
        ("id,\n", "field 2 of the header has no name"),
        ("", "there is no header"),
    ] {
        let (code, told) = import(at, "t.csv", header, &[]);
        assert!(
            code != 0 && told.contains("t.csv") && told.contains(said),
            "{told}"
        );
    }
    let (code, told) = import(at, "t.jsonl", "{}\n", &["--delimiter", ";"]);
    assert!(
        code != 0 && told.contains("--delimiter is for CSV"),
        "{told}"
    );
}

#[test]
fn what_is_exported_is_imported_as_the_same_rows() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    let columns = "id int primary key, a boolean, b smallint, c int, d bigint, e real, f double precision, g numeric, \
        h numeric(10,2), i text, j varchar(9), k char(4), l bytea, m date, n time, o timestamp, p timestamptz, q uuid";
    sql(at, &format!("create table t ({columns})"));
    sql(
        at,
        r#"insert into t values
        (1, true, -32768, -2147483648, -9223372036854775808, 1.5e38, 'NaN', 12345678901234567890.123456789012345678,
            -99999999.99, E'a "quoted"\r\nline,\ttab;', ' x ', 'ab', '\x00ff22', '0044-03-15 BC', '00:00:00',
            '0044-03-15 10:00:00.5 BC', '2026-01-31 10:00:00.000001+02', '67e55044-10b1-426f-9247-bb680e5fe0c8'),
        (2, false, 32767, 2147483647, 9223372036854775807, 1e-40, '-Infinity', 0.000000000000000001, 0.01, '', '', '', '\x',
            '12024-12-31', '23:59:59.999999', '12024-01-01 00:00:00', '1970-01-01 00:00:00Z',
            '00000000-0000-0000-0000-000000000000'),
        (3, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null),
        (4, true, 0, 0, 0, 'Infinity', 1e300, 0, 0, U&'\FEFFmark \00e4 \1F600', 'null', 'é', '\x5c78', '0001-01-01',
            '12:00', '0001-01-01 00:00:00', '9999-12-31 23:59:59.999999Z', 'ffffffff-ffff-ffff-ffff-ffffffffffff'),
        (5, false, -1, -1, -1, -0.1, 5e-324, -1.5, -0.01, '\N', '\.', 'x y', '\x00', '1969-12-31', '00:00:00.000001',
            '1969-12-31 23:59:59.999999', '0044-03-15 10:00:00+00 BC', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')"#,
    );
    let rows = sql(at, "select * from t order by id");
    assert!(
        rows.contains("0044-03-15 BC") && rows.contains("-Infinity"),
        "{rows}"
    );
    for ending in ["csv", "tsv", "jsonl", "parquet", "arrow", "arrows"] {
        let (file, table) = (format!("out.{ending}"), format!("t_{ending}"));
        let exported = sardonyx(at, &["export", "db.sdx", "t", &file]);
        assert!(exported.status.success(), "{}", text(&exported));
        sql(at, &format!("create table {table} ({columns})"));
        let imported = sardonyx(at, &["import", "db.sdx", &table, &file]);
        assert!(imported.status.success(), "{ending}: {}", text(&imported));
        assert_eq!(
            sql(at, &format!("select * from {table} order by id")),
            rows,
            "{ending}"
        );
    }
}

/// A tree, children first: more rows than two batches have.
fn children_first() -> String {
    let rows = (0..25).map(|id| format!("{id},{}\n", id + 1));
    format!("id,parent\n{}25,\n", rows.collect::<String>())
}

const TREE: &str =
    "create table t (id int primary key, parent int references t, v int check (v < 9))";

#[test]
fn a_file_is_one_transaction_where_that_is_asked_for() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(at, TREE);
    // A batch ends before the row that its last one refers to.
    let (code, said) = import(at, "tree.csv", children_first(), &["--batch", "10"]);
    assert!(code == 4 && said.contains("--batch all"), "{said}");
    assert_eq!(sql(at, "select count(*) from t"), "count\n0\n");
    let (code, said) = import(at, "tree.csv", children_first(), &["--batch", "all"]);
    assert!(code == 0 && said.contains("26 rows inserted"), "{said}");
    assert_eq!(sql(at, "select sum(parent) from t"), "sum\n325\n");
    // All or nothing, for every error, however late.
    let many = |last: &str| {
        let rows = (100..2500).map(|id| format!("{id},,1\n"));
        format!("id,parent,v\n{}{last}\n", rows.collect::<String>())
    };
    for (last, expected) in [
        ("3000,,9", "line 2402: new row for relation"),
        ("3000,,x", "line 2402, column \"v\""),
        ("3000,", "line 2402"),
        ("100,,1", "line 2402: duplicate key value"),
        ("3000,4000,1", "is not present"),
    ] {
        let (code, said) = import(at, "late.csv", many(last), &["--batch", "all"]);
        let is_told = said.contains(expected) && said.contains("no row was inserted");
        assert!(code == 4 && is_told, "{last}: {said}");
        assert_eq!(sql(at, "select count(*) from t"), "count\n26\n");
    }
    let skips = ["--batch", "all", "--on-error", "skip"];
    let (code, said) = import(at, "late.csv", many("3000,,9"), &skips);
    assert!(code == 4 && said.contains("use one of them"), "{said}");
    for wrong in ["0", "100001", "everything"] {
        let (code, said) = import(at, "late.csv", many(""), &["--batch", wrong]);
        assert!(code == 2 && said.contains("or all"), "{said}");
    }
}

#[test]
fn rows_that_refer_to_later_ones_are_not_bad() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(at, TREE);
    let bad = "100,200,1\n101,,9\n102,100,1\n";
    let rows = (0..25).map(|id| format!("{id},{},1\n", id + 1));
    let file = format!("id,parent,v\n{}25,,\n{bad}", rows.collect::<String>());
    let skips = ["--batch", "10", "--on-error", "skip"];
    let (code, said) = import(at, "tree.csv", &file, &skips);
    assert!(
        code == 1 && said.contains("26 rows inserted, 3 bad lines"),
        "{said}"
    );
    for line in [28, 29, 30] {
        assert!(said.contains(&format!("line {line}:")), "{said}");
    }
    assert_eq!(sql(at, "select sum(parent) from t"), "sum\n325\n");
}

#[test]
fn texts_of_json_are_read_as_their_columns_types() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(
        at,
        "create table t (id int primary key, b bool, y bytea, x text)",
    );
    let lines = r#"{"id": 1, "b": "t", "y": "\\x00ff", "x": "\ud83d\ude00"}
{"id": "2", "b": "off", "y": "AP8=", "x": true}
{"id": 3, "b": "maybe"}
{"id": 4, "y": "\\x0"}
{"id": 5, "x": "\ud83d"}
{"id": 6, "b": 1}
"#;
    let (code, said) = import(at, "t.jsonl", lines, &["--on-error", "skip"]);
    assert!(
        code == 1 && said.contains("2 rows inserted, 4 bad lines"),
        "{said}"
    );
    for part in [
        "line 3, column \"b\": invalid input syntax for type boolean: \"maybe\"",
        "line 4, column \"y\": ",
        "line 5, column \"x\": not a value of type text: a text with half of a surrogate pair",
        "line 6, column \"b\": not a value of type bool: a number",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let rows = sql(at, "select id, b, y, x from t order by id");
    assert_eq!(rows, "id,b,y,x\n1,t,\\x00ff,😀\n2,f,\\x00ff,true\n");
    // Line ends of old Macintoshes are not taken for parts of names and values.
    let (code, said) = import(at, "mac.csv", "id,x\r7,a\r8,b\r", &[]);
    assert!(code == 4 && said.contains("carriage return"), "{said}");
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let at = directory.path();
    sql(at, "create table t (id int primary key)");
    let output = sardonyx(at, &["export", "db.sdx", "t", "nothing/t.csv"]);
    let said = text(&output);
    assert!(
        !output.status.success() && said.contains("nothing/t.csv: No such file"),
        "{said}"
    );
}
