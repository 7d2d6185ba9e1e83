//! Generated columns, and indexes on expressions, when rows are written without SQL: by typed tables, by plain records
//! that are changed by their bytes, by open transactions.

use crate::common::{Fresh, query, run};
use sardonyx::rows::DefineRows;
use sardonyx::schema::{GeneratedColumn, INDEX_KEY, Type, Value};
use sardonyx::{Error, Record, Tables, record};
use sardonyx_base::resident::Resident;

#[derive(Clone, Copy, Resident)]
#[repr(C)]
struct Account {
    id: i64,
    balance: i64,
    kind: i64,
}
record!(Account { table: "accounts", key: id: i64, fields: { id: i64, balance: i64, kind: i64 } });

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "users", key = id)]
struct User {
    id: i64,
    email: String,
    deleted: Option<i64>,
}

fn tables(fresh: &Fresh) -> &Tables {
    fresh.database.tables().expect("in main memory")
}

fn rows(fresh: &Fresh, sql: &str) -> Vec<String> {
    query(&mut fresh.session(), sql).expect(sql)
}

fn is_duplicate<T: std::fmt::Debug>(done: Result<T, Error>) -> bool {
    matches!(done, Err(Error::Duplicate(_)))
}

/// The rows of the index's order, and of a look at all rows: they are the same.
fn check_accounts(fresh: &Fresh) {
    let by_index = "select id, balance, kind from accounts where kind = 1 and balance * 2 > -100000 order by balance * 2, id";
    let by_scan =
        "select id, balance, kind from accounts where kind + 0 = 1 order by balance + balance, id";
    assert_eq!(rows(fresh, by_index), rows(fresh, by_scan));
    let wrong = "select count(*) from accounts where double is distinct from balance * 2";
    assert_eq!(rows(fresh, wrong), ["0"]);
}

#[test]
fn plain_records_keep_an_index_on_an_expression() {
    let mut fresh = Fresh::new();
    let accounts = tables(&fresh).table::<Account>().expect("declared");
    let new = |id: i64, balance, kind| Account { id, balance, kind };
    tables(&fresh)
        .run(move |tx| {
            for id in 0..50_i64 {
                tx.insert(accounts, &new(id, id - 25, id % 2))?;
            }
            Ok::<_, Error>(())
        })
        .expect("inserted");
    let made = "create unique index accounts_double on accounts ((balance * 2)) where kind = 1;
        alter table accounts add column double bigint generated always as (balance * 2) stored";
    run(&mut fresh.session(), made).expect("made");
    check_accounts(&fresh);
    for again in [false, true] {
        if again {
            fresh.reopen();
        }
        let accounts = tables(&fresh).table::<Account>().expect("declared");
        let run = |change: fn(
            &mut sardonyx::Transaction<'_>,
            sardonyx::Table<Account>,
        ) -> Result<(), Error>| {
            tables(&fresh).run(move |tx| change(tx, accounts))
        };
        // Each way of changing a record's bytes.
        run(|tx, accounts| {
            tx.update(accounts, 1, |record: &mut Account| record.balance += 1000)?;
            let mut record = tx.get_mut(accounts, 3)?.expect("there");
            record.balance -= 2000;
            record.save()?;
            tx.put(
                accounts,
                &Account {
                    id: 5,
                    balance: 77,
                    kind: 1,
                },
            )?;
            tx.insert(
                accounts,
                &Account {
                    id: 90,
                    balance: 78,
                    kind: 1,
                },
            )?;
            tx.delete(accounts, 7)?;
            tx.update(accounts, 8, |record: &mut Account| record.kind = 1)?;
            Ok(())
        })
        .expect("changed");
        check_accounts(&fresh);
        let taken = run(|tx, accounts| {
            tx.update(accounts, 9, |record: &mut Account| record.balance = 77)
                .map(drop)
        });
        assert!(is_duplicate(taken));
        let taken = run(|tx, accounts| {
            tx.insert(
                accounts,
                &Account {
                    id: 91,
                    balance: 78,
                    kind: 1,
                },
            )
        });
        assert!(is_duplicate(taken));
        run(|tx, accounts| {
            tx.insert(
                accounts,
                &Account {
                    id: 91,
                    balance: 78,
                    kind: 0,
                },
            )
        })
        .expect("of another kind");
        let taken = run(|tx, accounts| {
            tx.update(accounts, 91, |record: &mut Account| record.kind = 1)
                .map(drop)
        });
        assert!(is_duplicate(taken));
        check_accounts(&fresh);
        // In open transactions, too.
        let mut open = tables(&fresh).begin().expect("begun");
        open.update(accounts, 11, |record: &mut Account| record.balance = 5000)
            .expect("changed");
        open.insert(
            accounts,
            &Account {
                id: 92,
                balance: -7000,
                kind: 1,
            },
        )
        .expect("inserted");
        assert!(is_duplicate(open.insert(
            accounts,
            &Account {
                id: 93,
                balance: 5000,
                kind: 1
            }
        )));
        open.commit().expect("committed");
        check_accounts(&fresh);
        run(|tx, accounts| {
            for id in [90, 91, 92] {
                tx.delete(accounts, id)?;
            }
            tx.put(
                accounts,
                &Account {
                    id: 7,
                    balance: -18,
                    kind: 1,
                },
            )?;
            tx.update(accounts, 8, |record: &mut Account| record.kind = 0)?;
            Ok(())
        })
        .expect("as it was");
    }
}

