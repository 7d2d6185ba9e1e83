//! The verbs, by nodes of one process with threads, of either coupling.

use super::place::{Place, on_both};
use crate::node::{NodeError, TableNode};
use sardonyx_base::error::Error;
use sardonyx_base::resident::Resident;
use sardonyx_rows::schema::{Schema, Type, Value, ValueRef};
use sardonyx_rows::{DefineRows, ReadRow, TableError, record};

#[derive(Clone, Copy, PartialEq, Debug, Resident)]
#[repr(C)]
pub struct Account {
    pub id: u64,
    pub balance: i64,
}

record!(Account { table: "accounts", key: id: u64, fields: { id: u64, balance: i64 } });

mod other {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug, Resident)]
    #[repr(C)]
    pub struct Account {
        pub id: u64,
        pub balance: f64,
    }

    record!(Account { table: "accounts", key: id: u64, fields: { id: u64, balance: f64 } });
}

on_both!(
    records_by_every_verb_and_seen_by_the_other_node,
    rows_by_name_are_checked_and_survive_a_restart,
    a_type_that_is_not_the_table_is_refused_and_so_are_others_handles,
    threads_of_several_nodes_lose_no_transfer,
    a_record_put_in_place_of_another_leaves_added_columns_as_they_are,
    a_schema_of_main_memory_whose_shapes_have_one_length_keeps_its_values,
);

pub fn account(id: u64, balance: i64) -> Account {
    Account { id, balance }
}

fn records_by_every_verb_and_seen_by_the_other_node<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let (one, other) = (place.join()?, place.join()?);
    let accounts = one.table::<Account>()?;
    let same = other.table::<Account>()?;
    assert_eq!(accounts.number(), same.number());
    one.run(|tx| {
        for id in 0..500 {
            tx.insert(accounts, &account(id * 3, id as i64))?;
        }
        Ok::<(), NodeError>(())
    })?;
    let refused = other.run(|tx| tx.insert(same, &account(9, 1)));
    let text = refused.unwrap_err().to_string();
    assert_eq!(text, "table \"accounts\" has a record with key 9 already");
    other.run(|tx| {
        assert_eq!(tx.get(same, 9)?, Some(account(9, 3)));
        assert_eq!(tx.get_to_change(same, 10)?, None);
        assert!(tx.update(same, 9, |account| account.balance += 100)?.is_some());
        assert!(tx.update(same, 10, |account| account.balance += 100)?.is_none());
        let moved = tx.update(same, 9, |account| account.id = 10);
        assert!(matches!(moved, Err(NodeError::Rows(error)) if matches!(*error, TableError::KeyChanged { .. })));
        assert!(tx.put(same, &account(9, 104))?);
        assert!(!tx.put(same, &account(10, 1))?);
        assert_eq!(tx.remove(same, 12)?, Some(account(12, 4)));
        assert!(tx.delete(same, 15)? && !tx.delete(same, 15)?);
        assert_eq!(tx.count(same)?, 499);
        Ok::<(), NodeError>(())
    })?;
    let found = one.run(|tx| {
        let range = tx.range(accounts, 6_u64..=18)?;
        range
            .map(|account| Ok(account?.id))
            .collect::<Result<Vec<u64>, NodeError>>()
    })?;
    assert_eq!(found, [6, 9, 10, 18]);
    one.run(|tx| {
        let by_key = tx.index(accounts, "primary")?;
        let first = by_key.first()?.expect("a first one");
        let last = by_key.last()?.expect("a last one");
        assert!(first.id < last.id, "{} {}", first.id, last.id);
        assert_eq!(by_key.count_range(6_u64..=18)?, 4);
        assert_eq!(by_key.prefix(9_u64)?.count(), 1);
        assert_eq!(by_key.get_by(9_u64)?.map(|found| found.id), Some(9));
        let (begin, end) = (18_u64, 6);
        let refused = by_key.range(begin..end).map(drop).unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused}");
        let refused = by_key.count_range(begin..end).unwrap_err();
        assert!(matches!(refused, Error::Refused(_)), "{refused}");
        Ok::<(), NodeError>(())
    })?;
    one.run(|tx| {
        let mut all = tx.scan(accounts)?;
        let (mut front, mut back) = (Vec::new(), Vec::new());
        // From both ends, until they meet.
        while let Some(account) = all.next() {
            front.push(account?.id);
            for _ in 0..2 {
                back.extend(all.next_back().transpose()?.map(|account| account.id));
            }
        }
        back.reverse();
        front.extend(back);
        assert!(front.is_sorted() && front.len() == 499, "{front:?}");
        drop(all);
        let none = tx.range(accounts, 7_u64..9)?.next();
        assert!(none.is_none());
        Ok::<(), NodeError>(())
    })?;
    // A transaction that fails leaves nothing.
    let failed = one.run(|tx| {
        tx.delete(accounts, 0)?;
        tx.insert(accounts, &account(1, 1))?;
        Err::<(), _>(NodeError::TooManyTables)
    });
    assert!(failed.is_err());
    let failed = one.run(|tx| {
        let changed = tx.try_update(accounts, 9, |account| {
            account.balance = 0;
            Err::<(), _>(NodeError::TooManyTables)
        });
        assert!(matches!(changed, Err(NodeError::TooManyTables)));
        assert_eq!(tx.get(accounts, 9)?, Some(account(9, 104)));
        assert_eq!(tx.retain(accounts, |account| account.id >= 300)?, 99);
        assert_eq!(tx.count(accounts)?, 400);
        assert_eq!((tx.clear(accounts)?, tx.clear(accounts)?), (400, 0));
        Err::<(), _>(NodeError::TooManyTables)
    });
    assert!(failed.is_err());
    let pages = other.check_tables()?;
    assert_eq!((pages.tables, pages.rows), (1, 499));
    Ok(())
}

