//! Tables made of a query on many rows, beside writers of the tables that it reads; and the size from which a product of
//! small tables is many rows.

use crate::common::{query, run, session};
use crate::large::Both;
use crate::large_defining::{calls_in, calls_of};

/// True for a statement that counts as run at its snapshot: rows that it has read may change before its end.
pub fn reads_at_its_beginning(large: &str) -> bool {
    [" as select", "into made", "refresh"]
        .iter()
        .any(|word| large.contains(word))
}

#[test]
fn a_table_made_of_rows_that_change_has_those_of_one_state() {
    for (large, made) in [
        (
            "create table made as select id, a from t",
            "select * from made order by id",
        ),
        (
            "create materialized view seen as select id, a from t",
            "select * from seen order by id",
        ),
    ] {
        let alone = calls_of(large, 1000, |_, _| {});
        assert!(alone > 3, "{large} did not run aside");
        let both = Both::new();
        let before = query(&mut both.plain.session(), "select id, a from t order by id");
        let changing = calls_in(&both, (large, 1), 1000, |_, database| {
            let change = "update t set a = a + 1; delete from t where id = 5";
            run(&mut session(database), change).expect("changed");
        });
        assert_eq!(changing, alone, "{large}");
        let rows = query(&mut both.aside.session(), made);
        assert_eq!(rows.expect("read"), before.expect("read"), "{large}");
    }
}

#[test]
fn a_product_of_small_tables_is_large() {
    for (large, aside) in [
        (
            "create table made as select a.id, b.v from p as a, p as b",
            true,
        ),
        (
            "create table made as select a.id, b.v from p as a, (values (1), (2)) as b (v)",
            false,
        ),
        (
            "insert into s select a.id + 1000 * b.id, null from p as a, p as b",
            true,
        ),
        (
            "insert into s select s.id + 1000 * p.id, null from s, p",
            true,
        ),
        ("insert into s select id + 1000, null from s", false),
        (
            "delete from s using p as a, p as b where a.v + b.v = s.id",
            true,
        ),
    ] {
        let both = Both::new();
        let calls = calls_in(&both, (large, 1000), 1000, |_, _| {});
        assert_eq!(calls > 0, aside, "{large}: {calls} calls");
    }
}