#[test]
fn a_key_of_a_plain_column_and_a_generated_one_changes_as_a_whole() {
    let mut fresh = Fresh::new();
    let account = |id, balance, kind| Account { id, balance, kind };
    let accounts = tables(&fresh).table::<Account>().expect("declared");
    tables(&fresh)
        .run(move |tx| {
            tx.insert(accounts, &account(1, 5, 1))?;
            tx.insert(accounts, &account(2, 6, 1))
        })
        .expect("inserted");
    let made = "create unique index accounts_balance on accounts (balance) where kind = 1";
    run(&mut fresh.session(), made).expect("made");
    for again in [false, true] {
        if again {
            fresh.reopen();
        }
        let accounts = tables(&fresh).table::<Account>().expect("declared");
        let by_index =
            "select id, balance from accounts where kind = 1 and balance > 0 order by balance";
        // The other row's number is free for a row that leaves the index, in each way of changing it.
        let leave = |how: fn(
            &mut sardonyx::Transaction<'_>,
            sardonyx::Table<Account>,
        ) -> Result<(), Error>| {
            let done = tables(&fresh).run(move |tx| how(tx, accounts));
            done.expect("it leaves the index");
            assert_eq!(rows(&fresh, by_index), ["1|5"]);
            // And back.
            let taken = tables(&fresh).run(move |tx| {
                let change = |record: &mut Account| record.kind = 1;
                tx.update(accounts, 2, change).map(drop)
            });
            assert!(is_duplicate(taken));
            let back = |tx: &mut sardonyx::Transaction<'_>| {
                let change = |record: &mut Account| (record.balance, record.kind) = (6, 1);
                tx.update(accounts, 2, change).map(drop)
            };
            tables(&fresh).run(back).expect("back");
            assert_eq!(rows(&fresh, by_index), ["1|5", "2|6"]);
        };
        leave(|tx, accounts| {
            let change = |record: &mut Account| (record.balance, record.kind) = (5, 0);
            tx.update(accounts, 2, change).map(drop)
        });
        leave(|tx, accounts| {
            let mut record = tx.get_mut(accounts, 2)?.expect("there");
            (record.balance, record.kind) = (5, 0);
            record.save()
        });
        leave(|tx, accounts| {
            let record = Account {
                id: 2,
                balance: 5,
                kind: 0,
            };
            tx.put(accounts, &record).map(drop)
        });
        let mut open = tables(&fresh).begin().expect("begun");
        let change = |record: &mut Account| (record.balance, record.kind) = (5, 0);
        open.update(accounts, 2, change).expect("changed");
        open.commit().expect("committed");
        assert_eq!(rows(&fresh, by_index), ["1|5"]);
        let back = "update accounts set balance = 6, kind = 1 where id = 2";
        run(&mut fresh.session(), back).expect("back");
    }
}