/// As in main memory.
fn a_record_put_in_place_of_another_leaves_added_columns_as_they_are<P: Place>()
-> Result<(), NodeError> {
    let place = P::new();
    let node = place.join()?;
    let accounts = node.table::<Account>()?;
    node.run(|tx| {
        tx.put(accounts, &account(1, 1))?;
        tx.tables()?
            .add_column("accounts", "extra", Type::I64, false, 7.into())?;
        tx.rows("accounts")?
            .update(&[1.into()], &[("extra", 9.into())])?;
        assert!(tx.put(accounts, &account(1, 2))?);
        assert!(!tx.put(accounts, &account(2, 3))?);
        let rows = tx.rows("accounts")?;
        for (id, balance, extra) in [(1, 2, 9), (2, 3, 7)] {
            let row = rows.get(&[id.into()])?.expect("it is there");
            assert_eq!(row.value_of("balance")?, ValueRef::Int(balance));
            assert_eq!(row.value_of("extra")?, ValueRef::Int(extra));
        }
        Ok::<_, NodeError>(())
    })
}

fn rows_by_name_are_checked_and_survive_a_restart<P: Place>() -> Result<(), NodeError> {
    let mut place = P::new();
    let orders = || {
        Schema::new()
            .column("id", Type::U64)
            .column("customer", Type::Text)
            .column("note", Type::Text)
            .nullable()
            .column("amount", Type::I64)
            .default_value(1)
            .primary_key(["customer", "id desc"])
            .ordered()
            .column("tag", Type::Text)
            .nullable()
            .index("by_amount", ["amount desc", "tag"])
            .index("by_tag", ["tag"])
            .unique()
            .check("positive", "amount > 0")
    };
    let long = "x".repeat(30_000);
    {
        let node = place.join()?;
        assert_eq!(node.create_table("orders", orders())?, 0);
        node.run(|tx| {
            let mut rows = tx.rows("orders")?;
            for id in 0..20_u64 {
                let customer = if id % 2 == 0 { "Ada" } else { "Grace" };
                rows.insert(&[("id", id.into()), ("customer", customer.into())])?;
            }
            let key = [Value::from("Ada"), 4_u64.into()];
            assert!(rows.update(&key, &[("note", long.as_str().into())])?);
            let refused = |done: Result<bool, Error>| done.unwrap_err().to_string();
            let text = refused(rows.update(&key, &[("amount", 0.into())]));
            assert!(
                text.contains("\"positive\"") && text.contains("\"orders\""),
                "{text}"
            );
            let taken = [Value::from("Ada"), 6_u64.into()];
            let text = refused(rows.update(&taken, &[("tag", long.as_str().into())]));
            assert!(
                text.contains("\"orders\"") && text.contains("1000"),
                "{text}"
            );
            assert!(rows.update(&taken, &[("amount", 7.into()), ("tag", "seven".into())])?);
            let text = refused(rows.update(&key, &[("tag", "seven".into())]));
            assert!(
                text.contains("\"by_tag\"") && text.contains("seven"),
                "{text}"
            );
            let found = rows.index("by_tag")?.get_by("seven")?.expect("it is there");
            assert_eq!(found.get("id")?, 6.into());
            let by_amount = rows.index("by_amount")?;
            let all: Vec<_> = by_amount.range::<i64>(..)?.collect::<Result<_, _>>()?;
            assert_eq!((all.len(), all[0].get("id")?), (20, 6.into()));
            assert_eq!(by_amount.range(1..=1)?.rev().count(), 19);
            assert!(by_amount.get_by((7, "eight"))?.is_none());
            let by_key = rows.index("primary")?;
            assert!(by_key.range("Grace".."Ada").is_err());
            assert!(by_key.range_or_none("Grace".."Ada")?.next().is_none());
            assert!(by_key.count_range("Grace".."Ada").is_err());
            assert_eq!(by_key.count_range_or_none("Grace".."Ada")?, 0);
            assert_eq!(by_key.starts_with("Gr")?.count(), 10);
            let text = rows.index("by_nothing").unwrap_err().to_string();
            assert!(text.contains("by_nothing"), "{text}");
            let text = refused(rows.update(&key, &[("amounts", 0.into())]));
            assert!(text.contains("no column \"amounts\""), "{text}");
            let text = refused(rows.update(&key, &[("amount", "much".into())]));
            assert!(
                text.contains("\"amount\"") && text.contains("much"),
                "{text}"
            );
            let text = refused(rows.delete(&["Ada".into()]));
            assert!(text.contains("2 key columns"), "{text}");
            let grace: Vec<_> = rows
                .index("primary")?
                .range("Grace"..="Grace")?
                .collect::<Result<_, _>>()?;
            let ids: Vec<Value> = grace
                .iter()
                .map(|row| row.get("id"))
                .collect::<Result<_, _>>()?;
            let expected: Vec<Value> = (0..10_u64).rev().map(|n| (2 * n + 1).into()).collect();
            assert_eq!(ids, expected);
            Ok::<(), NodeError>(())
        })?;
        let unknown = node.run(|tx| tx.rows("order").map(drop)).unwrap_err();
        assert_eq!(unknown.to_string(), "there is no table \"order\"");
    }
    place.reopen();
    let node = place.join()?;
    assert_eq!(node.create_table("orders", orders())?, 0);
    let differs = node
        .create_table("orders", orders().index("more", ["amount"]))
        .unwrap_err();
    assert!(
        differs.to_string().contains("index \"more\" (amount)"),
        "{differs}"
    );
    let referring = orders().foreign_key("again", ["id"], "orders", ["id"]);
    let refused = node.create_table("more", referring).unwrap_err();
    assert!(refused.to_string().contains("\"again\""), "{refused}");
    node.run(|tx| {
        let mut rows = tx.rows("orders")?;
        let row = rows
            .get(&["Ada".into(), 4_u64.into()])?
            .expect("it is there");
        assert_eq!(row.get("note")?, Value::from(long.as_str()));
        assert_eq!(rows.count()?, 20);
        assert!(rows.delete(&["Ada".into(), 4_u64.into()])?);
        Ok::<(), NodeError>(())
    })?;
    let pages = node.check_tables()?;
    assert_eq!((pages.rows, pages.values), (19, 0));
    assert_eq!(node.table_names()?, ["orders"]);
    Ok(())
}

