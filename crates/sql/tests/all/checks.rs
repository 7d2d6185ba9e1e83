//! Conditions of tables in SQL, tested on writes of programs without SQL; and conditions of their searches.

use crate::common::{Fresh, run};
use sardonyx::schema::{Schema, Type, Value, ValueRef};
use sardonyx_sql::RowFilter;

#[test]
fn rows_that_a_program_writes_itself_are_tested() {
    let mut fresh = Fresh::new();
    let made =
        "CREATE TABLE t (a text CHECK (upper(a) <> a), b int PRIMARY KEY CHECK (100 / b > 3))";
    run(&mut fresh.session(), made).expect("it is created");
    for _ in 0..2 {
        let insert = |a: &str, b: i32| {
            let values = [Value::from(a), Value::from(i64::from(b))];
            fresh
                .database
                .tables()
                .expect("in main memory")
                .run(move |tx| tx.rows("t")?.insert_values(&values))
        };
        let said = |a: &str, b: i32| insert(a, b).expect_err("it is refused").to_string();
        let broken = said("A", 1);
        assert!(
            broken.contains("\"t_a_check\"") && broken.contains("upper(a) <> a"),
            "{broken}"
        );
        assert!(said("a", 50).contains("100 / b > 3"));
        assert!(said("a", 0).contains("division by zero"));
        insert("a", 7).expect("it meets both");
        run(&mut fresh.session(), "DELETE FROM t").expect("it is deleted");
        fresh.reopen();
    }
}

#[test]
fn rows_are_looked_for_by_expressions() {
    let schema = Schema::new()
        .column("id", Type::I64)
        .column("name", Type::Text)
        .nullable()
        .column("address.street", Type::Text)
        .primary_key(["id"])
        .build()
        .expect("a schema");
    let row = [ValueRef::Int(3), ValueRef::Text("Ada"), ValueRef::Text("x")];
    for (text, columns, holds) in [
        ("id % 2 = 1 and lower(name) = 'ada'", vec![0, 1], true),
        ("length(name) > 3 or name is null", vec![1], false),
        ("address.street = 'x'", vec![2], true),
        ("case id when 3 then true end", vec![0], true),
        ("null", vec![], false),
    ] {
        let filter = RowFilter::parse(text, &schema).expect(text);
        assert_eq!(
            (filter.columns(), filter.holds(&row).expect(text)),
            (columns, holds),
            "{text}"
        );
    }
    for (text, code) in [
        ("nothing = 1", "42703"),
        ("id = (select 1)", "0A000"),
        ("id < random()", "42P17"),
        ("id + 1", "42804"),
        ("id = $1", "42P02"),
        ("id = 1 id", "42601"),
        ("id =", "42601"),
    ] {
        let error = RowFilter::parse(text, &schema).expect_err(text);
        assert_eq!(error.code, code, "{text}: {error}");
    }
}