#[test]
fn typed_tables_and_open_transactions_keep_a_partial_index_on_an_expression() {
    let mut fresh = Fresh::new();
    let users = tables(&fresh).table::<User>().expect("declared");
    let user = |id, email: &str, deleted| User {
        id,
        email: email.to_string(),
        deleted,
    };
    let first = user(1, "A long address of somebody@x.org", None);
    let inserted = first.clone();
    tables(&fresh)
        .run(move |tx| tx.insert(users, &inserted))
        .expect("inserted");
    let made = "create unique index users_email on users (lower(email)) where deleted is null";
    run(&mut fresh.session(), made).expect("made");
    let found = "select id from users where lower(email) = 'a long address of somebody@x.org' and deleted is null";
    for again in [false, true] {
        if again {
            fresh.reopen();
        }
        let users = tables(&fresh).table::<User>().expect("declared");
        assert_eq!(rows(&fresh, found), ["1"]);
        let second = user(2, "a LONG address of somebody@x.org", None);
        let same = second.clone();
        assert!(is_duplicate(
            tables(&fresh).run(move |tx| tx.insert(users, &same))
        ));
        // Two open transactions take one key: the second one meets the first.
        let mut one = tables(&fresh).begin().expect("begun");
        let mut other = tables(&fresh).begin().expect("begun");
        for (open, id) in [(&mut one, 3), (&mut other, 4)] {
            open.insert(users, &user(id, &format!("{id} X"), Some(4)))
                .expect("inserted");
            let change = |user: &mut User| {
                user.email = "Of Both".to_string();
                user.deleted = None;
            };
            open.update(users, id, change).expect("changed");
            let again = open.insert(users, &user(5, "OF BOTH", None));
            assert!(is_duplicate(again), "its own change has the key");
        }
        one.commit().expect("committed");
        let met = other.commit();
        assert!(
            matches!(met, Err(Error::Conflict(_) | Error::Duplicate(_))),
            "{met:?}"
        );
        assert_eq!(
            rows(
                &fresh,
                "select id from users where lower(email) = 'of both' and deleted is null"
            ),
            ["3"]
        );
        // Deleted, its key is free.
        let change = move |tx: &mut sardonyx::Transaction<'_>| {
            tx.update(users, 1, |user: &mut User| user.deleted = Some(9))?;
            tx.insert(users, &second)?;
            tx.delete(users, 3)
        };
        tables(&fresh).run(change).expect("changed");
        assert_eq!(rows(&fresh, found), ["2"]);
        let change = move |tx: &mut sardonyx::Transaction<'_>| {
            tx.delete(users, 2)?;
            tx.update(users, 1, |user: &mut User| user.deleted = None)
        };
        tables(&fresh).run(change).expect("changed");
    }
}