fn a_type_that_is_not_the_table_is_refused_and_so_are_others_handles<P: Place>()
-> Result<(), NodeError> {
    let (place, elsewhere) = (P::new(), P::new());
    let (node, stranger) = (place.join()?, elsewhere.join()?);
    node.table::<Account>()?;
    let text = node.table::<other::Account>().unwrap_err().to_string();
    assert!(text.contains("balance") && text.contains("f64"), "{text}");
    let strange = stranger.table::<Account>()?;
    let refused = node.run(|tx| tx.get(strange, 1)).unwrap_err();
    assert!(
        refused.to_string().contains("another database"),
        "{refused}"
    );
    // Pages that are used by number hold no tables.
    let elsewhere = P::new();
    let raw = elsewhere.join()?;
    raw.run(|tx| tx.write(0, 0, b"whatever"))?;
    assert!(matches!(raw.table::<Account>(), Err(NodeError::OtherPages)));
    Ok(())
}

fn transfer(node: &impl TableNode, from: u64, to: u64) -> Result<(), NodeError> {
    let accounts = node.table::<Account>()?;
    node.run(|tx| {
        tx.update(accounts, from, |account| account.balance -= 1)?;
        tx.update(accounts, to, |account| account.balance += 1)?;
        Ok(())
    })
}

/// Threads of three nodes transfer in every direction, insert and delete; deadlock victims are run again.
fn threads_of_several_nodes_lose_no_transfer<P: Place>() -> Result<(), NodeError> {
    let place = P::new();
    let members = [place.join()?, place.join()?, place.join()?];
    let accounts = members[0].table::<Account>()?;
    members[0].run(|tx| (0..200).try_for_each(|id| tx.insert(accounts, &account(id, 0))))?;
    std::thread::scope(|scope| {
        for (number, node) in members.iter().enumerate() {
            for thread in 0..2 {
                scope.spawn(move || {
                    let mut random =
                        sardonyx_base::random::Random::stream(7, (2 * number + thread) as u64);
                    let accounts = node.table::<Account>().unwrap();
                    for turn in 0..60 {
                        transfer(node, random.below(200), random.below(200)).unwrap();
                        let id = 1000 * (1 + number as u64 * 2 + thread as u64) + turn;
                        node.run(|tx| tx.insert(accounts, &account(id, 0))).unwrap();
                        if turn % 3 == 0 {
                            node.run(|tx| tx.delete(accounts, id)).unwrap();
                        }
                    }
                });
            }
        }
    });
    let sum = members[2].run(|tx| {
        let mut sum = 0;
        for account in tx.scan(accounts)? {
            sum += account?.balance;
        }
        Ok::<i64, NodeError>(sum)
    })?;
    assert_eq!(sum, 0);
    let pages = members[1].check_tables()?;
    assert_eq!(pages.rows, 200 + 6 * 40);
    Ok(())
}

/// A column that was added into padding makes rows no longer in main memory. Rows of nodes say their shape by their length.
fn a_schema_of_main_memory_whose_shapes_have_one_length_keeps_its_values<P: Place>()
-> Result<(), NodeError> {
    let schema = Schema::new()
        .column("id", Type::U64)
        .column("a", Type::U8)
        .primary_key(["id"]);
    let schema = schema.build().expect("a schema");
    let schema = schema.with_column("b", Type::U8, false, 0.into());
    let schema = schema.expect("a schema");
    assert_eq!(schema.earlier_shapes, [schema.row_bytes]);
    let place = P::new();
    let node = place.join()?;
    let number = node.create_table("t", schema.clone())?;
    node.run(|tx| {
        let mut rows = tx.rows("t")?;
        rows.insert(&[("id", 1.into()), ("a", 2.into()), ("b", 5.into())])
    })?;
    let found = node.run(|tx| {
        let rows = tx.rows("t")?;
        let row = rows.get(&[1.into()])?.expect("it is there");
        Ok::<_, NodeError>((row.get("a")?, row.get("b")?))
    })?;
    assert_eq!(found, (2.into(), 5.into()));
    assert_eq!(node.create_table("t", schema)?, number);
    Ok(())
}