#[test]
fn a_value_that_is_given_for_a_generated_column_is_not_taken() {
    let fresh = Fresh::new();
    let made =
        "create table t (id int primary key, a int, b int generated always as (a + 1) stored)";
    run(&mut fresh.session(), made).expect("made");
    let insert = |tx: &mut sardonyx::Transaction<'_>| {
        let mut rows = tx.rows("t")?;
        rows.insert(&[("id", Value::from(1)), ("a", 5.into()), ("b", 100.into())])?;
        rows.update(&[1.into()], &[("b", 7.into())])
    };
    tables(&fresh).run(insert).expect("inserted");
    assert_eq!(rows(&fresh, "select id, a, b from t"), ["1|5|6"]);
    // The value is not compared with the column's declaration, either.
    let made = "create table u (id int primary key, a int, b varchar(3) generated always as (a::varchar) stored,
        c int generated always as (a) stored not null)";
    run(&mut fresh.session(), made).expect("made");
    let insert = |tx: &mut sardonyx::Transaction<'_>| {
        let mut rows = tx.rows("u")?;
        let long = || ("b", Value::from("too long for it"));
        rows.insert(&[
            ("id", 1.into()),
            ("a", 5.into()),
            long(),
            ("c", Value::Null),
        ])?;
        rows.update(&[1.into()], &[long(), ("a", 6.into())])?;
        rows.put(&[("id", 2.into()), ("a", 7.into()), long()])
    };
    tables(&fresh).run(insert).expect("inserted");
    assert_eq!(
        rows(&fresh, "select * from u order by id"),
        ["1|6|6|6", "2|7|7|7"]
    );
}

#[test]
fn an_index_that_goes_takes_its_columns_along() {
    let fresh = Fresh::new();
    let made = "create table t (id int primary key, a text);
        insert into t select n, 'A' || n from generate_series(1, 20) as s (n);
        create index one on t (lower(a)) where id > 3; create index two on t (lower(a), id)";
    run(&mut fresh.session(), made).expect("made");
    let columns = || {
        let count = |tx: &mut sardonyx::Transaction<'_>| {
            Ok::<_, Error>(tx.rows("t")?.schema().live_columns().count())
        };
        tables(&fresh).run(count).expect("read")
    };
    // One of the condition, and one of both.
    assert_eq!(columns(), 4);
    run(&mut fresh.session(), "drop index one").expect("dropped");
    assert_eq!(columns(), 3);
    assert_eq!(
        rows(&fresh, "select id from t where lower(a) = 'a7'"),
        ["7"]
    );
    run(&mut fresh.session(), "drop index two").expect("dropped");
    assert_eq!(columns(), 2);
    assert_eq!(
        rows(&fresh, "select * from t where lower(a) = 'a7'"),
        ["7|A7"]
    );
}

#[test]
fn columns_of_an_index_that_was_not_made_are_in_no_way() {
    let mut fresh = Fresh::new();
    let made =
        "create table t (id int primary key, a text, b text); insert into t values (1, 'A', 'B')";
    run(&mut fresh.session(), made).expect("made");
    let columns = |fresh: &Fresh| {
        let count = |tx: &mut sardonyx::Transaction<'_>| {
            Ok::<_, Error>(tx.rows("t")?.schema().live_columns().count())
        };
        tables(fresh).run(count).expect("read")
    };
    // A large CREATE INDEX that fails before it comes to its index leaves this behind.
    let leave = |fresh: &Fresh, of: &'static str| {
        let declare = move |tx: &mut sardonyx::Transaction<'_>| {
            let schema = tx.rows("t")?.schema().clone();
            let number = schema.column(of).expect("there");
            let mut tables = tx.view().definitions().iter();
            let table = tables.position(|table| table.name == "t").expect("there");
            let column = GeneratedColumn {
                name: format!("{INDEX_KEY}{}", schema.columns.len()),
                kind: Type::Text,
                declared: 25,
                modifier: -1,
                expression: format!("$sql {number}:25:-1:\"{of}\" => lower({of})"),
            };
            tx.declare_generated(table as u16, &[column])
        };
        tables(fresh).run(declare).expect("declared");
    };
    leave(&fresh, "a");
    assert_eq!(columns(&fresh), 4);
    fresh.reopen();
    assert_eq!(columns(&fresh), 3);
    leave(&fresh, "a");
    run(&mut fresh.session(), "alter table t drop column a").expect("dropped");
    assert_eq!(columns(&fresh), 2);
    leave(&fresh, "b");
    let retype = "alter table t alter column b type int using length(b)";
    run(&mut fresh.session(), retype).expect("changed");
    assert_eq!(columns(&fresh), 2);
    assert_eq!(rows(&fresh, "select * from t"), ["1|1"]);
}
